//! The driver as the limit.

use pgdyno_core::{facts::Instrument, measure::runs_by_cell};
use pgdyno_record::RunRecord;

use super::{
    keys::{Key, Measuring},
    wording::{above, cell_name, doubt, percent, worst},
};
use crate::{Doubt, DoubtKind, cells::busiest_worker};

/// The driver is the limit if its busiest thread uses more than this share of a CPU. At 0.85 about half of the requests
/// already wait for the event loop.
pub const MAX_DRIVER_BUSY: f64 = 0.85;

/// Tolerated share of a driver thread's ceiling. The ceiling is measured with a server that only answers; the rest is
/// reserved for real rows and bursts.
pub const MAX_OF_CEILING: f64 = 0.8;

pub(super) fn driver_saturated(record: &RunRecord) -> Option<Doubt> {
    let (names, busy) = above(record, MAX_DRIVER_BUSY, busiest_worker)?;
    let detail = format!("the driver's busiest thread used {} of a CPU", percent(busy));
    doubt(DoubtKind::DriverSaturated, detail, &more_threads(Measuring::of(record)), names)
}

fn more_threads(by: Measuring) -> String {
    let [jobs, cpus] = [Key::Jobs, Key::DriverCpus].map(|key| key.named(by));
    format!("Give the driver more threads and CPUs ({jobs}, {cpus}), or run it on another machine.")
}

/// Complements [`driver_saturated`], which uses CPU time: this rule uses the round trips per thread.
pub(super) fn near_ceiling(record: &RunRecord) -> Option<Doubt> {
    let ceiling = Ceiling::from_record(record)?;
    ceiling.doubt(
        Measuring::of(record),
        runs_by_cell(&record.runs).into_iter().filter_map(|(workload, runs)| {
            let tps = runs.iter().map(|run| run.tps).sum::<f64>() / runs.len() as f64;
            // Every statement is a round trip, also BEGIN and END.
            let round_trips = runs.first()?.statements.len().max(1) as f64;
            Some((cell_name(workload), ceiling.share(workload.clients, tps * round_trips)?))
        }),
    )
}

pub(super) fn cores_shared(record: &RunRecord) -> Option<Doubt> {
    if !record.plan.cores_shared {
        return None;
    }
    let detail = "driver and server could run on the same CPUs and take CPU time from each other".into();
    let by = Measuring::of(record);
    let [driver, server] = [Key::DriverCpus, Key::ServerCpus].map(|key| key.named(by));
    let both = if driver == server { driver.to_owned() } else { format!("{driver}, {server}") };
    let advice = format!("Pin each to its own CPUs ({both}), or run the driver on another machine.");
    doubt(DoubtKind::CoresShared, detail, &advice, Vec::new())
}

/// The ceiling of a driver thread, and the configuration of the driver.
#[derive(Debug, Clone, Copy)]
pub struct Ceiling<'a> {
    /// Result of `pgdyno selftest` on this machine.
    pub instrument: &'a Instrument,
    /// How the driver waits for I/O: `io_uring` or `epoll`.
    pub waiting: &'a str,
    /// Driver threads.
    pub jobs: u32,
}

impl<'a> Ceiling<'a> {
    /// Takes the ceiling from a record; `None` if `pgdyno selftest` was never run on its machine.
    fn from_record(record: &'a RunRecord) -> Option<Self> {
        let (instrument, plan) = (record.instrument.as_ref()?, &record.plan);
        Some(Self { instrument, waiting: plan.waiting.as_deref()?, jobs: plan.jobs })
    }

    /// The share of its ceiling that a driver thread reached, given the round trips per second of all clients; `None`
    /// if the ceiling for this way of waiting is unknown.
    pub fn share(&self, clients: u32, round_trips_per_s: f64) -> Option<f64> {
        let threads = self.jobs.min(clients).max(1);
        let most = self.instrument.ceiling(self.waiting, clients.div_ceil(threads))?.round_trips_per_cpu_s;
        Some(round_trips_per_s / f64::from(threads) / most)
    }

    /// [`DoubtKind::NearCeiling`], if one of these named shares exceeds [`MAX_OF_CEILING`].
    pub fn doubt(&self, by: Measuring, shares: impl Iterator<Item = (String, f64)>) -> Option<Doubt> {
        let (names, share) = worst(shares.filter(|(_, share)| *share > MAX_OF_CEILING))?;
        let detail = format!(
            "a driver thread reached up to {} of its ceiling, measured by `pgdyno selftest` with {}",
            percent(share),
            self.waiting
        );
        doubt(DoubtKind::NearCeiling, detail, &more_threads(by), names)
    }
}
