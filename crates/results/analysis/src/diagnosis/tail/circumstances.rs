//! What else happened while samples were taken.

use std::collections::BTreeMap;

use pgdyno_core::{
    observe::{DeviceSample, HostSample, LogEvent, LogSample, Observed, What},
    results::Circumstance,
};

/// Busy share of the CPUs from which on processes may have to wait for one.
const SATURATED: f64 = 0.95;
/// Share of the CPU time of other guests from which on it is felt.
const STOLEN: f64 = 0.05;
/// Time of a request in milliseconds from which on a device may have stalled, and how many times the usual it takes.
const STALLED_MS: f64 = 10.0;
const STALLED_TIMES: f64 = 5.0;
/// What is missing when no session can be sampled.
const OF_SAMPLES: [&str; 2] = ["session", "waits"];
/// Transactions younger than this may be missing in a sample.
pub const YOUNG_S: f64 = 0.01;

/// Times, in seconds since the start of pgdyno's run.
#[derive(Debug, Default)]
pub struct Spans(Vec<(f64, f64)>);

impl Spans {
    fn add(&mut self, from_s: f64, to_s: f64) {
        self.0.push((from_s, to_s));
    }

    /// Joins those that overlap.
    fn settle(&mut self) {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f64, f64)> = Vec::new();
        for (from, to) in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        self.0 = joined;
    }

    /// Whether an instant is within one of them.
    pub fn contain(&self, at_s: f64) -> bool {
        self.overlap_s(at_s, at_s).is_some()
    }

    /// Seconds of a time that are within them; `None` if it touches none.
    pub fn overlap_s(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let first = self.0.partition_point(|(_, to)| *to < from_s);
        let touched = self.0[first..].iter().take_while(|(from, _)| *from <= to_s);
        touched.map(|(from, to)| to.min(to_s) - from.max(from_s)).reduce(|a, b| a + b)
    }
}

/// What happened at the host.
#[derive(Debug, Default)]
pub struct HostSeen {
    /// Whether there was a line of it.
    is_seen: bool,
    saturated: Spans,
    stolen: Spans,
}

impl HostSeen {
    /// Adds a line.
    pub fn add(&mut self, line: &Observed, host: &HostSample) {
        self.is_seen = true;
        let from_s = line.at_s - line.over_s;
        if host.all.busy() + host.all.steal >= SATURATED {
            self.saturated.add(from_s, line.at_s);
        }
        if host.all.steal >= STOLEN {
            self.stolen.add(from_s, line.at_s);
        }
    }

    /// Ends adding.
    pub fn settle(&mut self) {
        self.saturated.settle();
        self.stolen.settle();
    }

    /// Times of a circumstance, if it is one of the host and that was seen.
    pub fn times(&self, of: Circumstance) -> Option<&Spans> {
        match of {
            _ if !self.is_seen => None,
            Circumstance::CpuSaturated => Some(&self.saturated),
            Circumstance::Steal => Some(&self.stolen),
            _ => None,
        }
    }
}

/// What happened at a server.
#[derive(Debug, Default)]
pub struct ServerSeen {
    pub gaps: Spans,
    /// Its machine, where it is another than pgdyno's and was observed there.
    pub host: HostSeen,
    /// Samples that named sessions, in the order of time.
    pub named: Vec<Named>,
    checkpoints: Spans,
    /// When checkpoints began whose end is not known yet.
    begun: Vec<f64>,
    autovacuum: Spans,
    stalls: Spans,
    devices: BTreeMap<String, Vec<Requests>>,
}

/// A sample that named sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Named {
    pub at_s: f64,
    /// The age of the youngest transaction that is named.
    pub youngest_s: f64,
    /// Whether all sessions in transactions are named.
    pub all: bool,
}

/// The time that requests to a device took within a time.
#[derive(Debug, Clone, Copy)]
struct Requests {
    from_s: f64,
    to_s: f64,
    await_ms: f64,
}

