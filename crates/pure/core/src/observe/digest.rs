//! What was observed over a measured interval, or over a stage: means of the whole time, and peaks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuShares, DeviceSample, NetworkSample, Place, Pressure, RoleSample};

/// What observers saw of host and processes over a measured interval, or over a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Digest {
    /// Seconds that were observed.
    pub over_s: f64,
    /// The machine that pgdyno ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostDigest>,
    /// The devices under the server's data, WAL and tablespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceDigest>,
    /// The server's processes by their role, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleDigest>,
    /// What the servers did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerDigest>,
    /// Machines of servers on which `pgdyno observe` ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_hosts: Vec<ServerHostDigest>,
    /// What observing cost meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ObserverCost>,
}

impl Digest {
    /// The digest of a measured interval with these commits per second in each of its seconds.
    #[must_use]
    pub fn with_rates(mut self, rates_per_s: &[f64]) -> Self {
        if let [server] = self.servers.as_mut_slice() {
            server.by_checkpoint =
                ByCheckpoint::of(rates_per_s, &std::mem::take(&mut server.checkpoint_times));
        }
        self
    }

    /// Bytes written to the devices under data, WAL and tablespaces. A device and the disks below it write the same
    /// bytes: of those with the same places the one that wrote most counts, those with most places first. `None` if no
    /// device was observed.
    pub fn written_bytes(&self) -> Option<u64> {
        let mut devices: Vec<&DeviceDigest> = self.devices.iter().collect();
        devices.sort_by(|a, b| {
            let places = b.mean.places.len().cmp(&a.mean.places.len());
            places.then(b.mean.written_bytes_per_s.total_cmp(&a.mean.written_bytes_per_s))
        });
        let mut counted: Vec<(&Option<String>, &Place)> = Vec::new();
        let mut bytes = None;
        for device in devices {
            let places = || device.mean.places.iter().map(|place| (&device.machine, place));
            if places().any(|place| !counted.contains(&place)) {
                counted.extend(places());
                *bytes.get_or_insert(0.0) += device.mean.written_bytes_per_s * self.over_s;
            }
        }
        bytes.map(|bytes: f64| bytes.max(0.0).round() as u64)
    }
}

/// The host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDigest {
    /// All CPUs together.
    pub all: CpuShares,
    /// The CPU that worked most.
    pub busiest: Option<BusiestCpu>,
    /// The CPU that spent most time on interrupts, if one did; `busy` is that share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_interrupted: Option<BusiestCpu>,
    /// Seconds per second that threads waited for a CPU, summed over CPUs; absent on kernels that do not count it.
    pub run_delay: Option<f64>,
    /// Context switches per second.
    pub context_switches_per_s: Option<f64>,
    /// Pressure stall information.
    pub pressure: Option<Pressure>,
    /// Most threads that were ready to run or running, of all readings.
    pub peak_running: Option<u64>,
    /// Most threads in uninterruptible sleep, of all readings.
    pub peak_blocked: Option<u64>,
    /// Most bytes of dirty pages, of all readings.
    pub peak_dirty_bytes: Option<u64>,
    /// Most bytes under writeback, of all readings.
    pub peak_writeback_bytes: Option<u64>,
    /// Least memory available without swapping, of all readings.
    pub least_available_bytes: Option<u64>,
    /// Network interfaces with traffic.
    pub networks: Vec<NetworkSample>,
}

/// The CPU that worked most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusiestCpu {
    /// Its number.
    pub cpu: u32,
    /// Share of the time in which it worked, from 0 to 1.
    pub busy: f64,
}

/// The machine of a server, as `pgdyno observe` saw it there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerHostDigest {
    /// Its name.
    pub machine: String,
    /// The subject whose server is there, if there are several in this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Seconds of this time that were observed there.
    pub over_s: f64,
    /// Number of its CPUs.
    pub cpus: u32,
    /// What it did.
    #[serde(flatten)]
    pub host: HostDigest,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceDigest {
    /// The machine that it belongs to, if `pgdyno observe` saw it there; absent for the one that pgdyno ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Means over the time.
    #[serde(flatten)]
    pub mean: DeviceSample,
    /// The largest mean number of requests in flight of a second.
    pub peak_queue: f64,
    /// The largest utilisation of a second, from 0 to 1.
    pub peak_utilisation: f64,
}

/// The processes of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleDigest {
    /// The subject whose server they belong to, if there are several in this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Means over the time; the number of processes is the largest of all readings.
    #[serde(flatten)]
    pub mean: RoleSample,
    /// The most CPUs of a second.
    pub peak_cpus: f64,
    /// The most bytes of a second that were fetched from a device for them, and that they caused to be written to one.
    pub peak_device_bytes_per_s: Option<f64>,
}

/// What a server did, by its log and its counters. What they do not show is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerDigest {
    /// The subject whose server it is, if there are several in this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Checkpoints and restartpoints that ended, by the log.
    pub checkpoints: Option<u64>,
    /// Seconds in which one was in progress, by the log.
    pub checkpoint_s: Option<f64>,
    /// Throughput while one was in progress and otherwise; only of measured intervals that had both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_checkpoint: Option<ByCheckpoint>,
    /// When one was in progress, in seconds since the begin of the time; not recorded.
    #[serde(skip)]
    pub checkpoint_times: Vec<(f64, f64)>,
    /// Automatic VACUUMs and ANALYZEs that ended, by the log: those that it has, which on own servers took 100 ms.
    pub autovacuums: Option<u64>,
    /// Waits for locks of more than `deadlock_timeout`, by the log.
    pub lock_waits: Option<u64>,
    /// Bytes of temporary files, by the counters of the databases under test.
    pub temp_bytes: Option<u64>,
    /// Bytes of WAL, by the server's counters (14 and later).
    pub wal_bytes: Option<u64>,
}

