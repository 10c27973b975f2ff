//! Runs round after round until the schedule ends.

use std::time::Instant;

use pgdyno_analysis::compare::ComparedRate;
use pgdyno_core::{
    measure::{Arm, IdleServers, Workload},
    problem::Problem,
};
use pgdyno_plan::Work;
use pgdyno_postgres::verify::Ledger;
use pgdyno_record::{BlockRecord, PracticeRecord, StartRecord, TimedLoad};
use pgdyno_script::{Builtin, Protocol};

use super::{
    idle::{IdleReadings, since_last},
    reload::reload,
    schedule::{self, Round},
    starts,
};
use crate::{
    Job, Measured, StorageWork, SubjectWork,
    ahead::{Ahead, RoundTimes},
    between::{BetweenRuns, Wrote},
    cell,
    clients::{Cell, Clients},
    context::Context,
    counters_sampler::CountersSampler,
    fill,
    host_states::HostStates,
    practice::practise,
    prepared::CheckMode,
    recording::Recording,
    subject::{Subject, run_state::Settled},
    waiting::waiting_for,
};

/// Brings all servers to the state in which each waits while another is measured.
///
/// # Errors
/// The first server that could not be quiesced.
pub fn quiesce(context: Context<'_>, between: BetweenRuns, servers: &mut [Subject]) -> Result<(), Problem> {
    let counts_rows = context.prepared.plan.data.tpcc.is_none();
    servers.iter_mut().try_for_each(|server| server.quiesce(between, counts_rows))
}

/// Runs all rounds. Returns the expected contents of history, for each server. `between` is the work between two runs,
/// if there are several subjects.
///
/// # Errors
/// The error that ended them early; whole rounds are in the record.
pub fn run(
    context: Context<'_>,
    between: Option<BetweenRuns>,
    (servers, host): (&mut [Subject], &mut HostStates),
    recording: &mut Recording,
    ahead: &Ahead,
) -> Result<Vec<Ledger>, Problem> {
    let opened = servers.iter_mut().enumerate().map(|(at, server)| opened(context, server, at));
    let ledgers = opened.collect::<Result<Vec<_>, _>>()?;
    let began = Instant::now();
    let passes_on = context.prepared.blocks_per_start.is_some()
        && !host.differ()
        && starts::can_pass_on_data(context.job, servers)?;
    let mut rounds = Rounds {
        context,
        servers,
        host,
        ledgers,
        recording,
        between,
        passes_on,
        shift: 0,
        starts_made: 0,
        idle: None,
        began,
        blocks_made: 0,
        slots: Slots::new(context.job),
        times: RoundTimes::default(),
        ahead,
    };
    rounds.begin()?;
    while let Some(round) = schedule::next(context.job, context.prepared, &rounds.recording.record) {
        let (began, starts) = (Instant::now(), rounds.starts_made);
        rounds.round(&round)?;
        rounds.report_left(began, starts);
    }
    rounds.end_slots()?;
    Ok(rounds.ledgers)
}

/// The ledger of a server before its first run.
fn opened(context: Context<'_>, server: &mut Subject, at: usize) -> Result<Ledger, Problem> {
    let Some(CheckMode::Changes { accounts }) = context.prepared.balance_check(at) else {
        return Ok(Ledger::default());
    };
    context.events.doing("summing the balances that the tables begin with");
    waiting_for("the balances", context.events, || Ledger::opened(&mut server.admin, accounts))
}

struct Rounds<'a> {
    context: Context<'a>,
    servers: &'a mut [Subject],
    host: &'a mut HostStates,
    /// Expected contents of history, for each server.
    ledgers: Vec<Ledger>,
    recording: &'a mut Recording,
    /// The work between two runs, if there are several subjects.
    between: Option<BetweenRuns>,
    /// Whether the servers pass on their data at every start.
    passes_on: bool,
    /// How many places the data directories have moved.
    shift: usize,
    /// Starts since the begin of this process.
    starts_made: u32,
    /// CPU use of all servers at the end of the previous run, if there are several subjects.
    idle: Option<IdleReadings>,
    began: Instant,
    /// Blocks measured since the start of this process.
    blocks_made: u32,
    slots: Slots,
    times: RoundTimes,
    ahead: &'a Ahead,
}

