//! Memory of the host.

use pgdyno_core::results::{Bottleneck, BottleneckKind};

use super::about::{About, percent};
use crate::diagnosis::cell::Cell;

/// Memory that is available, as a share of all, below which the kernel has to reclaim pages for new ones.
const SCARCE: f64 = 0.05;

/// Processes wait for memory.
pub fn reclaim(cell: &Cell<'_>) -> Option<Bottleneck> {
    let stalled = cell.host(|host| host.pressure.as_ref()?.memory_some)?;
    let about = About {
        kind: BottleneckKind::Memory,
        next: "Smaller shared_buffers, work_mem or fewer clients, more memory, and no swap.",
        refuted_by: "halve shared_buffers, so that nothing waits for memory",
    };
    let least = cell.host(|host| Some(host.least_available_bytes? as f64 / cell.memory_bytes? as f64));
    let second = least
        .filter(|least| *least < SCARCE)
        .map(|least| format!("at the worst {} of the memory were available", percent(least)));
    about.explains(stalled, format!("processes waited for memory {} of the time", percent(stalled)), second)
}
