//! What the slowest transactions waited for: a join of the transactions that the driver recorded one by one with the
//! samples that observers took of their sessions.
//!
//! [`Slowest`] takes the lines of `slowest.ndjson` and chooses the tail of every cell; [`TailSamples`] takes the lines
//! of `observations.ndjson`, in any order, and keeps of them what concerns the tail. Memory is bounded by the number of
//! transactions that are kept, and by the length of the run for what happened meanwhile.
//!
//! A transaction counts as one, whatever its latency. The time before it began is known exactly; the rest of it is
//! divided among its samples. A transaction without a sample stays without a cause.

mod attempts;
mod attribution;
mod circumstances;
mod explained;
mod holders;
mod quotes;
mod samples;
mod share;
#[cfg(test)]
mod tests;

pub use attempts::Slowest;
pub use samples::TailSamples;