impl ServerDigest {
    /// What is known from two sources.
    pub fn or(self, other: Self) -> Self {
        Self {
            subject: self.subject.or(other.subject),
            checkpoints: self.checkpoints.or(other.checkpoints),
            checkpoint_s: self.checkpoint_s.or(other.checkpoint_s),
            by_checkpoint: self.by_checkpoint.or(other.by_checkpoint),
            checkpoint_times: [self.checkpoint_times, other.checkpoint_times].concat(),
            autovacuums: self.autovacuums.or(other.autovacuums),
            lock_waits: self.lock_waits.or(other.lock_waits),
            temp_bytes: self.temp_bytes.or(other.temp_bytes),
            wal_bytes: self.wal_bytes.or(other.wal_bytes),
        }
    }
}

/// Throughput while a checkpoint was in progress, and otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByCheckpoint {
    /// Seconds of which the larger part was within a checkpoint.
    pub within_s: f64,
    /// Commits per second in those.
    pub within_per_s: f64,
    /// The other seconds.
    pub otherwise_s: f64,
    /// Commits per second in those.
    pub otherwise_per_s: f64,
}

/// Seconds of either kind below which their throughput says nothing.
const FEWEST_SECONDS: f64 = 5.0;

impl ByCheckpoint {
    /// Divides a measured interval, of which the rates of seconds are given, by the times in which a checkpoint was
    /// in progress, in seconds since its begin. `None` if there were too few seconds of either kind.
    pub fn of(rates_per_s: &[f64], times: &[(f64, f64)]) -> Option<Self> {
        let is_within = |second: f64| {
            let overlap =
                |(from_s, to_s): &(f64, f64)| (to_s.min(second + 1.0) - from_s.max(second)).max(0.0);
            times.iter().map(overlap).sum::<f64>() > 0.5
        };
        let (within, otherwise): (Vec<_>, Vec<_>) =
            rates_per_s.iter().enumerate().partition(|(second, _)| is_within(*second as f64));
        let mean =
            |part: &[(usize, &f64)]| part.iter().map(|(_, rate)| **rate).sum::<f64>() / part.len() as f64;
        let (within_s, otherwise_s) = (within.len() as f64, otherwise.len() as f64);
        (within_s >= FEWEST_SECONDS && otherwise_s >= FEWEST_SECONDS).then(|| Self {
            within_s,
            within_per_s: mean(&within),
            otherwise_s,
            otherwise_per_s: mean(&otherwise),
        })
    }

    /// The part of the throughput that is missing because of checkpoints, from 0 to 1: what there would be if all
    /// seconds were like those without.
    pub fn missing(&self) -> f64 {
        let all_s = self.within_s + self.otherwise_s;
        let slower = 1.0 - self.within_per_s / self.otherwise_per_s.max(f64::MIN_POSITIVE);
        (slower * self.within_s / all_s).max(0.0)
    }
}

/// CPUs that observing took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverCost {
    /// CPUs used by pgdyno's observer threads, on average.
    pub cpus: f64,
    /// CPUs used by the server processes that answered them, on average; absent if they cannot be seen, or if there
    /// were none.
    pub server_cpus: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(devices: &[(&[Place], f64)]) -> Option<u64> {
        let device = |(places, written_bytes_per_s): &(&[Place], f64)| {
            let mean = DeviceSample {
                places: places.to_vec(),
                written_bytes_per_s: *written_bytes_per_s,
                ..DeviceSample::default()
            };
            DeviceDigest { machine: None, mean, peak_queue: 0.0, peak_utilisation: 0.0 }
        };
        Digest { over_s: 2.0, devices: devices.iter().map(device).collect(), ..Digest::default() }
            .written_bytes()
    }

    #[test]
    fn seconds_are_divided_by_the_checkpoints_that_fill_most_of_them() {
        let rates: Vec<f64> = (0..20).map(|second| if second < 8 { 100.0 } else { 40.0 }).collect();
        // Two in a row; the last one is still in progress at the end.
        let times = [(7.6, 12.0), (12.1, 30.0)];
        let by = ByCheckpoint::of(&rates, &times).expect("there are enough of both");
        assert_eq!(
            (by.within_s, by.within_per_s, by.otherwise_s, by.otherwise_per_s),
            (12.0, 40.0, 8.0, 100.0)
        );
        assert!((by.missing() - 0.36).abs() < 1e-9);
        assert_eq!(ByCheckpoint::of(&rates, &[(0.0, 4.0)]), None, "four seconds are too few");
        assert_eq!(ByCheckpoint::of(&rates, &[]), None);
        let faster = ByCheckpoint::of(&rates, &[(0.0, 8.0)]).expect("there are enough of both");
        assert_eq!(faster.missing(), 0.0);
    }

    #[test]
    fn bytes_of_a_stack_of_devices_count_once() {
        let (data, wal) = ([Place::Data], [Place::Wal]);
        let both = [Place::Data, Place::Wal];
        assert_eq!(written(&[]), None);
        assert_eq!(written(&[(&both, 5.0)]), Some(10));
        // Partitions of one disk; a volume striped over two disks; a disk for each.
        assert_eq!(written(&[(&data, 3.0), (&wal, 2.0), (&both, 5.0)]), Some(10));
        assert_eq!(written(&[(&data, 3.0), (&data, 6.0), (&data, 3.0)]), Some(12));
        assert_eq!(written(&[(&data, 3.0), (&wal, 2.0)]), Some(10));
    }
}
