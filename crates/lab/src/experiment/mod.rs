//! The stages of an experiment: one subject, several side by side, or A and B in blocks. They differ only in the
//! schedule and in the question asked of the record.

mod command;
mod idle;
mod operations;
mod reload;
mod rounds;
mod schedule;
mod servers;
mod starts;
mod storage;
mod tables;

use std::time::Duration;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_plan::{Action, StagePlan, advice::bench::Level};
use pgdyno_record::{FootprintRecord, SubjectRecord};

use crate::{
    Events, Job, Lab, Prepared,
    ahead::Ahead,
    between::BetweenRuns,
    check::check,
    comparable::judge,
    context::Context,
    fill, full_disk,
    host_states::HostStates,
    recording::{Outcome, Recording},
    subject::Subject,
    table_sets::places,
    tpcc,
};

/// Runs a job. A request to stop ends it and keeps what was measured.
///
/// # Errors
/// The run directory could not be created, or one without a result could not be removed. An error of the experiment
/// itself is in the outcome.
pub fn execute(
    job: &Job,
    prepared: &Prepared,
    lab: &Lab,
    stop: &Stop,
    events: &Events,
) -> Result<Outcome, Problem> {
    let recording = Recording::begin(job, prepared, lab, events)?;
    carry_on(Context { job, prepared, stop, events }, recording)
}

/// Runs a job from the state of its recording.
///
/// # Errors
/// As [`execute`].
pub fn carry_on(context: Context<'_>, mut recording: Recording) -> Result<Outcome, Problem> {
    let Context { job, prepared, .. } = context;
    let ahead = Ahead::new(job, prepared, storage_check_time(job.level, prepared.run_s).as_secs_f64());
    let host = host_states(job, &recording, context.events)?;
    let result = Experiment { context, recording: &mut recording, servers: Vec::new(), host, ahead }.run();
    recording.end(result)
}

/// An experiment while it runs.
struct Experiment<'a> {
    context: Context<'a>,
    recording: &'a mut Recording,
    /// The servers in the job's order, once all are open.
    servers: Vec<Subject>,
    /// What of the host is changed for the runs.
    host: HostStates,
    ahead: Ahead,
}

/// The states of the host for the runs.
fn host_states(job: &Job, recording: &Recording, events: &Events) -> Result<HostStates, Problem> {
    let states = HostStates::of(job, &recording.record.host)?;
    if let Some(why) = states.record().and_then(|record| record.not_done) {
        events.warning(&format!("the host is not changed as the plan says: {why}"));
    }
    Ok(states)
}

