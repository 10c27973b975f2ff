//! Chooses what a plan leaves open (scale, clients, threads, processors) and estimates the cost of the run.
//!
//! Every choice carries its reason. Tests hold every rule monotone: more memory never gives a smaller scale.

mod clients;
mod cost;
mod cpus;
mod facts;

use pgdyno_core::{facts::Choice, problem::Problem, span::Span, units};
use pgdyno_rows::tpcb::ACCOUNTS_PER_SCALE;
use pgdyno_script::Builtin;

pub use clients::check_clients;
pub use cost::{CHECK_ROWS_PER_S, Cost, LOAD_ROWS_PER_S, TRANSACTIONS_PER_CPU_S, loaded_bytes};
pub use cpus::{CpuSplit, split};
pub use facts::BenchFacts;

use crate::{Auto, BalanceCheckMode, Plan, Scale, TpccPlan, WorkloadPlan};
use facts::{choose, size};

/// How much time a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Under 40 seconds on two cores: does it work, and about how fast is it?
    Quick,
    /// Under three minutes on two cores: a first look.
    Screening,
    /// For publication.
    Thorough,
}

impl Level {
    /// Level of a plan read from a file.
    pub fn of(plan: &Plan) -> Self {
        if plan.measure.thorough { Self::Thorough } else { Self::Screening }
    }

    /// Sets the times and the number of blocks of this level; explicit flags are applied afterwards.
    pub fn apply(self, plan: &mut Plan) {
        let (blocks, duration_ms, warmup_ms) = self.times(plan);
        plan.measure.blocks = blocks;
        plan.measure.duration = Span::from_millis(duration_ms);
        plan.measure.warmup = Span::from_millis(warmup_ms);
        plan.measure.thorough = self == Self::Thorough;
    }

    /// Number of blocks, and milliseconds of interval and warm-up. A TPC-C terminal with keying and think times
    /// takes about 23 seconds per transaction, so several such cycles are needed; at `Thorough` they run for
    /// the two hours of clause 5.5.2, and there are as many blocks as one interval takes.
    fn times(self, plan: &Plan) -> (u32, u64, u64) {
        let paced = plan.workload.iter().filter_map(|workload| workload.tpcc).map(|tpcc| tpcc.paced).max();
        match (self, paced) {
            (Self::Quick, None) => (2, 1_000, 300),
            (Self::Screening, None) => (3, 5_000, 1_500),
            (Self::Thorough, None) => (6, 30_000, 10_000),
            (Self::Quick, Some(false)) => (2, 3_000, 2_000),
            (Self::Screening, Some(false)) => (3, 10_000, 5_000),
            (Self::Thorough, Some(false)) => (6, 60_000, 30_000),
            (Self::Quick, Some(true)) => (1, 30_000, 21_000),
            (Self::Screening, Some(true)) => (1, 120_000, 60_000),
            (Self::Thorough, Some(true)) => (5, 1_440_000, 300_000),
        }
    }

    /// The scale for which there is time, and the scale up to which it may rise to give every client its own branch.
    fn scales(self) -> (u64, u64) {
        match self {
            Self::Quick => (10, 50),
            Self::Screening => (50, 200),
            Self::Thorough => (200, 1_000),
        }
    }
}

/// Share of shared buffers that the data may fill and still stay cached.
pub const BUFFERS_SHARE: f64 = 0.75;
/// Share of memory that the accounts may fill for a full balance check.
const CHECK_SHARE: f64 = 0.5;

/// A plan with every choice made.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchPlan {
    /// TPC-B scale factor; `None` if those tables are not loaded.
    pub scale: Option<u64>,
    /// Client counts of all workloads without duplicates; ascending if they were chosen here.
    pub clients: Vec<u32>,
    /// Client counts of each workload of the plan.
    pub levels: Vec<Vec<u32>>,
    /// Driver threads, at most the largest client count.
    pub jobs: u32,
    /// Processors of driver and server.
    pub cpus: CpuSplit,
    /// How balances are checked; never [`BalanceCheckMode::Auto`].
    pub balance: BalanceCheckMode,
    /// Estimated cost of the run.
    pub cost: Cost,
    /// Every chosen value with its reason.
    pub choices: Vec<Choice>,
    /// Warnings to print before the run, each a sentence without a full stop.
    pub warnings: Vec<String>,
}

impl BenchPlan {
    /// The largest client count of any workload.
    pub fn max_clients(&self) -> u32 {
        self.clients.iter().copied().max().unwrap_or(1)
    }
}

