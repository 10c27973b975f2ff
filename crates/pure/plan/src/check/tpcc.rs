//! Checks TPC-C in a plan.

use pgdyno_core::problem::Problem;
use pgdyno_script::Protocol;

use crate::{
    Action, Auto, Isolation, MAX_SETS, Plan, SetPlace, TpccPlan, TpccWork, WorkloadPlan,
    fault::{Fault, fault, shown},
};

/// Most bytes of a name in PostgreSQL (`NAMEDATALEN` - 1).
const MAX_NAME_BYTES: usize = 63;

/// Appends the faults of TPC-C.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    if plan.data.tpcc.is_some() && (plan.has_tpcb() || plan.data.scaleup.is_some()) {
        let what = "the plan loads the tables of TPC-C and other tables";
        faults.push(fault("data.tpcc", what, "leave `scale` and `scaleup` out, and use no built-in script"));
    }
    if let Some(tpcc) = &plan.data.tpcc {
        sets("data.tpcc", tpcc, faults);
    }
    stages(plan, faults);
    for (index, workload) in plan.workload.iter().enumerate() {
        if let Some(tpcc) = &workload.tpcc {
            work(&format!("workload[{index}]"), plan, workload, tpcc, faults);
        }
    }
}

impl TpccPlan {
    /// Checks the sets of tables.
    ///
    /// # Errors
    /// The first fault, as a wrong request.
    pub fn validate(&self) -> Result<(), Problem> {
        let mut faults = Vec::new();
        sets("data.tpcc", self, &mut faults);
        match faults.into_iter().next() {
            None => Ok(()),
            Some(fault) => Err(Problem::wrong_request(fault.what).hint(fault.hint)),
        }
    }
}

/// Appends the faults of several sets of tables.
pub(super) fn sets(path: &str, tpcc: &TpccPlan, faults: &mut Vec<Fault>) {
    if !tpcc.schemas.is_empty() && !tpcc.databases.is_empty() {
        let what = "the sets of tables are in schemas and in databases";
        faults.push(fault(path, what, "name schemas of one database, or databases"));
        return;
    }
    let (key, names) = match tpcc.databases.is_empty() {
        true => ("schemas", &tpcc.schemas),
        false => ("databases", &tpcc.databases),
    };
    let (count, named) = (tpcc.count() as usize, names.len());
    if named > 0 && named != count {
        let what = format!("{count} sets of tables are requested, and {named} named in `{key}`");
        faults.push(fault(format!("{path}.{key}"), what, "name one for each set, or leave `sets` out"));
    }
    if named > MAX_SETS as usize {
        let what = format!("{named} sets of tables are more than {MAX_SETS}");
        faults.push(fault(format!("{path}.{key}"), what, "drive fewer sets"));
    }
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('\0') {
            let what = format!("`{}` cannot be the name of a schema or a database", shown(name));
            let hint = format!("use 1 to {MAX_NAME_BYTES} bytes");
            faults.push(fault(format!("{path}.{key}"), what, hint));
        }
        if names[..at].contains(name) {
            let what = format!("two sets of tables have the name `{}`", shown(name));
            faults.push(fault(format!("{path}.{key}"), what, "name each set once"));
        }
    }
}

/// Appends the fault of stages that work on the tables that sessions find: those of several sets need sessions of their
/// own.
fn stages(plan: &Plan, faults: &mut Vec<Fault>) {
    let one = plan.data.tpcc.as_ref().is_none_or(|tpcc| tpcc.places() == [SetPlace::Found]);
    let needs_one =
        |action: Action| !matches!(action, Action::Load | Action::Drive) && !action.is_of_storage();
    let other = plan.stage.iter().position(|stage| needs_one(stage.action));
    if let Some(index) = other.filter(|_| !one) {
        let what = "a stage besides load and drive cannot work on several sets of tables";
        faults.push(fault(format!("stage[{index}]"), what, "leave the stage out, or drive one set"));
    }
}

/// Appends the faults of how the sets are driven.
fn driving(path: &str, plan: &Plan, workload: &WorkloadPlan, tpcc: &TpccWork, faults: &mut Vec<Fault>) {
    let sets = plan.data.tpcc.as_ref().map_or(1, TpccPlan::count);
    let all = |number: u32| if number == 1 { "1 set".to_owned() } else { format!("{number} sets") };
    if tpcc.drivers > sets {
        let what = format!("{} drivers are more than the tables have sets ({sets})", tpcc.drivers);
        let hint = "request at most one driver for each set";
        faults.push(fault(format!("{path}.tpcc.drivers"), what, hint));
    }
    let is_one = plan.data.tpcc.as_ref().is_none_or(|tpcc| tpcc.places() == [SetPlace::Found]);
    if tpcc.drivers == 1 && is_one {
        let what = "a driver process drives one of several sets of tables, and there is one set";
        let hint = "request several sets, or leave the drivers out";
        faults.push(fault(format!("{path}.tpcc.drivers"), what, hint));
    }
    let given = match &plan.measure.clients {
        Auto::Given(clients) => clients.as_slice(),
        Auto::Auto => &[],
    };
    let clients = workload.clients.as_deref().unwrap_or(given);
    if let Some(few) = clients.iter().find(|clients| **clients < sets) {
        let what = format!("{few} clients cannot drive {} of tables at one time", all(sets));
        let hint = "clients are divided among the sets: request at least one for each";
        faults.push(fault("measure.clients", what, hint));
    }
    if tpcc.paced && tpcc.transactions.is_some() {
        let what = "terminals with keying and think times end by the time, not by a number of transactions";
        faults.push(fault(format!("{path}.tpcc.transactions"), what, "leave it out, or `paced`"));
    }
}

fn work(path: &str, plan: &Plan, workload: &WorkloadPlan, tpcc: &TpccWork, faults: &mut Vec<Fault>) {
    driving(path, plan, workload, tpcc, faults);
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
