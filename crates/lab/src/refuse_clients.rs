//! Refuses clients that a server cannot have, or that a comparison cannot use, before anything starts.

use pgdyno_core::problem::Problem;
use pgdyno_plan::{
    Auto, Plan,
    advice::bench::{BenchFacts, check_clients},
};

use crate::{Job, Wanted, inspect_server::ExistingServer};

/// Refuses a subject with more clients of its own than its server has room for.
pub(crate) fn refuse_clients(
    job: &Job,
    facts: &BenchFacts<'_>,
    reached: &[Option<ExistingServer>],
) -> Result<(), Problem> {
    for subject in &job.subjects {
        let (Some(clients), Some(at)) = (subject.clients, subject.server) else { continue };
        let reserved = reached[at].as_ref().map_or(0, |reached| reached.reserved_connections);
        let max_connections = max_connections(&job.servers[at], reached[at].as_ref());
        let facts = BenchFacts { max_connections, reserved_connections: reserved, ..*facts };
        check_clients(clients, &facts)
            .map_err(|problem| Problem { what: format!("{}: {}", subject.name, problem.what), ..problem })?;
    }
    Ok(())
}

/// Refuses what needs new connections for every run in slots, whose clients stay connected; and runs that end by their
/// transactions where a run right after a start is not to be counted.
pub(crate) fn refuse_tpcc_of_several(job: &Job) -> Result<(), Problem> {
    let mut works = job.workload_files.work.iter().filter_map(|work| work.tpcc);
    if job.has_slots() && works.clone().any(|work| work.drivers > 0) {
        let what = "could not compare in slots with driver processes: they reconnect for every run";
        return Err(Problem::wrong_request(what).hint("leave out --slots, or `drivers`"));
    }
    if job.has_several() && works.any(|work| work.transactions.is_some()) {
        let what =
            "could not compare subjects by runs of a number of transactions: they would differ in length";
        return Err(Problem::wrong_request(what).hint("leave `transactions` out, and set a duration"));
    }
    Ok(())
}

/// Refuses slots with more clients than can be connected at once: those of both arms stay connected.
pub(crate) fn refuse_slots(
    job: &Job,
    plan: &Plan,
    facts: &BenchFacts<'_>,
    reached: &[Option<ExistingServer>],
) -> Result<(), Problem> {
    if !job.has_slots() {
        return Ok(());
    }
    let both = match &plan.measure.clients {
        Auto::Given(counts) => counts.first().copied(),
        Auto::Auto => None,
    };
    let clients = job.subjects.iter().map(|subject| subject.clients.or(both).unwrap_or(1)).sum();
    let shared = job.servers.first().filter(|_| job.has_one_server());
    let max_connections = shared.and_then(|server| max_connections(server, reached[0].as_ref()));
    let facts = BenchFacts { max_connections, ..*facts };
    check_clients(clients, &facts).map_err(|problem| {
        let what = format!("in slots the clients of both arms stay connected: {}", problem.what);
        Problem { what, ..problem }
    })
}

/// The known `max_connections` of a server.
pub(crate) fn max_connections(wanted: &Wanted, reached: Option<&ExistingServer>) -> Option<u32> {
    match wanted {
        Wanted::Own(request) => request.settings.get("max_connections")?.trim().parse().ok(),
        Wanted::External(_) => Some(reached.filter(|reached| !reached.pooled())?.facts.max_connections),
    }
}
