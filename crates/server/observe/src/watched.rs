//! What observers know about a server.

use pgdyno_host::observe::WatchedServer;
use pgdyno_wire::ConnectOptions;

use crate::server_log::ServerLog;

/// A server that is watched.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The subject whose server it is; `None` if there is one server only.
    pub subject: Option<String>,
    /// Its processes and files on this machine.
    pub server: WatchedServer,
    /// Its log; `None` if it is not on this machine.
    pub log: Option<ServerLog>,
    /// How the observing session connects; `None` if there is to be none.
    pub session: Option<SessionOptions>,
}

/// The observing session at a server.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// How it connects.
    pub connect: ConnectOptions,
    /// Databases whose sessions and counters are read; none for that of `connect`, which counts besides if it
    /// stays out of that.
    pub databases: Vec<String>,
    /// Whether it stays out of the database of `connect`, because that is copied: it is in `postgres` then, or in
    /// `template1` if that is the one.
    pub stays_out: bool,
    /// Whether it connects through a pooler, which refuses settings of sessions.
    pub pooled: bool,
    /// Version of the server, as `server_version_num`.
    pub version_num: u32,
    /// Whether it reads nothing but the server's clock.
    pub clock_only: bool,
    /// Connections that must stay free for others when it connects: those of the clients to come.
    pub leaves_free: u32,
}
