//! `bench-keeping`: the cost of everything that `pgdyno pgbench` can keep: latency of every statement, percentiles,
//! histogram and JSON; compared with pgbench, with its log and without.

use std::path::{Path, PathBuf};

use pgdyno_analysis::compare::bar::Bar;
use pgdyno_core::units;

use super::{
    CSV_HEADER, SlotArgs, Tally, WorkArgs, build_pgdyno,
    cells::Cell,
    print_level,
    server::{ServerArgs, Servers},
    turns::{self, Arm, Counts, Race},
};
use crate::Failure;

/// Flags of `bench-keeping`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    slots: SlotArgs,
    #[command(flatten)]
    work: WorkArgs,
    /// Client counts
    #[arg(long, value_delimiter = ',', default_value = "8,32", value_name = "N,…",
          value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Threads of every program
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Leave out pgbench, which has no bar here: half the time for the same confidence interval
    #[arg(long)]
    without_pgbench: bool,
}

/// Keeping costs at most 2 %.
const TPS_BAR: Bar = Bar::AtLeast(0.98);
/// Names of the arms. Their order is balanced over eight rounds, and without pgbench over four.
const NAMES: [&str; 4] = ["pgdyno pgbench", "pgdyno pgbench, keeping", "pgbench", "pgbench -l"];
const PLAIN: usize = 0;
const KEEPING: usize = 1;
const PGBENCH: usize = 2;
const LOGGING: usize = 3;

/// Runs the comparison for every script and client count; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = build_pgdyno()?;
    let cells = args.work.cells(&[args.jobs], &args.clients);
    let names = args.names();
    let cell_s = args.slots.seconds(&vec![Counts::Progress.grid(); names.len()]);
    println!(
        "{} of {}, {}; takes about {:.0} min",
        units::plural(cells.len() as u64, "cell"),
        args.slots.words(names.len()),
        args.work.protocol,
        (cells.len() as f64 * (cell_s + 8.0) * f64::from(args.slots.starts) / 60.0).ceil()
    );
    let most_clients = args.clients.iter().max().copied().unwrap_or(1);
    let servers = Servers::of(&args.server, names.len(), most_clients, &args.work.script)?;
    println!("servers: {}; pgbench: {}", servers.description, servers.pgbench.display());
    let mut tally = Tally::default();
    let mut csv = CSV_HEADER.to_owned();
    for cell in &cells {
        servers.checkpoint()?;
        let dir = tempfile::tempdir()?;
        let seconds = 2 * cell_s as u32 + 300;
        let arms = || args.arms(&pgdyno, &servers, dir.path(), (cell, seconds));
        let race = turns::run(arms, args.slots.slots(names.len()), args.slots.starts, dir.path())?;
        csv.push_str(&race.csv(&cell.csv()));
        println!("\n{}", cell.title(&args.work.protocol));
        judge(&race, &mut tally)?;
        args.slots.write(&csv)?;
    }
    drop(servers);
    Ok(tally.conclude())
}

impl Args {
    /// Names of the arms in use.
    fn names(&self) -> &'static [&'static str] {
        if self.without_pgbench { &NAMES[..PGBENCH] } else { &NAMES }
    }

    fn arms(&self, pgdyno: &Path, servers: &Servers, dir: &Path, (cell, seconds): (&Cell, u32)) -> Vec<Arm> {
        let of_pgdyno = [pgdyno.to_owned(), PathBuf::from("pgbench")];
        let of_pgbench = [servers.pgbench.clone()];
        let keeping = ["-r", "--percentiles=50,95,99,99.9", "--json=kept.json", "--hdr=kept.hlog"];
        let programs: [(&[PathBuf], &[&str]); NAMES.len()] =
            [(&of_pgdyno, &[]), (&of_pgdyno, &keeping), (&of_pgbench, &[]), (&of_pgbench, &["-l"])];
        let arm = |(at, (program, more)): (usize, (&[PathBuf], &[&str]))| {
            let work = self.work.of_pgbench(servers.conninfo(at), cell, seconds);
            let command = work.command(program, more, dir);
            Arm { name: NAMES[at].to_owned(), command, counts: Counts::Progress }
        };
        programs.into_iter().enumerate().take(self.names().len()).map(arm).collect()
    }
}

/// Prints a cell.
fn judge(race: &Race, tally: &mut Tally) -> Result<(), Failure> {
    for (arm, against, bar) in [
        (PGBENCH, None, None),
        (LOGGING, Some(PGBENCH), None),
        (PLAIN, Some(PGBENCH), None),
        (KEEPING, Some(PLAIN), Some(TPS_BAR)),
    ] {
        let is_there = |at: usize| at < race.names.len();
        if !is_there(arm) {
            continue;
        }
        print_level(race, arm);
        let Some(against) = against.filter(|at| is_there(*at)) else { continue };
        let label = |what| format!("{what} / {}", NAMES[against]);
        tally.judge(&label("TPS"), &race.ratio(arm, against, |slot| slot.tps)?, bar);
        tally.judge(&label("CPU time"), &race.ratio(arm, against, |slot| slot.cpu_ns)?, None);
    }
    Ok(())
}
