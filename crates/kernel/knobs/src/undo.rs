//! Restores what `apply` changed, unless somebody else has changed it since.

use std::io;

use pgdyno_core::{problem::Problem, stop::Stop};

use crate::{
    calls::{Calls, Unwatched, new_name},
    journal::Store,
    names::counterpart,
    place::Place,
    read,
    set::write,
    state::{Doing, Journal, Kind, Phase, State, Step},
};

/// What was restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// Whether there was a journal: if not, there was nothing to restore.
    pub found: bool,
    /// What was restored.
    pub restored: Vec<Restored>,
    /// What was left, because somebody else changed it, or it is no longer there.
    pub left: Vec<Left>,
    /// Values that had ended with a reboot, and were left as they are. If files made pgdyno's values last, these hold
    /// until the next one.
    pub ended_by_reboot: Vec<String>,
}

/// Something that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What.
    pub name: String,
    /// What was there, in words.
    pub from: String,
    /// What is there again, in words.
    pub to: String,
}

/// Something that was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// What.
    pub name: String,
    /// What is there, in words.
    pub present: String,
    /// What pgdyno had left there, in words.
    pub ours: String,
    /// What was there before, in words.
    pub before: String,
}

/// Restores what a journal lists, and removes it. What is neither as before nor as pgdyno left it was changed by
/// somebody else, and is left; with `force`, it is restored too, and what cannot be restored is given up. It can be
/// stopped or killed at any point, and run again.
///
/// # Errors
/// If the journal cannot be trusted, is of another network namespace, or something could not be restored: then the
/// journal stays.
pub fn undo(place: &Place, force: bool, stop: &Stop) -> Result<Undone, Problem> {
    undo_with(place, force, stop, &Calls(&Unwatched))
}

pub(crate) fn undo_with(
    place: &Place,
    force: bool,
    stop: &Stop,
    calls: &Calls<'_>,
) -> Result<Undone, Problem> {
    place.refuse_others("restore")?;
    let Some(store) = Store::open(place, calls)? else { return Ok(Undone::default()) };
    let Some(mut journal) = store.load()? else {
        store.clean().map_err(|error| not_saved(&store, &error))?;
        return Ok(Undone::default());
    };
    restore(&store, &mut journal, place, force, stop, calls)
}

pub(crate) fn restore(
    store: &Store<'_>,
    journal: &mut Journal,
    place: &Place,
    force: bool,
    stop: &Stop,
    calls: &Calls<'_>,
) -> Result<Undone, Problem> {
    let values_hold = journal.boot_id == read::boot_id(place);
    refuse_other_network(journal, place, values_hold)?;
    remove_new_files(journal, place, calls)?;
    let mut undone = Undone { found: true, ..Undone::default() };
    let present = judge(journal, place, force, values_hold, &mut undone)?;
    store.save(journal).map_err(|error| not_saved(store, &error))?;
    let mut faults = Vec::new();
    for at in order(journal) {
        if stop.requested() {
            return Err(stopped(store, stop));
        }
        if journal.steps[at].phase == Phase::Restoring {
            let fault = restore_step(journal, at, &present[at], place, calls, &mut undone);
            faults.extend(fault.err());
            store.save(journal).map_err(|error| not_saved(store, &error))?;
        }
    }
    faults.extend(verify(journal, place, calls));
    if !faults.is_empty() && !force {
        return Err(not_all(store, &faults));
    }
    store.remove().map_err(|error| not_saved(store, &error))?;
    Ok(undone)
}

fn refuse_other_network(journal: &Journal, place: &Place, values_hold: bool) -> Result<(), Problem> {
    let here = read::network(place);
    let is_network = |step: &Step| step.path.starts_with("proc/sys/net/");
    let other = journal.network.is_some() && here.is_some() && journal.network != here;
    match other && values_hold && journal.steps.iter().any(is_network) {
        true => Err(Problem::wrong_request("the changes were made in another network namespace")
            .hint("undo them there: see nsenter(1). Nothing was changed.")),
        false => Ok(()),
    }
}

/// Removes new files that a killed process did not get to rename.
fn remove_new_files(journal: &Journal, place: &Place, calls: &Calls<'_>) -> Result<(), Problem> {
    for step in journal.steps.iter().filter(|step| step.kind == Kind::File) {
        if let Some((dir, name)) = read::parent(place, &step.path)? {
            calls.remove(&dir, &new_name(name)).map_err(|error| {
                Problem::could_not(format!(
                    "could not remove {} next to {}: {error}",
                    new_name(name),
                    step.name
                ))
                .hint("the journal stays; undo again when it can be removed")
            })?;
        }
    }
    Ok(())
}

/// Decides for each step what becomes of it, and returns the states that were found.
fn judge(
    journal: &mut Journal,
    place: &Place,
    force: bool,
    values_hold: bool,
    undone: &mut Undone,
) -> Result<Vec<State>, Problem> {
    let mut found = Vec::new();
    let mut decided: Vec<Phase> = Vec::new();
    for step in &journal.steps {
        if step.kind == Kind::Value && !values_hold {
            undone.ended_by_reboot.extend(step.wanted.as_ref().map(|_| step.name.clone()));
            decided.push(Phase::Restored);
            found.push(step.before.clone());
            continue;
        }
        let present = match read::state(place, step.kind, &step.path) {
            Ok(present) => present,
            // One value that cannot be read keeps nobody from restoring the others.
            Err(problem) if step.kind == Kind::Value => {
                decided.push(Phase::Restoring);
                found.push(State::Other(problem.to_string()));
                continue;
            }
            Err(problem) => return Err(problem),
        };
        let doing = match journal.doing(step, &present) {
            Doing::Foreign if force => Doing::Ours,
            // What follows a value of somebody else is theirs as well.
            Doing::Ours if step.wanted.is_none() && follows_left(step, &decided) => Doing::Foreign,
            doing => doing,
        };
        decided.push(match doing {
            Doing::Nobody => unless_changed_by_others(step),
            Doing::Ours => Phase::Restoring,
            Doing::Foreign => Phase::Left,
        });
        if doing == Doing::Foreign {
            undone.left.push(left(step, &present));
        }
        found.push(present);
    }
    for (step, phase) in journal.steps.iter_mut().zip(decided) {
        step.phase = phase;
    }
    Ok(found)
}

