//! Other runs of pgdyno on this machine, which a change of the host would disturb.

use std::path::PathBuf;

use pgdyno_core::{problem::Problem, units::printable};
use pgdyno_host::procs;

/// Sub-commands that measure.
const MEASURING: [&str; 11] =
    ["ab", "bench", "disk", "load", "pgbench", "prewarm", "probe", "resume", "run", "selftest", "tpcc"];

/// Refuses to do something to the host while another pgdyno measures on it, as far as this user sees processes.
///
/// # Errors
/// One does; it is named.
pub fn refuse_during_runs(what: &str) -> Result<(), Problem> {
    let own = std::process::id();
    // A detached run is started by a process that measures nothing itself.
    let ours = [Some(own), procs::parent(own)];
    let others = procs::all().into_iter().filter(|pid| !ours.contains(&Some(*pid)));
    let found = others
        .filter(|pid| procs::name(*pid).as_deref() == Some("pgdyno"))
        .find_map(|pid| Some((pid, measuring(&procs::arguments(pid))?)));
    match found {
        None => Ok(()),
        Some((pid, command)) => Err(Problem::could_not(format!(
            "could not {what}: `pgdyno {}` (process {pid}) is running on this host",
            printable(&command)
        ))
        .hint("wait for it, or stop it: a host that changes meanwhile spoils what it measures")),
    }
}

/// The sub-command of these arguments, if it measures.
fn measuring(arguments: &[PathBuf]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let words = match words.as_slice() {
        ["--runs", _, rest @ ..] => rest,
        [first, rest @ ..] if first.starts_with("--runs=") => rest,
        all => all,
    };
    match words {
        // A layer below a server measures nothing.
        ["disk", "delay", ..] => None,
        [command, ..] if MEASURING.contains(command) => Some((*command).to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<String> {
        let words: Vec<PathBuf> = line.split(" ").map(PathBuf::from).collect();
        measuring(&words)
    }

    #[test]
    fn commands_that_measure_are_known_by_their_arguments() {
        assert_eq!(of("/usr/bin/pgdyno bench --quick").as_deref(), Some("bench"));
        assert_eq!(of("pgdyno --runs /r run x.toml").as_deref(), Some("run"));
        assert_eq!(of("pgdyno --runs=/r ab a b").as_deref(), Some("ab"));
        assert_eq!(of("pgdyno disk io /mnt").as_deref(), Some("disk"));
        for idle in [
            "pgdyno",
            "pgdyno ps",
            "pgdyno disk delay /a /b",
            "pgdyno --runs bench list",
            "pgdyno host check",
        ] {
            assert_eq!(of(idle), None, "{idle}");
        }
    }
}
