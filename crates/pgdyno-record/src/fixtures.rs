//! Invented runs that are consistent in themselves, for tests of what reads a run: counts add up, cells
//! follow from their runs, and runs from their intervals. No number of these was measured.

use std::{path::Path, sync::OnceLock};

use pgdyno_core::{
    advice::Choice,
    analysis::{Doubt, DoubtKind},
    facts::{
        BuildFacts, CgroupLimits, CpuFacts, DurabilityTier, HostFacts, HugePages, MemoryFacts, ServerFacts,
        ServerSource, Setting, StorageFacts, SyncCheck,
    },
    measure::{
        CellRun, CellSummary, Counts, CpuUse, ErrorCount, Estimate, HostShares, Interval, IoUse, Latency,
        Observation, Precision, ServedFrom, Slice, StatementSummary, SteadyVerdict, Workload,
    },
    problem::Problem,
};

use crate::{
    BalanceRecord, FORMAT, LoadRecord, NoiseRecord, PlanRecord, PrewarmRecord, RunDir, RunRecord,
    StageRecord, Status, ToolRecord, VERSION,
};

const SECOND_NS: u64 = 1_000_000_000;
const WARM_UP_S: u64 = 2;
const MEASURED_S: u64 = 8;
const BLOCKS: u32 = 3;
/// Script, clients, transactions per second, and CPUs of driver and server.
const CELLS: [(&str, u32, f64, f64, f64); 6] = [
    ("select-only", 1, 3_210.0, 0.11, 0.31),
    ("select-only", 4, 8_950.0, 0.30, 0.98),
    ("select-only", 16, 9_840.0, 0.33, 1.52),
    ("tpcb-like", 1, 212.0, 0.02, 0.10),
    ("tpcb-like", 4, 655.0, 0.06, 0.29),
    ("tpcb-like", 16, 1_480.0, 0.14, 0.66),
];
const SELECT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid";

/// A run with its intervals and observations.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// What `run.json` holds.
    pub record: RunRecord,
    /// The intervals in order, with their histograms.
    pub slices: Vec<Slice>,
    /// One observation a second.
    pub observations: Vec<Observation>,
}

impl Fixture {
    /// The lines of the timeline.
    pub fn timeline(&self) -> Vec<Interval> {
        self.slices.iter().map(|slice| slice.interval.clone()).collect()
    }

    /// Writes the fixture as a run directory below `runs`, as a run does it, and gives its path. The record's
    /// id becomes that of the directory.
    ///
    /// # Errors
    /// What could not be written.
    pub fn write(&self, runs: &Path) -> Result<std::path::PathBuf, Problem> {
        let started = self.record.started_at.parse().expect("a fixture's instant can be read");
        let mut dir = RunDir::create(runs, &self.record.plan.name, started)?;
        let record = RunRecord { id: dir.id().to_owned(), ..self.record.clone() };
        dir.save(&record)?;
        for (index, run) in record.runs.iter().enumerate() {
            let first_due_s = run.start_s - run.warmup_ns as f64 / 1e9;
            dir.begin_run(index as u32, &run.workload, run.block, first_due_s)?;
            for slice in self.slices.iter().filter(|s| s.interval.run as usize == index) {
                dir.interval(slice.interval.clone(), &slice.latency)?;
            }
        }
        self.observations.iter().try_for_each(|o| dir.observation(o))?;
        match record.status {
            Status::Partial => Ok(dir.path().to_path_buf()),
            _ => dir.finish(&record),
        }
    }
}

/// A complete screening run: two workloads at three client counts in three blocks.
pub fn complete() -> Fixture {
    static BUILT: OnceLock<Fixture> = OnceLock::new();
    BUILT.get_or_init(|| build(BLOCKS)).clone()
}

/// A careful run that nothing speaks against.
pub fn thorough() -> Fixture {
    let mut fixture = complete();
    fixture.record.plan.thorough = true;
    fixture.record.command = fixture.record.command.replace("bench", "bench --thorough");
    fixture.record.doubts.clear();
    fixture
}

