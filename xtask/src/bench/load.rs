//! `bench-load`: `pgdyno load tpcb` and `pgbench -i` alternately on one server, from the start of the program until all
//! data is durable; then the row generator alone.

use std::{path::PathBuf, process::Command};

use pgdyno_analysis::compare::bar::{Bar, Ratio};
use pgdyno_core::units;
use pgdyno_rows::tpcb::rows_total;

use super::{
    Tally, build_example, build_pgdyno,
    loading::{self, CSV_COLUMNS, DATABASE, Load, Measure, Ring, Who},
    server::{Own, Wanted},
    write_file,
};
use crate::{Failure, workspace::output};

/// Flags of `bench-load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// pgbench to compare with [default: of --pg-bindir, otherwise of PATH]
    #[arg(long, value_name = "PATH")]
    pgbench: Option<PathBuf>,
    /// Directory of postgres and pgbench, instead of a search
    #[arg(long, value_name = "DIR")]
    pg_bindir: Option<PathBuf>,
    /// pgdyno to measure [default: built from this checkout]
    #[arg(long, value_name = "PATH")]
    pgdyno: Option<PathBuf>,
    /// Data directory of the server, new or empty, for example in memory to exclude the disk
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Scale factor
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    scale: u32,
    /// Partitions in the second comparison; 0 skips it
    #[arg(long, default_value_t = 8)]
    partitions: u32,
    /// Streams of pgdyno
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Pairs of loads per comparison; even numbers are balanced
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Runs of the row generator; 0 skips it
    #[arg(long, default_value_t = 5)]
    maker_runs: u32,
    /// Write every load as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// More flags for `pgdyno load tpcb`
    #[arg(last = true, value_name = "FLAG")]
    more: Vec<String>,
}

/// A plain table must not load more slowly than with pgbench.
const PLAIN_BAR: Bar = Bar::AtLeast(1.0);
/// Range partitions are loaded by parallel streams.
const PARTITIONS_BAR: Bar = Bar::AtLeast(1.5);
const MEMORY_BAR_BYTES: u64 = 100 << 20;
/// Minimum speed of the row generator: million rows of accounts per second and core.
const MAKER_BAR: f64 = 20.0;
/// Sessions of the server in addition to the streams: of the loader itself, and of this program.
const SPARE_SESSIONS: u32 = 8;
/// Name of the peer in output.
const PEER: &str = "pgbench";

/// The tables loaded by both.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    partitions: u32,
    bar: Bar,
}

impl Comparison {
    fn name(self) -> String {
        match self.partitions {
            0 => "plain".to_owned(),
            count => format!("{count} partitions"),
        }
    }
}

/// Runs both comparisons, then the row generator; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = args.pgdyno.clone().map_or_else(build_pgdyno, Ok)?;
    let (bindir, data, pgbench) = (args.pg_bindir.clone(), args.data.clone(), args.pgbench.clone());
    let own = Own::start(Wanted {
        bindir,
        data,
        pgbench,
        sessions: args.jobs + SPARE_SESSIONS,
        ..Wanted::default()
    })?;
    println!("{}; pgbench: {}", own.version(), own.pgbench.display());
    println!("settings of the server: {}", own.settings().collect::<Vec<_>>().join(", "));
    let mut ring = Ring::new(own, pgdyno)?;
    // A first load, not counted, creates WAL segments that are recycled from here on.
    args.load(&mut ring, Who::Peer, 0)?;
    let (mut tally, mut csv) = (Tally::default(), format!("tables,round,program,{CSV_COLUMNS}\n"));
    let comparisons = args.comparisons();
    let mut loads = vec![Vec::new(); comparisons.len()];
    for (round, places) in loading::rounds(args.rounds).iter().enumerate() {
        for (comparison, loads) in comparisons.iter().zip(&mut loads) {
            loads.extend(loading::pair(places, |who| {
                let load = args.load(&mut ring, who, comparison.partitions)?;
                let line = load.csv(args.rows());
                csv.push_str(&format!("{},{round},{},{line}\n", comparison.name(), who.name(PEER)));
                Ok(load)
            })?);
            write_file(args.csv.as_deref(), &csv)?;
        }
    }
    drop(ring);
    for (comparison, loads) in comparisons.iter().zip(&loads) {
        args.judge(*comparison, loads, &mut tally)?;
    }
    if args.maker_runs > 0 {
        maker(args.maker_runs, &mut tally)?;
    }
    Ok(tally.conclude())
}

