//! Attempts that did not commit, and counts that contradict each other.

use std::collections::BTreeSet;

use pgdyno_core::{
    measure::{CellRun, Counts, Outage, runs_by_cell},
    results::{FEWEST_COMMITS, FEWEST_COMMITS_PER_CLIENT, fewest_commits},
    units,
};
use pgdyno_record::{OperationRecord, RunRecord, Status};

use super::{
    keys::{Key, Measuring},
    wording::{above, cell_name, doubt, worst},
};
use crate::{Doubt, DoubtKind, cells::missed};

/// Tolerated share of attempts that never started: at the end of an open loop some have just fallen due.
pub const MAX_NEVER_STARTED: f64 = 0.001;

/// Tolerated relative difference between TPS × mean latency and the client count of a closed loop (Little's law). The
/// driver's time between two transactions of a client is negligible even if a transaction takes only tens of
/// microseconds.
pub const MAX_LITTLE_ERROR: f64 = 0.1;

pub(super) fn partial(record: &RunRecord) -> Option<Doubt> {
    if record.status == Status::Complete {
        return None;
    }
    let stopped_load = |of: &OperationRecord| of.name == "load" && of.duration_s.is_none();
    if record.plan.blocks == 0 {
        let (what, advice) = match record.operations.iter().any(stopped_load) {
            true => ("the load did not complete", "Continue it with the command in which the report ends."),
            false => ("the command did not complete", "Repeat it."),
        };
        return doubt(DoubtKind::Partial, what.to_owned(), advice, Vec::new());
    }
    // Loads and commands are no runs of the driver: their blocks are counted.
    let (count, noun) = match &record.comparison {
        Some(comparison) if record.runs.is_empty() => (comparison.blocks.len(), "block"),
        _ => (record.measured_runs().len(), "run"),
    };
    let verb = if count == 1 { "was" } else { "were" };
    let detail = format!("the run did not complete: {} {verb} measured", units::plural(count as u64, noun));
    doubt(DoubtKind::Partial, detail, "Repeat the run, or complete it with `pgdyno resume`.", Vec::new())
}

/// Runs before and after a resumption differ in the start of the server, the loaded data and the time of day. Cells
/// with runs of both kinds scatter by that, too.
pub(super) fn resumed(record: &RunRecord) -> Option<Doubt> {
    let first = record.resumed.first()?.first_run as usize;
    let (before, after) = record.runs.split_at(first.min(record.runs.len()));
    let is_in = |runs: &[CellRun], of: &CellRun| runs.iter().any(|run| run.workload == of.workload);
    let mixed: BTreeSet<String> =
        after.iter().filter(|run| is_in(before, run)).map(|run| cell_name(&run.workload)).collect();
    let recreated = record.subjects.iter().any(|subject| subject.own_server.is_some());
    let reloaded = record.subjects.iter().any(|subject| subject.load.is_some());
    let renewed = match (recreated, reloaded) {
        (true, true) => " with recreated servers and reloaded data",
        (true, false) => " with recreated servers",
        (false, true) => " with reloaded data",
        (false, false) => ", at another time",
    };
    let detail = format!(
        "{} measured before the run was resumed, {} afterwards{renewed}",
        units::plural(before.len() as u64, "run"),
        after.len()
    );
    let advice = "Repeat the run without an interruption before publishing numbers.";
    (!mixed.is_empty()).then(|| doubt(DoubtKind::Resumed, detail, advice, mixed.into_iter().collect()))?
}

/// The result of a run with an outage does not show the server's speed, even if few attempts were lost: in a closed
/// loop no attempt begins during the outage.
pub(super) fn connections_lost(record: &RunRecord) -> Option<Doubt> {
    let longest_s = |runs: &[&CellRun]| {
        let outages = runs.iter().filter_map(|run| run.outage).filter(|outage| outage.lost > 0);
        outages.map(|outage| outage.longest_ns as f64 / 1e9).fold(-1.0, f64::max)
    };
    let figures = runs_by_cell(&record.runs).into_iter().map(|(of, runs)| (cell_name(of), longest_s(&runs)));
    let (names, longest_s) = worst(figures.filter(|(_, longest_s)| *longest_s >= 0.0))?;
    let mut all = Outage::default();
    record.runs.iter().filter_map(|run| run.outage.as_ref()).for_each(|outage| all.merge(outage));
    let none = match all.none_ns {
        0 => String::new(),
        ns => format!("; for {:.1} s no client was connected", ns as f64 / 1e9),
    };
    let detail = format!(
        "connections were lost {} times and re-established {} times, after {} failed attempts; a client was \
         disconnected for up to {longest_s:.1} s{none}",
        all.lost, all.made_again, all.refused
    );
    let advice = "Check the server's log for a crash or a restart: the mean includes the outage.";
    doubt(DoubtKind::ConnectionsLost, detail, advice, names)
}

/// Attempts that ended without a commit. Attempts that fell due just before the end of an open loop and never started
/// are tolerated, up to [`MAX_NEVER_STARTED`].
pub(super) fn missed_too_many(counts: &Counts) -> u64 {
    let tolerated = (counts.scheduled as f64 * MAX_NEVER_STARTED) as u64;
    missed(counts) - counts.never_started.min(tolerated)
}

