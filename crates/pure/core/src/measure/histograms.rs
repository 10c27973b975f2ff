//! The latencies of one run or of one cell.

use super::Latency;

/// Latencies of a run, or of all blocks of a cell added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Histograms {
    /// All attempts.
    pub whole: Latency,
    /// One for each script, if there are several; empty otherwise.
    pub scripts: Vec<Latency>,
    /// One for each set of tables, if several were driven at one time; empty otherwise.
    pub sets: Vec<Latency>,
}

impl From<Latency> for Histograms {
    fn from(whole: Latency) -> Self {
        Self { whole, scripts: Vec::new(), sets: Vec::new() }
    }
}

impl Histograms {
    /// Adds those of another block.
    pub fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        self.scripts.iter_mut().zip(&other.scripts).for_each(|(whole, one)| whole.add(one));
        self.sets.iter_mut().zip(&other.sets).for_each(|(whole, one)| whole.add(one));
    }
}