/// A run that was killed in its second block.
pub fn partial() -> Fixture {
    let mut fixture = complete();
    let record = &mut fixture.record;
    record.status = Status::Partial;
    record.finished_at = None;
    record.runs.truncate(8);
    record.balance = None;
    record.noise = None;
    record.cells = cells(&record.runs, &histograms(&fixture.slices, 8));
    let partial = doubt(DoubtKind::Partial, "8 of 18 runs were made.", "Run it again to its end.");
    record.doubts.insert(0, partial);
    fixture.slices.retain(|slice| slice.interval.run < 8);
    fixture
}

/// A run that an error stopped, with failed attempts and a violated balance.
pub fn failed() -> Fixture {
    let mut fixture = partial();
    let record = &mut fixture.record;
    record.status = Status::Stopped;
    record.finished_at = Some("2026-11-20T10:17:05Z".into());
    record.error = Some("the server closed the connection: process 4121 was killed by signal 9".into());
    let run = record.runs.last_mut().expect("there are runs");
    run.counts.failed = 16;
    run.counts.scheduled += 16;
    run.counts_whole.failed = 16;
    run.counts_whole.scheduled += 16;
    run.errors.push(ErrorCount {
        code: "connection".into(),
        message: "the server closed it".into(),
        count: 16,
    });
    record.balance = Some(BalanceRecord { violations: 2, in_doubt: 1, ..balance(&record.runs) });
    let balance = record.balance.as_mut().expect("it was just set");
    balance.examples = vec!["account 4711: balance 17, history says -250".into()];
    let what = "The balance check found 2 violations in 5,000,550 rows.";
    record.doubts.push(doubt(
        DoubtKind::BalanceViolated,
        what,
        "Do not use this server; keep its data directory.",
    ));
    fixture
}

/// A run that ended before its first cell, with no fact of a server.
pub fn zero_cells() -> Fixture {
    let mut fixture = failed();
    let record = &mut fixture.record;
    record.error = Some("could not start the server: port 5433 is already in use".into());
    record.runs.clear();
    record.cells.clear();
    record.server = None;
    record.balance = None;
    record.load = None;
    record.stages.truncate(1);
    record.doubts.truncate(1);
    record.doubts[0].detail = "0 of 18 runs were made.".into();
    fixture.slices.clear();
    fixture.observations.clear();
    fixture
}

/// Two blocks against a server elsewhere, where much cannot be seen.
pub fn absent_values() -> Fixture {
    let mut fixture = build(2);
    let record = &mut fixture.record;
    (record.storage, record.sync_check, record.load, record.noise) = (None, None, None, None);
    (record.host.os, record.host.cpu.model) = (None, None);
    record.plan.server = "external".into();
    record.plan.balance_check = "off".into();
    record.balance = None;
    for run in &mut record.runs {
        (run.cpu.server_s, run.cpu.steal) = (None, None);
        run.io = run.io.take().map(|io| IoUse { device_read_bytes: None, ..io });
        run.served_from = Some(ServedFrom::BelowBuffersUnknown);
    }
    for cell in &mut record.cells {
        (cell.server_cpus, cell.server_cpu_us_per_transaction) = (None, None);
        cell.served_from = None;
        let latency = cell.latency.as_mut().expect("the fixture has samples");
        (latency.p99_ns, latency.p999_ns) = (None, None);
    }
    record.cells[0].latency = None;
    record.cells[0].distribution.clear();
    let what = "The server runs on another host.";
    record.doubts.push(doubt(
        DoubtKind::ServerNotObserved,
        what,
        "Run pgdyno where the server is, or watch both.",
    ));
    fixture
}

fn build(blocks: u32) -> Fixture {
    let mut random = Random(20_261_120);
    let mut runs = Vec::new();
    let mut slices = Vec::new();
    let mut due_s = 21.4;
    for block in 0..blocks {
        for cell in CELLS {
            let (run, intervals) = one_run(&mut random, runs.len() as u32, block, cell, due_s);
            due_s += (WARM_UP_S + MEASURED_S) as f64 + 0.7;
            runs.push(run);
            slices.extend(intervals);
        }
    }
    let observations = (0..due_s as u64).map(|s| observation(s as f64 + 1.0)).collect();
    let cells = cells(&runs, &histograms(&slices, runs.len()));
    Fixture { record: record(runs, cells, blocks, due_s), slices, observations }
}

/// A small generator of its own: the same runs on every machine.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Near enough to a normal variable: four uniform ones, scaled to a variance of 1.
    fn normal(&mut self) -> f64 {
        ((0..4).map(|_| self.uniform()).sum::<f64>() - 2.0) * 3f64.sqrt()
    }
}

