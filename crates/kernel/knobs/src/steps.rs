//! From a plan to the steps of a journal, with what is there before.

use std::fs;

use pgdyno_core::problem::Problem;

use crate::{
    calls::new_name,
    names::{self, SideEffect, side_effects},
    place::Place,
    plan::{Plan, name},
    read,
    safe::refused,
    state::{Journal, Kind, Phase, State, Step},
};

/// Mode of a new file, and of a new directory.
const FILE_MODE: u32 = 0o644;

/// All steps of a plan: directories, files, then values, causes before what they change as well.
///
/// # Errors
/// If something is not as it was when it was planned, or cannot be replaced and restored.
pub fn journal(plan: &Plan, place: &Place) -> Result<Journal, Problem> {
    let mut steps = Vec::new();
    for (path, text) in plan.files_below() {
        add_directories(&mut steps, place, path)?;
        steps.extend(file(place, path, text, plan.present(path))?);
    }
    add_values(&mut steps, plan, place)?;
    add_side_effects(&mut steps, place)?;
    Ok(Journal { boot_id: read::boot_id(place), network: read::network(place), steps })
}

fn step(name: String, kind: Kind, path: String, before: State, wanted: Option<State>) -> Step {
    Step { name, kind, path, before, wanted, became: None, causes: Vec::new(), phase: Phase::Waiting }
}

/// The directories above a file that are missing.
fn add_directories(steps: &mut Vec<Step>, place: &Place, file: &str) -> Result<(), Problem> {
    for (end, _) in file.match_indices('/') {
        let path = &file[..end];
        if steps.iter().any(|step| step.path == path) || place.at(path).is_dir() {
            continue;
        }
        match read::state(place, Kind::Directory, path)? {
            State::Absent => {}
            other => return Err(refused(&place.at(path), &format!("is {}", other.words()))),
        }
        let wanted = Some(State::Directory);
        steps.push(step(format!("/{path}"), Kind::Directory, path.to_owned(), State::Absent, wanted));
    }
    Ok(())
}

fn file(place: &Place, path: &str, text: String, planned: Option<&str>) -> Result<Option<Step>, Problem> {
    let before = read::state(place, Kind::File, path)?;
    let (present, mode, uid, gid) = match &before {
        State::Absent => (None, FILE_MODE, place.user, rustix::process::getegid().as_raw()),
        State::File { text, mode, uid, gid } => (Some(text.as_str()), *mode, *uid, *gid),
        other => return Err(not_replaced(path, &other.words())),
    };
    if present != planned {
        return Err(changed_since(&format!("/{path}"), "has another content"));
    }
    if let Some((dir, name)) = read::parent(place, path)? {
        let new = new_name(name);
        if dir.has(&new).map_err(|error| Problem::could_not(format!("could not check for {new}: {error}")))? {
            return Err(not_replaced(
                path,
                &format!("about to be replaced by something: {new} is next to it"),
            ));
        }
    }
    if present == Some(text.as_str()) {
        return Ok(None);
    }
    let wanted = State::File { text, mode, uid, gid };
    Ok(Some(step(format!("/{path}"), Kind::File, path.to_owned(), before, Some(wanted))))
}

fn not_replaced(path: &str, is: &str) -> Problem {
    Problem::wrong_request(format!("/{path} is {is}, so it could not be restored as it is"))
        .hint("move it away. Nothing was changed.")
}

fn changed_since(name: &str, how: &str) -> Problem {
    Problem::wrong_request(format!("{name} {how} than when this was planned"))
        .hint("plan again. Nothing was changed.")
}

fn add_values(steps: &mut Vec<Step>, plan: &Plan, place: &Place) -> Result<(), Problem> {
    let mut values = Vec::new();
    for item in plan.changes() {
        let Some(path) = item.path.as_deref().filter(|path| names::is_value_path(path)) else { continue };
        let name = name(&item.change.knob);
        let before = read::state(place, Kind::Value, path)?;
        if before != State::Value(item.present.clone().unwrap_or_default()) {
            return Err(changed_since(&name, &format!("is now {}, another value", before.words())));
        }
        let wanted = Some(State::Value(item.change.value.clone()));
        values.push(step(name, Kind::Value, path.to_owned(), before, wanted));
    }
    let effects: Vec<String> = values.iter().flat_map(|step| effects(place, &step.path)).collect();
    let (later, first): (Vec<_>, Vec<_>) = values.into_iter().partition(|step| effects.contains(&step.path));
    steps.extend(first);
    steps.extend(later);
    Ok(())
}

/// Adds what the kernel may change as well, and to each value those that may change it.
fn add_side_effects(steps: &mut Vec<Step>, place: &Place) -> Result<(), Problem> {
    for cause in 0..steps.len() {
        for path in effects(place, &steps[cause].path) {
            let known = steps.iter_mut().find(|step| step.path == path);
            if let Some(step) = known {
                step.causes.push(cause);
                continue;
            }
            // Not every device and kernel has all of them, and some cannot be read.
            let Ok(value) = read::value(place, &path) else { continue };
            let shown = path.strip_prefix("proc/sys/").map_or(format!("/{path}"), names::sysctl_name);
            let mut effect = step(shown, Kind::Value, path, State::Value(value), None);
            effect.causes.push(cause);
            steps.push(effect);
        }
    }
    Ok(())
}

/// Paths of what may change when this value is written.
fn effects(place: &Place, path: &str) -> Vec<String> {
    let all_in = |dir: &str| -> Vec<String> {
        let entries = fs::read_dir(place.at(dir)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names.into_iter().map(|name| format!("{dir}/{name}")).collect()
    };
    let paths = side_effects(path).into_iter().flat_map(|effect| match effect {
        SideEffect::Value(path) => vec![path],
        SideEffect::AllIn(dir) => all_in(&dir),
    });
    paths.filter(|path| names::is_value_path(path)).collect()
}
