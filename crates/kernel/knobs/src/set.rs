//! Changes whatever is there to a wanted state, and reports whether that succeeded.

use std::io;

use crate::{
    calls::Calls,
    place::Place,
    safe::{Missing, open_dir},
    state::{Kind, State, Step},
    value::same,
};

/// Makes a state out of whatever is there.
///
/// # Errors
/// Those of the system calls.
pub(crate) fn write(place: &Place, step: &Step, state: &State, calls: &Calls<'_>) -> io::Result<()> {
    if step.kind == Kind::Value {
        let State::Value(value) = state else { return Ok(()) };
        return calls.write_value(&place.at(&step.path), value, place.is_host());
    }
    let (above, name) = step.path.rsplit_once('/').unwrap_or(("", &step.path));
    let dir = open_dir(&place.root, above, place.user, &Missing::Absent).map_err(io::Error::other)?;
    let Some(dir) = dir else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
    match (step.kind, state) {
        (Kind::Directory, State::Absent) => calls.remove_dir(&dir, name),
        (Kind::Directory, _) => calls.make_dir(&dir, name, 0o755),
        (_, State::Absent) => calls.remove(&dir, name),
        (_, state) => calls.replace(&dir, name, state),
    }
}

/// Whether a value read back is the one that was written.
pub(crate) fn is_as_wanted(step: &Step, wanted: &State, became: &State) -> bool {
    match (wanted, became) {
        (State::Value(wanted), State::Value(became)) => same(&step.path, wanted, became),
        _ => wanted == became,
    }
}
