//! The rules that find bottlenecks, a file each family.

mod about;
mod checkpoints;
mod clients;
mod cpu;
mod driver;
mod io;
mod locks;
mod memory;
#[cfg(test)]
mod tests;

use pgdyno_core::results::{Bottleneck, BottleneckKind, CellLimits};

use crate::diagnosis::cell::Cell;

/// A rule that finds one limit.
type Rule = fn(&Cell<'_>) -> Option<Bottleneck>;

/// All rules. At most one of a family finds something where they exclude each other.
const RULES: [Rule; 29] = [
    driver::busy,
    driver::starved,
    driver::round_trips,
    clients::too_few,
    clients::without_connection,
    cpu::server,
    cpu::other_programs,
    cpu::steal,
    cpu::interrupts,
    memory::reclaim,
    io::reads,
    io::writes,
    io::dirty_pages,
    checkpoints::slower,
    io::wal_flush,
    io::group_commit,
    io::temporary_files,
    locks::rows,
    locks::tables,
    locks::extension,
    locks::wal_insertion,
    locks::snapshots,
    locks::buffer_content,
    locks::buffer_mapping,
    locks::lock_manager,
    locks::transaction_status,
    locks::buffer_pin,
    locks::other_lwlocks,
    locks::other_processes,
];

/// What a server without CPU time to spare spends it on: the kernel copies pages of files while a session waits for
/// them. Without them there would be CPU time again, so they are reported before the CPU.
const USES_CPU: [BottleneckKind; 4] = [
    BottleneckKind::ReadIo,
    BottleneckKind::WriteIo,
    BottleneckKind::TemporaryFiles,
    BottleneckKind::RelationExtension,
];

/// Used CPUs below this share are idle at times although more clients than CPUs wait: they are not what clients wait
/// for most. One row that 12 clients update and one CPU used to 88 % made 12 % more with twice the CPUs, commits of 12
/// clients and a CPU used to 93 % made 21 % more.
const NEVER_IDLE: f64 = 0.95;
/// The share of the clients' time from which on a wait is then reported before the CPUs.
const MOST_OF_THE_TIME: f64 = 0.5;

/// Waits of sessions that are waits for the kernel to write dirty pages.
const WRITES: [BottleneckKind; 4] = [
    BottleneckKind::WriteIo,
    BottleneckKind::TemporaryFiles,
    BottleneckKind::RelationExtension,
    BottleneckKind::WalFlush,
];

/// What limits a cell, the largest share first, but causes before their effects. `others` are the cells of the record.
pub fn limits(cell: &Cell<'_>, others: &[Cell<'_>]) -> CellLimits {
    let found = RULES.iter().filter_map(|rule| rule(cell));
    let mut found: Vec<Bottleneck> = found.chain(clients::too_many(cell, others)).collect();
    found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    if let Some(cpu) = found.iter().position(|one| one.kind == BottleneckKind::ServerCpu) {
        found[cpu..].sort_by_key(|one| !USES_CPU.contains(&one.kind));
    }
    if let Some(dirty) = found.iter().position(|one| one.kind == BottleneckKind::DirtyPages) {
        let effect = found[..dirty].iter().position(|one| WRITES.contains(&one.kind));
        effect.into_iter().for_each(|effect| found[effect..=dirty].rotate_right(1));
    }
    CellLimits { cell: cell.workload.cell(), found, unseen: unseen(cell) }
}

/// The share by which bottlenecks are sorted.
fn rank(of: &Bottleneck) -> f64 {
    match of.kind {
        BottleneckKind::ServerCpu if of.share < NEVER_IDLE => of.share.min(MOST_OF_THE_TIME),
        _ => of.share,
    }
}

/// What no rule could see.
fn unseen(cell: &Cell<'_>) -> Vec<String> {
    let missing = [
        (
            cell.sessions.is_none(),
            "what the sessions waited for (too few samples, or no session to sample with)",
        ),
        (
            cell.server_used().is_none(),
            "the server's CPU time (its processes are not on this machine, or hidden)",
        ),
        (cell.host(|_| Some(1.0)).is_none(), "the host and its devices"),
    ];
    missing.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, what)| what.to_owned()).collect()
}
