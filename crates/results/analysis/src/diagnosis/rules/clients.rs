//! How many clients there are, and how many of them have a connection.

use pgdyno_core::{
    measure::Workload,
    results::{Bottleneck, BottleneckKind},
};

use super::about::{About, percent};
use crate::diagnosis::cell::Cell;

/// CPUs that must be idle, of those the server may use, for more clients to find work there.
const IDLE: f64 = 0.35;

/// Each client waits for its own work on an otherwise idle server.
pub fn too_few(cell: &Cell<'_>) -> Option<Bottleneck> {
    if cell.is_paced() {
        return None;
    }
    let (running, used) = (cell.running_share()?, cell.server_used()?);
    let is_idle =
        used < (1.0 - IDLE) * cell.server_cpus && f64::from(cell.workload.clients) < cell.server_cpus;
    let about = About {
        kind: BottleneckKind::FewClients,
        next: "Use more clients: each of them keeps one process of the server busy at a time.",
        refuted_by: "double the clients",
    };
    let first = format!("sessions ran {} of the time", percent(running));
    let second = format!("{used:.2} of {} CPUs of the server were used", cell.server_cpus);
    is_idle.then(|| about.explains(running, first, Some(second)))?
}

/// Fewer clients of the same workload reached more.
pub fn too_many(cell: &Cell<'_>, others: &[Cell<'_>]) -> Option<Bottleneck> {
    let fewer = |other: &&Cell<'_>| {
        let of_more = Workload { clients: cell.workload.clients, ..other.workload.clone() };
        of_more == *cell.workload && other.workload.clients < cell.workload.clients
    };
    let best = others.iter().filter(fewer).max_by(|a, b| a.tps().total_cmp(&b.tps()))?;
    let about = About {
        kind: BottleneckKind::ManyClients,
        next: "Fewer clients, or a pooler that lets fewer of them work at a time.",
        refuted_by: "use fewer clients",
    };
    let (here, there) = (cell.tps(), best.tps());
    let first = format!("{} clients reached {there:.0} TPS, these {here:.0}", best.workload.clients);
    let rates = |cell: &Cell<'_>| -> Vec<f64> { cell.runs.iter().map(|run| run.tps).collect() };
    let is_each = rates(best).iter().all(|best| rates(cell).iter().all(|here| here < best));
    let second = (is_each && cell.runs.len() > 1)
        .then(|| "each of their runs reached more than any of these".to_owned());
    about.explains(1.0 - here / there.max(f64::MIN_POSITIVE), first, second)
}

/// Clients have no session: they connect, or wait for a connection.
pub fn without_connection(cell: &Cell<'_>) -> Option<Bottleneck> {
    if cell.is_paced() {
        return None;
    }
    let about = About {
        kind: BottleneckKind::Connections,
        next: "Keep connections from transaction to transaction; otherwise a larger pool of the pooler, or a larger \
               max_connections.",
        refuted_by: "keep a connection for every client",
    };
    let connected = cell.sessions.as_ref()?.connected;
    let clients = f64::from(cell.workload.clients);
    let first = format!("on average {connected:.1} of {clients} clients had a session");
    about.explains(1.0 - connected / clients.max(1.0), first, None)
}
