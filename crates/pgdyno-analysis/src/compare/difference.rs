//! A difference between two subjects, and what there is of each to be compared.

use std::collections::BTreeSet;

use pgdyno_core::facts::{Choice, ConnectionFacts, ServerFacts, StorageFacts, major_of};
use pgdyno_rows::load::AccountsState;

/// What was asked to differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// What of the program.
    pub program: AskedProgram,
    /// Names of settings, in small letters.
    pub settings: BTreeSet<String>,
    /// Whether the places of data or WAL were given, and are not the same.
    pub places: bool,
    /// What of the work, in words such as `script`.
    pub work: Vec<String>,
}

/// What of the server's program was asked to differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedProgram {
    /// Nothing.
    #[default]
    Nothing,
    /// Its version, and with it what a version brings.
    Version,
    /// The program as it was built: version, compiler, flags, features and sizes.
    Build,
}

/// One of two subjects, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Side<'a> {
    /// Its server.
    pub server: Option<&'a ServerFacts>,
    /// The way from the driver to it.
    pub connection: Option<ConnectionFacts>,
    /// Storage under its data, where it is on this machine.
    pub storage: Option<&'a StorageFacts>,
    /// The state of its data.
    pub data: Option<LoadedData>,
    /// Clients that drive it.
    pub clients: Option<u32>,
    /// Processors that its server may run on.
    pub processors: Option<u32>,
    /// What pgdyno chose for it.
    pub chosen: &'a [Choice],
}

/// Tables as they were loaded or set up, before the first run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedData {
    /// TPC-B scale factor; 0 where there are no such tables.
    pub scale: u64,
    /// Rows over all of them.
    pub rows: u64,
    /// How they were loaded, for example `COPY text, frozen`; of tables of a plan's own, by what SQL.
    pub load: String,
    /// Whether the tables were read into shared buffers.
    pub in_buffers: bool,
    /// Size of tables and indexes in bytes.
    pub size_bytes: u64,
    /// What the server has made of `pgbench_accounts`; `None` where there is no such table.
    pub accounts: Option<AccountsState>,
}

/// Whether two servers are of different majors, which have different defaults.
pub(super) fn majors_differ(a: &ServerFacts, b: &ServerFacts) -> bool {
    major_of(a.version_num) != major_of(b.version_num)
}
