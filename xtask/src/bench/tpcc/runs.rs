//! New-Orders per minute of pgdyno's three shapes and of go-tpc, run alternately, and the CPU time of their drivers.

use std::{fs, path::Path, process::Command};

use pgdyno_analysis::compare::bar::{Bar, Ratio};
use pgdyno_core::{tpcc::Shape, units};
use serde_json::Value;

use super::loads::{Args, PEER};
use crate::{
    Failure,
    bench::{Tally, loading::Who, process::Program, server::Own, turns::alternately},
};

/// Minimum ratio of NOPM.
const NOPM_BAR: Bar = Bar::AtLeast(1.25);
/// Maximum ratio of the driver's CPU time per transaction.
const CPU_BAR: Bar = Bar::AtMost(0.25);
/// Databases of the two programs, whose tables have different names.
const PEER_DATABASE: &str = "bench_peer";
const OWN_DATABASE: &str = "bench_pgdyno";
/// Warm-up in seconds, to prepare statements and read pages.
const WARMUP_S: u32 = 2;
/// The shapes of the programs; the peer has none.
const ARMS: [Option<Shape>; 4] =
    [None, Some(Shape::Statements), Some(Shape::Pipelined), Some(Shape::Functions)];

/// Result of one run.
#[derive(Debug, Clone, Copy)]
struct Driven {
    nopm: f64,
    /// CPU seconds of the driver per transaction.
    cpu_s: f64,
}

/// Terms of the comparison.
pub(super) struct Race<'a> {
    pub args: &'a Args,
    pub own: &'a Own,
    pub pgdyno: &'a Path,
    /// Directory for output files.
    pub dir: &'a tempfile::TempDir,
}

fn name(arm: Option<Shape>) -> &'static str {
    arm.map_or(PEER, Shape::name)
}

