//! The state of the data after a reset, to avoid repeating it.

use pgdyno_plan::{Steps, Work};

/// The state of the data after a workload's reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetState {
    workload: String,
    /// Client count, if the reset depends on it.
    clients: Option<u32>,
}

impl ResetState {
    /// The state after `reset` of a workload, in a run of `clients` clients.
    pub fn new(work: &Work, reset: &Steps, clients: u32) -> Self {
        // A false positive costs one more reset, a false negative the right data.
        let asks = reset.texts.iter().any(|of| of.text.replace("max_clients", "").contains("clients"));
        Self { workload: work.name.clone(), clients: asks.then_some(clients) }
    }
}
