//! How long the rest of an experiment may take: from the estimate of each step, and from the rounds so far.

use pgdyno_plan::{Action, advice::bench::CHECK_ROWS_PER_S};
use pgdyno_record::Bound;
use pgdyno_rows::load::LoadPlan;

use crate::{
    Event, Events, Job, Prepared, Wanted,
    announcement::{blocks_s, level_starts_s},
};

/// Seconds of starting a server of pgdyno's own, with `initdb`.
const START_S: f64 = 2.5;
/// Seconds of short steps, such as measuring sizes.
const SHORT_S: f64 = 0.3;
/// Seconds between two runs, as the announcement has them.
const BETWEEN_S: f64 = 0.5;

/// A step of an experiment; its seconds are `None` if nobody can know them.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    name: String,
    seconds: Option<f64>,
}

/// The steps of an experiment, and which of them is being executed.
#[derive(Debug)]
pub struct Ahead {
    steps: Vec<Step>,
    /// Number of steps that have begun.
    begun: usize,
    /// A comparison ends when it has its answer.
    may_end_early: bool,
}

impl Ahead {
    /// The steps of a job whose check of synchronous writes takes so many seconds.
    pub fn new(job: &Job, prepared: &Prepared, storage_check_s: f64) -> Self {
        Self {
            steps: steps(job, prepared, storage_check_s),
            begun: 0,
            may_end_early: job.comparison().is_some(),
        }
    }

    /// A step begins: reports how long it and the others may take. A step that was not foreseen changes nothing.
    pub fn begin(&mut self, name: &str, events: &Events) {
        let Some(after) = self.steps[self.begun..].iter().position(|step| step.name == name) else { return };
        self.begun += after + 1;
        self.report(self.steps[self.begun - 1].seconds, events);
    }

    /// Reports the time left where only a part of the present step remains, from 0 to 1.
    pub fn report_part(&self, part: f64, events: &Events) {
        let present = self.begun.checked_sub(1).and_then(|at| self.steps[at].seconds);
        self.report(present.map(|seconds| seconds * part), events);
    }

    /// Reports the time left, of which the present step takes so much.
    pub fn report(&self, now_s: Option<f64>, events: &Events) {
        let later = &self.steps[self.begun..];
        let later_s = later.iter().filter_map(|step| step.seconds).sum();
        let is_known = later.iter().all(|step| step.seconds.is_some());
        let measures = self.steps[self.begun.saturating_sub(1)..].iter().any(|step| step.name == MEASURE);
        let bound = match (is_known, self.may_end_early && measures) {
            (true, true) => Bound::AtMost,
            (false, false) => Bound::AtLeast,
            // Parts of unknown length and those that may be left out are errors in both directions.
            (true, false) | (false, true) => Bound::About,
        };
        events.send(&Event::Ahead { now_s, is_counted: false, later_s, bound });
    }
}

/// Name of the step that runs the workloads.
const MEASURE: &str = "measure";

/// The steps of a job in their order.
fn steps(job: &Job, prepared: &Prepared, storage_check_s: f64) -> Vec<Step> {
    let servers = job.servers.len();
    let own = job.servers.iter().filter(|wanted| matches!(wanted, Wanted::Own(_))).count();
    let step = |name: &str, seconds| Step { name: name.to_owned(), seconds };
    let mut all = vec![step("server", Some(SHORT_S + START_S * own as f64))];
    all.extend((0..own.min(1)).map(|_| step("storage check", Some(storage_check_s))));
    let stages = prepared.plan.stages();
    let loads = |all: &mut Vec<Step>| (0..servers).for_each(|at| all.extend(fill(job, prepared, at)));
    if !stages.iter().any(|stage| stage.action == Action::Load) {
        loads(&mut all);
    }
    for stage in &stages {
        match stage.action {
            Action::Load => loads(&mut all),
            Action::Drive => all.extend(drive(job, prepared)),
            action => {
                let rows = prepared.first_load().map(LoadPlan::rows_total);
                let verifies = rows.filter(|_| action == Action::Verify);
                let seconds = verifies.map(|rows| rows as f64 / CHECK_ROWS_PER_S);
                all.extend((0..servers).map(|_| step(action.name(), seconds)));
            }
        }
    }
    all.push(step("clean up", Some(1.0)));
    all
}

/// The steps that fill a server.
fn fill(job: &Job, prepared: &Prepared, at: usize) -> Vec<Step> {
    let step = |name: &str, seconds| Step { name: name.to_owned(), seconds };
    let loads = prepared.loads.iter().flatten().count().max(1) as f64;
    let each_s = match job.loads_in_runs() {
        true => prepared.run_s,
        false if job.comparison().is_some() => prepared.bench.cost.load_s,
        false => prepared.bench.cost.load_s / loads,
    };
    let load = prepared.load_at(at).map(|_| step("load", Some(each_s)));
    let setup = job.workload_files.setup.as_ref().map(|_| step("setup", None));
    load.into_iter().chain(setup).collect()
}