impl Args {
    fn comparisons(&self) -> Vec<Comparison> {
        let plain = Comparison { partitions: 0, bar: PLAIN_BAR };
        let parted = Comparison { partitions: self.partitions, bar: PARTITIONS_BAR };
        [plain].into_iter().chain((self.partitions > 0).then_some(parted)).collect()
    }

    fn rows(&self) -> u64 {
        rows_total(self.scale.into())
    }

    /// The command of a program that loads and ends.
    fn command(&self, ring: &Ring, who: Who, partitions: u32) -> Command {
        let (scale, conninfo) = (self.scale.to_string(), ring.own.conninfo(DATABASE));
        let parts = partitions.to_string();
        match who {
            Who::Peer => {
                let mut command = Command::new(&ring.own.pgbench);
                command.args(["-i", "-q", "-s", &scale]);
                if partitions > 0 {
                    command.args(["--partitions", &parts]);
                }
                command.arg(conninfo);
                command
            }
            Who::Pgdyno => {
                let mut command = Command::new(&ring.pgdyno);
                command.args(["load", "tpcb", "--dsn", &conninfo, "--scale", &scale, "--no-verify"]);
                command.args(["--jobs", &self.jobs.to_string(), "--partitions", &parts]).args(&self.more);
                command
            }
        }
    }

    /// Executes one load by a program; pgdyno's is verified.
    fn load(&self, ring: &mut Ring, who: Who, partitions: u32) -> Result<Load, Failure> {
        ring.load(who.name(PEER), &mut self.command(ring, who, partitions), who == Who::Pgdyno)
    }

    /// Prints a comparison.
    fn judge(&self, of: Comparison, pairs: &[(Load, Load)], tally: &mut Tally) -> Result<(), Failure> {
        println!(
            "\nscale {}, {}, {} of pgdyno; {} each way",
            units::count(self.scale.into()),
            of.name(),
            units::plural(self.jobs.into(), "stream"),
            units::plural(pairs.len() as u64, "load")
        );
        let measures: [Measure; 3] = [
            ("rows/s / pgbench", |load| 1.0 / load.seconds, Some(of.bar)),
            ("without the checkpoint", |load| 1.0 / (load.seconds - load.checkpoint_s), None),
            ("CPU time of the server", |load| load.server_cpu_s, None),
        ];
        loading::judge(PEER, pairs, self.rows(), &measures, tally)?;
        let peak_bytes = pairs.iter().map(|(_, ours)| ours.peak_bytes).max().unwrap_or(0);
        let [peak, bar] = [peak_bytes, MEMORY_BAR_BYTES].map(units::bytes);
        tally.say(&format!("peak memory {peak}, bar < {bar}"), (1..MEMORY_BAR_BYTES).contains(&peak_bytes));
        Ok(())
    }
}

/// Measures the row generator alone, on one core.
fn maker(runs: u32, tally: &mut Tally) -> Result<(), Failure> {
    let program = build_example("pgdyno-postgres", "rows")?;
    let rates = (0..runs)
        .map(|_| million_rows(&output(&mut Command::new(&program))?))
        .collect::<Result<Vec<_>, _>>()?;
    let (least, most) = rates.iter().fold((f64::MAX, 0_f64), |(a, b), &rate| (a.min(rate), b.max(rate)));
    println!(
        "\nrow generator alone, {}: {least:.1} to {most:.1} million accounts/s/core",
        units::plural(runs.into(), "run")
    );
    if runs < 3 {
        return Ok(());
    }
    let ratio = Ratio::from_pairs(rates.into_iter().map(|rate| (rate, MAKER_BAR)))?;
    tally.judge("accounts/s/core over 20 million", &ratio, Some(Bar::AtLeast(1.0)));
    Ok(())
}

/// Parses the first line of the example `rows`: `72.3 million rows/s as text, …`.
fn million_rows(text: &str) -> Result<f64, Failure> {
    let rate = text.split_once(" million rows/s as text").and_then(|(rate, _)| rate.parse().ok());
    rate.ok_or_else(|| format!("the example `rows` says {text:?}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_the_example_is_parsed() {
        assert_eq!(million_rows("72.3 million rows/s as text, 1 bytes\n…").expect("a rate"), 72.3);
        assert!(million_rows("no rate").is_err());
    }
}
