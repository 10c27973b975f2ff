//! The benchmark: setup, run, summary.

use std::{cell::RefCell, sync::Arc};

use pgdyno_core::{stop::Stop, units::printable};
use pgdyno_engine::{
    Begin, Bookkeeping, Clock, Level, Listeners, LogSettings, MergedInterval, Messages, Mix, Report,
    Settings, SocketDriver,
};
use pgdyno_postgres::{
    load::{Found, NotFound, find_tables},
    targets::{Workers, run_clients},
};
use pgdyno_script::{Scripts, Streams};
use pgdyno_wire::{Address, Session, libpq};

use super::{
    clients::ClientFactory,
    connect,
    format::log::{Aggregator, Columns},
    logfile::{Epoch, LogFile},
    options::Options,
    progress::ProgressReporter,
    record::{PendingRecord, Recorder},
    results::{Histograms, Results},
    saving::Saving,
    say::{ExitResult, Say, print},
    steps::Steps,
    usage,
};

/// Maximum length of a drain, and of a run that ends with the last transaction, in nanoseconds: a hundred years.
const NEVER_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;
/// Length of the intervals of a run that is recorded or prints no progress, in nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Runs the benchmark and prints the summary.
///
/// # Errors
/// The exit status, after printing the error.
pub fn run(say: Say, options: &Options, scripts: Scripts, stop: &Stop, saving: &Saving) -> ExitResult<()> {
    let mut pending = PendingRecord::open(&say, options, &scripts, saving)?;
    let mut outputs = Histograms::open(&say, options)?;
    let defined = |name: &str| options.define.iter().any(|definition| definition.name == name);
    let streams = Streams::derive(options.seed, options.clients, options.jobs, defined("default_seed"));
    let (found, server_version) = set_up(&say, options, pending.as_mut())?;
    let scripts = Arc::new(scripts);
    let connect = Arc::new(connect::target(&say, options)?);
    let scale = found.scale;
    let sessions = pending.as_ref().map(PendingRecord::sessions);
    let factory = ClientFactory {
        say: &say,
        options,
        connect: &connect,
        scripts: &scripts,
        streams: &streams,
        scale,
        stop,
        sessions,
    };
    let (workers, connect_ns) = factory.connect()?;
    let mut recorder = pending.map(|pending| pending.begin(&say, options, &scripts, scale)).transpose()?;
    let sinks = IntervalSinks { outputs: &mut outputs, recorder: recorder.as_mut() };
    let report = drive(&say, options, &scripts, &streams, workers, stop, sinks)?;
    let results = Results { options, scripts: &scripts, found, connect_ns, report: &report, server_version };
    let printed = print_results(&say, outputs, &results);
    if let Some(recorder) = recorder
        && let Some(path) = recorder.finish(&say, &results)?
    {
        say.raw(format!("record: {}\n", path.display()));
    }
    printed
}

/// Prints the summary, and writes the requested files.
fn print_results(say: &Say, outputs: Histograms, results: &Results<'_>) -> ExitResult<()> {
    let (report, options) = (results.report, results.options);
    if options.exit_on_abort && report.clients_lost > 0 {
        say.error("Run was aborted due to an error in thread 0");
        return Err(2);
    }
    print(say, &results.text())?;
    outputs.close(say, results)?;
    if report.clients_lost > 0 || report.stopped.is_some() {
        say.error("Run was aborted; the above results are incomplete.");
        return Err(2);
    }
    Ok(())
}

