//! The durability tier: what a crash may take of what was acknowledged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the settings of a server promise for an acknowledged commit. Ordered from the strongest promise to the
/// weakest; it is named beside every number (PostgreSQL manual, "Reliability and the Write-Ahead Log").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityTier {
    /// `fsync`, `synchronous_commit` and `full_page_writes` on: nothing acknowledged is lost, if the drive is honest.
    Full,
    /// `synchronous_commit` off: a crash may lose the last commits (at most 3 × `wal_writer_delay`); data stays whole.
    AsyncCommit,
    /// `full_page_writes` off: a power loss may tear pages and corrupt data.
    TornPages,
    /// `fsync` off: a power loss may lose or corrupt anything.
    NoSync,
    /// Tables that are measured are unlogged: any crash of the server empties them, whatever its settings are.
    Unlogged,
}

impl DurabilityTier {
    /// The tier that three settings of a server give.
    ///
    /// `synchronous_commit` takes the server's text: `off` is asynchronous, every other value waits at least for
    /// the local flush.
    pub fn of(fsync: bool, synchronous_commit: &str, full_page_writes: bool) -> Self {
        match (fsync, full_page_writes, synchronous_commit) {
            (false, _, _) => Self::NoSync,
            (true, false, _) => Self::TornPages,
            (true, true, "off") => Self::AsyncCommit,
            (true, true, _) => Self::Full,
        }
    }

    /// The tier of what is committed to tables, some of which are unlogged.
    #[must_use]
    pub fn with_unlogged(self, unlogged: bool) -> Self {
        if unlogged { Self::Unlogged } else { self }
    }

    /// The tier in the words of a report.
    pub fn label(self) -> &'static str {
        match self {
            Self::Full => {
                "full: an acknowledged commit survives a crash and a power loss, if the drive honours flush"
            }
            Self::AsyncCommit => "asynchronous commit: a crash may lose the last commits",
            Self::TornPages => "torn pages possible: a power loss may corrupt data (full_page_writes off)",
            Self::Unlogged => "none: tables are unlogged, and any crash of the server empties them",
            Self::NoSync => "none: a power loss may lose or corrupt anything (fsync off)",
        }
    }

    /// One word for a table cell.
    pub fn short(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::AsyncCommit => "async",
            Self::TornPages => "torn-pages",
            Self::NoSync => "none",
            Self::Unlogged => "unlogged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DurabilityTier::{self, AsyncCommit, Full, NoSync, TornPages, Unlogged};

    #[test]
    fn the_weakest_setting_names_the_tier() {
        assert_eq!(DurabilityTier::of(true, "on", true), Full);
        assert_eq!(DurabilityTier::of(true, "local", true), Full);
        assert_eq!(DurabilityTier::of(true, "off", true), AsyncCommit);
        assert_eq!(DurabilityTier::of(true, "off", false), TornPages);
        assert_eq!(DurabilityTier::of(false, "on", true), NoSync);
        assert_eq!(Full.with_unlogged(true), Unlogged);
        assert_eq!(TornPages.with_unlogged(false), TornPages);
        assert!(Unlogged > NoSync, "it takes no power loss to lose all");
    }
}
