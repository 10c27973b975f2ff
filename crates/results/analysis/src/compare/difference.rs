//! Input of the comparison of two subjects: requested differences and facts.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::{
    facts::{Choice, ConnectionFacts, ServerFacts, major_of},
    host::Storage,
};
use pgdyno_rows::load::AccountsState;

/// Requested differences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requested difference of the server program.
    pub program: AskedProgram,
    /// Names of settings in lower case.
    pub settings: BTreeSet<String>,
    /// Whether different presets were requested, which replace the settings that pgdyno chooses.
    pub preset: bool,
    /// Whether different connections were requested, such as TCP and a socket.
    pub connection: bool,
    /// Whether different locations of data or WAL were requested.
    pub places: bool,
    /// Requested differences of the workload and of the host that it runs on, such as `script`.
    pub work: Vec<String>,
    /// Whether different client counts were requested.
    pub clients: bool,
    /// Requested differences of the load: options named as in `LoadRequest::terms`, such as `fillfactor`.
    pub load: BTreeSet<String>,
}

/// Requested difference of the server program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedProgram {
    /// None.
    #[default]
    Nothing,
    /// The version, including defaults that it changed.
    Version,
    /// The build: version, compiler, flags, features and block sizes.
    Build,
}

/// The known facts of one of two subjects.
#[derive(Debug, Clone, Default)]
pub struct Side<'a> {
    /// The server.
    pub server: Option<&'a ServerFacts>,
    /// The connection from the driver to the server.
    pub connection: Option<ConnectionFacts>,
    /// Storage of the data directory, if it is on this machine.
    pub storage: Option<&'a Storage>,
    /// The loaded data.
    pub data: Option<LoadedData>,
    /// Client count.
    pub clients: Option<u32>,
    /// CPUs that the server may run on.
    pub processors: Option<u32>,
    /// Settings chosen by pgdyno.
    pub chosen: &'a [Choice],
}

/// The tables after load or setup, before the first run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedData {
    /// TPC-B scale factor; 0 without such tables.
    pub scale: u64,
    /// Rows in all tables.
    pub rows: u64,
    /// Method of the load, for example `COPY text, frozen`; for a plan's own tables the SQL files.
    pub load: String,
    /// Options of the load named as in `LoadRequest::terms`, with their values; the method is in `load`.
    pub options: BTreeMap<String, String>,
    /// Whether the tables were read into shared buffers.
    pub in_buffers: bool,
    /// Size of tables and indexes in bytes.
    pub size_bytes: u64,
    /// State of `pgbench_accounts`; `None` without such a table.
    pub accounts: Option<AccountsState>,
}

/// Whether two servers have different major versions, and therefore different defaults.
pub(super) fn majors_differ(a: &ServerFacts, b: &ServerFacts) -> bool {
    major_of(a.version_num) != major_of(b.version_num)
}
