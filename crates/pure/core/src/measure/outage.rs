//! Lost connections and reconnects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Connections that were lost and re-established during a run, including warm-up and drain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// Lost connections whose clients were to reconnect.
    pub lost: u64,
    /// Connections re-established.
    pub made_again: u64,
    /// Failed attempts to connect.
    pub refused: u64,
    /// Time without a connection, summed over all clients, in nanoseconds.
    pub clients_ns: u64,
    /// Longest time that one client had no connection, in nanoseconds.
    pub longest_ns: u64,
    /// Time during which no client of the run had a connection, in nanoseconds.
    pub none_ns: u64,
}

impl Outage {
    /// Adds the outages of another run.
    pub fn merge(&mut self, other: &Self) {
        self.lost += other.lost;
        self.made_again += other.made_again;
        self.refused += other.refused;
        self.clients_ns += other.clients_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.none_ns += other.none_ns;
    }
}
