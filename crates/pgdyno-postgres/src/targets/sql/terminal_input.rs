//! What terminals of TPC-C enter at a client, and what of it the server carried out.

use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_core::tpcc::{Shares, Transaction};
use pgdyno_script::{
    Names, Variables,
    tpcc::{Crowd, Entry},
};

/// The counts of all clients of a run. Each has a place of its own, so that none waits for another.
#[derive(Debug, Clone, Default)]
pub struct Counted(Arc<Mutex<Vec<Arc<Mutex<Shares>>>>>);

impl Counted {
    /// The place of one more client.
    fn place(&self) -> Arc<Mutex<Shares>> {
        let place = Arc::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&place));
        place
    }

    /// The sum over all clients.
    pub fn sum(&self) -> Shares {
        let mut sum = Shares::default();
        for place in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            sum.merge(&place.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }
}

/// Where terminals enter their transactions: one a client.
#[derive(Debug)]
pub struct TerminalInput {
    entry: Entry,
    counted: Arc<Mutex<Shares>>,
}

impl TerminalInput {
    /// That of a client whose scripts have these names, counted among the others.
    pub fn new(crowd: Crowd, client: u32, names: &Arc<Names>, counted: &Counted) -> Self {
        Self { entry: Entry::new(crowd, client, names), counted: counted.place() }
    }

    /// Fills the variables of the transaction with the number of this script.
    pub(super) fn enter(&mut self, script: usize, terminal: Option<u64>, variables: &mut Variables) {
        if let Some(transaction) = Transaction::ALL.get(script) {
            self.entry.enter(*transaction, terminal, variables);
        }
    }

    /// Counts it: it was carried out.
    pub(super) fn count(&self, variables: &mut Variables) {
        let mut shares = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        self.entry.count(variables, &mut shares);
    }
}
