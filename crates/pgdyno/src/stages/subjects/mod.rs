//! `run` with several subjects: a server for each, every cell of one beside that of the others.

mod idle;
mod recorded;
mod rest;

use std::{sync::Arc, time::Instant};

use pgdyno_analysis::compare::{Asked, turns};
use pgdyno_core::{measure::Workload, problem::Problem, stop::Stop};
use pgdyno_plan::Work;
use pgdyno_postgres::verify::Ledger;
use pgdyno_script::{Builtin, Scripts};

pub use recorded::{conclude, first_record};

use super::{
    Job,
    cell::{Bench, Cell, Driving},
    fill::{Filled, fill},
    full_disk,
    holding::{When, look},
    load, material,
    prepare::Prepared,
    recording::Recording,
    side_by_side,
    storage::storage_stage,
    subject::{Subject, keep_evidence, with_leftovers},
    tpcc,
    watch::Watch,
};
use crate::progress::Progress;
use idle::IdleReadings;
use rest::{Rest, Settled};

/// A difference within ± this share does not matter.
const MARGIN: f64 = 0.02;

/// What is measured side by side: one for each of the job's servers, at least two. The first is the reference.
#[derive(Debug)]
pub struct Subjects {
    /// The subjects in the order of the job's servers.
    pub list: Vec<SubjectJob>,
}

/// One of them.
#[derive(Debug)]
pub struct SubjectJob {
    /// Its name, which no other has.
    pub name: String,
    /// What was asked for, without secrets.
    pub said: String,
    /// What of it was asked to differ from the first.
    pub asked: Asked,
}

/// All stages, from the servers to their end.
///
/// # Errors
/// The first problem; what was measured before it is in the record.
pub fn all_stages(
    job: &Job,
    subjects: &Subjects,
    prepared: &Prepared,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let explain = |problem| full_disk::explain(problem, &full_disk::places(job));
    let opened = recording.stage("server", stop, |_| side_by_side::open(job, prepared, stop, progress));
    let mut servers = opened.map_err(explain)?;
    recorded::set_servers(recording, subjects, prepared, &servers)?;
    let rest = Rest::of(&job.servers, prepared);
    let measured = storage(job, &servers, recording, stop, progress)
        .and_then(|()| measured_stages(subjects, prepared, &mut servers, rest, recording, stop, progress))
        .map_err(explain);
    let numbers = (1..).map(|number: u32| number.to_string());
    let logged = side_by_side::keep_logs(servers.iter().zip(numbers), recording);
    let (evidence, measured) = keep_evidence(measured);
    let closed = recording.stage_always("clean up", || {
        progress.stage("cleaning up");
        side_by_side::close(servers.iter_mut(), job.keep || evidence)
    });
    with_leftovers(measured.and(logged), closed)
}

/// What a synchronous write costs under the data of the first server, and on every other file system of one.
fn storage(
    job: &Job,
    servers: &[Subject],
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    for (at, server) in servers.iter().enumerate() {
        if at == 0 {
            recording.record.sync_check = storage_stage(job, server, recording, stop, progress)?;
        } else if recorded::is_elsewhere(recording, at) {
            let check = storage_stage(job, server, recording, stop, progress)?;
            recorded::set(recording, at, |record| record.sync_check = check);
        }
    }
    Ok(())
}

fn measured_stages(
    subjects: &Subjects,
    prepared: &Prepared,
    servers: &mut [Subject],
    rest: Rest,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    for (at, subject) in servers.iter_mut().enumerate() {
        fill(prepared, subject, recording, stop, progress, |recording, filled| {
            recorded::set(recording, at, |record| match filled {
                Filled::Loaded(loaded) => record.load = Some(*loaded),
                Filled::Own(done) => record.setup = Some(done),
                Filled::All(tier) => {
                    record.server.iter_mut().for_each(|server| server.durability = tier);
                }
            });
        })?;
        recorded::judge(recording, subjects, prepared);
        recording.save()?;
    }
    look(When::Before, servers.iter_mut(), recording, stop, progress, recorded::set_held)?;
    recording.stage("put to rest", stop, |_| {
        servers.iter_mut().try_for_each(|subject| rest.begin(subject, prepared))
    })?;
    let mut ledgers = vec![Ledger::default(); servers.len()];
    recording.stage("measure", stop, |recording| {
        let driving = Driving::begin(prepared, recording, stop, progress)?;
        drive(subjects, servers, &mut ledgers, rest, driving)
    })?;
    for (at, subject) in servers.iter_mut().enumerate() {
        let tier = subject.look_at_tables_again(stop);
        recording.weaken_all(tier, |workload| workload.subject.as_deref() == Some(&*subjects.list[at].name));
    }
    recorded::judge(recording, subjects, prepared);
    look(When::After, servers.iter_mut(), recording, stop, progress, recorded::set_held)?;
    recording.stage("check", stop, |recording| {
        for (at, ((subject, ledger), job)) in servers.iter_mut().zip(ledgers).zip(&subjects.list).enumerate()
        {
            let balance =
                load::check_sums(prepared, subject, ledger, &recording.record, &job.name, stop, progress)?;
            recorded::set(recording, at, |record| record.balance = balance);
            let consistency = tpcc::check(prepared, subject, stop, progress)?;
            recorded::set(recording, at, |record| record.consistency = consistency);
        }
        Ok(())
    })
}

