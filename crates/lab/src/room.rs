//! Room on own servers for what a job does there.

use pgdyno_plan::advice::{bench::BenchPlan, config::KeyDemand};
use pgdyno_provision::Request;
use pgdyno_rows::load::{LoadPlan, LoadRequest};

use crate::{Job, Wanted};

/// Gives a request room for the job: its clients, its partitions, the workers of its keys, and its share of memory. All
/// servers have room for as many, so that they do not differ in that.
pub fn make_room(request: &mut Request, job: &Job, loads: &[Option<LoadPlan>], bench: &BenchPlan) {
    let loading = job.all_loads().iter().map(LoadRequest::streams).max().unwrap_or(1);
    request.clients = bench.max_clients().max(loading.try_into().unwrap_or(u32::MAX));
    let relations = |load: &LoadPlan| load.partitions.map_or(0, |partitions| 2 * partitions.count);
    request.relations = loads.iter().flatten().map(relations).max().unwrap_or(0);
    let demand =
        |load: &LoadPlan| Some(KeyDemand { each: load.key_workers?, keys: load.keys_at_once(loading) });
    let demands = loads.iter().flatten().filter_map(demand);
    request.key_workers = demands.max_by_key(|demand| demand.total()).unwrap_or_default();
    request.cpus.clone_from(&bench.cpus.server);
    request.side_by_side = own_servers(job);
}

/// Number of servers that pgdyno starts.
pub fn own_servers(job: &Job) -> u64 {
    job.servers.iter().filter(|wanted| matches!(wanted, Wanted::Own(_))).count() as u64
}
