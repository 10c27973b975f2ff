//! How long the rest of a load or of copies may take.

use std::time::Instant;

use pgdyno_plan::advice::bench::CHECK_ROWS_PER_S;
use pgdyno_postgres::load::BulkProgress;
use pgdyno_rows::load::{LoadPlan, Stage, tasks};

use crate::{Bound, Event, Events};

/// The stages of a load, and how long each may take.
#[derive(Debug)]
pub struct LoadAhead {
    /// `None` for a stage of unknown length.
    stages: Vec<(Stage, Option<f64>)>,
    /// Comparing all rows, where that is wanted.
    proof_s: Option<f64>,
    /// The current stage, and since when.
    now: Option<(Stage, Instant)>,
    /// How much longer the stages so far took than they were expected to.
    slower: f64,
}

impl LoadAhead {
    /// The stages of a load until one, with a comparison of all rows if that is wanted, of which some are expected to
    /// take so many seconds.
    pub fn new(plan: &LoadPlan, (until, wants_proof): (Stage, bool), expected: &[(Stage, f64)]) -> Self {
        let wanted = tasks(plan);
        let is_wanted = |stage: &Stage| *stage <= until && wanted.iter().any(|task| task.stage == *stage);
        let seconds = |stage| expected.iter().find(|(of, _)| *of == stage).map(|(_, seconds)| *seconds);
        let stages = Stage::ALL.into_iter().filter(is_wanted).map(|stage| (stage, seconds(stage))).collect();
        let is_proved = wants_proof && Some(&until) == Stage::ALL.last();
        let rows = plan.rows_total();
        Self { stages, proof_s: is_proved.then(|| rows as f64 / CHECK_ROWS_PER_S), now: None, slower: 1.0 }
    }

    /// Learns which stage begins, and reports what is left.
    pub fn learn(&mut self, at: &BulkProgress, events: &Events) {
        match at {
            BulkProgress::Stage(stage) => {
                self.end_stage();
                self.now = Some((*stage, Instant::now()));
                events.send(&self.ahead(*stage));
            }
            BulkProgress::Proving => {
                let now_s = self.proof_s;
                events.send(&Event::Ahead { now_s, is_counted: true, later_s: 0.0, bound: Bound::About });
            }
            _ => {}
        }
    }

    /// Compares the stage that is over with what was expected of it. A resumed load has a part of it only, so nothing
    /// becomes faster.
    fn end_stage(&mut self) {
        let Some((stage, since)) = self.now.take() else { return };
        if let Some(expected_s) = self.expected_s(stage) {
            self.slower = (since.elapsed().as_secs_f64() / expected_s).clamp(1.0, 100.0);
        }
    }

    fn expected_s(&self, stage: Stage) -> Option<f64> {
        let seconds = self.stages.iter().find(|(of, _)| *of == stage).and_then(|(_, seconds)| *seconds);
        seconds.filter(|seconds| *seconds > 0.0)
    }

    fn ahead(&self, stage: Stage) -> Event {
        let later = || self.stages.iter().filter(|(of, _)| *of > stage).map(|(_, seconds)| *seconds);
        let bound = if later().all(|seconds| seconds.is_some()) { Bound::About } else { Bound::AtLeast };
        let stages_s: f64 = later().flatten().sum();
        let now_s = self.expected_s(stage).map(|seconds| seconds * self.slower);
        let later_s = stages_s * self.slower + self.proof_s.unwrap_or(0.0);
        Event::Ahead { now_s, is_counted: true, later_s, bound }
    }
}

/// Several copies, one after the other.
#[derive(Debug)]
pub struct CopiesAhead {
    copies: u64,
    begun: u64,
    since: Instant,
    /// Copies that are whole are left out, so that fewer may be made.
    resumes: bool,
}

impl CopiesAhead {
    /// So many copies, of which some may be there if the command is resumed.
    pub fn new(copies: u64, resumes: bool) -> Self {
        Self { copies, begun: 0, since: Instant::now(), resumes }
    }

    /// Learns that a copy begins, and reports what is left.
    pub fn learn(&mut self, at: &BulkProgress, events: &Events) {
        if matches!(at, BulkProgress::Stage(Stage::Copy)) {
            events.send(&self.ahead(Instant::now()));
            self.begun += 1;
        }
    }

    fn ahead(&mut self, now: Instant) -> Event {
        let left = self.copies.saturating_sub(self.begun + 1);
        if self.begun == 0 {
            self.since = now;
            return Event::Ahead { now_s: None, is_counted: false, later_s: 0.0, bound: Bound::AtLeast };
        }
        let each_s = now.saturating_duration_since(self.since).as_secs_f64() / self.begun as f64;
        let bound = if self.resumes { Bound::AtMost } else { Bound::About };
        Event::Ahead { now_s: Some(each_s), is_counted: false, later_s: each_s * left as f64, bound }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn load(expected: [Option<f64>; 3]) -> LoadAhead {
        let stages = [Stage::Copy, Stage::Vacuum, Stage::Keys].into_iter().zip(expected).collect();
        LoadAhead { stages, proof_s: Some(5.0), now: None, slower: 1.0 }
    }

    #[test]
    fn a_load_that_is_slower_than_others_will_be_slower_in_its_keys() {
        let mut load = load([Some(10.0), Some(2.0), Some(20.0)]);
        let about = |now_s, later_s| Event::Ahead {
            now_s: Some(now_s),
            is_counted: true,
            later_s,
            bound: Bound::About,
        };
        assert_eq!(load.ahead(Stage::Copy), about(10.0, 27.0));
        load.slower = 2.0;
        assert_eq!(load.ahead(Stage::Vacuum), about(4.0, 45.0));
        load.now = Instant::now().checked_sub(Duration::from_secs(1)).map(|since| (Stage::Vacuum, since));
        load.end_stage();
        assert_eq!((load.slower, load.ahead(Stage::Keys)), (1.0, about(20.0, 5.0)));
    }

    #[test]
    fn a_load_without_others_to_learn_from_takes_at_least_its_rows() {
        let load = load([None; 3]);
        let ahead = |bound| Event::Ahead { now_s: None, is_counted: true, later_s: 5.0, bound };
        assert_eq!(load.ahead(Stage::Copy), ahead(Bound::AtLeast));
        assert_eq!(load.ahead(Stage::Keys), ahead(Bound::About));
    }

    #[test]
    fn the_first_copies_estimate_how_long_the_others_take() {
        let mut copies = CopiesAhead::new(4, false);
        let first = Instant::now();
        let nothing = Event::Ahead { now_s: None, is_counted: false, later_s: 0.0, bound: Bound::AtLeast };
        assert_eq!(copies.ahead(first), nothing);
        copies.begun = 2;
        let later = Event::Ahead { now_s: Some(5.0), is_counted: false, later_s: 5.0, bound: Bound::About };
        assert_eq!(copies.ahead(first + Duration::from_secs(10)), later);
    }
}