/// Does what pgbench does over a separate connection before the run. Returns the properties of the tables, and the
/// server's version.
pub fn set_up(
    say: &Say,
    options: &Options,
    pending: Option<&mut PendingRecord>,
) -> ExitResult<(Found, String)> {
    let mut session = connect::session(say, options, "could not create connection for setup")?;
    let server_version = printable(session.parameter("server_version").unwrap_or_default()).into_owned();
    let program = usage::version();
    if server_version.split(' ').next() == Some(usage::PGBENCH_VERSION) {
        print(say, &format!("pgbench ({program})\n"))?;
    } else {
        print(say, &format!("pgbench ({program}, server {server_version})\n"))?;
    }
    let database = connect::target(say, options)?.database;
    say.message(Level::Debug, &parameters(options, session.address(), &database));
    let mut found = Found { scale: i64::from(options.scale), partitions: None };
    if options.builtin_used {
        found = tables(say, &mut session, options)?;
    }
    if !options.no_vacuum {
        vacuum(say, &mut session, options.vacuum_all);
    }
    if let Some(pending) = pending {
        pending.inspect_server(&mut session, &connect::target(say, options)?);
    }
    Ok((found, server_version))
}

/// Parameters of the run, printed with `--debug`.
fn parameters(options: &Options, address: &Address, database: &str) -> String {
    let (host, port) = libpq::host_and_port(address);
    let (what, number) = match options.time_s {
        0 => ("nxacts", options.transactions),
        seconds => ("duration", seconds),
    };
    let clients = options.clients;
    format!("pghost: {host} pgport: {port} nclients: {clients} {what}: {number} dbName: {database}")
}

fn tables(say: &Say, session: &mut Session, options: &Options) -> ExitResult<Found> {
    match find_tables(session) {
        Ok(found) => {
            if options.scale_given {
                say.warning(format!(
                    "scale option ignored, using count from pgbench_branches table ({})",
                    found.scale
                ));
            }
            Ok(found)
        }
        Err(error) => {
            let missing = match &error {
                NotFound::Branches(cause) => {
                    say.error(format!("could not count number of branches: {}", libpq::message(cause)));
                    cause.code() == Some("42P01")
                }
                error => {
                    say.error(error.to_string());
                    matches!(error, NotFound::Accounts)
                }
            };
            if missing {
                let database = session.value("SELECT pg_catalog.current_database()").ok().flatten();
                say.hint(format!(
                    "Perhaps you need to do initialization (\"pgbench -i\") in database \"{}\".",
                    database.unwrap_or_default()
                ));
            }
            Err(1)
        }
    }
}

/// Vacuums the small tables and truncates history. Errors are printed and ignored.
fn vacuum(say: &Say, session: &mut Session, all: bool) {
    let mut execute = |sql: &str| {
        if let Err(error) = session.execute(sql) {
            say.error(libpq::message(&error));
            say.detail("(ignoring this error and continuing anyway)");
        }
    };
    say.raw("starting vacuum...");
    execute("VACUUM pgbench_branches");
    execute("VACUUM pgbench_tellers");
    execute("TRUNCATE pgbench_history");
    say.raw("end.\n");
    if all {
        say.raw("starting vacuum pgbench_accounts...");
        execute("VACUUM ANALYZE pgbench_accounts");
        say.raw("end.\n");
    }
}

/// Receivers of the intervals of the run.
struct IntervalSinks<'a, 'b> {
    outputs: &'a mut Histograms,
    recorder: Option<&'a mut Recorder<'b>>,
}

fn drive(
    say: &Say,
    options: &Options,
    scripts: &Scripts,
    streams: &Streams,
    workers: Workers,
    stop: &Stop,
    sinks: IntervalSinks<'_, '_>,
) -> ExitResult<Report> {
    let IntervalSinks { outputs, recorder } = sinks;
    let recorder = RefCell::new(recorder);
    let epoch = Epoch::now();
    let mut logs = logs(say, options, workers.len(), epoch)?;
    let settings = settings(options, scripts, outputs.wants_statements() || options.extras.record);
    let bookkeeping = bookkeeping(say, options, scripts, streams);
    let mut progress = ProgressReporter::new(say, options, epoch);
    let mut on_interval = |interval: &MergedInterval| {
        outputs.interval(interval);
        if let Some(recorder) = recorder.borrow_mut().as_mut() {
            recorder.interval(interval);
        }
        progress.interval(interval);
    };
    let listeners = Listeners {
        on_interval: &mut on_interval,
        on_mark: &mut |mark| {
            if let Some(recorder) = recorder.borrow_mut().as_mut() {
                recorder.mark(mark);
            }
        },
        on_log: &mut |worker, records| {
            if let Some(log) = logs.get_mut(worker) {
                log.write(records, epoch);
            }
        },
    };
    let report = run_clients(SocketDriver::best(), workers, &settings, &bookkeeping, stop, listeners);
    let closed = logs.into_iter().try_for_each(|log| log.close(say, epoch));
    match report {
        Ok(report) => closed.map(|()| report),
        Err(error) => say.fatal(format!("the driver failed: {error}")),
    }
}

