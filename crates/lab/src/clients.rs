//! The connected clients of a cell: made for every run, or in slots once for all runs of a start.

use std::{sync::Arc, time::Duration};

use pgdyno_core::{
    facts::SessionsSeen,
    measure::{TpccRun, Workload},
    problem::Problem,
};
use pgdyno_engine::Settings;
use pgdyno_plan::{TpccWork, Work, divided};
use pgdyno_postgres::driving::{Part, Processes, SetTask, Share, Task, Terms};
use pgdyno_postgres::targets::{InputCounts, Sessions, SqlClients, Workers};
use pgdyno_script::Protocol;
use pgdyno_wire::{ConnectOptions, Handover};

use crate::{
    Prepared,
    context::Context,
    subject::{Subject, run_state::Ready},
    table_sets::{TableSet, of_set},
    tpcc::in_run_of,
    waiting::waiting_for,
};

/// What one run executes.
pub struct Cell<'a> {
    /// Names and numbers for the record.
    pub workload: Workload,
    /// How statements are sent.
    pub protocol: Protocol,
    /// The scripts, with their variables.
    pub work: &'a Work,
    /// Index of the subject.
    pub place: usize,
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
    /// The clients of each set of tables; a single set has no name.
    pub parts: Vec<Part>,
    /// The processes that drive them, if it is not this one.
    pub processes: Option<Processes>,
    /// How long connecting took; zero if they were connected before.
    pub connect: Duration,
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
        let ready = subject.ready_for_run(context, cell.work, cell.workload.clients, cell.drive)?;
        let mut parts = parts(context.prepared, subject, cell);
        let (processes, connect) = waiting_for("the clients' connections", context.events, || {
            match cell.work.tpcc.filter(|work| work.drivers > 0) {
                Some(work) => {
                    let tasks = tasks(context.prepared, subject, cell, &mut parts, work);
                    let (processes, took) = Processes::connect(tasks, context.stop)?;
                    Ok((Some(processes), took))
                }
                None => connect_here(context, subject, cell, &ready, &mut parts).map(|took| (None, took)),
            }
        })?;
        subject.sampler.drive_by(processes.as_ref().map(Processes::pids).unwrap_or_default());
        Ok(Self { ready, parts, processes, connect })
    }

    /// What all clients have in common in a run with these settings.
    pub fn terms(
        &self,
        Context { job, prepared, .. }: Context<'_>,
        cell: &Cell<'_>,
        settings: &Settings,
    ) -> Terms {
        Terms {
            waiting: prepared.waiting,
            settings: settings.clone(),
            clients: cell.workload.clients,
            scripts: self.ready.scripts.len(),
            weights: cell.work.weights.clone(),
            seed: prepared.seed,
            draws: cell.draws,
            by_number: cell.work.tpcc.is_some_and(|work| work.transactions.is_some()),
            returns_clients: job.has_slots(),
        }
    }

    /// The commit settings of all sessions, collected in a run.
    pub fn sessions(&self) -> SessionsSeen {
        let mut seen = SessionsSeen::default();
        self.parts.iter().for_each(|part| seen.merge(part.sessions.take()));
        seen
    }

    /// TPC-C's parameters, and what was executed since the last call: of each set of tables.
    pub fn tpcc_runs(&self) -> Vec<TpccRun> {
        let run = |part: &Part| Some(TpccRun { shares: part.counted.take(), ..part.tpcc.clone()? });
        self.parts.iter().filter_map(run).collect()
    }

    /// The clients for the next slot. `None` unless all came back from the run: then new ones have to connect. What was
    /// counted and not taken was in a practice run, and is forgotten.
    pub fn for_next_slot(self, clients: u32) -> Option<Self> {
        for part in &self.parts {
            part.sessions.take();
            part.counted.take();
        }
        let there = self.parts.iter().flat_map(|part| &part.workers).map(Vec::len).sum::<usize>();
        let ready = self.ready.for_next_slot();
        (there == clients as usize).then_some(Self { ready, connect: Duration::ZERO, ..self })
    }
}

