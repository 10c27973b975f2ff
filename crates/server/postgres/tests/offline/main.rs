//! Everything that needs no server of PostgreSQL: a scripted one answers, or nobody.

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
