//! Facts about a PostgreSQL server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DurabilityTier;

/// Where the server's program came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerSource {
    /// Installed on this machine.
    Installed,
    /// The embedded bundle, built for size.
    Bundle,
    /// A server that was already running.
    External,
}

/// How the server's program was compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildFacts {
    /// Compiler as of `version()`, for example `gcc (Debian 12.2.0-14) 12.2.0`.
    pub compiler: Option<String>,
    /// `CFLAGS` as of `pg_config()`.
    pub cflags: Option<String>,
    /// `CONFIGURE` as of `pg_config()`.
    pub configure: Option<String>,
}

impl BuildFacts {
    /// Whether the flags ask for speed: `Some(true)` where the last `-O` option is `-O2`, `-O3` or `-Ofast`,
    /// `None` where the flags are not known or hold no such option.
    pub fn optimised_for_speed(&self) -> Option<bool> {
        let cflags = self.cflags.as_deref()?;
        let level = cflags.split_whitespace().rfind(|flag| flag.starts_with("-O"))?;
        Some(matches!(level, "-O2" | "-O3" | "-O4" | "-Ofast"))
    }
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
    /// WAL segment size in bytes.
    pub wal_segment_bytes: u64,
    /// Whether data checksums are on.
    pub data_checksums: bool,
    /// Durability tier of an ordinary session.
    pub durability: DurabilityTier,
    /// `max_connections`.
    pub max_connections: u32,
    /// `shared_buffers` in bytes.
    pub shared_buffers_bytes: u64,
    /// Data directory, where the server tells it.
    pub data_directory: Option<String>,
    /// Settings that do not have their boot value.
    pub settings: Vec<Setting>,
}

impl ServerFacts {
    /// The major version as people say it: `9.6`, `10`, `18`.
    pub fn major(&self) -> String {
        major_of(self.version_num)
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

    #[test]
    fn the_last_optimisation_flag_counts() {
        let build = |cflags: &str| BuildFacts { cflags: Some(cflags.into()), ..BuildFacts::default() };
        assert_eq!(build("-Wall -O2 -g").optimised_for_speed(), Some(true));
        assert_eq!(build("-O2 -Wall -Os").optimised_for_speed(), Some(false));
        assert_eq!(build("-Wall").optimised_for_speed(), None);
        assert_eq!(BuildFacts::default().optimised_for_speed(), None);
    }
}
