//! Work at a server: at real ones, at scripted ones, and true reports of it.

mod allocator;
mod crowd;
mod offline;
mod own;
mod play;
mod servers;
mod truth;
