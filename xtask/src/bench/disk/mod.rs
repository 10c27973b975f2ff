//! `bench-disk`: storage and the clock by pgdyno and by the programs that people know, alternately: pg_test_fsync
//! (`syncs`), fio (`at_depth`), pg_test_timing (`clock`). The first program of a pair changes from pair to pair.

mod at_depth;
mod clock;
mod syncs;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pgdyno_analysis::compare::bar::{Bar, Ratio};
use serde_json::Value;

use super::{Tally, build_example, build_pgdyno, write_file};
use crate::Failure;

/// Flags of `bench-disk`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory to measure in; may be repeated
    #[arg(long = "dir", value_name = "DIR", default_value = ".")]
    dirs: Vec<PathBuf>,
    /// Pairs of each measurement; even numbers are balanced
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(3..))]
    pairs: u32,
    /// Seconds of a measurement by fio and by pgdyno
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Seconds of each test of pg_test_fsync, of which there are 16
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    sync_seconds: u32,
    /// Size of the file for fio, in MiB
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    size_mib: u32,
    /// Directory of pg_test_fsync and pg_test_timing, instead of a search
    #[arg(long, value_name = "DIR")]
    pg_bindir: Option<PathBuf>,
    /// Skip a part; may be repeated
    #[arg(long, value_name = "PART", value_parser = ["syncs", "at-depth", "clock", "nop"])]
    skip: Vec<String>,
    /// Write every pair as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Empty operations per second of CPU time that the file driver carries out at least.
const NOP_PER_CPU_S: f64 = 1e6;

/// Measures everything in every directory; returns false if a bar is missed.
///
/// # Errors
/// The first problem, such as a program that is not installed.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = build_pgdyno()?;
    let at_depth = build_example("pgdyno-disk", "at_depth")?;
    let mut results = Results::default();
    for dir in &args.dirs {
        let dir = fs::canonicalize(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        if args.wants("syncs") {
            syncs::run(args, &pgdyno, &dir, &mut results)?;
        }
        if args.wants("at-depth") {
            at_depth::run(args, &at_depth, &dir, &mut results)?;
        }
        write_file(args.csv.as_deref(), &results.csv)?;
    }
    if args.wants("clock") {
        clock::run(args, &pgdyno, &mut results)?;
    }
    if args.wants("nop") {
        let rate: f64 = output(Command::new(&at_depth).args(["nop", "3"]))?.trim().parse()?;
        println!("\nempty operations by io_uring");
        let words = format!("{rate:.0} per second of CPU time, bar ≥ {NOP_PER_CPU_S}");
        results.tally.say(&words, rate >= NOP_PER_CPU_S);
    }
    write_file(args.csv.as_deref(), &results.csv)?;
    Ok(results.tally.conclude())
}

impl Args {
    fn wants(&self, part: &str) -> bool {
        !self.skip.iter().any(|skipped| skipped == part)
    }

    /// A program of PostgreSQL: as named, else of the newest major that Debian's packages installed, else of `PATH`.
    fn program(&self, name: &str) -> PathBuf {
        if let Some(dir) = &self.pg_bindir {
            return dir.join(name);
        }
        let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = installed.map(|version| version.path().join("bin").join(name));
        programs.filter(|path| path.exists()).max().unwrap_or_else(|| name.into())
    }

    /// Measures by both programs, the other one first in every second pair: pgdyno's figures and the peer's.
    fn alternate<T>(
        &self,
        mut ours: impl FnMut() -> Result<T, Failure>,
        mut theirs: impl FnMut() -> Result<T, Failure>,
    ) -> Result<Vec<(T, T)>, Failure> {
        let pair = |number: u32| {
            if number.is_multiple_of(2) {
                let own = ours()?;
                return Ok((own, theirs()?));
            }
            let other = theirs()?;
            Ok((ours()?, other))
        };
        (0..self.pairs).map(pair).collect()
    }
}

/// What was measured so far.
struct Results {
    tally: Tally,
    csv: String,
}

impl Default for Results {
    fn default() -> Self {
        Self { tally: Tally::default(), csv: "measurement,figure,pair,pgdyno,peer\n".to_owned() }
    }
}

