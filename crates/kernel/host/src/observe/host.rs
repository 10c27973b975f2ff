//! The whole host from reading to reading.

use std::collections::BTreeMap;

use pgdyno_core::observe::{
    BusiestCpu, CpuSample, CpuShares, FileSystemSample, HostDigest, HostSample, MemorySample,
};

use super::{
    increase::Increase,
    memory, network,
    network::Traffic,
    pressure::{Stalled, Stalls},
    processors::{StatReading, Ticks},
    run_delay,
};

/// Counters of the host.
#[derive(Debug, Clone, Default)]
pub(super) struct HostReading {
    stat: Option<StatReading>,
    run_delay_ns: Option<BTreeMap<u32, u64>>,
    stalls: Option<Stalls>,
    networks: BTreeMap<String, [u64; 3]>,
    memory: Option<MemorySample>,
}

impl HostReading {
    pub(super) fn read() -> Self {
        Self {
            stat: StatReading::read(),
            run_delay_ns: run_delay::read(),
            stalls: Stalls::read(),
            networks: network::read(),
            memory: memory::read(),
        }
    }

    /// What the host did since an earlier reading; `None` without `/proc`, or if no clock tick has passed.
    pub(super) fn since(&self, earlier: &Self, over_s: f64) -> Option<HostUse> {
        let (now, then) = (self.stat.as_ref()?, earlier.stat.as_ref()?);
        let all = now.all.since(&then.all);
        all.shares()?;
        let delays = self.run_delay_ns.as_ref().zip(earlier.run_delay_ns.as_ref());
        let delay = delays.map(|(now, then)| run_delay::since(now, then));
        let cpus = now.cpus.iter().filter_map(|(cpu, now)| Some((*cpu, now.since(then.cpus.get(cpu)?))));
        Some(HostUse {
            all,
            cpus: cpus.collect(),
            context_switches: Increase::between(now.context_switches, then.context_switches, over_s),
            run_delay_ns: Increase::between(delay, delay.map(|_| 0), over_s),
            stalled: Stalled::between(self.stalls, earlier.stalls, over_s),
            traffic: Traffic::between(&self.networks, &earlier.networks, over_s),
            last: Last { running: now.running, blocked: now.blocked, memory: self.memory },
            peaks: Peaks::of(now, self.memory.as_ref()),
        })
    }
}

/// What is true at the end of a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Last {
    running: Option<u64>,
    blocked: Option<u64>,
    memory: Option<MemorySample>,
}

/// The largest figures of all readings, and the smallest of what is available.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Peaks {
    running: Option<u64>,
    blocked: Option<u64>,
    dirty_bytes: Option<u64>,
    writeback_bytes: Option<u64>,
    available_bytes: Option<u64>,
}

impl Peaks {
    fn of(stat: &StatReading, memory: Option<&MemorySample>) -> Self {
        Self {
            running: stat.running,
            blocked: stat.blocked,
            dirty_bytes: memory.map(|memory| memory.dirty_bytes),
            writeback_bytes: memory.map(|memory| memory.writeback_bytes),
            available_bytes: memory.map(|memory| memory.available_bytes),
        }
    }

    fn add(&mut self, more: &Self) {
        self.running = self.running.max(more.running);
        self.blocked = self.blocked.max(more.blocked);
        self.dirty_bytes = self.dirty_bytes.max(more.dirty_bytes);
        self.writeback_bytes = self.writeback_bytes.max(more.writeback_bytes);
        self.available_bytes = self.available_bytes.into_iter().chain(more.available_bytes).min();
    }
}

/// What the host did over a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HostUse {
    all: Ticks,
    cpus: BTreeMap<u32, Ticks>,
    context_switches: Increase,
    run_delay_ns: Increase,
    stalled: Stalled,
    traffic: Traffic,
    last: Last,
    peaks: Peaks,
}

impl HostUse {
    /// Adds a later time.
    pub(super) fn add(&mut self, more: &Self) {
        self.all.add(&more.all);
        more.cpus.iter().for_each(|(cpu, ticks)| self.cpus.entry(*cpu).or_default().add(ticks));
        self.context_switches.add(&more.context_switches);
        self.run_delay_ns.add(&more.run_delay_ns);
        self.stalled.add(&more.stalled);
        self.traffic.add(&more.traffic);
        self.last = more.last;
        self.peaks.add(&more.peaks);
    }

    fn run_delay(&self) -> Option<f64> {
        self.run_delay_ns.per_s().map(|ns| rounded(ns / 1e9))
    }

    fn each_cpu(&self) -> Vec<CpuSample> {
        let sample = |(cpu, ticks): (&u32, &Ticks)| {
            Some(CpuSample { cpu: *cpu, shares: rounded_shares(ticks.shares()?) })
        };
        self.cpus.iter().filter_map(sample).collect()
    }

