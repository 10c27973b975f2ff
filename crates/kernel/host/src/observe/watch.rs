//! Watches the host and the processes of several servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use pgdyno_core::observe::{
    DeviceDigest, DeviceSample, Digest, HostSample, ProcessSample, Role, RoleDigest, RoleSample,
};

use super::{
    device::{DeviceUse, Disks, read_disks},
    file_systems::{Ground, Places},
    host::{HostReading, HostUse},
    processes::{ProcessUse, Processes},
};

/// Time after which the directories of servers are looked up again: tablespaces are created and dropped.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// A shorter time than this, in seconds, does not count for peaks.
const LEAST_FOR_PEAKS_S: f64 = 0.5;

/// Number of a watched server.
pub type ServerId = u64;

/// A server on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedServer {
    /// Process id of its postmaster; `None` if it is not visible.
    pub postmaster: Option<u32>,
    /// Where it keeps its files.
    pub places: Places,
    /// Backends of pgdyno's own sessions.
    pub own: BTreeSet<u32>,
    /// Whether there is no server, only storage.
    pub is_storage: bool,
}

/// Something that could not be observed from now on, or within the time of a reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The server that it is about; `None` for the host.
    pub server: Option<ServerId>,
    /// What is missing.
    pub missing: String,
    /// Why.
    pub why: String,
}

/// The host and its servers from reading to reading.
#[derive(Debug)]
pub struct Watcher {
    at: Instant,
    /// When the host was read, and what.
    host: (Instant, HostReading),
    disks: Disks,
    servers: BTreeMap<ServerId, Server>,
    /// What was said to be missing, once.
    said: BTreeSet<(Option<ServerId>, String)>,
}

#[derive(Debug)]
struct Server {
    given: WatchedServer,
    ground: Ground,
    looked: Instant,
    processes: Option<Processes>,
}

/// What was seen over a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    over_s: f64,
    host: Option<HostUse>,
    devices: BTreeMap<String, DeviceUse>,
    servers: BTreeMap<ServerId, ProcessUse>,
    peaks: Peaks,
}

/// The largest figures of a second.
#[derive(Debug, Clone, Default, PartialEq)]
struct Peaks {
    /// Queue and utilisation.
    devices: BTreeMap<String, [f64; 2]>,
    /// CPUs, and bytes per second from and to devices.
    roles: BTreeMap<(ServerId, Role), (f64, Option<f64>)>,
}

impl Watcher {
    /// Begins with the host alone.
    pub fn begin() -> Self {
        let now = Instant::now();
        Self {
            at: now,
            host: (now, HostReading::read()),
            disks: read_disks(),
            servers: BTreeMap::new(),
            said: BTreeSet::new(),
        }
    }

    /// Begins to watch a server, or updates what changed: another postmaster after a restart, other places, more
    /// sessions of pgdyno.
    pub fn watch(&mut self, id: ServerId, server: WatchedServer) {
        let ground = Ground::of(&server.places);
        let known = self.servers.remove(&id).filter(|known| known.given.postmaster == server.postmaster);
        let mut processes = known
            .and_then(|known| known.processes)
            .or_else(|| server.postmaster.map(|pid| Processes::begin(pid, server.own.clone())));
        processes.iter_mut().for_each(|processes| processes.own.clone_from(&server.own));
        self.said.retain(|(of, _)| *of != Some(id));
        self.servers.insert(id, Server { given: server, ground, looked: Instant::now(), processes });
    }

    /// Names the backends of observing sessions, which are pgdyno's own at whichever server.
    pub fn observe_by(&mut self, backends: &BTreeSet<u32>) {
        for processes in self.servers.values_mut().filter_map(|server| server.processes.as_mut()) {
            processes.own.extend(backends);
        }
    }

    /// Ends watching a server.
    pub fn forget(&mut self, id: ServerId) {
        self.servers.remove(&id);
    }

    /// What was seen since the last reading, and what is missing.
    pub fn read(&mut self) -> (Seen, Vec<Gap>) {
        let now = Instant::now();
        let over_s = now.duration_since(std::mem::replace(&mut self.at, now)).as_secs_f64();
        let host = HostReading::read();
        // Clock ticks are coarse: without one, the time counts with the next reading.
        let used = host.since(&self.host.1, now.duration_since(self.host.0).as_secs_f64());
        if used.is_some() {
            self.host = (now, host);
        }
        let mut gaps = Vec::new();
        let devices = self.read_devices(over_s, &mut gaps);
        let servers = self.read_servers(over_s, &mut gaps);
        let mut seen = Seen { over_s, host: used, devices, servers, peaks: Peaks::default() };
        seen.peaks = seen.own_peaks();
        (seen, gaps)
    }