impl Results {
    /// Prints, judges and keeps pairs of a figure. Where a program has none (a percentile of too few samples), the pair
    /// is left out.
    fn add(
        &mut self,
        measurement: &str,
        figure: &str,
        pairs: &[(Option<f64>, Option<f64>)],
        bar: Option<Bar>,
    ) {
        let known: Vec<(f64, f64)> = pairs.iter().filter_map(|&(own, other)| Some((own?, other?))).collect();
        for (number, (own, other)) in known.iter().enumerate() {
            let _ = writeln!(self.csv, "\"{measurement}\",{figure},{number},{own},{other}");
        }
        match Ratio::from_pairs(known.iter().copied()) {
            Ok(ratio) => self.tally.judge(&format!("{measurement}: {figure}"), &ratio, bar),
            Err(why) => return println!("    {measurement}: {figure}: no ratio: {why}"),
        }
        let each: Vec<String> = known.iter().map(|(own, other)| format!("{:.2}", own / other)).collect();
        println!(
            "      pgdyno {:.4e}, peer {:.4e}; {}",
            median(&known, |p| p.0),
            median(&known, |p| p.1),
            each.join(" ")
        );
    }
}

fn median(pairs: &[(f64, f64)], of: fn(&(f64, f64)) -> f64) -> f64 {
    let mut values: Vec<f64> = pairs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Standard output of a program that ended well.
fn output(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.env("LC_ALL", "C").output().map_err(|error| format!("could not run {name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// What `pgdyno disk` found, from the record that it wrote.
fn found(pgdyno: &Path, args: &[&str]) -> Result<Value, Failure> {
    let runs = tempfile::tempdir()?;
    let mut command = Command::new(pgdyno);
    let done = command.arg("disk").args(args).arg("--runs").arg(runs.path()).output()?;
    let record = fs::read_dir(runs.path())?
        .flatten()
        .map(|run| run.path().join("run.json"))
        .find(|path| path.exists());
    let record = record.ok_or_else(|| format!("no record: {}", String::from_utf8_lossy(&done.stderr)))?;
    let record: Value = serde_json::from_str(&fs::read_to_string(record)?)?;
    Ok(record["operations"][0]["found"]["disk"].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(pairs: u32) -> Args {
        Args {
            dirs: Vec::new(),
            pairs,
            seconds: 1,
            sync_seconds: 1,
            size_mib: 1,
            pg_bindir: Some("/pg".into()),
            skip: vec!["nop".to_owned()],
            csv: None,
        }
    }

    #[test]
    fn the_first_of_a_pair_changes() {
        let order = std::cell::RefCell::new(String::new());
        let say = |who: char| {
            order.borrow_mut().push(who);
            Ok(who)
        };
        let pairs = args(3).alternate(|| say('p'), || say('f')).expect("both work");
        assert_eq!((order.into_inner().as_str(), pairs), ("pffppf", vec![('p', 'f'); 3]));
    }

    #[test]
    fn parts_and_programs_are_those_asked_for() {
        let args = args(3);
        assert!(args.wants("clock") && !args.wants("nop"));
        assert_eq!(args.program("pg_test_fsync"), PathBuf::from("/pg/pg_test_fsync"));
    }

    #[test]
    fn pairs_without_a_figure_are_left_out() {
        let mut results = Results::default();
        let some = |own, other| (Some(own), Some(other));
        let pairs = [some(1.0, 2.0), (None, Some(1.0)), some(1.0, 2.0), some(1.0, 2.0)];
        results.add("a, b", "p99", &pairs, Some(Bar::Within(0.05)));
        assert_eq!(results.csv.lines().count(), 4);
        assert!(results.csv.contains("\"a, b\",p99,2,1,2\n"));
        assert!(!results.tally.conclude());
    }

    #[test]
    fn a_program_that_fails_is_named() {
        let problem = output(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).expect_err("it fails");
        assert_eq!(problem.to_string(), "sh failed: why\n");
        assert!(output(&mut Command::new("/nowhere/fio")).is_err());
    }
}
