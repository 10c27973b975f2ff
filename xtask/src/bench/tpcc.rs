//! `bench-tpcc`: pgdyno's TPC-C and another tool alternately on one server: loads in this file, transactions in
//! `tpcc_run`.

use std::{path::PathBuf, process::Command};

use pgdyno_analysis::compare::bar::Bar;
use pgdyno_core::units;
use pgdyno_rows::load::{LoadRequest, Set};

use super::{
    Tally, build_pgdyno,
    loading::{self, CSV_COLUMNS, DATABASE, Load, Measure, Ring, Who},
    server::{LOOPBACK, Own, Wanted},
    tpcc_run::{self, PASSWORD, Race},
    write_file,
};
use crate::Failure;

/// Flags of `bench-tpcc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// go-tpc to compare with
    #[arg(long, value_name = "PATH")]
    peer: PathBuf,
    /// Directory of postgres, instead of a search
    #[arg(long, value_name = "DIR")]
    pg_bindir: Option<PathBuf>,
    /// pgdyno to measure [default: built from this checkout]
    #[arg(long, value_name = "PATH")]
    pgdyno: Option<PathBuf>,
    /// Data directory of the server, new or empty, for example in memory to exclude the disk
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Warehouses
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    warehouses: u32,
    /// Streams of pgdyno, and threads of go-tpc
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Pairs of loads; even numbers are balanced
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Terminal counts of the runs after the loads
    #[arg(long, default_value = "8,32", value_delimiter = ',', value_name = "N,…")]
    terminals: Vec<u32>,
    /// Runs of each program at each terminal count
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..))]
    runs: u32,
    /// Measured seconds of a run
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Skip a part; may be repeated
    #[arg(long, value_name = "load|run|pace", value_parser = ["load", "run", "pace"])]
    skip: Vec<String>,
    /// Write every load as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// More flags for `pgdyno load tpcc`
    #[arg(last = true, value_name = "FLAG")]
    more: Vec<String>,
}

/// Minimum ratio of loading speed.
const LOAD_BAR: Bar = Bar::AtLeast(3.0);
/// Sessions of the server in addition to those of a program.
const SPARE_SESSIONS: u32 = 8;
/// Name of the peer in output.
const PEER: &str = "peer";

/// Alternates loads, then runs, then measures pacing; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = args.pgdyno.clone().map_or_else(build_pgdyno, Ok)?;
    let mut tally = Tally::default();
    if args.wants("load") {
        args.loads(pgdyno.clone(), &mut tally)?;
    }
    if args.wants("run") {
        let (own, dir) = (args.server()?, tempfile::tempdir()?);
        let race = Race {
            own: &own,
            peer: &args.peer,
            pgdyno: &pgdyno,
            warehouses: args.warehouses,
            rounds: args.runs,
            seconds: args.seconds,
            dir: dir.path().to_owned(),
        };
        race.load()?;
        args.terminals.iter().try_for_each(|terminals| race.run(*terminals, &mut tally))?;
    }
    if args.wants("pace") {
        tpcc_run::pace(args.runs, args.seconds, &mut tally)?;
    }
    Ok(tally.conclude())
}

impl Args {
    fn wants(&self, part: &str) -> bool {
        !self.skip.iter().any(|skipped| skipped == part)
    }

    /// A server that both programs can connect to.
    fn server(&self) -> Result<Own, Failure> {
        let most = self.terminals.iter().copied().max().unwrap_or(0);
        let sessions = (2 * self.jobs).max(most) + SPARE_SESSIONS;
        let (bindir, data) = (self.pg_bindir.clone(), self.data.clone());
        let own = Own::start(Wanted { bindir, data, sessions, listen: true, ..Wanted::default() })?;
        println!("{}; peer: {}", own.version(), self.peer.display());
        println!("settings of the server: {}", own.settings().collect::<Vec<_>>().join(", "));
        let password = format!(
            "SET password_encryption = 'scram-sha-256'; ALTER ROLE {} PASSWORD '{PASSWORD}'",
            own.superuser()
        );
        own.admin()?.execute(&password).map_err(|error| error.to_string())?;
        Ok(own)
    }

    /// Alternates loads.
    fn loads(&self, pgdyno: PathBuf, tally: &mut Tally) -> Result<(), Failure> {
        let mut ring = Ring::new(self.server()?, pgdyno)?;
        // A first load, not counted, creates WAL segments that are recycled from here on.
        self.load(&mut ring, Who::Pgdyno)?;
        let rows = self.rows()?;
        let (mut pairs, mut csv) = (Vec::new(), format!("round,program,{CSV_COLUMNS}\n"));
        for (round, places) in loading::rounds(self.rounds).iter().enumerate() {
            pairs.extend(loading::pair(places, |who| {
                let load = self.load(&mut ring, who)?;
                csv.push_str(&format!("{round},{},{}\n", who.name(PEER), load.csv(rows)));
                Ok(load)
            })?);
            write_file(self.csv.as_deref(), &csv)?;
        }
        drop(ring);
        self.judge(&pairs, rows, tally)
    }

    /// Approximate number of rows of all tables.
    fn rows(&self) -> Result<u64, Failure> {
        let wish =
            LoadRequest { set: Set::Tpcc, scale: Some(self.warehouses.into()), ..LoadRequest::default() };
        Ok(wish.plan(1).map_err(|problem| problem.what)?.rows_total())
    }

    /// Executes one load by a program; pgdyno's is verified.
    fn load(&self, ring: &mut Ring, who: Who) -> Result<Load, Failure> {
        ring.load(who.name(PEER), &mut self.command(ring, who), who == Who::Pgdyno)
    }

    /// The command of a program that loads without checks.
    fn command(&self, ring: &Ring, who: Who) -> Command {
        let (warehouses, jobs) = (self.warehouses.to_string(), self.jobs.to_string());
        match who {
            Who::Peer => {
                let mut command = Command::new(&self.peer);
                let (port, user) = (ring.own.port().to_string(), ring.own.superuser());
                command.args(["tpcc", "prepare", "--no-check", "--warehouses", &warehouses, "-T", &jobs]);
                command.args(["-d", "postgres", "-H", LOOPBACK, "-P", &port, "-U", user, "-p", PASSWORD]);
                command.args(["-D", DATABASE, "--conn-params", "sslmode=disable"]);
                command
            }
            Who::Pgdyno => {
                let mut command = Command::new(&ring.pgdyno);
                let conninfo = ring.own.conninfo(DATABASE);
                command.args(["load", "tpcc", "--dsn", &conninfo, "--warehouses", &warehouses]);
                command.args(["--no-verify", "--jobs", &jobs]).args(&self.more);
                command
            }
        }
    }

    /// Prints the comparison.
    fn judge(&self, pairs: &[(Load, Load)], rows: u64, tally: &mut Tally) -> Result<(), Failure> {
        println!(
            "\nload of {} by {}; {} each way",
            units::plural(self.warehouses.into(), "warehouse"),
            units::plural(self.jobs.into(), "stream"),
            units::plural(pairs.len() as u64, "load")
        );
        let measures: [Measure; 3] = [
            ("speed / peer", |load| 1.0 / load.seconds, Some(LOAD_BAR)),
            ("CPU time of the program", |load| load.program_cpu_s, None),
            ("CPU time of the server", |load| load.server_cpu_s, None),
        ];
        loading::judge(PEER, pairs, rows, &measures, tally)
    }
}
