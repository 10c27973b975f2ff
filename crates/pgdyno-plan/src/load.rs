//! How a plan's tables are loaded, and what they are like.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pgdyno_core::problem::Problem;
use pgdyno_rows::{
    load::{LoadPlan, LoadRequest, PartitionMethod, Way},
    tpcb::SizeEstimate,
};

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
    pub fn request(&self, scale: Option<u64>) -> LoadRequest {
        LoadRequest {
            scale,
            partitions: self.partitions,
            method: self.partition_method,
            fillfactor: self.fillfactor,
            unlogged: self.unlogged,
            foreign_keys: self.foreign_keys,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            way: self.method,
            ..LoadRequest::default()
        }
    }

    /// The load of what is wished for. What the plan leaves open is chosen so that every load leaves the same pages,
    /// whatever it costs.
    ///
    /// # Errors
    /// What cannot be.
    pub(super) fn plan(&self, request: LoadRequest) -> Result<LoadPlan, Problem> {
        let plain = self.partitions.unwrap_or(0) == 0;
        LoadRequest { way: request.way.or(plain.then_some(Way::Stream)), ..request }.plan(self.streams())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_table_is_loaded_alike_whatever_it_costs() {
        let way = |load: LoadingPlan| load.plan(load.request(Some(10_000))).expect("it can be").way;
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
