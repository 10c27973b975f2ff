//! The overhead and the ceiling of the instrument itself, as measured by `pgdyno selftest`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Inventory;

/// Results of `pgdyno selftest` on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// Version and commit of the measured program.
    pub tool: String,
    /// Whether it was compiled with optimisation. Without it, the figures say nothing about a release.
    pub optimised: bool,
    /// Time of the measurement, in UTC.
    pub measured_at: String,
    /// The machine.
    pub machine: Machine,
    /// The clock.
    pub clock: ClockFacts,
    /// Nanoseconds to record one attempt that committed: a count and two histograms.
    pub recording_ns: f64,
    /// Attempts of the null target per second of one core's CPU time: begun, ended and recorded.
    pub null_attempts_per_s: f64,
    /// Timer lag for each method of waiting.
    pub timers: Vec<TimerLag>,
    /// Ceiling of one driver thread, for each method of waiting and several client counts.
    pub ceilings: Vec<Ceiling>,
}

/// Properties that identify a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Model name of the first CPU.
    pub cpu_model: Option<String>,
    /// Number of CPUs that the process may use.
    pub cpus: u32,
    /// Kernel release.
    pub kernel: String,
    /// Architecture.
    pub arch: String,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
}

impl Machine {
    /// The identity of a machine with these facts.
    pub fn of(host: &Inventory) -> Self {
        Self {
            cpu_model: host.cpu.model.clone(),
            cpus: host.allowed_cpus().len() as u32,
            kernel: host.kernel.release.clone(),
            arch: host.arch.clone(),
            clocksource: host.kernel.clocks.current.clone(),
        }
    }
}

/// The clock used for durations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockFacts {
    /// Nanoseconds per clock reading.
    pub cost_ns: f64,
    /// Smallest observed step between two clock readings, in nanoseconds.
    pub resolution_ns: u64,
}

/// Timer lag of a single client: from the requested end of a wait to its actual end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerLag {
    /// Method of waiting: `io_uring`, `epoll`.
    pub waiting: String,
    /// Length of a wait in nanoseconds.
    pub wait_ns: u64,
    /// Number of waits.
    pub waits: u64,
    /// Median in nanoseconds; `None` with fewer than 100 waits beyond it.
    pub p50_ns: Option<u64>,
    /// 99th percentile in nanoseconds; `None` with fewer than 100 waits beyond it.
    pub p99_ns: Option<u64>,
    /// Largest in nanoseconds.
    pub max_ns: u64,
}

/// Maximum throughput of one driver thread against a server that only replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Method of waiting: `io_uring`, `epoll`.
    pub waiting: String,
    /// Clients on the thread.
    pub clients: u32,
    /// Round trips per second of the thread's CPU time: its maximum even without any wait.
    pub round_trips_per_cpu_s: f64,
    /// Round trips per second of wall-clock time; lower if the replying server was slower than the thread.
    pub round_trips_per_s: f64,
}

impl Instrument {
    /// Whether the figures belong to the same program on the same machine.
    pub fn is_of(&self, machine: &Machine, tool: &str, optimised: bool) -> bool {
        self.machine == *machine && self.tool == tool && self.optimised == optimised
    }

    /// The ceiling of a driver thread with `clients` clients: that of the next larger measured client count, or of the
    /// largest. A thread with more clients does at least as much, so the ceiling is not underestimated.
    pub fn ceiling(&self, waiting: &str, clients: u32) -> Option<&Ceiling> {
        let of_kind = || self.ceilings.iter().filter(|ceiling| ceiling.waiting == waiting);
        let larger = of_kind().filter(|ceiling| ceiling.clients >= clients);
        larger
            .min_by_key(|ceiling| ceiling.clients)
            .or_else(|| of_kind().max_by_key(|ceiling| ceiling.clients))
    }
}

/// Sample facts for tests, also of other crates.
#[cfg(any(test, feature = "samples"))]
pub mod samples {
    use super::*;

    /// An instrument whose driver threads do this many round trips with one client, twice as many with 8 clients and
    /// three times as many with 128.
    pub fn instrument(round_trips_per_s: f64) -> Instrument {
        let ceiling = |(clients, factor): (u32, f64)| Ceiling {
            waiting: "epoll".into(),
            clients,
            round_trips_per_cpu_s: factor * round_trips_per_s,
            round_trips_per_s,
        };
        Instrument {
            tool: "0.1.0".into(),
            optimised: true,
            measured_at: "2026-11-21T10:00:00Z".into(),
            machine: Machine {
                cpu_model: Some("Some CPU".into()),
                cpus: 4,
                kernel: "6.1".into(),
                arch: "x86_64".into(),
                clocksource: Some("tsc".into()),
            },
            clock: ClockFacts { cost_ns: 25.0, resolution_ns: 1 },
            recording_ns: 12.0,
            null_attempts_per_s: 6e6,
            timers: Vec::new(),
            ceilings: [(1, 1.0), (8, 2.0), (128, 3.0)].map(ceiling).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_comes_from_at_least_as_many_clients() {
        let instrument = samples::instrument(1_000.0);
        let most = |clients| instrument.ceiling("epoll", clients).map(|most| most.clients);
        assert_eq!([1, 2, 8, 9, 128, 1_000].map(most), [1, 8, 8, 128, 128, 128].map(Some));
        assert_eq!(instrument.ceiling("io_uring", 1), None);
    }

    #[test]
    fn figures_of_another_machine_or_program_are_rejected() {
        let instrument = samples::instrument(1_000.0);
        let machine = instrument.machine.clone();
        assert!(instrument.is_of(&machine, "0.1.0", true));
        assert!(!instrument.is_of(&machine, "0.1.1", true));
        assert!(!instrument.is_of(&machine, "0.1.0", false));
        assert!(!instrument.is_of(&Machine { kernel: "6.2".into(), ..machine.clone() }, "0.1.0", true));
        assert!(!instrument.is_of(&Machine { cpus: 2, ..machine }, "0.1.0", true));
    }
}
