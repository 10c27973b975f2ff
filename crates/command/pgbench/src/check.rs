//! Validates the combination of options.

use pgdyno_core::{observe::ObserveLevel, profile::Profiling};
use pgdyno_postgres::load::{Initialization, PartitionMethod, steps};
use pgdyno_rows::load::{LoadPlan, Partitions};

use super::{
    find_rate, limits,
    options::Options,
    say::{ExitResult, Say},
};

/// Default initialization steps.
const DEFAULT_STEPS: &str = "dtgvp";
/// Default number of transactions of each client, if neither `-t` nor `-T` is given.
const DEFAULT_TRANSACTIONS: i32 = 10;

/// The requested mode.
#[derive(Debug)]
pub enum Request {
    /// Initialize.
    Initialize(Box<Initialization>),
    /// Benchmark.
    Run,
}

/// Checks the combination of options, in pgbench's order, and completes them: database, threads, transactions.
///
/// # Errors
/// Options contradict each other; already printed.
pub fn check(say: &Say, options: &mut Options, operands: &[String]) -> ExitResult<Request> {
    let weights: u64 = options.scripts.iter().map(|script| u64::from(script.weight)).sum();
    if weights == 0 && !options.initialize {
        return say.fatal("total script weight must not be zero");
    }
    if !options.initialize {
        steps_or_search(say, options)?;
    }
    options.jobs = options.jobs.min(options.clients);
    let mut rest = operands.iter();
    if options.dbname.is_none() {
        options.dbname = rest.next().cloned();
    }
    if let Some(first) = rest.next() {
        say.error(format!("too many command-line arguments (first is \"{first}\")"));
        return say.see_help();
    }
    named_server(say, options)?;
    if options.initialize {
        return initialization(say, options)
            .map(|initialization| Request::Initialize(Box::new(initialization)));
    }
    if options.for_init {
        return say.fatal("some of the specified options cannot be used in benchmarking mode");
    }
    length(say, options)?;
    logging(say, options)?;
    if options.progress_timestamp && options.progress_s == 0 {
        return say.fatal("--progress-timestamp is allowed only under --progress");
    }
    if options.max_tries == 0 && options.latency_limit_us == 0 && options.time_s == 0 {
        return say.fatal(
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
        );
    }
    extras(say, options)?;
    Ok(Request::Run)
}

/// Checks `--server`, which says where the server is and which role connects.
fn named_server(say: &Say, options: &Options) -> ExitResult<()> {
    let (Some(_), Options { host, port, username, .. }) = (&options.server, options) else { return Ok(()) };
    let others = [
        (host.is_some(), "--host (-h)"),
        (port.is_some(), "--port (-p)"),
        (username.is_some(), "--username (-U)"),
    ];
    refuse_any(say, "--server", &others)
}

fn initialization(say: &Say, options: &Options) -> ExitResult<Initialization> {
    if options.for_run {
        return say.fatal("some of the specified options cannot be used in initialization (-i) mode");
    }
    if options.partitions == 0 && options.partition_method.is_some() {
        return say.fatal("--partition-method requires greater than zero --partitions");
    }
    let mut letters = options.init_steps.clone().unwrap_or_else(|| DEFAULT_STEPS.to_owned());
    if options.no_vacuum {
        letters = letters.replace('v', " ");
    }
    if options.foreign_keys && !letters.contains('f') {
        letters.push('f');
    }
    let method = options.partition_method.unwrap_or(PartitionMethod::Range);
    Ok(Initialization {
        steps: steps(&letters),
        tables: LoadPlan {
            scale: options.scale as u64,
            fillfactor: options.fillfactor as u32,
            unlogged: options.unlogged,
            tablespace: options.tablespace.clone(),
            index_tablespace: options.index_tablespace.clone(),
            partitions: (options.partitions > 0)
                .then_some(Partitions { method, count: options.partitions as u64 }),
            ..LoadPlan::default()
        },
    })
}

fn length(say: &Say, options: &mut Options) -> ExitResult<()> {
    if options.transactions > 0 && options.time_s > 0 {
        return say.fatal("specify either a number of transactions (-t) or a duration (-T), not both");
    }
    if options.transactions == 0 && options.time_s == 0 {
        options.transactions = DEFAULT_TRANSACTIONS;
    }
    Ok(())
}

