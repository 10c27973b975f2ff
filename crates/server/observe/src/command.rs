//! Commands to the threads.

use std::sync::mpsc;

use pgdyno_core::observe::{Digest, ServerDigest};
use pgdyno_host::observe::{ServerId, WatchedServer};

/// A command to the thread of the host.
#[derive(Debug)]
pub(crate) enum Command {
    Watch(ServerId, Option<String>, Box<WatchedServer>),
    Forget(ServerId),
    Begin { id: u64, servers: Vec<ServerId>, digest: mpsc::Sender<Digest> },
    End(u64),
    Finish,
}

/// A command to a thread of a server.
#[derive(Debug)]
pub(crate) enum Mark {
    /// A time of this number begins.
    Begin(u64),
    /// It ends; what the server did in it is sent here.
    End(u64, mpsc::Sender<ServerDigest>),
    /// The thread is to end.
    Finish,
}
