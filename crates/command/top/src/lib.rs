//! A live view of a server: readings, panels, and the terminal that shows them.
//!
//! One thread reads the server over a session of its own, one the machine, one the terminal, one takes signals. They
//! send messages to the calling thread, which puts a reading together and draws it: a server that hangs does not stop
//! the keys. What is shown is [a pure function](model) of a reading and of what the user wants to see.

mod draw;
mod keys;
mod machine;
mod model;
mod news;
mod place;
pub mod reading;
mod server;
mod signals;
mod terminal;
mod watch;

pub use reading::schema;
pub use watch::{Listener, Request, each, once, view};