type Cell = (&'static str, u32, f64, f64, f64);

fn one_run(random: &mut Random, index: u32, block: u32, cell: Cell, due_s: f64) -> (CellRun, Vec<Slice>) {
    let (_, clients, tps, ..) = cell;
    let speed = tps * (1.0 + 0.012 * random.normal());
    let mut slices = Vec::new();
    for second in 0..WARM_UP_S + MEASURED_S {
        let start = if second == 0 { 0.9 } else { 1.0 };
        let commits = (speed * start * (1.0 + 0.02 * random.normal())) as u64;
        let mut latency = Latency::new(Precision::Interval);
        sample(random, f64::from(clients) / speed * 1e9, commits, &mut latency);
        let in_flight_at_start = if second == 0 { 0 } else { u64::from(clients) };
        let in_flight_at_end = u64::from(clients);
        let scheduled = commits + in_flight_at_end - in_flight_at_start;
        let counts = Counts {
            scheduled,
            in_flight_at_start,
            committed: commits,
            in_flight_at_end,
            ..Counts::default()
        };
        let interval = Interval {
            run: index,
            start_ns: second * SECOND_NS,
            duration_ns: SECOND_NS,
            warm_up: second < WARM_UP_S,
            counts,
            latency: None,
        };
        slices.push(Slice::new(interval, latency));
    }
    (cell_run(block, cell, due_s, &slices), slices)
}

/// Latencies around a mean, skewed, with a rare long one.
fn sample(random: &mut Random, mean_ns: f64, count: u64, into: &mut Latency) {
    for _ in 0..count {
        let body = mean_ns * 0.92 * (0.33 * random.normal()).exp();
        let tail = if random.uniform() < 0.004 { 6.0 + 8.0 * random.uniform() } else { 1.0 };
        into.record((body * tail) as u64);
    }
}

fn cell_run(block: u32, cell: Cell, due_s: f64, slices: &[Slice]) -> CellRun {
    let (script, clients, _, driver_cpus, server_cpus) = cell;
    let mut whole = Counts::default();
    let mut counts = Counts::default();
    let mut latency = Latency::new(Precision::Run);
    for (i, Slice { interval, latency: part }) in slices.iter().enumerate() {
        if i == 0 {
            whole = interval.counts
        } else {
            whole.then(&interval.counts)
        }
        if !interval.warm_up {
            if latency.count() == 0 {
                counts = interval.counts
            } else {
                counts.then(&interval.counts)
            }
            latency.add_interval(part);
        }
    }
    // The drain: what was in flight at the end commits after it.
    whole.committed += whole.in_flight_at_end;
    whole.in_flight_at_end = 0;
    let latency = latency.summary();
    CellRun {
        block,
        workload: workload(script, clients),
        start_s: due_s + WARM_UP_S as f64,
        warmup_ns: WARM_UP_S * SECOND_NS,
        duration_ns: MEASURED_S * SECOND_NS,
        tps: counts.committed as f64 / MEASURED_S as f64,
        counts,
        counts_whole: whole,
        statements: vec![StatementSummary { statement: SELECT.into(), latency: latency.clone() }],
        latency,
        lag: None,
        connect_ns: 1_700_000 * u64::from(clients),
        cpu: CpuUse {
            driver_s: driver_cpus * MEASURED_S as f64,
            server_s: Some(server_cpus * MEASURED_S as f64),
            busiest_worker: driver_cpus,
            others_cpus: Some(0.04),
            steal: Some(0.001),
        },
        io: Some(io(script, counts.committed)),
        served_from: Some(served_from(script)),
        steady: SteadyVerdict::TooShort,
        errors: Vec::new(),
    }
}

/// Adds an interval's two-digit histogram to one of three digits.
trait AddInterval {
    fn add_interval(&mut self, part: &Latency);
}

impl AddInterval for Latency {
    fn add_interval(&mut self, part: &Latency) {
        for step in part.as_histogram().iter_recorded() {
            (0..step.count_at_value()).for_each(|_| self.record(step.value_iterated_to()));
        }
    }
}

fn workload(script: &str, clients: u32) -> Workload {
    Workload { script: script.into(), protocol: "prepared".into(), clients, rate_per_s: None, arm: None }
}

fn served_from(script: &str) -> ServedFrom {
    if script == "select-only" { ServedFrom::SharedBuffers } else { ServedFrom::PageCache }
}

fn io(script: &str, committed: u64) -> IoUse {
    let writes = script != "select-only";
    IoUse {
        blocks_hit: committed * if writes { 24 } else { 4 },
        blocks_read: if writes { committed / 9 } else { 0 },
        device_read_bytes: Some(0),
        wal_bytes: Some(if writes { committed * 2_870 } else { 4_120 }),
        checkpoints: Some(0),
    }
}

/// The measured histograms of each run.
fn histograms(slices: &[Slice], runs: usize) -> Vec<Latency> {
    let mut of_runs = vec![Latency::new(Precision::Run); runs];
    for Slice { interval, latency } in slices.iter().filter(|s| !s.interval.warm_up) {
        if let Some(of_run) = of_runs.get_mut(interval.run as usize) {
            of_run.add_interval(latency);
        }
    }
    of_runs
}

fn cells(runs: &[CellRun], histograms: &[Latency]) -> Vec<CellSummary> {
    let of_cell = |(script, clients, ..): &Cell| {
        let wanted = workload(script, *clients);
        let own: Vec<_> = runs.iter().zip(histograms).filter(|(run, _)| run.workload == wanted).collect();
        (!own.is_empty()).then(|| cell(wanted, &own))
    };
    CELLS.iter().filter_map(of_cell).collect()
}

fn cell(workload: Workload, own: &[(&CellRun, &Latency)]) -> CellSummary {
    let statements = if workload.script == "select-only" { 1 } else { 5 };
    let mut latency = Latency::new(Precision::Run);
    own.iter().for_each(|(_, part)| latency.add(part));
    let sum = |of: fn(&CellRun) -> f64| own.iter().map(|(run, _)| of(run)).sum::<f64>();
    let committed = sum(|run| run.counts.committed as f64);
    let seconds = sum(|run| run.duration_ns as f64 / 1e9);
    let (driver_s, server_s) = (sum(|run| run.cpu.driver_s), sum(|run| run.cpu.server_s.unwrap_or(0.0)));
    let tps: Vec<f64> = own.iter().map(|(run, _)| run.tps).collect();
    CellSummary {
        statements_per_transaction: statements,
        tps: estimate(&tps, 1.0),
        qps: estimate(&tps, f64::from(statements)),
        latency: latency.summary(),
        distribution: latency.distribution(),
        miss_rate: 0.0,
        driver_cpu_us_per_transaction: Some(driver_s * 1e6 / committed),
        server_cpu_us_per_transaction: Some(server_s * 1e6 / committed),
        driver_cpus: driver_s / seconds,
        server_cpus: Some(server_s / seconds),
        served_from: Some(served_from(&workload.script)),
        workload,
    }
}

fn estimate(values: &[f64], factor: f64) -> Estimate {
    /// Student's t at 97.5 % for 2 degrees of freedom: three blocks.
    const T_2: f64 = 4.302_653;
    let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
    let count = scaled.len();
    let mean = scaled.iter().sum::<f64>() / count as f64;
    let variance = scaled.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count.max(2) - 1) as f64;
    Estimate {
        value: mean,
        unit: "1/s".into(),
        count: count as u64,
        min: scaled.iter().copied().fold(f64::INFINITY, f64::min),
        max: scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        half_width: (count == 3).then(|| T_2 * (variance / count as f64).sqrt()),
    }
}

