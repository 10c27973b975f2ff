//! Search for the highest rate at which latency keeps a limit.
//!
//! A probe is an open loop at one rate. `limit` reads the limit and judges a probe, `search` brackets the rate, halves
//! the bracket, confirms both of its ends and repeats them, `interval` estimates the rate from all probes. This module
//! does not measure.

mod interval;
mod limit;
mod search;

pub use interval::{RateInterval, interval};
pub use limit::{Limit, NotALimit, Seen, Verdict, Why};
pub use search::{Answer, Bounds, MOST_PROBES, Plan, Probe, Search};
