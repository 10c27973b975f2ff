//! Runs round after round until the schedule ends.

use std::{sync::Arc, time::Instant};

use pgdyno_core::{
    measure::{Arm, Workload},
    problem::Problem,
};
use pgdyno_plan::Work;
use pgdyno_postgres::verify::Ledger;
use pgdyno_record::{BlockKind, BlockRecord};
use pgdyno_script::Protocol;

use super::{
    between::{BetweenRuns, Settled, Wrote},
    idle::IdleReadings,
    schedule::{Round, Schedule},
};
use crate::{
    Job, Measured, SubjectJob, SubjectWork,
    cell::{Bench, Cell, Driving},
    counters_sampler::CountersSampler,
    subject::Subject,
    workload_files,
};

/// Runs all rounds.
///
/// # Errors
/// The error that ended them early; whole rounds are in the record.
pub fn run(
    job: &Job,
    servers: &mut [Subject],
    ledgers: &mut [Ledger],
    between: BetweenRuns,
    driving: Driving<'_>,
) -> Result<(), Problem> {
    let prepared = driving.prepared;
    let schedule = Schedule::new(job, prepared);
    let samplers = servers.iter().map(|subject| driving.sampler(subject)).collect();
    let samples_waits = job.has_several() && job.comparison().is_none();
    servers.iter_mut().for_each(|subject| subject.samples_waits = samples_waits);
    let idle_readings = IdleReadings::read(servers);
    let began = Instant::now();
    let mut rounds =
        Rounds { job, servers, ledgers, samplers, driving, between, idle_readings, began, blocks_made: 0 };
    rounds.record_choices();
    while let Some(round) = schedule.next(&rounds.driving.recording.record) {
        rounds.round(round)?;
    }
    Ok(())
}

struct Rounds<'a> {
    job: &'a Job,
    servers: &'a mut [Subject],
    /// Expected contents of history, for each server.
    ledgers: &'a mut [Ledger],
    samplers: Vec<CountersSampler>,
    driving: Driving<'a>,
    between: BetweenRuns,
    /// CPU use of all servers at the end of the previous run.
    idle_readings: IdleReadings,
    began: Instant,
    /// Blocks measured since the start of this process.
    blocks_made: u32,
}

