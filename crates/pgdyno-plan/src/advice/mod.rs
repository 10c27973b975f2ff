//! Choices made from facts by pure rules, each with its reason: the size of a configuration, the scale, the
//! clients.

pub mod alike;
pub mod bench;
pub mod config;
pub mod preflight;
pub mod program;
