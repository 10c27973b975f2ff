//! Resumes a run that was killed, stopped, or ended by an error.

use pgdyno_analysis::compare::{Comparison, Look, MAX_BLOCKS, continued};
use pgdyno_core::{facts::Machine, problem::Problem, stop::Stop, units};
use pgdyno_plan::{Auto, Restart, Scale};
use pgdyno_provision::registry;
use pgdyno_record::{ComparisonRecord, PlanRecord, REDACTED, Run, RunRecord, Status, SubjectRecord};

use crate::{
    Events, Job, Lab, Outcome, Prepared, Question, context::Context, dirs, experiment::carry_on,
    first_record::plan_record, recording::Recording,
};

/// Refuses a run that cannot be resumed, or a comparison that cannot be continued by `more_blocks`, whatever job its
/// command gives.
///
/// # Errors
/// The reason.
pub fn check_resumable(record: &RunRecord, lab: &Lab, more_blocks: Option<u32>) -> Result<(), Problem> {
    let refuse = |why: String, hint: &str| {
        let what = format!("could not resume {}: {why}", record.id);
        Err(Problem::wrong_request(what).hint(hint))
    };
    let new_run = "start a new run with the command that `pgdyno show` prints";
    match (record.status, more_blocks) {
        (Status::Complete, None) if lacks_an_answer(record) => {
            let hint = "--more-blocks N continues the comparison by N blocks; `pgdyno show` says how many";
            return refuse("it is complete, without an answer".to_owned(), hint);
        }
        (Status::Complete, None) => {
            return refuse("it is complete".to_owned(), "`pgdyno show` prints its report");
        }
        (Status::Complete, Some(_)) if !lacks_an_answer(record) => {
            let hint = "--more-blocks continues a comparison of `pgdyno ab` that ended with `cannot tell`";
            return refuse("there is nothing to continue".to_owned(), hint);
        }
        (Status::Partial | Status::Stopped, Some(_)) => {
            let hint = "leave out --more-blocks: the blocks that were planned come first";
            return refuse("it is not complete".to_owned(), hint);
        }
        _ => {}
    }
    if record.pgbench.is_some() {
        return refuse("pgbench measures one run, so there is nothing to continue".to_owned(), new_run);
    }
    if record.plan.blocks == 0 {
        let hint = "a load continues with `pgdyno load … --resume`; start a new run of anything else";
        return refuse("it drove nothing".to_owned(), hint);
    }
    let program = lab.program.record();
    if record.tool != program {
        let why = format!(
            "pgdyno {} ({}) measured it, and this is {} ({})",
            record.tool.version, record.tool.commit, program.version, program.commit
        );
        return refuse(why, "use that program, or start a new run");
    }
    if record.command.contains(REDACTED) {
        let hint = "put the secret into a password file or the environment, and start a new run";
        return refuse("its command contained a secret, and records keep none".to_owned(), hint);
    }
    Ok(())
}

/// Whether a run is a comparison that ended without an answer.
fn lacks_an_answer(record: &RunRecord) -> bool {
    let answer = |of: &ComparisonRecord| of.result.as_ref().is_some_and(Comparison::is_settled);
    record.comparison.as_ref().is_some_and(|of| !of.too_disturbed && !answer(of))
}

