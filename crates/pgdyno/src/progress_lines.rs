//! Progress for a file or a pipe: a line when there has been none for a while.

use std::time::{Duration, Instant};

use pgdyno_core::units;
use pgdyno_lab::Event;

use crate::detached::entry::Progress;

/// Shortest time between two lines.
const SHORTEST: Duration = Duration::from_secs(10);

/// The time between two lines, as a share of the time so far (1 in N): the log of a day is no longer than a thousand
/// lines.
const SHARE: u32 = 100;

/// What is known of the work under way.
#[derive(Debug)]
pub struct Lines {
    start: Instant,
    last: Instant,
    stage: String,
    doing: String,
    /// Units in all, their name, when counting began, and how many there were when it was first said.
    counting: Option<Counting>,
    /// Seconds of measuring in all, and those that have passed.
    measuring: Option<(f64, f64)>,
    /// The last run that was recorded.
    run: String,
}

#[derive(Debug)]
struct Counting {
    total: u64,
    unit: String,
    /// When the first count came, and what it was: a resumed load begins with what is there.
    first: Option<(Instant, u64)>,
    done: u64,
}

impl Lines {
    /// Lines of work that begins now.
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            start: now,
            last: now,
            stage: String::new(),
            doing: String::new(),
            counting: None,
            measuring: None,
            run: String::new(),
        }
    }

    /// The line that is due after an event.
    pub fn after(&mut self, event: &Event) -> Option<String> {
        self.after_at(event, Instant::now())
    }

    fn after_at(&mut self, event: &Event, now: Instant) -> Option<String> {
        self.learn(event, now);
        let so_far = now.saturating_duration_since(self.start);
        let pause = SHORTEST.max(so_far / SHARE);
        if now.saturating_duration_since(self.last) < pause {
            return None;
        }
        self.last = now;
        Some(format!("[{}] {}", units::duration(so_far.as_secs_f64()), self.state(now)))
    }

    fn learn(&mut self, event: &Event, now: Instant) {
        match event {
            Event::StageBegan { stage } => {
                self.stage.clone_from(stage);
                self.idle();
            }
            Event::Doing { what } => {
                self.idle();
                self.doing.clone_from(what);
            }
            Event::Counting { what, total, unit } => {
                self.idle();
                self.doing.clone_from(what);
                self.counting = Some(Counting { total: *total, unit: unit.clone(), first: None, done: 0 });
            }
            Event::Counted { done } => {
                if let Some(counting) = &mut self.counting {
                    counting.first.get_or_insert((now, *done));
                    counting.done = *done;
                }
            }
            Event::Measuring { seconds } => {
                self.idle();
                self.measuring = Some((*seconds, 0.0));
            }
            Event::Measured { seconds } => {
                self.measuring = self.measuring.map(|(total, _)| (total, *seconds));
            }
            Event::Now { what } | Event::Working { what } => self.doing.clone_from(what),
            Event::RunRecorded { cell, block, tps, .. } => {
                self.run = format!(", last: {cell} in block {}, {} TPS", block + 1, units::rate(*tps));
            }
            Event::StageEnded { .. }
            | Event::DirectoryShown { .. }
            | Event::Note { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// How far the work is now.
    pub fn progress(&self) -> Progress {
        let now = Instant::now();
        let at = |done, total, unit: &str, left_s| Progress {
            text: self.state(now),
            stage: self.stage.clone(),
            done,
            total,
            unit: total.map(|_| unit.to_owned()),
            left_s,
        };
        match (&self.counting, self.measuring) {
            (Some(counting), _) => {
                let left_s = counting.pace(now).map(|(_, left_s)| left_s);
                at(Some(counting.done), Some(counting.total), &counting.unit, left_s)
            }
            (None, Some((total, passed))) => {
                at(Some(passed as u64), Some(total as u64), "s", Some((total - passed).max(0.0)))
            }
            (None, None) => at(None, None, "", None),
        }
    }

    fn idle(&mut self) {
        self.doing.clear();
        (self.counting, self.measuring) = (None, None);
    }

    fn state(&self, now: Instant) -> String {
        let what = if self.doing.is_empty() { &self.stage } else { &self.doing };
        match (&self.counting, self.measuring) {
            (Some(counting), _) => format!("{what}: {}", counting.words(now)),
            (None, Some((total, passed))) => {
                let left = units::about((total - passed).max(0.0));
                format!("{what}, {left} left{}", self.run)
            }
            (None, None) => what.clone(),
        }
    }
}

impl Counting {
    fn words(&self, now: Instant) -> String {
        let of = format!("{} of {}", units::count(self.done), units::count(self.total));
        let pace = self
            .pace(now)
            .map(|(rate, left_s)| format!(", {}/s, {} left", units::rate(rate), units::about(left_s)));
        format!("{of} {}{}", self.unit, pace.unwrap_or_default())
    }

    /// Units per second, and the seconds that are left at this rate, once a second has passed.
    fn pace(&self, now: Instant) -> Option<(f64, f64)> {
        let (since, first) = self.first?;
        let seconds = now.saturating_duration_since(since).as_secs_f64();
        let rate = (self.done - first.min(self.done)) as f64 / seconds;
        let left_s = self.total.saturating_sub(self.done) as f64 / rate;
        (seconds >= 1.0 && rate > 0.0).then_some((rate, left_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of events at these seconds.
    fn lines(events: &[(u64, Event)]) -> Vec<String> {
        let mut lines = Lines::new();
        let start = lines.start;
        let at = |second: &u64| start + Duration::from_secs(*second);
        events.iter().filter_map(|(second, event)| lines.after_at(event, at(second))).collect()
    }

    #[test]
    fn a_load_says_how_far_it_is_now_and_then() {
        let mut events = vec![
            (0, Event::StageBegan { stage: "load".into() }),
            (0, Event::Counting { what: "rows".into(), total: 4_000_000, unit: "rows".into() }),
        ];
        events.extend((0..25).map(|s| (s, Event::Counted { done: 1_000_000 + s * 100_000 })));
        events.push((31, Event::Doing { what: "primary keys".into() }));
        events.push((41, Event::Working { what: "primary keys: sorting live tuples".into() }));
        let want = [
            "[10 s] rows: 2,000,000 of 4,000,000 rows, 100,000/s, 20 s left",
            "[20 s] rows: 3,000,000 of 4,000,000 rows, 100,000/s, 10 s left",
            "[31 s] primary keys",
            "[41 s] primary keys: sorting live tuples",
        ];
        assert_eq!(lines(&events), want);
    }

    #[test]
    fn progress_is_known_in_numbers() {
        let mut lines = Lines::new();
        let (start, count) = (lines.start - Duration::from_secs(10), |done| Event::Counted { done });
        lines.learn(&Event::StageBegan { stage: "load".into() }, start);
        assert_eq!(lines.progress().text, "load");
        let counting = Event::Counting { what: "rows".into(), total: 4_000, unit: "rows".into() };
        for event in [counting, count(1_000), count(2_000)] {
            lines.learn(&event, start);
        }
        let progress = lines.progress();
        assert_eq!(
            (progress.done, progress.total, progress.unit.as_deref()),
            (Some(2_000), Some(4_000), Some("rows"))
        );
        assert!(progress.left_s.is_some_and(|left_s| (20.0..40.0).contains(&left_s)), "{progress:?}");
        lines.learn(&Event::Measuring { seconds: 60.0 }, start);
        lines.learn(&Event::Measured { seconds: 12.0 }, start);
        assert_eq!((lines.progress().done, lines.progress().left_s), (Some(12), Some(48.0)));
    }

    #[test]
    fn a_bench_says_what_it_measured_last() {
        let events = [
            (0, Event::StageBegan { stage: "measure".into() }),
            (0, Event::Measuring { seconds: 60.0 }),
            (0, Event::Now { what: "tpcb-like 4 clients, block 2".into() }),
            (8, Event::RunRecorded { run: 3, cell: "tpcb-like/1".into(), block: 1, tps: 5_310.0 }),
            (12, Event::Measured { seconds: 12.0 }),
        ];
        let want = "[12 s] tpcb-like 4 clients, block 2, 48 s left, last: tpcb-like/1 in block 2, 5,310 TPS";
        assert_eq!(lines(&events), [want]);
    }

    /// A command of some seconds writes nothing, and a day at most a thousand lines.
    #[test]
    fn logs_stay_short() {
        let seconds = |last: u64| (0..last).map(|s| (s, Event::Counted { done: s })).collect::<Vec<_>>();
        assert_eq!(lines(&seconds(9)), Vec::<String>::new());
        let day = lines(&seconds(86_400)).len();
        assert!((400..1_000).contains(&day), "{day}");
    }
}
