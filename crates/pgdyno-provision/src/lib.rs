//! Servers of pgdyno's own: which program, how the cluster is made, how it is started, found again and
//! stopped.
//!
//! The way through: [`up`] resolves the program (an [`installation`] or a [`bundle`]), sizes its
//! configuration, says what cannot start, records the server in the [`registry`], makes the cluster, starts
//! it and waits for its own word that it is ready.

pub mod builds;
pub mod bundle;
mod child;
mod conf;
mod dirs;
mod foresee;
mod initdb;
pub mod installation;
mod lock;
pub mod manifest;
mod process;
mod ready;
mod refused;
pub mod registry;
mod run_as;
mod running;
mod safe;
mod stop;
mod up;
mod version;
mod wait;
mod words;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

pub use conf::check_settings;
pub use dirs::{Dirs, Environment};
pub use foresee::{Foreseen, foresee, foresee_bundle};
pub use initdb::SUPERUSER;
pub use registry::{Record, Status};
pub use running::{RunningServer, Tcp, remove, remove_leftover, stop};
pub use safe::Place;
pub use stop::{FAST_LIMIT, Stopped};
pub use up::{check, check_build, up};
pub use version::{NotAVersion, Wanted, parse_program_version, version_words};

/// How long a server lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is stopped.
    Detached,
    /// Until the thread that started it ends, however it ends: the kernel then asks the server for a fast
    /// shutdown. Call [`up`] from a thread that lives as long as the server is needed, such as the main
    /// thread.
    DiesWithUs,
}

/// A server that is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its name: up to 40 letters, digits, `-` and `_`.
    pub name: String,
    /// Its version; `None` is the newest installed one, or the newest pinned bundle.
    pub pg: Option<Wanted>,
    /// Directory of its programs, in place of a search.
    pub bindir: Option<PathBuf>,
    /// Name of the build that its programs are, in place of a search.
    pub build: Option<String>,
    /// Whether to pass over installed servers.
    pub bundle_only: bool,
    /// `PATH`, searched for installed servers.
    pub search_path: Option<std::ffi::OsString>,
    /// Data directory, empty or absent; `None` is one among pgdyno's own.
    pub data: Option<PathBuf>,
    /// Directory of WAL, empty or absent; `None` is inside the data directory.
    pub waldir: Option<PathBuf>,
    /// Size of a WAL segment in MB, a power of two from 1 to 1024 (PostgreSQL 11 and newer).
    pub wal_segsize_mb: Option<u32>,
    /// Encoding; `None` is UTF8.
    pub encoding: Option<String>,
    /// Locale; `None` is C.
    pub locale: Option<String>,
    /// Data checksums; `None` is on.
    pub data_checksums: Option<bool>,
    /// Tablespaces: name, and directory, empty or absent.
    pub tablespaces: Vec<(String, PathBuf)>,
    /// Settings over those chosen from facts.
    pub settings: BTreeMap<String, String>,
    /// Addresses to listen on by TCP; `None` is none.
    pub listen: Option<String>,
    /// Port; `None` is 5432.
    pub port: Option<u16>,
    /// User to run as, where root asks; `None` is `postgres`, else `nobody`.
    pub run_as: Option<String>,
    /// Processors for the server; empty is all.
    pub cpus: Vec<u32>,
    /// Client sessions that will be open at once.
    pub clients: u32,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Longest wait in which the server shows no sign of starting.
    pub start_limit: Duration,
}

impl Request {
    /// A server of this name with nothing else said.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            pg: None,
            bindir: None,
            build: None,
            bundle_only: false,
            search_path: None,
            data: None,
            waldir: None,
            wal_segsize_mb: None,
            encoding: None,
            locale: None,
            data_checksums: None,
            tablespaces: Vec::new(),
            settings: BTreeMap::new(),
            listen: None,
            port: None,
            run_as: None,
            cpus: Vec::new(),
            clients: 80,
            lifetime: Lifetime::Detached,
            start_limit: Duration::from_secs(60),
        }
    }
}

/// What is going on, for whoever waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another pgdyno works on the server of this name.
    WaitingForServer {
        /// Name of the server.
        name: String,
    },
    /// Another pgdyno fetches the same bundle.
    WaitingForBundle {
        /// Version of PostgreSQL.
        version: String,
    },
    /// A bundle is being fetched, about 15 MB.
    FetchingBundle {
        /// Version of PostgreSQL.
        version: String,
    },
    /// A bundle in the cache is not what it was, and is fetched anew.
    BundleDamaged {
        /// Version of the bundle.
        version: String,
        /// What is wrong with it.
        why: String,
    },
    /// What a killed pgdyno left of a server of this name is being removed.
    CleaningUp {
        /// Name of the server.
        name: String,
    },
    /// The cluster is being made.
    MakingCluster {
        /// Data directory.
        data_dir: PathBuf,
    },
    /// The server was started and is waited for.
    Starting {
        /// Number of its process.
        pid: u32,
    },
    /// The server still says that it is starting.
    StillStarting {
        /// Seconds since its start.
        seconds: u64,
        /// Last line of its log.
        log_line: Option<String>,
    },
    /// A fast shutdown took too long; an immediate one follows, and the next start will recover.
    StoppingAtOnce {
        /// Seconds of the fast shutdown.
        seconds: u64,
    },
}
