//! Everything that needs no PostgreSQL server: a scripted one answers, or none.

#![allow(unsafe_code)] // an allocator cannot be written without

mod allocations;
mod allocator;
mod corpus;
mod driving;
mod link;
mod load_memory;
mod play;
mod playing;
mod tpcc_shares;
