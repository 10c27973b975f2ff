//! Load that changes in steps: the measured interval is cut into steps, each with a load of its own, and the attempts
//! that fell due in each are kept apart.

use pgdyno_core::measure::{Counts, Latency, Outcome, Precision};

use crate::{Load, LoadStep, MergedInterval, Phase, StepRecord, StepReport, Timeline};

/// The steps of a run, with instants of the engine's clock.
#[derive(Debug, Clone)]
pub(crate) struct LoadProfile {
    /// End of each step in nanoseconds, and its load. The first step begins with the measured interval.
    steps: Vec<(u64, Load)>,
}

impl LoadProfile {
    /// Makes the profile of these steps; `None` if there are none.
    pub(crate) fn new(steps: &[LoadStep], timeline: Timeline) -> Option<Self> {
        let mut end_ns = timeline.measure_ns;
        let ends = steps.iter().map(|step| {
            end_ns += step.duration_ns;
            (end_ns, step.load)
        });
        (!steps.is_empty()).then(|| Self { steps: ends.collect() })
    }

    /// First end of a step after an instant; `u64::MAX` if there is none.
    pub(crate) fn end_after(&self, at_ns: u64) -> u64 {
        self.steps.iter().map(|&(end_ns, _)| end_ns).find(|&end_ns| end_ns > at_ns).unwrap_or(u64::MAX)
    }

    /// Index of the step at an instant; the first before they begin, the last after they end.
    fn at(&self, at_ns: u64) -> usize {
        let passed = self.steps.partition_point(|&(end_ns, _)| end_ns <= at_ns);
        passed.min(self.steps.len() - 1)
    }

    /// Clients that may be active in this worker, if clients are dealt out to the workers in turn; `u64::MAX` if the
    /// step sets a rate.
    pub(crate) fn clients_at(&self, at_ns: u64, worker: usize, workers: usize) -> u64 {
        match self.steps[self.at(at_ns)].1 {
            Load::Rate(_) => u64::MAX,
            Load::Clients(clients) => {
                let (clients, worker, workers) = (u64::from(clients), worker as u64, workers as u64);
                clients / workers + u64::from(worker < clients % workers)
            }
        }
    }

    /// Rates with the instants at which they end, for a worker with this share of the load; `None` in a closed loop.
    pub(crate) fn rates(&self, share: f64) -> Option<Vec<(u64, f64)>> {
        let rate = |&(end_ns, load): &(u64, Load)| match load {
            Load::Rate(rate_per_s) => Some((end_ns, rate_per_s * share)),
            Load::Clients(_) => None,
        };
        self.steps.iter().map(rate).collect()
    }
}

/// Records of one worker by step.
#[derive(Debug)]
pub(crate) struct StepBook {
    pub(crate) profile: LoadProfile,
    measure_ns: u64,
    records: Vec<StepRecord>,
}

impl StepBook {
    pub(crate) fn new(profile: LoadProfile, timeline: Timeline) -> Self {
        let empty = || StepRecord { counts: Counts::default(), latency: Latency::new(Precision::Interval) };
        let records = profile.steps.iter().map(|_| empty()).collect();
        Self { profile, measure_ns: timeline.measure_ns, records }
    }

    /// Counts attempts that fell due by an open-loop schedule in an interval that begins at `start_ns`. No interval
    /// crosses the edge of a step.
    pub(crate) fn due(&mut self, phase: Phase, start_ns: u64, count: u64) {
        if phase == Phase::Measured {
            self.records[self.profile.at(start_ns)].counts.scheduled += count;
        }
    }

    /// Records an ended attempt in the step in which it fell due. Attempts that fell due in the warm-up belong to no
    /// step.
    pub(crate) fn ended(&mut self, scheduled_ns: u64, latency_ns: u64, outcome: Outcome) {
        if scheduled_ns < self.measure_ns {
            return;
        }
        let record = &mut self.records[self.profile.at(scheduled_ns)];
        record.counts.record(outcome);
        if outcome == Outcome::Committed {
            record.latency.record(latency_ns);
        }
    }

