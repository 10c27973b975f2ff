//! `pgdyno tpcc run`.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use pgdyno_core::{
    problem::Problem,
    span::Span,
    tpcc::{DISTRICTS, Shape},
};
use pgdyno_lab::{External, find_sets, within_set};
use pgdyno_plan::{
    Auto, Isolation, MAX_SETS, Plan, SetPlace, TpccPlan, TpccWork, WorkloadFiles, WorkloadPlan,
    advice::bench::Level,
};

use crate::{
    args::{bench, measure, way::without_server},
    context::Context,
    detach::Detachment,
    measure::Task,
};

/// Default number of warehouses of a temporary server.
const WAREHOUSES: u64 = 10;
/// Terminals per connection with `--paced`, by default; a connection can serve thousands.
const TERMINALS_PER_CONNECTION: u64 = 100;

/// Flags of `pgdyno tpcc run`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    mut_arg("load_method", without_server),
    after_help = "On an existing server (--server, -h, -p, -d, --dsn) the run uses tables that `pgdyno load tpcc` \
    loaded; they stay, with the changes of the run. Otherwise a temporary server is created and loaded. The run ends \
    with a consistency check. NOPM is the number of New-Orders per minute that were not rolled back. It is not tpmC; \
    docs/tpcc.md says why.\n\n\
    Examples:\n  \
    pgdyno tpcc run --warehouses 10 --clients 8,32\n  \
    pgdyno tpcc run --server main --clients 64 --shape functions --duration 60s\n  \
    pgdyno tpcc run --server main --sets 4 --drivers 4 --clients 96 --mix 40/36/8/8/8\n  \
    pgdyno tpcc run --dsn 'host=db user=me dbname=tpcc' --paced --warmup 5min --duration 20min"
)]
pub struct Run {
    /// Number of warehouses of each set of tables [default: all that are loaded; 10 on a temporary server]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000),
          help_heading = "What")]
    warehouses: Option<u64>,
    /// How transactions are sent: statement by statement, in pipelines, or as PL/pgSQL functions
    #[arg(long, value_name = "statements|pipelined|functions", default_value = "statements", hide_default_value = true,
          value_parser = PossibleValuesParser::new(Shape::ALL.map(Shape::name)), hide_possible_values = true,
          help_heading = "What")]
    shape: String,
    /// Isolation level: read-committed, repeatable-read or serializable [default: the server's]
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(Isolation::ALL.map(Isolation::name)),
          hide_possible_values = true, help_heading = "What")]
    isolation: Option<String>,
    /// Maximum number of tries after serialization failures and deadlocks; 0: no limit [default: 10]
    #[arg(long, value_name = "N", help_heading = "What")]
    max_tries: Option<u32>,
    /// Percentages of New-Order/Payment/Order-Status/Delivery/Stock-Level [default: 44.25/43.25/4.16/4.17/4.17]
    #[arg(long, value_name = "N/P/O/D/S", value_parser = weights, help_heading = "What")]
    mix: Option<[u32; 5]>,
    /// Simulate ten terminals per warehouse with keying and think times; clients are their connections
    #[arg(long, help_heading = "What")]
    paced: bool,
    /// Number of sets of tables, driven at one time by the clients divided among them [default: the names given, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SETS)),
          help_heading = "What")]
    sets: Option<u32>,
    /// Schemas of the sets [default: tpcc_1 to tpcc_N, as of `load tpcc --schemas N`]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        conflicts_with = "databases",
        help_heading = "What"
    )]
    schemas: Vec<String>,
    /// Databases of the sets, as of `load copy --into-databases N`
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What")]
    databases: Vec<String>,
    /// Skip the consistency check after the run
    #[arg(long, help_heading = "What")]
    no_check: bool,
    /// Print what would be done, and stop
    #[arg(long, conflicts_with = "detach", help_heading = "What")]
    dry_run: bool,
    /// A trial in under a minute plus loading: does it work, and roughly how fast is it?
    #[arg(long, conflicts_with = "thorough", help_heading = "How")]
    quick: bool,
    /// For numbers to publish: more and longer blocks
    #[arg(long, help_heading = "How")]
    thorough: bool,
    /// Client counts of all sets, such as 8,32 [default: from the CPUs; with --paced one per 100 terminals, 10 to 200]
    #[arg(long, short, value_name = "N,…", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "How")]
    clients: Option<Vec<u32>>,
    /// Processes that drive the sets of tables, at most one for each set [default: threads of pgdyno itself]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SETS)),
          help_heading = "How")]
    drivers: Option<u32>,
    /// Driver threads, at least one for each set of tables [default: one per driver CPU]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024),
          help_heading = "How")]
    jobs: Option<u32>,
    /// Measured interval of a run, such as 60s
    #[arg(long, short = 'T', value_name = "TIME", allow_hyphen_values = true, help_heading = "How")]
    duration: Option<Span>,
    /// Warm-up before the measured interval, such as 20s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "How")]
    warmup: Option<Span>,
    /// Number of blocks: how often every cell runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000), help_heading = "How")]
    blocks: Option<u32>,
    /// Open loop with this rate in transactions of all kinds per second [default: closed loop]
    #[arg(long, short = 'R', value_name = "TPS", value_parser = bench::rate, allow_hyphen_values = true,
          conflicts_with = "paced", help_heading = "How")]
    rate: Option<f64>,
    /// The same in transactions per minute, over all terminals (limitTxnsPerMin of BenchmarkSQL)
    #[arg(long, value_name = "N", value_parser = bench::rate, allow_hyphen_values = true,
          conflicts_with_all = ["paced", "rate"], help_heading = "How")]
    limit_per_minute: Option<f64>,
    /// Transactions of each client, after which it ends, without a warm-up (runTxnsPerTerminal of BenchmarkSQL)
    #[arg(long, short = 't', value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["duration", "warmup", "paced"], help_heading = "How")]
    transactions: Option<u64>,
    /// CPUs of the driver, such as 0 or 0-3,8 [default: the last quarter]
    #[arg(long, value_name = "LIST", value_parser = bench::cpu_list, help_heading = "How")]
    driver_cpus: Option<String>,
    /// CPUs of the server [default: those that the driver does not use]
    #[arg(long, value_name = "LIST", value_parser = bench::cpu_list, help_heading = "Temporary server")]
    server_cpus: Option<String>,
    #[command(flatten)]
    measure: measure::Args,
}