impl ServerSeen {
    /// Adds that a sample was taken.
    pub fn sampled(&mut self, line: &Observed) {
        let What::Sessions { in_transaction, oldest } = &line.what else { return };
        let youngest = oldest.iter().map(|of| of.transaction_age_s).min_by(f64::total_cmp);
        self.named.push(Named {
            at_s: line.at_s,
            youngest_s: youngest.unwrap_or(0.0),
            all: *in_transaction <= oldest.len() as u64,
        });
    }

    /// Adds a line of devices, of the log, or a gap.
    pub fn add(&mut self, line: &Observed) {
        match &line.what {
            What::Devices { devices } => devices.iter().for_each(|device| self.device(line, device)),
            What::Log(of) => self.logged(line.at_s, of),
            What::Gap { missing, .. } if OF_SAMPLES.contains(&missing.as_str()) => {
                self.gaps.add(line.at_s - line.over_s, line.at_s);
            }
            _ => {}
        }
    }

    fn device(&mut self, line: &Observed, device: &DeviceSample) {
        let awaits = [device.read_await_ms, device.write_await_ms, device.flush_await_ms];
        if let Some(await_ms) = awaits.into_iter().flatten().max_by(f64::total_cmp) {
            let requests = Requests { from_s: line.at_s - line.over_s, to_s: line.at_s, await_ms };
            self.devices.entry(device.device.clone()).or_default().push(requests);
        }
    }

    fn logged(&mut self, at_s: f64, of: &LogSample) {
        match &of.event {
            LogEvent::CheckpointBegan { .. } => self.begun.push(at_s),
            LogEvent::CheckpointEnded { total_s, .. } => self.checkpoints.add(at_s - total_s, at_s),
            LogEvent::AutoVacuum { elapsed_s, .. } | LogEvent::AutoAnalyze { elapsed_s, .. } => {
                self.autovacuum.add(at_s - elapsed_s.unwrap_or(0.0), at_s);
            }
            _ => {}
        }
    }

    /// Ends adding.
    pub fn settle(&mut self) {
        self.host.settle();
        self.named.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        self.gaps.settle();
        self.autovacuum.settle();
        self.checkpoints.settle();
        // One that did not end lasted until the end.
        let last_s = self.checkpoints.0.last().map_or(0.0, |(_, to)| *to);
        let open = self.begun.iter().copied().filter(|began| *began > last_s).reduce(f64::min);
        open.into_iter().for_each(|began| self.checkpoints.add(began, f64::INFINITY));
        for of_device in std::mem::take(&mut self.devices).into_values() {
            stalls(of_device).into_iter().for_each(|of| self.stalls.add(of.from_s, of.to_s));
        }
        self.stalls.settle();
    }

    /// Times of a circumstance, if it is one of a server.
    pub fn times(&self, of: Circumstance) -> Option<&Spans> {
        match of {
            Circumstance::Checkpoint => Some(&self.checkpoints),
            Circumstance::Autovacuum => Some(&self.autovacuum),
            Circumstance::DeviceStall => Some(&self.stalls),
            of => self.host.times(of),
        }
    }
}

/// The times in which requests to a device took much longer than usual.
fn stalls(of_device: Vec<Requests>) -> Vec<Requests> {
    let mut awaits: Vec<f64> = of_device.iter().map(|of| of.await_ms).collect();
    awaits.sort_by(f64::total_cmp);
    let usual_ms = awaits.get(awaits.len() / 2).copied().unwrap_or(0.0);
    let bound_ms = STALLED_MS.max(STALLED_TIMES * usual_ms);
    of_device.into_iter().filter(|of| of.await_ms >= bound_ms).collect()
}

/// Circumstances that may explain a wait. `is_lock` is one for a heavyweight lock.
pub fn may_explain(wait: &str, is_lock: bool) -> &'static [Circumstance] {
    use Circumstance::{Autovacuum, Checkpoint, CpuSaturated, DeviceStall, DriverStarved, Steal};
    let is_of_storage = wait.starts_with("IO:") || wait.to_lowercase().contains("walwrite");
    match wait {
        "client" => &[DriverStarved],
        "running" => &[Checkpoint, Autovacuum, CpuSaturated, Steal],
        _ if is_lock => &[Checkpoint],
        _ if is_of_storage => &[Checkpoint, Autovacuum, DeviceStall],
        _ => &[Checkpoint, Autovacuum],
    }
}