impl Experiment<'_> {
    /// Runs all stages, from starting the servers to cleaning up.
    fn run(mut self) -> Result<(), Problem> {
        let job = self.context.job;
        let explain = |problem| full_disk::explain(problem, job);
        let opened = self.host_stage().and_then(|()| {
            self.stage("server", |this| {
                servers::open(this.context, &mut this.recording.record, &mut this.host).map_err(explain)
            })
        });
        match opened {
            Ok(servers) => self.servers = servers,
            Err(problem) => return with_leftovers(Err(problem), self.leave_host()),
        }
        self.watch();
        let measured = self.measured_stages().map_err(explain);
        let logged = self.keep_logs();
        let (evidence, measured) = keep_evidence(measured);
        let closed = self.clean_up(job.keep || evidence);
        let restored = self.leave_host();
        with_leftovers(with_leftovers(measured.and(logged), closed), restored)
    }

    /// Brings the host into the state of the first subject, if the plan says anything of it.
    fn host_stage(&mut self) -> Result<(), Problem> {
        if !self.host.concern() {
            return Ok(());
        }
        self.stage("host", |this| {
            let Context { stop, events, .. } = this.context;
            let entered = this.host.enter(0, stop, events);
            this.recording.record.host_changes = this.host.record();
            entered
        })
    }

    /// Puts the host back.
    fn leave_host(&mut self) -> Result<(), Problem> {
        let left = self.host.leave(self.context.events);
        self.recording.record.host_changes = self.host.record();
        left
    }

    /// Begins to observe the servers.
    fn watch(&mut self) {
        let Context { job, prepared, .. } = self.context;
        let sets = places(prepared.plan.data.tpcc.as_ref());
        for (at, server) in self.servers.iter_mut().enumerate() {
            let subject = job.subjects_at(at).next().filter(|_| job.has_several());
            let name = subject.map(|(_, subject)| subject.name.clone());
            let watched = server.watched(name, prepared.bench.max_clients(), &sets);
            server.watched = Some(self.recording.observers.watch(watched));
        }
    }

    /// The stages of the plan, in its order.
    fn measured_stages(&mut self) -> Result<(), Problem> {
        (0..self.servers.len()).try_for_each(|at| self.check_storage(at))?;
        let stages = self.context.prepared.plan.stages();
        // Existing tables are looked at where others would be loaded.
        if !stages.iter().any(|stage| stage.action == Action::Load) {
            self.fill_all()?;
        }
        for stage in &stages {
            match stage.action {
                Action::Load => self.fill_all()?,
                Action::Drive => self.drive()?,
                _ => self.operate(stage)?,
            }
        }
        if !stages.iter().any(|stage| stage.action == Action::Drive) {
            self.stage("sizes", |this| this.look_at_tables(When::Before))?;
        }
        Ok(())
    }

    fn fill_all(&mut self) -> Result<(), Problem> {
        (0..self.servers.len()).try_for_each(|at| self.fill(at))
    }

    /// Runs the workloads, between two looks at the tables, and checks the data.
    fn drive(&mut self) -> Result<(), Problem> {
        let Context { job, prepared, .. } = self.context;
        self.stage("sizes", |this| this.look_at_tables(When::Before))?;
        let between = BetweenRuns::of(job, prepared);
        if let Some(between) = between {
            self.stage("quiesce", |this| rounds::quiesce(this.context, between, &mut this.servers))?;
        }
        let ledgers = self.stage("measure", |this| {
            let on = (&mut *this.servers, &mut this.host);
            rounds::run(this.context, between, on, this.recording, &this.ahead)
        })?;
        self.stage("sizes", |this| this.look_at_tables(When::After))?;
        // What was loaded fast must be complete as well.
        if job.loads_in_runs() {
            self.operate(&StagePlan::new(Action::Verify))?;
        }
        self.stage("check", |this| {
            check(this.context, &mut this.servers, ledgers, &mut this.recording.record)
        })
    }

    /// Runs one stage and records its duration, also on failure. No stage starts after a request to stop.
    fn stage<R>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<R, Problem>,
    ) -> Result<R, Problem> {
        let stop = self.context.stop;
        if stop.requested() {
            let why = stop.reason().unwrap_or_default();
            return Err(Problem::could_not(format!("stopped before the stage `{name}`: {why}")));
        }
        self.servers.iter().for_each(|server| self.recording.follow(server));
        let start_s = self.recording.begin_stage(name);
        self.ahead.begin(name, self.context.events);
        let result = work(self);
        let saved = self.recording.end_stage(name, start_s, result.is_ok());
        let result = result?;
        saved.map(|()| result)
    }

    /// Executes a stage on one server, whose processes are profiled if that is wanted. A stage that fails has no
    /// profile: reading the samples would keep the user waiting.
    fn stage_on<T>(
        &mut self,
        at: usize,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.recording.follow(&self.servers[at]);
        let mut sampling = self.recording.sampling(self.servers[at].watched, None);
        // The stage's time is without that of perf.
        let done = self.stage(name, |this| {
            sampling.start();
            let done = work(this);
            sampling.stop();
            done
        })?;
        self.recording.end_sampling(sampling, self.context.job.of_subject(at, name));
        Ok(done)
    }

    /// Changes the records of the subjects on a server.
    fn record(&mut self, at: usize, change: impl FnMut(&mut SubjectRecord)) {
        let all = self.context.job.records_at(&mut self.recording.record, at);
        all.map(|(_, record)| record).for_each(change);
    }

    /// Measures the cost of a synchronous write under the data of the first server, and on every other file system with
    /// data of own servers.
    fn check_storage(&mut self, at: usize) -> Result<(), Problem> {
        let Context { job, prepared, stop, events } = self.context;
        let is_elsewhere =
            job.records_at(&mut self.recording.record, at).any(|(_, record)| record.storage.is_some());
        let own = self.servers[at].own_server().filter(|_| at == 0 || is_elsewhere);
        let Some(own) = own else { return Ok(()) };
        let data_dir = own.data_dir.clone();
        self.stage("storage check", |this| {
            events.doing("checking synchronous writes");
            let duration = storage_check_time(job.level, prepared.run_s);
            let check = pgdyno_host::disk::check_sync_writes(&data_dir, duration, stop)?;
            this.record(at, |record| record.sync_check = Some(check.clone()));
            Ok(())
        })
    }

    /// Fills a server. Each step is recorded as it finishes, so that it is in the record whatever happens next.
    fn fill(&mut self, at: usize) -> Result<(), Problem> {
        let Context { job, prepared, .. } = self.context;
        let workload =
            schedule::next(job, prepared, &self.recording.record).map_or(0, |round| round.workload);
        if let Some(plan) = prepared.load_for(at, workload) {
            let streams = job.load_for(at, workload).streams();
            self.stage_on(at, "load", |this| {
                let loaded = fill::load(this.context, plan, streams, &mut this.servers[at])?;
                this.servers[at].loaded_for = workload;
                reload::keep(this.context, this.recording, (at, workload), &loaded);
                Ok(())
            })?;
        }
        if prepared.plan.data.tpcc.is_some() {
            self.stage("inspect tables", |this| tpcc::ready(this.context, &mut this.servers[at], at))?;
        }
        if let Some(setup) = &job.workload_files.setup {
            self.stage_on(at, "setup", |this| {
                let done = Some(fill::set_up(this.context, setup, &mut this.servers[at])?);
                this.record(at, |record| record.setup.clone_from(&done));
                Ok(())
            })?;
        }
        if self.servers[at].elsewhere.is_some() {
            self.stage("replication", |this| this.servers[at].wait_for_replication())?;
        }
        judge(job, prepared, &mut self.recording.record);
        self.recording.save()
    }

    /// Records for every server the durability tier of commits to its tables, and the sizes of its data. After the
    /// runs, a server that cannot be inspected does not end the experiment; its record stays as it was.
    fn look_at_tables(&mut self, when: When) -> Result<(), Problem> {
        let Context { job, prepared, events, .. } = self.context;
        let recording = &mut *self.recording;
        events.doing("measuring sizes");
        for (at, subject) in self.servers.iter_mut().enumerate() {
            let look = subject.look();
            let tier = match (look.tier, when) {
                (Err(problem), When::Before) => return Err(problem),
                (tier, _) => tier.unwrap_or(subject.facts.durability),
            };
            if when == When::After {
                recording.weaken_all(tier, |place| job.subjects[place].server == Some(at));
            }
            for (_, record) in job.records_at(&mut recording.record, at) {
                let FootprintRecord { before, after } = record.held.get_or_insert_default();
                *(if when == When::Before { before } else { after }) = look.footprint.clone();
                let Some(server) = &mut record.server else { continue };
                match when {
                    // The sessions of a subject may promise less than others at its server.
                    When::Before => server.durability = server.durability.max(tier),
                    // Sessions of a command are not visible; the command may have changed settings of the server.
                    When::After if record.command.is_some() => {
                        server.durability = server.durability.max(tier).max(subject.tier_of_sessions());
                    }
                    When::After => {}
                }
            }
        }
        judge(job, prepared, &mut recording.record);
        Ok(())
    }

    /// Keeps the log of each own server: `server.log`, or if there are several, `server-N.log`, counted from 1. The
    /// error is that of the first log that could not be written.
    fn keep_logs(&self) -> Result<(), Problem> {
        let dir = &self.recording.dir;
        let keep = |(at, server): (usize, &Subject)| match server.own_server() {
            None => Ok(()),
            Some(own) if self.servers.len() == 1 => dir.keep_server_log(&own.log_path),
            Some(own) => dir.keep_log(&own.log_path, &format!("server-{}.log", at + 1)),
        };
        self.servers.iter().enumerate().map(keep).fold(Ok(()), Result::and)
    }

    /// Removes what the experiment created, or keeps it. A request to stop does not prevent that.
    fn clean_up(&mut self, keep: bool) -> Result<(), Problem> {
        let start_s = self.recording.begin_stage("clean up");
        self.ahead.begin("clean up", self.context.events);
        self.context.events.doing("cleaning up");
        // A server that is stopped first waits for its sessions.
        let watched = self.servers.iter_mut().filter_map(|server| server.watched.take());
        watched.for_each(|id| drop(self.recording.observers.forget(id)));
        let closed = self.servers.iter_mut().map(|server| server.close(keep)).fold(Ok(()), with_leftovers);
        // A record that cannot be written here is written again at the end, which reports the error.
        let _ = self.recording.end_stage("clean up", start_s, true);
        closed
    }
}

