//! How far the current work is, from its events: its stage, what is done and left of it, and lines for a file or a
//! pipe, one when there has been none for a while. What shows them is elsewhere.

use std::time::{Duration, Instant};

use pgdyno_core::{observe::Live, units};
use pgdyno_lab::{Bound, Event};

use super::panel;
use crate::detached::entry::{Progress, Whole};

/// Shortest time between two lines.
const SHORTEST: Duration = Duration::from_secs(10);

/// The time between two lines, as a share of the time so far (1 in N): the log of a day is no longer than a thousand
/// lines.
const SHARE: u32 = 100;

/// What is known of the current work.
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
    /// What was said of the time left, and when.
    ahead: Option<(Instant, Ahead)>,
    /// What observers saw last.
    live: Box<Live>,
    /// TPS and 99th percentile of the last second, while clients are driven.
    driven: Option<(f64, Option<u64>)>,
}

/// The time left at some instant.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    /// Seconds of the present step.
    now_s: Option<f64>,
    /// Whether what is counted is all of it.
    is_counted: bool,
    /// Seconds of all steps after it.
    later_s: f64,
    bound: Bound,
}

impl Ahead {
    /// The time left when some seconds have passed, if what is counted takes this long.
    fn left(self, passed_s: f64, counted_s: Option<f64>) -> (f64, Bound) {
        let planned_s = self.now_s.map(|now_s| now_s - passed_s).filter(|left_s| *left_s > 0.0);
        let (now_s, bound) = match (planned_s, counted_s) {
            (Some(_), Some(counted_s)) if self.is_counted => (counted_s, self.bound),
            (Some(planned_s), Some(counted_s)) => (planned_s.max(counted_s), self.bound),
            (Some(left_s), None) | (None, Some(left_s)) => (left_s, self.bound),
            // It takes longer than estimated, or nobody knows.
            (None, None) => (0.0, if self.bound == Bound::AtMost { Bound::About } else { Bound::AtLeast }),
        };
        (now_s + self.later_s, bound)
    }
}

