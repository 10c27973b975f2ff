//! Checks `[load]`.

use crate::{
    Plan,
    fault::{Fault, fault},
};

/// Appends the faults of `[load]`.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    let load = &plan.load;
    loaded(plan, faults);
    let (scaleup, tpcc) = (plan.data.scaleup.is_some(), plan.data.tpcc.is_some());
    if !load.is_default() && !plan.data.loaded && !plan.has_tpcb() && !scaleup && !tpcc {
        let what = "the plan has [load] but loads no tables";
        faults.push(fault("load", what, "leave [load] out, or give `scale` in [data] a number"));
    }
    // Numbers out of range would overflow.
    if faults.is_empty() {
        faults.extend(load_of(plan));
    }
}

/// The fault of the options for loading a plan's tables.
pub(super) fn load_of(plan: &Plan) -> Option<Fault> {
    let load = &plan.load;
    let no_name = |name: &&(&str, &Option<String>)| {
        name.1.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains('\0'))
    };
    let tablespaces = [("tablespace", &load.tablespace), ("index_tablespace", &load.index_tablespace)];
    if let Some((key, _)) = tablespaces.iter().find(no_name) {
        let what = format!("`{key}` names no tablespace");
        return Some(fault(format!("load.{key}"), what, "write its name, or leave it out"));
    }
    let request = plan.load_request(plan.data.scale.given()).unwrap_or_else(|| load.clone());
    request.conflict().map(|one| fault(format!("load.{}", one.key), one.what, one.hint))
}

/// Appends the faults of tables that exist already.
fn loaded(plan: &Plan, faults: &mut Vec<Fault>) {
    if !plan.data.loaded {
        return;
    }
    if !plan.load.is_default() {
        let what = "the tables are loaded already, so options for loading them have no effect";
        faults.push(fault(
            "load",
            what,
            "leave [load] and its flags out, or let pgdyno load tables of its own",
        ));
    }
    let changes = plan.data.is_own() || plan.workload.iter().any(|workload| workload.reset.is_some());
    if changes {
        let what = "tables that are loaded already are used unchanged, but the plan has a setup or a reset";
        faults.push(fault("data.loaded", what, "leave both out, or let pgdyno load tables of its own"));
    }
}
