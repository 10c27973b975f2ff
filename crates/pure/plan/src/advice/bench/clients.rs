//! Chooses client counts, and checks that connections, open files and memory suffice for them.

use pgdyno_core::{facts::Choice, problem::Problem};

use super::facts::{BenchFacts, choose, size};
use crate::{Auto, Plan, TpccPlan};

/// Most connections that pgdyno needs for itself: administration, checks, resets, observation.
const OWN_CONNECTIONS: u32 = 4;
/// Connections kept free at least, for pgdyno itself and for anyone who inspects the server meanwhile.
const SPARE_CONNECTIONS: u32 = 10;
/// Files that pgdyno opens in addition to its connections.
const SPARE_FILES: u64 = 64;
/// Private memory of a backend with its catalog caches and a few prepared statements, in bytes; 3 to 8 MiB are usual.
const BACKEND_BYTES: u64 = 5 << 20;
/// Bytes of page table for each 4 KiB page that a backend has touched. Without huge pages, a backend that has
/// touched all of shared buffers needs 1/512 of their size for its page table.
const PAGE_TABLE_ENTRY: u64 = 8;
/// Size in bytes of the page that one page table entry maps.
const SMALL_PAGE: u64 = 4096;

/// Client counts of every workload, in the order of the plan.
pub(super) fn levels(
    plan: &Plan,
    facts: &BenchFacts<'_>,
    choices: &mut Vec<Choice>,
) -> Result<Vec<Vec<u32>>, Problem> {
    let limits = Limits::new(facts);
    let shared = match &plan.measure.clients {
        Auto::Given(given) => given.clone(),
        // Nothing is left to choose if every workload has client counts of its own.
        Auto::Auto if !plan.workload.is_empty() && plan.workload.iter().all(|one| one.clients.is_some()) => {
            Vec::new()
        }
        Auto::Auto => {
            let sets = plan.data.tpcc.as_ref().map_or(1, TpccPlan::count);
            chosen(facts, &limits, sets, choices)
        }
    };
    let levels: Vec<_> =
        plan.workload.iter().map(|one| one.clients.clone().unwrap_or_else(|| shared.clone())).collect();
    let most = levels.iter().flatten().copied().max().unwrap_or(1);
    limits.check(most, facts)?;
    Ok(levels)
}

/// Checks that a server and this process have room for so many clients.
///
/// # Errors
/// There are too many, with the largest number that can connect.
pub fn check_clients(clients: u32, facts: &BenchFacts<'_>) -> Result<(), Problem> {
    Limits::new(facts).check(clients, facts)
}

/// Client counts of all workloads without duplicates, in order of first appearance.
pub(super) fn union(levels: &[Vec<u32>]) -> Vec<u32> {
    let mut all = Vec::new();
    for count in levels.iter().flatten() {
        if !all.contains(count) {
            all.push(*count);
        }
    }
    all
}

/// The most clients that can connect.
struct Limits {
    connections: u32,
    files: u32,
}

impl Limits {
    fn new(facts: &BenchFacts<'_>) -> Self {
        let spare = SPARE_CONNECTIONS.max(facts.reserved_connections.saturating_add(OWN_CONNECTIONS));
        let connections = facts.max_connections.map_or(u32::MAX, |max| max.saturating_sub(spare).max(1));
        let files = facts.host.open_files_limit().saturating_sub(SPARE_FILES).max(1);
        Self { connections, files: u32::try_from(files).unwrap_or(u32::MAX) }
    }

    fn most(&self) -> u32 {
        self.connections.min(self.files)
    }

    fn check(&self, count: u32, facts: &BenchFacts<'_>) -> Result<(), Problem> {
        if count > self.connections {
            let max = facts.max_connections.unwrap_or(u32::MAX);
            let reserved = match facts.reserved_connections {
                0 => String::new(),
                reserved => format!(", {reserved} of them reserved"),
            };
            let what = format!(
                "{count} clients are more than the server's max_connections ({max}{reserved}) leave room for"
            );
            let most = self.connections;
            return Err(Problem::could_not(what)
                .hint(format!("use at most {most} clients, or raise max_connections")));
        }
        if count > self.files {
            return Err(Problem::could_not(format!(
                "{count} clients need more open files than this process may have ({})",
                facts.host.open_files_limit()
            ))
            .hint("raise the limit with `ulimit -n`, or use fewer clients"));
        }
        Ok(())
    }
}

/// Client counts from the number of CPUs, with at least one client for each of so many sets of tables.
fn chosen(facts: &BenchFacts<'_>, limits: &Limits, sets: u32, choices: &mut Vec<Choice>) -> Vec<u32> {
    let cpus = super::cpus::usable(facts.host).len() as u32;
    let most = limits.most();
    let mut counts = [1, 2 * cpus, 8 * cpus].map(|count| count.max(sets).min(most)).to_vec();
    counts.dedup();
    let list = counts.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let capped = if 8 * cpus > most { format!("; at most {most} can connect") } else { String::new() };
    let first =
        if sets > 1 { format!("a client for each of {sets} sets of tables") } else { "one client".into() };
    let reason =
        format!("{first}, twice and eight times the {cpus} processors: alone, busy and crowded{capped}");
    choose(choices, "clients", list, reason);
    counts
}

/// Warning that the memory of this machine may be too small for so many backends besides shared buffers; `None` if it
/// suffices. An estimate only, so it never refuses: how many pages a backend touches is not known in advance. With
/// several servers side by side only one has backends at a time, but all keep their shared buffers.
pub(super) fn short_of_memory(clients: u32, facts: &BenchFacts<'_>) -> Option<String> {
    let buffers = facts.buffers_bytes();
    let tables = buffers / SMALL_PAGE * PAGE_TABLE_ENTRY;
    let tables = if facts.host.default_huge_pages().total > 0 { 0 } else { tables };
    let wanted = u64::from(clients).saturating_mul(BACKEND_BYTES + tables);
    let servers = facts.side_by_side.max(1);
    let left = facts.memory_bytes().saturating_sub(buffers.saturating_mul(servers));
    (facts.server_local && wanted > left).then(|| {
        format!(
            "{clients} clients may need {} of memory besides shared buffers{} ({} for each backend, {} for its page \
             tables), and {} are left: the server may swap or be killed",
            size(wanted),
            if servers > 1 { format!(" of {servers} servers") } else { String::new() },
            size(BACKEND_BYTES),
            size(tables),
            size(left)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_counts_once() {
        assert_eq!(union(&[vec![1, 4], vec![4, 256], vec![1]]), [1, 4, 256]);
    }
}