/// Makes a job repeat the choices of the recorded run, whatever the machine would suggest now, with the looks of its
/// comparison: it may have been continued before. `more_blocks` continues it further, by whole starts.
///
/// # Errors
/// The comparison cannot be continued so far.
pub fn as_recorded(job: &mut Job, record: &RunRecord, more_blocks: Option<u32>) -> Result<(), Problem> {
    if let (Some(known), Question::Comparison(compare)) = (&record.comparison, &mut job.question) {
        compare.looks = match more_blocks {
            Some(more) => looks_of_more(record, known, more)?,
            None => known.looks.clone(),
        };
        if more_blocks.is_some() && record.plan.blocks_per_start.is_none() {
            // More blocks could make enough starts, which the first ones had not.
            job.plan.measure.restart = Restart::Never;
        }
    }
    let (plan, known) = (&mut job.plan, &record.plan);
    plan.seed = Some(known.seed);
    if let (Scale::Auto, Some(scale)) = (plan.data.scale, known.scale) {
        plan.data.scale = Scale::Given(scale);
    }
    if plan.measure.clients == Auto::Auto {
        plan.measure.clients = Auto::Given(known.clients.clone());
    }
    if plan.measure.jobs == Auto::Auto {
        plan.measure.jobs = Auto::Given(known.jobs);
    }
    job.command.clone_from(&record.command);
    job.seed_given = true;
    Ok(())
}

/// The looks of a comparison that is continued by some blocks, rounded up to whole starts.
fn looks_of_more(record: &RunRecord, known: &ComparisonRecord, more: u32) -> Result<Vec<Look>, Problem> {
    let made = known.looks.last().map_or(0, |look| look.blocks);
    let of_start = record.plan.blocks_per_start.unwrap_or(1).max(1);
    let blocks = (made + more).next_multiple_of(of_start);
    let refuse = |why: String, hint: &str| {
        let what = format!("could not continue {}: {why}", record.id);
        Err(Problem::wrong_request(what).hint(hint))
    };
    if blocks > MAX_BLOCKS {
        let hint = "longer runs scatter less: repeat the comparison with a larger `ab --duration`";
        return refuse(format!("{blocks} blocks are more than {MAX_BLOCKS}"), hint);
    }
    let hint = "repeat the comparison with more blocks (`ab --blocks`)";
    continued(&known.looks, blocks)
        .map_or_else(|| refuse("its looks left no error probability for others".to_owned(), hint), Ok)
}

/// Continues a run at the next round. `asked` is the digest of the job as its command gives it, before [`as_recorded`].
/// Own servers are recreated, and their data is reloaded from the seed.
///
/// # Errors
/// The plan, the machine or the run directory has changed, or another pgdyno is using the directory.
pub fn resume(
    job: &Job,
    asked: &str,
    prepared: &Prepared,
    run: &Run,
    lab: &Lab,
    stop: &Stop,
    events: &Events,
) -> Result<Outcome, Problem> {
    refuse_changes(job, asked, prepared, &run.record)?;
    let recording = Recording::resume(job, prepared, lab, run, events)?;
    remove_leftovers(job, &run.record, events)?;
    carry_on(Context { job, prepared, stop, events }, recording)
}

/// Refuses to resume with anything else than the original request.
fn refuse_changes(job: &Job, asked: &str, prepared: &Prepared, record: &RunRecord) -> Result<(), Problem> {
    let refuse = |why: String| {
        let what = format!("could not resume {}: {why}", record.id);
        Err(Problem::wrong_request(what)
            .hint("start a new run: blocks of different experiments are not comparable"))
    };
    let (then, now) = (Machine::of(&record.host), Machine::of(&prepared.host));
    if then != now {
        return refuse(format!("it was begun on another machine ({})", differs(&then, &now)));
    }
    let now = plan_record(job, prepared);
    let is_continued = record.status == Status::Complete;
    let then = match is_continued {
        true => PlanRecord { blocks: now.blocks, ..record.plan.clone() },
        false => record.plan.clone(),
    };
    if let Some(changed) = changed(&then, &now) {
        return refuse(format!("the plan has changed: {changed}"));
    }
    if record.plan.digest.as_deref() != Some(asked) {
        return refuse("the plan or one of its files has changed since it was begun".to_owned());
    }
    let mut servers = record.subjects.iter().zip(&job.subjects);
    match servers.find_map(|(then, now)| other_server(then, now.server?, prepared)) {
        Some(why) => refuse(why),
        None => Ok(()),
    }
}

