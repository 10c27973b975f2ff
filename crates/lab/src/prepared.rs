//! Everything known and decided before the first byte is written.

use std::ops::Range;

use pgdyno_core::{
    facts::{Instrument, PresetFacts},
    host::{Inventory, Storage},
};
use pgdyno_engine::SocketDriver;
use pgdyno_plan::{Order, Plan, advice::bench::BenchPlan};
use pgdyno_postgres::verify::BalanceMode;
use pgdyno_provision::Foreseen;
use pgdyno_rows::load::{LoadPlan, Set};

use crate::inspect_server::ExistingServer;

/// Everything known and decided before the first byte is written.
#[derive(Debug)]
pub struct Prepared {
    /// The plan with its seed.
    pub plan: Plan,
    /// The seed.
    pub seed: u64,
    /// Values chosen from facts.
    pub bench: BenchPlan,
    /// Seconds of one run, without the pause after it.
    pub run_s: f64,
    /// The load of each server for the first workload; `None` if nothing is loaded.
    pub loads: Vec<Option<LoadPlan>>,
    /// The loads of all servers for each workload; empty unless workloads have loads of their own.
    pub loads_of_workloads: Vec<Vec<Option<LoadPlan>>>,
    /// Estimated size of the smallest tables of any server in bytes, if the servers are loaded differently.
    pub(crate) smallest_tables_bytes: Option<u64>,
    /// The machine.
    pub host: Inventory,
    /// Results of `pgdyno selftest` for this program on this machine, if there are any.
    pub instrument: Option<Instrument>,
    /// How the driver waits for its connections.
    pub waiting: SocketDriver,
    /// Storage under the data directory, if it is on this machine.
    pub storage: Option<Storage>,
    /// Shared buffers of each of several own servers, in bytes; `None` for a single one, which gets them by rule.
    pub shared_buffers_bytes: Option<u64>,
    /// Flag and duration of a thorough run, for hints.
    pub thorough_hint: String,
    /// Blocks from one start of the servers to the next; `None` with one start.
    pub blocks_per_start: Option<u32>,
    /// The program of each own server; `None` for an existing server.
    pub programs: Vec<Option<Foreseen>>,
    /// What becomes of the preset of each server; `None` without one.
    pub(crate) presets: Vec<Option<PresetFacts>>,
    /// How the balances of each server are checked; `None` if that is not requested or not possible.
    pub(crate) balance_checks: Vec<Option<CheckMode>>,
    /// Whether the tables are the plan's own, whose rows are counted before a run, rather than those of TPC-B or TPC-C.
    pub(crate) has_own_tables: bool,
    /// Whether an existing server is measured on tables that are there: nothing is loaded, set up or reset.
    pub(crate) uses_existing: bool,
    /// What of the host is changed for the runs, in words; empty if the plan says nothing of it.
    pub(crate) host_changes: Vec<String>,
    /// Facts of each existing server; `None` for an own server.
    pub(crate) existing: Vec<Option<ExistingServer>>,
}

impl Prepared {
    /// The load of the first server. The others have the same rows.
    pub fn first_load(&self) -> Option<&LoadPlan> {
        self.load_at(0)
    }

    /// Whether the tables are those of TPC-B, loaded for this run.
    pub(crate) fn loads_tpcb(&self) -> bool {
        self.first_load().is_some_and(|load| load.set == Set::Tpcb)
    }

    /// The load of a server; `None` if nothing is loaded. Of several, that for the first workload.
    pub fn load_at(&self, server: usize) -> Option<&LoadPlan> {
        self.loads.get(server)?.as_ref()
    }

    /// The load of a server for a workload; `None` if nothing is loaded.
    pub fn load_for(&self, server: usize, workload: usize) -> Option<&LoadPlan> {
        match self.loads_of_workloads.get(workload) {
            Some(loads) => loads.get(server)?.as_ref(),
            None => self.load_at(server),
        }
    }

    /// Whether a workload has other tables than another one.
    pub(crate) fn loads_differ(&self, workload: usize, other: usize) -> bool {
        (0..self.loads.len()).any(|server| self.load_for(server, workload) != self.load_for(server, other))
    }

    /// The first server whose tables a server has: itself, unless it is another way to reach that one.
    pub(crate) fn first_way_to(&self, server: usize) -> usize {
        let reached = self.existing.get(server).and_then(Option::as_ref);
        reached.and_then(|reached| reached.shares).unwrap_or(server)
    }

    /// The servers that have the tables of a server: itself, and other ways to reach it.
    pub(crate) fn ways_to(&self, server: usize) -> impl Iterator<Item = usize> {
        (0..self.balance_checks.len()).filter(move |other| self.first_way_to(*other) == server)
    }

    /// How the balances of a server are checked; `None` if that is not requested or not possible, or done for the first
    /// way to reach the server.
    pub(crate) fn balance_check(&self, server: usize) -> Option<CheckMode> {
        self.ways_to(server).find_map(|way| self.balance_checks[way])
    }

    /// Workloads, by their indexes, of which all blocks are measured before those of the next ones: levels of one
    /// workload on the same tables take turns, unless the plan's order is wanted.
    pub(crate) fn passes(&self) -> Vec<Range<usize>> {
        let workloads = &self.plan.workload;
        let is_given = self.plan.measure.order == Order::Given;
        let together = |at: usize| {
            !is_given
                && workloads[at].of.is_some()
                && workloads[at].of == workloads[at - 1].of
                && !self.loads_differ(at, at - 1)
        };
        let mut passes: Vec<Range<usize>> = Vec::new();
        for at in 0..self.bench.levels.len() {
            match passes.last_mut() {
                Some(pass) if together(at) => pass.end = at + 1,
                _ => passes.push(at..at + 1),
            }
        }
        passes
    }

    /// How often the tables of a server are loaded for all workloads in their order.
    pub(crate) fn loads_made(&self) -> u64 {
        let following = 1..self.loads_of_workloads.len();
        1 + following.filter(|workload| self.loads_differ(*workload, workload - 1)).count() as u64
    }

    /// The loads of all servers for all workloads.
    pub(crate) fn all_loads(&self) -> Vec<Option<LoadPlan>> {
        match self.loads_of_workloads.is_empty() {
            true => self.loads.clone(),
            false => self.loads_of_workloads.concat(),
        }
    }
}

/// How the balances of a server are checked after all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckMode {
    /// Row by row, against history.
    Rows(BalanceMode),
    /// By sums, because history is emptied between runs.
    Sums,
    /// By sums that count from what the tables held before.
    Changes {
        /// Whether the accounts are summed, too.
        accounts: bool,
    },
}

impl CheckMode {
    /// Name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows(mode) => mode.name(),
            Self::Sums => "sums",
            Self::Changes { accounts: true } => "changes",
            Self::Changes { accounts: false } => "changes of tellers and branches",
        }
    }
}
