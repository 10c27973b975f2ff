//! The results of a run: the summary, and the files that pgbench does not write.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use pgdyno_core::measure::{Latency, LatencySummary, Tally};
use pgdyno_engine::{Load, MergedInterval, Phase, Report, StepReport};
use pgdyno_postgres::load::Found;
use pgdyno_script::{Action, Script, Scripts};
use serde_json::{Value, json};

use super::{
    format::{
        steps,
        summary::{Connecting, ScriptPart, Summary},
    },
    newfile::NewFile,
    options::Options,
    say::{ExitResult, Say, strerror},
};

/// Results of a run.
#[derive(Debug)]
pub struct Results<'a> {
    pub options: &'a Options,
    pub scripts: &'a Scripts,
    pub found: Found,
    /// Time to open all connections before the run, in nanoseconds.
    pub connect_ns: u64,
    pub report: &'a Report,
    /// Version that the server reports.
    pub server_version: String,
}

impl Results<'_> {
    /// pgbench's summary, followed by the requested percentiles and the table of steps.
    pub fn text(&self) -> String {
        let mut text = self.summary().text();
        for &percentile in &self.options.extras.percentiles {
            text.push_str(&percentile_line("", &self.report.latency, percentile));
        }
        for (script, of_script) in self.options.scripts.iter().zip(&self.report.by_script) {
            for &percentile in &self.options.extras.percentiles {
                text.push_str(&percentile_line(
                    &format!("{}: ", script.name),
                    &of_script.latency,
                    percentile,
                ));
            }
        }
        text.push_str(&steps::table(&self.report.steps));
        text
    }

    fn summary(&self) -> Summary {
        let (options, report) = (self.options, self.report);
        let connecting = if options.connect_each {
            Connecting::Each(report.connects.1)
        } else {
            Connecting::Once(self.connect_ns)
        };
        Summary {
            scripts: self.parts(),
            scale: self.found.scale,
            partitions: self.found.partitions.map(|(method, parts)| (method.name(), parts)),
            protocol: options.protocol.name(),
            clients: options.clients,
            threads: options.jobs,
            max_tries: options.max_tries,
            duration_s: (options.time_s > 0).then_some(options.time_s as u32),
            transactions: options.transactions as u64,
            throttled: options.rate_per_s.is_some(),
            latency_limit_us: options.latency_limit_us,
            // pgbench computes its other mean from the client count, which steps change.
            latency_measured: options.progress_s > 0 || options.extras.steps.is_some(),
            failures_detailed: options.failures_detailed,
            continue_on_error: options.continue_on_error,
            per_command: options.report_per_command,
            total: report.tally,
            elapsed_ns: report.elapsed_ns,
            connecting,
        }
    }

    fn parts(&self) -> Vec<ScriptPart> {
        let mut commands = self.report.commands.iter().copied();
        let scripts = self.options.scripts.iter().zip(self.scripts.iter()).enumerate();
        scripts
            .map(|(index, (chosen, script))| ScriptPart {
                name: chosen.name.clone(),
                weight: chosen.weight,
                tally: self.report.scripts.get(index).copied().unwrap_or(self.report.tally),
                commands: script
                    .commands
                    .iter()
                    .map(|command| (command.line.clone(), commands.next().unwrap_or_default()))
                    .collect(),
            })
            .collect()
    }

    fn steps_json(&self) -> Vec<Value> {
        let percentiles = &self.options.extras.percentiles;
        let step = |step: &StepReport| {
            let (rate_per_s, clients) = match step.load {
                Load::Rate(rate_per_s) => (Some(rate_per_s), None),
                Load::Clients(clients) => (None, Some(clients)),
            };
            json!({
                "rate_per_s": rate_per_s,
                "clients": clients,
                "start_ns": step.start_ns,
                "duration_ns": step.duration_ns,
                "tps": (step.duration_ns > 0).then(|| step.counts.committed as f64 * 1e9 / step.duration_ns as f64),
                "attempts": step.counts,
                "due": step.due,
                "latency": latency_json(&step.latency, percentiles),
            })
        };
        self.report.steps.iter().map(step).collect()
    }

    /// All results as JSON. Times are in nanoseconds; unknown values are absent or null.
    fn json(&self) -> Value {
        let (options, report) = (self.options, self.report);
        let parts = self.parts();
        let scripts: Vec<Value> =
            parts.iter().enumerate().map(|(index, part)| self.script_json(index, part)).collect();
        let per_s = |count: u64| count as f64 * 1e9 / report.elapsed_ns.max(1) as f64;
        let commands = self.scripts.iter().flat_map(|script| &script.commands);
        let statements: Vec<Value> = commands
            .filter(|command| matches!(command.action, Action::Sql(_)))
            .zip(&report.statements)
            .map(|(command, latency)| {
                json!({
                    "statement": command.line,
                    "latency": latency_json(latency, &options.extras.percentiles),
                })
            })
            .collect();
        let errors: Vec<Value> = report
            .errors
            .iter()
            .map(|(code, message, count)| json!({ "code": code, "message": message, "count": count }))
            .collect();
        json!({
            "format": "pgdyno-pgbench",
            "version": 1,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "server_version": self.server_version,
            "scale": self.found.scale,
            "protocol": options.protocol.name(),
            "clients": options.clients,
            "threads": options.jobs,
            "seed": options.seed,
            "rate_per_s": options.rate_per_s.filter(|_| options.extras.steps.is_none()),
            "latency_limit_us": (options.latency_limit_us > 0).then_some(options.latency_limit_us),
            "max_tries": options.max_tries,
            "warmup_ns": options.extras.warmup_ns,
            "think_time_ns": options.extras.think_ns,
            "elapsed_ns": report.elapsed_ns,
            "tps": per_s(report.tally.committed),
            "qps": self.statements(&parts).map(per_s),
            "rows_per_s": per_s(report.tally.rows),
            "transactions": tally_json(&report.tally),
            "attempts": report.counts_whole,
            "clients_lost": report.clients_lost,
            "latency": latency_json(&report.latency, &options.extras.percentiles),
            "lag": options.rate_per_s.and_then(|_| latency_json(&report.lag, &[])),
            "steps": options.extras.steps.is_some().then(|| self.steps_json()),
            "scripts": scripts,
            "statements": statements,
            "errors": errors,
            "initial_connection_ns": (!options.connect_each).then_some(self.connect_ns),
            "connections_within": report.connects.0,
            "connecting_within_ns": report.connects.1,
            "stopped": report.stopped,
        })
    }

    /// SQL statements of all transactions that completed, without BEGIN and END; `None` if a script has branches.
    fn statements(&self, parts: &[ScriptPart]) -> Option<u64> {
        let of = |(part, script): (&ScriptPart, &Script)| {
            let each = (!script.has_branches()).then(|| u64::from(script.statements_per_transaction()))?;
            Some(part.tally.committed * each)
        };
        parts.iter().zip(self.scripts.iter()).map(of).sum()
    }

    fn script_json(&self, index: usize, part: &ScriptPart) -> Value {
        let commands: Vec<Value> = part
            .commands
            .iter()
            .map(|(line, command)| {
                json!({
                    "command": line,
                    "count": command.latency.count,
                    "mean_us": command.latency.mean(),
                    "stddev_us": command.latency.stddev(),
                    "failures": command.failures,
                    "retries": command.retries,
                })
            })
            .collect();
        let of_script = self.report.by_script.get(index).map(|of| &of.latency);
        let latency = of_script.and_then(|latency| latency_json(latency, &self.options.extras.percentiles));
        json!({
            "name": part.name,
            "weight": part.weight,
            "transactions": tally_json(&part.tally),
            "latency": latency,
            "commands": commands,
        })
    }
}