/// How the server of a subject differs from the recorded one.
fn other_server(then: &SubjectRecord, at: usize, prepared: &Prepared) -> Option<String> {
    let then = then.server.as_ref()?;
    let program = prepared.programs.get(at)?.as_ref();
    let now = program.map(|program| (program.version_num, program.version.as_str()));
    let existing = prepared.existing[at].as_ref().map(|existing| &existing.facts);
    let (version_num, version) =
        now.or_else(|| existing.map(|facts| (facts.version_num, facts.version.as_str())))?;
    (version_num != then.version_num)
        .then(|| format!("PostgreSQL {} was measured, this is {version}", then.version))
}

fn differs(then: &Machine, now: &Machine) -> String {
    let of = |what: &str, then: &str, now: &str| format!("{what} {then}, here {now}");
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    match () {
        () if then.cpu_model != now.cpu_model => {
            of("CPU model", &text(&then.cpu_model), &text(&now.cpu_model))
        }
        () if then.cpus != now.cpus => of("CPU count", &then.cpus.to_string(), &now.cpus.to_string()),
        () if then.kernel != now.kernel => of("kernel", &then.kernel, &now.kernel),
        () => of("clock source", &text(&then.clocksource), &text(&now.clocksource)),
    }
}

/// The first resolved value that has changed.
fn changed(then: &PlanRecord, now: &PlanRecord) -> Option<String> {
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let seconds = |ns: u64| units::duration(ns as f64 / 1e9);
    let all = [
        ("name", then.name.clone(), now.name.clone()),
        ("seed", then.seed.to_string(), now.seed.to_string()),
        ("scale", format!("{:?}", then.scale), format!("{:?}", now.scale)),
        ("clients", list(&then.clients), list(&now.clients)),
        ("jobs", then.jobs.to_string(), now.jobs.to_string()),
        ("waiting", format!("{:?}", then.waiting), format!("{:?}", now.waiting)),
        ("duration", seconds(then.duration_ns), seconds(now.duration_ns)),
        ("warm-up", seconds(then.warmup_ns), seconds(now.warmup_ns)),
        ("blocks", then.blocks.to_string(), now.blocks.to_string()),
        ("blocks per start", format!("{:?}", then.blocks_per_start), format!("{:?}", now.blocks_per_start)),
        ("slots", then.slots.to_string(), now.slots.to_string()),
        ("rate", format!("{:?}", then.rate_per_s), format!("{:?}", now.rate_per_s)),
        ("driver's CPUs", list(&then.driver_cpus), list(&now.driver_cpus)),
        ("server's CPUs", list(&then.server_cpus), list(&now.server_cpus)),
        ("balance check", then.balance_check.clone(), now.balance_check.clone()),
        ("server", then.server.clone(), now.server.clone()),
        ("transport", then.transport.clone(), now.transport.clone()),
    ];
    let (what, then, now) = all.into_iter().find(|(_, then, now)| then != now)?;
    Some(format!("{what} was {then} and is {now}"))
}

/// Removes own servers left behind by the run, unless they were to be kept. They are recreated.
///
/// # Errors
/// One is still running, or cannot be removed.
fn remove_leftovers(job: &Job, record: &RunRecord, events: &Events) -> Result<(), Problem> {
    if job.keep {
        return Ok(());
    }
    let dirs = dirs()?;
    let names = record.subjects.iter().filter_map(|subject| subject.own_server.as_deref());
    for name in names {
        let Ok(left) = registry::find(&dirs, name) else { continue };
        if left.status().pid().is_some() {
            let what = format!("could not resume {}: its server `{name}` is still running", record.id);
            return Err(Problem::could_not(what).hint(format!("stop it: pgdyno down {name}")));
        }
        pgdyno_provision::remove(&dirs, name, &mut |event| {
            event.text().into_iter().for_each(|text| events.note(text));
        })?;
    }
    Ok(())
}
