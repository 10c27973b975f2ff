//! Whole runs of plan, apply and undo on trees that look like a host; the host itself is never changed.

mod interference;
mod kills;
mod network;
mod plans;
mod refusals;
mod tree;
mod undoing;