impl Rounds<'_> {
    /// Records the work between runs as choices.
    fn record_choices(&mut self) {
        if self.between == BetweenRuns::Nothing {
            return;
        }
        let choices = &mut self.driving.recording.record.choices;
        if self.servers.iter().any(|subject| subject.own_data_dir().is_some()) {
            choices.push(self.between.choice());
        }
        let works = &self.driving.prepared.workload_files.work;
        let may_write = |subject: &SubjectJob| match &subject.work {
            SubjectWork::Plan => works.iter().any(|work| Wrote::by_plan(work) == Wrote::Tpcb),
            own => Wrote::by_itself(own) == Wrote::Tpcb,
        };
        if self.job.subjects.iter().any(|subject| subject.server.is_some() && may_write(subject)) {
            choices.push(self.between.choice_of_tables());
        }
    }

    /// Executes the runs of a round one after the other, all with the same rows and the same schedule.
    fn round(&mut self, round: &Round) -> Result<(), Problem> {
        let start_s = self.driving.recording.seconds();
        let mut rates = Vec::new();
        for place in &round.order {
            rates.push(self.one(*place, round)?);
        }
        match round.kind {
            Some((kind, first)) => self.add_block(round, kind, first, start_s, &rates),
            None => Ok(()),
        }
    }

    /// Adds the block of a finished round. In an A/A block, the run in B's place is recorded as B's.
    fn add_block(
        &mut self,
        round: &Round,
        kind: BlockKind,
        first: Arm,
        start_s: f64,
        rates: &[f64],
    ) -> Result<(), Problem> {
        let of = |arm: Arm| rates.get(usize::from(arm != first)).copied().unwrap_or_default();
        let number = round.number + 1;
        let block = BlockRecord::new(number, kind, first, start_s, [of(Arm::A), of(Arm::B)]);
        let recording = &mut *self.driving.recording;
        if let Some(comparison) = &mut recording.record.comparison {
            comparison.blocks.push(block);
            self.blocks_made += 1;
            comparison.block_s = Some(self.began.elapsed().as_secs_f64() / f64::from(self.blocks_made));
        }
        recording.save()
    }

    /// Executes one run of a subject and returns its rate per second.
    fn one(&mut self, place: usize, round: &Round) -> Result<f64, Problem> {
        let subject = &self.job.subjects[place];
        if let Some(server) = subject.server {
            self.between.wake(&mut self.servers[server], self.driving.stop)?;
        }
        let of_plan = &self.driving.prepared.plan.workload;
        let possible = of_plan.get(round.workload).map_or(Protocol::Prepared, |workload| workload.protocol);
        let rate = match &subject.work {
            SubjectWork::Command(command) => self.command(place, command, round)?,
            SubjectWork::Plan => {
                let own = &self.driving.prepared.workload_files.work[round.workload];
                self.drive(place, own, possible, Wrote::by_plan(own), round)?
            }
            SubjectWork::Script { work, protocol } => {
                // All subjects use the protocol that works for each: a pooler may rule out prepared statements.
                let protocol = if *protocol == Protocol::Prepared { possible } else { *protocol };
                self.drive(place, work, protocol, Wrote::by_itself(&subject.work), round)?
            }
        };
        if self.job.comparison().is_none() || (rate > 0.0 && rate.is_finite()) {
            return Ok(rate);
        }
        Err(Problem::could_not(format!("{} did nothing in block {}", subject.name, round.number + 1))
            .detail(self.first_error())
            .hint("a comparison needs a result above 0: increase --duration, or fix the error"))
    }

    fn first_error(&self) -> String {
        let last = self.driving.recording.record.runs.last();
        let error = last.and_then(|run| run.errors.first());
        error.map_or("nothing was committed".to_owned(), |error| format!("{}: {}", error.code, error.message))
    }

    /// Measures by an external command.
    fn command(&mut self, place: usize, command: &Measured, round: &Round) -> Result<f64, Problem> {
        let subject = &self.job.subjects[place];
        let server = subject.server.map(|at| &self.servers[at]);
        self.driving.events.now(format!("{}: command, block {}", subject.name, round.number + 1));
        let rate = command.run(&self.driving, server)?;
        if let Some(at) = subject.server {
            self.settle(at, Wrote::by_itself(&subject.work))?;
        }
        self.idle_readings = IdleReadings::read(self.servers);
        Ok(rate)
    }

    /// Measures with pgdyno's own driver.
    fn drive(
        &mut self,
        place: usize,
        own: &Work,
        protocol: Protocol,
        wrote: Wrote,
        round: &Round,
    ) -> Result<f64, Problem> {
        let prepared = self.driving.prepared;
        let Some(at) = self.job.subjects[place].server else {
            let name = &self.job.subjects[place].name;
            return Err(Problem::wrong_request(format!("{name} has a script and no server")));
        };
        let workload = Workload {
            script: own.name.clone(),
            protocol: protocol.name().to_owned(),
            clients: round.clients,
            rate_per_s: prepared.plan.measure.rate,
            subject: self.driving.recording.record.name_in_runs(place).map(str::to_owned),
        };
        let subject = &mut self.servers[at];
        let script = match own.builtin {
            Some(builtin) => Arc::new(subject.scripts(builtin)?),
            None => Arc::clone(&own.scripts),
        };
        let (block, draws) = (round.block, round.number);
        let cell = Cell { workload, protocol, script: &script, own: Some(own), block, draws };
        let run = self.driving.run(Bench { subject, sampler: &mut self.samplers[at] }, cell)?;
        let reset_s = self.reset(at, own, round.clients)?;
        let settled = self.settle(at, wrote)?;
        self.add(run, at, reset_s, settled);
        Ok(self.driving.recording.record.runs.get(run as usize).map_or(0.0, |run| run.tps))
    }

    fn settle(&mut self, at: usize, wrote: Wrote) -> Result<Settled, Problem> {
        let Driving { stop, events, .. } = self.driving;
        self.between.settle(&mut self.servers[at], &mut self.ledgers[at], wrote, stop, events)
    }

    /// Resets what a script of the plan wrote, before the CHECKPOINT: discarded changes need not be written out.
    /// Returns the seconds of the reset, if there is one. With a single subject, the reset happens before each run
    /// instead.
    fn reset(&mut self, at: usize, own: &Work, clients: u32) -> Result<Option<f64>, Problem> {
        if own.reset.is_none() || self.between == BetweenRuns::Nothing {
            return Ok(None);
        }
        let Driving { prepared, stop, events, .. } = self.driving;
        let (begin, subject) = (Instant::now(), &mut self.servers[at]);
        subject.revive(stop)?;
        workload_files::reset(prepared, subject, own, clients, stop, events)?;
        Ok(Some(begin.elapsed().as_secs_f64()))
    }

    /// Adds to a run's record the work after it, and what the other servers did meanwhile.
    fn add(&mut self, run: u32, at: usize, reset_s: Option<f64>, settled: Settled) {
        let now = IdleReadings::read(self.servers);
        let idle = now.since(&self.idle_readings, at);
        self.idle_readings = now;
        if let Some(record) = self.driving.recording.record.runs.get_mut(run as usize) {
            record.idle = idle;
            let seconds = [record.reset_s, reset_s, settled.reset_s];
            record.reset_s = seconds.into_iter().flatten().reduce(|sum, more| sum + more);
            record.checkpoint_s = record.checkpoint_s.map(|before_s| before_s + settled.checkpoint_s);
        }
    }
}