    fn read_devices(&mut self, over_s: f64, gaps: &mut Vec<Gap>) -> BTreeMap<String, DeviceUse> {
        let disks = read_disks();
        let earlier = std::mem::replace(&mut self.disks, disks);
        let names: BTreeSet<&String> =
            self.servers.values().flat_map(|server| server.ground.devices.keys()).collect();
        let mut found = BTreeMap::new();
        for name in names {
            let both = self.disks.get(name).zip(earlier.get(name));
            let missing = format!("device {name}");
            match both.map(|(now, then)| DeviceUse::between(now, then, over_s)) {
                Some(Some(used)) => {
                    self.said.remove(&(None, missing));
                    found.insert(name.clone(), used);
                }
                Some(None) => gaps.extend(gap(None, missing, "its counters began again from 0")),
                None if self.said.insert((None, missing.clone())) => {
                    gaps.extend(gap(None, missing, "/proc/diskstats does not have it"));
                }
                None => {}
            }
        }
        found
    }

    fn read_servers(&mut self, over_s: f64, gaps: &mut Vec<Gap>) -> BTreeMap<ServerId, ProcessUse> {
        let mut found = BTreeMap::new();
        for (id, server) in &mut self.servers {
            if server.looked.elapsed() >= LOOK_AGAIN {
                (server.ground, server.looked) = (Ground::of(&server.given.places), Instant::now());
            }
            let missing = "processes".to_owned();
            match server.processes.as_mut().map(|processes| processes.read(over_s)) {
                Some(Some(used)) => {
                    self.said.remove(&(Some(*id), missing));
                    found.insert(*id, used);
                }
                None if server.given.is_storage => {}
                unseen if self.said.insert((Some(*id), missing.clone())) => {
                    let why = match unseen {
                        None => "no process of this server is visible on this machine",
                        Some(_) => "the postmaster has ended, or is hidden from this user",
                    };
                    gaps.extend(gap(Some(*id), missing, why));
                }
                _ => {}
            }
        }
        found
    }

    /// The line of the host; `None` if no clock tick has passed.
    pub fn host(&self, seen: &Seen) -> Option<HostSample> {
        let mut file_systems: Vec<pgdyno_core::observe::FileSystemSample> = Vec::new();
        for sample in self.servers.values().flat_map(|server| server.ground.samples()) {
            match file_systems.iter_mut().find(|known| known.mounted_on == sample.mounted_on) {
                Some(known) => {
                    known.places.extend(sample.places);
                    known.places.sort();
                    known.places.dedup();
                }
                None => file_systems.push(sample),
            }
        }
        seen.host.as_ref()?.sample(file_systems)
    }

    /// The devices below a server.
    pub fn devices(&self, id: ServerId, seen: &Seen) -> Vec<DeviceSample> {
        let devices = self.servers.get(&id).map(|server| &server.ground.devices);
        let sample =
            |(name, places): (&String, &Vec<_>)| Some(seen.devices.get(name)?.sample(name, places.clone()));
        devices.into_iter().flatten().filter_map(sample).collect()
    }

    /// The processes of a server; `None` if they cannot be seen.
    pub fn processes(&self, id: ServerId, seen: &Seen) -> Option<ProcessSample> {
        Some(self.servers.get(&id)?.processes.as_ref()?.sample(seen.servers.get(&id)?))
    }

    /// Means and peaks over a time, of the host and of these servers, with the names of their subjects.
    pub fn digest(&self, seen: &Seen, servers: &[(ServerId, Option<String>)]) -> Digest {
        let mut devices: Vec<DeviceDigest> = Vec::new();
        for mean in servers.iter().flat_map(|(id, _)| self.devices(*id, seen)) {
            match devices.iter_mut().find(|known| known.mean.device == mean.device) {
                Some(known) => {
                    known.mean.places.extend(mean.places);
                    known.mean.places.sort();
                    known.mean.places.dedup();
                }
                None => devices.push(seen.device(mean)),
            }
        }
        let roles = servers.iter().flat_map(|(id, subject)| seen.roles(*id, subject.as_ref()));
        Digest {
            over_s: seen.over_s,
            host: seen.host.as_ref().and_then(HostUse::digest),
            devices,
            roles: roles.collect(),
            servers: Vec::new(),
            server_hosts: Vec::new(),
            cost: None,
        }
    }
}

fn gap(server: Option<ServerId>, missing: String, why: &str) -> Option<Gap> {
    Some(Gap { server, missing, why: why.to_owned() })
}

impl Seen {
    /// Seconds that were observed.
    pub fn over_s(&self) -> f64 {
        self.over_s
    }

    /// Adds a later time.
    pub fn add(&mut self, more: &Self) {
        self.over_s += more.over_s;
        if let Some(host) = &more.host {
            self.host.get_or_insert_default().add(host);
        }
        for (name, used) in &more.devices {
            let sum = self.devices.get(name).map_or(*used, |sum| sum.plus(used));
            self.devices.insert(name.clone(), sum);
        }
        for (id, used) in &more.servers {
            self.servers.entry(*id).or_default().add(used);
        }
        self.peaks.add(&more.peaks);
    }