fn tally_json(tally: &Tally) -> Value {
    json!({
        "processed": tally.committed,
        "failed": tally.failed(),
        "serialization_failures": tally.serialization,
        "deadlock_failures": tally.deadlock,
        "other_failures": tally.other,
        "retried": tally.retried,
        "retries": tally.retries,
        "skipped": tally.skipped,
        "above_latency_limit": tally.late,
        "rows": tally.rows,
        "latency_mean_us": tally.latency.mean(),
        "latency_stddev_us": tally.latency.stddev(),
        "lag_mean_us": tally.lag.mean(),
    })
}

fn latency_json(latency: &Latency, percentiles: &[f64]) -> Option<Value> {
    let summary: LatencySummary = latency.summary()?;
    let mut value = serde_json::to_value(summary).ok()?;
    let requested: serde_json::Map<String, Value> = percentiles
        .iter()
        .map(|percentile| (percentile.to_string(), json!(latency.quantile_ns(percentile / 100.0))))
        .collect();
    value.as_object_mut()?.insert("percentiles_ns".to_owned(), Value::Object(requested));
    Some(value)
}

/// Line of a percentile, which is only known with 100 slower transactions; `of` names a script.
fn percentile_line(of: &str, latency: &Latency, percentile: f64) -> String {
    match latency.quantile_ns(percentile / 100.0) {
        Some(ns) => format!("{of}latency percentile {percentile} = {:.3} ms\n", ns as f64 / 1e6),
        None => format!("{of}latency percentile {percentile} = - (fewer than 100 transactions are slower)\n"),
    }
}

