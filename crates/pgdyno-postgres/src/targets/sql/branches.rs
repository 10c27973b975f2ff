//! Which commands an `\if` leaves out.

use pgdyno_script::Action;

/// The `\if`s around the command that is next. That every one has its `\endif` is checked when a script is read.
#[derive(Debug, Default)]
pub(super) struct Branches {
    open: Vec<Branch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    /// Its commands are carried out; no further branch will be.
    Taken,
    /// Its commands are left out; the next condition decides.
    Waiting,
    /// Its commands are left out, and those of all further branches.
    Over,
}

impl Branches {
    /// Whether commands are carried out here.
    #[inline]
    pub fn active(&self) -> bool {
        matches!(self.open.last(), None | Some(Branch::Taken))
    }

    /// Forgets all: the script begins again.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// An `\if` that is carried out, with its condition.
    pub fn open(&mut self, condition: bool) {
        self.open.push(if condition { Branch::Taken } else { Branch::Waiting });
    }

    /// An `\elif` whose condition was computed.
    pub fn turn(&mut self, condition: bool) {
        if let Some(last) = self.open.last_mut() {
            *last = if condition { Branch::Taken } else { Branch::Waiting };
        }
    }

    /// Whether an `\elif` comes after the branch that was taken, so that its condition does not count.
    pub fn ends_taken(&mut self) -> bool {
        match self.open.last_mut() {
            Some(last @ Branch::Taken) => {
                *last = Branch::Over;
                true
            }
            _ => false,
        }
    }

    /// An `\else`.
    pub fn otherwise(&mut self) {
        if let Some(last) = self.open.last_mut() {
            *last = if *last == Branch::Waiting { Branch::Taken } else { Branch::Over };
        }
    }

    /// An `\endif`.
    pub fn close(&mut self) {
        self.open.pop();
    }

    /// Passes a command where none is carried out. `false` where it must be looked at after all: the condition of an
    /// `\elif`.
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
