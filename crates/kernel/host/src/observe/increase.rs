//! Increases of counters over the time in which they were observed.

/// How much a counter grew, and in how many seconds: sums of several readings stay right where one was missing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Increase {
    total: u64,
    over_s: f64,
}

impl Increase {
    /// The growth of a counter over so many seconds; `None` if it was not readable both times, or went backwards.
    pub(super) fn between(now: Option<u64>, then: Option<u64>, over_s: f64) -> Self {
        match now.zip(then).and_then(|(now, then)| now.checked_sub(then)) {
            Some(total) => Self { total, over_s },
            None => Self::default(),
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.total = self.total.saturating_add(more.total);
        self.over_s += more.over_s;
    }

    /// Units per second; `None` if it was not observed.
    pub(super) fn per_s(&self) -> Option<f64> {
        (self.over_s > 0.0).then(|| self.total as f64 / self.over_s)
    }
}
