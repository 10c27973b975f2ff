//! Figures that a record computes from its runs.

use pgdyno_record::{ResumedRecord, StageRecord, StartRecord, TimeRecord};
use testkit::fixtures;

/// Ten blocks of A and B were made; there is no look between the eighth and the twelfth.
#[test]
fn cells_of_a_comparison_are_those_of_the_blocks_that_its_result_rests_on() {
    let record = fixtures::cannot_tell().record;
    let comparison = record.comparison.as_ref().expect("it is one");
    let result = comparison.result.as_ref().expect("there were blocks");
    assert_eq!((comparison.blocks.len(), result.blocks), (10, 8));
    let counted: Vec<u32> = comparison.counted_blocks().into_iter().collect();
    assert_eq!(counted, [0, 1, 2, 3, 4, 5, 6, 7]);
    for (cell, rates) in record.cells.iter().zip(comparison.rates()) {
        assert_eq!((cell.tps.count, rates.len()), (8, 10));
        let mean = rates.iter().take(8).sum::<f64>() / 8.0;
        assert!((cell.tps.value / mean - 1.0).abs() < 1e-9, "{} {mean}", cell.tps.value);
    }
}

#[test]
fn the_parts_add_up_to_the_whole() {
    let mut record = fixtures::complete().record;
    record.runs.truncate(2);
    for run in &mut record.runs {
        (run.warmup_ns, run.duration_ns) = (1_000_000_000, 4_000_000_000);
        run.start_s = 8.0;
        (run.reset_s, run.checkpoint_s, run.connect_ns) = (Some(0.5), Some(0.25), 250_000_000);
    }
    let stage = |name: &str, start_s, duration_s| StageRecord {
        name: name.into(),
        start_s,
        duration_s,
        observed: None,
    };
    record.stages = vec![
        stage("server", 0.5, 2.0),
        stage("load", 2.5, 3.0),
        stage("setup", 5.5, 1.0),
        stage("measure", 6.5, 12.5),
        stage("check", 19.0, 1.0),
        stage("probe sizes", 20.0, 0.5),
    ];
    record.starts = vec![StartRecord {
        number: 1,
        at_s: 6.5,
        duration_s: 0.75,
        restart_s: Some(0.25),
        data_shift: None,
        practice: Vec::new(),
    }];
    let time = TimeRecord::from_stages(&record.stages, &record.runs, &record.starts, &record.resumed)
        .expect("there are runs");
    let expected = TimeRecord {
        whole_s: 20.0,
        server_s: 2.0,
        load_s: 4.0,
        operations_s: 0.5,
        starts_s: 0.75,
        reset_s: 1.0,
        warmup_s: 2.0,
        measured_s: 8.0,
        checkpoint_s: 0.5,
        connect_s: 0.5,
        rest_s: 0.75,
        overhead_s: 1.25,
    };
    assert_eq!(time, expected);
    let again = ResumedRecord {
        at: "2026-11-20T11:00:00Z".into(),
        at_s: 120.5,
        ended_by: None,
        first_run: 2,
        dropped_runs: 0,
    };
    record.stages.push(stage("server", 120.5, 1.0));
    let resumed = TimeRecord::from_stages(&record.stages, &record.runs, &record.starts, &[again])
        .expect("there are runs");
    assert_eq!(resumed.whole_s, 21.0, "the gap of a hundred seconds does not count");
    record.runs.clear();
    assert_eq!(TimeRecord::from_stages(&record.stages, &record.runs, &record.starts, &record.resumed), None);
}
