//! An external command that measures and prints a rate, such as pgbench.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{Address, ConnectOptions};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{Measured, Prepared, context::Context, subject::Subject};

/// Most bytes of output that are kept, from the end.
const MOST_OUTPUT_BYTES: usize = 1 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Measured {
    /// Runs the command with so many clients and returns the rate that it printed. PGHOST, PGPORT, PGUSER and
    /// PGDATABASE name its server if pgdyno started one.
    ///
    /// # Errors
    /// The command could not be started, failed or printed no result, or a stop was requested.
    pub fn run(&self, context: Context<'_>, subject: Option<&Subject>, clients: u32) -> Result<f64, Problem> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(self.filled_in(context.prepared, clients)).stdin(Stdio::null());
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A process group, so that a whole pipeline can be stopped.
        shell.process_group(0);
        if let Some(subject) = subject {
            shell.envs(environment(&subject.options));
        }
        let child = shell.spawn().map_err(|error| self.problem(&format!("no shell: {error}")))?;
        let (status, out, err) = wait(child, context.stop).map_err(|why| self.problem(&why))?;
        if !status.success() {
            let problem = self.problem(&format!("it ended with {status}"));
            return Err(problem.detail(last_lines(&err)).hint("try the command on its own"));
        }
        self.rate(&out).or_else(|| self.rate(&err)).ok_or_else(|| {
            self.problem("it printed no result").detail(last_lines(&out)).hint(
                "--result takes a regular expression whose first group is the rate; pgbench's line is the \
                      default",
            )
        })
    }

    fn filled_in(&self, prepared: &Prepared, clients: u32) -> String {
        let bench = &prepared.bench;
        self.text
            .replace("{seconds}", &prepared.run_s.ceil().to_string())
            .replace("{clients}", &clients.to_string())
            .replace("{jobs}", &bench.jobs.min(clients).to_string())
            .replace("{scale}", &bench.scale.unwrap_or(1).to_string())
    }

    /// The last result in a text.
    fn rate(&self, text: &str) -> Option<f64> {
        let last = self.result.captures_iter(text).last()?;
        last.get(1)?.as_str().parse().ok()
    }

    fn problem(&self, why: &str) -> Problem {
        Problem::could_not(format!("could not measure by `{}`: {why}", pgdyno_record::redact(&self.text)))
    }
}

/// Environment variables by which libpq finds the server.
fn environment(options: &ConnectOptions) -> Vec<(&'static str, String)> {
    let (host, port) = match options.address() {
        Address::Unix(dir, port) => (dir.display().to_string(), *port),
        Address::Tcp(host, port) => (host.clone(), *port),
    };
    vec![
        ("PGHOST", host),
        ("PGPORT", port.to_string()),
        ("PGUSER", options.user.clone()),
        ("PGDATABASE", options.database.clone()),
    ]
}

/// Waits for the command to end, or kills it if a stop is requested.
fn wait(mut child: Child, stop: &Stop) -> Result<(ExitStatus, String, String), String> {
    let group = Pid::from_child(&child);
    let out = child.stdout.take().map(reader);
    let err = child.stderr.take().map(reader);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if stop.requested() {
            let _ = kill_process_group(group, Signal::KILL); // it may have just ended
            let _ = child.wait();
            return Err(format!("stopped: {}", stop.reason().unwrap_or_default()));
        }
        thread::sleep(LOOK_EVERY);
    };
    let text = |reader: Option<thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    Ok((status, text(out), text(err)))
}

/// Reads to the end, so that the command never blocks on a full pipe; keeps the last part.
fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let (mut kept, mut part) = (Vec::new(), [0; 8192]);
        while let Ok(count @ 1..) = pipe.read(&mut part) {
            kept.extend_from_slice(&part[..count]);
            if kept.len() > 2 * MOST_OUTPUT_BYTES {
                kept.drain(..kept.len() - MOST_OUTPUT_BYTES);
            }
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    if last.is_empty() { "it printed nothing".to_owned() } else { pgdyno_record::redact(&last) }
}

#[cfg(test)]
mod tests {
    use regex_lite::Regex;

    use super::*;
    use crate::PGBENCH_RESULT;

    fn pgbench() -> Measured {
        Measured { text: "pgbench".into(), result: Regex::new(PGBENCH_RESULT).expect("it is one") }
    }

    #[test]
    fn the_summaries_of_old_and_new_pgbench_are_read() {
        let new = "latency average = 0.1 ms\ntps = 617.5 (without initial connection time)\n";
        assert_eq!(pgbench().rate(new), Some(617.5));
        let old = "tps = 600 (including connections establishing)\ntps = 617 (excluding connections establishing)\n";
        assert_eq!(pgbench().rate(old), Some(617.0));
        assert_eq!(pgbench().rate("events: 1.0 s, 12.0 tps, lat 1.0 ms\n"), None);
    }

    #[test]
    fn another_result_format_can_be_given() {
        let own = Measured { result: Regex::new(r"ops/s: (\d+)").expect("it is one"), ..pgbench() };
        assert_eq!(own.rate("ops/s: 12\nops/s: 34\n"), Some(34.0));
    }

    #[test]
    fn the_last_lines_of_output_give_the_reason() {
        assert_eq!(last_lines("a\n\nb\nc\nd\n"), "b / c / d");
        assert_eq!(last_lines(" \n"), "it printed nothing");
    }
}
