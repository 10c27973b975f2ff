//! Printed texts and logs without measured times.

use std::{fs, path::Path};

use crate::Failure;

const PROCESSED: &str = "number of transactions actually processed:";
const LATE: &str = "latency limit:";

/// Lines with `#` for numbers with a fraction, and with single spaces between words. Values printed by `debug()` are
/// kept; they come first and sorted, because several clients print them at any time.
pub fn printed(name: &str, text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let lines = text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty());
    let (mut values, rest): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("debug("));
    values.sort_unstable();
    let values = values.into_iter().map(|line| format!("{name}: {line}"));
    let rest = rest.into_iter().filter(|line| !is_only_theirs(line));
    values.chain(rest.map(|line| format!("{name}: {}", timeless(line)))).collect()
}

/// Whether a line differs by intention: the version, and how often progress of loading is reported.
fn is_only_theirs(line: &str) -> bool {
    line.starts_with("pgbench (")
        || line.contains(" tuples (")
        || line.starts_with("NOTICE:")
        || line.starts_with("pgbench: setting random seed")
}

fn timeless(line: &str) -> String {
    // With a requested number of transactions, the count is printed with a slash; with a duration, without.
    if line.starts_with(PROCESSED) && !line.contains('/') {
        return format!("{PROCESSED} #");
    }
    // The number of transactions within the limit is out of the same count, which is on the line above if it was
    // requested.
    let line = match line.split_once('/') {
        Some((late, _)) if line.contains(LATE) => late,
        _ => line,
    };
    let words = line.split_whitespace().map(|word| {
        let core = word.trim_matches(['(', ')', ',', '.', '%', ';']);
        let core = core.trim_start_matches(['-', '+']);
        let is_fraction = core.contains('.') && core.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_fraction { word.replacen(core, "#", 1) } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Fields of logs without times, sorted: for single transactions client, number and script; for aggregates the number
/// of columns.
pub fn logs(dir: &Path) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(dir)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("log.") {
            lines.extend(fs::read_to_string(entry.path())?.lines().map(|line| logged("log", line)));
        }
        if name.starts_with("aggregate.") {
            lines.extend(fs::read_to_string(entry.path())?.lines().map(|line| logged("aggregate", line)));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    Ok(lines)
}

fn logged(kind: &str, line: &str) -> String {
    let fields: Vec<_> = line.split(' ').collect();
    match (kind, &fields[..]) {
        ("log", [client, number, _, script, ..]) => {
            format!("log: {client} {number} {script}, {} columns", fields.len())
        }
        _ => format!("{kind}: {} columns", fields.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_measured_times_are_left_out() {
        let lines = printed(
            "out",
            b"pgbench (18.6)\ndebug(script=0,command=2): int 7\nlatency average = 0.123 ms\n\
              debug(script=0,command=1): double 0.5\nnumber of failed transactions: 0 (0.000%)\n\
              number of transactions above the 50.0 ms latency limit: 0/102 (0.000%)\n\
              \x20 0.021  0  SELECT 1.5;\n",
        );
        assert_eq!(
            lines,
            [
                "out: debug(script=0,command=1): double 0.5",
                "out: debug(script=0,command=2): int 7",
                "out: latency average = # ms",
                "out: number of failed transactions: 0 (#%)",
                "out: number of transactions above the # ms latency limit: 0",
                "out: # 0 SELECT #;",
            ]
        );
        assert_eq!(logged("log", "0 1 2 3 4 5"), "log: 0 1 3, 6 columns");
        assert_eq!(logged("aggregate", "0 1 2 3 4 5"), "aggregate: 6 columns");
    }
}
