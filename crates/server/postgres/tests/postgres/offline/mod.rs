//! Everything that needs no PostgreSQL server: a scripted one answers, or none.

mod allocations;
mod corpus;
mod driving;
mod link;
mod load_memory;
mod playing;
mod tpcc_shares;
