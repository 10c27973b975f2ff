//! Loads by two programs alternately, each from its start until all data is durable.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use pgdyno_analysis::compare::bar::{Bar, Ratio};
use pgdyno_core::units;
use pgdyno_host::observe::TreeUsage;
use pgdyno_wire::Session;

use super::{Tally, build_pgdyno, cpu, process::Program, server::Own, turns::alternately, write_file};
use crate::Failure;

/// Database of all loads.
pub const DATABASE: &str = "bench_load";
const CSV_HEADER: &str = "tables,round,program,rows_per_s,seconds,checkpoint_s,verify_s,program_cpu_s,server_cpu_s,\
                          wal_bytes,peak_bytes\n";

/// Flags of the benchmarks of loads.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// Directory of postgres and pgbench, instead of a search
    #[arg(long, value_name = "DIR")]
    pub pg_bindir: Option<PathBuf>,
    /// pgdyno to measure [default: built from this checkout]
    #[arg(long, value_name = "PATH")]
    pgdyno: Option<PathBuf>,
    /// Data directory of the server, new or empty, for example in memory to exclude the disk
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Streams of pgdyno, and threads of the other program if it has any
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: u32,
    /// Write every load as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// More flags for `pgdyno load`
    #[arg(last = true, value_name = "FLAG")]
    pub more: Vec<String>,
}

impl LoadArgs {
    /// pgdyno as named, otherwise built.
    ///
    /// # Errors
    /// It does not build.
    pub fn pgdyno(&self) -> Result<PathBuf, Failure> {
        self.pgdyno.clone().map_or_else(build_pgdyno, Ok)
    }
}

/// The loading program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Peer,
    Pgdyno,
}

const ALL: [Who; 2] = [Who::Peer, Who::Pgdyno];

/// Name, quantity and bar of a ratio of pgdyno's loads to the peer's.
pub type Measure = (&'static str, fn(&Load) -> f64, Option<Bar>);

/// Loads of the same tables by both programs.
pub struct Comparison<'a> {
    /// Heading of its results.
    pub title: String,
    /// Name of the tables in CSV.
    pub tables: String,
    /// Name of the other program.
    pub peer: &'static str,
    /// Rows of the tables.
    pub rows: u64,
    /// Loads by each program.
    pub rounds: u32,
    /// What is judged.
    pub measures: &'a [Measure],
}

impl Comparison<'_> {
    fn name(&self, who: Who) -> &'static str {
        if who == Who::Pgdyno { "pgdyno" } else { self.peer }
    }

    /// Loads alternately with the commands of both programs, which load and end, and verifies pgdyno's; prints the
    /// means and the ratios, and returns pgdyno's loads.
    ///
    /// # Errors
    /// The first problem.
    pub fn run(
        &self,
        ring: &mut Ring,
        command: impl Fn(&Ring, Who) -> Command,
        tally: &mut Tally,
    ) -> Result<Vec<Load>, Failure> {
        let loads = alternately(ALL.len(), self.rounds, |round, program| {
            let who = ALL[program];
            let mut command = command(ring, who);
            let load = ring.load(self.name(who), &mut command, who == Who::Pgdyno)?;
            let line = load.csv(self.rows);
            ring.csv.push_str(&format!("{},{round},{},{line}\n", self.tables, self.name(who)));
            write_file(ring.csv_file.as_deref(), &ring.csv)?;
            Ok(load)
        })?;
        println!("\n{}; {} each way", self.title, units::plural(self.rounds.into(), "load"));
        for (who, loads) in ALL.into_iter().zip(&loads) {
            println!("  {:8} {}", self.name(who), means(loads, self.rows));
        }
        let [theirs, ours] = &loads[..] else { return Err("there are two programs".into()) };
        for (name, of, bar) in self.measures {
            let ratio = Ratio::from_pairs(ours.iter().map(of).zip(theirs.iter().map(of)))?;
            tally.judge(name, &ratio, *bar);
        }
        Ok(ours.clone())
    }
}

/// One load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Seconds from the start of the program to the end of the checkpoint after it.
    pub seconds: f64,
    /// Seconds of the checkpoint.
    pub checkpoint_s: f64,
    /// Seconds of pgdyno's verification of all rows; not included in `seconds`.
    pub verify_s: Option<f64>,
    pub program_cpu_s: f64,
    pub server_cpu_s: f64,
    pub wal_bytes: Option<u64>,
    pub peak_bytes: u64,
}

/// The server of all loads, and the pgdyno that verifies them.
pub struct Ring {
    admin: Session,
    pub own: Own,
    pub pgdyno: PathBuf,
    dir: tempfile::TempDir,
    csv: String,
    csv_file: Option<PathBuf>,
}

impl Load {
    /// Fields after the name of the program; an absent value is empty.
    fn csv(&self, rows: u64) -> String {
        let absent = |value: Option<String>| value.unwrap_or_default();
        format!(
            "{:.1},{:.3},{:.3},{},{:.3},{:.3},{},{}",
            rows as f64 / self.seconds,
            self.seconds,
            self.checkpoint_s,
            absent(self.verify_s.map(|seconds| format!("{seconds:.3}"))),
            self.program_cpu_s,
            self.server_cpu_s,
            absent(self.wal_bytes.map(|bytes| bytes.to_string())),
            self.peak_bytes
        )
    }
}

