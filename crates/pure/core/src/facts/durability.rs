//! The durability tier: which acknowledged commits a crash may lose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the settings of a server promise for an acknowledged commit, from the strongest promise to the weakest. Reports
/// show it next to every number (PostgreSQL manual, "Reliability and the Write-Ahead Log").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityTier {
    /// `fsync`, `synchronous_commit` and `full_page_writes` on: nothing acknowledged is lost, if the drive is honest.
    Full,
    /// Server and sessions promise full durability, but executed SQL may have weakened it, and that could not be
    /// observed.
    Uncertain,
    /// `synchronous_commit` off: a crash may lose the last commits (at most 3 × `wal_writer_delay`); data stays whole.
    AsyncCommit,
    /// `full_page_writes` off: a power loss may tear pages and corrupt data.
    TornPages,
    /// `fsync` off: a power loss may lose or corrupt anything.
    NoSync,
    /// Data or WAL is in memory (`tmpfs`, a RAM disk): regardless of the settings, a power loss or a restart of the
    /// machine loses everything, because a flush reaches no device.
    InMemory,
    /// Tables under test are unlogged: any crash of the server empties them, regardless of the settings.
    Unlogged,
}

impl DurabilityTier {
    /// The tier of three server settings.
    ///
    /// `synchronous_commit` is the server's text: `off` is asynchronous, every other value waits at least for the local
    /// flush.
    pub fn of(fsync: bool, synchronous_commit: &str, full_page_writes: bool) -> Self {
        match (fsync, full_page_writes, synchronous_commit) {
            (false, _, _) => Self::NoSync,
            (true, false, _) => Self::TornPages,
            (true, true, "off") => Self::AsyncCommit,
            (true, true, _) => Self::Full,
        }
    }

    /// The weaker of this tier and the one of tables that are unlogged, or of data or WAL in memory.
    #[must_use]
    pub fn of_tables(self, unlogged: bool, in_memory: bool) -> Self {
        let weaker = [(unlogged, Self::Unlogged), (in_memory, Self::InMemory)];
        weaker.into_iter().filter_map(|(is, tier)| is.then_some(tier)).fold(self, Self::max)
    }

    /// Description of the tier for a report.
    pub fn label(self) -> &'static str {
        match self {
            Self::Full => {
                "full: an acknowledged commit survives a crash and a power loss, if the drive honours flush"
            }
            Self::Uncertain => {
                "uncertain: settings promise full, but executed SQL may commit asynchronously (see the doubts)"
            }
            Self::AsyncCommit => "asynchronous commit: a crash may lose the last commits",
            Self::TornPages => "torn pages possible: a power loss may corrupt data (full_page_writes off)",
            Self::InMemory => {
                "none: data or WAL is in memory; a power loss or a restart of the machine loses everything"
            }
            Self::Unlogged => "none: tables are unlogged; any crash of the server empties them",
            Self::NoSync => "none: a power loss may lose or corrupt anything (fsync off)",
        }
    }

    /// One word for a table cell.
    pub fn short(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Uncertain => "uncertain",
            Self::AsyncCommit => "async",
            Self::TornPages => "torn-pages",
            Self::NoSync => "none",
            Self::InMemory => "in-memory",
            Self::Unlogged => "unlogged",
        }
    }
}

/// Something that weakens the promise of a commit, or may do so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weakness {
    /// The tier with this weakness.
    pub tier: DurabilityTier,
    /// The finding and its place, as a phrase without a full stop.
    pub what: String,
}

/// The durability of acknowledged commits in one run: the weakest promise of its server, its clients' sessions and its
/// scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDurability {
    /// The tier.
    pub tier: DurabilityTier,
    /// Reasons why it is weaker than the server's settings and tables before the run, each a phrase; absent if there
    /// are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
}

impl RunDurability {
    /// The durability of a run on a server of the given tier with these weaknesses.
    pub fn new(server: DurabilityTier, found: &[Weakness]) -> Self {
        let mut weaker: Vec<_> = found.iter().filter(|weakness| weakness.tier > server).collect();
        weaker.sort_by_key(|weakness| std::cmp::Reverse(weakness.tier));
        let mut because: Vec<String> = Vec::new();
        for weakness in &weaker {
            if !because.contains(&weakness.what) {
                because.push(weakness.what.clone());
            }
        }
        Self { tier: weaker.first().map_or(server, |weakness| weakness.tier), because }
    }
}

/// The settings of one session that determine its durability tier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommitSettings {
    /// `synchronous_commit`, as the server shows it.
    pub synchronous_commit: String,
    /// `fsync`.
    pub fsync: bool,
    /// `full_page_writes`.
    pub full_page_writes: bool,
    /// When the server last read its configuration, in microseconds since 1970.
    pub loaded_at_us: i64,
}

impl CommitSettings {
    /// The tier of these settings.
    pub fn tier(&self) -> DurabilityTier {
        DurabilityTier::of(self.fsync, &self.synchronous_commit, self.full_page_writes)
    }

