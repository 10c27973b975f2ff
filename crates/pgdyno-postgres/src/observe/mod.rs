//! What a server says of itself.

mod counters;
mod facts;

pub use counters::Counters;
pub use facts::server_facts;
