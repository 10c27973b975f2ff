//! States of the host: what is changed for the runs of a subject, and put back after them.

use std::path::Path;

use pgdyno_core::{
    host::{Change, Inventory, Knob},
    problem::Problem,
    stop::Stop,
    units::{plural, printable},
};
use pgdyno_host::users;
use pgdyno_knobs::{Applied, Place, Plan};
use pgdyno_plan::HostPlan;
use pgdyno_record::{HostChangesRecord, HostStateRecord, HostValueRecord};
use pgdyno_rules::{Check, Purpose};

use crate::{Events, Job, at_work::refuse_during_runs};

/// Why a plan's changes of the host are left out.
const NOT_ALLOWED: &str = "--allow-host-changes was not given";

/// The states that the host is to be in, and the one that it is in.
#[derive(Debug, Default)]
pub struct HostStates {
    states: Vec<State>,
    /// The state of each subject; `None` is the host as it was found.
    of_subject: Vec<Option<usize>>,
    /// The state that the host is in.
    present: Option<usize>,
    /// What becomes of all that, for the record.
    record: HostChangesRecord,
}

/// A state of the host.
#[derive(Debug)]
struct State {
    said: HostPlan,
    changes: Vec<Change>,
}

impl HostStates {
    /// The states of a job's subjects on this host.
    ///
    /// # Errors
    /// It is not root that asks, or a value that is requested by name cannot be set and put back here.
    pub fn of(job: &Job, host: &Inventory) -> Result<Self, Problem> {
        let mut all = Self::default();
        let applies = job.subjects.iter().any(|subject| subject.host.applies());
        match applies {
            true if !job.allow_host_changes => all.record.not_done = Some(NOT_ALLOWED.to_owned()),
            true if users::uid_of_process() != 0 => {
                return Err(Problem::wrong_request("could not change the host: only root may")
                    .hint("run it with sudo, or leave out --allow-host-changes"));
            }
            _ => {}
        }
        for subject in &job.subjects {
            let is_made = subject.host.applies() && job.allow_host_changes;
            let state = is_made.then(|| all.index_of(&subject.host, host)).transpose()?;
            all.of_subject.push(state);
        }
        all.record.states = all.states_of(job);
        Ok(all)
    }

    /// The index of a state, which is added if it is new.
    fn index_of(&mut self, said: &HostPlan, host: &Inventory) -> Result<usize, Problem> {
        if let Some(known) = self.states.iter().position(|state| state.said == *said) {
            return Ok(known);
        }
        let changes = if said.set.is_empty() { recommended(host) } else { requested(said)? };
        self.states.push(State { said: said.clone(), changes });
        Ok(self.states.len() - 1)
    }

    /// The states before the first change, with the subjects of each.
    fn states_of(&self, job: &Job) -> Vec<HostStateRecord> {
        let subjects = |state: usize| {
            let of_state =
                job.subjects.iter().zip(&self.of_subject).filter(move |(_, of)| **of == Some(state));
            of_state.map(|(subject, _)| subject.name.clone())
        };
        let named = |state| if job.has_several() { subjects(state).collect() } else { Vec::new() };
        (0..self.states.len())
            .map(|state| HostStateRecord { subjects: named(state), changed: Vec::new() })
            .collect()
    }

    /// Whether the plan says anything of the host.
    pub fn concern(&self) -> bool {
        !self.states.is_empty() || self.record.not_done.is_some()
    }

    /// Whether subjects run in different states.
    pub fn differ(&self) -> bool {
        self.of_subject.windows(2).any(|two| two[0] != two[1])
    }

    /// What is going to be changed, in words, for each state with its subjects; or why nothing is.
    pub fn foreseen(&self) -> Vec<String> {
        if let Some(why) = &self.record.not_done {
            return vec![format!("not changed: {why}")];
        }
        let words = |(state, record): (&State, &HostStateRecord)| {
            let plan = planned(&state.changes);
            let name = |item: &pgdyno_knobs::Item| {
                let present = item.present.as_deref().unwrap_or("unknown");
                format!("{} {} → {}", name_of(&item.change.knob), printable(present), item.change.value)
            };
            let changes: Vec<_> = plan.changes().map(name).collect();
            let of = if record.subjects.is_empty() {
                String::new()
            } else {
                format!(" for {}", record.subjects.join(", "))
            };
            match changes.is_empty() {
                true => format!("as wanted already{of}"),
                false => format!("changed{of}, and put back: {}", changes.join(", ")),
            }
        };
        self.states.iter().zip(&self.record.states).map(words).collect()
    }

    /// Brings the host into the state of a subject.
    ///
    /// # Errors
    /// The user is not root, another run is active, changes of the host are applied already, or one failed. What this
    /// changed is put back by [`HostStates::leave`].
    pub fn enter(&mut self, subject: usize, stop: &Stop, events: &Events) -> Result<(), Problem> {
        let wanted = self.of_subject.get(subject).copied().flatten();
        if self.present == wanted {
            return Ok(());
        }
        self.leave(events)?;
        let Some(state) = wanted else { return Ok(()) };
        if self.record.restored.is_none() {
            refuse_during_runs("change the host")?;
        }
        let applied = change(&self.states[state].changes, stop, &mut || self.present = Some(state))?;
        self.record.restored = Some(false);
        let changed = &mut self.record.states[state].changed;
        if changed.is_empty() {
            *changed = values(applied);
            events.note(format!(
                "host: {} made, put back after the runs",
                plural(changed.len() as u64, "change")
            ));
        }
        Ok(())
    }

