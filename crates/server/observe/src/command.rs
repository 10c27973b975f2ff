//! What the threads are told.

use std::sync::mpsc;

use pgdyno_core::observe::{Digest, ServerDigest};
use pgdyno_host::observe::{ServerId, WatchedServer};

/// What the thread of the host is told.
#[derive(Debug)]
pub(crate) enum Command {
    Watch(ServerId, Option<String>, Box<WatchedServer>),
    Forget(ServerId),
    Begin { id: u64, servers: Vec<ServerId>, digest: mpsc::Sender<Digest> },
    End(u64),
    Finish,
}

/// What a thread of a server is told.
#[derive(Debug)]
pub(crate) enum Mark {
    /// A time of this number begins.
    Begin(u64),
    /// It ends; what the server did in it is sent here.
    End(u64, mpsc::Sender<ServerDigest>),
    /// The thread is to end.
    Finish,
}
