//! Options and results of a run, as records have them.

use pgdyno_core::measure::{Latency, StatementSummary};
use pgdyno_engine::SocketDriver;
use pgdyno_record::{PgbenchRecord, PgbenchScript, PlanRecord, redact_sql};
use pgdyno_script::{Builtin, Scripts};

use super::{
    super::say::NAME,
    super::{builtin, options::Options, results::Results},
};

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// The command line as a plan.
pub fn plan_record(options: &Options, scale: i64, transport: &str) -> PlanRecord {
    PlanRecord {
        seed: options.seed,
        scale: Some(scale.max(0) as u64),
        clients: vec![options.clients],
        jobs: options.jobs,
        waiting: Some(SocketDriver::best().name().to_owned()),
        duration_ns: options.time_s as u64 * SECOND_NS,
        warmup_ns: options.extras.warmup_ns,
        blocks: 1,
        rate_per_s: options.rate_per_s,
        server: "external".to_owned(),
        transport: transport.to_owned(),
        ..PlanRecord::new(NAME, "A run of pgdyno pgbench: one script or mix, one client count, once")
    }
}

/// The options that only pgbench has.
pub fn pgbench_record(options: &Options, scripts: &Scripts) -> PgbenchRecord {
    let chosen = options.scripts.iter().zip(scripts.iter()).zip(&options.texts);
    PgbenchRecord {
        scripts: chosen
            .map(|((chosen, script), text)| PgbenchScript {
                name: short_name(&chosen.name),
                weight: chosen.weight,
                text: redact_sql(&String::from_utf8_lossy(text)),
                committed: 0,
                failed: 0,
                statements: script.statements().map(|sql| statement(&sql.label, None)).collect(),
            })
            .collect(),
        transactions_of_each_client: (options.time_s == 0).then_some(options.transactions as u64),
        max_tries: options.max_tries,
        latency_limit_us: (options.latency_limit_us > 0).then_some(options.latency_limit_us as u64),
        think_time_ns: options.extras.think_ns,
        reconnect_after: if options.connect_each { Some(1) } else { options.extras.reconnect_after },
        tps: None,
        retries: 0,
        skipped: 0,
        late: None,
    }
}

/// Adds the results, in pgbench's terms.
pub fn add_results(pgbench: &mut PgbenchRecord, results: &Results<'_>) {
    let report = results.report;
    let mut latencies = report.statements.iter();
    for (index, (of, script)) in pgbench.scripts.iter_mut().zip(results.scripts.iter()).enumerate() {
        let tally = report.scripts.get(index).copied().unwrap_or(report.tally);
        (of.committed, of.failed) = (tally.committed, tally.failed());
        let own = script.statements().zip(latencies.by_ref());
        of.statements = own.map(|(sql, latency)| statement(&sql.label, Some(latency))).collect();
    }
    pgbench.tps =
        (report.elapsed_ns > 0).then(|| report.tally.committed as f64 * 1e9 / report.elapsed_ns as f64);
    (pgbench.retries, pgbench.skipped) = (report.tally.retries, report.tally.skipped);
    pgbench.late = pgbench.latency_limit_us.map(|_| report.tally.late);
}

/// A statement with its latency, without secrets.
pub fn statement(label: &str, latency: Option<&Latency>) -> StatementSummary {
    StatementSummary { statement: redact_sql(label), latency: latency.and_then(Latency::summary) }
}

/// Name of a script in other commands. A file that is called like a built-in script gets the prefix `./`.
pub fn short_name(name: &str) -> String {
    let builtin = Builtin::ALL.into_iter().find(|builtin| builtin::description(*builtin) == name);
    match builtin {
        Some(builtin) => builtin.name().to_owned(),
        None if Builtin::by_name(name).is_some() => format!("./{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_never_taken_for_a_built_in_script() {
        assert_eq!(short_name("<builtin: select only>"), "select-only");
        assert_eq!(short_name("select-only"), "./select-only");
        assert_eq!(short_name("dir/mine.sql"), "dir/mine.sql");
    }
}