/// What slots leave to the end of their start.
struct Slots {
    /// The connected clients of each subject; `None` before its first run, and if runs are no slots.
    clients: Vec<Option<Clients>>,
    /// The round that ran last, if it is to be settled yet.
    unsettled: Option<Round>,
}

impl Slots {
    fn new(job: &Job) -> Self {
        Self { clients: job.subjects.iter().map(|_| None).collect(), unsettled: None }
    }
}

impl<'a> Rounds<'a> {
    /// Pins this thread to the driver's CPUs, announces the duration of all runs, and begins to observe the servers.
    fn begin(&mut self) -> Result<(), Problem> {
        let Context { job, prepared, events, .. } = self.context;
        pgdyno_engine::pin_current_thread(&prepared.bench.cpus.driver)
            .map_err(|error| Problem::could_not(format!("could not use the driver's CPUs: {error}")))?;
        events.measuring(prepared.run_s * prepared.bench.cost.runs as f64);
        self.report_what_is_left();
        for server in &mut *self.servers {
            server.sampler = CountersSampler::new(server.postmaster);
        }
        if let Some(between) = self.between {
            self.read_idle(0);
            self.recording.record.choices.extend(between.choices(job, prepared));
        }
        Ok(())
    }

    /// Reports how long the rounds may take that a resumed run lacks.
    fn report_what_is_left(&self) {
        let Context { job, prepared, events, .. } = self.context;
        let left = schedule::left(job, prepared, &self.recording.record);
        if left.rounds < left.of {
            self.ahead.report_part(f64::from(left.rounds) / f64::from(left.of), events);
        }
    }

    /// Reports how long the remaining rounds may take, after one that began then. So many starts were made before it.
    fn report_left(&mut self, began: Instant, starts: u32) {
        let Context { job, prepared, events, .. } = self.context;
        let record = &self.recording.record;
        let start_s =
            record.starts.last().filter(|_| self.starts_made > starts).map(|start| start.duration_s);
        self.times.add(began.elapsed().as_secs_f64(), start_s);
        let left = schedule::left(job, prepared, record);
        if let Some(left_s) = self.times.left_s(left) {
            self.ahead.report(Some(left_s), events);
        }
    }

    /// What all servers but the measured one did since the previous reading.
    fn read_idle(&mut self, measured: usize) -> Option<IdleServers> {
        self.between.and_then(|_| since_last(&mut self.idle, self.servers, measured))
    }

    /// Executes the runs of a round one after the other, all with the same rows and the same schedule.
    fn round(&mut self, round: &Round) -> Result<(), Problem> {
        self.load_tables_of(round)?;
        if self.between.is_some() && (round.restarts || self.starts_made == 0) {
            self.end_slots()?;
            self.begin_start(round)?;
        }
        let start_s = self.recording.seconds();
        let mut rates = Vec::new();
        for place in &round.order {
            rates.push(self.one(*place, round)?);
        }
        match round.first {
            Some(first) => self.add_block(round, first, start_s, &rates),
            None => Ok(()),
        }
    }

    /// Loads other tables, if the round's workload has others than those there.
    fn load_tables_of(&mut self, round: &Round) -> Result<(), Problem> {
        let loaded_for = self.servers.first().map_or(0, |server| server.loaded_for);
        if !self.context.prepared.loads_differ(loaded_for, round.workload) {
            return Ok(());
        }
        let servers = (&mut *self.servers, &mut *self.ledgers);
        reload(self.context, servers, self.recording, round.workload)?;
        self.between.map_or(Ok(()), |between| quiesce(self.context, between, self.servers))?;
        self.read_idle(0);
        Ok(())
    }

