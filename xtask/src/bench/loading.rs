//! A load by a program, from its start until all data is durable.

use std::{path::PathBuf, process::Command, time::Instant};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio},
    slots::Slots,
};
use pgdyno_core::units;
use pgdyno_wire::Session;

use super::{Tally, cpu, process::Program, server::Own};
use crate::Failure;

/// Database of all loads.
pub const DATABASE: &str = "bench_load";
/// Columns of [`Load::csv`].
pub const CSV_COLUMNS: &str =
    "rows_per_s,seconds,checkpoint_s,verify_s,program_cpu_s,server_cpu_s,wal_bytes,peak_bytes";

/// The loading program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Peer,
    Pgdyno,
}

/// The programs, in the order of a pair of loads.
pub const ALL: [Who; 2] = [Who::Peer, Who::Pgdyno];

impl Who {
    /// Name in output; `peer` is that of the peer.
    pub fn name(self, peer: &'static str) -> &'static str {
        match self {
            Self::Peer => peer,
            Self::Pgdyno => "pgdyno",
        }
    }
}

/// Indexes into [`ALL`] of the programs of each round, in their order. The duration of a slot is that of its load.
pub fn rounds(rounds: u32) -> Vec<Vec<usize>> {
    let slots = Slots { arms: ALL.len(), rounds, dropped_ns: 0, counted_ns: 0 };
    let order: Vec<usize> = slots.order().collect();
    order.chunks(ALL.len()).map(<[usize]>::to_vec).collect()
}

/// Loads by both programs in the order of `places`, which are indexes into [`ALL`].
///
/// # Errors
/// The first problem.
pub fn pair(
    places: &[usize],
    mut load: impl FnMut(Who) -> Result<Load, Failure>,
) -> Result<Option<(Load, Load)>, Failure> {
    let mut pair = [None; ALL.len()];
    for &place in places {
        pair[place] = Some(load(ALL[place])?);
    }
    Ok(pair[0].zip(pair[1]))
}

/// Name, quantity and bar of a ratio of pgdyno's loads to the peer's.
pub type Measure = (&'static str, fn(&Load) -> f64, Option<Bar>);

/// Prints the means of both programs and the ratios of their loads.
///
/// # Errors
/// A ratio has no confidence interval.
pub fn judge(
    peer: &'static str,
    pairs: &[(Load, Load)],
    rows: u64,
    measures: &[Measure],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let (theirs, ours): (Vec<Load>, Vec<Load>) = pairs.iter().copied().unzip();
    for (who, loads) in ALL.into_iter().zip([&theirs, &ours]) {
        println!("  {:8} {}", who.name(peer), means(loads, rows));
    }
    for (name, what, bar) in measures {
        let ratio = Ratio::from_pairs(pairs.iter().map(|(theirs, ours)| (what(ours), what(theirs))))?;
        tally.judge(name, &ratio, *bar);
    }
    Ok(())
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
}

impl Load {
    /// Fields after the name of the program; an absent value is empty.
    pub fn csv(&self, rows: u64) -> String {
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
    let verifications: Vec<f64> = loads.iter().filter_map(|load| load.verify_s).collect();
    let verification =
        (!verifications.is_empty()).then(|| verifications.iter().sum::<f64>() / verifications.len() as f64);
    format!(
        "{:>9} rows/s, {seconds:.2} s with {:.2} s of checkpoint; CPU time: program {:.2} s, server {:.2} s; \
         WAL {}{}",
        units::rate(rows as f64 / seconds),
        mean(&|load| load.checkpoint_s),
        mean(&|load| load.program_cpu_s),
        mean(&|load| load.server_cpu_s),
        units::or_absent(loads.iter().filter_map(|load| load.wal_bytes).max(), units::bytes),
        verification
            .map_or_else(String::new, |seconds| format!("; verification {seconds:.2} s, not counted"))
    )
}

impl Ring {
    /// Uses a server, and the pgdyno that verifies.
    ///
    /// # Errors
    /// There is no session.
    pub fn new(own: Own, pgdyno: PathBuf) -> Result<Self, Failure> {
        Ok(Self { admin: own.admin()?, own, pgdyno, dir: tempfile::tempdir()? })
    }

    /// Executes one load into a new database by a program that ends when it has loaded.
    ///
    /// # Errors
    /// The first problem.
    pub fn load(&mut self, name: &str, command: &mut Command, verified: bool) -> Result<Load, Failure> {
        self.clear()?;
        let pid = self.own.pid();
        let used_ns = || cpu::tree_ns(pid).ok_or("the server is gone");
        let (before_ns, wal) = (used_ns()?, wal_bytes(&mut self.admin));
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
        let server_cpu_s = used_ns()?.saturating_sub(before_ns) as f64 / 1e9;
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

    /// Creates a new database and writes everything else out.
    fn clear(&mut self) -> Result<(), Failure> {
        let drop = format!("DROP DATABASE IF EXISTS {DATABASE}");
        for sql in [drop, format!("CREATE DATABASE {DATABASE}"), "CHECKPOINT".to_owned()] {
            self.admin.execute(&sql).map_err(|error| format!("{sql}: {error}"))?;
        }
        rustix::fs::sync();
        Ok(())
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
        assert_eq!(CSV_COLUMNS.split(',').count(), LOAD.csv(1).split(',').count());
    }

    #[test]
    fn verification_is_reported_and_not_counted() {
        let verified = Load { verify_s: Some(3.0), ..LOAD };
        let words = means(&[verified, verified], 1_000);
        assert!(words.contains("500 rows/s, 2.00 s with 0.50 s of checkpoint"), "{words}");
        assert!(words.ends_with("WAL –; verification 3.00 s, not counted"), "{words}");
    }
}