pub(super) fn misses(record: &RunRecord) -> Option<Doubt> {
    let missing =
        |runs: &[&CellRun]| runs.iter().map(|run| missed_too_many(&run.counts_whole)).sum::<u64>() as f64;
    let (names, _) = above(record, 0.0, missing)?;
    let all = |count: fn(&CellRun) -> u64| record.runs.iter().map(count).sum::<u64>();
    let parts = [
        (all(|run| run.counts_whole.failed), "failed"),
        (all(|run| run.counts_whole.skipped), "were skipped"),
        (all(|run| run.counts_whole.timed_out), "timed out"),
        (all(|run| run.counts_whole.in_doubt), "are in doubt"),
        (all(|run| run.counts_whole.never_started), "never started"),
    ];
    let parts: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let due = all(|run| run.counts_whole.scheduled);
    let first = record.runs.iter().flat_map(|run| &run.errors).next();
    let first =
        first.map(|error| format!("; first error {}: {}", error.code, error.message)).unwrap_or_default();
    let detail = format!("of {due} attempts {}{first}", parts.join(", "));
    // An attempt that failed because of another transaction may succeed if it is retried.
    let by_others = |run: &CellRun| {
        run.tpcc.is_some() && run.errors.iter().any(|error| ["40001", "40P01"].contains(&error.code.as_str()))
    };
    let advice = match record.runs.iter().any(by_others) {
        true => format!("Allow more tries ({})", Key::MaxTries.named(Measuring::of(record))),
        false => "Find the cause".to_owned(),
    };
    let advice = format!("{advice} before quoting a rate: latency does not include these attempts.");
    doubt(DoubtKind::Misses, detail, &advice, names)
}

/// Clients that begin together count in whole rounds for a while. Rates and think times put them out of step.
pub(super) fn few_commits(record: &RunRecord) -> Option<Doubt> {
    let in_step = |run: &CellRun| {
        run.workload.rate_per_s.is_none() && !run.tpcc.as_ref().is_some_and(|tpcc| tpcc.paced)
    };
    let is_short = |run: &CellRun| run.counts.committed < fewest_commits(run.workload.clients);
    let few = |runs: &[&CellRun]| runs.iter().any(|run| in_step(run) && is_short(run));
    let cells = runs_by_cell(&record.runs).into_iter().filter(|(_, runs)| few(runs));
    let names: Vec<_> = cells.map(|(workload, _)| cell_name(workload)).collect();
    let detail = format!(
        "runs of {} committed fewer than {FEWEST_COMMITS} transactions, or {FEWEST_COMMITS_PER_CLIENT} per client: \
         clients that began together may be in step, and TPS counts whole rounds of them",
        names.first()?
    );
    let advice = format!("Use longer intervals ({}).", Key::Duration.named(Measuring::of(record)));
    doubt(DoubtKind::FewCommits, detail, &advice, names)
}

/// In a closed loop every client has one transaction in progress, so clients = TPS × mean latency (Little's law).
pub(super) fn implausible(record: &RunRecord) -> Option<Doubt> {
    let found: Vec<_> = runs_by_cell(&record.runs)
        .into_iter()
        .filter_map(|(workload, runs)| {
            let of_runs: Option<Vec<f64>> = runs.into_iter().map(in_progress).collect();
            let of_runs = of_runs?;
            let mean = of_runs.iter().sum::<f64>() / of_runs.len() as f64;
            let off = mean / f64::from(workload.clients) - 1.0;
            (off.abs() > MAX_LITTLE_ERROR).then(|| (cell_name(workload), mean))
        })
        .collect();
    let (name, mean) = found.first()?;
    let detail = format!(
        "TPS × mean latency of {name} is {mean:.2} transactions in progress, which is not the client count"
    );
    let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    match longest_stall(record, &names) {
        Some((silence_ns, duration_ns)) => {
            let detail = format!(
                "{detail}; no client committed for {} of an interval of {}, and transactions that such a stall moves \
                 across an end of the interval count on one side of it only",
                units::latency(silence_ns as f64),
                units::duration(duration_ns as f64 / 1e9)
            );
            let flag = Key::Duration.named(Measuring::of(record));
            let advice = format!("Use longer intervals ({flag}), and look for what stalled the server.");
            doubt(DoubtKind::Implausible, detail, &advice, names)
        }
        None => {
            let advice = "Do not use its numbers: clients waited between transactions, or transactions were \
                          miscounted.";
            doubt(DoubtKind::Implausible, detail, advice, names)
        }
    }
}

/// The longest time without a commit in a run of these cells, and the length of its interval, if that time is so long
/// that it explains an error of [`MAX_LITTLE_ERROR`].
fn longest_stall(record: &RunRecord, names: &[String]) -> Option<(u64, u64)> {
    let concerned = record.runs.iter().filter(|run| names.contains(&cell_name(&run.workload)));
    let stalls = concerned.filter_map(|run| Some((run.longest_silence_ns?, run.duration_ns)));
    let long = stalls.filter(|(silence, duration)| *silence as f64 > MAX_LITTLE_ERROR * *duration as f64);
    long.max_by_key(|(silence, _)| *silence)
}

/// Mean number of transactions in progress; `None` if it does not have to equal the client count: in an open loop, with
/// misses or an outage, or with too few transactions.
fn in_progress(run: &CellRun) -> Option<f64> {
    let clients = run.workload.clients;
    let applies = run.workload.rate_per_s.is_none()
        && missed(&run.counts_whole) == 0
        && run.outage.is_none()
        // Transactions that cross the edge of the interval distort the mean by about one in this number.
        && run.counts.committed >= u64::from(clients) * FEWEST_COMMITS_PER_CLIENT;
    Some(run.tps * run.latency.as_ref().filter(|_| applies)?.mean_ns / 1e9)
}
