//! Checks TPC-C in a plan.

use pgdyno_script::Protocol;

use crate::{
    Isolation, Plan, TpccWork, WorkloadPlan,
    fault::{Fault, fault},
};

/// Appends the faults of TPC-C.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    if plan.data.tpcc.is_some() && (plan.has_tpcb() || plan.data.scaleup.is_some()) {
        let what = "the plan loads the tables of TPC-C and other tables";
        faults.push(fault("data.tpcc", what, "leave `scale` and `scaleup` out, and use no built-in script"));
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
        faults.push(fault(path, "the plan runs TPC-C but has none of its tables", hint));
    }
    if workload.reset.is_some() || !workload.define.is_empty() {
        let what = "TPC-C takes neither a `reset` nor variables of the plan";
        faults.push(fault(path, what, "leave both out"));
    }
    if workload.max_tries != 1 {
        let what = "TPC-C has its own key for tries";
        faults.push(fault(format!("{path}.max_tries"), what, "write max_tries in its table `tpcc`"));
    }
    if workload.protocol == Protocol::Simple {
        let what = "TPC-C sends its values as parameters, which the simple protocol does not have";
        faults.push(fault(format!("{path}.protocol"), what, "use \"prepared\" or \"extended\""));
    }
    let sum: u64 = tpcc.weights.iter().map(|weight| u64::from(*weight)).sum();
    if ![100, 10_000].contains(&sum) {
        let what = format!("the weights add up to {sum}, not to 100 (or to 10000, for hundredths)");
        let hint = "the specification has [45, 43, 4, 4, 4]: New-Order, Payment, Order-Status, Delivery, Stock-Level";
        faults.push(fault(format!("{path}.tpcc.weights"), what, hint));
    }
    let strict = tpcc.isolation.filter(|isolation| *isolation != Isolation::ReadCommitted);
    if let (Some(isolation), 1) = (strict, tpcc.max_tries) {
        let isolation = isolation.sql();
        let what =
            format!("{isolation} transactions can fail with serialization errors, but are tried only once");
        faults.push(fault(
            format!("{path}.tpcc.max_tries"),
            what,
            "allow several tries, such as 10, or 0 for any number",
        ));
    }
    if tpcc.paced && plan.measure.rate.is_some() {
        let what = "terminals with keying and think times cannot follow a rate";
        faults.push(fault("measure.rate", what, "leave `rate` out, or `paced`"));
    }
}
