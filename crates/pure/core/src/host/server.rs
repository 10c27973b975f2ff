//! A running server, and what a login would get.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The main process of a running server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerProcess {
    /// Process id.
    pub pid: u32,
    /// Its user.
    pub user: Option<String>,
    /// `server_version_num` by its `PG_VERSION` (major only), for example 180000.
    pub version_num: Option<u32>,
    /// Limits of the process by the names of `/proc/PID/limits`, such as `Max open files`.
    pub limits: BTreeMap<String, Limit>,
    /// Adjustment of the score by which the kernel chooses what to kill, -1000 to 1000.
    pub oom_score_adjustment: Option<i32>,
    /// The same of one of its children, which is higher where `PG_OOM_ADJUST_FILE` is set; `None` if unknown.
    pub child_oom_score_adjustment: Option<i32>,
    /// The systemd unit that it belongs to.
    pub unit: Option<String>,
    /// Settings by name, from its configuration files or from the server itself.
    pub settings: BTreeMap<String, String>,
    /// Storage parameters of its tables, as far as a connection was made to ask for them.
    pub table_options: Vec<TableOption>,
    /// Bytes of its shared memory in huge pages; `None` if unknown.
    pub huge_page_bytes: Option<u64>,
}

/// A storage parameter of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TableOption {
    /// The table, with its schema where needed.
    pub table: String,
    /// Parameter, such as `autovacuum_freeze_max_age`.
    pub name: String,
    /// Value.
    pub value: String,
}

/// A limit of a process; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limit {
    /// What holds.
    pub soft: Option<u64>,
    /// What the process may raise it to.
    pub hard: Option<u64>,
}

/// What limits a login of the server's user would get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Login {
    /// The user.
    pub user: String,
    /// Lines of `limits.conf` and `limits.d` that concern the user, in the order in which they are read. Of an item a
    /// line for the user holds before one for a group, and this one before one for everybody (`*`), wherever they are;
    /// of those of one kind the last one holds.
    pub lines: Vec<LimitLine>,
    /// Files and directories that a login reads limits from and that are not known: of a real host those that could not
    /// be read, of a described one those missing from the description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// A line of `limits.conf`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitLine {
    /// File.
    pub file: String,
    /// Whom it concerns: a user, `@group` or `*`.
    pub domain: String,
    /// `soft`, `hard` or `-`, which is both.
    pub kind: String,
    /// Item, such as `nofile`; empty in a line that exempts its domain from all limits.
    pub item: String,
    /// Value, such as `65536` or `unlimited`.
    pub value: String,
}