    /// Settings that weaken a commit, as `name = value`.
    fn weak(&self) -> String {
        let off = [
            ("fsync", !self.fsync),
            ("full_page_writes", !self.full_page_writes),
            ("synchronous_commit", self.synchronous_commit == "off"),
        ];
        let names = off.into_iter().filter(|(_, is_off)| *is_off).map(|(name, _)| format!("{name} = off"));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Commit settings of the clients' sessions in a run: of one session at the start, and of all reachable ones at the
/// end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionsSeen {
    /// At the start.
    pub start: Option<CommitSettings>,
    /// At the end, with the number of sessions of each.
    pub end: std::collections::BTreeMap<CommitSettings, u64>,
    /// Whether configuration load times can be compared: not through a pooler, and not after reconnects.
    pub same_sessions: bool,
}

impl SessionsSeen {
    /// Adds the sessions of another set of tables.
    pub fn merge(&mut self, other: Self) {
        let weaker = |settings: &CommitSettings| settings.tier();
        self.start = self.start.take().into_iter().chain(other.start).max_by_key(weaker);
        for (settings, sessions) in other.end {
            *self.end.entry(settings).or_default() += sessions;
        }
    }

    /// Weaknesses found in these settings.
    pub fn weaknesses(&self) -> Vec<Weakness> {
        let weak = |settings: &CommitSettings, of: &str| Weakness {
            tier: settings.tier(),
            what: format!("{of} had {}", settings.weak()),
        };
        let start = self.start.iter().map(|settings| weak(settings, "the clients' sessions"));
        let asked: u64 = self.end.values().sum();
        // Ignore load times here: each session reloads the configuration at its own time.
        let mut alike: std::collections::BTreeMap<CommitSettings, u64> = std::collections::BTreeMap::new();
        for (settings, sessions) in &self.end {
            *alike.entry(CommitSettings { loaded_at_us: 0, ..settings.clone() }).or_default() += sessions;
        }
        let end = alike.iter().map(|(settings, sessions)| {
            weak(settings, &format!("{sessions} of {asked} clients' sessions at the end of the run"))
        });
        let found = start.chain(end).filter(|weakness| weakness.tier > DurabilityTier::Full);
        found.chain(self.reloaded()).collect()
    }

    /// A configuration reloaded during the run may have been different for a while.
    fn reloaded(&self) -> Option<Weakness> {
        let start = self.start.as_ref().filter(|_| self.same_sessions)?;
        let reloaded = self.end.keys().any(|end| end.loaded_at_us != start.loaded_at_us);
        reloaded.then(|| Weakness {
            tier: DurabilityTier::Uncertain,
            what: "the server reloaded its configuration during the run, so it may have been different for a while"
                .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        CommitSettings,
        DurabilityTier::{self, AsyncCommit, Full, InMemory, NoSync, TornPages, Uncertain, Unlogged},
        RunDurability, SessionsSeen, Weakness,
    };

    fn weakness(tier: DurabilityTier, what: &str) -> Weakness {
        Weakness { tier, what: what.into() }
    }

    #[test]
    fn the_weakest_finding_determines_the_tier_of_a_run() {
        let found = [
            weakness(Uncertain, "maybe"),
            weakness(AsyncCommit, "off"),
            weakness(AsyncCommit, "off"),
            weakness(Full, "nothing"),
        ];
        let run = RunDurability::new(Full, &found);
        assert_eq!((run.tier, run.because), (AsyncCommit, vec!["off".to_owned(), "maybe".to_owned()]));
        let weaker_server = RunDurability::new(NoSync, &found);
        assert_eq!((weaker_server.tier, weaker_server.because.len()), (NoSync, 0));
        assert_eq!(RunDurability::new(Full, &[]).tier, Full);
        assert!(Full < Uncertain && Uncertain < AsyncCommit, "a possibility is less than what is known");
    }

    #[test]
    fn sessions_are_checked_at_the_start_and_at_the_end() {
        let durable = CommitSettings {
            synchronous_commit: "on".into(),
            fsync: true,
            full_page_writes: true,
            loaded_at_us: 1,
        };
        let relaxed = CommitSettings { synchronous_commit: "off".into(), ..durable.clone() };
        let seen = |start: &CommitSettings, end: &[(&CommitSettings, u64)], same_sessions| {
            let end = end.iter().map(|(settings, count)| ((*settings).clone(), *count)).collect();
            SessionsSeen { start: Some(start.clone()), end, same_sessions }.weaknesses()
        };
        assert_eq!(seen(&durable, &[(&durable, 8)], true), []);
        assert_eq!(
            seen(&relaxed, &[], true),
            [weakness(AsyncCommit, "the clients' sessions had synchronous_commit = off")]
        );
        let what = "1 of 8 clients' sessions at the end of the run had synchronous_commit = off";
        assert_eq!(seen(&durable, &[(&durable, 7), (&relaxed, 1)], true), [weakness(AsyncCommit, what)]);
        let unsafe_server = CommitSettings { fsync: false, loaded_at_us: 2, ..durable.clone() };
        let tiers: Vec<_> =
            seen(&durable, &[(&unsafe_server, 2)], true).into_iter().map(|one| one.tier).collect();
        assert_eq!(tiers, [NoSync, Uncertain]);
        let late = CommitSettings { loaded_at_us: 3, ..unsafe_server.clone() };
        let both = seen(&durable, &[(&unsafe_server, 2), (&late, 1)], false);
        assert_eq!(
            both,
            [weakness(NoSync, "3 of 3 clients' sessions at the end of the run had fsync = off")]
        );
        // Reloaded without a visible change: it may have been off for a while.
        let reloaded = CommitSettings { loaded_at_us: 2, ..durable.clone() };
        assert_eq!(seen(&durable, &[(&reloaded, 2)], true)[0].tier, Uncertain);
        assert_eq!(seen(&durable, &[(&reloaded, 2)], false), [], "a pooler's sessions have other times");
    }

    #[test]
    fn the_weakest_setting_determines_the_tier() {
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
