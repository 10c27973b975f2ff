//! Tracks which commands `\if` skips.

use pgdyno_script::Action;

/// The open `\if`s around the next command. Matching `\endif`s are checked when a script is parsed.
#[derive(Debug, Default)]
pub(super) struct Branches {
    open: Vec<Branch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    /// Commands are executed; no further branch will be.
    Taken,
    /// Commands are skipped; the next condition decides.
    Waiting,
    /// Commands of this and all further branches are skipped.
    Over,
}

impl Branches {
    /// Whether commands are executed here.
    #[inline]
    pub fn active(&self) -> bool {
        matches!(self.open.last(), None | Some(Branch::Taken))
    }

    /// Starts over with the script.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Enters an `\if` with this condition.
    pub fn open(&mut self, condition: bool) {
        self.open.push(if condition { Branch::Taken } else { Branch::Waiting });
    }

    /// Enters an `\elif` with this condition.
    pub fn turn(&mut self, condition: bool) {
        if let Some(last) = self.open.last_mut() {
            *last = if condition { Branch::Taken } else { Branch::Waiting };
        }
    }

    /// Whether an `\elif` ends the branch that was executed, so that its condition is not evaluated.
    pub fn ends_taken(&mut self) -> bool {
        match self.open.last_mut() {
            Some(last @ Branch::Taken) => {
                *last = Branch::Over;
                true
            }
            _ => false,
        }
    }

    /// Enters an `\else`.
    pub fn otherwise(&mut self) {
        if let Some(last) = self.open.last_mut() {
            *last = if *last == Branch::Waiting { Branch::Taken } else { Branch::Over };
        }
    }

    /// Leaves an `\if` at its `\endif`.
    pub fn close(&mut self) {
        self.open.pop();
    }

    /// Skips a command; `false` if the condition of an `\elif` must be evaluated.
    pub fn pass(&mut self, action: &Action) -> bool {
        match action {
            Action::If(_) => self.open.push(Branch::Over),
            Action::Elif(_) => return self.open.last() != Some(&Branch::Waiting),
            Action::Else => self.otherwise(),
            Action::Endif => self.close(),
            _ => {}
        }
        true
    }
}
