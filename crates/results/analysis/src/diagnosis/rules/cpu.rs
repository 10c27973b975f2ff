//! CPUs.

use std::fmt::Write;

use pgdyno_core::results::{Bottleneck, BottleneckKind};

use super::about::{About, percent};
use crate::diagnosis::cell::Cell;

/// A server that uses more than this share of its CPUs has none left: the rest goes to switches between processes.
const SATURATED: f64 = 0.85;
/// A server that uses this share of its CPUs has none left either if sessions wait for one half of the time: what it
/// does not use, others do, a little each.
const NEARLY: f64 = 0.6;
/// The share of the clients' time in which their sessions then wait for a CPU.
const QUEUED: f64 = 0.5;
/// CPUs that others take, as a share of those the server may use, before they count as a cause: as much as the doubt
/// about other load tolerates, twice.
const TAKEN: f64 = 0.3;
/// A CPU that spends more than this share of its time on interrupts lags behind them.
const INTERRUPTED: f64 = 0.6;
/// Share of CPU time stolen by the hypervisor before it counts as a cause.
const STOLEN: f64 = 0.1;

/// The server uses all of its CPUs, with the driver if that has no others.
pub fn server(cell: &Cell<'_>) -> Option<Bottleneck> {
    let used = cell.server_used()? / cell.server_cpus;
    let driver = cell.driver_on_the_same_cpus() / cell.server_cpus;
    let is_queue = || waiting_share(cell) >= Some(QUEUED) && other_programs(cell).is_none();
    let is_nearly = || used >= NEARLY && (used + driver >= SATURATED || is_queue());
    if used < SATURATED && !is_nearly() {
        return None;
    }
    let about = About {
        kind: BottleneckKind::ServerCpu,
        next: "Profile the server; then cheaper plans, prepared statements, fewer index updates, or more CPUs.",
        refuted_by: "use more CPUs",
    };
    let waited = cell.server_waited().filter(|waited| *waited > 0.0);
    let second = waited.map(|waited| format!("its processes waited for {waited:.2} more"));
    let mut first = format!("the server used {} of its {} CPUs", percent(used), cell.server_cpus);
    if used < SATURATED && driver > 0.0 {
        let _ = write!(first, ", the driver on the same ones {}", percent(driver));
    }
    about.explains((used + driver).min(1.0), first, second)
}

/// Other programs use CPUs for which the server's processes wait.
pub fn other_programs(cell: &Cell<'_>) -> Option<Bottleneck> {
    let (others, waited) = (cell.others_used()?, cell.server_waited()?);
    let used = cell.server_used()?;
    if others < TAKEN * cell.server_cpus || used >= SATURATED * cell.server_cpus {
        return None;
    }
    let about = About {
        kind: BottleneckKind::OtherPrograms,
        next: "Stop the other programs, or pin them to other CPUs.",
        refuted_by: "stop them",
    };
    let share = waiting_share(cell).unwrap_or(0.0);
    let first = format!("processes of the server waited for {waited:.2} CPUs while they used {used:.2}");
    about.explains(share, first, Some(format!("other programs used {others:.2} CPUs")))
}

/// Of the time that sessions count as running, the part in which they waited for a CPU: a share of the clients' time.
fn waiting_share(cell: &Cell<'_>) -> Option<f64> {
    let (used, waited) = (cell.server_used()?, cell.server_waited()?);
    Some(cell.running_share()? * waited / (waited + used).max(f64::MIN_POSITIVE))
}

/// A CPU is busy with interrupts.
pub fn interrupts(cell: &Cell<'_>) -> Option<Bottleneck> {
    let busiest = cell.host(|host| Some(host.most_interrupted?.busy))?;
    let about = About {
        kind: BottleneckKind::Interrupts,
        next: "Spread the interrupts of network and devices over more CPUs (queues, RPS, irqbalance), or use fewer \
               and larger packets and requests.",
        refuted_by: "connect over a Unix-domain socket",
    };
    let first = format!("one CPU spent {} of the time on interrupts", percent(busiest));
    let all = cell.host(|host| Some(host.all.irq + host.all.softirq)).unwrap_or_default();
    let second = format!("all CPUs together {}", percent(all));
    (busiest >= INTERRUPTED).then(|| about.explains(busiest, first, Some(second)))?
}

/// The hypervisor takes CPU time.
pub fn steal(cell: &Cell<'_>) -> Option<Bottleneck> {
    let stolen = cell.steal()?;
    let about = About {
        kind: BottleneckKind::Steal,
        next: "Measure on a machine with CPUs of its own.",
        refuted_by: "measure when there is no steal",
    };
    let first = format!("the hypervisor gave {} of the CPU time to other guests", percent(stolen));
    (stolen >= STOLEN).then(|| about.explains(stolen, first, None))?
}