/// Means over loads, in words.
fn means(loads: &[Load], rows: u64) -> String {
    let mean = |what: &dyn Fn(&Load) -> f64| loads.iter().map(what).sum::<f64>() / loads.len().max(1) as f64;
    let seconds = mean(&|load| load.seconds);
    let verified = loads.iter().any(|load| load.verify_s.is_some());
    let verify_s = mean(&|load| load.verify_s.unwrap_or_default());
    format!(
        "{:>9} rows/s, {seconds:.2} s with {:.2} s of checkpoint; CPU time: program {:.2} s, server {:.2} s; \
         WAL {}{}",
        units::rate(rows as f64 / seconds),
        mean(&|load| load.checkpoint_s),
        mean(&|load| load.program_cpu_s),
        mean(&|load| load.server_cpu_s),
        units::or_absent(loads.iter().filter_map(|load| load.wal_bytes).max(), units::bytes),
        if verified { format!("; verification {verify_s:.2} s, not counted") } else { String::new() }
    )
}

impl Ring {
    /// Uses a server, and the pgdyno that verifies.
    ///
    /// # Errors
    /// There is no session.
    pub fn new(own: Own, pgdyno: &Path, args: &LoadArgs) -> Result<Self, Failure> {
        let (admin, dir) = (own.session("postgres")?, tempfile::tempdir()?);
        let (csv, csv_file) = (CSV_HEADER.to_owned(), args.csv.clone());
        Ok(Self { admin, own, pgdyno: pgdyno.to_owned(), dir, csv, csv_file })
    }

    /// Executes one load into a new database by a program that ends when it has loaded.
    ///
    /// # Errors
    /// The first problem.
    pub fn load(&mut self, name: &str, command: &mut Command, verified: bool) -> Result<Load, Failure> {
        self.own.create(DATABASE)?;
        self.own.execute("postgres", "CHECKPOINT")?;
        rustix::fs::sync();
        let pid = self.own.pid();
        let used = || TreeUsage::read(pid).ok_or("the server is gone");
        let (before, wal) = (used()?, wal_bytes(&mut self.admin));
        let (mut peak_bytes, mut program_cpu_ns) = (0, 0);
        let start = Instant::now();
        let mut program = Program::start(name, command, self.dir.path())?;
        program.finish(|program| {
            peak_bytes = cpu::memory_bytes(program.pid(), "VmHWM").unwrap_or(0).max(peak_bytes);
            program_cpu_ns = program.cpu_ns().unwrap_or(0).max(program_cpu_ns);
        })?;
        let loaded_s = start.elapsed().as_secs_f64();
        self.admin.execute("CHECKPOINT").map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        let server_cpu_s = used()?.since(&before).cpu_s;
        let wal_bytes =
            wal_bytes(&mut self.admin).zip(wal).map(|(after, before)| after.saturating_sub(before));
        let verify_s = verified.then(|| self.verify()).transpose()?;
        Ok(Load {
            seconds,
            checkpoint_s: seconds - loaded_s,
            verify_s,
            program_cpu_s: program_cpu_ns as f64 / 1e9,
            server_cpu_s,
            wal_bytes,
            peak_bytes,
        })
    }

    /// Verifies the tables and returns the seconds it took.
    fn verify(&self) -> Result<f64, Failure> {
        let mut command = Command::new(&self.pgdyno);
        command.args(["load", "verify", "--dsn", &self.own.conninfo(DATABASE)]);
        let start = Instant::now();
        Program::start("verify", &mut command, self.dir.path())?.finish(|_| ())?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Bytes of WAL since the server was created; `None` before 10, where the function has another name.
fn wal_bytes(admin: &mut Session) -> Option<u64> {
    let sql = "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')";
    admin.value(sql).ok()??.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        seconds: 2.0,
        checkpoint_s: 0.5,
        verify_s: None,
        program_cpu_s: 0.25,
        server_cpu_s: 1.75,
        wal_bytes: None,
        peak_bytes: 7,
    };

    #[test]
    fn a_load_is_a_line_and_what_is_absent_is_empty() {
        assert_eq!(LOAD.csv(1_000), "500.0,2.000,0.500,,0.250,1.750,,7");
        let verified = Load { verify_s: Some(1.0), wal_bytes: Some(9), ..LOAD };
        assert_eq!(verified.csv(1_000), "500.0,2.000,0.500,1.000,0.250,1.750,9,7");
        assert_eq!(CSV_HEADER.split(',').count(), 3 + LOAD.csv(1).split(',').count());
    }

    #[test]
    fn verification_is_reported_and_not_counted() {
        let verified = Load { verify_s: Some(3.0), ..LOAD };
        let words = means(&[verified, verified], 1_000);
        assert!(words.contains("500 rows/s, 2.00 s with 0.50 s of checkpoint"), "{words}");
        assert!(words.ends_with("WAL –; verification 3.00 s, not counted"), "{words}");
    }
}
