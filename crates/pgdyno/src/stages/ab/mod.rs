//! `ab`: is B faster than A? Both servers are up during the whole measurement, and only the one under test has work.

mod announce;
mod blocks;
mod command;
mod comparing;

use std::sync::Arc;

use pgdyno_analysis::compare::{Asked, Look};
use pgdyno_core::{measure::Arm, problem::Problem, stop::Stop};
use pgdyno_postgres::verify::{Expected, Ledger};
use pgdyno_record::{HeldRecord, RunRecord};
use pgdyno_script::{Builtin, Protocol, Scripts};

pub use announce::announce;
pub use command::{Measured, PGBENCH_RESULT};
pub use comparing::first_record;

use super::{
    Job,
    cell::Driving,
    full_disk,
    holding::{When, look},
    load,
    prepare::Prepared,
    recording::Recording,
    side_by_side,
    storage::storage_stage,
    subject::{Subject, keep_evidence, with_leftovers},
};
use crate::progress::Progress;

/// What is compared, and how.
#[derive(Debug)]
pub struct Compare {
    /// A and B.
    pub arms: [ArmJob; 2],
    /// What of them was asked to differ.
    pub asked: Asked,
    /// When the result is looked at.
    pub looks: Vec<Look>,
    /// Blocks of A against A.
    pub aa_blocks: u32,
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// Whether B being slower is a failure.
    pub fail_if_slower: bool,
}

/// One of the two subjects.
#[derive(Debug)]
pub struct ArmJob {
    /// What was asked for, without secrets.
    pub said: String,
    /// Its server's place in the job's list; a command may bring its own.
    pub server: Option<usize>,
    /// What it runs.
    pub work: Work,
}

/// What an arm runs.
#[derive(Debug)]
pub enum Work {
    /// A script, driven by pgdyno.
    Script {
        /// Its name: a built-in's, or that of its file.
        name: String,
        /// The script.
        script: Arc<Scripts>,
        /// How its statements are sent.
        protocol: Protocol,
    },
    /// A command that measures and prints a rate.
    Command(Measured),
}

impl Compare {
    /// One of the arms.
    pub fn arm(&self, arm: Arm) -> &ArmJob {
        &self.arms[arm.index()]
    }

    /// Whether both arms have the same server.
    pub fn has_one_server(&self) -> bool {
        self.arms[0].server.is_some() && self.arms[0].server == self.arms[1].server
    }

    /// Most blocks of A and B.
    pub fn blocks(&self) -> u32 {
        self.looks.last().map_or(0, |look| look.blocks)
    }

    /// The built-in scripts that are to run at a server.
    pub fn builtins_at(&self, server: usize) -> Vec<Builtin> {
        self.arms.iter().filter(|arm| arm.server == Some(server)).filter_map(ArmJob::builtin).collect()
    }

    /// Whether the data of a server can be checked: pgdyno's own transactions alone wrote to it.
    pub fn is_checked(&self, server: usize) -> bool {
        let mut on_it = self.arms.iter().filter(|arm| arm.server == Some(server)).peekable();
        let known = on_it.clone().all(|arm| arm.builtin().is_some());
        known && on_it.any(|arm| arm.writes())
    }
}

impl ArmJob {
    fn builtin(&self) -> Option<Builtin> {
        match &self.work {
            Work::Script { name, .. } => Builtin::by_name(name),
            Work::Command(_) => None,
        }
    }

    /// Whether it may write: whatever is not known to read only.
    fn writes(&self) -> bool {
        self.builtin().is_none_or(Builtin::writes)
    }
}

/// A server of the comparison.
struct Server {
    subject: Subject,
    ledger: Ledger,
}

/// All stages, from the servers to their end.
///
/// # Errors
/// The first problem; what was measured before it is in the record.
pub fn all_stages(
    job: &Job,
    compare: &Compare,
    prepared: &Prepared,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let explain = |problem| full_disk::explain(problem, &full_disk::places(job));
    let opened = recording.stage("server", stop, |_| open(job, prepared, stop, progress));
    let mut servers = opened.map_err(explain)?;
    comparing::set_servers(recording, compare, prepared, servers.iter().map(|s| &s.subject).collect())?;
    let checked = match servers.first() {
        Some(first) => storage_stage(job, &first.subject, recording, stop, progress),
        None => Ok(None),
    };
    let measured = checked
        .and_then(|check| {
            recording.record.sync_check = check;
            measured_stages(compare, prepared, &mut servers, recording, stop, progress)
        })
        .map_err(explain);
    let letters = ["a", "b"].map(str::to_owned);
    let logged =
        side_by_side::keep_logs(servers.iter().map(|server| &server.subject).zip(letters), recording);
    let (evidence, measured) = keep_evidence(measured);
    let closed = recording.stage_always("clean up", || {
        progress.stage("cleaning up");
        side_by_side::close(servers.iter_mut().map(|server| &mut server.subject), job.keep || evidence)
    });
    with_leftovers(measured.and(logged), closed)
}

