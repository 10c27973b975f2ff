//! How to call pgbench, and how to parse its progress.

use std::{path::Path, process::Command};

use pgdyno_analysis::compare::slots::Count;

use super::cells::Cell;

/// A run of a cell, which ends by itself after `seconds` if this process dies; the connection string is still to be
/// added. It reports the number of transactions every second. Of all of pgbench's options for this, this one adds the
/// least to a transaction: one clock reading. Its log, even aggregated, costs more.
pub fn command(program: &Path, cell: &Cell, protocol: &str, seconds: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["-n", "-b", &cell.script, "-M", protocol, "-P", "1", "--progress-timestamp"]);
    command.args(["-c", &cell.clients.to_string(), "-j", &cell.threads.to_string()]);
    command.args(["-T", &seconds.to_string()]);
    command
}

/// Parses `progress: UNIX_SECONDS s, TPS tps, …`. A line covers the time since the previous one, so the first one is
/// ignored.
pub fn progress(text: &str) -> Vec<Count> {
    let lines: Vec<(u64, f64)> = text.lines().filter_map(line).collect();
    let count = |two: &[(u64, f64)]| {
        let (start, (end, tps)) = (two[0].0, two[1]);
        let committed = (tps * end.saturating_sub(start) as f64 / 1e9).round() as u64;
        Count { span_ns: start..end.max(start), committed }
    };
    lines.windows(2).map(count).collect()
}

/// Time of the first line, in nanoseconds since 1970; all others follow at whole seconds.
pub fn first_ns(text: &str) -> Option<u64> {
    text.lines().find_map(line).map(|(at_ns, _)| at_ns)
}

fn line(line: &str) -> Option<(u64, f64)> {
    let mut parts = line.strip_prefix("progress: ")?.split(", ");
    let at_s: f64 = parts.next()?.strip_suffix(" s")?.parse().ok()?;
    let tps: f64 = parts.next()?.strip_suffix(" tps")?.parse().ok()?;
    // Printed in milliseconds; an f64 of seconds since 1970 has no more digits.
    Some(((at_s * 1e3).round() as u64 * 1_000_000, tps))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "pgbench (18.6)\n\
        progress: 1700000001.250 s, 9000.0 tps, lat 0.110 ms stddev 0.020, 0 failed\n\
        progress: 1700000005.500 s, 100.0 tps, lat 0.110 ms stddev 0.020, 0 failed\n\
        progress: 1700000006.250 s, 40000.4 tps, lat 0.025 ms stddev 0.004, 0 failed\n\
        progress: 17000000";

    #[test]
    fn lines_of_progress_become_counts() {
        let counts = progress(TEXT);
        let spans: Vec<_> = counts.iter().map(|c| (c.span_ns.end - c.span_ns.start, c.committed)).collect();
        assert_eq!(spans, [(4_250_000_000, 425), (750_000_000, 30_000)]);
        assert_eq!(first_ns(TEXT).map(|ns| ns / 1_000_000), Some(1_700_000_001_250));
        assert_eq!(first_ns("progress: 1.0 s"), None, "a line that is half written is none");
    }
}
