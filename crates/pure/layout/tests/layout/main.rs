//! Layouts as they come out, what the tools make of them, and scripts that run on loop devices of the test.

#![allow(
    clippy::disallowed_methods,
    reason = "the crate is pure, its tests run the tools that it writes for"
)]

mod golden;
mod hostile;
mod loops;
mod lvm;
mod mkfs;
mod old;
mod request;
mod table;
mod tools;
