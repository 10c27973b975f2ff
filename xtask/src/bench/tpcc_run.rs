//! `bench-tpcc`, the transactions: New-Orders per minute of pgdyno's three shapes and of go-tpc alternately, then the
//! cost of pacing terminals.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio},
    slots::Slots,
};
use pgdyno_core::{tpcc::Shape, units};
use serde_json::Value;

use super::{
    Tally, build_example,
    process::Program,
    server::{LOOPBACK, Own},
};
use crate::{Failure, workspace::output};

/// Minimum ratio of NOPM.
const NOPM_BAR: Bar = Bar::AtLeast(1.25);
/// Maximum ratio of the driver's CPU time per transaction.
const CPU_BAR: Bar = Bar::AtMost(0.25);
/// Most CPUs used for pacing.
const PACE_BAR: Bar = Bar::AtMost(0.2);
/// Paced terminals: those of a thousand warehouses, over 100 connections by two threads.
const PACED: [&str; 3] = ["1000", "100", "2"];
/// Databases of the two programs, whose tables have different names.
const DATABASES: [&str; 2] = ["bench_peer", "bench_pgdyno"];
/// Password of the superuser of an own server that listens only on the loopback interface.
pub const PASSWORD: &str = "for-this-run";
/// Warm-up in seconds, to prepare statements and read pages.
const WARMUP_S: u32 = 2;

/// The alternating programs: the peer, and pgdyno in each shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    Peer,
    Ours(Shape),
}

const ARMS: [Arm; 4] =
    [Arm::Peer, Arm::Ours(Shape::Statements), Arm::Ours(Shape::Pipelined), Arm::Ours(Shape::Functions)];

impl Arm {
    fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Ours(shape) => shape.name(),
        }
    }
}

/// Result of one run.
#[derive(Debug, Clone, Copy)]
struct Driven {
    nopm: f64,
    /// CPU seconds of the driver per transaction.
    cpu_s: f64,
}

/// Terms of the comparison.
pub struct Race<'a> {
    /// The server.
    pub own: &'a Own,
    /// The peer.
    pub peer: &'a Path,
    /// pgdyno.
    pub pgdyno: &'a Path,
    /// Warehouses.
    pub warehouses: u32,
    /// Runs of each program.
    pub rounds: u32,
    /// Measured seconds of a run.
    pub seconds: u32,
    /// Directory for output files.
    pub dir: PathBuf,
}