    /// Begins a start: the servers are restarted if the round wants it, and each subject makes a run that nothing
    /// counts. A server is slower right after its start, which would be a disadvantage for the first.
    fn begin_start(&mut self, round: &Round) -> Result<(), Problem> {
        let at_s = self.recording.seconds();
        let restart_s = round.restarts.then(|| self.restart()).transpose()?;
        self.starts_made += 1;
        self.read_idle(0);
        let mut practice = Vec::new();
        for place in &round.order {
            if !self.has_practice(*place) {
                continue;
            }
            practice.push(self.practise(*place, round)?);
        }
        let duration_s = self.recording.seconds() - at_s;
        let starts = &mut self.recording.record.starts;
        let (number, shift) = (starts.len() as u32 + 1, self.shift as u32);
        starts.push(StartRecord {
            number,
            at_s,
            duration_s,
            restart_s,
            data_shift: (shift > 0).then_some(shift),
            practice,
        });
        Ok(())
    }

    /// Restarts all servers; from the second start on they pass on their data, if they can.
    fn restart(&mut self) -> Result<f64, Problem> {
        let pass_on = self.passes_on && self.starts_made > 0;
        let on = (&mut *self.servers, &mut *self.host);
        let restart_s = starts::restart(self.context, on, self.recording, pass_on)?;
        self.servers.iter_mut().for_each(|server| self.recording.watch_again(server));
        if pass_on {
            self.ledgers.rotate_left(1);
            self.shift = (self.shift + 1) % self.servers.len();
        }
        Ok(restart_s)
    }

    /// Whether a subject makes a practice run after a start: none is known of a command that brings its own server, and
    /// a load begins with empty tables.
    fn has_practice(&self, place: usize) -> bool {
        let subject = &self.context.job.subjects[place];
        subject.server.is_some() && !matches!(subject.work, SubjectWork::Load)
    }

    /// A run of a subject that nothing counts.
    fn practise(&mut self, place: usize, round: &Round) -> Result<PracticeRecord, Problem> {
        let subject = &self.context.job.subjects[place];
        self.wake(place)?;
        self.context.events.now(format!("{}: practice run after a start", subject.name));
        let practice = match &subject.work {
            SubjectWork::Command(command) => {
                let server = subject.server.map(|at| &self.servers[at]);
                let per_s = command.run(self.context, server, round.clients_of(subject))?;
                let subject = subject.name.clone();
                PracticeRecord { subject, script: None, per_s, committed: 0, in_doubt: 0 }
            }
            SubjectWork::Storage(storage) => {
                let per_s = storage.run(self.context)?;
                let subject = subject.name.clone();
                PracticeRecord { subject, script: None, per_s, committed: 0, in_doubt: 0 }
            }
            SubjectWork::Plan | SubjectWork::Script { .. } | SubjectWork::Load => {
                let (at, cell) = self.cell(place, round)?;
                let kept = &mut self.slots.clients[place];
                practise(self.context, &mut self.servers[at], &cell, &subject.name, kept)?
            }
        };
        if let Some(at) = subject.server {
            self.settle(at, place, round)?;
            self.read_idle(at);
        }
        Ok(practice)
    }

    /// Ends the quiet state of a subject's server, on the host in the subject's state.
    fn wake(&mut self, place: usize) -> Result<(), Problem> {
        let Context { stop, events, .. } = self.context;
        let entered = self.host.enter(place, stop, events);
        self.recording.record.host_changes = self.host.record();
        entered?;
        let at = self.context.job.subjects[place].server;
        at.zip(self.between).map_or(Ok(()), |(at, between)| self.servers[at].wake(between))
    }

    /// Adds the block of a finished round.
    fn add_block(&mut self, round: &Round, first: Arm, start_s: f64, rates: &[f64]) -> Result<(), Problem> {
        let of = |arm: Arm| rates.get(usize::from(arm != first)).copied().unwrap_or_default();
        let recording = &mut *self.recording;
        let start = self.context.prepared.blocks_per_start.map(|_| recording.record.starts.len() as u32);
        let block = BlockRecord::new(round.number + 1, first, start_s, [of(Arm::A), of(Arm::B)]);
        let block = BlockRecord { start, ..block };
        if let Some(comparison) = &mut recording.record.comparison {
            comparison.blocks.push(block);
            self.blocks_made += 1;
            comparison.block_s = Some(self.began.elapsed().as_secs_f64() / f64::from(self.blocks_made));
        }
        recording.save()?;
        let last = recording.record.comparison.as_ref().and_then(|comparison| comparison.blocks.last());
        if let Some((number, met)) = last.and_then(|block| Some((block.number, block.disturbed?))) {
            self.context.events.note(format!("block {number} does not count: {}", met.words()));
        }
        Ok(())
    }

