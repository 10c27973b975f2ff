//! Sums lines up to the digest of a time, for lines that another program wrote at edges of its own.

use std::collections::BTreeMap;

use super::{
    BusiestCpu, CpuShares, DeviceDigest, DeviceSample, Digest, HostDigest, HostSample, NetworkSample,
    Observed, Pressure, ProcessSample, Role, RoleDigest, RoleSample, ServerHostDigest, What,
};

/// A shorter line than this, in seconds, does not count for peaks.
const LEAST_FOR_PEAKS_S: f64 = 0.5;

/// What lines say about a time. A line that lies partly in it counts for that part, as if its rates had been constant.
#[derive(Debug, Clone, PartialEq)]
pub struct LineSums {
    from_s: f64,
    to_s: f64,
    host: HostSums,
    devices: BTreeMap<String, DeviceSums>,
    processes_s: f64,
    roles: BTreeMap<Role, RoleSums>,
}

/// Whose lines were summed up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The machine that the lines are about.
    pub machine: String,
    /// The subject whose server is there, if there are several in this time.
    pub subject: Option<String>,
}

/// A mean over the time in which something was known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Mean {
    sum: f64,
    over: f64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>, over: f64) {
        if let Some(value) = value {
            (self.sum, self.over) = (self.sum + value * over, self.over + over);
        }
    }

    fn get(&self) -> Option<f64> {
        (self.over > 0.0).then(|| self.sum / self.over)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct HostSums {
    over_s: f64,
    all: Shares,
    /// The time in which each CPU worked, and that of its interrupts.
    cpus: BTreeMap<u32, [Mean; 2]>,
    run_delay: Mean,
    context_switches: Mean,
    pressure: [Mean; 5],
    networks: BTreeMap<String, [f64; 3]>,
    running: Option<u64>,
    blocked: Option<u64>,
    dirty_bytes: Option<u64>,
    writeback_bytes: Option<u64>,
    available_bytes: Option<u64>,
}

/// User, system, irq, softirq, iowait and steal.
type Shares = [f64; 6];

#[derive(Debug, Clone, Default, PartialEq)]
struct DeviceSums {
    /// With the places of the last line.
    sum: DeviceSample,
    over_s: f64,
    flushes: Mean,
    awaits: [Mean; 3],
    peak_queue: f64,
    peak_utilisation: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct RoleSums {
    processes: u64,
    cpus: f64,
    busiest_cpus: f64,
    run_delay: Option<f64>,
    bytes: [Option<f64>; 4],
    peak_cpus: f64,
    peak_device_bytes_per_s: Option<f64>,
    stuck: f64,
    throttled: Option<f64>,
}

impl LineSums {
    /// Of a time between two instants, in seconds since the start of the run.
    pub fn new(from_s: f64, to_s: f64) -> Self {
        Self {
            from_s,
            to_s,
            host: HostSums::default(),
            devices: BTreeMap::new(),
            processes_s: 0.0,
            roles: BTreeMap::new(),
        }
    }

    /// Adds a line, as far as it lies in the time.
    pub fn add(&mut self, line: &Observed) {
        let over_s = line.at_s.min(self.to_s) - (line.at_s - line.over_s).max(self.from_s);
        if over_s <= 0.0 {
            return;
        }
        let counts_for_peaks = line.over_s >= LEAST_FOR_PEAKS_S;
        match &line.what {
            What::Host(host) => self.host.add(host, over_s, over_s / line.over_s),
            What::Devices { devices } => {
                for device in devices {
                    let sums = self.devices.entry(device.device.clone()).or_default();
                    sums.add(device, over_s, counts_for_peaks);
                }
            }
            What::Processes(sample) => self.processes(sample, over_s, counts_for_peaks),
            _ => {}
        }
    }

    fn processes(&mut self, sample: &ProcessSample, over_s: f64, counts_for_peaks: bool) {
        self.processes_s += over_s;
        for role in &sample.roles {
            self.roles.entry(role.role).or_default().add(role, over_s, counts_for_peaks);
        }
    }

    /// Seconds that were observed.
    pub fn over_s(&self) -> f64 {
        let devices = self.devices.values().map(|of| of.over_s).fold(0.0, f64::max);
        self.host.over_s.max(self.processes_s).max(devices)
    }

    /// Means and peaks; `None` if no line lies in the time.
    pub fn digest(&self, of: &Origin) -> Option<Digest> {
        let over_s = self.over_s();
        let host = self.host.digest();
        let server_hosts = host.map(|host| ServerHostDigest {
            machine: of.machine.clone(),
            subject: of.subject.clone(),
            over_s: self.host.over_s,
            cpus: self.host.cpus.len() as u32,
            host,
        });
        let devices = self.devices.values().map(|sums| sums.digest(&of.machine));
        let role =
            |(role, sums): (&Role, &RoleSums)| sums.digest(*role, self.processes_s, of.subject.clone());
        let mut roles: Vec<RoleDigest> = self.roles.iter().map(role).collect();
        roles.sort_by(|a, b| b.mean.cpus.total_cmp(&a.mean.cpus).then(a.mean.role.cmp(&b.mean.role)));
        (over_s > 0.0).then(|| Digest {
            over_s,
            devices: devices.collect(),
            roles,
            server_hosts: server_hosts.into_iter().collect(),
            ..Digest::default()
        })
    }
}

fn shares_of(shares: &CpuShares) -> Shares {
    let CpuShares { user, system, irq, softirq, iowait, steal } = *shares;
    [user, system, irq, softirq, iowait, steal]
}

fn pressures(of: Option<&Pressure>) -> [Option<f64>; 5] {
    of.map_or([None; 5], |of| [of.cpu_some, of.io_some, of.io_full, of.memory_some, of.memory_full])
}

impl HostSums {
    fn add(&mut self, host: &HostSample, over_s: f64, part: f64) {
        self.over_s += over_s;
        for (sum, share) in self.all.iter_mut().zip(shares_of(&host.all)) {
            *sum += share * over_s;
        }
        for cpu in &host.cpus {
            let [busy, interrupted] = self.cpus.entry(cpu.cpu).or_default();
            busy.add(Some(cpu.shares.busy()), over_s);
            interrupted.add(Some(cpu.shares.irq + cpu.shares.softirq), over_s);
        }
        self.run_delay.add(host.run_delay, over_s);
        self.context_switches.add(host.context_switches_per_s, over_s);
        for (sum, share) in self.pressure.iter_mut().zip(pressures(host.pressure.as_ref())) {
            sum.add(share, over_s);
        }
        for network in &host.networks {
            let sums = self.networks.entry(network.interface.clone()).or_default();
            let more = [
                network.received_bytes_per_s * over_s,
                network.sent_bytes_per_s * over_s,
                network.lost_packets as f64 * part,
            ];
            *sums = std::array::from_fn(|at| sums[at] + more[at]);
        }
        self.running = self.running.max(host.running);
        self.blocked = self.blocked.max(host.blocked);
        if let Some(memory) = &host.memory {
            self.dirty_bytes = self.dirty_bytes.max(Some(memory.dirty_bytes));
            self.writeback_bytes = self.writeback_bytes.max(Some(memory.writeback_bytes));
            self.available_bytes = self.available_bytes.into_iter().chain([memory.available_bytes]).min();
        }
    }

    fn digest(&self) -> Option<HostDigest> {
        if self.over_s <= 0.0 {
            return None;
        }
        let [user, system, irq, softirq, iowait, steal] = self.all.map(|sum| sum / self.over_s);
        let most = |which: usize| {
            let each = self.cpus.iter();
            let each =
                each.filter_map(|(cpu, means)| Some(BusiestCpu { cpu: *cpu, busy: means[which].get()? }));
            each.max_by(|a, b| a.busy.total_cmp(&b.busy))
        };
        let [cpu_some, io_some, io_full, memory_some, memory_full] = self.pressure.map(|mean| mean.get());
        let pressure = Pressure { cpu_some, io_some, io_full, memory_some, memory_full };
        Some(HostDigest {
            all: CpuShares { user, system, irq, softirq, iowait, steal },
            busiest: most(0),
            most_interrupted: most(1).filter(|of| of.busy > 0.0),
            run_delay: self.run_delay.get(),
            context_switches_per_s: self.context_switches.get(),
            pressure: (pressure != Pressure::default()).then_some(pressure),
            peak_running: self.running,
            peak_blocked: self.blocked,
            peak_dirty_bytes: self.dirty_bytes,
            peak_writeback_bytes: self.writeback_bytes,
            least_available_bytes: self.available_bytes,
            networks: self.networks(),
        })
    }

    /// Interfaces with traffic.
    fn networks(&self) -> Vec<NetworkSample> {
        let used = self.networks.iter().filter(|(_, sums)| sums.iter().any(|sum| *sum > 0.0));
        let sample = |(interface, [received, sent, lost]): (&String, &[f64; 3])| NetworkSample {
            interface: interface.clone(),
            received_bytes_per_s: received / self.over_s,
            sent_bytes_per_s: sent / self.over_s,
            lost_packets: lost.round() as u64,
        };
        used.map(sample).collect()
    }
}

impl DeviceSums {
    fn add(&mut self, device: &DeviceSample, over_s: f64, counts_for_peaks: bool) {
        self.over_s += over_s;
        self.sum.device.clone_from(&device.device);
        self.sum.places.clone_from(&device.places);
        let sum = &mut self.sum;
        for (sum, rate) in [
            (&mut sum.reads_per_s, device.reads_per_s),
            (&mut sum.writes_per_s, device.writes_per_s),
            (&mut sum.read_bytes_per_s, device.read_bytes_per_s),
            (&mut sum.written_bytes_per_s, device.written_bytes_per_s),
            (&mut sum.read_merges_per_s, device.read_merges_per_s),
            (&mut sum.write_merges_per_s, device.write_merges_per_s),
            (&mut sum.queue, device.queue),
            (&mut sum.utilisation, device.utilisation),
        ] {
            *sum += rate * over_s;
        }
        self.flushes.add(device.flushes_per_s, over_s);
        let flushes_per_s = device.flushes_per_s.unwrap_or(0.0);
        let [read, write, flush] = &mut self.awaits;
        read.add(device.read_await_ms, device.reads_per_s * over_s);
        write.add(device.write_await_ms, device.writes_per_s * over_s);
        flush.add(device.flush_await_ms, flushes_per_s * over_s);
        if counts_for_peaks {
            self.peak_queue = self.peak_queue.max(device.queue);
            self.peak_utilisation = self.peak_utilisation.max(device.utilisation);
        }
    }

    fn digest(&self, machine: &str) -> DeviceDigest {
        let [read, write, flush] = self.awaits.map(|mean| mean.get());
        let (sum, over_s) = (&self.sum, self.over_s);
        let mean = DeviceSample {
            device: sum.device.clone(),
            places: sum.places.clone(),
            reads_per_s: sum.reads_per_s / over_s,
            writes_per_s: sum.writes_per_s / over_s,
            flushes_per_s: self.flushes.get(),
            read_bytes_per_s: sum.read_bytes_per_s / over_s,
            written_bytes_per_s: sum.written_bytes_per_s / over_s,
            read_await_ms: read,
            write_await_ms: write,
            flush_await_ms: flush,
            read_merges_per_s: sum.read_merges_per_s / over_s,
            write_merges_per_s: sum.write_merges_per_s / over_s,
            queue: sum.queue / over_s,
            utilisation: (sum.utilisation / over_s).min(1.0),
        };
        DeviceDigest {
            machine: Some(machine.to_owned()),
            peak_queue: self.peak_queue.max(mean.queue),
            peak_utilisation: self.peak_utilisation.max(mean.utilisation),
            mean,
        }
    }
}

fn plus(sum: Option<f64>, more: Option<f64>) -> Option<f64> {
    more.map_or(sum, |more| Some(sum.unwrap_or(0.0) + more))
}

impl RoleSums {
    fn add(&mut self, role: &RoleSample, over_s: f64, counts_for_peaks: bool) {
        self.processes = self.processes.max(role.processes);
        self.cpus += role.cpus * over_s;
        self.busiest_cpus += role.busiest_cpus * over_s;
        self.run_delay = plus(self.run_delay, role.run_delay.map(|delay| delay * over_s));
        self.stuck += role.stuck * over_s;
        self.throttled = plus(self.throttled, role.throttled.map(|count| count * over_s));
        let bytes = [
            role.asked_read_bytes_per_s,
            role.asked_written_bytes_per_s,
            role.device_read_bytes_per_s,
            role.device_written_bytes_per_s,
        ];
        self.bytes = std::array::from_fn(|at| plus(self.bytes[at], bytes[at].map(|rate| rate * over_s)));
        if counts_for_peaks {
            self.peak_cpus = self.peak_cpus.max(role.cpus);
            let device = role.device_read_bytes_per_s.zip(role.device_written_bytes_per_s);
            let of_both = [self.peak_device_bytes_per_s, device.map(|(read, written)| read + written)];
            self.peak_device_bytes_per_s = of_both.into_iter().flatten().reduce(f64::max);
        }
    }

    /// A role that a line does not name had no process then.
    fn digest(&self, role: Role, over_s: f64, subject: Option<String>) -> RoleDigest {
        let [asked_read, asked_written, device_read, device_written] =
            self.bytes.map(|sum| sum.map(|sum| sum / over_s));
        let mean = RoleSample {
            role,
            processes: self.processes,
            cpus: self.cpus / over_s,
            busiest_cpus: self.busiest_cpus / over_s,
            run_delay: self.run_delay.map(|sum| sum / over_s),
            asked_read_bytes_per_s: asked_read,
            asked_written_bytes_per_s: asked_written,
            device_read_bytes_per_s: device_read,
            device_written_bytes_per_s: device_written,
            stuck: self.stuck / over_s,
            throttled: self.throttled.map(|sum| sum / over_s),
        };
        let device = device_read.zip(device_written).map(|(read, written)| read + written);
        RoleDigest {
            subject,
            peak_cpus: self.peak_cpus.max(mean.cpus),
            peak_device_bytes_per_s: device.map(|mean| mean.max(self.peak_device_bytes_per_s.unwrap_or(0.0))),
            mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{CpuSample, MemorySample, Place};

    fn line(at_s: f64, over_s: f64, what: What) -> Observed {
        Observed { at_s, over_s, subject: None, machine: Some("db1".to_owned()), what }
    }

    fn host(user: f64, running: u64) -> What {
        let shares = |user| CpuShares { user, ..CpuShares::default() };
        let cpus = vec![
            CpuSample { cpu: 0, shares: shares(user * 2.0) },
            CpuSample { cpu: 1, shares: CpuShares::default() },
        ];
        let memory =
            MemorySample { dirty_bytes: running, available_bytes: 100 - running, ..MemorySample::default() };
        let networks = vec![NetworkSample {
            interface: "eth0".to_owned(),
            received_bytes_per_s: user * 1e3,
            sent_bytes_per_s: 0.0,
            lost_packets: 4,
        }];
        What::Host(Box::new(HostSample {
            all: shares(user),
            cpus,
            running: Some(running),
            memory: Some(memory),
            networks,
            ..HostSample::default()
        }))
    }

    fn device(writes_per_s: f64, write_await_ms: Option<f64>) -> What {
        let places = vec![Place::Data];
        let device = DeviceSample {
            device: "sda".to_owned(),
            places,
            writes_per_s,
            write_await_ms,
            queue: writes_per_s / 100.0,
            ..DeviceSample::default()
        };
        What::Devices { devices: vec![device] }
    }

    fn role(role: Role, processes: u64, cpus: f64, written: Option<f64>) -> RoleSample {
        RoleSample {
            role,
            processes,
            cpus,
            busiest_cpus: cpus,
            run_delay: None,
            asked_read_bytes_per_s: written,
            asked_written_bytes_per_s: written,
            device_read_bytes_per_s: written,
            device_written_bytes_per_s: written,
            stuck: cpus,
            throttled: None,
        }
    }

    fn processes(roles: Vec<RoleSample>) -> What {
        What::Processes(ProcessSample { roles, ..ProcessSample::default() })
    }

    fn digest(sums: &LineSums) -> Digest {
        let of = Origin { machine: "db1".to_owned(), subject: None };
        sums.digest(&of).expect("something lies in it")
    }

    /// From 10.5 to 13 of lines that end at 11, 12, 13 and 14: a half, two whole ones, and nothing of the last.
    #[test]
    fn a_line_counts_for_its_part_of_the_time() {
        let mut sums = LineSums::new(10.5, 13.0);
        for (at_s, user, running) in
            [(10.0, 0.9, 90), (11.0, 0.1, 1), (12.0, 0.2, 7), (13.0, 0.4, 2), (14.0, 0.9, 90)]
        {
            sums.add(&line(at_s, 1.0, host(user, running)));
        }
        let found = digest(&sums);
        let [seen] = found.server_hosts.as_slice() else { panic!("one host: {found:?}") };
        let by_hand = (0.05 + 0.2 + 0.4) / 2.5;
        assert!((seen.host.all.user - by_hand).abs() < 1e-9 && (found.over_s - 2.5).abs() < 1e-9);
        assert_eq!((seen.machine.as_str(), seen.cpus), ("db1", 2));
        assert!(seen.host.busiest.is_some_and(|of| of.cpu == 0 && (of.busy - by_hand * 2.0).abs() < 1e-9));
        assert_eq!((seen.host.peak_running, seen.host.peak_dirty_bytes), (Some(7), Some(7)));
        assert_eq!((seen.host.least_available_bytes, seen.host.run_delay), (Some(93), None));
        assert!((seen.host.networks[0].received_bytes_per_s - by_hand * 1e3).abs() < 1e-6);
        assert_eq!(seen.host.networks[0].lost_packets, 10);
        assert_eq!(found.host, None, "that is the machine that pgdyno ran on");
    }

    /// The mean time of a write is that of all writes, not of all lines.
    #[test]
    fn awaits_are_means_of_requests() {
        let mut sums = LineSums::new(0.0, 3.0);
        sums.add(&line(1.0, 1.0, device(300.0, Some(1.0))));
        sums.add(&line(2.0, 1.0, device(100.0, Some(5.0))));
        sums.add(&line(3.0, 1.0, device(0.0, None)));
        let found = digest(&sums);
        let [device] = found.devices.as_slice() else { panic!("one device: {found:?}") };
        assert!((device.mean.writes_per_s - 400.0 / 3.0).abs() < 1e-9);
        assert_eq!((device.mean.write_await_ms, device.mean.read_await_ms), (Some(2.0), None));
        assert_eq!((device.peak_queue, device.machine.as_deref()), (3.0, Some("db1")));
    }

    #[test]
    fn a_role_that_is_not_named_used_nothing() {
        let mut sums = LineSums::new(0.0, 4.0);
        let client = |cpus, written| role(Role::Client, 8, cpus, written);
        sums.add(&line(
            1.0,
            1.0,
            processes(vec![client(2.0, Some(10.0)), role(Role::IoWorker, 3, 0.1, None)]),
        ));
        sums.add(&line(4.0, 3.0, processes(vec![client(1.0, Some(2.0))])));
        let found = digest(&sums);
        let names: Vec<Role> = found.roles.iter().map(|role| role.mean.role).collect();
        assert_eq!(names, [Role::Client, Role::IoWorker]);
        let client = &found.roles[0];
        assert!(
            (client.mean.cpus - 1.25).abs() < 1e-9 && client.peak_cpus == 2.0 && client.mean.processes == 8
        );
        assert_eq!(
            (client.mean.device_written_bytes_per_s, client.peak_device_bytes_per_s),
            (Some(4.0), Some(20.0))
        );
        assert!((found.roles[1].mean.cpus - 0.025).abs() < 1e-9);
        assert_eq!(found.roles[1].mean.device_written_bytes_per_s, None);
    }

    #[test]
    fn a_time_without_lines_has_no_digest() {
        let mut sums = LineSums::new(5.0, 6.0);
        sums.add(&line(5.0, 1.0, host(0.5, 1)));
        sums.add(&line(8.0, 2.0, host(0.5, 1)));
        assert_eq!(sums.digest(&Origin::default()), None);
    }
}
