//! `pgdyno bench`.

use std::process::ExitCode;

use pgdyno_core::{
    cpus::{CpuList, NotACpuList},
    problem::Problem,
    span::Span,
};
use pgdyno_plan::{Auto, BalanceCheckMode, MAX_RATE_PER_S, Plan, Scale, WorkloadFiles, advice::bench::Level};

use super::measure;
use crate::{context::Context, detach::Detachment, measure::Task};

/// Flags of `pgdyno bench`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true)]
pub struct Args {
    /// A trial in under 40 seconds: does it work, and roughly how fast is it?
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// For numbers to publish: more and longer blocks
    #[arg(long)]
    thorough: bool,
    /// TPC-B scale factor, 100,000 accounts per unit [default: from memory and disk]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    scale: Option<u64>,
    /// Client counts, such as 1,8,32 [default: from the number of CPUs]
    #[arg(long, short, value_name = "N,…", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    clients: Option<Vec<u32>>,
    /// Driver threads [default: one per driver CPU]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    jobs: Option<u32>,
    /// Measured interval of a run, such as 5s
    #[arg(long, short = 'T', value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<Span>,
    /// Warm-up before the measured interval, such as 1500ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    warmup: Option<Span>,
    /// Number of blocks: how often every cell runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    blocks: Option<u32>,
    /// Open loop with this rate in transactions per second [default: closed loop]
    #[arg(long, short = 'R', value_name = "TPS", value_parser = rate, allow_hyphen_values = true)]
    rate: Option<f64>,
    /// Balance check after runs that write
    #[arg(long, value_name = "auto|full|touched|off", value_parser = check_mode)]
    check: Option<BalanceCheckMode>,
    /// CPUs of the driver, such as 0 or 0-3,8 [default: the last quarter]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    driver_cpus: Option<String>,
    /// CPUs of the server [default: those that the driver does not use]
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Temporary server")]
    server_cpus: Option<String>,
    /// Print what would be done, and stop
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    measure: measure::Args,
}

fn check_mode(text: &str) -> Result<BalanceCheckMode, String> {
    match text {
        "auto" => Ok(BalanceCheckMode::Auto),
        "full" => Ok(BalanceCheckMode::Full),
        "touched" => Ok(BalanceCheckMode::Touched),
        "off" => Ok(BalanceCheckMode::Off),
        _ => Err("one of auto, full, touched, off".to_owned()),
    }
}

/// Parses a rate in transactions per second.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    rate.filter(|rate| *rate > 0.0 && *rate <= MAX_RATE_PER_S)
        .ok_or(format!("a rate is a number above 0, at most {MAX_RATE_PER_S:e}"))
}

/// Checks a list of CPUs, which plans keep as text.
pub(super) fn cpu_list(text: &str) -> Result<String, NotACpuList> {
    text.parse::<CpuList>().map(|_| text.to_owned())
}

impl Args {
    fn level(&self) -> Level {
        match (self.quick, self.thorough) {
            (true, _) => Level::Quick,
            (_, true) => Level::Thorough,
            _ => Level::Screening,
        }
    }

    /// The plan `plans/bench.toml`, overridden by the flags.
    fn plan(&self) -> Plan {
        let mut plan = Plan::bench();
        self.level().apply(&mut plan);
        if let Some(scale) = self.scale {
            plan.data.scale = Scale::Given(scale);
        }
        let measure = &mut plan.measure;
        if let Some(clients) = &self.clients {
            measure.clients = Auto::Given(clients.clone());
        }
        if let Some(jobs) = self.jobs {
            measure.jobs = Auto::Given(jobs);
        }
        measure.duration = self.duration.unwrap_or(measure.duration);
        measure.warmup = self.warmup.unwrap_or(measure.warmup);
        measure.blocks = self.blocks.unwrap_or(measure.blocks);
        measure.rate = self.rate;
        measure.driver_cpus.clone_from(&self.driver_cpus);
        plan.server.cpus.clone_from(&self.server_cpus);
        plan.check.balance = self.check.unwrap_or(plan.check.balance);
        plan
    }
}

impl Args {
    /// Task of the command line.
    ///
    /// # Errors
    /// The flags are invalid, or contradict each other.
    pub(super) fn task(&self) -> Result<Task, Problem> {
        let plan = self.plan();
        let files = WorkloadFiles::without_files(&plan)?;
        let task = self.measure.task(&[], plan, files, self.level())?;
        Ok(Task { dry_run: self.dry_run, ..task })
    }

    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.measure.detach.detachment("bench", || self.measure.connection.servers())
    }
}

/// Runs `pgdyno bench`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    crate::measure::measure(&args.task()?, context)
}