    pub(super) fn sample(&self, file_systems: Vec<FileSystemSample>) -> Option<HostSample> {
        Some(HostSample {
            all: rounded_shares(self.all.shares()?),
            cpus: self.each_cpu(),
            running: self.last.running,
            blocked: self.last.blocked,
            run_delay: self.run_delay(),
            context_switches_per_s: self.context_switches.per_s().map(rounded),
            pressure: self.stalled.shares(),
            memory: self.last.memory,
            networks: self.traffic.samples(),
            file_systems,
        })
    }

    pub(super) fn digest(&self) -> Option<HostDigest> {
        let most = |share: fn(&CpuShares) -> f64| {
            let of_cpus = self.each_cpu().into_iter();
            let most = of_cpus.max_by(|a, b| share(&a.shares).total_cmp(&share(&b.shares)))?;
            Some(BusiestCpu { cpu: most.cpu, busy: rounded(share(&most.shares)) })
        };
        let mut networks = self.traffic.samples();
        networks.retain(|of| of.received_bytes_per_s + of.sent_bytes_per_s > 0.0 || of.lost_packets > 0);
        Some(HostDigest {
            all: rounded_shares(self.all.shares()?),
            busiest: most(CpuShares::busy),
            most_interrupted: most(|shares| shares.irq + shares.softirq).filter(|of| of.busy > 0.0),
            run_delay: self.run_delay(),
            context_switches_per_s: self.context_switches.per_s().map(rounded),
            pressure: self.stalled.shares(),
            peak_running: self.peaks.running,
            peak_blocked: self.peaks.blocked,
            peak_dirty_bytes: self.peaks.dirty_bytes,
            peak_writeback_bytes: self.peaks.writeback_bytes,
            least_available_bytes: self.peaks.available_bytes,
            networks,
        })
    }
}

/// Shares to four digits: a clock tick is a hundredth of a second, and lines of many CPUs are long.
fn rounded_shares(shares: CpuShares) -> CpuShares {
    let CpuShares { user, system, irq, softirq, iowait, steal } = shares;
    let [user, system, irq, softirq, iowait, steal] =
        [user, system, irq, softirq, iowait, steal].map(rounded);
    CpuShares { user, system, irq, softirq, iowait, steal }
}

fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(stat: &str, dirty_bytes: u64) -> HostReading {
        let memory =
            MemorySample { dirty_bytes, available_bytes: 100 - dirty_bytes, ..MemorySample::default() };
        HostReading { stat: StatReading::parse(stat), memory: Some(memory), ..HostReading::default() }
    }

    #[test]
    fn a_digest_has_means_of_all_time_and_peaks_of_any() {
        let stat = |busy: u64, idle: u64, one: u64, running: u64| {
            let line = |name: &str, busy: u64| format!("{name} {busy} 0 0 {idle} 0 0 0 0\n");
            let cpus = [line("cpu ", busy), line("cpu0", one), line("cpu1", busy - one)].concat();
            format!("{cpus}ctxt {busy}\nprocs_running {running}\nprocs_blocked 0\n")
        };
        let [a, b, c] = [
            reading(&stat(0, 0, 0, 1), 5),
            reading(&stat(100, 100, 90, 9), 50),
            reading(&stat(200, 400, 120, 2), 20),
        ];
        let mut used = b.since(&a, 1.0).expect("a second");
        used.add(&c.since(&b, 2.0).expect("two more"));
        let digest = used.digest().expect("ticks have passed");
        assert!((digest.all.user - 200.0 / 600.0).abs() < 1e-4);
        assert_eq!(digest.busiest.map(|of| of.cpu), Some(0));
        assert_eq!((digest.peak_running, digest.peak_dirty_bytes), (Some(9), Some(50)));
        assert_eq!((digest.least_available_bytes, digest.run_delay), (Some(50), None));
        assert_eq!(digest.context_switches_per_s.map(f64::round), Some(67.0));
        let sample = used.sample(Vec::new()).expect("ticks have passed");
        assert_eq!((sample.running, sample.cpus.len()), (Some(2), 2));
        assert!(c.since(&c, 1.0).is_none(), "no tick has passed");
    }

    #[test]
    fn this_host_can_be_read() {
        let before = HostReading::read();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 60 {
            std::hint::spin_loop();
        }
        let sample = HostReading::read().since(&before, 0.06).and_then(|used| used.sample(Vec::new()));
        let sample = sample.expect("ticks have passed");
        assert!(sample.all.busy() > 0.0 && sample.all.busy() <= 1.0 && !sample.cpus.is_empty());
        assert!(sample.memory.is_some_and(|memory| memory.available_bytes > 0));
        assert!(sample.networks.iter().any(|of| of.interface == "lo"));
    }
}