/// Makes or reaches the servers.
fn open(job: &Job, prepared: &Prepared, stop: &Stop, progress: &Progress) -> Result<Vec<Server>, Problem> {
    let opened = side_by_side::open(job, prepared, stop, progress)?;
    Ok(opened.into_iter().map(|subject| Server { subject, ledger: Ledger::default() }).collect())
}

fn measured_stages(
    compare: &Compare,
    prepared: &Prepared,
    servers: &mut [Server],
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    for (at, server) in servers.iter_mut().enumerate() {
        let subject = &mut server.subject;
        let loaded = prepared.load.as_ref().map(|plan| {
            let streams = prepared.plan.load.streams();
            recording.stage("load", stop, |_| load::load(plan, streams, subject, stop, progress))
        });
        let loaded = loaded.transpose()?;
        let tier = subject.look_at_tables()?;
        if subject.elsewhere.is_some() {
            recording.stage("replication", stop, |_| subject.wait_for_replication(stop, progress))?;
        }
        comparing::set_of_server(recording, compare, at, |arm| {
            arm.load.clone_from(&loaded);
            arm.server.iter_mut().for_each(|server| server.durability = tier);
        });
        comparing::judge_subjects(recording, compare, prepared);
        recording.save()?;
    }
    let keep = |recording: &mut Recording, at: usize, change: &dyn Fn(&mut Option<HeldRecord>)| {
        comparing::set_of_server(recording, compare, at, |arm| change(&mut arm.held));
    };
    look(When::Before, subjects_of(servers), recording, stop, progress, keep)?;
    recording.stage("measure", stop, |recording| {
        let driving = Driving::begin(prepared, recording, stop, progress)?;
        blocks::run(compare, driving, servers)
    })?;
    for (at, server) in servers.iter_mut().enumerate() {
        let tier = server.subject.look_at_tables_again(stop);
        let is_there = |arm: Arm| compare.arm(arm).server == Some(at);
        recording.weaken_all(tier, |workload| workload.arm.is_some_and(is_there));
        // Sessions of a command are not seen: the server may have been changed under them.
        let tier = tier.max(server.subject.tier_of_sessions(stop));
        comparing::set_of_server(recording, compare, at, |arm| {
            let server = arm.server.iter_mut().filter(|_| arm.command.is_some());
            server.for_each(|server| server.durability = server.durability.max(tier));
        });
    }
    comparing::judge_subjects(recording, compare, prepared);
    look(When::After, subjects_of(servers), recording, stop, progress, keep)?;
    recording.stage("check", stop, |recording| check(compare, prepared, servers, recording, stop, progress))
}

fn subjects_of(servers: &mut [Server]) -> impl Iterator<Item = &mut Subject> {
    servers.iter_mut().map(|server| &mut server.subject)
}

/// Scale of the TPC-B tables, which a comparison always has.
pub(super) fn scale_of(prepared: &Prepared) -> u64 {
    prepared.bench.scale.unwrap_or(1)
}

/// Checks the data of every server that only known transactions wrote to.
fn check(
    compare: &Compare,
    prepared: &Prepared,
    servers: &mut [Server],
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    for (at, server) in servers.iter_mut().enumerate().filter(|(at, _)| compare.is_checked(*at)) {
        let expected = expected(compare, prepared, &recording.record, at);
        let balance = load::sums(&mut server.subject, server.ledger, &expected, stop, progress)?;
        comparing::set_of_server(recording, compare, at, |arm| arm.balance = Some(balance.clone()));
    }
    Ok(())
}

/// What history must have held by the driver's counts of one server.
fn expected(compare: &Compare, prepared: &Prepared, record: &RunRecord, server: usize) -> Expected {
    let here = |arm: &Arm| compare.arm(*arm).server == Some(server) && compare.arm(*arm).writes();
    let arms: Vec<Arm> = Arm::BOTH.into_iter().filter(here).collect();
    let runs = record.runs.iter().filter(|run| run.workload.arm.is_some_and(|arm| arms.contains(&arm)));
    let counts = runs.map(|run| (run.counts_whole.committed, run.counts_whole.in_doubt));
    let (committed, in_doubt) = counts.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    let simple = |arm: &Arm| compare.arm(*arm).builtin() == Some(Builtin::SimpleUpdate);
    Expected {
        scale: scale_of(prepared),
        committed,
        in_doubt,
        tellers_and_branches: !arms.iter().any(simple),
    }
}
