//! Parallel workers of index builds.

use pgdyno_core::units;
use pgdyno_record::{Found, KeyWorkersRecord, LoadRecord, RangeRecord, RunRecord, SubjectRecord};
use pgdyno_rows::load::{KeyLimit, KeyLimitKind};

use super::wording::doubt;
use crate::{Doubt, DoubtKind};

/// Workers are sampled five times a second while they scan the table: a shorter scan may show too few of them.
const LEAST_SCAN_S: f64 = 2.0;
/// Phase in which workers are sampled.
const SCAN: &str = "scanning table";

/// Keys that had fewer workers than were requested by name. What pgdyno chose itself is no promise.
pub(super) fn few_workers(record: &RunRecord) -> Option<Doubt> {
    let of_operations = record.operations.iter().filter_map(|operation| match &operation.found {
        Found::Load(load) => Some(&**load),
        _ => None,
    });
    let of_subjects = record.subjects.iter().flat_map(SubjectRecord::loads);
    let (asked, workers, had) = of_operations.chain(of_subjects).find_map(few)?;
    let range = |range: RangeRecord| match range.least == range.most {
        true => range.most.to_string(),
        false => format!("{} to {}", range.least, range.most),
    };
    let (had, verb) = match had {
        Had::Planned(planned) => (range(planned), "the server planned"),
        Had::Launched(launched) => (range(launched), "the server started"),
    };
    let asked = units::plural(asked, "parallel worker");
    let detail = format!("{asked} were requested for a key, and {verb} {had}");
    // The flag of a load, and that of what loads and then measures.
    let jobs = if record.plan.blocks == 0 { "--jobs" } else { "--load-jobs" };
    doubt(DoubtKind::FewKeyWorkers, detail, &advice(&workers.limits, jobs), Vec::new())
}

enum Had {
    Planned(RangeRecord),
    Launched(RangeRecord),
}

fn few(load: &LoadRecord) -> Option<(u64, &KeyWorkersRecord, Had)> {
    let asked = load.terms.as_ref()?.options.key_workers?;
    let workers = load.key_workers.as_ref()?;
    let phases = load.stages.iter().flat_map(|stage| &stage.phases);
    let scanned_s: f64 = phases.filter(|phase| phase.name == SCAN).map(|phase| phase.duration_s).sum();
    let is_few = |range: &RangeRecord| range.least < asked;
    let launched = workers.launched.filter(|_| scanned_s >= LEAST_SCAN_S).filter(is_few).map(Had::Launched);
    let had = workers.planned.filter(is_few).map(Had::Planned).or(launched)?;
    Some((asked, workers, had))
}

/// What to do about the lowest limit; without one, workers were in use elsewhere.
fn advice(limits: &[KeyLimit], jobs: &str) -> String {
    let Some(KeyLimit { of, workers }) = limits.first() else {
        return "Raise max_worker_processes: other sessions, or processes of extensions and replication, had the \
                workers."
            .to_owned();
    };
    match of {
        KeyLimitKind::TableSize => {
            "Request workers for tables of min_parallel_table_scan_size and more: smaller ones are not scanned in \
             parallel."
                .to_owned()
        }
        KeyLimitKind::Memory => format!(
            "Raise maintenance_work_mem, or free memory: with 32 MiB for each process it allows {}.",
            units::plural(*workers, "worker")
        ),
        KeyLimitKind::WorkerProcesses => format!(
            "Raise max_worker_processes, which allows each of the keys built at a time {}, or use fewer {jobs}.",
            units::plural(*workers, "worker")
        ),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_record::{LoadPhaseRecord, LoadStageRecord, LoadTerms, OperationRecord};
    use pgdyno_rows::load::{LoadRequest, Set};

    use super::{super::samples, *};

    fn record(requested: Option<u64>, workers: KeyWorkersRecord, scan_s: f64) -> RunRecord {
        let phase =
            LoadPhaseRecord { name: SCAN.to_owned(), duration_s: scan_s, ..LoadPhaseRecord::default() };
        let options = LoadRequest { key_workers: requested, ..LoadRequest::default() };
        let load = LoadRecord {
            terms: Some(LoadTerms { set: Set::Tpcb, streams: 1, options }),
            key_workers: Some(workers),
            stages: vec![LoadStageRecord {
                name: "primary keys".to_owned(),
                duration_s: scan_s,
                wal_bytes: None,
                temp_bytes: None,
                rows_per_s: None,
                phases: vec![phase],
                observed: None,
            }],
            ..LoadRecord::default()
        };
        let mut record = samples::record(Vec::new(), Vec::new());
        record.operations = vec![OperationRecord {
            name: "load".to_owned(),
            subject: None,
            start_s: 0.0,
            duration_s: None,
            passed: None,
            found: Found::Load(Box::new(load)),
        }];
        record
    }

    fn workers(planned: u64, launched: [u64; 2], limits: Vec<KeyLimit>) -> KeyWorkersRecord {
        KeyWorkersRecord {
            asked: Some(24),
            planned: Some(RangeRecord { least: planned, most: planned }),
            launched: Some(RangeRecord { least: launched[0], most: launched[1] }),
            limits,
        }
    }

    /// Article 003: 24 workers were requested, and 18 worked.
    #[test]
    fn workers_that_did_not_start_are_missed_and_what_limits_is_named() {
        let found = few_workers(&record(Some(24), workers(24, [18, 18], Vec::new()), 60.0));
        let found = found.expect("18 are fewer");
        let detail = "24 parallel workers were requested for a key, and the server started 18";
        assert_eq!(found.detail, detail);
        assert!(found.advice.contains("other sessions"), "{}", found.advice);
        let limits = vec![KeyLimit { of: KeyLimitKind::Memory, workers: 3 }];
        let found = few_workers(&record(Some(24), workers(3, [3, 3], limits), 0.0)).expect("3 are fewer");
        assert!(found.detail.ends_with("the server planned 3"), "{}", found.detail);
        assert!(
            found.advice.ends_with("with 32 MiB for each process it allows 3 workers."),
            "{}",
            found.advice
        );
    }

    #[test]
    fn what_was_not_requested_or_not_seen_long_enough_is_no_doubt() {
        for (requested, of, scan_s) in [
            (None, workers(3, [0, 3], Vec::new()), 60.0),
            (Some(24), workers(24, [24, 24], Vec::new()), 60.0),
            (Some(24), workers(24, [0, 18], Vec::new()), 1.9),
        ] {
            assert_eq!(few_workers(&record(requested, of, scan_s)), None);
        }
    }
}