/// Runs all cells of a workload, then those of the next. Blocks go up and down the client counts in turn, and at each
/// of them the subjects take turns right after each other, so that a drift of the machine meets all alike.
fn drive(
    subjects: &Subjects,
    servers: &mut [Subject],
    ledgers: &mut [Ledger],
    rest: Rest,
    driving: Driving<'_>,
) -> Result<(), Problem> {
    let prepared = driving.prepared;
    let watches = servers.iter().map(|subject| driving.watch(subject)).collect();
    servers.iter_mut().for_each(|subject| subject.looks_at_waits = true);
    let choices = &mut driving.recording.record.choices;
    if servers.iter().any(|subject| subject.own_data_dir().is_some()) {
        choices.push(rest.choice());
    }
    if prepared.material.work.iter().any(|work| work.builtin.is_some_and(Builtin::writes)) {
        choices.push(rest.choice_of_tables());
    }
    let idle_readings = IdleReadings::read(servers);
    let mut round = Round { subjects, servers, ledgers, watches, driving, rest, idle_readings, rounds: 0 };
    let mut levels_before = 0;
    for (at, levels) in prepared.bench.levels.iter().enumerate() {
        let scripts = round.scripts(at)?;
        for block in 0..prepared.plan.measure.blocks {
            let mut order: Vec<usize> = (0..levels.len()).collect();
            if block % 2 == 1 {
                order.reverse();
            }
            for level in order {
                let number = levels_before + level as u32;
                round.all(&Level {
                    workload: at,
                    clients: levels[level],
                    number,
                    block,
                    scripts: &scripts,
                })?;
            }
        }
        levels_before += levels.len() as u32;
    }
    Ok(())
}

/// What all subjects do in one round.
struct Level<'a> {
    /// Number of the plan's workload.
    workload: usize,
    clients: u32,
    /// Number of the level over all workloads.
    number: u32,
    block: u32,
    /// The script as each subject's clients can run it.
    scripts: &'a [Arc<Scripts>],
}

struct Round<'a> {
    subjects: &'a Subjects,
    servers: &'a mut [Subject],
    /// What history has held in each.
    ledgers: &'a mut [Ledger],
    watches: Vec<Watch>,
    driving: Driving<'a>,
    rest: Rest,
    /// What all servers had used when the run before was over.
    idle_readings: IdleReadings,
    rounds: u32,
}

impl Round<'_> {
    fn scripts(&self, workload: usize) -> Result<Vec<Arc<Scripts>>, Problem> {
        let work = &self.driving.prepared.material.work[workload];
        let of = |subject: &Subject| match work.builtin {
            Some(builtin) => subject.scripts(builtin).map(Arc::new),
            None => Ok(Arc::clone(&work.scripts)),
        };
        self.servers.iter().map(of).collect()
    }

    /// One run of every subject, all with the same rows and the same schedule.
    fn all(&mut self, level: &Level<'_>) -> Result<(), Problem> {
        let order = turns(self.servers.len(), self.driving.prepared.seed, level.number, level.block);
        for at in order {
            self.one(at, level)?;
        }
        self.rounds += 1;
        Ok(())
    }

    fn one(&mut self, at: usize, level: &Level<'_>) -> Result<(), Problem> {
        let prepared = self.driving.prepared;
        let protocol = prepared.plan.workload[level.workload].protocol;
        let own = &prepared.material.work[level.workload];
        let workload = Workload {
            script: own.name.clone(),
            protocol: protocol.name().to_owned(),
            clients: level.clients,
            rate_per_s: prepared.plan.measure.rate,
            arm: None,
            subject: Some(self.subjects.list[at].name.clone()),
        };
        let subject = &mut self.servers[at];
        self.rest.wake(subject, self.driving.stop)?;
        let cell = Cell {
            workload,
            protocol,
            script: &level.scripts[at],
            own: Some(own),
            block: level.block,
            draws: Some(self.rounds),
        };
        let run = self.driving.run(Bench { subject, watch: &mut self.watches[at] }, cell)?;
        let put_back_s = self.put_back(at, own, level.clients)?;
        let Driving { stop, progress, .. } = self.driving;
        let settled = self.rest.settle(&mut self.servers[at], &mut self.ledgers[at], own, stop, progress)?;
        self.add(run, at, put_back_s, settled);
        Ok(())
    }

    /// Puts back what a script of the plan's own wrote before it is written out: what a reset throws away need not be.
    /// Gives the seconds that it took, where there is a reset.
    fn put_back(&mut self, at: usize, own: &Work, clients: u32) -> Result<Option<f64>, Problem> {
        if own.reset.is_none() {
            return Ok(None);
        }
        let Driving { prepared, stop, progress, .. } = self.driving;
        let (begin, subject) = (Instant::now(), &mut self.servers[at]);
        subject.revive(stop)?;
        material::reset(prepared, subject, own, clients, stop, progress)?;
        Ok(Some(begin.elapsed().as_secs_f64()))
    }

    /// Adds what came after a run to its record, and what the other servers did in its time.
    fn add(&mut self, run: u32, at: usize, put_back_s: Option<f64>, settled: Settled) {
        let now = IdleReadings::read(self.servers);
        let idle = now.since(&self.idle_readings, at);
        self.idle_readings = now;
        if let Some(record) = self.driving.recording.record.runs.get_mut(run as usize) {
            record.idle = idle;
            let seconds = [record.reset_s, put_back_s, settled.reset_s];
            record.reset_s = seconds.into_iter().flatten().reduce(|sum, more| sum + more);
            record.checkpoint_s = record.checkpoint_s.map(|before_s| before_s + settled.checkpoint_s);
        }
    }
}
