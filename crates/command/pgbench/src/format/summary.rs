//! The summary on standard output (`printResults`).

use std::fmt::Write;

use pgdyno_core::measure::{CommandTally, Moments, Tally};

use super::{fixed, percent};

/// Content of the summary.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Scripts in order.
    pub scripts: Vec<ScriptPart>,
    /// Scale factor.
    pub scale: i64,
    /// Method and number of partitions of accounts, if there are any.
    pub partitions: Option<(&'static str, u64)>,
    /// Query mode.
    pub protocol: &'static str,
    /// Clients.
    pub clients: u32,
    /// Threads.
    pub threads: u32,
    /// Maximum number of tries of a transaction; 0: no limit.
    pub max_tries: u32,
    /// Planned length in seconds; `None` if each client ran `transactions` transactions.
    pub duration_s: Option<u32>,
    /// Planned transactions of each client.
    pub transactions: u64,
    /// Whether there was a rate.
    pub throttled: bool,
    /// Latency limit in microseconds; 0: none.
    pub latency_limit_us: i64,
    /// Whether the latency of each transaction was measured, as with progress lines.
    pub latency_measured: bool,
    /// Whether kinds of failures are distinguished.
    pub failures_detailed: bool,
    /// Whether clients continued after other errors.
    pub continue_on_error: bool,
    /// Whether commands are listed.
    pub per_command: bool,
    /// All transactions.
    pub total: Tally,
    /// Length of the run in nanoseconds.
    pub elapsed_ns: u64,
    /// Time to connect.
    pub connecting: Connecting,
}

/// One script of a run.
#[derive(Debug, Clone)]
pub struct ScriptPart {
    /// Name or description.
    pub name: String,
    /// Weight among the scripts of the run.
    pub weight: u32,
    /// Transactions of the script.
    pub tally: Tally,
    /// First lines and figures of its commands.
    pub commands: Vec<(String, CommandTally)>,
}

/// Time to connect.
#[derive(Debug, Clone, Copy)]
pub enum Connecting {
    /// All connections were opened before the run, in this many nanoseconds.
    Once(u64),
    /// Each transaction opened a connection, in this many nanoseconds altogether.
    Each(u64),
}

