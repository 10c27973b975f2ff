//! pgbench: how it is called, what its log holds and what that log costs.

use std::{fs, path::Path, process::Command, time::Duration};

use pgdyno_core::analysis::compare::bar::Ratio;
use rustix::process::Signal;

use super::{
    Job, cpu,
    process::{Program, nap},
};
use crate::Failure;

/// Seconds after which pgbench ends by itself, whatever becomes of this program.
const SPARE_S: u32 = 300;

/// Starts pgbench with or without its log and waits until its clients are connected.
pub fn start(job: &Job, dir: &Path, logs: bool, seconds: u32) -> Result<Program, Failure> {
    let mut command = Command::new(&job.pgbench);
    command.current_dir(dir).args(["-n", "-b", &job.script, "-M", &job.protocol]);
    command.args(["-c", &job.clients.to_string(), "-j", &job.jobs.to_string()]);
    command.args(["-T", &(seconds + SPARE_S).to_string()]);
    if logs {
        command.args(["-l", "--aggregate-interval=1", "--log-prefix=pgbench"]);
    }
    let mut program = Program::start("pgbench", command.arg(&job.conninfo), dir)?;
    let clients = job.clients as usize;
    program.wait_until("connect", |program| cpu::sockets(program.pid()) >= clients)?;
    Ok(program)
}

/// Lets pgbench end as if its time were up, which also writes its logs out, and gives what it printed.
pub fn end(program: Program) -> Result<String, Failure> {
    program.signal(Signal::CONT)?;
    program.signal(Signal::ALARM)?;
    program.finish()
}

/// The logs of all threads, one after the other.
pub fn logs(dir: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // pgbench.PID, and pgbench.PID.THREAD for further threads.
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix("pgbench.").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            text.push_str(&fs::read_to_string(entry.path())?);
        }
    }
    Ok(text)
}

/// pgbench with its log over pgbench without it.
pub struct Cost {
    /// Processor time per transaction.
    pub cpu: Ratio,
    /// Transactions per second.
    pub tps: Ratio,
}

/// A whole run of pgbench.
struct WholeRun {
    cpu_ns: f64,
    tps: f64,
}

/// Measures what the log costs, by whole runs of this length in the order ABBA: without a log, pgbench does not tell
/// how much it did in a slot.
pub fn cost_of_log(job: &Job, pairs: u32, seconds: u32) -> Result<Cost, Failure> {
    let mut runs = Vec::new();
    for pair in 0..pairs {
        let first = pair % 2 == 0;
        let (one, two) = (whole_run(job, first, seconds)?, whole_run(job, !first, seconds)?);
        runs.push(if first { (one, two) } else { (two, one) });
    }
    Ok(Cost {
        cpu: Ratio::of(runs.iter().map(|(with, without)| (with.cpu_ns, without.cpu_ns)))?,
        tps: Ratio::of(runs.iter().map(|(with, without)| (with.tps, without.tps)))?,
    })
}

fn whole_run(job: &Job, logs: bool, seconds: u32) -> Result<WholeRun, Failure> {
    let dir = tempfile::tempdir()?;
    let program = start(job, dir.path(), logs, seconds)?;
    nap(Duration::from_secs(seconds.into()))?;
    let cpu_ns = program.cpu_ns()?;
    let text = end(program)?;
    let (transactions, tps) = summary(&text).ok_or_else(|| format!("pgbench printed no summary:\n{text}"))?;
    Ok(WholeRun { cpu_ns: cpu_ns as f64 / transactions, tps })
}

/// Transactions, and transactions per second without the time to connect, from what pgbench prints at its end.
fn summary(text: &str) -> Option<(f64, f64)> {
    let number = |rest: &str| rest.split([' ', '/']).next()?.parse::<f64>().ok();
    let find = |start: &str| text.lines().rev().find_map(|line| number(line.strip_prefix(start)?));
    Some((find("number of transactions actually processed: ")?, find("tps = ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summaries_of_old_and_new_pgbench_are_read() {
        let new = "latency average = 0.1 ms\nnumber of transactions actually processed: 1234\n\
                   tps = 617.5 (without initial connection time)\n";
        assert_eq!(summary(new), Some((1234.0, 617.5)));
        let old = "number of transactions actually processed: 1234/0\n\
                   tps = 600 (including connections establishing)\ntps = 617 (excluding connections establishing)\n";
        assert_eq!(summary(old), Some((1234.0, 617.0)));
        assert_eq!(summary("tps = 1 (without)"), None);
    }
}