fn logs(say: &Say, options: &Options, threads: usize, epoch: Epoch) -> ExitResult<Vec<LogFile>> {
    if !options.log {
        return Ok(Vec::new());
    }
    let prefix = options.log_prefix.as_deref().unwrap_or("pgbench_log");
    let columns = Columns {
        throttled: options.rate_per_s.is_some(),
        limited: options.latency_limit_us > 0,
        retrying: options.max_tries != 1,
        failures_detailed: options.failures_detailed,
        continue_on_error: options.continue_on_error,
    };
    let start_us = epoch.us(Clock::now_ns() + options.extras.warmup_ns);
    let aggregator =
        (options.aggregate_s > 0).then(|| Aggregator::new(columns, options.aggregate_s as u64, start_us));
    (0..threads).map(|thread| LogFile::open(say, prefix, thread, columns, aggregator.clone())).collect()
}

/// Settings of the driver.
pub fn settings(options: &Options, scripts: &Scripts, statements: bool) -> Settings {
    let shown_ns = options.progress_s as u64 * 1_000_000_000;
    let duration_ns = if options.time_s > 0 { options.time_s as u64 * 1_000_000_000 } else { NEVER_NS };
    Settings {
        warmup_ns: options.extras.warmup_ns,
        // As pgbench does.
        ramp_ns: 0,
        duration_ns,
        interval_ns: if shown_ns > 0 && !options.extras.record { shown_ns } else { INTERVAL_NS },
        drain_ns: NEVER_NS,
        rate_per_s: options.rate_per_s,
        seed: options.seed,
        statements: if statements { scripts.statements().count() } else { 0 },
        cpus: Vec::new(),
    }
}

/// What the driver records.
pub fn bookkeeping(say: &Say, options: &Options, scripts: &Scripts, streams: &Streams) -> Bookkeeping {
    let of_threads = |of: fn(&pgdyno_script::ThreadStreams) -> &pgdyno_core::random::Random| {
        streams.threads.iter().map(|thread| of(thread).clone()).collect()
    };
    let share = if options.sampling_rate > 0.0 { options.sampling_rate } else { 1.0 };
    let messages = say.clone();
    Bookkeeping {
        mix: Mix {
            weights: options.scripts.iter().map(|script| script.weight).collect(),
            streams: of_threads(|thread| &thread.choose),
        },
        commands: scripts.iter().map(|script| script.commands.len()).sum(),
        late_ns: (options.latency_limit_us > 0).then(|| options.latency_limit_us as u64 * 1_000),
        log: options.log.then(|| LogSettings { share, streams: of_threads(|thread| &thread.sample) }),
        steps: options.extras.steps.as_ref().map(Steps::loads).unwrap_or_default(),
        by_number: options.time_s == 0,
        by_script: scripts.len() > 1 && !options.extras.percentiles.is_empty(),
        users: None,
        tallies_only: !options.extras.wants_histograms(),
        drain_in_intervals: options.progress_s > 0,
        end_with_first_lost: options.exit_on_abort,
        returns_clients: false,
        begin: Begin::default(),
        messages: Messages::to(say.from(), move |level, text| messages.message(level, text)),
    }
}
