//! Facts about a PostgreSQL server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildFacts, DurabilityTier, StorageFacts};

/// Where the server's program came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerSource {
    /// Installed on this machine.
    Installed,
    /// Made from source by `pgdyno build`.
    Built,
    /// The embedded bundle, built for size.
    Bundle,
    /// A server that was already running.
    External,
}

/// How text of the database that was measured is kept and sorted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseFacts {
    /// Encoding, for example `UTF8`.
    pub encoding: String,
    /// Locale that texts are sorted by (`datcollate`).
    pub collate: String,
    /// Locale that letters are told apart by (`datctype`).
    pub ctype: String,
    /// Who sorts: `libc`, `icu` or `builtin`; before 15 always the first.
    pub provider: String,
}

/// One setting of the server as of `pg_settings`, kept where it does not have its boot value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name, for example `shared_buffers`.
    pub name: String,
    /// Value with its unit, as `SHOW` gives it.
    pub value: String,
    /// Where the value comes from, for example `configuration file`.
    pub source: String,
}

/// Settings whose values may hold a password: connection strings, and commands that may have one among their arguments.
pub const SECRET_SETTINGS: [&str; 6] = [
    "primary_conninfo",
    "ssl_passphrase_command",
    "archive_command",
    "restore_command",
    "recovery_end_command",
    "archive_cleanup_command",
];

/// Whether a setting may hold an address, a path of a key or a secret, and stays out of the record.
pub fn is_private_setting(name: &str) -> bool {
    let addresses_and_keys = ["ssl_key_file", "krb_server_keyfile", "listen_addresses"];
    SECRET_SETTINGS.iter().chain(&addresses_and_keys).any(|private| private.eq_ignore_ascii_case(name))
}

/// A PostgreSQL server as it was while numbers were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFacts {
    /// `server_version_num`, for example 180004.
    pub version_num: u32,
    /// `server_version`, for example `18.4`.
    pub version: String,
    /// The whole text of `version()`.
    pub version_text: String,
    /// Where the program came from.
    pub source: ServerSource,
    /// Directory of the program, where it is known.
    pub bindir: Option<String>,
    /// How the program was compiled.
    pub build: BuildFacts,
    /// Block size in bytes.
    pub block_bytes: u32,
    /// Size of a block of WAL in bytes (`wal_block_size`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wal_block_bytes: Option<u32>,
    /// Size of a file of a table in bytes (`segment_size`), after which the next begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u64>,
    /// WAL segment size in bytes.
    pub wal_segment_bytes: u64,
    /// Whether data checksums are on.
    pub data_checksums: bool,
    /// Durability tier of an ordinary session; `unlogged` where tables that are measured are, `in-memory` where files
    /// of theirs or WAL lie in memory.
    pub durability: DurabilityTier,
    /// `max_connections`.
    pub max_connections: u32,
    /// `shared_buffers` in bytes.
    pub shared_buffers_bytes: u64,
    /// Data directory, where the server tells it.
    pub data_directory: Option<String>,
    /// Storage under WAL, where that is seen to be another file system than that of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wal_storage: Option<StorageFacts>,
    /// Encoding and locale of the database that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseFacts>,
    /// Settings that do not have their boot value.
    pub settings: Vec<Setting>,
    /// All other settings of this version with the default that is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<BTreeMap<String, String>>,
}

impl ServerFacts {
    /// The major version as people say it: `9.6`, `10`, `18`.
    pub fn major(&self) -> String {
        major_of(self.version_num)
    }

    /// The value of a setting that is in force; `None` where this version has no such setting, or it is not known.
    pub fn in_force(&self, name: &str) -> Option<&str> {
        let set = self.settings.iter().find(|setting| setting.name == name);
        set.map(|setting| setting.value.as_str())
            .or_else(|| self.defaults.as_ref()?.get(name).map(String::as_str))
    }
}

/// The major version that `server_version_num` belongs to: two parts before 10, one from 10 on.
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
