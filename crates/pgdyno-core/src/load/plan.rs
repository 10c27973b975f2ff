//! What is to be loaded.

use serde::{Deserialize, Serialize};

use crate::{
    problem::Problem,
    rows::{TableRows, tpcb::Accounts},
};

/// How accounts are partitioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionMethod {
    /// By ranges of the key.
    Range,
    /// By a hash of the key.
    Hash,
}

impl PartitionMethod {
    /// SQL's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Hash => "hash",
        }
    }
}

/// The parts of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// How a row finds its part.
    pub method: PartitionMethod,
    /// Number of parts, from 1.
    pub count: u64,
}

/// A load of TPC-B's tables, complete: it is kept in the database beside its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpcbPlan {
    /// Scale factor.
    pub scale: u64,
    /// How accounts are partitioned; `None`: not at all.
    pub partitions: Option<Partitions>,
    /// Fill factor in per cent.
    pub fillfactor: u32,
    /// Whether the tables are unlogged.
    pub unlogged: bool,
    /// Whether there are foreign keys.
    pub foreign_keys: bool,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// Rows of one task, where accounts are not loaded by partitions.
    pub chunk_rows: u64,
}

/// What is asked for; what is left open is chosen, or taken from the load that is continued.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Scale factor.
    pub scale: Option<u64>,
    /// Number of partitions; 0: none.
    pub partitions: Option<u64>,
    /// How they are made.
    pub method: Option<PartitionMethod>,
    /// Fill factor in per cent.
    pub fillfactor: Option<u32>,
    /// Whether unlogged tables are asked for.
    pub unlogged: bool,
    /// Whether foreign keys are asked for.
    pub foreign_keys: bool,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
}

/// Fewest and most rows of a task: beginning and ending one does not count, and what is lost with one is seconds.
const CHUNK_ROWS: std::ops::RangeInclusive<u64> = 50_000..=10_000_000;
/// Tasks for each stream, so that all end at about the same time.
const TASKS_A_STREAM: u64 = 16;
/// Most partitions: more are a mistake, and a server would need days to make them.
const MAX_PARTITIONS: u64 = 100_000;

impl Wish {
    /// The plan of a new load by this many streams.
    ///
    /// # Errors
    /// What cannot be.
    pub fn plan(&self, streams: u64) -> Result<TpcbPlan, Problem> {
        let Some(scale) = self.scale else {
            return Err(Problem::wrong_request("could not load without a scale")
                .hint("say --scale N: a scale of 1 is 100,000 accounts, about 15 MiB"));
        };
        let count = self.partitions.unwrap_or(0);
        if self.method.is_some() && count == 0 {
            return Err(Problem::wrong_request("could not use --partition-method without --partitions")
                .hint("say --partitions P too"));
        }
        let rows = Accounts::total(scale);
        if count > MAX_PARTITIONS.min(rows) {
            let what = format!("could not make {count} partitions: the most are {MAX_PARTITIONS}");
            return Err(Problem::wrong_request(what).hint("use fewer --partitions"));
        }
        let method = self.method.unwrap_or(PartitionMethod::Range);
        let chunk = rows.div_ceil(streams.max(1).saturating_mul(TASKS_A_STREAM));
        Ok(TpcbPlan {
            scale,
            partitions: (count > 0).then_some(Partitions { method, count }),
            fillfactor: self.fillfactor.unwrap_or(100),
            unlogged: self.unlogged,
            foreign_keys: self.foreign_keys,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            chunk_rows: chunk.clamp(*CHUNK_ROWS.start(), *CHUNK_ROWS.end()),
        })
    }

    /// In what a load that was begun differs from what is asked for now: the flags, with both values.
    pub fn differences(&self, begun: &TpcbPlan) -> Vec<String> {
        let none = || "none".to_owned();
        let partitions = begun.partitions.map_or(0, |partitions| partitions.count);
        let method = begun.partitions.map(|partitions| partitions.method);
        let space = |space: &Option<String>| space.clone().unwrap_or_else(none);
        [
            differs("--scale", self.scale, begun.scale),
            differs("--partitions", self.partitions, partitions),
            differs(
                "--partition-method",
                self.method.map(PartitionMethod::name),
                method.map_or("none", PartitionMethod::name),
            ),
            differs("--fillfactor", self.fillfactor, begun.fillfactor),
            differs("--unlogged", self.unlogged.then_some(true), begun.unlogged),
            differs("--foreign-keys", self.foreign_keys.then_some(true), begun.foreign_keys),
            differs("--tablespace", self.tablespace.clone(), space(&begun.tablespace)),
            differs("--index-tablespace", self.index_tablespace.clone(), space(&begun.index_tablespace)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn differs<T: PartialEq + std::fmt::Display>(flag: &str, asked: Option<T>, begun: T) -> Option<String> {
    let asked = asked.filter(|asked| *asked != begun)?;
    Some(format!("{flag}: {asked} is asked for, it was begun with {begun}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_neither_dust_nor_days() {
        let chunk = |scale, streams| {
            let wish = Wish { scale: Some(scale), ..Wish::default() };
            wish.plan(streams).expect("it can be").chunk_rows
        };
        assert_eq!((chunk(1, 4), chunk(100, 2), chunk(10_000_000, 64)), (50_000, 312_500, 10_000_000));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |wish: Wish| wish.plan(1).expect_err("it cannot be").what;
        let at = Wish { scale: Some(1), ..Wish::default() };
        assert!(refused(Wish::default()).contains("without a scale"));
        let method = Some(PartitionMethod::Hash);
        assert!(refused(Wish { method, ..at.clone() }).contains("--partition-method without --partitions"));
        assert!(refused(Wish { partitions: Some(100_001), ..at }).contains("100001 partitions"));
    }

    #[test]
    fn every_difference_is_named() {
        let begun = Wish { scale: Some(2), partitions: Some(4), ..Wish::default() };
        let plan = begun.plan(1).expect("it can be");
        assert_eq!(Wish::default().differences(&plan), Vec::<String>::new());
        assert_eq!(begun.differences(&plan), Vec::<String>::new());
        let other = Wish {
            scale: Some(3),
            partitions: Some(0),
            method: Some(PartitionMethod::Hash),
            fillfactor: Some(90),
            unlogged: true,
            foreign_keys: true,
            tablespace: Some("t".to_owned()),
            index_tablespace: Some("i".to_owned()),
        };
        let differences = other.differences(&plan);
        assert_eq!(differences.len(), 8, "{differences:?}");
        assert_eq!(differences[0], "--scale: 3 is asked for, it was begun with 2");
        assert_eq!(differences[2], "--partition-method: hash is asked for, it was begun with range");
        assert_eq!(differences[6], "--tablespace: t is asked for, it was begun with none");
    }
}