impl Summary {
    /// The whole text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.settings(&mut out);
        if self.total.total() > 0 {
            self.results(&mut out);
            self.rates(&mut out);
            for index in 0..self.scripts.len() {
                self.script(&mut out, index);
            }
        }
        out
    }

    /// Seconds of the run.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    fn settings(&self, out: &mut String) {
        let kind = if let [only] = &self.scripts[..] { &only.name } else { "multiple scripts" };
        line(out, format_args!("transaction type: {kind}"));
        line(out, format_args!("scaling factor: {}", self.scale));
        if let Some((method, partitions)) = self.partitions {
            line(out, format_args!("partition method: {method}\npartitions: {partitions}"));
        }
        line(out, format_args!("query mode: {}", self.protocol));
        line(out, format_args!("number of clients: {}", self.clients));
        line(out, format_args!("number of threads: {}", self.threads));
        if self.max_tries > 0 {
            line(out, format_args!("maximum number of tries: {}", self.max_tries));
        }
        let processed = self.total.committed;
        match self.duration_s {
            None => {
                let planned = self.transactions * u64::from(self.clients);
                line(out, format_args!("number of transactions per client: {}", self.transactions));
                line(out, format_args!("number of transactions actually processed: {processed}/{planned}"));
            }
            Some(duration_s) => {
                line(out, format_args!("duration: {duration_s} s"));
                line(out, format_args!("number of transactions actually processed: {processed}"));
            }
        }
    }

    fn results(&self, out: &mut String) {
        self.failures(out, "", &self.total);
        if self.latency_limit_us > 0 {
            let (late, processed) = (self.total.late, self.total.committed);
            let limit_ms = self.latency_limit_us as f64 / 1000.0;
            let share = percent(late, processed);
            line(
                out,
                format_args!(
                    "number of transactions above the {limit_ms:.1} ms latency limit: \
                     {late}/{processed} ({share:.3}%)"
                ),
            );
        }
        if self.throttled || self.latency_measured || self.latency_limit_us > 0 {
            moments(out, "latency", &self.total.latency);
        } else {
            let mean_ms = self.elapsed_ns as f64 / 1e6 * f64::from(self.clients) / self.total.total() as f64;
            let note = if self.total.failed() > 0 { " (including failures)" } else { "" };
            line(out, format_args!("latency average = {mean_ms:.3} ms{note}"));
        }
        if self.throttled {
            let (mean_us, max_us) = (self.total.lag.mean().unwrap_or(f64::NAN), self.total.lag.max);
            let mean_ms = fixed(mean_us / 1000.0, 3);
            line(out, format_args!("rate limit schedule lag: avg {mean_ms} (max {:.3}) ms", max_us / 1000.0));
        }
    }

    /// Failed, retried and skipped transactions, of all or of one script.
    fn failures(&self, out: &mut String, prefix: &str, tally: &Tally) {
        let mut count = |what: &str, part: u64| {
            let share = percent(part, tally.total());
            line(out, format_args!("{prefix}number of {what}: {part} ({share:.3}%)"));
        };
        count("failed transactions", tally.failed());
        if self.failures_detailed {
            count("serialization failures", tally.serialization);
            count("deadlock failures", tally.deadlock);
            if self.continue_on_error {
                count("other failures", tally.other);
            }
        }
        if self.max_tries != 1 {
            count("transactions retried", tally.retried);
            line(out, format_args!("{prefix}total number of retries: {}", tally.retries));
        }
        if self.throttled && self.latency_limit_us > 0 {
            let (skipped, share) = (tally.skipped, percent(tally.skipped, tally.total()));
            line(out, format_args!("{prefix}number of transactions skipped: {skipped} ({share:.3}%)"));
        }
    }

    fn rates(&self, out: &mut String) {
        let tps = self.total.committed as f64 / self.elapsed_s();
        match self.connecting {
            Connecting::Each(ns) => {
                let made = self.total.committed + self.total.failed();
                let mean_ms = fixed(ns as f64 / 1e6 / made as f64, 3);
                line(out, format_args!("average connection time = {mean_ms} ms"));
                line(out, format_args!("tps = {tps:.6} (including reconnection times)"));
            }
            Connecting::Once(ns) => {
                line(out, format_args!("initial connection time = {:.3} ms", ns as f64 / 1e6));
                line(out, format_args!("tps = {tps:.6} (without initial connection time)"));
            }
        }
    }

    fn script(&self, out: &mut String, index: usize) {
        let script = &self.scripts[index];
        let several = self.scripts.len() > 1;
        if several {
            self.script_figures(out, index, script);
        }
        if self.per_command {
            let prefix = if several { " - " } else { "" };
            let what = if self.max_tries == 1 { " and failures" } else { ", failures and retries" };
            line(out, format_args!("{prefix}statement latencies in milliseconds{what}:"));
            for (first_line, command) in &script.commands {
                let mean_ms = command.latency.mean().unwrap_or(0.0) / 1000.0;
                let failures = command.failures;
                if self.max_tries == 1 {
                    line(out, format_args!("   {mean_ms:11.3}  {failures:10} {first_line}"));
                } else {
                    let retries = command.retries;
                    line(out, format_args!("   {mean_ms:11.3}  {failures:10} {retries:10} {first_line}"));
                }
            }
        }
    }

    fn script_figures(&self, out: &mut String, index: usize, script: &ScriptPart) {
        let weights = self.scripts.iter().map(|script| u64::from(script.weight)).sum();
        let tally = &script.tally;
        let (number, name, weight) = (index + 1, &script.name, script.weight);
        let target = percent(u64::from(weight), weights);
        line(out, format_args!("SQL script {number}: {name}"));
        line(out, format_args!(" - weight: {weight} (targets {target:.1}% of total)"));
        let share = percent(tally.total(), self.total.total());
        line(out, format_args!(" - {} transactions ({share:.1}% of total)", tally.total()));
        if tally.total() > 0 {
            let tps = tally.committed as f64 / self.elapsed_s();
            line(
                out,
                format_args!(
                    " - number of transactions actually processed: {} (tps = {tps:.6})",
                    tally.committed
                ),
            );
            self.failures(out, " - ", tally);
        }
        moments(out, " - latency", &tally.latency);
    }
}

fn moments(out: &mut String, prefix: &str, latency: &Moments) {
    if let (Some(mean_us), Some(stddev_us)) = (latency.mean(), latency.stddev()) {
        line(out, format_args!("{prefix} average = {:.3} ms", mean_us / 1000.0));
        line(out, format_args!("{prefix} stddev = {:.3} ms", stddev_us / 1000.0));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a text takes all");
}

#[cfg(test)]
mod tests;
