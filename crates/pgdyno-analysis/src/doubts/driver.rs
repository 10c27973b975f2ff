//! The driver as the limit.

use pgdyno_core::{facts::Instrument, measure::runs_by_cell};
use pgdyno_record::RunRecord;

use super::wording::{above, cell_name, doubt, percent, worst};
use crate::{Doubt, DoubtKind, cells::busiest_worker};

/// The driver is the limit where its busiest thread is on a processor for this share of the time. At 0.85
/// an event loop already makes requests wait for it about as often as not.
pub const MAX_DRIVER_BUSY: f64 = 0.85;

/// Share of a driver thread's ceiling that it may reach. The ceiling is that of a server that only answers; the rest is
/// what real rows and bursts take.
pub const MAX_OF_CEILING: f64 = 0.8;

pub(super) fn driver_saturated(record: &RunRecord) -> Option<Doubt> {
    let (names, busy) = above(record, MAX_DRIVER_BUSY, busiest_worker)?;
    let detail = format!("the driver's busiest thread was on a processor for {} of the time", percent(busy));
    let advice = "Give the driver more processors (jobs, driver_cpus) or a machine of its own.";
    doubt(DoubtKind::DriverSaturated, detail, advice, names)
}

/// The busy share of [`driver_saturated`] is seen from outside; this one is seen from what a thread got done.
pub(super) fn near_ceiling(record: &RunRecord) -> Option<Doubt> {
    let ceiling = Ceiling::of_record(record)?;
    ceiling.doubt(runs_by_cell(&record.runs).into_iter().filter_map(|(workload, runs)| {
        let tps = runs.iter().map(|run| run.tps).sum::<f64>() / runs.len() as f64;
        // Every statement is a round trip, also BEGIN and END.
        let round_trips = runs.first()?.statements.len().max(1) as f64;
        Some((cell_name(workload), ceiling.share(workload.clients, tps * round_trips)?))
    }))
}

pub(super) fn cores_shared(record: &RunRecord) -> Option<Doubt> {
    if !record.plan.cores_shared {
        return None;
    }
    let detail =
        "driver and server could run on the same processors, where each takes time from the other".into();
    let advice = "Give each its own (driver_cpus, cpus of the server), or drive from another machine.";
    doubt(DoubtKind::CoresShared, detail, advice, Vec::new())
}

/// What a driver thread can do at most, and how the driver was used.
#[derive(Debug, Clone, Copy)]
pub struct Ceiling<'a> {
    /// What `pgdyno selftest` measured on this machine.
    pub instrument: &'a Instrument,
    /// How the driver waited: `io_uring` or `epoll`.
    pub waiting: &'a str,
    /// Driver threads.
    pub jobs: u32,
}

impl<'a> Ceiling<'a> {
    /// `None` if `pgdyno selftest` was never run on the machine of the record.
    fn of_record(record: &'a RunRecord) -> Option<Self> {
        let (instrument, plan) = (record.instrument.as_ref()?, &record.plan);
        Some(Self { instrument, waiting: plan.waiting.as_deref()?, jobs: plan.jobs })
    }

    /// The share of what a driver thread can do that each of them did, where all clients together made so many round
    /// trips a second; `None` where no ceiling of this way of waiting is known.
    pub fn share(&self, clients: u32, round_trips_per_s: f64) -> Option<f64> {
        let threads = self.jobs.min(clients).max(1);
        let most = self.instrument.ceiling(self.waiting, clients.div_ceil(threads))?.round_trips_per_cpu_s;
        Some(round_trips_per_s / f64::from(threads) / most)
    }

    /// [`DoubtKind::NearCeiling`], where one of these shares, each of something with a name, is above what is let pass.
    pub fn doubt(&self, shares: impl Iterator<Item = (String, f64)>) -> Option<Doubt> {
        let (names, share) = worst(shares.filter(|(_, share)| *share > MAX_OF_CEILING))?;
        let detail = format!(
            "a driver thread did up to {} of the round trips that `pgdyno selftest` found it can do here by {}",
            percent(share),
            self.waiting
        );
        let advice =
            "Give the driver more threads and processors (jobs, driver_cpus) or a machine of its own.";
        doubt(DoubtKind::NearCeiling, detail, advice, names)
    }
}
