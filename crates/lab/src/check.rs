//! Checks the data of the servers after all runs.

use pgdyno_core::{problem::Problem, units};
use pgdyno_plan::SetPlace;
use pgdyno_postgres::verify::{CONDITIONS, Expected, Ledger, check_balance, check_tpcc};
use pgdyno_record::{BalanceRecord, ConsistencyRecord, PracticeRecord, RunRecord, SetConsistency};
use pgdyno_script::Builtin;

use crate::{
    context::Context, prepared::CheckMode, subject::Subject, table_sets::of_set, waiting::waiting_for,
};

/// Examples of violations that the record keeps per check.
const EXAMPLES: usize = 10;
/// Most sessions used by a check.
const MOST_CHECKERS: u64 = 8;

/// Checks the data of all servers. `ledgers` has the expected contents of history for each.
///
/// # Errors
/// A check could not be executed.
pub fn check(
    context: Context<'_>,
    servers: &mut [Subject],
    ledgers: Vec<Ledger>,
    record: &mut RunRecord,
) -> Result<(), Problem> {
    for (at, (subject, ledger)) in servers.iter_mut().zip(ledgers).enumerate() {
        check_server(context, subject, ledger, record, at)?;
        let consistency = consistency(context, subject)?;
        context
            .job
            .records_at(record, at)
            .for_each(|(_, record)| record.consistency.clone_from(&consistency));
    }
    Ok(())
}

/// Checks the balances of a server. Where its tables were loaded again, the result is added to that of those before.
///
/// # Errors
/// The check could not be executed.
pub fn check_server(
    context: Context<'_>,
    subject: &mut Subject,
    ledger: Ledger,
    record: &mut RunRecord,
    at: usize,
) -> Result<(), Problem> {
    let expected = expected(context, record, at);
    let first = context.prepared.first_way_to(at);
    if first != at {
        // The same tables, which were checked with the runs of both.
        let found =
            context.job.records_at(record, first).next().and_then(|(_, record)| record.balance.clone());
        context.job.records_at(record, at).for_each(|(_, record)| record.balance.clone_from(&found));
        return Ok(());
    }
    let mode = context.prepared.balance_check(at);
    let found = mode.map(|mode| balance(context, mode, subject, ledger, &expected)).transpose()?;
    let adds = context.job.has_loads_of_workloads();
    for (_, record) in context.job.records_at(record, at) {
        let before = record.balance.take().filter(|_| adds);
        record.balance = match (before, &found) {
            (Some(before), Some(found)) => Some(before.with(found, EXAMPLES)),
            (before, found) => before.or_else(|| found.clone()),
        };
    }
    Ok(())
}

/// Checks the balances of a server.
fn balance(
    context: Context<'_>,
    mode: CheckMode,
    subject: &mut Subject,
    ledger: Ledger,
    expected: &Expected,
) -> Result<BalanceRecord, Problem> {
    context.events.doing("checking balances");
    subject.revive()?;
    let found = waiting_for("the balance check", context.events, || match mode {
        CheckMode::Rows(mode) => check_balance(&mut subject.admin, mode, expected),
        CheckMode::Sums | CheckMode::Changes { .. } => ledger.check(&mut subject.admin, expected),
    })?;
    Ok(BalanceRecord {
        mode: mode.name().to_owned(),
        rows_examined: found.rows_examined,
        history_rows: found.history_rows,
        committed: expected.committed,
        in_doubt: expected.in_doubt,
        violations: found.violations,
        examples: found.examples,
        duration_s: found.duration_s,
    })
}

