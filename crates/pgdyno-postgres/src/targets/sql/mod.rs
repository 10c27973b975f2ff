//! Clients that run scripts: pgbench's whole language, over each of its three protocols.
//!
//! `play` is what all clients of a run share, `clients` makes them, `target` is one of them as the engine sees it.
//! The rest is the inside of `target`, by topic: `act` carries commands out, `send` puts SQL into messages, `reply`
//! takes what the server says, `store` puts results into variables, `outcome` decides what a failure means,
//! `terminal_input` fills in what terminals of TPC-C enter, `parting` asks sessions for their settings at the end,
//! `branches` skips what an `\if` leaves out, `shell` runs programs, `words` says what pgbench says.

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
