//! Facts about a PostgreSQL server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildFacts, DurabilityTier};
use crate::host::Storage;

/// Origin of the server's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerSource {
    /// Installed on this machine.
    Installed,
    /// Built from source by `pgdyno build`.
    Built,
    /// The embedded bundle, built for size.
    Bundle,
    /// A server that was already running.
    External,
}

/// Encoding and locale of the database under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseFacts {
    /// Encoding, for example `UTF8`.
    pub encoding: String,
    /// Collation locale (`datcollate`).
    pub collate: String,
    /// Character classification locale (`datctype`).
    pub ctype: String,
    /// Locale provider: `libc`, `icu` or `builtin`; always `libc` before 15.
    pub provider: String,
}

/// One setting of the server according to `pg_settings`, kept if it differs from its boot value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name, for example `shared_buffers`.
    pub name: String,
    /// Value with its unit, as shown by `SHOW`.
    pub value: String,
    /// Source of the value, for example `configuration file`; [`SESSION`] if a session got it when it connected.
    pub source: String,
}

/// Source of a setting that the sessions of a subject were given when they connected.
pub const SESSION: &str = "session";

/// Settings whose values may contain a password: connection strings, and commands with arguments.
pub const SECRET_SETTINGS: [&str; 6] = [
    "primary_conninfo",
    "ssl_passphrase_command",
    "archive_command",
    "restore_command",
    "recovery_end_command",
    "archive_cleanup_command",
];

/// Whether a setting may contain an address, the path of a key or a secret, and is left out of the record.
pub fn is_private_setting(name: &str) -> bool {
    let addresses_and_keys = ["ssl_key_file", "krb_server_keyfile", "listen_addresses"];
    SECRET_SETTINGS.iter().chain(&addresses_and_keys).any(|private| private.eq_ignore_ascii_case(name))
}

/// A PostgreSQL server at the time of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFacts {
    /// `server_version_num`, for example 180004.
    pub version_num: u32,
    /// `server_version`, for example `18.4`.
    pub version: String,
    /// Full text of `version()`.
    pub version_text: String,
    /// Origin of the program.
    pub source: ServerSource,
    /// Directory of the program, if known.
    pub bindir: Option<String>,
    /// How the program was compiled.
    pub build: BuildFacts,
    /// Block size in bytes.
    pub block_bytes: u32,
    /// WAL block size in bytes (`wal_block_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_block_bytes: Option<u32>,
    /// Size of a segment file of a table in bytes (`segment_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u64>,
    /// WAL segment size in bytes.
    pub wal_segment_bytes: u64,
    /// Whether data checksums are on.
    pub data_checksums: bool,
    /// Durability tier of an ordinary session; `unlogged` if tables under test are unlogged, `in-memory` if their files
    /// or WAL are in memory.
    pub durability: DurabilityTier,
    /// `max_connections`.
    pub max_connections: u32,
    /// `shared_buffers` in bytes.
    pub shared_buffers_bytes: u64,
    /// Data directory, if the server reveals it.
    pub data_directory: Option<String>,
    /// Storage under WAL, if it is known to be on another file system than the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_storage: Option<Storage>,
    /// Encoding and locale of the database under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseFacts>,
    /// Settings that differ from their boot values.
    pub settings: Vec<Setting>,
    /// All other settings of this version, with their defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaults: Option<BTreeMap<String, String>>,
}

impl ServerFacts {
    /// The major version in its usual form: `9.6`, `10`, `18`.
    pub fn major(&self) -> String {
        major_of(self.version_num)
    }

    /// The current value of a setting; `None` if this version has no such setting, or if it is unknown.
    pub fn in_force(&self, name: &str) -> Option<&str> {
        let set = self.settings.iter().find(|setting| setting.name == name);
        set.map(|setting| setting.value.as_str())
            .or_else(|| self.defaults.as_ref()?.get(name).map(String::as_str))
    }
}

/// The major version of a `server_version_num`: two parts before 10, one part since.
pub fn major_of(version_num: u32) -> String {
    let first = version_num / 10_000;
    if first >= 10 { first.to_string() } else { format!("{first}.{}", version_num / 100 % 100) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_have_two_parts_before_ten() {
        assert_eq!(major_of(90624), "9.6");
        assert_eq!(major_of(100023), "10");
        assert_eq!(major_of(180004), "18");
    }
}