    fn own_peaks(&self) -> Peaks {
        let mut peaks = Peaks::default();
        if self.over_s < LEAST_FOR_PEAKS_S {
            return peaks;
        }
        for (name, used) in &self.devices {
            let sample = used.sample(name, Vec::new());
            peaks.devices.insert(name.clone(), [sample.queue, sample.utilisation]);
        }
        for (id, used) in &self.servers {
            let peak = |role: &RoleSample| ((*id, role.role), (role.cpus, device_bytes(role)));
            peaks.roles.extend(used.roles().iter().map(peak));
        }
        peaks
    }

    fn device(&self, mean: DeviceSample) -> DeviceDigest {
        let [queue, utilisation] = self.peaks.devices.get(&mean.device).copied().unwrap_or_default();
        DeviceDigest {
            machine: None,
            peak_queue: queue.max(mean.queue),
            peak_utilisation: utilisation.max(mean.utilisation),
            mean,
        }
    }

    fn roles(&self, id: ServerId, subject: Option<&String>) -> Vec<RoleDigest> {
        let digest = |mean: RoleSample| {
            let (cpus, bytes) = self.peaks.roles.get(&(id, mean.role)).copied().unwrap_or_default();
            RoleDigest {
                subject: subject.cloned(),
                peak_cpus: cpus.max(mean.cpus),
                peak_device_bytes_per_s: device_bytes(&mean).map(|mean| mean.max(bytes.unwrap_or(0.0))),
                mean,
            }
        };
        let used = self.servers.get(&id).map(ProcessUse::roles);
        used.into_iter().flatten().map(digest).collect()
    }
}

impl Peaks {
    fn add(&mut self, more: &Self) {
        for (name, [queue, utilisation]) in &more.devices {
            let known = self.devices.entry(name.clone()).or_default();
            *known = [known[0].max(*queue), known[1].max(*utilisation)];
        }
        for (role, (cpus, bytes)) in &more.roles {
            let known = self.roles.entry(*role).or_default();
            let bytes = known.1.into_iter().chain(*bytes).reduce(f64::max);
            *known = (known.0.max(*cpus), bytes);
        }
    }
}

/// Bytes per second from and to devices.
fn device_bytes(role: &RoleSample) -> Option<f64> {
    Some(role.device_read_bytes_per_s? + role.device_written_bytes_per_s?)
}

#[cfg(test)]
mod tests {
    use std::{process, thread};

    use super::*;

    /// A server that is this very process, with its files in the temporary directory.
    fn watched() -> WatchedServer {
        let places = Places { data: Some(std::env::temp_dir()), tablespaces: Vec::new() };
        WatchedServer { postmaster: Some(process::id()), places, ..WatchedServer::default() }
    }

    #[test]
    fn parts_of_a_time_add_up_to_the_whole() {
        let mut watcher = Watcher::begin();
        watcher.watch(3, watched());
        let mut whole = Seen::default();
        let mut each = Vec::new();
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(40));
            let (seen, _) = watcher.read();
            whole.add(&seen);
            each.push(seen.over_s());
        }
        let digest = watcher.digest(&whole, &[(3, Some("a".to_owned()))]);
        assert!((digest.over_s - each.iter().sum::<f64>()).abs() < 1e-9 && digest.over_s >= 0.12);
        assert!(digest.host.is_some());
        let other = digest.roles.iter().find(|role| role.mean.role == Role::Other).expect("it is there");
        assert_eq!(other.subject.as_deref(), Some("a"));
        assert!(other.peak_cpus >= other.mean.cpus);
        assert!(watcher.processes(3, &whole).is_some() && watcher.processes(4, &whole).is_none());
    }

    #[test]
    fn a_server_that_cannot_be_seen_is_a_gap_once() {
        let mut watcher = Watcher::begin();
        watcher.watch(1, WatchedServer { postmaster: Some(u32::MAX), ..watched() });
        watcher.watch(2, WatchedServer::default());
        let (seen, gaps) = watcher.read();
        let missing: Vec<_> = gaps.iter().map(|gap| (gap.server, gap.missing.as_str())).collect();
        assert_eq!(missing, [(Some(1), "processes"), (Some(2), "processes")]);
        assert!(watcher.processes(1, &seen).is_none());
        assert_eq!(watcher.read().1, []);
        watcher.watch(3, WatchedServer { is_storage: true, ..WatchedServer::default() });
        assert_eq!(watcher.read().1, [], "storage has no processes");
        watcher.watch(1, watched());
        let (seen, gaps) = watcher.read();
        assert_eq!(gaps, []);
        assert!(watcher.processes(1, &seen).is_some(), "another postmaster after a restart");
    }
}
