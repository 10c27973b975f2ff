//! CPU time, run queue and context switches (`/proc/stat`, proc_stat(5)).

use std::{collections::BTreeMap, fs};

use pgdyno_core::{measure::HostShares, observe::CpuShares};

/// Clock ticks by what was done in them: user and nice, system, irq, softirq, iowait, steal, idle. Guest time is part
/// of user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ticks([u64; 7]);

impl Ticks {
    /// The numbers of a line, in the kernel's order: user nice system idle iowait irq softirq steal.
    fn parse(words: &str) -> Self {
        let ticks: Vec<u64> = words.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        Self([at(0).saturating_add(at(1)), at(2), at(5), at(6), at(4), at(7), at(3)])
    }

    /// Ticks since `earlier`. Some go backwards on some kernels (iowait), and all may when a CPU returns.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|part| self.0[part].saturating_sub(earlier.0[part])))
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    /// Shares of all ticks; `None` if there are none.
    pub(super) fn shares(&self) -> Option<CpuShares> {
        let all: f64 = self.0.iter().map(|ticks| *ticks as f64).sum();
        let [user, system, irq, softirq, iowait, steal, _] = self.0.map(|ticks| ticks as f64 / all);
        (all > 0.0).then_some(CpuShares { user, system, irq, softirq, iowait, steal })
    }
}

/// One reading of `/proc/stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StatReading {
    /// All CPUs together.
    pub all: Ticks,
    /// Each CPU that is online.
    pub cpus: BTreeMap<u32, Ticks>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Threads ready to run or running.
    pub running: Option<u64>,
    /// Threads in uninterruptible sleep.
    pub blocked: Option<u64>,
}

impl StatReading {
    pub(super) fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reading = Self { all: Ticks::parse(text.strip_prefix("cpu ")?), ..Self::default() };
        for line in text.lines().skip(1) {
            let Some((name, rest)) = line.split_once(' ') else { continue };
            let number = || rest.trim().parse().ok();
            match name {
                "ctxt" => reading.context_switches = number(),
                "procs_running" => reading.running = number(),
                "procs_blocked" => reading.blocked = number(),
                _ => {
                    let cpu = name.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok());
                    reading.cpus.extend(cpu.map(|cpu| (cpu, Ticks::parse(rest))));
                }
            }
        }
        Some(reading)
    }
}

/// Clock ticks of all CPUs since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorTimes(Ticks);

impl ProcessorTimes {
    /// Reads the times; `None` without `/proc`.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Number of CPUs that are online; `None` without `/proc`.
    pub fn online() -> Option<usize> {
        Some(StatReading::read()?.cpus.len()).filter(|&count| count > 0)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(Self(Ticks::parse(text.lines().next()?.strip_prefix("cpu ")?)))
    }

    /// Shares of the time since `earlier`; `None` if no tick has passed.
    pub fn since(&self, earlier: &Self) -> Option<HostShares> {
        let CpuShares { user, system, irq, softirq, iowait, steal } = self.0.since(&earlier.0).shares()?;
        Some(HostShares { user, system: system + irq + softirq, iowait, steal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_time() {
        let earlier = ProcessorTimes::parse("cpu  10 0 10 80 0 0 0 0 5 0\ncpu0 1").expect("a line");
        let later = ProcessorTimes::parse("cpu  30 10 25 100 10 3 2 20 9 0\n").expect("a line");
        let shares = later.since(&earlier).expect("time has passed");
        assert_eq!((shares.user, shares.iowait, shares.steal), (0.3, 0.1, 0.2));
        assert!((shares.system - 0.2).abs() < 1e-12);
        assert_eq!(later.since(&later), None);
        assert_eq!(ProcessorTimes::parse("intr 5"), None);
    }

    #[test]
    fn every_cpu_and_the_run_queue_are_read() {
        let text = "cpu  4 0 0 4 0 0 0 0 0 0\ncpu0 1 0 0 2 0 0 0 0 0 0\ncpu3 3 0 0 2 0 0 0 0 0 0\n\
                    intr 9 0 0\nctxt 123\nbtime 5\nprocs_running 7\nprocs_blocked 2\n";
        let reading = StatReading::parse(text).expect("it is /proc/stat");
        assert_eq!(reading.cpus.keys().copied().collect::<Vec<_>>(), [0, 3], "1 and 2 are offline");
        let found = (reading.context_switches, reading.running, reading.blocked);
        assert_eq!(found, (Some(123), Some(7), Some(2)));
        assert_eq!(reading.cpus[&3].shares().map(|shares| shares.user), Some(0.6));
    }

    #[test]
    fn ticks_that_go_backwards_are_none() {
        let (high, low) = (Ticks::parse("9 0 9 9 9 9 9 9"), Ticks::parse("9 0 9 9 1 9 9 9"));
        assert_eq!(low.since(&high).shares(), None);
        assert_eq!(Ticks::parse("99999999999999999999 x"), Ticks::default());
    }
}