/// The rows that history of one server must hold, or must have held, according to the driver's counts: of all runs on
/// the data that the server has now.
fn expected(Context { job, prepared, .. }: Context<'_>, record: &RunRecord, server: usize) -> Expected {
    let writes = |script: &str| Builtin::by_name(script).is_some_and(Builtin::writes);
    let servers = job.servers.len();
    let data = record.data_of(server, f64::INFINITY, servers);
    let is_there = |place: Option<usize>, at_s: f64| {
        let of = place.and_then(|place| job.subjects[place].server).map(|of| prepared.first_way_to(of));
        of.is_some_and(|of| record.data_of(of, at_s, servers) == data)
    };
    // After a resume, servers were recreated and have no rows of earlier runs.
    let place = job.subjects_at(server).next().map(|(place, _)| place);
    let loaded = place.and_then(|place| record.subjects.get(place)?.loads_of_workloads.last());
    let (since, since_s) = loaded.map_or((0, 0.0), |load| (load.first_run as usize, load.at_s));
    let since = since.max(record.first_run_of_session()).min(record.runs.len());
    let since_s = record.resumed.last().map_or(since_s, |resumed| resumed.at_s.max(since_s));
    let runs = record.runs[since..].iter().filter(|run| writes(run.workload.script_name()));
    let runs = runs.filter(|run| is_there(record.place_of(&run.workload), run.start_s));
    let mut rows: Vec<_> = runs.map(|run| (run.counts_whole.committed, run.counts_whole.in_doubt)).collect();
    for start in record.starts.iter().filter(|start| start.at_s >= since_s) {
        let place = |of: &PracticeRecord| record.subjects.iter().position(|one| one.name == of.subject);
        let practice = start.practice.iter().filter(|of| of.script.as_deref().is_some_and(writes));
        let practice = practice.filter(|of| is_there(place(of), start.at_s));
        rows.extend(practice.map(|of| (of.committed, of.in_doubt)));
    }
    let committed = rows.iter().map(|(committed, _)| committed).sum();
    let in_doubt = rows.iter().map(|(_, in_doubt)| in_doubt).sum();
    let mut builtins = prepared.ways_to(server).flat_map(|way| job.builtins_at(way));
    let tellers_and_branches = !builtins.any(|builtin| builtin == Builtin::SimpleUpdate);
    Expected { scale: prepared.bench.scale.unwrap_or(1), committed, in_doubt, tellers_and_branches }
}

/// Checks the consistency of TPC-C's tables, each set for itself, unless the plan turns the check off.
fn consistency(context: Context<'_>, subject: &mut Subject) -> Result<Option<ConsistencyRecord>, Problem> {
    let prepared = context.prepared;
    if prepared.plan.data.tpcc.is_none() || !prepared.plan.check.consistency {
        return Ok(None);
    }
    subject.revive()?;
    context.events.doing("checking consistency");
    let mut whole = ConsistencyRecord {
        warehouses: 0,
        conditions: CONDITIONS.len() as u32,
        rows_examined: 0,
        violations: 0,
        examples: Vec::new(),
        duration_s: 0.0,
        sets: Vec::new(),
    };
    for set in &subject.sets {
        add_set(context, &mut whole, subject, &set.place)?;
    }
    Ok(Some(whole))
}

/// Checks a set of tables, and adds the result.
fn add_set(
    Context { prepared, stop, events, .. }: Context<'_>,
    whole: &mut ConsistencyRecord,
    subject: &Subject,
    place: &SetPlace,
) -> Result<(), Problem> {
    let jobs = (prepared.host.allowed_cpus().len() as u64).clamp(1, MOST_CHECKERS);
    let of = place.name().map(|name| format!(" of {name}")).unwrap_or_default();
    let found = check_tpcc(&subject.set_options(place), jobs, stop, &mut |done, all| {
        events.now(format!("checking consistency{of}: {done} of {}", units::plural(all, "part")));
    })
    .map_err(|problem| of_set(place, problem))?;
    let violations = found.violations.len() as u64;
    let whose = place.name().map(|name| format!("{name}: ")).unwrap_or_default();
    let examples = found.violations.iter().flat_map(|violation| {
        violation.places.iter().map(|place| format!("{whose}{} in {place}", violation.condition.name))
    });
    whole.examples.extend(examples.take(EXAMPLES.saturating_sub(whole.examples.len())).collect::<Vec<_>>());
    whole.warehouses += found.warehouses;
    whole.rows_examined += found.rows_examined;
    whole.violations += violations;
    whole.duration_s += found.duration_s;
    whole.sets.extend(place.name().map(|name| SetConsistency {
        name: name.to_owned(),
        warehouses: found.warehouses,
        rows_examined: found.rows_examined,
        violations,
    }));
    Ok(())
}
