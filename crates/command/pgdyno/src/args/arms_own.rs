//! Client counts and options for loading tables in which the arms of a comparison differ.

use pgdyno_core::problem::Problem;
use pgdyno_plan::{Auto, Plan};
use pgdyno_rows::load::LoadRequest;

use super::arm::Arm;

/// Placeholder of a command for its client count.
const CLIENTS: &str = "{clients}";
const NAMES: [&str; 2] = ["A", "B"];

/// What an arm does otherwise than the plan says; nothing where both arms do the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// How its tables are loaded.
    pub load: Option<LoadRequest>,
    /// Its client count.
    pub clients: Option<u32>,
}

/// Applies the arms' client counts and options for loading to the plan, whose own values are those of both arms.
/// Returns what each arm has of its own.
///
/// # Errors
/// An arm cannot be measured with its client count, or its tables cannot be loaded as requested.
pub(super) fn apply(arms: &[Arm; 2], plan: &mut Plan) -> Result<[Own; 2], Problem> {
    let clients = apply_clients(arms, plan)?;
    let loads = apply_loads(arms, plan)?;
    let [a, b] = [0, 1].map(|at: usize| Own { load: loads[at].clone(), clients: clients[at] });
    Ok([a, b])
}

/// Refuses different tables on one server.
///
/// # Errors
/// Both arms share an existing server, and request different tables.
pub(super) fn refuse_shared(own: &[Own; 2], server_of_arm: [Option<usize>; 2]) -> Result<(), Problem> {
    let [a, b] = server_of_arm;
    if a.is_none() || a != b || own.iter().all(|own| own.load.is_none()) {
        return Ok(());
    }
    let what =
        "could not load different tables for A and B: both are on one existing server, which is loaded once";
    Err(Problem::wrong_request(what)
        .hint("give each arm a database of its own (dsn=...), or the same options for tables to both"))
}

fn apply_clients(arms: &[Arm; 2], plan: &mut Plan) -> Result<[Option<u32>; 2], Problem> {
    let of_plan = match &plan.measure.clients {
        Auto::Given(counts) => counts.first().copied(),
        Auto::Auto => None,
    };
    let counts = [0, 1].map(|at: usize| arms[at].clients.or(of_plan).unwrap_or(1));
    if counts[0] == counts[1] {
        plan.measure.clients = Auto::Given(vec![counts[0]]);
        return Ok([None, None]);
    }
    for ((arm, name), count) in arms.iter().zip(NAMES).zip(counts) {
        if arm.command.as_ref().is_some_and(|command| !command.contains(CLIENTS)) {
            let what = format!("could not use {count} clients for {name}: its command has no {CLIENTS}");
            return Err(Problem::wrong_request(what)
                .hint("write {clients} where the command takes its number of clients"));
        }
    }
    plan.measure.clients = Auto::Given(counts.to_vec());
    Ok(counts.map(Some))
}

fn apply_loads(arms: &[Arm; 2], plan: &mut Plan) -> Result<[Option<LoadRequest>; 2], Problem> {
    for (arm, name) in arms.iter().zip(NAMES) {
        refuse_load(arm, name, plan)?;
    }
    let [a, b] = [0, 1].map(|at: usize| arms[at].load.over(&plan.load));
    if a == b {
        plan.load = a;
        return Ok([None, None]);
    }
    for (load, name) in [&a, &b].into_iter().zip(NAMES) {
        plan.with_load(load)
            .validate()
            .map_err(|problem| Problem { what: format!("{name}: {}", problem.what), ..problem })?;
    }
    plan.load = a.clone();
    Ok([Some(a), Some(b)])
}

