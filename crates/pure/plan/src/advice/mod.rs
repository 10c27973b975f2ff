//! Pure rules that choose values from facts (configuration, scale, clients, processors) and give a reason for each.

pub mod alike;
pub mod bench;
pub mod config;
pub(crate) mod logging;
pub mod program;
pub mod will_it_start;