#[derive(Debug)]
struct Counting {
    total: u64,
    unit: String,
    /// When the first count came, and what it was: a resumed load begins with what is there.
    first: Option<(Instant, u64)>,
    done: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new()
    }
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
            ahead: None,
            live: Box::default(),
            driven: None,
        }
    }

    /// What is seen at present of clients, machine and server; empty where nothing is observed.
    pub fn panel(&self) -> Vec<String> {
        panel::lines(&self.live, self.driven)
    }

    /// The line that is due after an event.
    pub fn after(&mut self, event: &Event) -> Option<String> {
        self.after_at(event, Instant::now())
    }

    fn after_at(&mut self, event: &Event, now: Instant) -> Option<String> {
        self.learn(event, now);
        // It comes from the observers, who must not wait for a line to be written.
        if matches!(event, Event::Seen { .. }) {
            return None;
        }
        let so_far = now.saturating_duration_since(self.start);
        let pause = SHORTEST.max(so_far / SHARE);
        if now.saturating_duration_since(self.last) < pause {
            return None;
        }
        self.last = now;
        Some(format!("[{}] {}", units::duration(so_far.as_secs_f64()), self.words(now)))
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
            Event::Now { what } => {
                self.driven = None;
                self.doing.clone_from(what);
            }
            Event::Working { what } => self.doing.clone_from(what),
            Event::Ahead { now_s, is_counted, later_s, bound } => {
                let (now_s, is_counted, later_s, bound) = (*now_s, *is_counted, *later_s, *bound);
                self.ahead = Some((now, Ahead { now_s, is_counted, later_s, bound }));
            }
            Event::RunRecorded { cell, block, tps, .. } => {
                self.run = format!(", last: {cell} in block {}, {} TPS", block + 1, units::rate(*tps));
            }
            Event::Seen { live } => self.live.clone_from(live),
            Event::Driven { tps, latency_ns_p99 } => self.driven = Some((*tps, *latency_ns_p99)),
            Event::StageEnded { .. }
            | Event::DirectoryShown { .. }
            | Event::Note { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// How far the work is now.
    pub fn progress(&self) -> Progress {
        let now = Instant::now();
        let whole = self.whole(now);
        let at = |done, total, unit: &str, left_s| Progress {
            text: self.state(now),
            line: self.words(now),
            whole,
            panel: self.panel(),
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

    /// How far all of it is; `None` where that cannot be known.
    pub fn whole(&self, now: Instant) -> Option<Whole> {
        let (since, ahead) = self.ahead?;
        let seconds = |from| now.saturating_duration_since(from).as_secs_f64();
        let counted_s = self.counting.as_ref().and_then(|counting| Some(counting.pace(now)?.1));
        let (left_s, bound) = ahead.left(seconds(since), counted_s);
        Whole::new(seconds(self.start), left_s, bound)
    }

    /// Rate and time left of what is counted, after its count: `, 12,300/s, 4 min left`.
    pub fn pace(&self) -> String {
        let now = Instant::now();
        let pace = self.counting.as_ref().map(|counting| counting.pace_words(now));
        pace.unwrap_or_default() + &self.left_of_more()
    }

    /// The time left of all work.
    pub fn left(&self) -> String {
        self.whole(Instant::now()).map_or_else(String::new, |whole| format!("{} left", whole.left()))
    }

    /// The time left of all work for a narrow line, if it is more than the present step.
    pub fn left_of_more(&self) -> String {
        let whole = self.whole(Instant::now()).filter(|_| self.has_more());
        whole.map_or_else(String::new, |whole| format!(", all: {}", whole.left()))
    }

    fn has_more(&self) -> bool {
        self.measuring.is_none() && self.ahead.is_some_and(|(_, ahead)| ahead.later_s > 0.0)
    }

    /// What is done now, and how long all of it takes where that is more.
    fn words(&self, now: Instant) -> String {
        let state = self.state(now);
        match (self.whole(now), self.measuring) {
            (Some(whole), Some(_)) => format!("{state}, {}", whole.words()),
            (Some(whole), None) if self.has_more() => format!("{state}; {}", whole.words()),
            (None, Some((total, passed))) => {
                format!("{state}, {} left", units::about((total - passed).max(0.0)))
            }
            (_, None) => state,
        }
    }

    fn idle(&mut self) {
        self.doing.clear();
        (self.counting, self.measuring, self.driven) = (None, None, None);
    }

    fn state(&self, now: Instant) -> String {
        let what = if self.doing.is_empty() { &self.stage } else { &self.doing };
        match (&self.counting, self.measuring) {
            (Some(counting), _) => format!("{what}: {}", counting.words(now)),
            (None, Some(_)) => format!("{what}{}", self.run),
            (None, None) => what.clone(),
        }
    }
}

impl Counting {
    fn words(&self, now: Instant) -> String {
        let of = format!("{} of {}", units::count(self.done), units::count(self.total));
        format!("{of} {}{}", self.unit, self.pace_words(now))
    }

    /// `, 12,300/s, 4 min left`; seconds that are counted have no rate.
    fn pace_words(&self, now: Instant) -> String {
        let Some((rate, left_s)) = self.pace(now) else { return String::new() };
        let left = units::about(left_s);
        match self.unit == "s" {
            true => format!(", {left} left"),
            false => format!(", {}/s, {left} left", units::rate(rate)),
        }
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
        let want = "[12 s] tpcb-like 4 clients, block 2, last: tpcb-like/1 in block 2, 5,310 TPS, 48 s left";
        assert_eq!(lines(&events), [want]);
    }

    #[test]
    fn what_is_left_of_all_of_it_is_shown_next_to_the_present_step() {
        let ahead = |now_s, later_s, bound| Event::Ahead { now_s, is_counted: false, later_s, bound };
        let events = [
            (0, Event::StageBegan { stage: "load".into() }),
            (0, ahead(Some(20.0), 60.0, Bound::AtMost)),
            (5, Event::Counting { what: "loading".into(), total: 4_000, unit: "rows".into() }),
            (5, Event::Counted { done: 0 }),
            (10, Event::Counted { done: 1_000 }),
            (30, Event::StageBegan { stage: "measure".into() }),
            (30, ahead(Some(60.0), 5.0, Bound::About)),
            (30, Event::Measuring { seconds: 50.0 }),
            (40, Event::Measured { seconds: 8.0 }),
        ];
        let want = [
            "[10 s] loading: 1,000 of 4,000 rows, 200/s, 15 s left; in all at most 75 s left",
            "[30 s] measure; in all 60 s left",
            "[40 s] measure, in all 55 s left",
        ];
        assert_eq!(lines(&events), want);
    }

    #[test]
    fn what_takes_longer_than_expected_takes_at_least_the_rest() {
        let about = Ahead { now_s: Some(10.0), is_counted: false, later_s: 30.0, bound: Bound::About };
        assert_eq!(about.left(4.0, None), (36.0, Bound::About));
        assert_eq!(about.left(4.0, Some(9.0)), (39.0, Bound::About));
        assert_eq!(about.left(12.0, None), (30.0, Bound::AtLeast));
        let unknown = Ahead { now_s: None, is_counted: true, later_s: 0.0, bound: Bound::About };
        let counted = Ahead { is_counted: true, ..about };
        assert_eq!(counted.left(4.0, Some(3.0)), (33.0, Bound::About), "it is faster than expected");
        assert_eq!(unknown.left(4.0, Some(9.0)), (9.0, Bound::About));
        assert_eq!(unknown.left(4.0, None), (0.0, Bound::AtLeast));
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
