//! The connected clients of a cell: made for every run, or in slots once for all runs of a start.

use std::{sync::Arc, time::Duration};

use pgdyno_core::{
    measure::{TpccRun, Workload},
    problem::Problem,
    random::Random,
};
use pgdyno_engine::{Bookkeeping, Mix};
use pgdyno_plan::Work;
use pgdyno_postgres::targets::{InputCounts, Sessions, SqlClients, Workers};
use pgdyno_script::Protocol;
use pgdyno_wire::ConnectOptions;

use crate::{
    Prepared,
    context::Context,
    subject::{Subject, run_state::Ready},
    tpcc::{InRun, in_run},
    waiting::waiting_for,
};

/// Most scripts of a workload that get a histogram each; each takes 220 KiB per thread.
const MOST_SCRIPTS: usize = 16;

/// What one run executes.
pub struct Cell<'a> {
    /// Names and numbers for the record.
    pub workload: Workload,
    /// How statements are sent.
    pub protocol: Protocol,
    /// The scripts, with their variables.
    pub work: &'a Work,
    /// How the clients connect, if not as those of other subjects at the server do.
    pub drive: Option<&'a ConnectOptions>,
    /// Number of the block.
    pub block: u32,
    /// Number of the random streams of the clients. Runs with the same number use the same rows and the same schedule.
    pub draws: u32,
}

/// Connected clients, and what is known of them when a run is over.
pub struct Clients {
    /// The server as it was prepared for them.
    pub ready: Ready,
    /// The clients of every worker.
    pub workers: Workers,
    /// How long connecting took; zero if they were connected before.
    pub connect: Duration,
    /// The commit settings of their sessions.
    pub sessions: Sessions,
    counted: InputCounts,
    tpcc: Option<InRun>,
}

impl Clients {
    /// The clients of the run before, or new ones on a server that is prepared for their run.
    ///
    /// # Errors
    /// The server cannot be prepared or reached, or a stop was requested.
    pub fn kept_or_new(
        context: Context<'_>,
        subject: &mut Subject,
        cell: &Cell<'_>,
        kept: &mut Option<Self>,
    ) -> Result<Self, Problem> {
        match kept.take() {
            Some(kept) => Ok(kept),
            None => Self::connect(context, subject, cell),
        }
    }

    fn connect(context: Context<'_>, subject: &mut Subject, cell: &Cell<'_>) -> Result<Self, Problem> {
        let Context { job, prepared, stop, events } = context;
        let clients = cell.workload.clients;
        let ready = subject.ready_for_run(context, cell.work, clients, cell.drive)?;
        let tpcc = cell.work.tpcc.zip(subject.tpcc.as_ref());
        let tpcc = tpcc.map(|(work, facts)| in_run(&work, facts, prepared.seed, cell.draws));
        let (counted, sessions) = (InputCounts::default(), Sessions::default());
        let sql = SqlClients {
            max_tries: cell.work.tpcc.map_or(cell.work.max_tries, |work| work.max_tries),
            tpcc: tpcc.as_ref().map(|tpcc| (tpcc.terminals, counted.clone())),
            scripts: Arc::clone(&ready.scripts),
            protocol: cell.protocol,
            scale: prepared.bench.scale.unwrap_or(1),
            seed: prepared.seed,
            run: cell.draws,
            definitions: ready.definitions.clone(),
            trust: job.trust,
            sessions: Some(sessions.clone()),
        };
        let (workers, connect) = waiting_for("the clients' connections", events, || {
            sql.connect(&ready.options, clients, prepared.bench.jobs, stop)
        })?;
        Ok(Self { ready, workers, connect, sessions, counted, tpcc })
    }

    /// What a run of them records.
    pub fn bookkeeping(&self, Context { job, prepared, .. }: Context<'_>, cell: &Cell<'_>) -> Bookkeeping {
        Bookkeeping {
            mix: mix(prepared, cell),
            by_script: (2..=MOST_SCRIPTS).contains(&self.ready.scripts.len()),
            users: self.tpcc.as_ref().and_then(|tpcc| tpcc.population.clone()),
            returns_clients: job.has_slots(),
            ..Bookkeeping::default()
        }
    }

    /// TPC-C's parameters, and what was executed since the last call.
    pub fn tpcc_run(&self) -> Option<TpccRun> {
        let record = self.tpcc.as_ref().map(|tpcc| tpcc.record.clone());
        record.map(|record| TpccRun { shares: self.counted.take(), ..record })
    }

    /// The clients for the next slot. `None` unless all came back from the run: then new ones have to connect. What was
    /// counted and not taken was in a practice run, and is forgotten.
    pub fn for_next_slot(self, workers: Workers, clients: u32) -> Option<Self> {
        self.sessions.take();
        self.counted.take();
        let are_all_there = workers.iter().map(Vec::len).sum::<usize>() == clients as usize;
        let ready = self.ready.for_next_slot();
        are_all_there.then_some(Self { ready, workers, connect: Duration::ZERO, ..self })
    }
}

/// How several scripts share the attempts. Each worker draws from a stream that no client uses.
fn mix(prepared: &Prepared, cell: &Cell<'_>) -> Mix {
    if cell.work.weights.len() <= 1 {
        return Mix::default();
    }
    let stream =
        |worker: u32| Random::seeded(Random::stream_seed(prepared.seed, cell.draws, u32::MAX - worker));
    Mix { weights: cell.work.weights.clone(), streams: (0..prepared.bench.jobs).map(stream).collect() }
}
