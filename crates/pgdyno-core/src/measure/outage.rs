//! Connections that were lost, and what it took to have them again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Connections that were lost in a run, warm-up and drain included, and made again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// Connections lost whose clients were to have another.
    pub lost: u64,
    /// Connections made again.
    pub made_again: u64,
    /// Tries to connect that failed.
    pub refused: u64,
    /// Time that clients were without a connection, added up over all of them, in nanoseconds.
    pub clients_ns: u64,
    /// The longest time that one client was without, in nanoseconds.
    pub longest_ns: u64,
    /// Time in which no client of the run had a connection, in nanoseconds.
    pub none_ns: u64,
}

impl Outage {
    /// Adds another run's.
    pub fn merge(&mut self, other: &Self) {
        self.lost += other.lost;
        self.made_again += other.made_again;
        self.refused += other.refused;
        self.clients_ns += other.clients_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.none_ns += other.none_ns;
    }
}