/// Resolves everything that a plan leaves to facts.
///
/// # Errors
/// The machine cannot provide a requirement: a processor that does not exist, more clients than connections or open
/// files allow, more data than fits on the disk.
pub fn resolve(plan: &Plan, level: Level, facts: &BenchFacts<'_>) -> Result<BenchPlan, Problem> {
    let mut choices = Vec::new();
    let cpus = split(plan, facts, &mut choices)?;
    let levels = clients::levels(plan, facts, &mut choices)?;
    let clients = clients::union(&levels);
    let jobs = jobs(plan, &clients, &cpus, &mut choices);
    let cost = |scale| Cost::estimate(plan, scale, &levels, cpus.server_count(facts), facts);
    let scale = match plan.has_tpcb() {
        true => {
            let maxima = ClientMaxima::new(plan, &levels);
            Some(scale(plan, level, maxima, facts, |scale| cost(Some(scale)), &mut choices)?)
        }
        false => None,
    };
    let balance = balance(plan, scale, facts, &mut choices);
    let cost = cost(scale).with_check(balance, scale);
    if cost.disk_bytes > facts.disk_available_bytes.unwrap_or(u64::MAX)
        && let Some(load) = plan.loads(scale)?
    {
        return Err(no_room(&load.title(), &cost, facts));
    }
    let most = clients.iter().copied().max().unwrap_or(1);
    let warnings = clients::short_of_memory(most, facts).into_iter().collect();
    Ok(BenchPlan { scale, clients, levels, jobs, cpus, balance, cost, choices, warnings })
}

fn jobs(plan: &Plan, clients: &[u32], cpus: &CpuSplit, choices: &mut Vec<Choice>) -> u32 {
    let most = clients.iter().copied().max().unwrap_or(1);
    let sets = plan.data.tpcc.as_ref().map_or(1, TpccPlan::count);
    let driver = cpus.driver.len().max(1) as u32;
    let (jobs, reason) = match plan.measure.jobs {
        Auto::Given(jobs) if jobs > most => {
            (most, format!("{jobs} threads requested, but {most} clients need no more than one each"))
        }
        Auto::Given(jobs) if jobs < sets => {
            (sets, format!("{jobs} threads requested, but each of {sets} sets of tables needs one"))
        }
        Auto::Given(jobs) => return jobs,
        Auto::Auto if driver < sets => (sets, "one thread for each set of tables".to_owned()),
        Auto::Auto => {
            let reason = "one thread for each processor of the driver, never more than clients";
            (driver.min(most), reason.to_owned())
        }
    };
    choose(choices, "jobs", jobs, reason);
    jobs
}

/// The largest client counts.
#[derive(Debug, Clone, Copy)]
struct ClientMaxima {
    /// Largest count of all workloads.
    all: u32,
    /// Largest count of the workloads that update branches; 0 if there are none.
    at_branches: u32,
}

impl ClientMaxima {
    fn new(plan: &Plan, levels: &[Vec<u32>]) -> Self {
        let most = |levels: &mut dyn Iterator<Item = &Vec<u32>>| levels.flatten().copied().max().unwrap_or(0);
        let updates = |workload: &WorkloadPlan| workload.as_builtin().is_some_and(Builtin::updates_branches);
        let at_branches = plan.workload.iter().zip(levels).filter(|(workload, _)| updates(workload));
        Self { all: most(&mut levels.iter()), at_branches: most(&mut at_branches.map(|(_, levels)| levels)) }
    }
}

/// Warning that more clients update branches than there are branches; `None` if there are enough.
pub fn few_branches(scale: u64, clients: u32) -> Option<String> {
    (u64::from(clients) > scale).then(|| {
        format!(
            "scale {scale} has fewer branches than there are clients ({clients}): tpcb-like transactions wait for \
             each other; use at least scale {clients}"
        )
    })
}

