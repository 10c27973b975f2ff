//! `run` with several subjects: a server for each, every cell of one beside that of the others.

mod recorded;

use std::{sync::Arc, time::Duration};

use pgdyno_core::{
    advice::Choice,
    analysis::compare::{Asked, turns},
    measure::Workload,
    problem::Problem,
    script::Scripts,
};
use pgdyno_engine::Stop;

use super::{
    Job, Wanted,
    cell::{Bench, Cell, Driving},
    full_disk, load, material,
    prepare::Prepared,
    recording::Recording,
    side_by_side, storage_stage,
    subject::{Subject, keep_evidence},
    watch::Watch,
};
use crate::progress::Progress;

pub use recorded::first_record;

/// A difference within ± this share does not matter.
const MARGIN: f64 = 0.02;

/// Settings that begin so are about autovacuum.
const AUTOVACUUM: &str = "autovacuum";

/// A server's autovacuum comes by once a minute (`autovacuum_naptime`), which no setting of pgdyno's changes.
const AUTOVACUUM_EVERY: Duration = Duration::from_secs(60);

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
    let checked = match servers.first() {
        Some(first) => storage_stage(job, first, recording, stop, progress),
        None => Ok(()),
    };
    let rest = Rest::of(&job.servers, prepared);
    let measured = checked
        .and_then(|()| measured_stages(subjects, prepared, &mut servers, rest, recording, stop, progress))
        .map_err(explain);
    let numbers = (1..).map(|number: u32| number.to_string());
    let logged = side_by_side::keep_logs(servers.iter().zip(numbers), recording);
    let (evidence, measured) = keep_evidence(measured);
    let closed = recording.stage_always("clean up", || {
        progress.stage("cleaning up");
        side_by_side::close(servers.iter_mut(), job.keep || evidence)
    });
    measured.and(logged).and(closed)
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
        fill(at, prepared, subject, recording, stop, progress)?;
        if rest != Rest::AsAsked {
            subject.rest()?;
        }
        recorded::judge(recording, subjects, prepared);
        recording.save()?;
    }
    recording.stage("measure", stop, |recording| {
        drive(subjects, prepared, servers, rest, recording, stop, progress)
    })?;
    recording.stage("check", stop, |recording| {
        for (at, (subject, job)) in servers.iter_mut().zip(&subjects.list).enumerate() {
            let balance = load::check(prepared, subject, &recording.record, Some(&job.name), stop, progress)?;
            recorded::set(recording, at, |record| record.balance = balance);
        }
        Ok(())
    })
}

/// Loads the tables of one subject, and sets the plan's own up.
fn fill(
    at: usize,
    prepared: &Prepared,
    subject: &mut Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    if let Some(scale) = prepared.bench.scale {
        let loaded =
            recording.stage("load", stop, |_| load::load(scale, prepared, subject, stop, progress))?;
        recorded::set(recording, at, |record| record.load = Some(loaded));
    }
    if prepared.material.setup.is_some() {
        let done = recording.stage("setup", stop, |_| material::set_up(prepared, subject, stop, progress))?;
        recorded::set(recording, at, |record| record.setup = done);
    }
    if subject.elsewhere.is_some() {
        recording.stage("replication", stop, |_| subject.wait_for_replication(stop, progress))?;
    }
    Ok(())
}

/// Runs all cells of a workload, then those of the next. Blocks go up and down the client counts in turn, and at each
/// of them the subjects take turns right after each other, so that a drift of the machine meets all alike.
fn drive(
    subjects: &Subjects,
    prepared: &Prepared,
    servers: &mut [Subject],
    rest: Rest,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let driving = Driving::begin(prepared, recording, stop, progress)?;
    let watches = servers.iter().map(|subject| driving.watch(subject)).collect();
    servers.iter_mut().for_each(|subject| subject.looks_at_waits = true);
    if servers.iter().any(|subject| subject.own_data_dir().is_some()) {
        driving.recording.record.choices.push(rest.choice());
    }
    let mut round = Round { subjects, servers, watches, driving, rest, rounds: 0 };
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
    watches: Vec<Watch>,
    driving: Driving<'a>,
    rest: Rest,
    rounds: u32,
}

/// When the autovacuum of servers that were made for the run is off: dead rows of a server's last run must not bring it
/// into the interval of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Over all runs: they are shorter than its pause, so it would come into some and not into others.
    AllTheTime,
    /// Between the server's own runs.
    WhileOthersRun,
    /// Never by pgdyno: what it does was asked for, of one of the servers or of all.
    AsAsked,
}

impl Rest {
    /// By what was asked of the servers, and by the length of a run.
    fn of(servers: &[Wanted], prepared: &Prepared) -> Self {
        let is_asked = servers.iter().any(|wanted| match wanted {
            Wanted::Own(request) => request.settings.keys().any(|name| is_about_autovacuum(name)),
            Wanted::External(_) => false,
        });
        let measure = &prepared.plan.measure;
        match is_asked {
            true => Self::AsAsked,
            false => Self::between(measure.warmup.as_secs_f64() + measure.duration.as_secs_f64()),
        }
    }

    /// For runs of so many seconds.
    fn between(run_s: f64) -> Self {
        match run_s < AUTOVACUUM_EVERY.as_secs_f64() {
            true => Self::AllTheTime,
            false => Self::WhileOthersRun,
        }
    }

    /// As a choice with its reason.
    fn choice(self) -> Choice {
        let (value, reason) = match self {
            Self::AllTheTime => (
                "off after the load",
                "runs are shorter than its pause of a minute: it would come into some alone",
            ),
            Self::WhileOthersRun => (
                "off while another subject runs",
                "it would work on dead rows in the interval of another one",
            ),
            Self::AsAsked => (
                "as asked",
                "settings of it were asked for: pgdyno leaves it alone, and it may work in the interval of another",
            ),
        };
        Choice { name: AUTOVACUUM.into(), value: value.into(), reason: reason.into() }
    }
}

fn is_about_autovacuum(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with(AUTOVACUUM)
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
        recorded::conclude(self.driving.recording);
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
        if self.rest == Rest::WhileOthersRun {
            subject.revive(self.driving.stop)?;
            subject.wake()?;
        }
        let cell = Cell {
            workload,
            protocol,
            script: &level.scripts[at],
            own: Some(own),
            block: level.block,
            draws: Some(self.rounds),
        };
        self.driving.run(Bench { subject, watch: &mut self.watches[at] }, cell)?;
        match self.rest {
            Rest::AllTheTime | Rest::AsAsked => Ok(()),
            Rest::WhileOthersRun => self.servers[at].rest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autovacuum_works_in_runs_that_it_would_come_into() {
        assert_eq!(Rest::between(59.0), Rest::AllTheTime);
        assert_eq!(Rest::between(60.0), Rest::WhileOthersRun);
    }

    #[test]
    fn settings_of_autovacuum_are_known_by_their_names() {
        for name in ["autovacuum", "AutoVacuum_naptime", "autovacuum_vacuum_scale_factor"] {
            assert!(is_about_autovacuum(name), "{name}");
        }
        assert!(!is_about_autovacuum("vacuum_cost_delay"));
        assert!(Rest::AsAsked.choice().reason.contains("leaves it alone"));
    }
}
