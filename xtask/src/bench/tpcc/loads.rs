//! Flags, the server of both programs, and loads alternately.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use pgdyno_analysis::compare::bar::Bar;
use pgdyno_core::units;
use pgdyno_rows::load::{LoadRequest, Set};

use crate::{
    Failure,
    bench::{
        Tally, build_example,
        loading::{Comparison, DATABASE, LoadArgs, Ring, Who},
        server::{LOOPBACK, Own, request},
    },
    workspace::output,
};

/// Flags of `bench-tpcc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// go-tpc to compare with
    #[arg(long, value_name = "PATH")]
    pub peer: PathBuf,
    /// Warehouses
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub warehouses: u32,
    /// Pairs of loads; even numbers are balanced
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..))]
    pub rounds: u32,
    /// Terminal counts of the runs after the loads
    #[arg(long, default_value = "8,32", value_delimiter = ',', value_name = "N,…")]
    pub terminals: Vec<u32>,
    /// Runs of each program at each terminal count
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..))]
    pub runs: u32,
    /// Measured seconds of a run
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Skip a part; may be repeated
    #[arg(long, value_name = "load|run|pace", value_parser = ["load", "run", "pace"])]
    pub skip: Vec<String>,
    #[command(flatten)]
    pub loads: LoadArgs,
}

/// Minimum ratio of loading speed.
const LOAD_BAR: Bar = Bar::AtLeast(3.0);
/// Those of a thousand warehouses, over 100 connections by two threads.
const PACED: [&str; 3] = ["1000", "100", "2"];
/// Name of go-tpc in output.
pub(super) const PEER: &str = "peer";
/// Password of the superuser of an own server that listens only on the loopback interface.
const PASSWORD: &str = "for-this-run";

impl Args {
    pub(super) fn wants(&self, part: &str) -> bool {
        !self.skip.iter().any(|skipped| skipped == part)
    }

    /// A server that both programs can connect to.
    pub(super) fn server(&self) -> Result<Own, Failure> {
        let most = self.terminals.iter().copied().max().unwrap_or(0);
        let server = request(&self.loads.pg_bindir, &self.loads.data, (2 * self.loads.jobs).max(most));
        let own = Own::start(pgdyno_provision::Request { listen: Some(LOOPBACK.into()), ..server }, None)?;
        println!("{}; peer: {}", own.version(), self.peer.display());
        println!("settings of the server: {}", own.settings().collect::<Vec<_>>().join(", "));
        let role = own.superuser();
        let sql =
            format!("SET password_encryption = 'scram-sha-256'; ALTER ROLE {role} PASSWORD '{PASSWORD}'");
        own.execute("postgres", &sql)?;
        Ok(own)
    }

    /// A command of go-tpc.
    pub(super) fn peer(&self, own: &Own, what: &str, database: &str) -> Command {
        let mut command = Command::new(&self.peer);
        let (port, user, warehouses) = (own.port().to_string(), own.superuser(), self.warehouses.to_string());
        command.args(["tpcc", what, "--warehouses", &warehouses, "-D", database]);
        command.args(["-d", "postgres", "-H", LOOPBACK, "-P", &port, "-U", user, "-p", PASSWORD]);
        command.args(["--conn-params", "sslmode=disable"]);
        command
    }

    /// The command of a program that loads without checks.
    pub(super) fn load(&self, own: &Own, pgdyno: &Path, who: Who, database: &str) -> Command {
        let jobs = self.loads.jobs.to_string();
        match who {
            Who::Peer => {
                let mut command = self.peer(own, "prepare", database);
                command.args(["--no-check", "-T", &jobs]);
                command
            }
            Who::Pgdyno => {
                let mut command = Command::new(pgdyno);
                let conninfo = own.conninfo(database);
                command.args(["load", "tpcc", "--dsn", &conninfo, "--no-verify", "--jobs", &jobs]);
                command.args(["--warehouses", &self.warehouses.to_string()]).args(&self.loads.more);
                command
            }
        }
    }

    pub(super) fn compare_loads(&self, ring: &mut Ring, tally: &mut Tally) -> Result<(), Failure> {
        let command = |ring: &Ring, who| self.load(&ring.own, &ring.pgdyno, who, DATABASE);
        // A first load, not counted, creates WAL segments that are recycled from here on.
        let mut first = command(ring, Who::Pgdyno);
        ring.load("pgdyno", &mut first, true)?;
        let (warehouses, streams) = (
            units::plural(self.warehouses.into(), "warehouse"),
            units::plural(self.loads.jobs.into(), "stream"),
        );
        let comparison = Comparison {
            title: format!("load of {warehouses} by {streams}"),
            tables: "tpcc".to_owned(),
            peer: PEER,
            rows: self.rows()?,
            rounds: self.rounds,
            measures: &[
                ("speed / peer", |load| 1.0 / load.seconds, Some(LOAD_BAR)),
                ("CPU time of the program", |load| load.program_cpu_s, None),
                ("CPU time of the server", |load| load.server_cpu_s, None),
            ],
        };
        comparison.run(ring, command, tally)?;
        Ok(())
    }

    /// Approximate number of rows of all tables.
    pub(super) fn rows(&self) -> Result<u64, Failure> {
        let wish =
            LoadRequest { set: Set::Tpcc, scale: Some(self.warehouses.into()), ..LoadRequest::default() };
        Ok(wish.plan(1).map_err(|problem| problem.what)?.rows_total())
    }

    /// Runs the terminals: the CPUs that the driver used.
    pub(super) fn pacing(&self) -> Result<impl FnMut(u32) -> Result<f64, Failure>, Failure> {
        let program = build_example("pgdyno-postgres", "paced")?;
        Ok(move |_| {
            let printed = output(Command::new(&program).args(PACED).arg(self.seconds.to_string()))?;
            let share = printed.split_whitespace().next().and_then(|word| word.parse().ok());
            share.ok_or_else(|| format!("{}: {printed}", program.display()).into())
        })
    }
}