impl Race<'_> {
    /// Loads the tables of both, each by its own program.
    ///
    /// # Errors
    /// The first problem.
    pub fn load(&self) -> Result<(), Failure> {
        for (who, database) in [(Who::Peer, PEER_DATABASE), (Who::Pgdyno, OWN_DATABASE)] {
            self.own.create(database)?;
            let mut command = self.args.load(self.own, self.pgdyno, who, database);
            self.program("load", &mut command)?.finish(|_| ())?;
            self.own.execute(database, "VACUUM ANALYZE")?;
        }
        self.own.execute("postgres", "CHECKPOINT")
    }

    fn program(&self, name: &str, command: &mut Command) -> Result<Program, Failure> {
        Program::start(name, command, self.dir.path())
    }

    /// Runs all programs alternately with `terminals` terminals.
    ///
    /// # Errors
    /// The first problem.
    pub fn run(&self, terminals: u32, tally: &mut Tally) -> Result<(), Failure> {
        let driven = alternately(ARMS.len(), self.args.runs, |_, arm| {
            self.own.execute("postgres", "CHECKPOINT")?;
            ARMS[arm].map_or_else(|| self.drive_peer(terminals), |shape| self.drive(terminals, shape))
        })?;
        println!(
            "\n{} of {}, {} of {} s each",
            units::plural(terminals.into(), "terminal"),
            units::plural(self.args.warehouses.into(), "warehouse"),
            units::plural(self.args.runs.into(), "run"),
            self.args.seconds
        );
        for (arm, runs) in ARMS.into_iter().zip(&driven) {
            let mean = |of: fn(&Driven) -> f64| runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64;
            let (nopm, cpu) =
                (units::rate(mean(|one| one.nopm)), units::latency(mean(|one| one.cpu_s) * 1e9));
            println!("  {:12} {nopm:>9} NOPM, driver {cpu} per transaction", name(arm));
        }
        for (arm, runs) in ARMS.into_iter().zip(&driven).skip(1) {
            let ratio =
                |of: fn(&Driven) -> f64| Ratio::from_pairs(runs.iter().map(of).zip(driven[0].iter().map(of)));
            // The bars apply to one round trip per statement, which is how the peer works.
            let bar = |bar| (arm == Some(Shape::Statements)).then_some(bar);
            let name = name(arm);
            tally.judge(&format!("NOPM of {name} / peer"), &ratio(|one| one.nopm)?, bar(NOPM_BAR));
            let label = format!("driver's CPU time of {name} / peer");
            tally.judge(&label, &ratio(|one| one.cpu_s)?, bar(CPU_BAR));
        }
        Ok(())
    }

    /// A complete run of the peer, which has no warm-up and reports its results at the end.
    fn drive_peer(&self, terminals: u32) -> Result<Driven, Failure> {
        let seconds = self.args.seconds + WARMUP_S;
        let mut command = self.args.peer(self.own, "run", PEER_DATABASE);
        command.args(["-T", &terminals.to_string(), "--time", &format!("{seconds}s")]);
        let mut program = self.program("peer", &mut command)?;
        let mut cpu_ns = 0;
        program.finish(|program| cpu_ns = program.cpu_ns().unwrap_or(0).max(cpu_ns))?;
        let text = fs::read_to_string(&program.out)?;
        let figure =
            |name: &str| figure_of(&text, name).ok_or_else(|| format!("the peer does not report {name}"));
        let transactions = figure("tpmTotal")? * f64::from(seconds) / 60.0;
        Ok(Driven { nopm: figure("tpmC")?, cpu_s: cpu_ns as f64 / 1e9 / transactions })
    }

    /// A run of pgdyno, from its record. CPU time is that of the driver threads.
    fn drive(&self, terminals: u32, shape: Shape) -> Result<Driven, Failure> {
        let mut command = Command::new(self.pgdyno);
        let conninfo = self.own.conninfo(OWN_DATABASE);
        command.args(["tpcc", "run", "--dsn", &conninfo, "--no-check", "--json", "--blocks", "1"]);
        // As the others draw it.
        command.args(["--mix", "45/43/4/4/4"]);
        command.args(["--clients", &terminals.to_string(), "--shape", shape.name()]);
        let duration = format!("{}s", self.args.seconds);
        command.args(["--duration", &duration, "--warmup", &format!("{WARMUP_S}s")]);
        // All CPUs for both sides, like the peer.
        let cpus = std::thread::available_parallelism()?.get();
        let list = (0..cpus).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
        command.args(["--driver-cpus", &list, "--jobs", &cpus.to_string()]);
        command.env("PGDYNO_RUNS", self.dir.path().join("runs"));
        let mut program = self.program("pgdyno", &mut command)?;
        program.finish(|_| ())?;
        of_record(&program.out)
    }
}

fn of_record(file: &Path) -> Result<Driven, Failure> {
    let record: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let figure = |pointer: &str| {
        let found = record.pointer(pointer).and_then(Value::as_f64);
        found.ok_or_else(|| format!("pgdyno's record has no {pointer}"))
    };
    let cpu_us = figure("/cells/0/driver_cpu_us_per_transaction")?;
    Ok(Driven { nopm: figure("/cells/0/tpcc/nopm/value")?, cpu_s: cpu_us / 1e6 })
}

/// The number after a name and a colon; the last occurrence counts.
fn figure_of(text: &str, name: &str) -> Option<f64> {
    let after = text.rsplit_once(&format!("{name}: "))?.1;
    after.split([',', '\n', ' ']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_s_last_figures_count() {
        let text =
            "tpmC: 1.0, tpmTotal: 2.0\n[Summary] x\ntpmC: 29014.9, tpmTotal: 64164.6, efficiency: 22562.2%\n";
        assert_eq!(figure_of(text, "tpmC"), Some(29_014.9));
        assert_eq!(figure_of(text, "tpmTotal"), Some(64_164.6));
        assert_eq!(figure_of(text, "tpm"), None);
    }
}
