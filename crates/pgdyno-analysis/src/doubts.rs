//! Which reasons to distrust a result a run gives (invariant 11: a careful run must be able to give none).
//!
//! Every threshold is a constant here with its reason. A fact that is not known raises no doubt, unless not
//! knowing it is the doubt.

use pgdyno_core::{
    facts::{DurabilityTier, Instrument, ServerFacts},
    measure::{CellRun, CellSummary, Counts, Outage, ServedFrom, SteadyVerdict, Workload},
    units,
};
use pgdyno_script::Builtin;

use super::{
    Doubt, DoubtKind,
    cells::{busiest_worker, idle_cpus, idle_written_bytes, missed, others_cpus, steal},
    estimate::MAX_HALF_WIDTH,
    noise::cells,
    over_blocks::Change,
};

/// Fewest blocks of a run: with fewer there is no interval at all.
pub const MIN_BLOCKS: u32 = 3;
/// Fewest blocks of a thorough run: t(95 %) falls from 4.3 at three blocks to 2.8 at five.
pub const MIN_BLOCKS_THOROUGH: u32 = 5;
/// A cell is unsteady where more than this share of its runs is: of many judged runs one may be a false
/// alarm.
pub const MAX_UNSTEADY_SHARE: f64 = 0.2;
/// The driver is the limit where its busiest thread is on a processor for this share of the time. At 0.85
/// an event loop already makes requests wait for it about as often as not.
pub const MAX_DRIVER_BUSY: f64 = 0.85;
/// Share of a driver thread's ceiling that it may reach. The ceiling is that of a server that only answers; the rest is
/// what real rows and bursts take.
pub const MAX_OF_CEILING: f64 = 0.8;
/// Share of processor time that the hypervisor may take: as much as the margin of a comparison (2 %).
pub const MAX_STEAL: f64 = 0.02;

/// Processors that other programs may use. The kernel and pgdyno's own observation take some hundredths.
pub const MAX_OTHERS_CPUS: f64 = 0.15;

/// Processors that the servers of other subjects may use while one is measured, all together: of one processor as much
/// as the margin of a comparison (2 %). An idle server takes less than a thousandth.
pub const MAX_IDLE_CPUS: f64 = 0.02;
/// Bytes that they may write in the time of a run: statistics and the like take some pages, a checkpoint or autovacuum
/// takes more.
pub const MAX_IDLE_WRITTEN_BYTES: f64 = (4 << 20) as f64;

/// Share of the attempts that may never be started: an open loop ends with some that fell due a moment before.
pub const MAX_NEVER_STARTED: f64 = 0.001;

/// By how much transactions under way, as TPS and mean latency give them, may differ from the clients of a closed loop.
/// What lies between two transactions of a client is the driver's and no share worth mention of one that takes tens of
/// microseconds.
pub const MAX_OFF_LITTLE: f64 = 0.1;
/// Transactions of a client from which on the two are compared: those that reach over an edge of the interval weigh as
/// one in so many.
const MIN_EACH_FOR_LITTLE: u64 = 50;

/// All that is known of a run when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The run was meant for publication.
    pub thorough: bool,
    /// The command that runs it thoroughly and how long that takes, for the advice: `--thorough (24 min)`.
    pub thorough_hint: Option<&'a str>,
    /// The run reached its end.
    pub complete: bool,
    /// Driver and server may have run on the same processors.
    pub cores_shared: bool,
    /// What the driver can do at most on this machine; `None` where it was never measured.
    pub ceiling: Option<CeilingEvidence<'a>>,
    /// Scale of the TPC-B tables, which is the number of their branches; `None` where there are none.
    pub scale: Option<u64>,
    /// The server.
    pub server: Option<&'a ServerFacts>,
    /// Whether the bundle is one of those tested with this version; `None` where the server is no bundle.
    pub bundle_pinned: Option<bool>,
    /// Every run of every cell.
    pub runs: &'a [CellRun],
    /// Every cell over its blocks.
    pub cells: &'a [CellSummary],
    /// The balance check, where one was made.
    pub balance: Option<CheckEvidence<'a>>,
    /// The check of TPC-C's conditions, where one was made.
    pub consistency: Option<CheckEvidence<'a>>,
}

/// What the driver can do at most, and how it was used.
#[derive(Debug, Clone, Copy)]
pub struct CeilingEvidence<'a> {
    /// What `pgdyno selftest` found on this machine.
    pub instrument: &'a Instrument,
    /// How the driver waited: `io_uring`, `epoll`.
    pub waiting: &'a str,
    /// Threads of the driver.
    pub jobs: u32,
}

impl CeilingEvidence<'_> {
    /// The share of what a driver thread can do that each of them did, where all clients together made so many round
    /// trips a second; `None` where no ceiling of this way of waiting is known.
    pub fn share(&self, clients: u32, round_trips_per_s: f64) -> Option<f64> {
        let threads = self.jobs.min(clients).max(1);
        let most = self.instrument.ceiling(self.waiting, clients.div_ceil(threads))?.round_trips_per_cpu_s;
        Some(round_trips_per_s / f64::from(threads) / most)
    }

    /// [`DoubtKind::NearCeiling`], where one of these shares, each of something with a name, is above what is let pass.
    pub fn doubt(&self, shares: impl Iterator<Item = (String, f64)>) -> Option<Doubt> {
        let (names, share) = worst(shares.filter(|(_, share)| *share > MAX_OF_CEILING))?;
        let detail = format!(
            "a driver thread did up to {} of the round trips that `pgdyno selftest` found it can do here by {}",
            percent(share),
            self.waiting
        );
        let advice =
            "Give the driver more threads and processors (jobs, driver_cpus) or a machine of its own.";
        doubt(DoubtKind::NearCeiling, detail, advice, names)
    }
}

/// What a check of the data found after all runs.
#[derive(Debug, Clone, Copy)]
pub struct CheckEvidence<'a> {
    /// Rows examined; a check that examined none has failed.
    pub rows_examined: u64,
    /// Violations; of conditions, those that do not hold.
    pub violations: u64,
    /// The first of them in words.
    pub examples: &'a [String],
}

/// Every reason to distrust the run, worst things first.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Doubt> {
    let rules: [fn(&Evidence<'_>) -> Option<Doubt>; 25] = [
        balance_violated,
        inconsistent,
        partial,
        connections_lost,
        implausible,
        misses,
        not_checked,
        weak_durability,
        driver_saturated,
        near_ceiling,
        other_load,
        idle_servers_busy,
        cpu_steal,
        screening_run,
        too_few_blocks,
        not_steady,
        unsteady_blocks,
        noisy,
        few_branches,
        cores_shared,
        uneven_checkpoints,
        mixed_cache,
        build_not_optimised,
        server_not_observed,
        unpinned_bundle,
    ];
    rules.iter().filter_map(|rule| rule(evidence)).collect()
}

