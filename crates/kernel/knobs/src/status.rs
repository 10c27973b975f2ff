//! What is applied now.

use pgdyno_core::problem::Problem;
use serde::Serialize;

use crate::{
    journal::peek,
    place::Place,
    read,
    set::is_as_wanted,
    state::{Doing, Journal, Kind, Phase, State, Step},
};

/// What is applied now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whether there is a journal.
    pub found: bool,
    /// Whether the host was rebooted since, which ended all values but those that files set again.
    pub rebooted: bool,
    /// Whether `apply` or `undo` was interrupted, or is running.
    pub unfinished: bool,
    /// What was changed.
    pub items: Vec<StatusItem>,
}

/// One thing that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusItem {
    /// What.
    pub name: String,
    /// What was there, in words.
    pub before: String,
    /// What pgdyno left there, in words; absent if it was not written.
    pub ours: Option<String>,
    /// What is there, in words.
    pub present: String,
    /// Its state now.
    pub standing: Standing,
}

/// The state of a change now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As pgdyno set it.
    Applied,
    /// As the kernel made it of what pgdyno wrote.
    Partly,
    /// As before.
    AsBefore,
    /// As somebody else set it: `undo` leaves it.
    Foreign,
    /// A value that ended with a reboot: `undo` leaves it.
    Ended,
}

/// What is applied now, from the journal and the present values. It takes no lock.
///
/// # Errors
/// If the journal or a value cannot be read, or the journal cannot be trusted.
pub fn status(place: &Place) -> Result<Status, Problem> {
    let Some(journal) = peek(place)? else { return Ok(Status::default()) };
    let rebooted = journal.boot_id != read::boot_id(place);
    let mut items = Vec::new();
    for step in &journal.steps {
        let present = read::state(place, step.kind, &step.path)?;
        let standing = standing(&journal, step, &present, rebooted);
        // What the kernel may change as well is shown where it did.
        if step.wanted.is_some() || standing != Standing::AsBefore {
            items.push(item(step, &present, standing));
        }
    }
    let done = |step: &Step| step.wanted.is_none() || step.phase == Phase::Written;
    Ok(Status { found: true, rebooted, unfinished: !journal.steps.iter().all(done), items })
}

fn item(step: &Step, present: &State, standing: Standing) -> StatusItem {
    StatusItem {
        name: step.name.clone(),
        before: step.before.words(),
        ours: step.became.as_ref().map(State::words),
        present: present.words(),
        standing,
    }
}

fn standing(journal: &Journal, step: &Step, present: &State, rebooted: bool) -> Standing {
    if rebooted && step.kind == Kind::Value {
        return Standing::Ended;
    }
    let as_wanted = step.wanted.as_ref().is_none_or(|wanted| is_as_wanted(step, wanted, present));
    match journal.doing(step, present) {
        Doing::Nobody => Standing::AsBefore,
        Doing::Ours if as_wanted => Standing::Applied,
        Doing::Ours => Standing::Partly,
        Doing::Foreign => Standing::Foreign,
    }
}