    /// Puts the host back.
    ///
    /// # Errors
    /// A value could not be restored: its journal stays.
    pub fn leave(&mut self, events: &Events) -> Result<(), Problem> {
        if self.present.is_none() {
            return Ok(());
        }
        let undone = pgdyno_knobs::undo(&Place::host(), false, &Stop::default())?;
        self.present = None;
        self.record.restored = Some(true);
        for left in undone.left {
            let what = format!(
                "{} is {}, which is neither what was set ({}) nor what was there before ({})",
                left.name, left.present, left.ours, left.before
            );
            events.warning(&format!("left as somebody else set it: {what}"));
            self.record.left.push(what);
        }
        Ok(())
    }

    /// The record of the states so far; `None` if the plan says nothing of the host.
    pub fn record(&self) -> Option<HostChangesRecord> {
        self.concern().then(|| self.record.clone())
    }
}

impl Drop for HostStates {
    fn drop(&mut self) {
        // Only a panic comes here with a changed host; its message is the one to print.
        if self.present.is_some() {
            let _ = pgdyno_knobs::undo(&Place::host(), false, &Stop::default());
        }
    }
}

/// Makes changes until they are put back or the host is rebooted. `begun` is called before the first one, from when on
/// there may be something to put back.
///
/// # Errors
/// Changes are applied already, and are not ours to put back; or one failed.
fn change(changes: &[Change], stop: &Stop, begun: &mut dyn FnMut()) -> Result<Applied, Problem> {
    let place = Place::host();
    if pgdyno_knobs::status(&place).is_ok_and(|status| status.found) {
        return Err(Problem::could_not("could not change the host: changes of it are applied already")
            .hint("`pgdyno host status` shows them, and `pgdyno host undo` puts them back"));
    }
    begun();
    pgdyno_knobs::apply(&planned(changes), &place, stop)
}

/// Changes the host, does something, and puts the host back, whatever came of it.
///
/// # Errors
/// The user is not root, another run is active, changes of the host are applied already, or one failed; or what was
/// done failed.
pub fn with_changes<T>(
    changes: &[Change],
    stop: &Stop,
    work: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    refuse_during_runs("change the host")?;
    let mut begun = false;
    let done = change(changes, stop, &mut || begun = true).and_then(|_| work());
    let undone =
        if begun { pgdyno_knobs::undo(&Place::host(), false, &Stop::default()).map(drop) } else { Ok(()) };
    done.and_then(|done| undone.map(|()| done))
}

fn planned(changes: &[Change]) -> Plan {
    pgdyno_knobs::plan(changes, Path::new("/")).until_reboot()
}

/// What rules recommend for this host, as far as it can be set and put back here. Limits of logins hold from the next
/// login on, which no run has.
fn recommended(host: &Inventory) -> Vec<Change> {
    let findings = Check::of(host, Purpose::Oltp).findings.into_iter();
    let changes = findings.filter_map(|finding| finding.change);
    let changes = changes.filter(|change| matches!(change.knob, Knob::Sysctl(_) | Knob::Sysfs(_)));
    let changes: Vec<Change> = changes.collect();
    planned(&changes).applicable().items.into_iter().map(|item| item.change).collect()
}

/// What a plan names.
fn requested(said: &HostPlan) -> Result<Vec<Change>, Problem> {
    let change = |(name, value): (&String, &String)| Change {
        knob: if name.starts_with('/') { Knob::Sysfs(name.clone()) } else { Knob::Sysctl(name.clone()) },
        value: value.clone(),
    };
    let changes: Vec<Change> = said.set.iter().map(change).collect();
    let objection = planned(&changes).items.into_iter().find_map(|item| {
        let why = item.verdict.objection()?;
        Some(format!("{} {why}", name_of(&item.change.knob)))
    });
    match objection {
        None => Ok(changes),
        Some(why) => Err(Problem::wrong_request(format!("could not change the host: {}", printable(&why)))
            .hint("docs/host-changes.md lists what can be changed and put back. Nothing was changed.")),
    }
}

fn name_of(knob: &Knob) -> &str {
    match knob {
        Knob::Sysctl(name) | Knob::Sysfs(name) | Knob::BootWord(name) | Knob::MountOption(name) => name,
        Knob::LoginLimit { item, .. } => item,
    }
}

fn values(applied: Applied) -> Vec<HostValueRecord> {
    let value = |changed: pgdyno_knobs::Changed| HostValueRecord {
        name: changed.name,
        before: changed.before,
        wanted: changed.wanted,
        became: changed.became,
    };
    applied.changed.into_iter().map(value).collect()
}
