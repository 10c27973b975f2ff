//! The keys of a server to measure: `[server]`, and each `[[subject]]`.

use std::collections::BTreeMap;

use pgdyno_rows::load::LoadRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HostPlan;

/// What a plan expects of settings.
const SETTINGS: &str = "a table of settings with their values in quotes, such as { work_mem = \"64MB\" }";

/// What a plan expects of tablespaces.
const TABLESPACES: &str = "a table of tablespaces with their directories, such as { fast = \"/nvme/space\" }";

/// What a plan expects of networks.
const ALLOW: &str =
    "a list of networks in quotes, such as [\"192.168.1.0/24\"], or \"samehost\", \"samenet\", \"all\"";

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
    /// Tablespaces by name, each with its directory, empty or absent.
    #[schemars(extend("x-expects" = TABLESPACES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub tablespaces: BTreeMap<String, String>,
    /// Size of a WAL segment in MB: a power of two from 1 to 1,024 (PostgreSQL 11 and newer).
    #[schemars(range(min = 1, max = 1_024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub wal_segsize: Option<u32>,
    /// Encoding of the databases. Default: UTF8.
    #[schemars(extend("examples" = ["SQL_ASCII"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub encoding: Option<String>,
    /// Locale of the databases. Default: C.
    #[schemars(extend("examples" = ["en_US.UTF-8"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub locale: Option<String>,
    /// Order of texts, `LC_COLLATE`. Default: that of the locale.
    #[schemars(extend("examples" = ["C"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub collate: Option<String>,
    /// Classes of characters, `LC_CTYPE`. Default: that of the locale.
    #[schemars(extend("examples" = ["en_US.UTF-8"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub ctype: Option<String>,
    /// Published configuration by its name, or a postgresql.conf by its path, instead of settings chosen from facts
    #[schemars(extend("examples" = ["tpcc-9.5", "./postgresql.conf"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME|FILE"))]
    pub preset: Option<String>,
    /// Apply the preset with the sizes of its machine, and with what weakens durability
    #[serde(skip_serializing_if = "is_false")]
    #[cfg_attr(feature = "flags", arg(long))]
    pub as_published: bool,
    /// TCP addresses to listen on, such as 127.0.0.1: the clients connect to the first one, with a password, instead of
    /// by the Unix-domain socket.
    #[schemars(extend("examples" = ["127.0.0.1"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub listen: Option<String>,
    /// Networks whose clients TCP admits. Default: those that this machine is part of.
    #[schemars(extend("x-expects" = ALLOW))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub allow: Vec<String>,
    /// How the tables of a subject are loaded; its options override those of `[load]`.
    #[serde(skip_serializing_if = "LoadRequest::is_default")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub load: LoadRequest,
    /// What of the host is changed for the runs of a subject, and put back after them; it overrides `[host]`.
    #[serde(skip_serializing_if = "HostPlan::is_default")]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub host: HostPlan,
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
        let mut tablespaces = other.tablespaces;
        tablespaces.extend(self.tablespaces);
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
            tablespaces,
            wal_segsize: self.wal_segsize.or(other.wal_segsize),
            encoding: self.encoding.or(other.encoding),
            locale: self.locale.or(other.locale),
            collate: self.collate.or(other.collate),
            ctype: self.ctype.or(other.ctype),
            as_published: self.as_published || other.as_published,
            preset: self.preset.or(other.preset),
            listen: self.listen.or(other.listen),
            allow: if self.allow.is_empty() { other.allow } else { self.allow },
            load: self.load.over(&other.load),
            host: self.host.over(&other.host),
            settings,
            cpus: self.cpus.or(other.cpus),
        }
    }

    /// Whether nothing is said of the server.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Names and values of the keys that a term `KEY=VALUE` can give.
    pub fn terms(&mut self) -> [(&'static str, &mut Option<String>); 7] {
        [
            ("pg", &mut self.pg),
            ("build", &mut self.build),
            ("bindir", &mut self.bindir),
            ("data", &mut self.data),
            ("waldir", &mut self.waldir),
            ("preset", &mut self.preset),
            ("listen", &mut self.listen),
        ]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn is_false(value: &bool) -> bool {
    !value
}
