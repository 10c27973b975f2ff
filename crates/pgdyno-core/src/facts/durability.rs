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
    /// Data or WAL lie in memory (`tmpfs`, a RAM disk): whatever the settings are, a power loss or a restart of the
    /// machine takes all of it, since a flush writes nothing anywhere.
    InMemory,
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

    /// The tier of what is committed to tables of which some are unlogged, or of which some files or their WAL lie in
    /// memory: the weakest promise counts.
    #[must_use]
    pub fn of_tables(self, unlogged: bool, in_memory: bool) -> Self {
        let weaker = [(unlogged, Self::Unlogged), (in_memory, Self::InMemory)];
        weaker.into_iter().filter_map(|(is, tier)| is.then_some(tier)).fold(self, Self::max)
    }

    /// The tier in the words of a report.
    pub fn label(self) -> &'static str {
        match self {
            Self::Full => {
                "full: an acknowledged commit survives a crash and a power loss, if the drive honours flush"
            }
            Self::AsyncCommit => "asynchronous commit: a crash may lose the last commits",
            Self::TornPages => "torn pages possible: a power loss may corrupt data (full_page_writes off)",
            Self::InMemory => {
                "none: data or WAL lie in memory, and a power loss or a restart of the machine takes all of it"
            }
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
            Self::InMemory => "in-memory",
            Self::Unlogged => "unlogged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DurabilityTier::{self, AsyncCommit, Full, InMemory, NoSync, TornPages, Unlogged};

    #[test]
    fn the_weakest_setting_names_the_tier() {
        assert_eq!(DurabilityTier::of(true, "on", true), Full);
        assert_eq!(DurabilityTier::of(true, "local", true), Full);
        assert_eq!(DurabilityTier::of(true, "off", true), AsyncCommit);
        assert_eq!(DurabilityTier::of(true, "off", false), TornPages);
        assert_eq!(DurabilityTier::of(false, "on", true), NoSync);
        assert_eq!(Full.of_tables(true, false), Unlogged);
        assert_eq!(NoSync.of_tables(false, true), InMemory);
        assert_eq!(Full.of_tables(true, true), Unlogged);
        assert_eq!(TornPages.of_tables(false, false), TornPages);
        assert!(Unlogged > NoSync, "it takes no power loss to lose all");
    }
}
