//! What was there, what was wanted and what came of it: the content of a journal.

use serde::{Deserialize, Serialize};

/// Format of the journal that this version reads and writes.
pub const FORMAT: u32 = 1;

/// What was changed on a host, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Boot during which it was written: values of the kernel end with it. Empty if it is unknown.
    pub boot_id: String,
    /// Network namespace whose parameters were changed; absent if it is unknown.
    pub network: Option<String>,
    /// Changes, causes before what they may change as well.
    pub steps: Vec<Step>,
}

/// One change, or a value that the kernel may change because of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name as shown: `vm.swappiness`, or a path.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Path below the root.
    pub path: String,
    /// What was there.
    pub before: State,
    /// What is wanted; absent for a value that is only restored.
    pub wanted: Option<State>,
    /// What was read afterwards, by the last step that may have changed it.
    pub became: Option<State>,
    /// Steps, by their number, that may change it as well.
    pub causes: Vec<usize>,
    /// How far it is.
    pub phase: Phase,
}

/// Kinds of things that are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file of `/proc/sys` or `/sys`.
    Value,
    /// A file in `/etc`.
    File,
    /// A directory in `/etc`.
    Directory,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum State {
    /// Nothing.
    Absent,
    /// A value, see [`crate::value::normal`].
    Value(String),
    /// A file.
    File {
        /// Content.
        text: String,
        /// Permissions.
        mode: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
    },
    /// A directory.
    Directory,
    /// Something that pgdyno never makes, in words.
    Other(String),
}

/// How far a step is. Each is written before what it announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not begun.
    Waiting,
    /// About to be written.
    Writing,
    /// Written, and read back.
    Written,
    /// About to be restored.
    Restoring,
    /// Restored.
    Restored,
    /// Left as somebody else set it.
    Left,
}

/// Whose doing the present state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It is as before.
    Nobody,
    /// It is as pgdyno left it, or was interrupted in leaving it.
    Ours,
    /// It is neither as before nor as pgdyno left it.
    Foreign,
}

impl State {
    /// The state in words, for a table.
    pub fn words(&self) -> String {
        match self {
            Self::Absent => "absent".to_owned(),
            Self::Value(value) => value.clone(),
            Self::File { text, mode, uid, gid } => {
                format!("a file of {} bytes, mode {mode:04o}, owner {uid}:{gid}", text.len())
            }
            Self::Directory => "a directory".to_owned(),
            Self::Other(what) => what.clone(),
        }
    }
}

impl Journal {
    /// Whether a step, or one that may change it as well, was interrupted while it was written.
    fn interrupted(&self, step: &Step) -> bool {
        let causes = step.causes.iter().filter_map(|&cause| self.steps.get(cause));
        std::iter::once(step).chain(causes).any(|step| step.phase == Phase::Writing)
    }

    /// Whose doing the present state of a step is. Where the step was interrupted, what the kernel made of the new
    /// value is not known, so anything but the state before is ours.
    pub fn doing(&self, step: &Step, present: &State) -> Doing {
        let ours = match step.phase {
            Phase::Waiting | Phase::Writing | Phase::Written => {
                self.interrupted(step) || step.became.as_ref() == Some(present)
            }
            Phase::Restoring => true,
            Phase::Restored | Phase::Left => false,
        };
        match ours {
            _ if *present == step.before => Doing::Nobody,
            true => Doing::Ours,
            false => Doing::Foreign,
        }
    }
}