fn noise(runs: &[CellRun]) -> NoiseRecord {
    let cells = cells_of(runs);
    let squares: f64 = cells
        .iter()
        .map(|logs| {
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            logs.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
        })
        .sum();
    let degrees_of_freedom: usize = cells.iter().map(|logs| logs.len() - 1).sum();
    let between_blocks = (squares / degrees_of_freedom.max(1) as f64).sqrt();
    let smallest_difference = 2.179 * between_blocks * (2.0 / f64::from(BLOCKS)).sqrt();
    NoiseRecord { between_blocks, degrees_of_freedom: degrees_of_freedom as u32, smallest_difference }
}

/// ln(TPS) of the runs of each cell.
fn cells_of(runs: &[CellRun]) -> Vec<Vec<f64>> {
    let of_cell = |(script, clients, ..): &Cell| {
        let wanted = workload(script, *clients);
        runs.iter().filter(|run| run.workload == wanted).map(|run| run.tps.ln()).collect()
    };
    CELLS.iter().map(of_cell).collect()
}

fn balance(runs: &[CellRun]) -> BalanceRecord {
    let writing = runs.iter().filter(|run| run.workload.script != "select-only");
    let committed = writing.map(|run| run.counts_whole.committed).sum();
    BalanceRecord {
        mode: "full".into(),
        rows_examined: 5_000_000 + 500 + 50 + committed,
        history_rows: committed,
        committed,
        in_doubt: 0,
        violations: 0,
        examples: Vec::new(),
        duration_s: 1.9,
    }
}