/// Parses five percentages separated by slashes or commas, in whole numbers or with up to two decimals.
fn weights(text: &str) -> Result<[u32; 5], String> {
    let hundredths: Option<Vec<u32>> = text.split(['/', ',']).map(|word| hundredths(word.trim())).collect();
    let five = hundredths.and_then(|numbers| <[u32; 5]>::try_from(numbers).ok());
    let five = five.ok_or("five percentages, such as 45/43/4/4/4, with two decimals at most")?;
    match five.iter().map(|weight| u64::from(*weight)).sum::<u64>() {
        10_000 if five.iter().all(|weight| weight.is_multiple_of(100)) => Ok(five.map(|weight| weight / 100)),
        10_000 => Ok(five),
        sum => Err(format!("they add up to {}, not to 100", sum as f64 / 100.0)),
    }
}

/// Hundredths of a percentage; `None` if it is none, or has more than two decimals.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 2 {
        return None;
    }
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(format!("{decimals:0<2}").parse().ok()?)
}

impl Run {
    /// Runs `pgdyno tpcc run`.
    ///
    /// # Errors
    /// The problem to print.
    pub fn run(&self, context: &Context) -> Result<ExitCode, Problem> {
        crate::measure::measure(&self.task()?, context)
    }

    /// Task of the command line.
    ///
    /// # Errors
    /// The flags are invalid or contradict each other, or the loaded tables do not match them.
    pub(super) fn task(&self) -> Result<Task, Problem> {
        let level = match (self.quick, self.thorough) {
            (true, _) => Level::Quick,
            (_, true) => Level::Thorough,
            _ => Level::Screening,
        };
        let external = self.measure.connection.resolve()?;
        let there = external.as_ref().filter(|_| self.measure.tables.existing() != Some(false));
        let data = self.data(there)?;
        let mut plan = self.plan(level, data);
        plan.data.loaded = there.is_some();
        plan.validate()?;
        let files = WorkloadFiles::without_files(&plan)?;
        let task = self.measure.task(&[], plan, files, level)?;
        Ok(Task { dry_run: self.dry_run, ..task })
    }

    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.measure.detach.detachment("tpcc run", || self.measure.connection.servers())
    }

    /// The tables: those of the existing server, or the requested number of warehouses.
    fn data(&self, external: Option<&External>) -> Result<TpccPlan, Problem> {
        let sets = TpccPlan {
            warehouses: self.warehouses.unwrap_or(WAREHOUSES),
            sets: self.sets,
            schemas: self.schemas.clone(),
            databases: self.databases.clone(),
        };
        let Some(external) = external else { return Ok(sets) };
        sets.validate()?;
        let open = &mut |place: &SetPlace| pgdyno_wire::connect(&within_set(&external.drive, place));
        let found = find_sets(&sets, self.warehouses, open)?;
        Ok(TpccPlan { warehouses: found.scale, ..sets })
    }

    fn plan(&self, level: Level, data: TpccPlan) -> Plan {
        let by_name = |name: &String| Isolation::ALL.into_iter().find(|one| one.name() == name);
        let usual = TpccWork::default();
        let work = TpccWork {
            shape: Shape::ALL.into_iter().find(|shape| shape.name() == self.shape).unwrap_or_default(),
            isolation: self.isolation.as_ref().and_then(by_name),
            weights: self.mix.unwrap_or(usual.weights),
            max_tries: self.max_tries.unwrap_or(usual.max_tries),
            paced: self.paced,
            drivers: self.drivers.unwrap_or(0),
            transactions: self.transactions,
        };
        let mut plan = Plan::new("tpcc", vec![WorkloadPlan::tpcc(work)]);
        plan.description = "TPC-C's five transactions, derived from the specification.".into();
        let all_warehouses = data.all_warehouses();
        plan.data.tpcc = Some(data);
        plan.check.consistency = !self.no_check;
        level.apply(&mut plan);
        let measure = &mut plan.measure;
        measure.blocks = self.blocks.unwrap_or(measure.blocks);
        measure.warmup = self.warmup.unwrap_or(measure.warmup);
        measure.duration = self.duration.unwrap_or(measure.duration);
        measure.clients = match &self.clients {
            Some(clients) => Auto::Given(clients.clone()),
            None if self.paced => Auto::Given(vec![connections(all_warehouses)]),
            None => Auto::Auto,
        };
        measure.jobs = self.jobs.map_or(Auto::Auto, Auto::Given);
        measure.rate = self.rate.or(self.limit_per_minute.map(|limit| limit / 60.0));
        measure.driver_cpus.clone_from(&self.driver_cpus);
        plan.server.cpus.clone_from(&self.server_cpus);
        plan
    }
}

