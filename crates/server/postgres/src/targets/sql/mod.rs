//! Clients that run pgbench scripts over any of the three protocols.
//!
//! `shared` is the state shared by all clients of a run, `clients` connects them, and `target` is a client as the
//! engine sees it. The other modules implement `target`: `act` executes commands, `send` builds messages, `reply`
//! collects replies, `store` stores results in variables, `outcome` handles errors, `terminal_input` generates TPC-C
//! input, `final_settings` reads settings at the end, `branches` tracks `\if`, `shell` runs programs, and `messages`
//! formats pgbench's messages.

mod act;
mod branches;
mod clients;
mod final_settings;
mod messages;
mod outcome;
mod reply;
mod send;
mod sent;
mod sessions;
mod shared;
mod shell;
mod store;
mod target;
mod terminal_input;

pub use clients::{SqlClient, SqlClients, Workers, run_clients, run_returning_clients};
pub use sessions::Sessions;
pub use shared::{ClientBehavior, ErrorHandling, SharedScripts};
pub use target::{SqlTarget, Start};
pub use terminal_input::{InputCounts, TerminalInput};
