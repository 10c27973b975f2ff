//! CPU time, summed over all CPUs.

use std::fs;

use pgdyno_core::measure::HostShares;

/// First line of `/proc/stat` (proc(5)), in clock ticks since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    user: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

impl ProcessorTimes {
    /// Reads the times; `None` without `/proc`.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Number of CPUs that are online; `None` without `/proc`.
    pub fn online() -> Option<usize> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        Some(text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count())
            .filter(|&count| count > 0)
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        // Order: user nice system idle iowait irq softirq steal; guest time is part of user.
        Some(Self {
            user: at(0) + at(1),
            system: at(2) + at(5) + at(6),
            idle: at(3),
            iowait: at(4),
            steal: at(7),
        })
    }

    /// Shares of the time since `earlier`; `None` if no tick has passed.
    pub fn since(&self, earlier: &Self) -> Option<HostShares> {
        let spent = |part: fn(&Self) -> u64| part(self).saturating_sub(part(earlier));
        let all = spent(|t| t.user + t.system + t.idle + t.iowait + t.steal);
        let share = |part| spent(part) as f64 / all as f64;
        (all > 0).then(|| HostShares {
            user: share(|t| t.user),
            system: share(|t| t.system),
            iowait: share(|t| t.iowait),
            steal: share(|t| t.steal),
        })
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
        assert_eq!(shares, HostShares { user: 0.3, system: 0.2, iowait: 0.1, steal: 0.2 });
        assert_eq!(later.since(&later), None);
        assert_eq!(ProcessorTimes::parse("intr 5"), None);
    }
}
