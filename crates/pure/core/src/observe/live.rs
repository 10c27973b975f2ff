//! What observers saw last, for users who wait for a run.

use std::{cmp::Ordering, collections::BTreeMap};

use super::{
    BlockedSession, DeviceSample, HostSample, LogEvent, Observed, ProcessSample, ProgressSample, Role,
    WaitsSample, What,
};

/// Seconds after which what was seen is no longer shown. Lines come once a second, and a busy machine may be late.
const FRESH_S: f64 = 2.5;
/// Rates over fewer seconds are not shown. At the edges of intervals there is a reading of its own, which may cover
/// some milliseconds.
const SHORTEST_S: f64 = 0.5;

/// The last lines of a run about the machine and its servers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    at_s: f64,
    host: Last<HostSample>,
    servers: BTreeMap<Option<String>, LiveServer>,
}

/// The last lines about a server.
#[derive(Debug, Clone, Default, PartialEq)]
struct LiveServer {
    devices: Last<Vec<DeviceSample>>,
    processes: Last<ProcessSample>,
    waits: Last<WaitsSample>,
    wal_bytes_per_s: Last<f64>,
    blocked: Last<Vec<BlockedSession>>,
    commands: Last<Vec<ProgressSample>>,
    in_checkpoint: bool,
}

/// A value with the second in which it was seen.
#[derive(Debug, Clone, PartialEq)]
struct Last<T>(Option<(f64, T)>);

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Last<T> {
    fn set(&mut self, at_s: f64, value: T) {
        self.0 = Some((at_s, value));
    }

    fn at(&self, now_s: f64) -> Option<&T> {
        self.0.as_ref().filter(|(at_s, _)| now_s - at_s <= FRESH_S).map(|(_, value)| value)
    }
}

/// A server as it was seen last. What is absent was not seen lately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerNow<'a> {
    /// The subject that it belongs to; `None` where there is one server only.
    pub subject: Option<&'a str>,
    /// Its processes.
    pub processes: Option<&'a ProcessSample>,
    /// What its sessions waited for.
    pub waits: Option<&'a WaitsSample>,
    /// WAL written per second, in bytes (14 and later).
    pub wal_bytes_per_s: Option<f64>,
    /// Sessions that waited for a lock.
    pub blocked: &'a [BlockedSession],
    /// Commands that report their progress.
    pub commands: &'a [ProgressSample],
    /// Whether its log shows the begin of a checkpoint, and not yet its end.
    pub in_checkpoint: bool,
}

impl ServerNow<'_> {
    /// How much the clients do: active sessions, as a mean over the last samples, then their CPUs.
    fn rank(&self) -> (f64, f64) {
        let roles = self.processes.into_iter().flat_map(|processes| &processes.roles);
        let cpus = roles.filter(|of| of.role == Role::Client).map(|of| of.cpus).sum();
        (self.active_clients(), cpus)
    }

    fn active_clients(&self) -> f64 {
        let Some(waits) = self.waits.filter(|waits| waits.samples > 0) else { return 0.0 };
        let at_work = waits.seen.iter().filter(|of| of.is_of_client() && of.event != "client");
        at_work.map(|of| of.count).sum::<u64>() as f64 / waits.samples as f64
    }
}

impl Live {
    /// Adds a line of `observations.ndjson`.
    pub fn add(&mut self, line: &Observed) {
        let at_s = line.at_s;
        self.at_s = self.at_s.max(at_s);
        let is_long = line.over_s >= SHORTEST_S;
        if let What::Host(sample) = &line.what {
            if is_long {
                self.host.set(at_s, (**sample).clone());
            }
            return;
        }
        let server = self.servers.entry(line.subject.clone()).or_default();
        match &line.what {
            What::Devices { devices } if is_long => server.devices.set(at_s, devices.clone()),
            What::Processes(sample) if is_long => server.processes.set(at_s, sample.clone()),
            What::Waits(sample) => server.waits.set(at_s, sample.clone()),
            What::Blocked { blocked } => server.blocked.set(at_s, blocked.clone()),
            What::Progress { commands } => server.commands.set(at_s, commands.clone()),
            What::Counters(sample) if is_long => {
                let wal = sample.views.get("pg_stat_wal").and_then(|wal| wal.get("wal_bytes"));
                wal.into_iter().for_each(|bytes| server.wal_bytes_per_s.set(at_s, bytes / line.over_s));
            }
            What::Log(log) => match log.event {
                LogEvent::CheckpointBegan { .. } => server.in_checkpoint = true,
                LogEvent::CheckpointEnded { .. } | LogEvent::Ready => server.in_checkpoint = false,
                _ => {}
            },
            _ => {}
        }
    }