/// Duration of the check of synchronous writes: that of one run, up to a limit.
fn storage_check_time(level: Level, run_s: f64) -> Duration {
    let longest_s = match level {
        Level::Quick => 0.5,
        Level::Screening | Level::Thorough => 2.0,
    };
    Duration::from_secs_f64(run_s.min(longest_s))
}

/// When the tables are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the first run.
    Before,
    /// After the last run, before the data is checked: the check reads all of it.
    After,
}

/// How a problem ends if the server found its data corrupt (SQLSTATE `data_corrupted`, `index_corrupted`).
const CORRUPT: [&str; 2] = ["(SQLSTATE XX001)", "(SQLSTATE XX002)"];

/// Keeps the data of a server that reported corruption, as evidence, and says so in the hint.
fn keep_evidence(result: Result<(), Problem>) -> (bool, Result<(), Problem>) {
    let is_corruption = |problem: &Problem| CORRUPT.iter().any(|code| problem.what.contains(code));
    let corrupt = result.as_ref().is_err_and(is_corruption);
    let hint = "the data is kept as evidence, as after --keep: copy it before you repair anything";
    (corrupt, result.map_err(|problem| if corrupt { problem.hint(hint) } else { problem }))
}

/// Combines the result of the stages with that of cleaning up. Anything left behind is reported in any case, with how
/// to remove it.
fn with_leftovers(result: Result<(), Problem>, closed: Result<(), Problem>) -> Result<(), Problem> {
    let joined = |one: Option<String>, other: Option<String>| match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    };
    match (result, closed) {
        (Err(problem), Err(left)) => Err(Problem {
            detail: joined(problem.detail, Some(left.what)),
            hint: joined(problem.hint, left.hint),
            ..problem
        }),
        (result, closed) => result.and(closed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_reported_with_the_error() {
        let wrong = || Problem::could_not("stopped").detail("seen").hint("look");
        let left = || Problem::could_not("schema x is left").hint("DROP SCHEMA x");
        let both = with_leftovers(Err(wrong()), Err(left())).expect_err("both went wrong");
        assert_eq!(both.what, "stopped");
        assert_eq!(both.detail.as_deref(), Some("seen; schema x is left"));
        assert_eq!(both.hint.as_deref(), Some("look; DROP SCHEMA x"));
        assert_eq!(with_leftovers(Ok(()), Err(left())), Err(left()));
        assert_eq!(with_leftovers(Err(wrong()), Ok(())), Err(wrong()));
        assert_eq!(with_leftovers(Ok(()), Ok(())), Ok(()));
    }

    #[test]
    fn storage_is_checked_no_longer_than_one_run() {
        let ms = |level, run_s| storage_check_time(level, run_s).as_millis();
        assert_eq!((ms(Level::Screening, 0.25), ms(Level::Screening, 6.5)), (250, 2_000));
        assert_eq!((ms(Level::Quick, 1.3), ms(Level::Thorough, 40.0)), (500, 2_000));
    }

    #[test]
    fn only_corrupt_data_is_kept() {
        let stopped =
            |code: &str| Err(Problem::could_not(format!("stopped in x: bad page (SQLSTATE {code})")));
        for code in ["XX001", "XX002"] {
            let (keep, result) = keep_evidence(stopped(code));
            let hint = result.expect_err("it stays an error").hint.unwrap_or_default();
            assert!(keep && hint.contains("kept as evidence"), "{hint}");
        }
        assert!(!keep_evidence(stopped("XX000")).0 && !keep_evidence(Ok(())).0);
    }
}