/// Default number of connections for the terminals of these warehouses.
fn connections(warehouses: u64) -> u32 {
    let terminals = warehouses.saturating_mul(DISTRICTS);
    (terminals / TERMINALS_PER_CONNECTION).clamp(10, 200) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_five_and_add_up() {
        assert_eq!(weights("40/36/8/8/8"), Ok([40, 36, 8, 8, 8]));
        assert_eq!(weights("100,0,0,0,0"), Ok([100, 0, 0, 0, 0]));
        assert_eq!(weights("44.25/43.25/4.16/4.17/4.17"), Ok([4_425, 4_325, 416, 417, 417]));
        assert_eq!(weights("44.5/43.5/4/4/4"), Ok([4_450, 4_350, 400, 400, 400]));
        for wrong in ["45/43/4/4", "45/43/4/4/x", "44.255/43/4/4/4.745", "-1/93/4/2/2", ""] {
            assert!(weights(wrong).is_err_and(|why| why.starts_with("five percentages")), "{wrong}");
        }
        assert_eq!(weights("45/43/4/4/5"), Err("they add up to 101, not to 100".into()));
    }

    #[test]
    fn a_connection_serves_many_terminals() {
        assert_eq!([1, 10, 1_000, 1_000_000].map(connections), [10, 10, 100, 200]);
    }
}
