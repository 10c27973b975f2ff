//! Checks the order of stages, and their keys.

use crate::{
    Action, Plan, StagePlan,
    fault::{Fault, fault},
    stage::MAX_STAGES,
};

/// Appends the faults of stages.
pub(super) fn stages(plan: &Plan, faults: &mut Vec<Fault>) {
    if plan.reference.is_some() && !plan.stage.iter().any(|stage| stage.action.is_of_storage()) {
        let what = "published figures are shown next to those of `disk` stages, and there are none";
        faults.push(fault("reference", what, "leave it out, or add a [[stage]] with do = \"disk io\""));
    }
    if plan.stage.is_empty() {
        return;
    }
    if plan.stage.len() > MAX_STAGES {
        let what = format!("{} stages are more than {MAX_STAGES}", plan.stage.len());
        faults.push(fault("stage", what, "split the plan"));
    }
    for (at, stage) in plan.stage.iter().enumerate() {
        keys(at, stage, faults);
    }
    load(plan, faults);
    drive(plan, faults);
}

fn keys(at: usize, stage: &StagePlan, faults: &mut Vec<Fault>) {
    let action = stage.action;
    if let Some((key, having)) = stage.given().find(|(_, having)| !having.contains(&action)) {
        let what = format!("`{key}` does not belong to `{}`", action.name());
        let having: Vec<_> = having.iter().map(|action| format!("`{}`", action.name())).collect();
        let hint = format!("leave it out; it belongs to {}", having.join(" and "));
        faults.push(fault(format!("stage[{at}].{key}"), what, hint));
    }
    if !stage.tables.is_empty() && !action.takes_tables() {
        let what = format!("`tables` does not belong to `{}`", action.name());
        faults.push(fault(format!("stage[{at}].tables"), what, "leave it out: it is about all tables"));
    }
    if stage.file_size.is_some() && stage.file_bytes().is_none() {
        let what = "`file_size` is not a size above 0";
        faults.push(fault(format!("stage[{at}].file_size"), what, "write it like \"16GB\""));
    }
    if stage.tables.iter().any(|table| table.trim().is_empty() || table.contains('\0')) {
        faults.push(fault(format!("stage[{at}].tables"), "`tables` names no table", "write names as in SQL"));
    }
}

/// Positions of the stages with an action.
fn places(plan: &Plan, action: Action) -> Vec<usize> {
    let of_action = plan.stage.iter().enumerate().filter(|(_, stage)| stage.action == action);
    of_action.map(|(at, _)| at).collect()
}

fn load(plan: &Plan, faults: &mut Vec<Fault>) {
    let loads = !plan.data.loaded
        && (plan.has_tpcb() || plan.data.scaleup.is_some() || plan.data.tpcc.is_some() || plan.data.is_own());
    match (places(plan, Action::Load).as_slice(), loads) {
        ([], true) => faults.push(fault(
            "stage",
            "the plan has tables, and no stage loads them",
            "add a [[stage]] with do = \"load\" before what needs them, or write scale = \"none\" in [data]",
        )),
        ([at, ..], false) => faults.push(fault(
            format!("stage[{at}].do"),
            "there is nothing to load",
            "leave the stage out, or give `scale` in [data] a number",
        )),
        ([_, again, ..], true) => faults.push(fault(
            format!("stage[{again}].do"),
            "tables are loaded once",
            "leave all stages with do = \"load\" out but one",
        )),
        ([at], true) => {
            let needs = |stage: &StagePlan| match stage.action {
                Action::ProbeSizes => !stage.tables.is_empty(),
                action => !action.is_of_storage(),
            };
            if let Some(early) = plan.stage[..*at].iter().position(needs) {
                let what = format!("`{}` comes before the tables are loaded", plan.stage[early].words());
                faults.push(fault(format!("stage[{early}].do"), what, "move it behind do = \"load\""));
            }
        }
        ([], false) => {}
    }
}

fn drive(plan: &Plan, faults: &mut Vec<Fault>) {
    match (places(plan, Action::Drive).as_slice(), plan.workload.is_empty()) {
        ([], false) => faults.push(fault(
            "stage",
            "the plan has workloads, and no stage drives them",
            "add a [[stage]] with do = \"drive\" where they run",
        )),
        ([at, ..], true) => faults.push(fault(
            format!("stage[{at}].do"),
            "there is nothing to drive",
            "add a [[workload]], or leave the stage out",
        )),
        ([_, again, ..], false) => faults.push(fault(
            format!("stage[{again}].do"),
            "the workloads are driven once",
            "leave all stages with do = \"drive\" out but one; `blocks` in [measure] repeats runs",
        )),
        _ => {}
    }
}
