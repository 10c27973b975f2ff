//! The kernel: settings, clocks, limits of the control group.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel and its parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// Release, as `uname -r` says it.
    pub release: String,
    /// Words of the boot line; values that may be secrets are cut.
    pub boot_words: Vec<String>,
    /// Clock sources.
    pub clocks: ClockSources,
    /// Kernel parameters by name, such as `vm.swappiness`; several numbers are separated by one space.
    pub sysctls: BTreeMap<String, String>,
    /// Lines of `/etc/sysctl.conf` and `sysctl.d` that set parameters, in the order in which they are read: the last
    /// one of a name holds.
    pub sysctl_lines: Vec<SysctlLine>,
    /// Names of modules that are loaded or built in and that a rule asks for (`nf_conntrack`, `zfs`).
    pub modules: Vec<String>,
    /// The control group of this process.
    pub cgroup: Cgroup,
    /// The container that this process is in, such as `docker`; `None` if none was found.
    pub container: Option<String>,
    /// Processes that waited for a device when the host was read (state D).
    pub blocked: Vec<BlockedProcess>,
    /// The init system, such as `systemd`.
    pub init: Option<String>,
}

impl Kernel {
    /// The first two numbers of the release, such as `(5, 10)`.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// The value of a word of the boot line, such as `deadline` of `elevator=deadline`; empty for a word without one.
    pub fn boot_word(&self, name: &str) -> Option<&str> {
        let value = |word: &'_ String| -> Option<usize> {
            let rest = word.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('='))
                .then(|| word.len() - rest.trim_start_matches('=').len())
        };
        self.boot_words.iter().rev().find_map(|word| value(word).map(|at| &word[at..]))
    }
}

/// A line of `sysctl.conf` or of a file of `sysctl.d`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SysctlLine {
    /// File.
    pub file: String,
    /// Name of the parameter, with dots.
    pub name: String,
    /// Its value; several numbers are separated by one space.
    pub value: String,
}

/// Clock sources of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClockSources {
    /// The present one, for example `tsc`.
    pub current: Option<String>,
    /// All that may be chosen.
    pub available: Vec<String>,
}

/// The control group of this process; absent limits are none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cgroup {
    /// 1 or 2; `None` where control groups are not to be seen.
    pub version: Option<u8>,
    /// Most memory in bytes.
    pub memory_bytes: Option<u64>,
    /// CPU time per second of wall-clock time.
    pub cpus: Option<f64>,
    /// Most processes.
    pub processes: Option<u64>,
    /// Pressure of the whole host.
    pub pressure: Vec<Pressure>,
}

/// A line of `/proc/pressure`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pressure {
    /// `cpu`, `memory` or `io`.
    pub of: String,
    /// Share of the last minute in which some processes waited, 0 to 1.
    pub some_share: f64,
    /// Share of the last minute in which all processes waited, 0 to 1.
    pub full_share: Option<f64>,
}

/// A process in state D.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BlockedProcess {
    /// Process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The kernel function in which it waits.
    pub waits_in: Option<String>,
    /// Its kernel stack, from the innermost function on; empty without the right to read it.
    pub stack: Vec<String>,
    /// Seconds over which it was seen in one and the same wait: 0 if a second look found it elsewhere, `None` if it
    /// was looked at once.
    pub waited_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_boot_line_have_values() {
        let boot_words = ["ro", "numa=off", "numa=on", "elevator="].map(str::to_owned).to_vec();
        let kernel = Kernel { boot_words, ..Kernel::default() };
        assert_eq!(kernel.boot_word("numa"), Some("on"), "the last one counts");
        assert_eq!(kernel.boot_word("ro"), Some(""));
        assert_eq!(kernel.boot_word("elevator"), Some(""));
        assert_eq!(kernel.boot_word("r"), None);
    }

    #[test]
    fn releases_have_versions() {
        for (release, version) in [
            ("6.1.0-18-amd64", Some((6, 1))),
            ("3.10.0-693.el7.x86_64", Some((3, 10))),
            ("5.15", Some((5, 15))),
            ("", None),
        ] {
            assert_eq!(
                Kernel { release: release.to_owned(), ..Kernel::default() }.version(),
                version,
                "{release}"
            );
        }
    }
}
