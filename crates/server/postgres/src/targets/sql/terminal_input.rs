//! Generates TPC-C terminal input for clients, and counts what the server executed.

use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_core::tpcc::{Shares, Transaction};
use pgdyno_script::{
    Names, Variables,
    tpcc::{InputGenerator, TerminalParams},
};

/// Counters of all clients of a run; separate for each client to avoid contention.
#[derive(Debug, Clone, Default)]
pub struct InputCounts(Arc<Mutex<Vec<Arc<Mutex<Shares>>>>>);

impl InputCounts {
    /// A counter for another client.
    fn place(&self) -> Arc<Mutex<Shares>> {
        let place = Arc::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&place));
        place
    }

    /// Adds what another process counted.
    pub fn add(&self, shares: &Shares) {
        self.place().lock().unwrap_or_else(PoisonError::into_inner).merge(shares);
    }

    /// Sum over all clients since the last call.
    pub fn take(&self) -> Shares {
        let mut sum = Shares::default();
        for place in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            sum.merge(&std::mem::take(&mut *place.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        sum
    }
}

/// Generates the terminal input of one client.
#[derive(Debug)]
pub struct TerminalInput {
    generator: InputGenerator,
    counted: Arc<Mutex<Shares>>,
}

impl TerminalInput {
    /// Terminal input of a client whose scripts have these names, counted in `counted`.
    pub fn new(params: TerminalParams, client: u32, names: &Arc<Names>, counted: &InputCounts) -> Self {
        Self { generator: InputGenerator::new(params, client, names), counted: counted.place() }
    }

    /// Sets the variables for the transaction with this script index.
    pub(super) fn enter(&mut self, script: usize, terminal: Option<u64>, variables: &mut Variables) {
        if let Some(transaction) = Transaction::ALL.get(script) {
            self.generator.enter(*transaction, terminal, variables);
        }
    }

    /// Counts the last input as executed.
    pub(super) fn count(&self, variables: &mut Variables) {
        let mut shares = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        self.generator.count(variables, &mut shares);
    }
}
