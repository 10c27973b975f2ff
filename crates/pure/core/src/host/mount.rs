//! File systems, and the directories of a server on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mount {
    /// Mount point.
    pub point: String,
    /// Type, for example `ext4`.
    pub filesystem: String,
    /// What is mounted: a device, a dataset, a remote directory.
    pub source: String,
    /// Name of its block device in `/sys/block`; `None` for file systems without one.
    pub device: Option<String>,
    /// Options of the mount and of the file system, each once, such as `noatime` or `data=ordered`.
    pub options: Vec<String>,
    /// Block of the file system in bytes.
    pub block_bytes: Option<u64>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Bytes available to unprivileged users.
    pub available_bytes: Option<u64>,
    /// Bytes that are free and that only root may use, of ext2 to ext4; `None` if unknown.
    pub reserved_bytes: Option<u64>,
    /// Whether inode tables are still being initialised in the background (ext4, lazy_itable_init).
    pub initialises_inodes: Option<bool>,
    /// Whether it has a journal, of ext4; `None` if unknown. [`Mount::is_journaled`] knows more.
    pub has_journal: Option<bool>,
    /// Properties of the dataset, of ZFS.
    pub zfs: Option<ZfsDataset>,
}

impl Mount {
    /// The value of an option, such as `ordered` of `data=ordered`; empty for an option without one.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| {
            let rest = option.strip_prefix(name)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('=') }
        })
    }

    /// Who may use the bytes that are reserved, besides root only those whom options of ext4 name: `root`, or `root,
    /// user 26 and group 27`.
    pub fn reserved_for(&self) -> String {
        let who = [("resuid", "user"), ("resgid", "group")];
        let named = who.into_iter().filter_map(|(option, kind)| match self.option(option)? {
            "" | "0" => None,
            id => Some(format!("{kind} {id}")),
        });
        match named.reduce(|all, one| format!("{all} and {one}")) {
            None => "root".to_owned(),
            Some(others) => format!("root, {others}"),
        }
    }

    /// Whether its metadata goes through a journal, by its type or by what was read of it; `None` if unknown. A mode of
    /// the journal (`data=`) is shown only where there is one.
    pub fn is_journaled(&self) -> Option<bool> {
        match self.filesystem.as_str() {
            "ext2" => Some(false),
            "ext3" | "xfs" | "jfs" => Some(true),
            "ext4" => self.has_journal.or_else(|| self.option("data").map(|_| true)),
            _ => None,
        }
    }
}

/// Properties of a ZFS dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ZfsDataset {
    /// `recordsize` in bytes.
    pub record_bytes: Option<u64>,
    /// Sector as a power of two (`ashift`).
    pub ashift: Option<u8>,
    /// `primarycache`.
    pub primary_cache: Option<String>,
    /// `logbias`.
    pub log_bias: Option<String>,
    /// `atime`.
    pub atime: Option<String>,
    /// `compression`.
    pub compression: Option<String>,
    /// `sync`.
    pub sync: Option<String>,
}

/// A directory of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PgDirectory {
    /// What it is for.
    pub purpose: PgPurpose,
    /// The directory.
    pub path: String,
    /// Mount point that holds it.
    pub mount_point: Option<String>,
}

/// What a directory of a server is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PgPurpose {
    /// The data directory.
    #[default]
    Data,
    /// `pg_wal`.
    Wal,
    /// A tablespace.
    Tablespace,
}

impl PgPurpose {
    /// Its name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Wal => "WAL",
            Self::Tablespace => "tablespace",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_by_their_whole_name() {
        let options = ["rw", "noatime", "data=ordered"].map(str::to_owned).to_vec();
        let mount = Mount { options, ..Mount::default() };
        assert_eq!(mount.option("data"), Some("ordered"));
        assert_eq!(mount.option("noatime"), Some(""));
        assert_eq!(mount.option("no"), None);
    }

    #[test]
    fn a_journal_is_known_by_type_or_by_what_was_read() {
        let mount = |filesystem: &str, has_journal, options: &[&str]| Mount {
            filesystem: filesystem.to_owned(),
            has_journal,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            ..Mount::default()
        };
        for (filesystem, has_journal, options, expected) in [
            ("ext4", Some(false), &["rw"][..], Some(false)),
            ("ext4", Some(true), &["rw"], Some(true)),
            ("ext4", None, &["rw", "data=ordered"], Some(true)),
            ("ext4", None, &["rw"], None),
            ("ext2", None, &["rw"], Some(false)),
            ("xfs", None, &["rw"], Some(true)),
            ("btrfs", None, &["rw"], None),
        ] {
            let found = mount(filesystem, has_journal, options).is_journaled();
            assert_eq!(found, expected, "{filesystem} {has_journal:?} {options:?}");
        }
    }
}
