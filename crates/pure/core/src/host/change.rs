//! What may be changed on a host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What is changed.
    pub knob: Knob,
    /// The new value, as it is written.
    pub value: String,
}

/// Something on a host that can be set while it runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    /// A kernel parameter, such as `vm.swappiness`: lasts in a file of `sysctl.d`.
    Sysctl(String),
    /// A file of sysfs that takes a value, such as `/sys/kernel/mm/transparent_hugepage/enabled`: lasts by a systemd
    /// unit that writes it.
    Sysfs(String),
    /// A limit of logins, as domain and item, such as `postgres` and `nofile`: lasts in a file of `limits.d`, and holds
    /// from the next login on.
    LoginLimit {
        /// Whom it concerns.
        domain: String,
        /// Item.
        item: String,
    },
    /// A word of the boot line, which only the administrator sets: never applied.
    BootWord(String),
    /// An option of a mount point, which only the administrator sets in `fstab`: never applied.
    MountOption(String),
}

impl Knob {
    /// Whether it can be set and put back while the host runs.
    pub fn is_reversible(&self) -> bool {
        !matches!(self, Self::BootWord(_) | Self::MountOption(_))
    }
}

/// A name of a kernel parameter with dots and slashes swapped, as between its file and the form of sysctl.d(5) that
/// begins with a dot: `net.ipv4.conf.eth0/1.rp_filter` is `net/ipv4/conf/eth0.1/rp_filter`.
pub fn with_separators_swapped(name: &str) -> String {
    let swapped = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    name.chars().map(swapped).collect()
}
