//! How a plan loads its tables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pgdyno_core::problem::Problem;
use pgdyno_rows::{
    load::{LoadPlan, LoadRequest, MAX_PARTITIONS, PartitionMethod, Way},
    tpcb::SizeEstimate,
};

/// How the tables of TPC-B or of `data.scaleup` are loaded. Defaults are those of `pgbench -i`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadingPlan {
    /// Streams: number of connections that load in parallel, 1 to 1,000. Default 1, with which every load
    /// writes identical pages.
    #[schemars(range(min = 1, max = 1_000))]
    pub jobs: Option<u64>,
    /// Number of partitions of accounts, or of `test` (PostgreSQL 11 and newer), up to 100,000; 0 means one
    /// plain table.
    #[schemars(range(max = MAX_PARTITIONS))]
    pub partitions: Option<u64>,
    /// Partitioning method; default range.
    pub partition_method: Option<PartitionMethod>,
    /// How rows are written. Default: one COPY FREEZE for each table or partition; for hash partitions, chunks.
    pub method: Option<Way>,
    /// Tablespace of the tables, on an existing server.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// Fill factor of the tables in per cent, 10 to 100.
    #[schemars(range(min = 10, max = 100))]
    pub fillfactor: Option<u32>,
    /// Whether the tables are unlogged, so that any crash of the server empties them; reports state it beside
    /// every number.
    pub unlogged: bool,
    /// Whether the tables have foreign keys.
    pub foreign_keys: bool,
}

impl LoadingPlan {
    /// Whether every key has its default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Number of connections that load in parallel.
    pub fn streams(&self) -> u64 {
        self.jobs.unwrap_or(1)
    }

    /// Request to the loader, which chooses the options left open.
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

    /// Plans the requested load. Options left open are chosen for identical pages on every load, even if that
    /// is slower.
    ///
    /// # Errors
    /// The requested load is impossible or contradictory.
    pub(super) fn plan(&self, request: LoadRequest) -> Result<LoadPlan, Problem> {
        let plain = self.partitions.unwrap_or(0) == 0;
        LoadRequest { way: request.way.or(plain.then_some(Way::Stream)), ..request }.plan(self.streams())
    }

    /// Fill factor of the tables in per cent.
    pub fn fillfactor(&self) -> u32 {
        self.fillfactor.unwrap_or(100)
    }

    /// Sizes of the TPC-B tables at a scale, for a page size in bytes.
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
