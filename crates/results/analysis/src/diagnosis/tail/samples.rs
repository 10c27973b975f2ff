//! What observers saw of the transactions of the tail.

use std::collections::BTreeMap;

use pgdyno_core::observe::{BlockedSession, Observed, SessionSample, What};

use super::{
    attempts::{Attempt, Slowest},
    circumstances::{HostSeen, ServerSeen},
    holders::{Holder, Holders},
};

/// Most samples that are kept of one transaction; of longer ones every second one, then every fourth, and so on.
const MOST_OF_ONE: usize = 256;

/// The samples of the tail's transactions, from the lines of `observations.ndjson`. Their order does not matter.
#[derive(Debug)]
pub struct TailSamples<'a> {
    pub(super) slowest: Slowest<'a>,
    /// Samples of each transaction.
    pub(super) seen: Vec<Seen>,
    /// Transactions of each server process, by their begin.
    by_pid: BTreeMap<i32, Vec<usize>>,
    pub(super) events: Names,
    pub(super) holders: Holders,
    pub(super) host: HostSeen,
    pub(super) servers: BTreeMap<Option<String>, ServerSeen>,
}

/// Samples of one transaction.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub samples: Vec<Sample>,
    /// Who blocked it, each time that it was asked.
    pub blocked: Vec<BlockedThen>,
    /// Samples taken; more than are kept, of a long one.
    pub taken: u64,
    /// Number of samples that each kept one represents.
    stride: u64,
}

/// A sample of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub at_s: f64,
    /// Index of its event.
    pub event: usize,
}

/// That a lock was waited for at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BlockedThen {
    pub at_s: f64,
    /// Index of its event.
    pub event: usize,
    pub holder: Holder,
}

/// Names that occur again and again.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    fn index(&mut self, name: &str) -> usize {
        let known = self.0.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }

    /// The name of an index.
    pub fn name(&self, index: usize) -> &str {
        &self.0[index]
    }
}

impl<'a> TailSamples<'a> {
    /// For these transactions.
    pub fn new(slowest: Slowest<'a>) -> Self {
        let mut by_pid: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (index, pid) in slowest.attempts.iter().enumerate().filter_map(|(at, of)| Some((at, of.pid?))) {
            by_pid.entry(pid).or_default().push(index);
        }
        for of_pid in by_pid.values_mut() {
            of_pid.sort_by(|a, b| slowest.attempts[*a].begin_s.total_cmp(&slowest.attempts[*b].begin_s));
        }
        let seen = slowest.attempts.iter().map(|_| Seen::default()).collect();
        Self {
            slowest,
            seen,
            by_pid,
            events: Names::default(),
            holders: Holders::default(),
            host: HostSeen::default(),
            servers: BTreeMap::new(),
        }
    }

    /// Takes a line of `observations.ndjson`.
    pub fn observed(&mut self, line: &Observed) {
        match &line.what {
            What::Host(host) if line.machine.is_some() => self.server(line).host.add(line, host),
            What::Host(host) => self.host.add(line, host),
            What::Sessions { oldest, .. } => {
                self.server(line).sampled(line);
                oldest.iter().for_each(|session| self.session(line, session));
            }
            What::Blocked { blocked } => self.blocked(line, blocked),
            What::Devices { .. } | What::Log(_) | What::Gap { .. } => self.server(line).add(line),
            _ => {}
        }
    }

    fn server(&mut self, line: &Observed) -> &mut ServerSeen {
        self.servers.entry(line.subject.clone()).or_default()
    }

    fn session(&mut self, line: &Observed, of: &SessionSample) {
        // A line is written a little after its sample was taken: the middle of the transaction's life up to then is
        // in the transaction all the same.
        let inside_s = line.at_s - of.transaction_age_s.max(0.0) / 2.0;
        if let Some(index) = self.attempt(of.pid, inside_s, line.subject.as_deref()) {
            let event = self.events.index(&of.event);
            self.seen[index].add(Sample { at_s: line.at_s, event });
        }
    }

    fn blocked(&mut self, line: &Observed, blocked: &[BlockedSession]) {
        let heads = self.holders.heads(blocked, &self.slowest.clients);
        for (of, holder) in blocked.iter().zip(heads) {
            let waited_s = of.waited_s.unwrap_or(0.0).max(0.0);
            let found = self.attempt(of.pid, line.at_s - waited_s / 2.0, line.subject.as_deref());
            if let Some(index) = found {
                let event = self.events.index(&format!("Lock:{}", of.lock));
                self.seen[index].blocked.push(BlockedThen { at_s: line.at_s, event, holder });
            }
        }
    }

    /// The transaction of a server process at an instant.
    fn attempt(&self, pid: i32, at_s: f64, subject: Option<&str>) -> Option<usize> {
        let of_pid = self.by_pid.get(&pid)?;
        let attempts = &self.slowest.attempts;
        let is_there = |index: &&usize| {
            let attempt: &Attempt = &attempts[**index];
            let of = self.slowest.cells[attempt.cell].workload.subject.as_deref();
            attempt.end_s >= at_s && (subject.is_none() || of.is_none() || subject == of)
        };
        let after = of_pid.partition_point(|index| attempts[*index].begin_s <= at_s);
        // Servers of several subjects may have the same process id one after another, but hardly at one time.
        of_pid[..after].iter().rev().take(2).find(is_there).copied()
    }
}

impl Seen {
    /// Number of samples that each kept one represents.
    pub fn each_represents(&self) -> u64 {
        self.stride.max(1)
    }

    fn add(&mut self, sample: Sample) {
        self.stride = self.stride.max(1);
        self.taken += 1;
        if !self.taken.is_multiple_of(self.stride) {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() >= MOST_OF_ONE {
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
            self.stride *= 2;
        }
    }

    /// Puts everything in the order of time. Of a transaction of which no sample was taken, that it was blocked is one.
    pub fn settle(&mut self, events: &Names) {
        let name = |of: &Sample| events.name(of.event);
        let by_time = |a: &Sample, b: &Sample| a.at_s.total_cmp(&b.at_s).then(name(a).cmp(name(b)));
        self.samples.sort_by(by_time);
        self.blocked.sort_by(|a, b| a.at_s.total_cmp(&b.at_s).then(a.holder.cmp(&b.holder)));
        if self.samples.is_empty() {
            self.samples = self.blocked.iter().map(|of| Sample { at_s: of.at_s, event: of.event }).collect();
            self.taken = self.samples.len() as u64;
        }
    }
}
