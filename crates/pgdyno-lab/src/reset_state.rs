//! What a reset left, so that it is not made twice.

use pgdyno_plan::{Steps, Work};

/// The data that a workload's reset leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetState {
    workload: String,
    /// The number of clients, where the reset asks for it.
    clients: Option<u32>,
}

impl ResetState {
    /// State after `reset` of a workload, in a run of so many clients.
    pub fn new(work: &Work, reset: &Steps, clients: u32) -> Self {
        // One word too many costs a reset more; one too few, the right data.
        let asks = reset.texts.iter().any(|of| of.text.replace("max_clients", "").contains("clients"));
        Self { workload: work.name.clone(), clients: asks.then_some(clients) }
    }
}