fn follows_left(step: &Step, decided: &[Phase]) -> bool {
    step.causes.iter().any(|&cause| decided.get(cause) == Some(&Phase::Left))
}

/// A value that is as before may be changed when another is restored, and is then restored as well.
fn unless_changed_by_others(step: &Step) -> Phase {
    if step.causes.is_empty() { Phase::Restored } else { Phase::Restoring }
}

fn left(step: &Step, present: &State) -> Left {
    let ours = step.became.as_ref().or(step.wanted.as_ref()).unwrap_or(&step.before);
    Left {
        name: step.name.clone(),
        present: present.words(),
        ours: ours.words(),
        before: step.before.words(),
    }
}

/// Values in the order in which they were written, causes first; then files, and directories from within.
fn order(journal: &Journal) -> Vec<usize> {
    let is_value = |at: &usize| journal.steps[*at].kind == Kind::Value;
    let (values, files): (Vec<usize>, Vec<usize>) = (0..journal.steps.len()).partition(is_value);
    values.into_iter().chain(files.into_iter().rev()).collect()
}

fn restore_step(
    journal: &mut Journal,
    at: usize,
    was: &State,
    place: &Place,
    calls: &Calls<'_>,
    undone: &mut Undone,
) -> Result<(), String> {
    let step = &journal.steps[at];
    let before = step.before.clone();
    match restore_once(journal, step, place, calls) {
        Ok(present) if present == before => {
            if *was != before {
                let (from, to) = (was.words(), before.words());
                undone.restored.push(Restored { name: step.name.clone(), from, to });
            }
            // What another step may still change is judged when all are restored.
            if step.causes.is_empty() {
                journal.steps[at].phase = Phase::Restored;
            }
            Ok(())
        }
        // It follows when its counterpart is restored, or verifying will say so.
        Ok(_) => Ok(()),
        Err(Fault::Gone(present)) => {
            undone.left.push(left(step, &present));
            journal.steps[at].phase = Phase::Left;
            Ok(())
        }
        Err(Fault::Failed(why)) => Err(format!("{}: {why}", step.name)),
    }
}

enum Fault {
    /// There is nothing to restore any more, or something of others in the way.
    Gone(State),
    Failed(String),
}

/// Writes what was there before, unless it is there, and returns what is read then.
fn restore_once(journal: &Journal, step: &Step, place: &Place, calls: &Calls<'_>) -> Result<State, Fault> {
    let read =
        || read::state(place, step.kind, &step.path).map_err(|problem| Fault::Failed(problem.to_string()));
    let present = read()?;
    if present == step.before || is_zero_of_pair(journal, step) {
        return Ok(present);
    }
    match write(place, step, &step.before, calls) {
        Ok(()) => read(),
        Err(error) if is_gone(step, &error) => Err(Fault::Gone(present)),
        Err(error) => Err(Fault::Failed(error.to_string())),
    }
}

fn is_gone(step: &Step, error: &io::Error) -> bool {
    match step.kind {
        Kind::Value => error.kind() == io::ErrorKind::NotFound,
        Kind::Directory => error.kind() == io::ErrorKind::DirectoryNotEmpty,
        Kind::File => false,
    }
}

/// Whether it becomes 0 when the other value of its pair is written, and by nothing else.
fn is_zero_of_pair(journal: &Journal, step: &Step) -> bool {
    let zero = State::Value("0".to_owned());
    let other = counterpart(&step.path).filter(|_| step.before == zero);
    other.is_some_and(|other| journal.steps.iter().any(|step| step.path == other && step.before != zero))
}

/// Reads all that was restored once more, since restoring one may have changed another.
fn verify(journal: &Journal, place: &Place, calls: &Calls<'_>) -> Vec<String> {
    let of_values = journal.steps.iter().filter(|step| step.kind == Kind::Value);
    let concerned = of_values.filter(|step| step.phase == Phase::Restoring);
    let faults = concerned.filter_map(|step| match restore_once(journal, step, place, calls) {
        Ok(present) if present == step.before => None,
        Ok(present) => {
            Some(format!("{} is {} instead of {}", step.name, present.words(), step.before.words()))
        }
        Err(Fault::Gone(_)) => None,
        Err(Fault::Failed(why)) => Some(format!("{}: {why}", step.name)),
    });
    faults.collect()
}

fn not_saved(store: &Store<'_>, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write or remove the journal {}: {error}", store.path().display()))
        .hint("undo again when it can be written")
}

fn stopped(store: &Store<'_>, stop: &Stop) -> Problem {
    let reason = stop.reason().map_or(String::new(), |reason| format!(" ({reason})"));
    Problem::could_not(format!("stopped before all was restored{reason}"))
        .detail(format!("the journal {} stays", store.path().display()))
        .hint("undo again to restore the rest")
}

fn not_all(store: &Store<'_>, faults: &[String]) -> Problem {
    Problem::could_not(format!("could not restore {}", faults.join("; ")))
        .detail(format!("the journal {} stays, and all else is restored", store.path().display()))
        .hint("undo again when it is possible, or give up the rest with force")
}
