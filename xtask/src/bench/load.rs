//! `bench-load`: `pgdyno load tpcb` and `pgbench -i` alternately on one server, from the start of the program until all
//! data is durable; then the row generator alone.

use std::{path::PathBuf, process::Command};

use pgdyno_analysis::compare::bar::Bar;
use pgdyno_core::units;
use pgdyno_rows::tpcb::rows_total;

use super::{
    Tally,
    alone::{Alone, none_or_enough},
    build_example,
    loading::{Comparison, DATABASE, LoadArgs, Ring, Who},
    server::{Own, request},
};
use crate::{Failure, workspace::output};

/// Flags of `bench-load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// pgbench to compare with [default: of --pg-bindir, otherwise of PATH]
    #[arg(long, value_name = "PATH")]
    pgbench: Option<PathBuf>,
    /// Scale factor
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    scale: u32,
    /// Partitions in the second comparison; 0 skips it
    #[arg(long, default_value_t = 8)]
    partitions: u32,
    /// Pairs of loads per comparison; even numbers are balanced
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Runs of the row generator; 0 skips it
    #[arg(long, default_value_t = 5, value_parser = none_or_enough)]
    maker_runs: u32,
    #[command(flatten)]
    loads: LoadArgs,
}

/// A plain table must not load more slowly than with pgbench.
const PLAIN_BAR: Bar = Bar::AtLeast(1.0);
/// Range partitions are loaded by parallel streams.
const PARTITIONS_BAR: Bar = Bar::AtLeast(1.5);
const MEMORY_BAR_BYTES: u64 = 100 << 20;
/// The row generator alone, on one core: at least 20 million rows of accounts per second.
const MAKER: Alone = Alone {
    what: "row generator alone",
    label: "accounts/s/core over 20 million",
    unit: 20.0,
    bar: Bar::AtLeast(1.0),
    words: |millions| format!("{millions:.1} million accounts/s/core"),
};
/// Name of the peer in output.
const PEER: &str = "pgbench";

/// Runs both comparisons, then the row generator; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = args.loads.pgdyno()?;
    let server = request(&args.loads.pg_bindir, &args.loads.data, args.loads.jobs);
    let own = Own::start(server, args.pgbench.clone())?;
    println!("{}; pgbench: {}", own.version(), own.pgbench.display());
    println!("settings of the server: {}", own.settings().collect::<Vec<_>>().join(", "));
    let mut ring = Ring::new(own, &pgdyno, &args.loads)?;
    // A first load, not counted, creates WAL segments that are recycled from here on.
    let mut first = args.command(&ring, Who::Peer, 0);
    ring.load(PEER, &mut first, false)?;
    let mut tally = Tally::default();
    args.compare(0, PLAIN_BAR, &mut ring, &mut tally)?;
    if args.partitions > 0 {
        args.compare(args.partitions, PARTITIONS_BAR, &mut ring, &mut tally)?;
    }
    drop(ring);
    if args.maker_runs > 0 {
        let program = build_example("pgdyno-postgres", "rows")?;
        MAKER.run(args.maker_runs, |_| million_rows(&output(&mut Command::new(&program))?), &mut tally)?;
    }
    Ok(tally.conclude())
}

impl Args {
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
                command.args(["--jobs", &self.loads.jobs.to_string(), "--partitions", &parts]);
                command.args(&self.loads.more);
                command
            }
        }
    }

    /// Compares loads of tables with so many partitions.
    fn compare(&self, partitions: u32, bar: Bar, ring: &mut Ring, tally: &mut Tally) -> Result<(), Failure> {
        let tables = if partitions == 0 { "plain".to_owned() } else { format!("{partitions} partitions") };
        let (scale, streams) =
            (units::count(self.scale.into()), units::plural(self.loads.jobs.into(), "stream"));
        let comparison = Comparison {
            title: format!("scale {scale}, {tables}, {streams} of pgdyno"),
            tables,
            peer: PEER,
            rows: rows_total(self.scale.into()),
            rounds: self.rounds,
            measures: &[
                ("rows/s / pgbench", |load| 1.0 / load.seconds, Some(bar)),
                ("without the checkpoint", |load| 1.0 / (load.seconds - load.checkpoint_s), None),
                ("CPU time of the server", |load| load.server_cpu_s, None),
            ],
        };
        let ours = comparison.run(ring, |ring, who| self.command(ring, who, partitions), tally)?;
        let peak_bytes = ours.iter().map(|load| load.peak_bytes).max().unwrap_or(0);
        let [peak, most] = [peak_bytes, MEMORY_BAR_BYTES].map(units::bytes);
        tally.say(&format!("peak memory {peak}, bar < {most}"), (1..MEMORY_BAR_BYTES).contains(&peak_bytes));
        Ok(())
    }
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