    /// Returns the records. In an open loop, attempts that fell due and did not end were never started; in a closed
    /// loop an attempt is due only when it begins.
    pub(crate) fn finish(mut self, open_loop: bool) -> Vec<StepRecord> {
        for StepRecord { counts, .. } in &mut self.records {
            if open_loop {
                counts.never_started += counts.scheduled.saturating_sub(counts.ended());
            } else {
                counts.scheduled = counts.ended();
            }
        }
        self.records
    }
}

/// Totals of the steps over all workers.
#[derive(Debug)]
pub(crate) struct StepSums {
    /// Nanoseconds from the start of the schedule to the start of the measured interval.
    warmup_ns: u64,
    steps: Vec<StepReport>,
}

impl StepSums {
    pub(crate) fn new(steps: &[LoadStep], timeline: Timeline) -> Self {
        let mut start_ns = 0;
        let empty = |step: &LoadStep| {
            let begin_ns = start_ns;
            start_ns += step.duration_ns;
            StepReport {
                load: step.load,
                start_ns: begin_ns,
                duration_ns: 0,
                counts: Counts::default(),
                due: Counts::default(),
                latency: Latency::new(Precision::Interval),
            }
        };
        let steps = steps.iter().map(empty).collect();
        Self { warmup_ns: timeline.measure_ns - timeline.start_ns, steps }
    }

    /// Adds a measured interval to its step.
    pub(crate) fn interval(&mut self, merged: &MergedInterval) {
        let at_ns = merged.start_ns.saturating_sub(self.warmup_ns);
        let Some(step) = self.steps.iter_mut().rev().find(|step| step.start_ns <= at_ns) else { return };
        if step.duration_ns == 0 {
            step.counts.in_flight_at_start = merged.counts.in_flight_at_start;
        }
        step.counts.then(&merged.counts);
        step.duration_ns += merged.duration_ns;
    }

    /// Adds the records of one worker.
    pub(crate) fn worker(&mut self, records: &[StepRecord]) {
        for (step, record) in self.steps.iter_mut().zip(records) {
            step.due += record.counts;
            step.latency.add(&record.latency);
        }
    }

    pub(crate) fn finish(self) -> Vec<StepReport> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMELINE: Timeline = Timeline { start_ns: 100, measure_ns: 200, end_ns: 260, interval_ns: 50 };

    fn profile(loads: &[Load]) -> LoadProfile {
        let steps: Vec<_> = loads.iter().map(|&load| LoadStep { duration_ns: 20, load }).collect();
        LoadProfile::new(&steps, TIMELINE).expect("there are steps")
    }

    #[test]
    fn steps_begin_with_the_measured_interval_and_end_before_their_ends() {
        let profile = profile(&[Load::Clients(1), Load::Clients(2), Load::Clients(3)]);
        let at = [0, 199, 200, 219, 220, 240, 259, 260, 999].map(|at_ns| profile.at(at_ns));
        assert_eq!(at, [0, 0, 0, 0, 1, 2, 2, 2, 2]);
        assert_eq!([0, 219, 220, 260].map(|at_ns| profile.end_after(at_ns)), [220, 220, 240, u64::MAX]);
        assert!(LoadProfile::new(&[], TIMELINE).is_none());
    }

    #[test]
    fn active_clients_are_distributed_among_the_workers() {
        for clients in 0..9 {
            let profile = profile(&[Load::Clients(clients)]);
            let shares: Vec<u64> = (0..4).map(|worker| profile.clients_at(0, worker, 4)).collect();
            assert_eq!(shares.iter().sum::<u64>(), u64::from(clients));
            assert!(shares.is_sorted_by(|a, b| a >= b) && shares[0] - shares[3] <= 1, "{shares:?}");
        }
        assert_eq!(profile(&[Load::Rate(5.0)]).clients_at(0, 0, 1), u64::MAX);
    }
}
