//! Changes the host, step by step, after a journal of what was there is on disk.

use std::io;

use pgdyno_core::{problem::Problem, stop::Stop};
use rustix::io::Errno;

use crate::{
    calls::{Calls, Unwatched},
    journal::Store,
    place::Place,
    plan::Plan,
    read,
    set::{is_as_wanted, write},
    state::{Journal, Kind, Phase, State, Step},
    steps, undo,
};

/// What was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Each change, in the order in which they were made.
    pub changed: Vec<Changed>,
}

/// One thing that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What.
    pub name: String,
    /// What was there, in words.
    pub before: String,
    /// What was written, in words; absent for what the kernel changed as well.
    pub wanted: Option<String>,
    /// What was read back, in words.
    pub became: String,
    /// Whether the value read back is another than the one written: the kernel granted a part, or ignored it.
    pub partly: bool,
}

/// Changes the host as planned. Before the first change, the journal is on disk; if a change fails, those before it are
/// undone. A requested stop ends it between two changes, and the journal stays.
///
/// # Errors
/// If the plan has changes that cannot be applied, something is not as planned, a journal is there already, or a change
/// failed.
pub fn apply(plan: &Plan, place: &Place, stop: &Stop) -> Result<Applied, Problem> {
    apply_with(plan, place, stop, &Calls(&Unwatched))
}

pub(crate) fn apply_with(
    plan: &Plan,
    place: &Place,
    stop: &Stop,
    calls: &Calls<'_>,
) -> Result<Applied, Problem> {
    place.refuse_others("change")?;
    plan.refuse_objections()?;
    if plan.root != place.root {
        return Err(Problem::wrong_request("the plan was made for another root directory")
            .hint("plan again. Nothing was changed."));
    }
    let mut journal = steps::journal(plan, place)?;
    if journal.steps.is_empty() {
        return Ok(Applied::default());
    }
    let store = Store::make(place, calls)?;
    if store.load()?.is_some() {
        return Err(Problem::wrong_request("changes of this host are applied already")
            .detail(format!("their journal is {}", store.path().display()))
            .hint("undo them first. Nothing was changed."));
    }
    if let Err(error) = store.clean().and_then(|()| store.save(&journal)) {
        // It may be there, though not surely on disk; nothing has been changed that would need it.
        let _ = store.remove();
        return Err(no_journal(&store, &error));
    }
    match run(&store, &mut journal, place, stop, calls) {
        Ok(()) => Ok(applied(&journal)),
        Err(Failure::Stopped(done)) => Err(stopped(&store, &journal, done, stop)),
        Err(Failure::Problem(problem)) => Err(roll_back(&store, &mut journal, place, calls, problem)),
    }
}

enum Failure {
    Stopped(usize),
    Problem(Problem),
}

fn run(
    store: &Store<'_>,
    journal: &mut Journal,
    place: &Place,
    stop: &Stop,
    calls: &Calls<'_>,
) -> Result<(), Failure> {
    let failed = |problem| Failure::Problem(problem);
    let save = |journal: &Journal| store.save(journal).map_err(|error| failed(no_journal(store, &error)));
    for at in 0..journal.steps.len() {
        if stop.requested() {
            save(journal)?;
            return Err(Failure::Stopped(at));
        }
        let Some(wanted) = journal.steps[at].wanted.clone() else { continue };
        journal.steps[at].phase = Phase::Writing;
        save(journal)?;
        let step = &journal.steps[at];
        write(place, step, &wanted, calls).map_err(|error| failed(not_set(step, &wanted, &error)))?;
        observe(journal, at, place).map_err(failed)?;
        journal.steps[at].phase = Phase::Written;
    }
    save(journal)
}

/// Reads back a step and what it may have changed as well.
fn observe(journal: &mut Journal, at: usize, place: &Place) -> Result<(), Problem> {
    let is_concerned = |index: usize, step: &Step| index == at || step.causes.contains(&at);
    for (index, step) in journal.steps.iter_mut().enumerate() {
        if is_concerned(index, step) {
            step.became = Some(read::state(place, step.kind, &step.path)?);
        }
    }
    Ok(())
}

fn applied(journal: &Journal) -> Applied {
    let changed = journal.steps.iter().filter_map(|step| {
        let became = step.became.as_ref()?;
        if step.wanted.is_none() && *became == step.before {
            return None;
        }
        Some(Changed {
            name: step.name.clone(),
            before: step.before.words(),
            wanted: step.wanted.as_ref().map(State::words),
            became: became.words(),
            partly: step.wanted.as_ref().is_some_and(|wanted| !is_as_wanted(step, wanted, became)),
        })
    });
    Applied { changed: changed.collect() }
}

fn no_journal(store: &Store<'_>, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write the journal {}: {error}", store.path().display()))
        .hint("nothing is changed without a journal: its directory must be writable and have free space")
}

fn stopped(store: &Store<'_>, journal: &Journal, done: usize, stop: &Stop) -> Problem {
    let all = journal.steps.iter().filter(|step| step.wanted.is_some()).count();
    let reason = stop.reason().map_or(String::new(), |reason| format!(" ({reason})"));
    Problem::could_not(format!("stopped after {} of {all} changes{reason}", done.min(all)))
        .detail(format!("the journal is {}", store.path().display()))
        .hint("`pgdyno host undo` restores what was changed")
}

fn not_set(step: &Step, wanted: &State, error: &io::Error) -> Problem {
    let to = if step.kind == Kind::Value { format!(" to {}", wanted.words()) } else { String::new() };
    Problem::could_not(format!("could not set {}{to}: {error}", step.name)).hint(hint(step.kind, error))
}

fn hint(kind: Kind, error: &io::Error) -> &'static str {
    match (kind, Errno::from_io_error(error)) {
        (_, Some(Errno::ROFS)) => "its file system is mounted read-only, as in many containers",
        (Kind::Value, Some(Errno::INVAL)) => "this kernel refuses the value",
        (Kind::Value, Some(Errno::PERM | Errno::ACCESS)) => {
            "a container, or a locked-down kernel, lets not even root change it"
        }
        (_, Some(Errno::PERM)) => "the file or its directory may be immutable: see `lsattr -d`",
        (_, Some(Errno::NOSPC | Errno::DQUOT)) => "its file system is full",
        _ => "the kernel's log may say more",
    }
}

/// Undoes what was changed before a failure.
fn roll_back(
    store: &Store<'_>,
    journal: &mut Journal,
    place: &Place,
    calls: &Calls<'_>,
    problem: Problem,
) -> Problem {
    let hint = problem.hint.clone().unwrap_or_default();
    match undo::restore(store, journal, place, false, &Stop::default(), calls) {
        Ok(undone) if undone.left.is_empty() => {
            problem.hint(format!("{hint}. What had been changed is restored."))
        }
        Ok(undone) => {
            let left: Vec<String> = undone.left.into_iter().map(|left| left.name).collect();
            problem.detail(format!("changed by somebody else meanwhile, and left: {}", left.join(", ")))
        }
        Err(second) => problem
            .detail(format!("restoring what had been changed failed too: {second}"))
            .hint(format!("{hint}. `pgdyno host undo` restores the rest from {}.", store.path().display())),
    }
}