fn scale(
    plan: &Plan,
    level: Level,
    maxima: ClientMaxima,
    facts: &BenchFacts<'_>,
    cost: impl Fn(u64) -> Cost,
    choices: &mut Vec<Choice>,
) -> Result<u64, Problem> {
    let available = facts.disk_available_bytes.unwrap_or(u64::MAX);
    let fits = |scale: u64, bytes: u64| cost(scale).disk_bytes <= bytes;
    if let Scale::Given(scale) = plan.data.scale {
        return if fits(scale, available) {
            Ok(scale)
        } else {
            Err(no_room(&format!("scale {scale}"), &cost(scale), facts))
        };
    }
    let (base, ceiling) = level.scales();
    let crowd = u64::from(maxima.all.max(1));
    let wanted = crowd.clamp(base, ceiling);
    let room = (facts.buffers_bytes() as f64 * BUFFERS_SHARE) as u64;
    let in_memory = largest(wanted, |scale| plan.load.sizes(scale, facts.page_bytes).total_bytes() <= room);
    // Row lock contention would distort the result more than reads from the page cache do.
    let branches = u64::from(maxima.at_branches).min(ceiling);
    let least = in_memory.max(branches).max(1);
    let scale = largest(least, |scale| fits(scale, available / 3));
    if scale == 0 {
        return Err(no_room("scale 1", &cost(1), facts)
            .hint("a run may use at most a third of the free disk space: free some"));
    }
    let why = match () {
        () if scale < least => {
            format!("as much as a third of the free disk space ({}) holds", size(available / 3))
        }
        () if scale > in_memory => format!(
            "a branch for each of {branches} clients, which would otherwise wait for each other's updates; it does \
             not fit well into shared buffers ({})",
            size(facts.buffers_bytes())
        ),
        () if scale < wanted => {
            format!("as much as fits well into shared buffers ({})", size(facts.buffers_bytes()))
        }
        () if wanted > base => format!("a branch for each of {crowd} clients, as far as the time allows"),
        () => "loads in the time available, and fits well into shared buffers".into(),
    };
    let bytes = plan.load.sizes(scale, facts.page_bytes).total_bytes();
    let reason = format!("{why}: {} accounts, {}", units::count(scale * ACCOUNTS_PER_SCALE), size(bytes));
    choose(choices, "scale", scale, reason);
    Ok(scale)
}

/// The largest scale up to `most` that satisfies a monotone condition (true for every smaller scale if true for
/// one); 0 if there is none.
fn largest(most: u64, good: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match good(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

fn no_room(loaded: &str, cost: &Cost, facts: &BenchFacts<'_>) -> Problem {
    let servers = facts.side_by_side.max(1);
    let each = if servers > 1 { format!(" for each of {servers} servers") } else { String::new() };
    let what = format!(
        "{loaded} needs about {} of disk space{each}, and {} are free{each}{}",
        size(cost.disk_bytes),
        size(facts.disk_available_bytes.unwrap_or(u64::MAX)),
        facts.disk_path.map(|path| format!(" in {path}")).unwrap_or_default()
    );
    let hint = match facts.own_server {
        true => "load fewer rows, or use a data directory on a larger disk (--data). Nothing was written.",
        false => "load fewer rows, or free space there. Nothing was written.",
    };
    Problem::could_not(what).hint(hint)
}

fn balance(
    plan: &Plan,
    scale: Option<u64>,
    facts: &BenchFacts<'_>,
    choices: &mut Vec<Choice>,
) -> BalanceCheckMode {
    let off = |reason: &str, choices: &mut Vec<Choice>| {
        choose(choices, "balance", "off", reason.into());
        BalanceCheckMode::Off
    };
    let Some(scale) = scale else {
        if plan.data.tpcc.is_some() {
            return off("there are no TPC-B tables; TPC-C has consistency conditions of its own", choices);
        }
        return off("there are no TPC-B tables, and what the plan's own scripts write is not known", choices);
    };
    if !plan.workload.iter().any(|workload| workload.as_builtin().is_some_and(Builtin::writes)) {
        let reason = match plan.workload.iter().any(|workload| workload.writes()) {
            true => "only the plan's own scripts write, and what they write is not known",
            false => "nothing in the plan writes",
        };
        return off(reason, choices);
    }
    if plan.workload.iter().any(|workload| workload.as_builtin().is_none()) {
        return off("the plan's own scripts may have written to the TPC-B tables too", choices);
    }
    if plan.check.balance != BalanceCheckMode::Auto {
        return plan.check.balance;
    }
    let accounts = plan.load.sizes(scale, facts.page_bytes).accounts.heap.bytes;
    let room = (facts.memory_bytes() as f64 * CHECK_SHARE) as u64;
    let (mode, word, relation) = match accounts <= room {
        true => (BalanceCheckMode::Full, "full", "fit into"),
        false => (BalanceCheckMode::Touched, "touched", "do not fit into"),
    };
    choose(choices, "balance", word, format!("the accounts ({}) {relation} half of memory", size(accounts)));
    mode
}

#[cfg(test)]
mod tests;
