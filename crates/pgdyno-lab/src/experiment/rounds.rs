//! Runs round after round until the schedule ends.

use std::time::Instant;

use pgdyno_core::{
    measure::{Arm, IdleServers, Workload},
    problem::Problem,
};
use pgdyno_plan::Work;
use pgdyno_postgres::verify::Ledger;
use pgdyno_record::BlockRecord;
use pgdyno_script::Protocol;

use super::{
    idle::{IdleReadings, since_last},
    schedule::{self, Round},
};
use crate::{
    Measured, SubjectWork,
    between::{BetweenRuns, Wrote},
    cell::{self, Cell},
    context::Context,
    counters_sampler::CountersSampler,
    recording::Recording,
    subject::{Subject, run_state::Settled},
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
    servers: &mut [Subject],
    recording: &mut Recording,
) -> Result<Vec<Ledger>, Problem> {
    let ledgers = vec![Ledger::default(); servers.len()];
    let began = Instant::now();
    let mut rounds =
        Rounds { context, servers, ledgers, recording, between, idle: None, began, blocks_made: 0 };
    rounds.begin()?;
    while let Some(round) = schedule::next(context.job, context.prepared, &rounds.recording.record) {
        rounds.round(&round)?;
    }
    Ok(rounds.ledgers)
}

struct Rounds<'a> {
    context: Context<'a>,
    servers: &'a mut [Subject],
    /// Expected contents of history, for each server.
    ledgers: Vec<Ledger>,
    recording: &'a mut Recording,
    /// The work between two runs, if there are several subjects.
    between: Option<BetweenRuns>,
    /// CPU use of all servers at the end of the previous run, if there are several subjects.
    idle: Option<IdleReadings>,
    began: Instant,
    /// Blocks measured since the start of this process.
    blocks_made: u32,
}

impl Rounds<'_> {
    /// Pins this thread to the driver's CPUs, announces the duration of all runs, and begins to observe the servers.
    fn begin(&mut self) -> Result<(), Problem> {
        let Context { job, prepared, events, .. } = self.context;
        pgdyno_engine::pin_current_thread(&prepared.bench.cpus.driver)
            .map_err(|error| Problem::could_not(format!("could not use the driver's CPUs: {error}")))?;
        events.measuring(prepared.run_s * prepared.bench.cost.runs as f64);
        for server in &mut *self.servers {
            let device = server.storage().and_then(|storage| storage.device);
            server.sampler = CountersSampler::new(server.postmaster, device);
            server.samples_waits = job.has_several() && job.comparison().is_none();
        }
        if let Some(between) = self.between {
            self.read_idle(0);
            self.recording.record.choices.extend(between.choices(job));
        }
        Ok(())
    }

    /// What all servers but the measured one did since the previous reading.
    fn read_idle(&mut self, measured: usize) -> Option<IdleServers> {
        self.between.and_then(|_| since_last(&mut self.idle, self.servers, measured))
    }

    /// Executes the runs of a round one after the other, all with the same rows and the same schedule.
    fn round(&mut self, round: &Round) -> Result<(), Problem> {
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

    /// Adds the block of a finished round.
    fn add_block(&mut self, round: &Round, first: Arm, start_s: f64, rates: &[f64]) -> Result<(), Problem> {
        let of = |arm: Arm| rates.get(usize::from(arm != first)).copied().unwrap_or_default();
        let block = BlockRecord::new(round.number + 1, first, start_s, [of(Arm::A), of(Arm::B)]);
        let recording = &mut *self.recording;
        if let Some(comparison) = &mut recording.record.comparison {
            comparison.blocks.push(block);
            self.blocks_made += 1;
            comparison.block_s = Some(self.began.elapsed().as_secs_f64() / f64::from(self.blocks_made));
        }
        recording.save()
    }

    /// Executes one run of a subject and returns its rate per second.
    fn one(&mut self, place: usize, round: &Round) -> Result<f64, Problem> {
        let Context { job, prepared, .. } = self.context;
        let subject = &job.subjects[place];
        if let Some((between, at)) = self.between.zip(subject.server) {
            self.servers[at].wake(between)?;
        }
        let of_plan = &prepared.plan.workload;
        let possible = of_plan.get(round.workload).map_or(Protocol::Prepared, |workload| workload.protocol);
        let rate = match &subject.work {
            SubjectWork::Command(command) => self.command(place, command, round)?,
            SubjectWork::Plan => {
                self.drive(place, &job.workload_files.work[round.workload], possible, round)?
            }
            SubjectWork::Script { work, protocol } => {
                // All subjects use the protocol that works for each: a pooler may rule out prepared statements.
                let protocol = if *protocol == Protocol::Prepared { possible } else { *protocol };
                self.drive(place, work, protocol, round)?
            }
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
        let rate = command.run(self.context, server)?;
        if let Some(at) = subject.server {
            self.settle(at, Wrote::of(&subject.work, None), None)?;
        }
        self.read_idle(0);
        Ok(rate)
    }

    /// Measures with pgdyno's own driver.
    fn drive(
        &mut self,
        place: usize,
        work: &Work,
        protocol: Protocol,
        round: &Round,
    ) -> Result<f64, Problem> {
        let subject = &self.context.job.subjects[place];
        let Some(at) = subject.server else {
            let name = &subject.name;
            return Err(Problem::wrong_request(format!("{name} has a script and no server")));
        };
        let workload = Workload {
            script: work.name.clone(),
            protocol: protocol.name().to_owned(),
            clients: round.clients,
            rate_per_s: self.context.prepared.plan.measure.rate,
            subject: self.recording.record.name_in_runs(place).map(str::to_owned),
        };
        let cell = Cell { workload, protocol, work, block: round.block, draws: round.number };
        let run = cell::run(self.context, self.recording, &mut self.servers[at], &cell)?;
        let wrote = Wrote::of(&subject.work, Some(work));
        let settled = self.settle(at, wrote, Some((work, round.clients)))?;
        let idle = self.read_idle(at);
        let Some(record) = self.recording.record.runs.get_mut(run as usize) else { return Ok(0.0) };
        record.idle = idle;
        record.reset_s =
            [record.reset_s, settled.reset_s].into_iter().flatten().reduce(|sum, more| sum + more);
        record.checkpoint_s = record.checkpoint_s.map(|before_s| before_s + settled.checkpoint_s);
        Ok(record.tps)
    }

    /// Restores the data and quiesces a server after its run, if there are several subjects. With a single one, data
    /// carries over, and the plan's own resets happen before each run.
    fn settle(&mut self, at: usize, wrote: Wrote, ran: Option<(&Work, u32)>) -> Result<Settled, Problem> {
        let Some(between) = self.between else { return Ok(Settled::default()) };
        self.servers[at].settle(self.context, between, &mut self.ledgers[at], wrote, ran)
    }
}
