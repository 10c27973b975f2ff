//! Events of one kind over time.

use pgdyno_core::units;

/// Most events of a kind that have a mark of their own; in longer lists neighbours share one.
const MOST_MARKS: usize = 300;

/// Events of one kind, in the order of their begins as far as they are merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks(Vec<Mark>);

/// An event, or several that share a mark.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Begin in seconds since the start of the run.
    pub from_s: f64,
    /// End; equal to the begin for an instant.
    pub to_s: f64,
    /// Number of events.
    pub count: u64,
    /// What happened; of several events the first.
    pub label: String,
    /// Colour of the mark.
    pub colour: usize,
}

impl Mark {
    /// An event.
    pub fn new(from_s: f64, to_s: f64, label: impl Into<String>, colour: usize) -> Self {
        Self { from_s, to_s: to_s.max(from_s), count: 1, label: label.into(), colour }
    }

    /// What the mark says.
    pub fn words(&self) -> String {
        match self.count {
            1 => self.label.clone(),
            count => format!("{} events; the first: {}", units::count(count), self.label),
        }
    }
}

impl Marks {
    /// Adds an event.
    pub fn add(&mut self, mark: Mark) {
        if mark.from_s.is_finite() && mark.to_s.is_finite() {
            self.0.push(Mark { label: units::printable(&mark.label).into_owned(), ..mark });
        }
        if self.0.len() > 2 * MOST_MARKS {
            self.merge();
        }
    }

    /// The marks in order, not too many.
    pub fn list(&self) -> Vec<Mark> {
        let mut own = self.clone();
        own.merge();
        own.0
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn merge(&mut self) {
        self.0.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return };
        let mut width_s = (last.from_s - first.from_s) / MOST_MARKS as f64;
        while self.0.len() > MOST_MARKS {
            let place = |mark: &Mark| if width_s > 0.0 { (mark.from_s / width_s).floor() } else { 0.0 };
            self.0.dedup_by(|later, kept| {
                let shares = place(later) == place(kept);
                if shares {
                    kept.to_s = kept.to_s.max(later.to_s);
                    kept.count += later.count;
                }
                shares
            });
            width_s *= 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_events_share_marks_and_are_all_counted() {
        let mut marks = Marks::default();
        for at in 0..100_000_u32 {
            marks.add(Mark::new(f64::from(at), f64::from(at) + 0.5, format!("event {at}\u{7}"), 0));
        }
        let list = marks.list();
        assert!((MOST_MARKS / 4..=MOST_MARKS).contains(&list.len()), "{}", list.len());
        assert_eq!(list.iter().map(|mark| mark.count).sum::<u64>(), 100_000);
        assert_eq!(list.last().map(|mark| mark.to_s), Some(99_999.5));
        assert!(list[0].words().ends_with("events; the first: event 0\\u{7}"), "{}", list[0].words());
    }

    #[test]
    fn events_of_one_instant_share_a_mark_too() {
        let mut marks = Marks::default();
        (0..1_000).for_each(|_| marks.add(Mark::new(7.0, 7.0, "deadlock", 0)));
        let list = marks.list();
        assert!(list.len() <= MOST_MARKS && list.iter().map(|mark| mark.count).sum::<u64>() == 1_000);
    }
}
