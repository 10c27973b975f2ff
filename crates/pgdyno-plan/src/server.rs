//! The servers to measure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a plan expects of settings.
const SETTINGS: &str = "a table of settings with their values in quotes, such as { work_mem = \"64MB\" }";

/// Most subjects of a plan; all their servers run at once.
pub const MAX_SUBJECTS: usize = 16;

/// A server to measure, created with these keys: `[server]`, a `[[subject]]`, flags, or terms of the command line. An
/// existing server is named by flags and `PG*` variables, never in a plan, so that a plan can be shown to anybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "flags", derive(clap::Args), group(skip))]
pub struct ServerPlan {
    /// Name of a subject in reports: one line of 1 to 40 characters. Default: the values of the other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40), extend("examples" = ["old"]))]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub name: Option<String>,
    /// Version of PostgreSQL: a major or an exact one, such as 18 or 9.6.24
    #[schemars(extend("examples" = ["18", "9.6.24"]))]
    #[cfg_attr(feature = "flags", arg(long, value_name = "VERSION"))]
    pub pg: Option<String>,
    /// A build by its name, as `pgdyno builds` lists them
    #[schemars(extend("x-expects" = "the name of a build in quotes, as `pgdyno builds` lists them"))]
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME", conflicts_with_all = ["bindir", "bundle"]))]
    pub build: Option<String>,
    /// Directory of initdb and postgres
    #[cfg_attr(feature = "flags", arg(long, value_name = "DIR", conflicts_with = "bundle"))]
    pub bindir: Option<String>,
    /// Use the embedded bundle even if PostgreSQL is installed
    #[cfg_attr(feature = "flags", arg(long))]
    pub bundle: bool,
    /// Data directory, empty or absent: its storage is part of the measurement
    #[cfg_attr(feature = "flags", arg(long, value_name = "DIR"))]
    pub data: Option<String>,
    /// Directory for WAL, empty or absent
    #[cfg_attr(feature = "flags", arg(long, value_name = "DIR"))]
    pub waldir: Option<String>,
    /// Whether data checksums are enabled; the same for all subjects.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub data_checksums: Option<bool>,
    /// Settings that override those chosen from facts; those of a subject also override those of `[server]`.
    #[schemars(extend("x-expects" = SETTINGS))]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub settings: BTreeMap<String, String>,
    /// CPUs for the server; the same for all subjects.
    #[schemars(extend("examples" = ["0-3,8"]))]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub cpus: Option<String>,
}

impl ServerPlan {
    /// These keys over others. A program named here is another one than that named there, whatever it is named by.
    #[must_use]
    pub fn over(self, other: &Self) -> Self {
        let other = other.clone();
        let named = self.bindir.is_some() || self.build.is_some();
        let program = named || self.pg.is_some() || self.bundle;
        let mut settings = other.settings;
        settings.extend(self.settings);
        Self {
            name: self.name.or(other.name),
            // A program that is named has its version; that of a bundle may be said elsewhere.
            pg: if named { self.pg } else { self.pg.or(other.pg) },
            build: if program { self.build } else { other.build },
            bindir: if program { self.bindir } else { other.bindir },
            bundle: self.bundle || (other.bundle && !named),
            data: self.data.or(other.data),
            waldir: self.waldir.or(other.waldir),
            data_checksums: self.data_checksums.or(other.data_checksums),
            settings,
            cpus: self.cpus.or(other.cpus),
        }
    }

    /// Whether nothing is said of the server.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Names and values of the keys that a term `KEY=VALUE` can give.
    pub fn terms(&mut self) -> [(&'static str, &mut Option<String>); 5] {
        [
            ("pg", &mut self.pg),
            ("build", &mut self.build),
            ("bindir", &mut self.bindir),
            ("data", &mut self.data),
            ("waldir", &mut self.waldir),
        ]
    }
}
