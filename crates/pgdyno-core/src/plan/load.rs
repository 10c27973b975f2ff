//! How a plan's tables are loaded, and what they are like.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Plan,
    check::{Fault, fault},
};
use crate::{
    load::{LoadPlan, MAX_PARTITIONS, Misfit, PartitionMethod, Way, Wish, why_not},
    problem::Problem,
    rows::tpcb::SizeEstimate,
};

/// Most streams of a load.
const MAX_LOAD_JOBS: u64 = 1_000;
/// Fill factors that a table may have, in per cent.
const FILLFACTORS: std::ops::RangeInclusive<u32> = 10..=100;

/// How TPC-B's tables, or those of `data.scaleup`, are loaded. What is left out is as `pgbench -i` has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadingPlan {
    /// Streams: connections that load at the same time, 1 to 1,000. One by default, with which every load leaves the
    /// same pages.
    #[schemars(range(min = 1, max = 1_000))]
    pub jobs: Option<u64>,
    /// Partitions of accounts, or of `test` (PostgreSQL 11 and newer), up to 100,000; 0 is one plain table.
    #[schemars(range(max = 100_000))]
    pub partitions: Option<u64>,
    /// How they are made; by ranges where it is not said.
    pub partition_method: Option<PartitionMethod>,
    /// How rows are written. Where it is not said: a table or partition by one COPY that freezes its rows, partitions
    /// by hash in chunks.
    pub method: Option<Way>,
    /// Tablespace of the tables, on a server that is there.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// Fill factor of the tables in per cent, 10 to 100.
    #[schemars(range(min = 10, max = 100))]
    pub fillfactor: Option<u32>,
    /// Whether the tables are unlogged: any crash of the server empties them, which reports say beside every number.
    pub unlogged: bool,
    /// Whether there are foreign keys between the tables.
    pub foreign_keys: bool,
}

impl LoadingPlan {
    /// Whether nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Streams that load.
    pub fn streams(&self) -> u64 {
        self.jobs.unwrap_or(1)
    }

    /// The same as the loader takes it; what is left open it chooses itself.
    pub fn wish(&self, scale: Option<u64>) -> Wish {
        Wish {
            scale,
            partitions: self.partitions,
            method: self.partition_method,
            fillfactor: self.fillfactor,
            unlogged: self.unlogged,
            foreign_keys: self.foreign_keys,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            way: self.method,
            ..Wish::default()
        }
    }

    /// The load of what is wished for. What the plan leaves open is chosen so that every load leaves the same pages,
    /// whatever it costs.
    ///
    /// # Errors
    /// What cannot be.
    pub(super) fn plan(&self, wish: Wish) -> Result<LoadPlan, Problem> {
        let plain = self.partitions.unwrap_or(0) == 0;
        Wish { way: wish.way.or(plain.then_some(Way::Stream)), ..wish }.plan(self.streams())
    }

    /// Fill factor of the tables in per cent.
    pub fn fillfactor(&self) -> u32 {
        self.fillfactor.unwrap_or(100)
    }

    /// Sizes of TPC-B's tables at a scale, in pages of this size.
    pub fn sizes(&self, scale: u64, page_bytes: u64) -> SizeEstimate {
        SizeEstimate::filled(scale, page_bytes, self.fillfactor())
    }
}

/// What is wrong with `[load]`.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    let load = &plan.load;
    let scaleup = plan.data.scaleup.is_some();
    let tpcc = plan.data.tpcc.is_some();
    if !load.is_default() && !plan.has_tpcb() && !scaleup && !tpcc {
        let what = "[load] says how tables are loaded, and the plan loads none";
        faults.push(fault("load", what, "leave [load] out, or give `scale` in [data] a number"));
    }
    if load.foreign_keys && scaleup {
        let what = "the tables test and log have no foreign keys between them";
        faults.push(fault("load.foreign_keys", what, "leave it out"));
    }
    if let Some(jobs) = load.jobs.filter(|jobs| !(1..=MAX_LOAD_JOBS).contains(jobs)) {
        let what = format!("{jobs} streams are not between 1 and {MAX_LOAD_JOBS}");
        faults.push(fault("load.jobs", what, "a stream for each processor of the server is enough"));
    }
    if let Some(percent) = load.fillfactor.filter(|percent| !FILLFACTORS.contains(percent)) {
        let what = format!("a fill factor of {percent} is not between 10 and 100");
        faults.push(fault("load.fillfactor", what, "write per cent, such as 90; pgbench has 100"));
    }
    for (key, name) in [("tablespace", &load.tablespace), ("index_tablespace", &load.index_tablespace)] {
        if name.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains('\0')) {
            let what = format!("`{key}` names no tablespace");
            faults.push(fault(format!("load.{key}"), what, "write its name, or leave it out"));
        }
    }
    let rows = plan.data.scaleup.map(|scaleup| scaleup.rows);
    if let (Some(count), Some(rows)) = (load.partitions, rows)
        && count > rows
    {
        faults.push(of_misfit(Misfit::MorePartitionsThanRows { count, rows, what: "row" }));
    }
    faults.extend(load.wish(None).misfit().map(of_misfit));
}

fn of_misfit(misfit: Misfit) -> Fault {
    match misfit {
        Misfit::MethodWithoutPartitions => fault(
            "load.partition_method",
            "how to make partitions is said, and there are none",
            "say how many (`partitions`), or leave the method out",
        ),
        Misfit::TooManyPartitions(count) => fault(
            "load.partitions",
            format!("{count} partitions are more than {MAX_PARTITIONS}"),
            "use fewer",
        ),
        Misfit::MorePartitionsThanRows { count, rows, what } => fault(
            "load.partitions",
            format!("{count} partitions are more than {rows} {what}s"),
            format!("use no more than there are {what}s"),
        ),
        Misfit::MadeByServer => fault(
            "load.method",
            "the rows of TPC-C are made by pgdyno alone",
            "leave the method of loading out",
        ),
        Misfit::Way(way, method) => fault(
            "load.method",
            format!(
                "the method {} is not for partitions by {}: {}",
                way.name(),
                method.name(),
                why_not(method)
            ),
            "leave the method of loading out",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_table_is_loaded_alike_whatever_it_costs() {
        let way = |load: LoadingPlan| load.plan(load.wish(Some(10_000))).expect("it can be").way;
        assert_eq!(way(LoadingPlan { jobs: Some(8), ..LoadingPlan::default() }), Way::Stream);
        assert_eq!(way(LoadingPlan { partitions: Some(8), ..LoadingPlan::default() }), Way::Stream);
        let partition_method = Some(PartitionMethod::Hash);
        assert_eq!(
            way(LoadingPlan { partitions: Some(8), partition_method, ..LoadingPlan::default() }),
            Way::Chunks
        );
        assert_eq!(way(LoadingPlan { method: Some(Way::Server), ..LoadingPlan::default() }), Way::Server);
    }

    #[test]
    fn a_lower_fill_factor_takes_more_room() {
        let bytes =
            |fillfactor| LoadingPlan { fillfactor, ..LoadingPlan::default() }.sizes(10, 8_192).total_bytes();
        assert_eq!(bytes(None), bytes(Some(100)));
        assert!(bytes(Some(50)) > bytes(None) * 3 / 2);
    }
}
