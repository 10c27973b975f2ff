//! Clients that run pgbench scripts over any of the three protocols.
//!
//! `play` is shared by all clients of a run, `clients` connects them, and `target` is a client as the engine sees it.
//! The other modules implement `target`: `act` executes commands, `send` builds messages, `reply` collects replies,
//! `store` stores results in variables, `outcome` handles errors, `terminal_input` generates TPC-C input, `parting`
//! reads settings at the end, `branches` tracks `\if`, `shell` runs programs, and `words` formats pgbench's messages.

mod act;
mod branches;
mod clients;
mod outcome;
mod parting;
mod play;
mod reply;
mod send;
mod sent;
mod sessions;
mod shell;
mod store;
mod target;
mod terminal_input;
mod words;

pub use clients::{SqlClients, Workers};
pub use play::{Conduct, Manner, Play};
pub use sessions::Sessions;
pub use target::{SqlTarget, Start};
pub use terminal_input::{Counted, TerminalInput};
