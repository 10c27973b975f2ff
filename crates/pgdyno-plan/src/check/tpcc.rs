//! Checks TPC-C in a plan.

use pgdyno_script::Protocol;

use crate::{
    Isolation, Plan, TpccWork, WorkloadPlan,
    fault::{Fault, fault},
};

/// Most warehouses, as for `load tpcc`.
const MAX_WAREHOUSES: u64 = 10_000_000;

/// Appends the faults of TPC-C.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    let sizes = plan.size.iter().filter_map(|(name, size)| Some((format!("size.{name}.tpcc"), size.tpcc?)));
    let all = plan.data.tpcc.map(|tpcc| ("data.tpcc".to_owned(), tpcc)).into_iter().chain(sizes);
    for (path, tpcc) in all {
        if !(1..=MAX_WAREHOUSES).contains(&tpcc.warehouses) {
            let what = format!("{} warehouses are not between 1 and {MAX_WAREHOUSES}", tpcc.warehouses);
            faults.push(fault(format!("{path}.warehouses"), what, "a warehouse takes about 100 MB"));
        }
    }
    if plan.data.tpcc.is_some() && (plan.has_tpcb() || plan.data.scaleup.is_some()) {
        let what = "both the tables of TPC-C and others are to be loaded";
        faults.push(fault("data.tpcc", what, "leave `scale` and `scaleup` out, and use no built-in script"));
    }
    if plan.data.tpcc.is_some_and(|tpcc| tpcc.loaded) && !plan.load.is_default() {
        let what = "[load] says how tables are loaded, and those of TPC-C are there already";
        faults.push(fault("load", what, "leave [load] out, or `loaded`"));
    }
    let loaded = plan.data.tpcc.is_some_and(|tpcc| tpcc.loaded);
    let changes = plan.data.is_own() || plan.workload.iter().any(|workload| workload.reset.is_some());
    if loaded && changes {
        let what =
            "tables that are there are driven as they are, and the plan has a setup or a reset of its own";
        faults.push(fault("data.tpcc.loaded", what, "leave both out, or `loaded`"));
    }
    for (index, workload) in plan.workload.iter().enumerate() {
        if let Some(tpcc) = &workload.tpcc {
            work(&format!("workload[{index}]"), plan, workload, tpcc, faults);
        }
    }
}

fn work(path: &str, plan: &Plan, workload: &WorkloadPlan, tpcc: &TpccWork, faults: &mut Vec<Fault>) {
    if plan.data.tpcc.is_none() {
        let hint = "write tpcc = { warehouses = 10 } in [data]";
        faults.push(fault(path, "the plan drives TPC-C, and has none of its tables", hint));
    }
    if workload.reset.is_some() || !workload.define.is_empty() {
        let what = "TPC-C has neither a `reset` nor variables of the plan's own";
        faults.push(fault(path, what, "leave both out"));
    }
    if workload.protocol == Protocol::Simple {
        let what = "TPC-C sends its values as parameters, which the simple protocol has not";
        faults.push(fault(format!("{path}.protocol"), what, "use \"prepared\" or \"extended\""));
    }
    let sum: u64 = tpcc.weights.iter().map(|weight| u64::from(*weight)).sum();
    if sum != 100 {
        let what = format!("the weights add up to {sum}, not to 100");
        let hint = "the specification has [45, 43, 4, 4, 4]: New-Order, Payment, Order-Status, Delivery, Stock-Level";
        faults.push(fault(format!("{path}.tpcc.weights"), what, hint));
    }
    let strict = tpcc.isolation.filter(|isolation| *isolation != Isolation::ReadCommitted);
    if let (Some(isolation), 1) = (strict, tpcc.max_tries) {
        let what = format!("{} transactions fail by each other, and are not tried again", isolation.sql());
        faults.push(fault(
            format!("{path}.tpcc.max_tries"),
            what,
            "allow several tries, such as 10, or 0 for any number",
        ));
    }
    if tpcc.paced && plan.measure.rate.is_some() {
        let what = "terminals that key and think have a pace of their own, and no rate";
        faults.push(fault("measure.rate", what, "leave `rate` out, or `paced`"));
    }
}