/// The clients of each set of tables, still without connections.
fn parts(prepared: &Prepared, subject: &Subject, cell: &Cell<'_>) -> Vec<Part> {
    let sets: Vec<Option<&TableSet>> = match cell.work.tpcc {
        Some(_) => subject.sets.iter().map(Some).collect(),
        None => vec![None],
    };
    let shares = Share::each(cell.workload.clients, prepared.bench.jobs, sets.len() as u32);
    let part = |(set, share): (Option<&TableSet>, Share)| {
        let in_run = cell.work.tpcc.zip(set);
        let in_run = in_run.map(|(work, set)| in_run_of(&work, &set.facts, cell.place));
        let (users, tpcc) = in_run.unzip();
        Part {
            name: set.and_then(|set| set.place.name()).map(str::to_owned),
            warehouses: set.map_or(0, |set| set.facts.terminals.warehouses),
            share,
            driver: None,
            workers: Workers::new(),
            sessions: Sessions::default(),
            counted: InputCounts::default(),
            users: users.flatten(),
            tpcc,
        }
    };
    sets.into_iter().zip(shares).map(part).collect()
}

/// Connects the clients of all sets, one set after the other.
fn connect_here(
    Context { job, prepared, stop, .. }: Context<'_>,
    subject: &Subject,
    cell: &Cell<'_>,
    ready: &Ready,
    parts: &mut [Part],
) -> Result<Duration, Problem> {
    let mut took = Duration::ZERO;
    for (at, part) in parts.iter_mut().enumerate() {
        let set = subject.sets.get(at).filter(|_| cell.work.tpcc.is_some());
        let terminals = set.map(|set| set.facts.terminals.in_run(prepared.seed, cell.draws));
        let sql = SqlClients {
            max_tries: cell.work.tpcc.map_or(cell.work.max_tries, |work| work.max_tries),
            tpcc: terminals.map(|terminals| (terminals, part.counted.clone())),
            scripts: Arc::clone(&ready.scripts),
            protocol: cell.protocol,
            scale: prepared.bench.scale.unwrap_or(1),
            seed: prepared.seed,
            run: cell.draws,
            first_client: part.share.first_client,
            attempts: cell.work.tpcc.and_then(|work| work.transactions),
            definitions: ready.definitions.clone(),
            trust: job.trust,
            sessions: Some(part.sessions.clone()),
        };
        let options = set
            .map_or_else(|| ready.options.clone(), |set| subject.options_in_set(cell.work, set, cell.drive));
        let connected = sql.connect(&options, part.share.clients, part.share.jobs, stop);
        let (workers, connect) =
            connected.map_err(|problem| set.map_or(problem.clone(), |set| of_set(&set.place, problem)))?;
        part.workers = workers;
        took += connect;
    }
    Ok(took)
}

/// Divides the sets among driver processes.
fn tasks(
    prepared: &Prepared,
    subject: &Subject,
    cell: &Cell<'_>,
    parts: &mut [Part],
    work: TpccWork,
) -> Vec<Task> {
    let mut sets = subject.sets.iter().zip(parts.iter_mut());
    let task = |(count, number): (u32, u32)| {
        let its = sets.by_ref().take(count as usize).map(|(set, part)| {
            part.driver = Some(number);
            SetTask {
                name: part.name.clone().unwrap_or_default(),
                connection: Handover::from(&subject.options_in_set(cell.work, set, cell.drive)),
                share: part.share,
                terminals: set.facts.terminals.in_run(prepared.seed, cell.draws),
            }
        });
        let sets = its.collect();
        Task { work, protocol: cell.protocol, seed: prepared.seed, draws: cell.draws, sets }
    };
    divided(subject.sets.len() as u32, work.drivers).into_iter().zip(1..).map(task).collect()
}
