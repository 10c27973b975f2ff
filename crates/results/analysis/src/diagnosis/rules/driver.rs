//! The driver, its clients and their connections.

use pgdyno_core::results::{Bottleneck, BottleneckKind};

use super::about::{About, percent};
use crate::diagnosis::cell::Cell;

/// A driver thread that uses more than this share of a CPU makes its clients wait: at 0.85 about half of the answers
/// already wait for the event loop.
const BUSY: f64 = 0.85;
/// A thread that waits for a CPU for this part of the time that it uses one is starved.
const STARVED: f64 = 0.5;

/// The driver's threads are busy, and sessions wait for them.
pub fn busy(cell: &Cell<'_>) -> Option<Bottleneck> {
    let busiest = cell.busiest_driver_thread();
    if busiest < BUSY || is_starved(cell) {
        return None;
    }
    let about = About {
        kind: BottleneckKind::Driver,
        next: "Give the driver more threads and CPUs, or drive from several machines.",
        refuted_by: "double the driver threads, on CPUs of their own",
    };
    let used = format!("the driver's busiest thread used {} of a CPU", percent(busiest));
    let client = cell.client_share();
    let waited =
        client.map(|share| format!("sessions waited {} of the time for their clients", percent(share)));
    about.explains(client.unwrap_or(busiest), used, waited)
}

/// The driver's threads are ready and get no CPU.
pub fn starved(cell: &Cell<'_>) -> Option<Bottleneck> {
    if !is_starved(cell) {
        return None;
    }
    let about = About {
        kind: BottleneckKind::DriverStarved,
        next: "Give the driver CPUs that nobody else uses, or drive from another machine.",
        refuted_by: "run the driver on idle CPUs",
    };
    let (waited, client) = (cell.driver_waited()?, cell.client_share()?);
    let first = format!("sessions waited {} of the time for their clients", percent(client));
    about.explains(client, first, Some(format!("the driver's threads waited for {waited:.2} CPUs")))
}

fn is_starved(cell: &Cell<'_>) -> bool {
    let used = cell.busiest_driver_thread() * f64::from(cell.driver_threads);
    cell.driver_waited()
        .is_some_and(|waited| waited > STARVED * used.max(0.02 * f64::from(cell.driver_threads)))
}

/// Sessions wait for clients that are not busy.
pub fn round_trips(cell: &Cell<'_>) -> Option<Bottleneck> {
    if cell.is_paced() || is_starved(cell) || cell.busiest_driver_thread() >= BUSY {
        return None;
    }
    let client = cell.client_share()?;
    let about = About {
        kind: BottleneckKind::ClientRoundTrips,
        next: "Use more clients, or fewer round trips a transaction (pipelining, a function on the server); check the \
               network's latency and the think times of the script.",
        refuted_by: "use more clients",
    };
    let threads =
        format!("the driver's busiest thread used only {} of a CPU", percent(cell.busiest_driver_thread()));
    // A little of this is in every run: answers travel.
    (client >= 0.5).then(|| {
        about.explains(
            client,
            format!("sessions waited {} of the time for their clients", percent(client)),
            Some(threads),
        )
    })?
}
