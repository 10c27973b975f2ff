//! Servers managed by pgdyno: choosing the program, making the cluster, starting, finding and stopping.
//!
//! [`up`] resolves the program (an [`installation`] or a [`bundle`]), chooses settings, refuses what cannot start,
//! records the server in the [`registry`], makes the cluster, starts it and waits until it reports that it is ready.

pub mod builds;
pub mod bundle;
pub mod bundle_archive;
mod bundle_repository;
pub mod child;
mod conf;
mod dirs;
mod foresee;
mod initdb;
pub mod installation;
mod lock;
pub mod manifest;
mod presets;
mod process;
mod ready;
mod refused_settings;
pub mod registry;
mod restart;
pub mod run_as;
mod running;
pub mod safe;
mod stop;
mod template;
mod unit;
mod up;
pub mod version;
pub mod wait;
mod words;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use pgdyno_plan::{advice::config::KeyDemand, preset::Preset};

pub use conf::{check_allow, check_settings};
pub use dirs::Dirs;
pub use foresee::{Foreseen, foresee, foresee_bundle, foresee_preset, foresee_settings};
pub use initdb::SUPERUSER;
pub use registry::{Record, Status};
pub use restart::{asks_for_like_data, restart_on_next};
pub use running::{RunningServer, Tcp, remove, remove_leftover, stop};
pub use safe::{Place, make_open_dir};
pub use stop::{FAST_LIMIT, Stopped};
pub use unit::unit;
pub use up::{check, check_build, up};
pub use version::{NotAVersion, Wanted, parse_program_version, version_words};

/// Lifetime of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// The server runs until it is stopped.
    #[default]
    Detached,
    /// The server runs until the thread that started it ends, in whatever way: the kernel then signals it to shut down.
    /// Call [`up`] from a thread that lives as long as the server is needed, such as the main thread.
    DiesWithUs,
}

/// Request for a server: [`Request::named`] makes one.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Name of the server: up to 40 letters, digits, `-` and `_`.
    pub name: String,
    /// Version; `None` is the newest installed one, else the newest pinned bundle.
    pub pg: Option<Wanted>,
    /// Directory of the programs, instead of a search.
    pub bindir: Option<PathBuf>,
    /// Name of a pgdyno build to use, instead of a search.
    pub build: Option<String>,
    /// Whether to ignore installed servers.
    pub bundle_only: bool,
    /// `PATH`, searched for installed servers.
    pub search_path: Option<std::ffi::OsString>,
    /// Data directory, empty or absent; `None` is one in pgdyno's state directory.
    pub data: Option<PathBuf>,
    /// WAL directory, empty or absent; `None` is inside the data directory.
    pub waldir: Option<PathBuf>,
    /// WAL segment size in MB, a power of two from 1 to 1024 (PostgreSQL 11 and newer).
    pub wal_segsize_mb: Option<u32>,
    /// Encoding; `None` is UTF8.
    pub encoding: Option<String>,
    /// Locale; `None` is C.
    pub locale: Option<String>,
    /// `LC_COLLATE`; `None` is that of the locale.
    pub collate: Option<String>,
    /// `LC_CTYPE`; `None` is that of the locale.
    pub ctype: Option<String>,
    /// Whether data checksums are enabled; `None` enables them.
    pub data_checksums: Option<bool>,
    /// Tablespaces: name, and directory, which must be empty or absent.
    pub tablespaces: Vec<(String, PathBuf)>,
    /// User's settings, which override those chosen from facts.
    pub settings: BTreeMap<String, String>,
    /// A configuration that takes the place of the settings chosen from facts.
    pub preset: Option<Preset>,
    /// Servers of this machine that share its memory with this one, including it; 0 is the same as 1.
    pub side_by_side: u64,
    /// Addresses to listen on by TCP; `None` is no TCP.
    pub listen: Option<String>,
    /// Networks whose clients TCP admits, as `pg_hba.conf` has them; empty is those that this machine is part of.
    pub allow: Vec<String>,
    /// Port; `None` is 5432.
    pub port: Option<u16>,
    /// User to run as if root asks; `None` is `postgres`, else `nobody`.
    pub run_as: Option<String>,
    /// CPUs for the server; empty is all.
    pub cpus: Vec<u32>,
    /// Number of client sessions open at the same time.
    pub clients: u32,
    /// Most tables and indexes that one statement locks, such as those of all partitions; 0 if there are few.
    pub relations: u64,
    /// Parallel workers that a load requests for its keys.
    pub key_workers: KeyDemand,
    /// Lifetime of the server.
    pub lifetime: Lifetime,
    /// Longest time without a sign of progress while the server starts.
    pub start_limit: Duration,
}

impl Request {
    /// Request for a server of this name with default settings.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), clients: 80, start_limit: Duration::from_secs(60), ..Self::default() }
    }
}

/// Progress of a request, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another pgdyno is working on the server of this name; this one waits.
    WaitingForServer {
        /// Name of the server.
        name: String,
    },
    /// Another pgdyno is fetching the same bundle; this one waits.
    WaitingForBundle {
        /// Version of PostgreSQL.
        version: String,
    },
    /// A bundle is being fetched.
    FetchingBundle {
        /// Version of PostgreSQL.
        version: String,
        /// Size of its archive in MB, roughly.
        about_mb: u32,
    },
    /// A cached bundle is damaged and is fetched again.
    BundleDamaged {
        /// Version of the bundle.
        version: String,
        /// Description of the damage.
        why: String,
    },
    /// The remains of a server of this name, left by a killed pgdyno, are being removed.
    CleaningUp {
        /// Name of the server.
        name: String,
    },
    /// `initdb` is making the cluster.
    MakingCluster {
        /// Data directory.
        data_dir: PathBuf,
    },
    /// The server was started and is not ready yet.
    Starting {
        /// PID of the postmaster.
        pid: u32,
    },
    /// The server still reports that it is starting.
    StillStarting {
        /// Seconds since its start.
        seconds: u64,
        /// Last line of the server log.
        log_line: Option<String>,
    },
    /// A fast shutdown took too long; an immediate one follows, after which the next start recovers.
    StoppingAtOnce {
        /// Duration of the fast shutdown in seconds.
        seconds: u64,
    },
}