/// The files that pgbench does not write, created before the run.
#[derive(Debug)]
pub struct Histograms {
    json: Option<NewFile>,
    hdr: Option<NewFile>,
    /// Time at which the files were created.
    started: SystemTime,
    statements: bool,
    /// The first write error.
    failed: Option<String>,
}

impl Histograms {
    /// Creates the files.
    ///
    /// # Errors
    /// One exists and is not empty, or cannot be created; already printed.
    pub fn open(say: &Say, options: &Options) -> ExitResult<Self> {
        let open = |path: &Option<PathBuf>| match path {
            None => Ok(None),
            Some(path) => match NewFile::make(path) {
                Ok(file) => Ok(Some(file)),
                Err(error) => {
                    say.fatal(format!("could not create file \"{}\": {}", path.display(), strerror(&error)))
                }
            },
        };
        let (json, hdr) = (open(&options.extras.json)?, open(&options.extras.hdr)?);
        let mut opened = Self { json, hdr, started: SystemTime::now(), statements: false, failed: None };
        opened.statements = opened.json.is_some();
        Ok(opened)
    }

    /// Whether each statement needs a histogram.
    pub fn wants_statements(&self) -> bool {
        self.statements
    }

    /// Writes an interval.
    pub fn interval(&mut self, interval: &MergedInterval) {
        self.begin_log();
        let Some(file) = &mut self.hdr else { return };
        let tag = match interval.phase {
            Phase::WarmUp => "warm-up",
            Phase::Measured => "measured",
            Phase::Drain => "drain",
        };
        let (start, length) =
            (Duration::from_nanos(interval.start_ns), Duration::from_nanos(interval.duration_ns));
        let line = pgdyno_record::histogram_log_line(tag, start, length, &interval.latency);
        if let Err(error) = file.write(&line) {
            self.failed.get_or_insert_with(|| strerror(&error));
        }
    }

    /// Writes the header of the histogram log, once. A file to which nothing was written is removed again.
    fn begin_log(&mut self) {
        if let Some(file) = self.hdr.as_mut().filter(|file| !file.holds_anything()) {
            let header = pgdyno_record::histogram_log_header(self.started);
            if let Err(error) = file.write(&header) {
                self.failed.get_or_insert_with(|| strerror(&error));
            }
        }
    }

    /// Writes the results at the end.
    ///
    /// # Errors
    /// A file cannot be written; already printed.
    pub fn close(self, say: &Say, results: &Results<'_>) -> ExitResult<()> {
        self.finish(say, || results.json())
    }

    /// Writes `json` to the JSON file, if there is one.
    ///
    /// # Errors
    /// A file cannot be written; already printed.
    pub fn finish(mut self, say: &Say, json: impl FnOnce() -> Value) -> ExitResult<()> {
        self.begin_log();
        if let Some(file) = &mut self.json {
            let text = format!("{:#}\n", json());
            if let Err(error) = file.write(text.as_bytes()) {
                self.failed.get_or_insert_with(|| strerror(&error));
            }
        }
        let path = self.json.as_ref().or(self.hdr.as_ref()).map(NewFile::path);
        match (&self.failed, path) {
            (Some(why), Some(path)) => {
                say.fatal(format!("could not write file \"{}\": {why}", path.display()))
            }
            _ => Ok(()),
        }
    }
}