fn logging(say: &Say, options: &Options) -> ExitResult<()> {
    let (sampling, aggregate_s, time_s) = (options.sampling_rate > 0.0, options.aggregate_s, options.time_s);
    if sampling && !options.log {
        return say.fatal("log sampling (--sampling-rate) is allowed only when logging transactions (-l)");
    }
    if sampling && aggregate_s > 0 {
        return say.fatal(
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
        );
    }
    if aggregate_s > 0 && !options.log {
        return say.fatal("log aggregation is allowed only when actually logging transactions");
    }
    if !options.log && options.log_prefix.is_some() {
        return say.fatal("log file prefix (--log-prefix) is allowed only when logging transactions (-l)");
    }
    if time_s > 0 && aggregate_s > time_s {
        return say.fatal(format!(
            "number of seconds for aggregation ({aggregate_s}) must not be higher than test duration ({time_s})"
        ));
    }
    if time_s > 0 && aggregate_s > 0 && time_s % aggregate_s != 0 {
        return say.fatal(format!(
            "duration ({time_s}) must be a multiple of aggregation interval ({aggregate_s})"
        ));
    }
    Ok(())
}

/// Checks `--steps` and `--find-rate`, and derives length, rate and client count from them.
fn steps_or_search(say: &Say, options: &mut Options) -> ExitResult<()> {
    if let Some(steps) = options.extras.steps.clone() {
        let clients = steps.most_clients();
        let others = [
            (options.extras.find_rate.is_some(), "--find-rate"),
            (options.transactions > 0, "--transactions (-t)"),
            (options.time_s > 0, "--time (-T): every step has its own length"),
            (options.rate_per_s.is_some(), "--rate (-R)"),
            (clients.is_some() && options.clients > 1, "--client (-c): every step has its own client count"),
        ];
        refuse_any(say, "--steps", &others)?;
        options.time_s = i32::try_from(steps.seconds()).unwrap_or(i32::MAX);
        options.rate_per_s = steps.mean_rate_per_s();
        if let Some(clients) = clients {
            options.clients = clients;
            limits::raise_open_files(say, clients)?;
        }
    }
    if options.extras.find_rate.is_some() {
        let extras = &options.extras;
        let others = [
            (options.transactions > 0, "--transactions (-t): the length of a probe is a time (-T)"),
            (options.rate_per_s.is_some(), "--rate (-R)"),
            (extras.think_ns > 0, "--think-time"),
            (options.log, "--log (-l)"),
            (options.progress_s > 0, "--progress (-P): every probe has a line"),
            (options.report_per_command, "--report-per-command (-r)"),
            (!extras.percentiles.is_empty(), "--percentiles: the limit names the printed one"),
            (extras.hdr.is_some(), "--hdr"),
        ];
        refuse_any(say, "--find-rate", &others)?;
        options.time_s = if options.time_s > 0 { options.time_s } else { find_rate::DEFAULT_TIME_S };
        if options.extras.warmup_ns == 0 {
            options.extras.warmup_ns = find_rate::DEFAULT_WARMUP_NS;
        }
    }
    Ok(())
}

/// Refuses the first given one of the `others`, each with an optional explanation.
fn refuse_any(say: &Say, option: &str, others: &[(bool, &str)]) -> ExitResult<()> {
    match others.iter().find(|(given, _)| *given) {
        Some((_, other)) => say.fatal(format!("{option} cannot be used with {other}")),
        None => Ok(()),
    }
}

/// Checks the options that pgbench lacks.
fn extras(say: &Say, options: &Options) -> ExitResult<()> {
    let extras = &options.extras;
    if extras.think_ns > 0 && options.rate_per_s.is_some() {
        return say.fatal(
            "--think-time cannot be used with --rate, whose schedule determines when transactions are due",
        );
    }
    if extras.reconnect_after.is_some() && options.connect_each {
        return say.fatal("specify either --reconnect or --connect (-C), not both");
    }
    if extras.record && (extras.steps.is_some() || extras.find_rate.is_some()) {
        return say
            .fatal("--record cannot be used with --steps or --find-rate: a run directory has one load");
    }
    if extras.runs.is_some() && !extras.record {
        return say.fatal("--runs is allowed only with --record");
    }
    if extras.observe.is_some() && !extras.record {
        return say.fatal("--observe is allowed only with --record");
    }
    if extras.profile != Profiling::None {
        if !extras.record {
            return say.fatal("--profile is allowed only with --record");
        }
        if extras.observe == Some(ObserveLevel::None) {
            return say.fatal(
                "--profile cannot be used with --observe=none: observers find the server's processes",
            );
        }
    }
    if extras.warmup_ns > 0 && options.time_s == 0 {
        return say.fatal("--warmup requires a duration (-T)");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