fn observation(at_s: f64) -> Observation {
    Observation {
        at_s,
        host: HostShares { user: 0.41, system: 0.22, iowait: 0.03, steal: 0.001 },
        driver_cpus: 0.31,
        server_cpus: Some(0.97),
        device_read_bytes_per_s: Some(0.0),
        device_write_bytes_per_s: Some(14_800_000.0),
    }
}

fn doubt(kind: DoubtKind, detail: &str, advice: &str) -> Doubt {
    Doubt { kind, detail: detail.into(), advice: advice.into(), cells: Vec::new() }
}

fn doubts() -> Vec<Doubt> {
    let shared = Doubt {
        cells: vec!["select-only/4".into(), "select-only/16".into()],
        ..doubt(
            DoubtKind::CoresShared,
            "Driver and server shared processors 0 and 1.",
            "Give each its own with --driver-cpus and --server-cpus, or drive from a second machine.",
        )
    };
    vec![
        doubt(
            DoubtKind::ScreeningRun,
            "Intervals of 8 s in 3 blocks are meant for a first look, not for publication.",
            "Use --thorough (24 min).",
        ),
        shared,
        doubt(
            DoubtKind::BuildNotOptimised,
            "The server was compiled for size (-Os).",
            "Point --bindir at a distribution's build; bundles were seen 9 to 21 % slower.",
        ),
    ]
}

fn record(runs: Vec<CellRun>, cells: Vec<CellSummary>, blocks: u32, end_s: f64) -> RunRecord {
    RunRecord {
        format: FORMAT.into(),
        version: VERSION,
        status: Status::Complete,
        id: "20261120T101502Z-bench-7f3a".into(),
        tool: ToolRecord { version: "0.1.0".into(), commit: "32706583c1".into() },
        command: "pgdyno bench --pg 18 --scale 50 --clients 1,4,16 --duration 8s --seed 4711".into(),
        started_at: "2026-11-20T10:15:02Z".into(),
        finished_at: Some("2026-11-20T10:18:40Z".into()),
        plan: plan(blocks),
        host: host(),
        storage: Some(storage()),
        sync_check: Some(sync_check()),
        server: Some(server()),
        choices: choices(),
        stages: stages(end_s),
        load: Some(load()),
        balance: Some(balance(&runs)),
        noise: (blocks == BLOCKS).then(|| noise(&runs)),
        comparison: None,
        runs,
        cells,
        doubts: doubts(),
        error: None,
    }
}

fn plan(blocks: u32) -> PlanRecord {
    PlanRecord {
        name: "bench".into(),
        description: "How fast is PostgreSQL on this machine?".into(),
        seed: 4711,
        scale: 50,
        clients: vec![1, 4, 16],
        jobs: 1,
        duration_ns: MEASURED_S * SECOND_NS,
        warmup_ns: WARM_UP_S * SECOND_NS,
        blocks,
        rate_per_s: None,
        driver_cpus: Vec::new(),
        server_cpus: Vec::new(),
        thorough: false,
        balance_check: "full".into(),
        server: "own".into(),
        transport: "unix".into(),
    }
}

fn host() -> HostFacts {
    HostFacts {
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: "6.1.0-28-amd64".into(),
        arch: "x86_64".into(),
        cpu: CpuFacts {
            model: Some("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz".into()),
            allowed: vec![0, 1],
            governor: None,
        },
        memory: MemoryFacts {
            total_bytes: 25_125_412_864,
            available_bytes: 23_622_320_128,
            swap_bytes: 0,
            overcommit_mode: 0,
            commit_limit_bytes: 12_562_706_432,
            committed_bytes: 912_345_088,
            huge_pages: HugePages { total: 0, free: 0, page_bytes: 2 << 20 },
            transparent_huge_pages: Some("madvise".into()),
        },
        cgroup: CgroupLimits { memory_bytes: Some(17_179_869_184), cpus: Some(2.0) },
        clocksource: Some("tsc".into()),
        virtualization: Some("hypervisor".into()),
        open_files_limit: 1_048_576,
        memlock_limit_bytes: Some(8 << 20),
    }
}

