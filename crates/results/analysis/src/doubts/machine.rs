//! Other load on the machine, and servers that could not be observed.

use pgdyno_core::{measure::CellRun, units};

use super::wording::{above, doubt, percent};
use crate::{
    Doubt, DoubtKind,
    cells::{idle_cpus, idle_written_bytes, others_cpus, steal},
};
use pgdyno_record::RunRecord;

/// Tolerated CPU steal as a share of CPU time: the default equivalence margin of a comparison (2 %).
pub const MAX_STEAL: f64 = 0.02;

/// CPUs that other programs may use, for each CPU of the server. The kernel and pgdyno's observer use a few hundredths.
pub const MAX_OTHERS_CPUS: f64 = 0.15;

/// CPUs that the servers of all other subjects together may use while one is measured: of one CPU as much as the
/// default equivalence margin (2 %). An idle server uses less than a thousandth.
pub const MAX_IDLE_CPUS: f64 = 0.02;

/// Bytes that these servers may write during a run. Statistics files and the like take a few pages, a checkpoint or
/// autovacuum takes more.
pub const MAX_IDLE_WRITTEN_BYTES: f64 = (4 << 20) as f64;

pub(super) fn cpu_steal(record: &RunRecord) -> Option<Doubt> {
    let (names, most) = above(record, MAX_STEAL, steal)?;
    let detail = format!("the hypervisor took up to {} of the CPU time", percent(most));
    doubt(DoubtKind::CpuSteal, detail, "Measure on a machine with dedicated CPUs.", names)
}

/// CPUs that the server may use.
pub fn server_cpus(record: &RunRecord) -> f64 {
    let pinned = record.plan.server_cpus.len();
    (if pinned > 0 { pinned } else { record.host.allowed_cpus().len().max(1) }) as f64
}

pub(super) fn other_load(record: &RunRecord) -> Option<Doubt> {
    let (names, most) = above(record, MAX_OTHERS_CPUS * server_cpus(record), others_cpus)?;
    let detail = format!(
        "other programs on this machine used {most:.2} CPUs on average: the server may be faster without them"
    );
    doubt(DoubtKind::OtherLoad, detail, "Stop them, or measure on a dedicated machine.", names)
}

/// Servers of other subjects that work during a run compete for CPUs and disk.
pub(super) fn idle_servers_busy(record: &RunRecord) -> Option<Doubt> {
    let mut names = Vec::new();
    let mut most = |limit, figure: fn(&[&CellRun]) -> f64| {
        let (found, worst) = above(record, limit, figure)?;
        names.extend(found);
        Some(worst)
    };
    let cpus = most(MAX_IDLE_CPUS, idle_cpus).map(|cpus| format!("used up to {cpus:.2} CPUs"));
    let written = most(MAX_IDLE_WRITTEN_BYTES, idle_written_bytes)
        .map(|bytes| format!("wrote up to {} during a run", units::bytes(bytes as u64)));
    let did: Vec<_> = cpus.into_iter().chain(written).collect();
    names.sort();
    names.dedup();
    let detail = format!("while a subject was measured, the servers of the others {}", did.join(" and "));
    let advice = match record.plan.slots {
        true => "Leave out --slots: after a whole run a server is settled before the other one is measured.",
        false => {
            "Check their logs (server-N.log) for autovacuum, a checkpoint or a background job of an extension, \
                  and turn it off."
        }
    };
    (!did.is_empty()).then(|| doubt(DoubtKind::IdleServersBusy, detail, advice, names))?
}

pub(super) fn server_not_observed(record: &RunRecord) -> Option<Doubt> {
    let seen_there = |run: &CellRun| run.observed.as_ref().is_some_and(|of| !of.server_hosts.is_empty());
    let is_unseen = |run: &&CellRun| run.cpu.server_s.is_none() && !seen_there(run);
    let unseen = record.runs.iter().filter(is_unseen).count();
    if unseen == 0 {
        return None;
    }
    let detail =
        format!("the server's CPU time could not be measured in {unseen} of {} runs", record.runs.len());
    let advice = "Run pgdyno on the server's host, as the server's user or root, to see what limits the server; or \
         `pgdyno observe` there during a run, and join its file.";
    doubt(DoubtKind::ServerNotObserved, detail, advice, Vec::new())
}