    /// The machine that pgdyno runs on.
    pub fn host(&self) -> Option<&HostSample> {
        self.host.at(self.at_s)
    }

    /// The device under a server's files that was busy for the largest share of the time.
    pub fn busiest_device(&self) -> Option<&DeviceSample> {
        let devices = self.servers.values().filter_map(|server| server.devices.at(self.at_s)).flatten();
        devices.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
    }

    /// The server with the most active clients: of several, the one that is driven.
    pub fn busiest_server(&self) -> Option<ServerNow<'_>> {
        let servers = self.servers.iter().map(|(subject, server)| self.now(subject.as_deref(), server));
        servers.max_by(|a, b| a.rank().partial_cmp(&b.rank()).unwrap_or(Ordering::Equal))
    }

    fn now<'a>(&self, subject: Option<&'a str>, server: &'a LiveServer) -> ServerNow<'a> {
        ServerNow {
            subject,
            processes: server.processes.at(self.at_s),
            waits: server.waits.at(self.at_s),
            wal_bytes_per_s: server.wal_bytes_per_s.at(self.at_s).copied(),
            blocked: server.blocked.at(self.at_s).map_or(&[], Vec::as_slice),
            commands: server.commands.at(self.at_s).map_or(&[], Vec::as_slice),
            in_checkpoint: server.in_checkpoint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{LogSample, WaitSample};

    fn line(at_s: f64, subject: Option<&str>, what: What) -> Observed {
        Observed { at_s, over_s: 1.0, subject: subject.map(str::to_owned), machine: None, what }
    }

    fn waits(event: &str, count: u64) -> What {
        let (event, backend) = (event.to_owned(), "client backend".to_owned());
        What::Waits(WaitsSample {
            samples: 10,
            seen: vec![WaitSample { event, backend, query_id: None, count }],
        })
    }

    #[test]
    fn of_two_servers_the_driven_one_is_shown() {
        let mut live = Live::default();
        live.add(&line(1.0, Some("a"), waits("client", 80)));
        live.add(&line(1.0, Some("b"), waits("IO:WALSync", 20)));
        let busiest = live.busiest_server().expect("there are two");
        assert_eq!((busiest.subject, busiest.rank()), (Some("b"), (2.0, 0.0)));
        live.add(&line(2.0, Some("a"), waits("running", 30)));
        live.add(&line(2.0, Some("b"), waits("client", 80)));
        assert_eq!(live.busiest_server().and_then(|busiest| busiest.subject), Some("a"));
    }

    #[test]
    fn the_busiest_device_is_that_of_any_server() {
        let devices = |device: &str, utilisation| What::Devices {
            devices: vec![DeviceSample { device: device.to_owned(), utilisation, ..DeviceSample::default() }],
        };
        let mut live = Live::default();
        live.add(&line(1.0, Some("a"), devices("nvme0n1", 0.9)));
        live.add(&line(1.0, Some("b"), devices("sdb", 0.1)));
        // At the edge of an interval.
        let edge = Observed { over_s: 0.01, ..line(1.1, Some("b"), devices("sdb", 1.0)) };
        live.add(&edge);
        assert_eq!(live.busiest_device().map(|of| of.device.as_str()), Some("nvme0n1"));
    }

    #[test]
    fn what_was_seen_long_ago_is_not_shown() {
        let mut live = Live::default();
        live.add(&line(1.0, None, What::Host(Box::default())));
        live.add(&line(1.0, None, What::Blocked { blocked: Vec::new() }));
        live.add(&line(3.0, None, waits("running", 1)));
        assert!(live.host().is_some());
        live.add(&line(5.0, None, waits("running", 1)));
        assert!(live.host().is_none(), "four seconds old");
        assert!(live.busiest_server().is_some_and(|server| server.waits.is_some()));
    }

    #[test]
    fn a_checkpoint_runs_between_its_lines_in_the_log() {
        let mut live = Live::default();
        let log = |event| What::Log(LogSample { pid: None, event, message: String::new() });
        live.add(&line(1.0, None, log(LogEvent::CheckpointBegan { reason: "time".to_owned() })));
        live.add(&line(60.0, None, waits("running", 1)));
        assert!(live.busiest_server().is_some_and(|server| server.in_checkpoint), "however long it takes");
        live.add(&line(61.0, None, log(LogEvent::Ready)));
        assert!(live.busiest_server().is_some_and(|server| !server.in_checkpoint));
    }
}