impl Race<'_> {
    /// Loads the tables of both, each by its own program.
    ///
    /// # Errors
    /// The first problem.
    pub fn load(&self) -> Result<(), Failure> {
        let mut admin = self.own.admin()?;
        for database in DATABASES {
            for sql in [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}")]
            {
                admin.execute(&sql).map_err(|error| format!("{sql}: {error}"))?;
            }
        }
        let mut peer = self.peer_command("prepare");
        peer.args(["--no-check", "-T", "2"]);
        Program::start("peer-load", &mut peer, &self.dir)?.finish(|_| ())?;
        let mut ours = Command::new(self.pgdyno);
        let conninfo = self.own.conninfo(DATABASES[1]);
        ours.args(["load", "tpcc", "--dsn", &conninfo, "--no-verify", "--jobs", "2", "--warehouses"]);
        ours.arg(self.warehouses.to_string());
        Program::start("pgdyno-load", &mut ours, &self.dir)?.finish(|_| ())?;
        for database in DATABASES {
            let vacuumed = self.own.session(database)?.execute("VACUUM ANALYZE");
            vacuumed.map_err(|error| error.to_string())?;
        }
        admin.execute("CHECKPOINT").map_err(|error| error.to_string().into())
    }

    fn peer_command(&self, what: &str) -> Command {
        let mut command = Command::new(self.peer);
        command.args(["tpcc", what]);
        let (port, user) = (self.own.port().to_string(), self.own.superuser());
        command.args(["-d", "postgres", "-H", LOOPBACK, "-P", &port, "-U", user, "-p", PASSWORD]);
        command.args(["-D", DATABASES[0], "--conn-params", "sslmode=disable"]);
        command.args(["--warehouses", &self.warehouses.to_string()]);
        command
    }

    /// Alternates runs of all programs with `terminals` terminals.
    ///
    /// # Errors
    /// The first problem.
    pub fn run(&self, terminals: u32, tally: &mut Tally) -> Result<(), Failure> {
        let slots = Slots { arms: ARMS.len(), rounds: self.rounds, dropped_ns: 0, counted_ns: 0 };
        let mut driven: [Vec<Driven>; ARMS.len()] = Default::default();
        for place in slots.order() {
            let mut admin = self.own.admin()?;
            admin.execute("CHECKPOINT").map_err(|error| error.to_string())?;
            driven[place].push(match ARMS[place] {
                Arm::Peer => self.drive_peer(terminals)?,
                Arm::Ours(shape) => self.drive(terminals, shape)?,
            });
        }
        println!(
            "\n{} of {}, {} of {} s each",
            units::plural(terminals.into(), "terminal"),
            units::plural(self.warehouses.into(), "warehouse"),
            units::plural(self.rounds.into(), "run"),
            self.seconds
        );
        for (arm, runs) in ARMS.into_iter().zip(&driven) {
            let mean = |of: fn(&Driven) -> f64| runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64;
            let (nopm, cpu_ns) = (mean(|one| one.nopm), mean(|one| one.cpu_s) * 1e9);
            println!(
                "  {:12} {:>9} NOPM, driver {} per transaction",
                arm.name(),
                units::rate(nopm),
                units::latency(cpu_ns)
            );
        }
        for (arm, runs) in ARMS.into_iter().zip(&driven).skip(1) {
            let ratio =
                |of: fn(&Driven) -> f64| Ratio::from_pairs(runs.iter().map(of).zip(driven[0].iter().map(of)));
            // The bars apply to one round trip per statement, which is how the peer works.
            let judged = arm == Arm::Ours(Shape::Statements);
            let name = arm.name();
            tally.judge(
                &format!("NOPM of {name} / peer"),
                &ratio(|one| one.nopm)?,
                judged.then_some(NOPM_BAR),
            );
            let cpu = ratio(|one| one.cpu_s)?;
            tally.judge(&format!("driver's CPU time of {name} / peer"), &cpu, judged.then_some(CPU_BAR));
        }
        Ok(())
    }

    /// A complete run of the peer, which has no warm-up and reports its results at the end.
    fn drive_peer(&self, terminals: u32) -> Result<Driven, Failure> {
        let seconds = self.seconds + WARMUP_S;
        let mut command = self.peer_command("run");
        command.args(["-T", &terminals.to_string(), "--time", &format!("{seconds}s")]);
        let mut program = Program::start("peer", &mut command, &self.dir)?;
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
        let conninfo = self.own.conninfo(DATABASES[1]);
        command.args(["tpcc", "run", "--dsn", &conninfo, "--no-check", "--json", "--blocks", "1"]);
        // As the others draw it.
        command.args(["--mix", "45/43/4/4/4"]);
        command.args(["--clients", &terminals.to_string(), "--shape", shape.name()]);
        command.args(["--duration", &format!("{}s", self.seconds), "--warmup", &format!("{WARMUP_S}s")]);
        // All CPUs for both sides, like the peer.
        let cpus: Vec<_> =
            (0..std::thread::available_parallelism()?.get()).map(|cpu| cpu.to_string()).collect();
        command.args(["--driver-cpus", &cpus.join(","), "--jobs", &cpus.len().to_string()]);
        command.env("PGDYNO_RUNS", self.dir.join("runs"));
        let mut program = Program::start("pgdyno", &mut command, &self.dir)?;
        program.finish(|_| ())?;
        let record: Value = serde_json::from_str(&fs::read_to_string(&program.out)?)?;
        let figure = |pointer: &str| {
            let found = record.pointer(pointer).and_then(Value::as_f64);
            found.ok_or_else(|| format!("pgdyno's record has no {pointer}"))
        };
        let cpu_us = figure("/cells/0/driver_cpu_us_per_transaction")?;
        Ok(Driven { nopm: figure("/cells/0/tpcc/nopm/value")?, cpu_s: cpu_us / 1e6 })
    }
}

/// The number after a name and a colon; the last occurrence counts.
fn figure_of(text: &str, name: &str) -> Option<f64> {
    let after = text.rsplit_once(&format!("{name}: "))?.1;
    after.split([',', '\n', ' ']).next()?.trim().parse().ok()
}

/// Measures the driver's CPU use for the terminals of a thousand warehouses, with a server that does nothing.
///
/// # Errors
/// The first problem.
pub fn pace(runs: u32, seconds: u32, tally: &mut Tally) -> Result<(), Failure> {
    let program = build_example("pgdyno-postgres", "paced")?;
    let (mut shares, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let told = output(Command::new(&program).args(PACED).arg(seconds.to_string()))?;
        let figures: Vec<f64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [share, rate, _] = figures[..] else {
            return Err(format!("{}: {told}", program.display()).into());
        };
        shares.push(share);
        rates.push(rate);
    }
    let rate = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    println!(
        "\n10,000 terminals at their pace, {runs} runs of {seconds} s: {} transactions a second",
        units::rate(rate)
    );
    let ratio = Ratio::from_pairs(shares.into_iter().map(|share| (share, 1.0)))?;
    tally.judge("CPUs of the driver", &ratio, Some(PACE_BAR));
    Ok(())
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
