//! Events of a run as marks on its time axis.

use pgdyno_core::{
    measure::{CellRun, SteadyVerdict},
    units,
};
use pgdyno_document::{lanes::MarkRow, marks::Mark};
use pgdyno_record::{Found, OperationRecord};

use crate::{
    over_time::{BLUE, GREEN, GREY, Kind, ORANGE, OverTime, RED},
    run::Run,
};

/// The rows of events, as far as there are any.
pub fn rows(run: &Run<'_>, over_time: &OverTime) -> Vec<MarkRow> {
    let mut all = over_time.clone();
    stages(run, &mut all);
    run.record.operations.iter().for_each(|operation| stages_of_load(operation, &mut all));
    runs(run, &mut all);
    for start in &run.record.starts {
        let label = format!("start {} of the servers, with practice runs", start.number);
        all.mark(Kind::Server, Mark::new(start.at_s, start.at_s + start.duration_s, label, GREEN));
    }
    for resumed in &run.record.resumed {
        let label = match &resumed.ended_by {
            Some(why) => format!("resumed; ended before by: {why}"),
            None => "resumed after it was killed".to_owned(),
        };
        all.mark(Kind::Server, Mark::new(resumed.at_s, resumed.at_s, label, RED));
    }
    let kinds = [
        Kind::Stage,
        Kind::Run,
        Kind::Unsteady,
        Kind::Checkpoint,
        Kind::AutoVacuum,
        Kind::Lock,
        Kind::Server,
        Kind::Warning,
        Kind::Gap,
    ];
    let row = |kind: Kind| {
        let marks = match kind {
            Kind::Checkpoint => all.checkpoints(),
            _ => all.events.get(&kind).map(pgdyno_document::marks::Marks::list).unwrap_or_default(),
        };
        MarkRow { name: kind.name(), marks }
    };
    kinds.into_iter().map(row).filter(|row| !row.marks.is_empty()).collect()
}

/// Colours of neighbours differ.
const ALTERNATING: [usize; 2] = [GREY, BLUE];

fn stages(run: &Run<'_>, all: &mut OverTime) {
    for (index, stage) in run.record.stages.iter().enumerate() {
        let label = format!("{}, {}", stage.name, units::duration(stage.duration_s));
        let colour = ALTERNATING[index % ALTERNATING.len()];
        all.mark(Kind::Stage, Mark::new(stage.start_s, stage.start_s + stage.duration_s, label, colour));
    }
}

/// The stages of a load follow each other.
fn stages_of_load(operation: &OperationRecord, all: &mut OverTime) {
    let Found::Load(load) = &operation.found else { return };
    let mut from_s = operation.start_s;
    for (index, stage) in load.stages.iter().enumerate() {
        let label = format!("load: {}, {}", stage.name, units::duration(stage.duration_s));
        let to_s = from_s + stage.duration_s;
        all.mark(Kind::Run, Mark::new(from_s, to_s, label, ALTERNATING[index % ALTERNATING.len()]));
        from_s = to_s;
    }
}

fn runs(run: &Run<'_>, all: &mut OverTime) {
    for own in &run.record.runs {
        let name = format!("{}, block {}", own.workload.cell(), own.block + 1);
        let end_s = own.start_s + own.duration_ns as f64 / 1e9;
        if own.warmup_ns > 0 {
            let from_s = own.start_s - own.warmup_ns as f64 / 1e9;
            all.mark(Kind::Run, Mark::new(from_s, own.start_s, format!("warm-up of {name}"), GREY));
        }
        let colour = run.record.place_of(&own.workload).unwrap_or(0);
        all.mark(Kind::Run, Mark::new(own.start_s, end_s, name.clone(), colour));
        unsteady(own, &name, all);
        if let Some(outage) = &own.outage {
            let label = format!(
                "{name}: {} lost, {} re-established",
                units::plural(outage.lost, "connection"),
                units::count(outage.made_again)
            );
            all.mark(Kind::Server, Mark::new(own.start_s, end_s, label, RED));
        }
    }
}

/// The first seconds that differ from the rest.
fn unsteady(own: &CellRun, name: &str, all: &mut OverTime) {
    if let SteadyVerdict::NotSteady { cut_s, .. } = own.steady {
        let label = format!("{name}: {}", own.steady.words());
        all.mark(Kind::Unsteady, Mark::new(own.start_s, own.start_s + cut_s, label, ORANGE));
    }
}
