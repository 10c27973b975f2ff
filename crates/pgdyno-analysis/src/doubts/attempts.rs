//! Attempts that did not commit, and counts that contradict each other.

use std::collections::BTreeSet;

use pgdyno_core::{
    measure::{CellRun, Counts, Outage, runs_by_cell},
    units,
};
use pgdyno_record::{RunRecord, Status};

use super::wording::{above, cell_name, doubt, worst};
use crate::{Doubt, DoubtKind, cells::missed};

/// Share of the attempts that may never be started: an open loop ends with some that fell due a moment before.
pub const MAX_NEVER_STARTED: f64 = 0.001;

/// By how much transactions under way, as TPS and mean latency give them, may differ from the clients of a closed loop.
/// What lies between two transactions of a client is the driver's and no share worth mention of one that takes tens of
/// microseconds.
pub const MAX_OFF_LITTLE: f64 = 0.1;

/// Transactions of a client from which on the two are compared: those that reach over an edge of the interval weigh as
/// one in so many.
const MIN_EACH_FOR_LITTLE: u64 = 50;

pub(super) fn partial(record: &RunRecord) -> Option<Doubt> {
    if record.status == Status::Complete {
        return None;
    }
    let detail = format!("the run did not reach its end: {} runs were measured", record.runs.len());
    doubt(DoubtKind::Partial, detail, "Run it again to its end.", Vec::new())
}

/// Runs before and after a run was resumed are of several starts of the server, with data loaded anew, and of several
/// times: cells that have runs of both scatter by that too.
pub(super) fn resumed(record: &RunRecord) -> Option<Doubt> {
    let first = record.resumed.first()?.first_run as usize;
    let (before, after) = record.runs.split_at(first.min(record.runs.len()));
    let is_in = |runs: &[CellRun], of: &CellRun| runs.iter().any(|run| run.workload == of.workload);
    let mixed: BTreeSet<String> =
        after.iter().filter(|run| is_in(before, run)).map(|run| cell_name(&run.workload)).collect();
    let detail = format!(
        "{} measured before the run was resumed and {} after it, on servers and data made anew",
        units::plural(before.len() as u64, "run"),
        after.len()
    );
    let advice = "For numbers to publish measure again without a break.";
    (!mixed.is_empty()).then(|| doubt(DoubtKind::Resumed, detail, advice, mixed.into_iter().collect()))?
}

/// A run in which the server was away for a time says nothing of the server's speed, however few attempts that cost: in
/// a closed loop nobody asks meanwhile.
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
        ns => format!("; no client had one for {:.1} s", ns as f64 / 1e9),
    };
    let detail = format!(
        "connections were lost {} times and made again {} times, after {} tries that failed; a client was without for \
         up to {longest_s:.1} s{none}",
        all.lost, all.made_again, all.refused
    );
    let advice = "Look into the server's log for a crash or a restart: the mean has the outage in it.";
    doubt(DoubtKind::ConnectionsLost, detail, advice, names)
}

/// Attempts that ended without a commit. Those that were due just before the end of an open loop and not begun are let
/// pass, up to [`MAX_NEVER_STARTED`].
pub(super) fn missed_too_many(counts: &Counts) -> u64 {
    let let_pass = (counts.scheduled as f64 * MAX_NEVER_STARTED) as u64;
    missed(counts) - counts.never_started.min(let_pass)
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
    // What fails by another transaction may well be carried out the next time, where it is tried.
    let by_others = |run: &CellRun| {
        run.tpcc.is_some() && run.errors.iter().any(|error| ["40001", "40P01"].contains(&error.code.as_str()))
    };
    let advice = match record.runs.iter().any(by_others) {
        true => "Allow more tries (--max-tries) before quoting a rate: latency has no such attempts in it.",
        false => "Find the cause before quoting a rate: latency has no such attempts in it.",
    };
    doubt(DoubtKind::Misses, detail, advice, names)
}

/// In a closed loop every client has one transaction under way, so by Little's law clients = TPS × mean latency.
pub(super) fn implausible(record: &RunRecord) -> Option<Doubt> {
    let found: Vec<_> = runs_by_cell(&record.runs)
        .into_iter()
        .filter_map(|(workload, runs)| {
            let of_runs: Option<Vec<f64>> = runs.into_iter().map(under_way).collect();
            let of_runs = of_runs?;
            let mean = of_runs.iter().sum::<f64>() / of_runs.len() as f64;
            let off = mean / f64::from(workload.clients) - 1.0;
            (off.abs() > MAX_OFF_LITTLE).then(|| (cell_name(workload), mean))
        })
        .collect();
    let (name, mean) = found.first()?;
    let detail = format!(
        "TPS and mean latency of {name} give {mean:.2} transactions under way at a time, not its number of clients"
    );
    let advice =
        "Do not use its numbers: something kept clients waiting between transactions, or the count is wrong.";
    let names = found.iter().map(|(name, _)| name.clone()).collect();
    doubt(DoubtKind::Implausible, detail, advice, names)
}

/// Transactions under way on average; `None` where nothing follows from it: an open loop, attempts that were missed and
/// took their time, or too few transactions.
fn under_way(run: &CellRun) -> Option<f64> {
    let clients = run.workload.clients;
    let applies = run.workload.rate_per_s.is_none()
        && missed(&run.counts_whole) == 0
        && run.outage.is_none()
        && run.counts.committed >= u64::from(clients) * MIN_EACH_FOR_LITTLE;
    Some(run.tps * run.latency.as_ref().filter(|_| applies)?.mean_ns / 1e9)
}