fn storage() -> StorageFacts {
    StorageFacts {
        path: "/var/lib/pgdyno/bench".into(),
        mount_point: Some("/".into()),
        filesystem: Some("ext4".into()),
        mount_options: Some("rw,relatime,discard".into()),
        device: Some("/dev/vda".into()),
        rotational: Some(false),
        write_cache: Some("write back".into()),
        size_bytes: 268_435_456_000,
        available_bytes: 201_863_462_912,
    }
}

fn sync_check() -> SyncCheck {
    let mut latency = Latency::new(Precision::Run);
    sample(&mut Random(7), 1_120_000.0, 1_786, &mut latency);
    let latency = latency.summary().expect("there are samples");
    SyncCheck {
        path: "/var/lib/pgdyno/bench".into(),
        write_bytes: 8192,
        duration_ns: 2 * SECOND_NS,
        rate_per_s: latency.count as f64 / 2.0,
        latency,
    }
}

fn server() -> ServerFacts {
    let setting = |name: &str, value: &str| Setting {
        name: name.into(),
        value: value.into(),
        source: "configuration file".into(),
    };
    ServerFacts {
        version_num: 180_004,
        version: "18.4".into(),
        version_text: "PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc 7.5.0, 64-bit".into(),
        source: ServerSource::Bundle,
        bindir: Some("/var/cache/pgdyno/bundles/18.4.0/bin".into()),
        build: BuildFacts {
            compiler: Some("gcc (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0".into()),
            cflags: Some("-Wall -Wmissing-prototypes -Os".into()),
            configure: Some("--without-readline --with-icu".into()),
        },
        block_bytes: 8192,
        wal_segment_bytes: 16 << 20,
        data_checksums: true,
        durability: DurabilityTier::Full,
        max_connections: 40,
        shared_buffers_bytes: 1 << 30,
        data_directory: Some("/var/lib/pgdyno/bench/data".into()),
        settings: vec![
            setting("checkpoint_timeout", "30min"),
            setting("max_connections", "40"),
            setting("max_wal_size", "8GB"),
            setting("shared_buffers", "1GB"),
        ],
    }
}

fn choices() -> Vec<Choice> {
    let choice = |name: &str, value: &str, reason: &str| Choice {
        name: name.into(),
        value: value.into(),
        reason: reason.into(),
    };
    vec![
        choice("scale", "50", "751 MiB fit in shared buffers; the least for this size of machine"),
        choice("clients", "1, 4, 16", "one, two for each of 2 processors, eight for each"),
        choice(
            "shared_buffers",
            "1GB",
            "a quarter of the 16.0 GiB that the control group allows, at most 1 GB",
        ),
        choice("max_wal_size", "8GB", "no checkpoint by WAL volume within an interval"),
        choice("checkpoint_timeout", "30min", "no checkpoint by time within the run"),
        choice("max_connections", "40", "16 clients, 5 for administration, and room"),
    ]
}

fn stages(end_s: f64) -> Vec<StageRecord> {
    let stage =
        |name: &str, start_s: f64, duration_s: f64| StageRecord { name: name.into(), start_s, duration_s };
    vec![
        stage("storage check", 0.1, 2.0),
        stage("provision", 2.1, 4.6),
        stage("load", 6.7, 14.2),
        stage("drive", 20.9, end_s - 20.9),
        stage("balance check", end_s, 1.9),
        stage("report", end_s + 1.9, 0.2),
    ]
}

fn load() -> LoadRecord {
    LoadRecord {
        rows: 5_000_550,
        copy_bytes: 84_120_442,
        copy_s: 9.1,
        vacuum_s: 1.2,
        index_s: 3.9,
        size_bytes: 787_480_576,
        copy_format: "text".into(),
        freeze: true,
        prewarm: Some(PrewarmRecord { method: "pg_prewarm".into(), duration_s: 0.31 }),
    }
}