    /// Executes one run of a subject and returns its rate per second.
    fn one(&mut self, place: usize, round: &Round) -> Result<f64, Problem> {
        let job = self.context.job;
        let subject = &job.subjects[place];
        self.wake(place)?;
        let rate = match &subject.work {
            SubjectWork::Command(command) => self.command(place, command, round)?,
            SubjectWork::Plan | SubjectWork::Script { .. } => self.drive(place, round)?,
            SubjectWork::Load => self.load(place, round)?,
            SubjectWork::Storage(storage) => self.storage(place, storage, round)?,
        };
        if job.comparison().is_none() || (rate > 0.0 && rate.is_finite()) {
            return Ok(rate);
        }
        Err(Problem::could_not(format!("{} did nothing in block {}", subject.name, round.number + 1))
            .detail(self.first_error())
            .hint("a comparison needs a result above 0: increase --duration, or fix the error"))
    }

    fn first_error(&self) -> String {
        let last = self.recording.record.runs.last();
        let error = last.and_then(|run| run.errors.first());
        error.map_or("nothing was committed".to_owned(), |error| format!("{}: {}", error.code, error.message))
    }

    /// Measures by an external command.
    fn command(&mut self, place: usize, command: &Measured, round: &Round) -> Result<f64, Problem> {
        let subject = &self.context.job.subjects[place];
        let server = subject.server.map(|at| &self.servers[at]);
        self.context.events.now(format!("{}: command, block {}", subject.name, round.number + 1));
        let rate = command.run(self.context, server, round.clients_of(subject))?;
        if let Some(at) = subject.server {
            self.settle(at, place, round)?;
        }
        self.read_idle(0);
        Ok(rate)
    }

    /// Measures the storage below a directory.
    fn storage(&mut self, place: usize, storage: &StorageWork, round: &Round) -> Result<f64, Problem> {
        let name = &self.context.job.subjects[place].name;
        self.context.events.now(format!("{name}: {}, block {}", storage.words(), round.number + 1));
        let rate = storage.run(self.context)?;
        self.read_idle(0);
        Ok(rate)
    }

    /// Loads the tables of a subject again; those of the load before are dropped, and nothing is left to write out.
    fn load(&mut self, place: usize, round: &Round) -> Result<f64, Problem> {
        let Context { job, prepared, events, .. } = self.context;
        let subject = &job.subjects[place];
        let Some((at, plan)) = subject.server.and_then(|at| Some((at, prepared.load_at(at)?))) else {
            return Err(Problem::wrong_request(format!("{} loads no tables", subject.name)));
        };
        let whose = format!("{}, block {}: ", subject.name, round.number + 1);
        events.now(format!("{whose}load"));
        self.servers[at].drop_loaded(plan)?;
        let streams = job.load_at(at).streams();
        let loaded = fill::load_again(self.context, plan, streams, &mut self.servers[at], &whose)?;
        let duration_s = loaded.stages.iter().map(|stage| stage.duration_s).sum();
        let arm = if place == 0 { Arm::A } else { Arm::B };
        let load =
            TimedLoad { block: round.number + 1, arm, rows: loaded.rows, duration_s, stages: loaded.stages };
        if let Some(comparison) = &mut self.recording.record.comparison {
            comparison.loads.push(load);
        }
        self.settle(at, place, round)?;
        self.read_idle(at);
        Ok(loaded.rows as f64 / duration_s)
    }

    /// What pgdyno's driver runs for a subject, and how; `None` for a command. All subjects use the protocol that works
    /// for each: a pooler may rule out prepared statements.
    fn work(&self, place: usize, round: &Round) -> Option<(&'a Work, Protocol)> {
        let Context { job, prepared, .. } = self.context;
        let of_plan = prepared.plan.workload.get(round.workload);
        let possible = of_plan.map_or(Protocol::Prepared, |workload| workload.protocol);
        match &job.subjects[place].work {
            SubjectWork::Command(_) | SubjectWork::Load | SubjectWork::Storage(_) => None,
            SubjectWork::Plan => Some((&job.workload_files.work[round.workload], possible)),
            SubjectWork::Script { work, protocol } => {
                let protocol = if *protocol == Protocol::Prepared { possible } else { *protocol };
                Some((work, protocol))
            }
        }
    }