/// Refuses options for loading where pgdyno loads no tables.
///
/// # Errors
/// The arm has such options.
pub(super) fn refuse_load(arm: &Arm, name: &str, plan: &Plan) -> Result<(), Problem> {
    let Some((option, _)) = arm.load.terms().into_iter().next() else { return Ok(()) };
    let has_tables = plan.has_tpcb() || plan.data.scaleup.is_some() || plan.data.tpcc.is_some();
    if has_tables && !plan.data.loaded {
        return Ok(());
    }
    let what = format!("could not use load:{option} for {name}: the plan loads no tables");
    Err(Problem::wrong_request(what)
        .hint("leave it out: the terms load: are about tables that pgdyno loads (TPC-B, scaleup, TPC-C)"))
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::{DataPlan, Scale, TpccPlan, WorkloadPlan};
    use pgdyno_script::{Builtin, Protocol};

    use super::*;

    fn plan() -> Plan {
        let mut plan = Plan::new("ab", vec![WorkloadPlan::builtin(Builtin::TpcbLike, Protocol::Prepared)]);
        plan.measure.clients = Auto::Given(vec![4]);
        plan
    }

    fn arms(a: &str, b: &str) -> [Arm; 2] {
        [a, b].map(|arm| Arm::parse(arm).expect("it is one"))
    }

    fn applied(a: &str, b: &str, mut plan: Plan) -> Result<(Plan, [Own; 2]), Problem> {
        let own = apply(&arms(a, b), &mut plan)?;
        Ok((plan, own))
    }

    #[test]
    fn arms_with_equal_values_have_none_of_their_own() {
        for (a, b) in [("default", "default"), ("clients=4", "default"), ("clients=9", "clients=9")] {
            let (plan, own) = applied(a, b, plan()).expect("it is right");
            assert_eq!(own, [Own::default(), Own::default()], "{a} {b}");
            let clients = if a == "clients=9" { 9 } else { 4 };
            assert_eq!(plan.measure.clients, Auto::Given(vec![clients]));
        }
        let (plan, own) = applied("load:fillfactor=50", "load:fillfactor=50", plan()).expect("right");
        assert_eq!((plan.load.fillfactor, own), (Some(50), [Own::default(), Own::default()]));
    }

    #[test]
    fn an_arm_overrides_the_plan() {
        let mut base = plan();
        base.load = LoadRequest { fillfactor: Some(70), unlogged: true, ..LoadRequest::default() };
        let (plan, [a, b]) = applied("clients=8,load:fillfactor=50", "default", base).expect("right");
        assert_eq!((a.clients, b.clients), (Some(8), Some(4)));
        assert_eq!(plan.measure.clients, Auto::Given(vec![8, 4]));
        let [a, b] = [a, b].map(|own| own.load.expect("they differ"));
        assert_eq!((a.fillfactor, a.unlogged), (Some(50), true));
        assert_eq!((b.fillfactor, b.unlogged), (Some(70), true));
    }

    #[test]
    fn a_method_for_both_arms_is_judged_with_the_partitions_of_each() {
        let mut base = plan();
        base.load.partition_method = Some(pgdyno_rows::load::PartitionMethod::Hash);
        let (_, own) = applied("load:partitions=4", "load:partitions=8", base.clone()).expect("it is right");
        assert!(own.iter().all(|own| own.load.is_some()));
        let problem = applied("load:partitions=4", "default", base).expect_err("B has none");
        assert_eq!(problem.what, "B: a partition method is given, but there are no partitions");
    }

    #[test]
    fn what_an_arm_cannot_have_is_refused() {
        let none = Plan { data: DataPlan { scale: Scale::None, ..DataPlan::default() }, ..plan() };
        let problem = applied("load:fillfactor=50", "default", none).expect_err("nothing is loaded");
        assert_eq!(problem.what, "could not use load:fillfactor for A: the plan loads no tables");
        let problem =
            applied("clients=8", "clients=9,command=true", plan()).expect_err("its command does not take it");
        assert_eq!(problem.what, "could not use 9 clients for B: its command has no {clients}");
        assert!(applied("clients=8", "clients=9,command=x -c {clients}", plan()).is_ok());
        let tpcc = Some(TpccPlan::of(1));
        let there = Plan { data: DataPlan { tpcc, loaded: true, ..DataPlan::default() }, ..plan() };
        assert!(applied("load:unlogged", "default", there).is_err());
    }

    #[test]
    fn one_server_is_loaded_once() {
        let (_, own) = applied("load:unlogged", "default", plan()).expect("it is right");
        let problem = refuse_shared(&own, [Some(0), Some(0)]).expect_err("there is one server");
        assert!(problem.what.contains("both are on one existing server"), "{}", problem.what);
        assert!(refuse_shared(&own, [Some(0), Some(1)]).is_ok() && refuse_shared(&own, [None, None]).is_ok());
        let (_, own) = applied("clients=1", "default", plan()).expect("it is right");
        assert!(refuse_shared(&own, [Some(0), Some(0)]).is_ok(), "clients may differ there");
    }
}
