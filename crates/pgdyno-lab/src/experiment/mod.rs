//! The stages of an experiment: one subject, several side by side, or A and B in blocks. They differ only in the
//! schedule and in the question asked of the record.

mod command;
mod idle;
mod rounds;
mod schedule;
mod servers;

use std::time::Duration;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_plan::advice::bench::Level;
use pgdyno_record::FootprintRecord;

use crate::{
    Events, Job, Lab, Prepared,
    check::check,
    comparable::judge,
    context::Context,
    fill::fill,
    full_disk,
    recording::{Outcome, Recording},
    subject::Subject,
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
    let result = all_stages(context, &mut recording);
    recording.end(result)
}

/// Runs all stages, from starting the servers to cleaning up.
fn all_stages(context: Context<'_>, recording: &mut Recording) -> Result<(), Problem> {
    let explain = |problem| full_disk::explain(problem, context.job);
    let mut servers = servers::open(context, recording).map_err(explain)?;
    let measured = check_storage(context, &servers, recording)
        .and_then(|()| measured_stages(context, &mut servers, recording))
        .map_err(explain);
    let logged = keep_logs(&servers, recording);
    let (evidence, measured) = keep_evidence(measured);
    // A request to stop does not keep it from being done.
    let mut closed = Ok(());
    // A record that cannot be written here is written again at the end, which reports the error.
    let _ = recording.stage("clean up", &Stop::default(), |_| {
        context.events.doing("cleaning up");
        let each = servers.iter_mut().map(|server| server.close(context.job.keep || evidence));
        closed = each.fold(Ok(()), with_leftovers);
        Ok(())
    });
    with_leftovers(measured.and(logged), closed)
}

/// Measures the cost of a synchronous write under the data of the first server, and on every other file system with
/// data of own servers.
fn check_storage(
    context: Context<'_>,
    servers: &[Subject],
    recording: &mut Recording,
) -> Result<(), Problem> {
    let Context { job, stop, events, .. } = context;
    for (at, server) in servers.iter().enumerate() {
        let is_elsewhere = job.records_at(&mut recording.record, at).any(|record| record.storage.is_some());
        let Some(own) = server.own_server().filter(|_| at == 0 || is_elsewhere) else { continue };
        recording.stage("storage check", stop, |recording| {
            events.doing("checking synchronous writes");
            let check =
                pgdyno_host::disk::check_sync_writes(&own.data_dir, storage_check_time(job.level), stop)?;
            let records = job.records_at(&mut recording.record, at);
            records.for_each(|record| record.sync_check = Some(check.clone()));
            Ok(())
        })?;
    }
    Ok(())
}

/// Duration of the check of synchronous writes.
fn storage_check_time(level: Level) -> Duration {
    match level {
        Level::Quick => Duration::from_millis(500),
        Level::Screening | Level::Thorough => Duration::from_secs(2),
    }
}

fn measured_stages(
    context: Context<'_>,
    servers: &mut [Subject],
    recording: &mut Recording,
) -> Result<(), Problem> {
    fill(context, servers, recording)?;
    look_at_tables(context, servers, recording, When::Before)?;
    let ledgers = rounds::run(context, servers, recording)?;
    look_at_tables(context, servers, recording, When::After)?;
    check(context, servers, ledgers, recording)
}

/// When the tables are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the first run.
    Before,
    /// After the last run, before the data is checked: the check reads all of it.
    After,
}

/// Records for every server the durability tier of commits to its tables, and the sizes of its data. After the runs, a
/// server that cannot be inspected does not end the experiment; its record stays as it was.
fn look_at_tables(
    context: Context<'_>,
    servers: &mut [Subject],
    recording: &mut Recording,
    when: When,
) -> Result<(), Problem> {
    let Context { job, prepared, stop, events } = context;
    recording.stage("sizes", stop, |recording| {
        events.doing("measuring sizes");
        for (at, subject) in servers.iter_mut().enumerate() {
            let look = subject.look();
            let tier = match (look.tier, when) {
                (Err(problem), When::Before) => return Err(problem),
                (tier, _) => tier.unwrap_or(subject.facts.durability),
            };
            if when == When::After {
                recording.weaken_all(tier, |place| job.subjects[place].server == Some(at));
            }
            for record in job.records_at(&mut recording.record, at) {
                let FootprintRecord { before, after } = record.held.get_or_insert_default();
                *(if when == When::Before { before } else { after }) = look.footprint.clone();
                let Some(server) = &mut record.server else { continue };
                match when {
                    When::Before => server.durability = tier,
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
    })
}

/// Keeps the log of each own server: `server.log`, or if there are several, `server-N.log`, counted from 1.
///
/// # Errors
/// The last log that could not be written.
fn keep_logs(servers: &[Subject], recording: &Recording) -> Result<(), Problem> {
    let keep = |(at, server): (usize, &Subject)| match server.own_server() {
        None => Ok(()),
        Some(own) if servers.len() == 1 => recording.dir.keep_server_log(&own.log_path),
        Some(own) => recording.dir.keep_log(&own.log_path, &format!("server-{}.log", at + 1)),
    };
    servers.iter().enumerate().map(keep).fold(Ok(()), Result::and)
}

/// How a problem ends if the server found its data corrupt (SQLSTATE `data_corrupted`, `index_corrupted`).
const CORRUPT: [&str; 2] = ["(SQLSTATE XX001)", "(SQLSTATE XX002)"];

/// Keeps the data of a server that reported corruption, as evidence, and says so in the hint.
fn keep_evidence(result: Result<(), Problem>) -> (bool, Result<(), Problem>) {
    let tells = |problem: &Problem| CORRUPT.iter().any(|code| problem.what.contains(code));
    let corrupt = result.as_ref().is_err_and(tells);
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