    /// The cell that the driver runs for a subject, and the index of its server.
    fn cell(&self, place: usize, round: &Round) -> Result<(usize, Cell<'a>), Problem> {
        let subject = &self.context.job.subjects[place];
        let Some((at, (work, protocol))) = subject.server.zip(self.work(place, round)) else {
            let name = &subject.name;
            return Err(Problem::wrong_request(format!("{name} has a script and no server")));
        };
        let workload = Workload {
            script: work.name.clone(),
            builtin: work.builtin.map(Builtin::name).filter(|name| *name != work.name).map(str::to_owned),
            protocol: protocol.name().to_owned(),
            clients: round.clients_of(subject),
            rate_per_s: self.context.prepared.plan.measure.rate,
            subject: self.recording.record.name_in_runs(place).map(str::to_owned),
        };
        Ok((
            at,
            Cell {
                workload,
                protocol,
                work,
                place,
                drive: subject.drive.as_ref(),
                block: round.block,
                draws: round.number,
            },
        ))
    }

    /// Measures with pgdyno's own driver.
    fn drive(&mut self, place: usize, round: &Round) -> Result<f64, Problem> {
        let (at, cell) = self.cell(place, round)?;
        let kept = &mut self.slots.clients[place];
        let run = cell::run(self.context, self.recording, &mut self.servers[at], &cell, kept)?;
        let settled = self.settle(at, place, round)?;
        let idle = self.read_idle(at);
        let Some(record) = self.recording.record.runs.get_mut(run as usize) else { return Ok(0.0) };
        record.idle = idle;
        record.reset_s =
            [record.reset_s, settled.reset_s].into_iter().flatten().reduce(|sum, more| sum + more);
        record.checkpoint_s = record.checkpoint_s.map(|before_s| before_s + settled.checkpoint_s);
        let by = self.context.job.comparison().map_or(ComparedRate::Tps, |compare| compare.by);
        Ok(match by {
            ComparedRate::Tps => record.tps,
            ComparedRate::NewOrders => record.nopm.unwrap_or(0.0) / 60.0,
            ComparedRate::LoadedRows | ComparedRate::Syncs | ComparedRate::Reads => 0.0,
        })
    }

    /// Restores the data and quiesces a server after a subject's run, if there are several subjects; in slots, after
    /// the last of a start. With a single subject, data carries over, and the plan's own resets happen before each run.
    fn settle(&mut self, at: usize, place: usize, round: &Round) -> Result<Settled, Problem> {
        let Some(between) = self.between else { return Ok(Settled::default()) };
        if self.context.job.has_slots() {
            self.slots.unsettled = Some(round.clone());
            return Ok(Settled::default());
        }
        self.settle_now(between, at, place, round)
    }

    fn settle_now(
        &mut self,
        between: BetweenRuns,
        at: usize,
        place: usize,
        round: &Round,
    ) -> Result<Settled, Problem> {
        let work = self.work(place, round).map(|(work, _)| work);
        let subject = &self.context.job.subjects[place];
        let wrote = Wrote::of(&subject.work, work);
        let ran = work.map(|work| (work, round.clients_of(subject)));
        self.servers[at].settle(self.context, between, &mut self.ledgers[at], wrote, ran)
    }

    /// Closes the connections of a start's slots, and does what other runs do after each: servers are settled.
    fn end_slots(&mut self) -> Result<(), Problem> {
        self.slots.clients.iter_mut().for_each(|clients| *clients = None);
        let Some((between, round)) = self.between.zip(self.slots.unsettled.take()) else { return Ok(()) };
        for (place, subject) in self.context.job.subjects.iter().enumerate() {
            subject
                .server
                .map_or(Ok(Settled::default()), |at| self.settle_now(between, at, place, &round))?;
        }
        Ok(())
    }
}