/// The steps that measure and check.
fn drive(job: &Job, prepared: &Prepared) -> Vec<Step> {
    let step = |name: &str, seconds| Step { name: name.to_owned(), seconds: Some(seconds) };
    let cost = &prepared.bench.cost;
    let runs_s = match job.comparison() {
        None => cost.runs as f64 * (prepared.run_s + BETWEEN_S) + level_starts_s(job, prepared),
        Some(compare) => {
            let last = compare.looks.last().map_or(0, |look| look.blocks);
            blocks_s(compare, prepared, last)
        }
    };
    let verify = job.loads_in_runs().then(|| step("verify", SHORT_S + cost.load_s / 4.0));
    let quiesce = job.has_several().then(|| step("quiesce", 1.0));
    let before = [Some(step("sizes", SHORT_S)), quiesce, Some(step(MEASURE, runs_s))];
    let after = [Some(step("sizes", SHORT_S)), verify, Some(step("check", SHORT_S + cost.check_s))];
    before.into_iter().chain(after).flatten().collect()
}

/// The planned rounds that a record lacks. A comparison may need fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundsLeft {
    /// Their number.
    pub rounds: u32,
    /// How many of them begin with a start of the servers.
    pub starts: u32,
    /// Number of all planned rounds.
    pub of: u32,
}

/// The times of the rounds of this process, from which the time of the others is estimated.
#[derive(Debug, Default)]
pub struct RoundTimes {
    rounds_s: f64,
    rounds: u32,
    starts_s: f64,
    starts: u32,
}

impl RoundTimes {
    /// Adds a round of so many seconds, of which a start of the servers took some.
    pub fn add(&mut self, seconds: f64, start_s: Option<f64>) {
        self.rounds_s += seconds - start_s.unwrap_or(0.0);
        self.rounds += 1;
        self.starts_s += start_s.unwrap_or(0.0);
        self.starts += u32::from(start_s.is_some());
    }

    /// Seconds of the rounds that are left, and of their starts; `None` before the first round.
    pub fn left_s(&self, left: RoundsLeft) -> Option<f64> {
        let each_s = |seconds: f64, count: u32| (count > 0).then(|| seconds / f64::from(count));
        let starts_s = f64::from(left.starts) * each_s(self.starts_s, self.starts).unwrap_or(0.0);
        Some(f64::from(left.rounds) * each_s(self.rounds_s, self.rounds)? + starts_s)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn ahead(seconds: &[(&str, Option<f64>)], may_end_early: bool) -> Ahead {
        let step =
            |(name, seconds): &(&str, Option<f64>)| Step { name: (*name).to_owned(), seconds: *seconds };
        Ahead { steps: seconds.iter().map(step).collect(), begun: 0, may_end_early }
    }

    /// What is reported when each of these steps begins.
    fn reported(mut ahead: Ahead, names: &[&str]) -> Vec<(Option<f64>, f64, Bound)> {
        let (sink, events_sent) = channel();
        let events = Events::new(sink);
        names.iter().for_each(|name| ahead.begin(name, &events));
        let of = |event| match event {
            Event::Ahead { now_s, later_s, bound, .. } => (now_s, later_s, bound),
            other => panic!("{other:?}"),
        };
        events_sent.try_iter().map(of).collect()
    }

    #[test]
    fn what_is_left_is_the_sum_of_the_steps_that_have_not_begun() {
        let steps =
            [("server", Some(3.0)), ("load", Some(10.0)), ("load", Some(20.0)), ("measure", Some(60.0))];
        let found = reported(ahead(&steps, false), &["server", "not foreseen", "load", "load", "measure"]);
        let want = [(3.0, 90.0), (10.0, 80.0), (20.0, 60.0), (60.0, 0.0)];
        assert_eq!(found, want.map(|(now_s, later_s)| (Some(now_s), later_s, Bound::About)));
    }

    #[test]
    fn what_nobody_can_know_makes_it_a_bound() {
        let steps = [("server", Some(3.0)), ("setup", None), (MEASURE, Some(60.0)), ("check", Some(1.0))];
        let bounds = |may_end_early| {
            let found = reported(ahead(&steps, may_end_early), &["server", "setup", MEASURE, "check"]);
            found.into_iter().map(|(.., bound)| bound).collect::<Vec<_>>()
        };
        assert_eq!(bounds(false), [Bound::AtLeast, Bound::About, Bound::About, Bound::About]);
        assert_eq!(bounds(true), [Bound::About, Bound::AtMost, Bound::AtMost, Bound::About]);
    }

    #[test]
    fn rounds_so_far_estimate_how_long_the_others_take() {
        let mut times = RoundTimes::default();
        let left = |rounds, starts| RoundsLeft { rounds, starts, of: 16 };
        assert_eq!(times.left_s(left(16, 4)), None);
        times.add(30.0, Some(10.0));
        times.add(24.0, None);
        assert_eq!(times.left_s(left(14, 3)), Some(14.0 * 22.0 + 30.0));
        assert_eq!(times.left_s(left(0, 0)), Some(0.0));
    }
}