/// Those of the reasons that runs give by themselves, whatever was made of them.
pub(super) fn of_runs(evidence: &Evidence<'_>) -> Vec<Doubt> {
    let rules: [fn(&Evidence<'_>) -> Option<Doubt>; 15] = [
        partial,
        connections_lost,
        implausible,
        misses,
        not_steady,
        few_branches,
        driver_saturated,
        near_ceiling,
        cores_shared,
        cpu_steal,
        other_load,
        idle_servers_busy,
        uneven_checkpoints,
        mixed_cache,
        server_not_observed,
    ];
    rules.iter().filter_map(|rule| rule(evidence)).collect()
}

/// Those of the reasons that a server and its data give.
pub(super) fn of_server(evidence: &Evidence<'_>) -> Vec<Doubt> {
    let rules: [fn(&Evidence<'_>) -> Option<Doubt>; 6] = [
        balance_violated,
        inconsistent,
        not_checked_builtin,
        weak_durability,
        build_not_optimised,
        unpinned_bundle,
    ];
    rules.iter().filter_map(|rule| rule(evidence)).collect()
}

fn doubt(kind: DoubtKind, detail: String, advice: &str, cells: Vec<String>) -> Option<Doubt> {
    Some(Doubt { kind, detail, advice: advice.to_owned(), cells })
}

fn cell_name(workload: &Workload) -> String {
    workload.cell()
}

/// Whether a workload writes; a script that is not built in is taken to.
fn writes(workload: &Workload) -> bool {
    Builtin::by_name(&workload.script).is_none_or(Builtin::writes)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The cells for which a figure is `Some`, with the largest of the figures.
fn worst(found: impl Iterator<Item = (String, f64)>) -> Option<(Vec<String>, f64)> {
    let found: Vec<_> = found.collect();
    let worst = found.iter().map(|(_, figure)| *figure).max_by(f64::total_cmp)?;
    Some((found.into_iter().map(|(name, _)| name).collect(), worst))
}

/// The cells whose runs give a figure above a limit, with the largest of the figures.
fn above(evidence: &Evidence<'_>, limit: f64, figure: fn(&[&CellRun]) -> f64) -> Option<(Vec<String>, f64)> {
    let figures =
        cells(evidence.runs).into_iter().map(|(workload, runs)| (cell_name(workload), figure(&runs)));
    worst(figures.filter(|(_, figure)| *figure > limit))
}

pub(super) fn screening_run(evidence: &Evidence<'_>) -> Option<Doubt> {
    if evidence.thorough {
        return None;
    }
    let hint = evidence.thorough_hint.unwrap_or("--thorough");
    let detail = "short intervals and few blocks: a first look, not publishable".into();
    doubt(DoubtKind::ScreeningRun, detail, &format!("Use {hint} for numbers to publish."), Vec::new())
}

fn partial(evidence: &Evidence<'_>) -> Option<Doubt> {
    if evidence.complete {
        return None;
    }
    let detail = format!("the run did not reach its end: {} runs were measured", evidence.runs.len());
    doubt(DoubtKind::Partial, detail, "Run it again to its end.", Vec::new())
}

pub(super) fn too_few_blocks(evidence: &Evidence<'_>) -> Option<Doubt> {
    let least = if evidence.thorough { MIN_BLOCKS_THOROUGH } else { MIN_BLOCKS };
    let counts = cells(evidence.runs).into_iter().map(|(workload, runs)| (workload, runs.len() as u32));
    let few: Vec<_> = counts.filter(|(_, runs)| *runs < least).collect();
    let fewest = few.iter().map(|(_, runs)| *runs).min()?;
    let detail =
        format!("{fewest} block{} of a cell, {least} are the least", if fewest == 1 { "" } else { "s" });
    let names = few.into_iter().map(|(workload, _)| cell_name(workload)).collect();
    doubt(DoubtKind::TooFewBlocks, detail, "Measure more blocks (blocks in [measure]).", names)
}

fn not_steady(evidence: &Evidence<'_>) -> Option<Doubt> {
    let thorough = evidence.thorough;
    let unsteady = |run: &&&CellRun| match run.steady {
        SteadyVerdict::Steady => false,
        // A screening run is short on purpose, which its own doubt says.
        SteadyVerdict::TooShort => thorough,
        SteadyVerdict::Trending { .. } | SteadyVerdict::NotSteady { .. } => true,
    };
    let shares = cells(evidence.runs).into_iter().map(|(workload, runs)| {
        let bad: Vec<_> = runs.iter().filter(unsteady).collect();
        let share = bad.len() as f64 / runs.len() as f64;
        (share, cell_name(workload), bad.first().map(|run| in_words(&run.steady)), bad.len(), runs.len())
    });
    let found: Vec<_> = shares.filter(|(share, ..)| *share > MAX_UNSTEADY_SHARE).collect();
    let (_, name, example, bad, all) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let example = example.as_deref().unwrap_or_default();
    let detail = format!("throughput was not steady in {bad} of {all} runs of {name}: {example}");
    let names = found.iter().map(|(_, name, ..)| name.clone()).collect();
    let advice =
        "Lengthen the warm-up and the interval (at least 10 s); look for a cache that fills or a checkpoint.";
    doubt(DoubtKind::NotSteady, detail, advice, names)
}

fn in_words(verdict: &SteadyVerdict) -> String {
    match verdict {
        SteadyVerdict::Steady => "steady".into(),
        SteadyVerdict::Trending { change } => {
            format!("a trend of {:+.1} % over the interval", change * 100.0)
        }
        SteadyVerdict::NotSteady { cut_s } => format!("the first {cut_s:.0} s differ from the rest"),
        SteadyVerdict::TooShort => "the interval is shorter than 10 s".into(),
    }
}

/// What cells did over their blocks, of those that did not stay as they were.
fn changed(evidence: &Evidence<'_>) -> Vec<(String, Change)> {
    let of = |(workload, runs): (&Workload, Vec<&CellRun>)| {
        let rates: Vec<f64> = runs.iter().map(|run| run.tps).collect();
        Change::of(&rates).map(|change| (cell_name(workload), change))
    };
    cells(evidence.runs).into_iter().filter_map(of).collect()
}

/// A mean over blocks that jump or drift is that of no state the server was in.
pub(super) fn unsteady_blocks(evidence: &Evidence<'_>) -> Option<Doubt> {
    blocks_changed(&changed(evidence))
}

/// [`DoubtKind::UnsteadyBlocks`] of what changed, each with its name; that of the strongest change is told.
pub(super) fn blocks_changed(changed: &[(String, Change)]) -> Option<Doubt> {
    let (name, change) = changed.iter().max_by(|a, b| a.1.strength().total_cmp(&b.1.strength()))?;
    let detail = match *change {
        Change::Jump { block, from, to } => format!(
            "TPS of {name} {} from {} to {} between its blocks {block} and {}",
            if to > from { "rose" } else { "fell" },
            units::rate(from),
            units::rate(to),
            block + 1
        ),
        Change::Drift { change, blocks } => format!(
            "TPS of {name} {} by {} over its {blocks} blocks",
            if change > 0.0 { "rose" } else { "fell" },
            percent(change.abs())
        ),
    };
    let advice = "Look for what changed from block to block (a cache that fills, tables that grow, a throttled disk, \
                  other load) and measure again: the mean is that of no state.";
    doubt(DoubtKind::UnsteadyBlocks, detail, advice, changed.iter().map(|(name, _)| name.clone()).collect())
}

/// There are as many branches as the scale says, and every transaction updates one of them: "-c values in excess of -s
/// will undoubtedly result in lots of transactions blocked waiting for other transactions" (pgbench's manual, Good
/// Practices).
fn few_branches(evidence: &Evidence<'_>) -> Option<Doubt> {
    let scale = evidence.scale?;
    let updates =
        |workload: &Workload| Builtin::by_name(&workload.script).is_some_and(Builtin::updates_branches);
    let crowded = cells(evidence.runs)
        .into_iter()
        .filter(|(workload, _)| updates(workload) && u64::from(workload.clients) > scale)
        .map(|(workload, _)| (cell_name(workload), f64::from(workload.clients)));
    let (names, most) = worst(crowded)?;
    let detail = format!(
        "up to {most:.0} clients updated the rows of {} branch{}: they wait for each other's transactions to end",
        units::count(scale),
        if scale == 1 { "" } else { "es" }
    );
    let advice =
        format!("Load at least scale {most:.0} (--scale), as pgbench's manual says under Good Practices.");
    doubt(DoubtKind::FewBranches, detail, &advice, names)
}

/// Blocks that jump or drift have a doubt that says more.
fn noisy(evidence: &Evidence<'_>) -> Option<Doubt> {
    let changed = changed(evidence);
    let told = |cell: &CellSummary| changed.iter().any(|(name, _)| *name == cell_name(&cell.workload));
    let shares = evidence.cells.iter().filter_map(|cell| Some((cell, cell.tps.relative_half_width()?)));
    let noisy = shares.filter(|(cell, share)| *share > MAX_HALF_WIDTH && !told(cell));
    let (names, most) = worst(noisy.map(|(cell, share)| (cell_name(&cell.workload), share)))?;
    let detail =
        format!("blocks of one cell scatter: the 95 % interval is up to ± {} of the mean", percent(most));
    let advice = "Measure more or longer blocks, and stop what else runs on the machine.";
    doubt(DoubtKind::Noisy, detail, advice, names)
}

fn driver_saturated(evidence: &Evidence<'_>) -> Option<Doubt> {
    let (names, busy) = above(evidence, MAX_DRIVER_BUSY, busiest_worker)?;
    let detail = format!("the driver's busiest thread was on a processor for {} of the time", percent(busy));
    let advice = "Give the driver more processors (jobs, driver_cpus) or a machine of its own.";
    doubt(DoubtKind::DriverSaturated, detail, advice, names)
}

/// The busy share of [`driver_saturated`] is seen from outside; this one is seen from what a thread got done.
fn near_ceiling(evidence: &Evidence<'_>) -> Option<Doubt> {
    let ceiling = evidence.ceiling?;
    ceiling.doubt(cells(evidence.runs).into_iter().filter_map(|(workload, runs)| {
        let tps = runs.iter().map(|run| run.tps).sum::<f64>() / runs.len() as f64;
        // Every statement is a round trip, also BEGIN and END.
        let round_trips = runs.first()?.statements.len().max(1) as f64;
        Some((cell_name(workload), ceiling.share(workload.clients, tps * round_trips)?))
    }))
}

fn cores_shared(evidence: &Evidence<'_>) -> Option<Doubt> {
    if !evidence.cores_shared {
        return None;
    }
    let detail =
        "driver and server could run on the same processors, where each takes time from the other".into();
    let advice = "Give each its own (driver_cpus, cpus of the server), or drive from another machine.";
    doubt(DoubtKind::CoresShared, detail, advice, Vec::new())
}

fn cpu_steal(evidence: &Evidence<'_>) -> Option<Doubt> {
    let (names, most) = above(evidence, MAX_STEAL, steal)?;
    let detail = format!("the hypervisor took up to {} of the processor time", percent(most));
    doubt(DoubtKind::CpuSteal, detail, "Measure on a machine with processors of its own.", names)
}

fn other_load(evidence: &Evidence<'_>) -> Option<Doubt> {
    let (names, most) = above(evidence, MAX_OTHERS_CPUS, others_cpus)?;
    let detail = format!(
        "other programs on this machine used up to {most:.2} processors: the server may be faster than this"
    );
    doubt(DoubtKind::OtherLoad, detail, "Stop them, or measure on a machine of its own.", names)
}

/// Servers of other subjects that work while one is measured take its processors and its disk.
fn idle_servers_busy(evidence: &Evidence<'_>) -> Option<Doubt> {
    let mut names = Vec::new();
    let mut most = |limit, figure: fn(&[&CellRun]) -> f64| {
        let (found, worst) = above(evidence, limit, figure)?;
        names.extend(found);
        Some(worst)
    };
    let cpus = most(MAX_IDLE_CPUS, idle_cpus).map(|cpus| format!("used up to {cpus:.2} processors"));
    let written = most(MAX_IDLE_WRITTEN_BYTES, idle_written_bytes)
        .map(|bytes| format!("wrote up to {} in the time of a run", units::bytes(bytes as u64)));
    let did: Vec<_> = cpus.into_iter().chain(written).collect();
    names.sort();
    names.dedup();
    let detail = format!("while a subject was measured, the servers of the others {}", did.join(" and "));
    let advice = "Look into their logs (server-N.log) for what they were at, such as autovacuum, a checkpoint or a job \
                  of an extension, and turn it off.";
    (!did.is_empty()).then(|| doubt(DoubtKind::IdleServersBusy, detail, advice, names))?
}

fn uneven_checkpoints(evidence: &Evidence<'_>) -> Option<Doubt> {
    let uneven = cells(evidence.runs).into_iter().filter_map(|(workload, runs)| {
        let known = runs.iter().filter_map(|run| run.io.as_ref()?.checkpoints);
        let (with, without) = known.fold((0u32, 0u32), |(with, without), checkpoints| match checkpoints {
            0 => (with, without + 1),
            _ => (with + 1, without),
        });
        (with > 0 && without > 0).then(|| (cell_name(workload), f64::from(with)))
    });
    let (names, with) = worst(uneven)?;
    let detail = format!("a checkpoint fell into up to {with} blocks of a cell and not into its others");
    let advice =
        "Lengthen the interval beyond checkpoint_timeout, or raise max_wal_size so that none falls into it.";
    doubt(DoubtKind::UnevenCheckpoints, detail, advice, names)
}

fn mixed_cache(evidence: &Evidence<'_>) -> Option<Doubt> {
    let mixed = cells(evidence.runs).into_iter().filter_map(|(workload, runs)| {
        // Where reads below the server's buffers cannot be seen, nobody knows whether places differ.
        let seen = |source: &ServedFrom| *source != ServedFrom::BelowBuffersUnknown;
        let mut sources = runs.iter().filter_map(|run| run.served_from).filter(seen);
        let first = sources.next()?;
        sources.any(|source| source != first).then(|| cell_name(workload))
    });
    let names: Vec<_> = mixed.collect();
    if names.is_empty() {
        return None;
    }
    let detail =
        format!("blocks of {} were served from different places by measured reads", names.join(", "));
    let advice = "Lengthen the warm-up, or choose a scale that clearly fits or clearly exceeds memory.";
    doubt(DoubtKind::MixedCache, detail, advice, names)
}

/// A build for size, for a debugger or for tests.
fn build_not_optimised(evidence: &Evidence<'_>) -> Option<Doubt> {
    let server = evidence.server?;
    let reason = server.build.slow_because()?;
    let seen = match server.build.has_assertions() {
        Some(true) => "such a build is for tests",
        _ if server.build.level().as_deref() != Some("-Os") => "PostgreSQL's own level is -O2",
        _ => "9 to 21 % slower than -O2 was seen of builds for size",
    };
    let detail = format!("PostgreSQL {} was compiled {reason}: {seen}", server.version);
    let advice = "Measure an installed server or one built from source for speed (`pgdyno build`).";
    doubt(DoubtKind::BuildNotOptimised, detail, advice, Vec::new())
}

/// Names the cells whose own runs are weak; where only the server was found to be, as at the end, all that write.
fn weak_durability(evidence: &Evidence<'_>) -> Option<Doubt> {
    let of_server = evidence.server.map(|server| server.durability);
    let tier_of = |run: &&CellRun| run.durability.as_ref().map(|of| of.tier).or(of_server);
    let writing = cells(evidence.runs).into_iter().filter(|(of, _)| writes(of));
    let tiers: Vec<_> =
        writing.map(|(of, runs)| (cell_name(of), runs.iter().filter_map(tier_of).max())).collect();
    let of_runs = tiers.iter().filter_map(|(_, tier)| *tier).max();
    let tier = of_runs.max(of_server).filter(|tier| *tier != DurabilityTier::Full)?;
    let is_weak =
        |own: Option<DurabilityTier>| of_runs.max(of_server) > of_runs || own > Some(DurabilityTier::Full);
    let names: Vec<_> = tiers.into_iter().filter(|(_, own)| is_weak(*own)).map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    let because = because(evidence.runs);
    let detail = format!("durability is {}{because}", tier.label());
    let advice = match tier {
        DurabilityTier::InMemory => {
            "Put data and WAL on a disk (--data, --waldir), or name the tier beside every number."
        }
        DurabilityTier::Unlogged => "Load logged tables, or name the tier beside every number.",
        DurabilityTier::Uncertain => "Leave out what is named, or name the tier beside every number.",
        _ if !because.is_empty() => "Take out what is named, or name the tier beside every number.",
        _ => "Turn fsync, synchronous_commit and full_page_writes on, or name the tier beside every number.",
    };
    doubt(DoubtKind::WeakDurability, detail, advice, names)
}

/// What weakens runs, each thing once, behind a colon.
fn because(runs: &[CellRun]) -> String {
    const NAMED: usize = 3;
    let mut all: Vec<&str> = Vec::new();
    for what in runs.iter().filter_map(|run| run.durability.as_ref()).flat_map(|of| &of.because) {
        if !all.contains(&what.as_str()) {
            all.push(what);
        }
    }
    match all.len() {
        0 => String::new(),
        1..=NAMED => format!(": {}", all.join("; ")),
        number => format!(": {}; and {} more in the record", all[..NAMED].join("; "), number - NAMED),
    }
}

/// A run in which the server was away for a time says nothing of the server's speed, however few attempts that cost: in
/// a closed loop nobody asks meanwhile.
fn connections_lost(evidence: &Evidence<'_>) -> Option<Doubt> {
    let longest_s = |runs: &[&CellRun]| {
        let outages = runs.iter().filter_map(|run| run.outage).filter(|outage| outage.lost > 0);
        outages.map(|outage| outage.longest_ns as f64 / 1e9).fold(-1.0, f64::max)
    };
    let figures = cells(evidence.runs).into_iter().map(|(of, runs)| (cell_name(of), longest_s(&runs)));
    let (names, longest_s) = worst(figures.filter(|(_, longest_s)| *longest_s >= 0.0))?;
    let mut all = Outage::default();
    evidence.runs.iter().filter_map(|run| run.outage.as_ref()).for_each(|outage| all.merge(outage));
    let none = match all.none_ns {
        0 => String::new(),
        ns => format!("; no client had one for {:.1} s", ns as f64 / 1e9),
    };
    let detail = format!(
        "connections were lost {} times and made again {} times, after {} tries that failed; a client was without for \
         up to {longest_s:.1} s{none}",
        all.lost, all.made_again, all.refused
    );
    let advice = "Look into the server's log for a crash or a restart: the mean has the outage in it.";
    doubt(DoubtKind::ConnectionsLost, detail, advice, names)
}

/// Attempts that ended without a commit. Those that were due just before the end of an open loop and not begun are let
/// pass, up to [`MAX_NEVER_STARTED`].
fn missed_too_many(counts: &Counts) -> u64 {
    let let_pass = (counts.scheduled as f64 * MAX_NEVER_STARTED) as u64;
    missed(counts) - counts.never_started.min(let_pass)
}

fn misses(evidence: &Evidence<'_>) -> Option<Doubt> {
    let missing =
        |runs: &[&CellRun]| runs.iter().map(|run| missed_too_many(&run.counts_whole)).sum::<u64>() as f64;
    let (names, _) = above(evidence, 0.0, missing)?;
    let all = |count: fn(&CellRun) -> u64| evidence.runs.iter().map(count).sum::<u64>();
    let parts = [
        (all(|run| run.counts_whole.failed), "failed"),
        (all(|run| run.counts_whole.skipped), "were skipped"),
        (all(|run| run.counts_whole.timed_out), "timed out"),
        (all(|run| run.counts_whole.in_doubt), "are in doubt"),
        (all(|run| run.counts_whole.never_started), "never started"),
    ];
    let parts: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let due = all(|run| run.counts_whole.scheduled);
    let first = evidence.runs.iter().flat_map(|run| &run.errors).next();
    let first =
        first.map(|error| format!("; first error {}: {}", error.code, error.message)).unwrap_or_default();
    let detail = format!("of {due} attempts {}{first}", parts.join(", "));
    // What fails by another transaction may well be carried out the next time, where it is tried.
    let by_others = |run: &CellRun| {
        run.tpcc.is_some() && run.errors.iter().any(|error| ["40001", "40P01"].contains(&error.code.as_str()))
    };
    let advice = match evidence.runs.iter().any(by_others) {
        true => "Allow more tries (--max-tries) before quoting a rate: latency has no such attempts in it.",
        false => "Find the cause before quoting a rate: latency has no such attempts in it.",
    };
    doubt(DoubtKind::Misses, detail, advice, names)
}

/// In a closed loop every client has one transaction under way, so by Little's law clients = TPS × mean latency.
fn implausible(evidence: &Evidence<'_>) -> Option<Doubt> {
    let found: Vec<_> = cells(evidence.runs)
        .into_iter()
        .filter_map(|(workload, runs)| {
            let of_runs: Option<Vec<f64>> = runs.into_iter().map(under_way).collect();
            let of_runs = of_runs?;
            let mean = of_runs.iter().sum::<f64>() / of_runs.len() as f64;
            let off = mean / f64::from(workload.clients) - 1.0;
            (off.abs() > MAX_OFF_LITTLE).then(|| (cell_name(workload), mean))
        })
        .collect();
    let (name, mean) = found.first()?;
    let detail = format!(
        "TPS and mean latency of {name} give {mean:.2} transactions under way at a time, not its number of clients"
    );
    let advice =
        "Do not use its numbers: something kept clients waiting between transactions, or the count is wrong.";
    let names = found.iter().map(|(name, _)| name.clone()).collect();
    doubt(DoubtKind::Implausible, detail, advice, names)
}

/// Transactions under way on average; `None` where nothing follows from it: an open loop, attempts that were missed and
/// took their time, or too few transactions.
fn under_way(run: &CellRun) -> Option<f64> {
    let clients = run.workload.clients;
    let applies = run.workload.rate_per_s.is_none()
        && missed(&run.counts_whole) == 0
        && run.outage.is_none()
        && run.counts.committed >= u64::from(clients) * MIN_EACH_FOR_LITTLE;
    Some(run.tps * run.latency.as_ref().filter(|_| applies)?.mean_ns / 1e9)
}

fn balance_violated(evidence: &Evidence<'_>) -> Option<Doubt> {
    let balance = evidence.balance?;
    let detail = match (balance.violations, balance.examples.first()) {
        (0, _) if balance.rows_examined > 0 => return None,
        (0, _) => "the balance check examined no row".into(),
        (count, Some(example)) => format!("the balance check found {count} violations, the first: {example}"),
        (count, None) => format!("the balance check found {count} violations"),
    };
    let advice = "Keep the data directory and the server's log: the server lost or invented something.";
    doubt(DoubtKind::BalanceViolated, detail, advice, Vec::new())
}

fn inconsistent(evidence: &Evidence<'_>) -> Option<Doubt> {
    let checked = evidence.consistency?;
    let conditions = units::plural(checked.violations, "condition");
    let detail = match (checked.violations, checked.examples.first()) {
        (0, _) if checked.rows_examined > 0 => return None,
        (0, _) => "the check of TPC-C's conditions examined no row".into(),
        (_, Some(example)) => format!("TPC-C's tables break {conditions}, the first: {example}"),
        (_, None) => format!("TPC-C's tables break {conditions}"),
    };
    let advice = "Do not use its numbers. Were the tables consistent before (`pgdyno tpcc check`)? Else keep the data \
                  directory and the server's log: the server lost or invented something.";
    doubt(DoubtKind::Inconsistent, detail, advice, Vec::new())
}

/// Transactions that are known wrote, and nobody looked. What a script of one's own writes is not known: then the plan
/// says why nothing was checked, and it is no reason for a doubt.
fn not_checked(evidence: &Evidence<'_>) -> Option<Doubt> {
    let known = |workload: &Workload| Builtin::by_name(&workload.script).is_some_and(Builtin::writes);
    let unseen = evidence.balance.is_none() && evidence.runs.iter().any(|run| known(&run.workload));
    let advice = match unseen {
        true => "Let the balance check run (balance in [check]).",
        false if evidence.consistency.is_some() => return None,
        false if evidence.runs.iter().all(|run| run.tpcc.is_none()) => return None,
        false => "Let TPC-C's conditions be checked (without --no-check; consistency in [check]).",
    };
    let detail = "the data was not checked after runs that write".into();
    doubt(DoubtKind::NotChecked, detail, advice, Vec::new())
}

/// The same where there would have been something to check: what a script of one's own writes, nobody knows.
fn not_checked_builtin(evidence: &Evidence<'_>) -> Option<Doubt> {
    let known = |run: &CellRun| run.tpcc.is_some() || Builtin::by_name(&run.workload.script).is_some();
    let known = evidence.runs.iter().all(known);
    not_checked(evidence).filter(|_| known)
}

fn server_not_observed(evidence: &Evidence<'_>) -> Option<Doubt> {
    let unseen = evidence.runs.iter().filter(|run| run.cpu.server_s.is_none()).count();
    if unseen == 0 {
        return None;
    }
    let detail =
        format!("the server's processor time could not be seen in {unseen} of {} runs", evidence.runs.len());
    let advice = "Run pgdyno on the server's host, as the same user or root, to see what limits it.";
    doubt(DoubtKind::ServerNotObserved, detail, advice, Vec::new())
}

fn unpinned_bundle(evidence: &Evidence<'_>) -> Option<Doubt> {
    if evidence.bundle_pinned != Some(false) {
        return None;
    }
    let version = evidence.server.map_or("of this version", |server| server.version.as_str());
    let detail = format!("the bundle of PostgreSQL {version} is not one tested with this version of pgdyno");
    doubt(
        DoubtKind::UnpinnedBundle,
        detail,
        "Take a version that `pgdyno versions` lists as tested.",
        Vec::new(),
    )
}

#[cfg(test)]
pub(crate) mod samples {
    //! A clean run, for tests to break.

    use pgdyno_core::{
        facts::{BuildFacts, DatabaseFacts, DurabilityTier, ServerFacts, ServerSource},
        measure::{CellRun, Counts, CpuUse, IoUse, ServedFrom, SteadyVerdict, Workload},
    };

    /// A run of 30 s without any fault.
    pub fn run(script: &str, clients: u32, tps: f64) -> CellRun {
        let committed = (tps * 30.0) as u64;
        let counts = Counts { scheduled: committed, committed, ..Counts::default() };
        CellRun {
            block: 0,
            workload: Workload {
                script: script.into(),
                protocol: "prepared".into(),
                clients,
                rate_per_s: None,
                arm: None,
                subject: None,
            },
            start_s: 0.0,
            warmup_ns: 10_000_000_000,
            duration_ns: 30_000_000_000,
            counts,
            counts_whole: counts,
            tps,
            latency: None,
            lag: None,
            statements: Vec::new(),
            scripts: Vec::new(),
            tpcc: None,
            nopm: None,
            slowest: Vec::new(),
            connect_ns: 1_000_000,
            cpu: CpuUse {
                driver_s: 6.0,
                server_s: Some(28.0),
                busiest_worker: 0.2,
                steal: Some(0.001),
                others_cpus: Some(0.05),
            },
            io: Some(IoUse { blocks_hit: 1_000_000, checkpoints: Some(0), ..IoUse::default() }),
            served_from: Some(ServedFrom::SharedBuffers),
            steady: SteadyVerdict::Steady,
            errors: Vec::new(),
            data_state: None,
            reset_s: None,
            checkpoint_s: None,
            durability: None,
            waits: None,
            outage: None,
            idle: None,
        }
    }

    /// A server with normal settings.
    pub fn server() -> ServerFacts {
        let cflags = Some("-Wall -g -O2 -fstack-protector-strong".into());
        ServerFacts {
            version_num: 180_004,
            version: "18.4".into(),
            version_text: "PostgreSQL 18.4 on x86_64-pc-linux-gnu".into(),
            source: ServerSource::Installed,
            bindir: None,
            build: BuildFacts {
                compiler: Some("gcc 14".into()),
                cflags,
                features: Some(vec!["icu".into(), "lz4".into()]),
                ..BuildFacts::default()
            },
            block_bytes: 8_192,
            wal_block_bytes: Some(8_192),
            segment_bytes: Some(1 << 30),
            wal_segment_bytes: 16 << 20,
            data_checksums: true,
            durability: DurabilityTier::Full,
            max_connections: 100,
            shared_buffers_bytes: 6 << 30,
            data_directory: None,
            wal_storage: None,
            database: Some(DatabaseFacts {
                encoding: "UTF8".into(),
                collate: "C".into(),
                ctype: "C".into(),
                provider: "libc".into(),
            }),
            settings: Vec::new(),
            defaults: Some([("io_method".into(), "worker".into())].into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        facts::{BuildFacts, RunDurability, Weakness, samples::instrument},
        measure::{ErrorCount, IdleServers, LatencySummary, ServedFrom, StatementSummary, TpccRun},
        tpcc::{DERIVED, Shape, Shares},
    };

    use super::{samples::run, *};
    use crate::{cells::summarise, steady, steady::tests::Normal};

    /// A thorough run of six blocks with the noise of a quiet machine (1 % between blocks, 3 % between
    /// seconds), judged from its windows as a real one is.
    fn clean_runs(seed: u64) -> Vec<CellRun> {
        let mut normal = Normal::seeded(seed);
        let cells = [("select-only", 1), ("select-only", 16), ("tpcb-like", 1), ("tpcb-like", 16)];
        let blocks = (0..6).flat_map(|_| cells);
        let mut runs: Vec<_> = blocks.map(|(script, clients)| run(script, clients, 1_000.0)).collect();
        for run in &mut runs {
            let level = 1_000.0 * (0.01 * normal.draw()).exp();
            let windows: Vec<f64> = (0..30).map(|_| level * (1.0 + 0.03 * normal.draw())).collect();
            run.tps = windows.iter().sum::<f64>() / 30.0;
            run.steady = steady::judge(&windows);
        }
        runs
    }

    /// What a test may break.
    struct Case {
        runs: Vec<CellRun>,
        server: ServerFacts,
        thorough: bool,
        complete: bool,
        cores_shared: bool,
        ceiling: Option<Instrument>,
        scale: u64,
        bundle_pinned: Option<bool>,
        balance: Option<(u64, u64)>,
        consistency: Option<(u64, u64)>,
    }

    fn clean() -> Case {
        Case {
            runs: clean_runs(1),
            server: samples::server(),
            thorough: true,
            complete: true,
            cores_shared: false,
            ceiling: Some(instrument(2_000.0)),
            scale: 16,
            bundle_pinned: Some(true),
            balance: Some((5_000_000, 0)),
            consistency: None,
        }
    }

    fn doubts(case: &Case) -> Vec<Doubt> {
        let cells = summarise(&case.runs, &[]);
        let checked =
            |(rows_examined, violations)| CheckEvidence { rows_examined, violations, examples: &[] };
        judge(&Evidence {
            thorough: case.thorough,
            thorough_hint: None,
            complete: case.complete,
            cores_shared: case.cores_shared,
            ceiling: case.ceiling.as_ref().map(|instrument| CeilingEvidence {
                instrument,
                waiting: "epoll",
                jobs: 1,
            }),
            scale: Some(case.scale),
            server: Some(&case.server),
            bundle_pinned: case.bundle_pinned,
            runs: &case.runs,
            cells: &cells,
            balance: case.balance.map(checked),
            consistency: case.consistency.map(checked),
        })
    }

    #[test]
    fn a_careful_run_has_no_doubt() {
        assert_eq!(doubts(&clean()), []);
    }

    #[test]
    fn careful_runs_seldom_have_a_doubt_by_chance() {
        let doubted =
            (0..200).filter(|&seed| !doubts(&Case { runs: clean_runs(seed), ..clean() }).is_empty()).count();
        assert!(doubted <= 2, "{doubted} of 200 clean thorough runs have a doubt");
    }

    /// Breaks every run of the last cell (tpcb-like/16).
    fn break_last(case: &mut Case, fault: impl Fn(&mut CellRun, usize)) {
        let last = case
            .runs
            .iter_mut()
            .filter(|run| run.workload.script == "tpcb-like" && run.workload.clients == 16);
        last.enumerate().for_each(|(block, run)| fault(run, block));
    }

    /// A latency by which each client has this many transactions under way.
    fn latency(run: &CellRun, each: f64) -> LatencySummary {
        let mean_ns = each * f64::from(run.workload.clients) / run.tps * 1e9;
        LatencySummary {
            count: run.counts.committed,
            mean_ns,
            stddev_ns: 0.0,
            min_ns: mean_ns as u64,
            p50_ns: None,
            p95_ns: None,
            p99_ns: None,
            p999_ns: None,
            max_ns: mean_ns as u64,
        }
    }

    #[test]
    fn clients_are_tps_times_latency_in_a_closed_loop_alone() {
        let doubted = |each: f64, fault: fn(&mut CellRun)| {
            let mut case = clean();
            for run in &mut case.runs {
                run.latency = Some(latency(run, each));
                fault(run);
            }
            doubts(&case).iter().any(|doubt| doubt.kind == DoubtKind::Implausible)
        };
        assert!(!doubted(1.0, |_| ()) && !doubted(0.91, |_| ()) && !doubted(1.09, |_| ()));
        assert!(doubted(0.89, |_| ()) && doubted(1.11, |_| ()));
        assert!(!doubted(0.3, |run| run.workload.rate_per_s = Some(1_000.0)));
        assert!(!doubted(0.3, |run| run.counts_whole.failed = 1));
        assert!(!doubted(0.3, |run| run.counts.committed = u64::from(run.workload.clients) * 49));
    }

    type Fault = (DoubtKind, fn(&mut Case));

    const FAULTS: [Fault; 25] = [
        (DoubtKind::Implausible, |case| break_last(case, |run, _| run.latency = Some(latency(run, 0.8)))),
        (DoubtKind::ScreeningRun, |case| case.thorough = false),
        (DoubtKind::Partial, |case| case.complete = false),
        (DoubtKind::TooFewBlocks, |case| case.runs.truncate(16)),
        (DoubtKind::NotSteady, |case| {
            break_last(case, |run, block| {
                if block < 2 {
                    run.steady = SteadyVerdict::Trending { change: -0.12 };
                }
            });
        }),
        (DoubtKind::Noisy, |case| break_last(case, |run, block| run.tps *= [1.0, 1.5][block % 2])),
        (DoubtKind::UnsteadyBlocks, |case| {
            break_last(case, |run, block| run.tps *= if block == 0 { 1.0 / 17.0 } else { 1.0 });
        }),
        (DoubtKind::FewBranches, |case| case.scale = 15),
        (DoubtKind::DriverSaturated, |case| break_last(case, |run, _| run.cpu.busiest_worker = 0.95)),
        (DoubtKind::NearCeiling, |case| case.ceiling = Some(instrument(1_100.0))),
        (DoubtKind::CoresShared, |case| case.cores_shared = true),
        (DoubtKind::CpuSteal, |case| break_last(case, |run, _| run.cpu.steal = Some(0.05))),
        (DoubtKind::OtherLoad, |case| break_last(case, |run, _| run.cpu.others_cpus = Some(0.4))),
        (DoubtKind::IdleServersBusy, |case| {
            break_last(case, |run, _| run.idle = Some(IdleServers { cpus: 0.05, written_bytes: Some(0) }));
        }),
        (DoubtKind::UnevenCheckpoints, |case| {
            break_last(case, |run, block| {
                run.io.as_mut().expect("a sample has it").checkpoints = Some(u64::from(block == 3))
            });
        }),
        (DoubtKind::BuildNotOptimised, |case| {
            case.server.build = BuildFacts { cflags: Some("-Wall -Os".into()), ..BuildFacts::default() };
        }),
        (DoubtKind::MixedCache, |case| {
            break_last(case, |run, block| {
                if block == 0 {
                    run.served_from = Some(ServedFrom::Disk);
                }
            });
        }),
        (DoubtKind::WeakDurability, |case| case.server.durability = DurabilityTier::AsyncCommit),
        (DoubtKind::Misses, |case| {
            break_last(case, |run, block| {
                run.counts_whole.failed = u64::from(block == 0);
                let (code, message) = ("40001".into(), "could not serialize".into());
                run.errors = vec![ErrorCount { code, message, count: 1, longest_ns: None }];
            });
        }),
        (DoubtKind::ConnectionsLost, |case| {
            break_last(case, |run, block| {
                let outage = Outage { lost: 1, made_again: 1, longest_ns: 8_000_000, ..Outage::default() };
                run.outage = (block == 4).then_some(outage);
            });
        }),
        (DoubtKind::BalanceViolated, |case| case.balance = Some((5_000_000, 1))),
        (DoubtKind::Inconsistent, |case| case.consistency = Some((1_000_000, 3))),
        (DoubtKind::NotChecked, |case| case.balance = None),
        (DoubtKind::ServerNotObserved, |case| break_last(case, |run, _| run.cpu.server_s = None)),
        (DoubtKind::UnpinnedBundle, |case| case.bundle_pinned = Some(false)),
    ];

    #[test]
    fn every_fault_gives_its_doubt_and_no_other() {
        for (kind, fault) in FAULTS {
            let mut case = clean();
            fault(&mut case);
            let found = doubts(&case);
            assert_eq!(found.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [kind], "{found:#?}");
            assert!(found[0].detail.len() > 20 && found[0].advice.ends_with('.'), "{found:?}");
        }
    }

    #[test]
    fn servers_that_write_while_another_is_measured_are_doubted() {
        let doubted = |cpus: f64, written_bytes: Option<u64>| {
            let mut case = clean();
            break_last(&mut case, |run, _| run.idle = Some(IdleServers { cpus, written_bytes }));
            doubts(&case).pop()
        };
        assert_eq!((doubted(0.019, Some(4 << 20)), doubted(0.0, None)), (None, None));
        let found = doubted(0.0, Some(12 << 20)).expect("12 MiB are a checkpoint");
        assert_eq!((found.kind, found.cells), (DoubtKind::IdleServersBusy, vec!["tpcb-like/16".to_owned()]));
        assert!(found.detail.ends_with("others wrote up to 12 MiB in the time of a run"), "{}", found.detail);
        let both = doubted(0.5, Some(12 << 20)).expect("both are above");
        assert_eq!(both.cells.len(), 1);
        assert!(both.detail.contains("used up to 0.50 processors and wrote"), "{}", both.detail);
    }

    #[test]
    fn what_blocks_did_is_told_with_its_figures() {
        let told = |rate: fn(usize) -> f64| {
            let mut case = clean();
            break_last(&mut case, |run, block| run.tps = rate(block));
            let found = doubts(&case).pop().expect("there is a doubt");
            assert_eq!(
                (found.kind, found.cells),
                (DoubtKind::UnsteadyBlocks, vec!["tpcb-like/16".to_owned()])
            );
            found.detail
        };
        let rose = told(|block| if block == 0 { 1_443.0 } else { 25_060.0 });
        assert_eq!(rose, "TPS of tpcb-like/16 rose from 1,443 to 25,060 between its blocks 1 and 2");
        let fell = told(|block| 1_000.0 * 0.9f64.powi(block as i32));
        assert_eq!(fell, "TPS of tpcb-like/16 fell by 41.0 % over its 6 blocks");
    }

    #[test]
    fn clients_wait_for_branches_where_a_script_updates_them() {
        let found = |script: &str, scale| {
            let mut case = Case { scale, ..clean() };
            case.runs.iter_mut().for_each(|run| run.workload.script = script.into());
            let doubt = doubts(&case).into_iter().find(|doubt| doubt.kind == DoubtKind::FewBranches);
            doubt.map(|doubt| (doubt.detail, doubt.advice, doubt.cells))
        };
        let (detail, advice, cells) = found("tpcb-like", 6).expect("16 clients on 6 branches");
        assert!(detail.starts_with("up to 16 clients updated the rows of 6 branches"), "{detail}");
        assert!(advice.starts_with("Load at least scale 16 (--scale)"), "{advice}");
        assert_eq!(cells, ["tpcb-like/16"]);
        assert_eq!(
            (found("simple-update", 6), found("select-only", 6), found("tpcb-like", 16)),
            (None, None, None)
        );
    }

    #[test]
    fn a_build_for_tests_is_doubted_as_one_for_size() {
        let mut case = clean();
        case.server.build.features = Some(vec!["cassert".into()]);
        let found = doubts(&case);
        assert_eq!(found.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [DoubtKind::BuildNotOptimised]);
        assert!(found[0].detail.contains("with assertions: such a build is for tests"), "{found:?}");
    }

    #[test]
    fn every_kind_of_doubt_is_tested() {
        let schema = serde_json::to_string(&schemars::schema_for!(DoubtKind)).expect("a schema is JSON");
        let kinds = schema.matches("\"const\"").count();
        // That a record was edited is found by who reads it.
        let by_readers = 1;
        assert_eq!(kinds, FAULTS.len() + crate::compare::doubts::tests::OWN.len() + by_readers);
    }

    #[test]
    fn the_ceiling_is_that_of_a_thread_in_round_trips() {
        let doubted = |jobs: u32, statements: usize, tps: f64| {
            let mut run = run("tpcb-like", 16, tps);
            let statement = StatementSummary { statement: "SELECT 1".into(), latency: None };
            run.statements = vec![statement; statements];
            let instrument = instrument(1_000.0);
            let ceiling = CeilingEvidence { instrument: &instrument, waiting: "epoll", jobs };
            let evidence = Evidence {
                thorough: true,
                thorough_hint: None,
                complete: true,
                cores_shared: false,
                ceiling: Some(ceiling),
                scale: None,
                server: None,
                bundle_pinned: None,
                runs: &[run],
                cells: &[],
                balance: None,
                consistency: None,
            };
            near_ceiling(&evidence).map(|doubt| doubt.detail)
        };
        // One thread with 16 clients: 3,000 round trips a second at most. Two with 8 each: 2,000 each.
        assert_eq!(doubted(1, 7, 340.0), None);
        let detail = doubted(1, 7, 345.0).expect("2,415 of 3,000 are more than 80 %");
        assert!(detail.contains("80.5 %"), "{detail}");
        assert_eq!(doubted(2, 7, 450.0), None);
        assert!(doubted(2, 7, 460.0).is_some());
        assert_eq!(doubted(1, 0, 2_300.0), None);
        assert!(doubted(1, 0, 2_500.0).is_some());
    }

    #[test]
    fn a_check_that_examined_nothing_is_a_violation() {
        let found = doubts(&Case { balance: Some((0, 0)), ..clean() });
        assert_eq!(found[0].detail, "the balance check examined no row");
        let found = doubts(&Case { consistency: Some((0, 0)), ..clean() });
        assert_eq!(found[0].detail, "the check of TPC-C's conditions examined no row");
    }

    /// Makes a run one of TPC-C.
    fn drive_tpcc(run: &mut CellRun) {
        run.workload.script = "tpcc".into();
        run.tpcc = Some(TpccRun {
            warehouses: 10,
            shape: Shape::Statements,
            isolation: None,
            max_tries: 10,
            paced: false,
            weights: [45, 43, 4, 4, 4],
            load_constant_known: true,
            note: DERIVED.into(),
            shares: Shares::default(),
        });
    }

    #[test]
    fn tables_of_tpcc_that_are_consistent_are_no_doubt_and_unchecked_ones_are() {
        let mut case = Case { balance: None, consistency: Some((1_000_000, 0)), ..clean() };
        case.runs.retain(|run| run.workload.script == "tpcb-like");
        case.runs.iter_mut().for_each(drive_tpcc);
        assert_eq!(doubts(&case), []);
        case.consistency = None;
        let found = doubts(&case);
        assert_eq!(found.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [DoubtKind::NotChecked]);
        assert!(found[0].advice.contains("--no-check"), "{found:?}");
    }

    #[test]
    fn reading_needs_no_durability_and_no_check() {
        let mut case = Case { balance: None, ..clean() };
        case.server.durability = DurabilityTier::NoSync;
        case.runs.retain(|run| run.workload.script == "select-only");
        assert_eq!(doubts(&case), []);
    }

    #[test]
    fn reads_that_were_not_seen_are_no_other_place() {
        let kinds_with = |places: [ServedFrom; 3]| {
            let mut case = clean();
            break_last(&mut case, |run, block| run.served_from = Some(places[block % 3]));
            doubts(&case).iter().map(|doubt| doubt.kind).collect::<Vec<_>>()
        };
        let (hit, unknown, disk) =
            (ServedFrom::SharedBuffers, ServedFrom::BelowBuffersUnknown, ServedFrom::Disk);
        assert_eq!(kinds_with([hit, unknown, hit]), []);
        assert_eq!(kinds_with([unknown, unknown, unknown]), []);
        assert_eq!(kinds_with([hit, unknown, disk]), [DoubtKind::MixedCache]);
    }

    #[test]
    fn what_sessions_and_scripts_weaken_is_told_of_their_cells() {
        let mut case = clean();
        let weaken = |case: &mut Case, tier, what: &str| {
            let found = [Weakness { tier, what: what.to_owned() }];
            for run in &mut case.runs {
                let is_weak = run.workload.script != "select-only" && run.workload.clients > 1;
                let found = if is_weak { &found[..] } else { &[] };
                run.durability = Some(RunDurability::new(DurabilityTier::Full, found));
            }
        };
        weaken(&mut case, DurabilityTier::AsyncCommit, "line 1 of x.sql: SET synchronous_commit = off");
        let [weak] = &doubts(&case)[..] else { panic!("{:?}", doubts(&case)) };
        assert_eq!(weak.kind, DoubtKind::WeakDurability);
        assert!(
            weak.detail.ends_with("the last commits: line 1 of x.sql: SET synchronous_commit = off"),
            "{weak:?}"
        );
        assert_eq!(weak.cells, ["tpcb-like/16"], "the others are full");
        weaken(
            &mut case,
            DurabilityTier::Uncertain,
            "function public.f: SQL that is put together when it runs",
        );
        assert!(doubts(&case)[0].detail.starts_with("durability is not certain"), "{:?}", doubts(&case));
        // What shows at the end alone concerns whatever wrote.
        weaken(&mut case, DurabilityTier::Full, "nothing");
        assert_eq!(doubts(&case), []);
        case.server.durability = DurabilityTier::NoSync;
        assert_eq!(doubts(&case)[0].cells, ["tpcb-like/1", "tpcb-like/16"]);
    }

    #[test]
    fn one_false_alarm_among_six_runs_is_let_pass() {
        let mut case = clean();
        case.runs[0].steady = SteadyVerdict::NotSteady { cut_s: 3.0 };
        assert_eq!(doubts(&case), []);
    }

    #[test]
    fn a_few_attempts_due_at_the_very_end_are_no_misses() {
        let missed = |never_started| {
            missed_too_many(&Counts { scheduled: 10_000, never_started, failed: 1, ..Counts::default() })
        };
        assert_eq!((missed(0), missed(10), missed(110)), (1, 1, 101));
    }

    #[test]
    fn details_carry_figures_and_cells() {
        let mut case = clean();
        let (_, fault) = FAULTS.iter().find(|(kind, _)| *kind == DoubtKind::Misses).expect("it is a fault");
        fault(&mut case);
        let found = doubts(&case);
        assert_eq!(found[0].cells, ["tpcb-like/16"]);
        assert!(
            found[0].detail.ends_with("attempts 1 failed; first error 40001: could not serialize"),
            "{found:?}"
        );
    }
}
