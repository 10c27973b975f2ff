//! Divides the tail of a cell among what its transactions waited for.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::results::{
    Circumstance, NO_CLIENT_FREE, NO_SAMPLE, OTHER, Tail, TailCause, TailCircumstance, TailUnseen, UnseenWhy,
};

use super::{
    attempts::Attempt,
    circumstances::{ServerSeen, YOUNG_S},
    explained::{Explained, explained, server, times},
    quotes,
    samples::{Seen, TailSamples},
    share::ShareSum,
};

/// Most causes that are listed one by one.
const MOST_CAUSES: usize = 20;
/// Version from which on the server names wait events.
const WAIT_EVENTS_SINCE: u32 = 90_600;

/// The sum of a cause.
#[derive(Debug, Default)]
struct Cause {
    share: ShareSum,
    seen_in: u64,
    samples: u64,
}

/// Everything that is added up for a cell.
#[derive(Debug, Default)]
struct Sums {
    whole: ShareSum,
    causes: BTreeMap<Explained, Cause>,
    circumstances: BTreeMap<Circumstance, f64>,
    unseen: BTreeMap<UnseenWhy, f64>,
    recorded: u64,
    seen: u64,
    samples: u64,
}

impl TailSamples<'_> {
    /// What the tail of every cell waited for, in the order of the record.
    pub fn tails(mut self) -> Vec<Tail> {
        self.host.settle();
        self.servers.values_mut().for_each(ServerSeen::settle);
        for seen in &mut self.seen {
            seen.settle(&self.events);
        }
        (0..self.slowest.cells.len()).filter_map(|cell| tail(&self, cell)).collect()
    }
}

/// What the tail of a cell waited for; `None` if none of its transactions is recorded.
fn tail(all: &TailSamples<'_>, cell: usize) -> Option<Tail> {
    let mut sums = Sums::default();
    for (attempt, seen) in all.slowest.attempts.iter().zip(&all.seen).filter(|(of, _)| of.cell == cell) {
        sums.add(all, attempt, seen);
    }
    let of = &all.slowest.cells[cell];
    (sums.recorded > 0).then(|| Tail {
        cell: of.workload.cell(),
        part: of.part,
        over_ns: of.over_ns,
        p50_ns: of.p50_ns,
        transactions: sums.whole.sum.round() as u64,
        recorded: sums.recorded,
        seen: sums.seen,
        samples: sums.samples,
        has_wait_events: has_wait_events(all, cell),
        circumstances: sums.listed_circumstances(all, cell),
        unseen: sums.listed_unseen(),
        slowest: quotes::slowest(all, cell),
        causes: sums.causes(all),
    })
}

impl Sums {
    /// Adds a transaction: the time before it began, then its samples.
    fn add(&mut self, all: &TailSamples<'_>, attempt: &Attempt, seen: &Seen) {
        let weight = all.slowest.strata[attempt.stratum].weight();
        let cluster = attempt.end_s.max(0.0) as u64;
        self.whole.add(cluster, weight);
        self.recorded += 1;
        if attempt.is_driver_starved {
            *self.circumstances.entry(Circumstance::DriverStarved).or_default() += weight;
        }
        if attempt.lag > 0.0 {
            let late = Explained { during: starved(attempt), ..Explained::plain(NO_CLIENT_FREE) };
            self.cause(late, cluster, weight * attempt.lag).seen_in += 1;
        }
        let rest = weight * (1.0 - attempt.lag);
        if seen.samples.is_empty() {
            let unseen = self.cause(Explained::plain(NO_SAMPLE), cluster, rest);
            unseen.seen_in += u64::from(rest > 0.0);
            *self.unseen.entry(why_unseen(all, attempt)).or_default() += rest;
            return;
        }
        self.seen += 1;
        self.samples += seen.taken;
        let (part, mut found) = (rest / seen.samples.len() as f64, BTreeSet::new());
        for (nth, sample) in seen.samples.iter().enumerate() {
            let explained = explained(all, attempt, seen, nth);
            for of in Circumstance::ALL {
                if times(all, attempt.cell, of).is_some_and(|times| times.contain(sample.at_s)) {
                    *self.circumstances.entry(of).or_default() += part;
                }
            }
            found.insert(explained.clone());
            self.cause(explained, cluster, part).samples += seen.each_represents();
        }
        found.iter().for_each(|of| self.causes.entry(of.clone()).or_default().seen_in += 1);
    }

    fn cause(&mut self, of: Explained, cluster: u64, part: f64) -> &mut Cause {
        let cause = self.causes.entry(of).or_default();
        cause.share.add(cluster, part);
        cause
    }

    /// The causes, the largest first, rare ones together, and last what no sample shows.
    fn causes(self, all: &TailSamples<'_>) -> Vec<TailCause> {
        let whole = self.whole;
        let (unseen, mut causes): (Vec<_>, Vec<_>) = self
            .causes
            .into_iter()
            .filter(|(_, of)| of.share.sum > 0.0)
            .partition(|(of, _)| of.wait == NO_SAMPLE);
        causes.sort_by(|(a, of_a), (b, of_b)| of_b.share.sum.total_cmp(&of_a.share.sum).then(a.cmp(b)));
        if causes.len() > MOST_CAUSES {
            let mut other = Cause::default();
            for (_, cause) in causes.drain(MOST_CAUSES - 1..) {
                other.share.merge(&cause.share);
                (other.seen_in, other.samples) =
                    (other.seen_in + cause.seen_in, other.samples + cause.samples);
            }
            causes.push((Explained::plain(OTHER), other));
        }
        causes.into_iter().chain(unseen).map(|(of, cause)| tail_cause(all, of, &cause, &whole)).collect()
    }

    fn listed_unseen(&self) -> Vec<TailUnseen> {
        let share = |sum: f64| sum / self.whole.sum.max(f64::MIN_POSITIVE);
        let unseen = self.unseen.iter().filter(|(_, sum)| **sum > 0.0);
        let mut listed: Vec<_> =
            unseen.map(|(why, sum)| TailUnseen { why: *why, share: share(*sum) }).collect();
        listed.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.why.cmp(&b.why)));
        listed
    }

    fn listed_circumstances(&self, all: &TailSamples<'_>, cell: usize) -> Vec<TailCircumstance> {
        let listed = self.circumstances.iter().map(|(during, sum)| TailCircumstance {
            during: *during,
            share: (sum / self.whole.sum.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0),
            of_time: share_of_time(all, cell, *during),
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.during.cmp(&b.during)));
        listed
    }
}

fn tail_cause(all: &TailSamples<'_>, of: Explained, cause: &Cause, whole: &ShareSum) -> TailCause {
    let (low, high) = cause.share.interval(whole);
    TailCause {
        wait: of.wait,
        during: of.during,
        holder: of.holder.map(|holder| all.holders.of(holder)),
        share: cause.share.of(whole),
        low,
        high,
        seen_in: cause.seen_in,
        samples: cause.samples,
    }
}

fn starved(attempt: &Attempt) -> Vec<Circumstance> {
    if attempt.is_driver_starved { vec![Circumstance::DriverStarved] } else { Vec::new() }
}

/// Why there is no sample of a transaction.
fn why_unseen(all: &TailSamples<'_>, attempt: &Attempt) -> UnseenWhy {
    if attempt.pid.is_none() {
        return UnseenWhy::PidUnknown;
    }
    let Some(server) = server(all, attempt.cell) else { return UnseenWhy::BetweenSamples };
    if server.gaps.overlap_s(attempt.begin_s, attempt.end_s).is_some() {
        return UnseenWhy::Gap;
    }
    let first = server.named.partition_point(|of| of.at_s < attempt.begin_s + YOUNG_S);
    let mut meanwhile = server.named[first..].iter().take_while(|of| of.at_s <= attempt.end_s).peekable();
    if meanwhile.peek().is_none() {
        return UnseenWhy::BetweenSamples;
    }
    // Older ones take all places of a sample.
    match meanwhile.any(|of| !of.all && of.at_s - attempt.begin_s <= of.youngest_s) {
        true => UnseenWhy::Crowded,
        false => UnseenWhy::NotInTransaction,
    }
}

/// Share of a cell's measured time during which a circumstance held.
fn share_of_time(all: &TailSamples<'_>, cell: usize, of: Circumstance) -> Option<f64> {
    let times = times(all, cell, of)?;
    let runs = &all.slowest.cells[cell].runs;
    let lasted_s: f64 = runs.iter().map(|run| run.duration_ns as f64 / 1e9).sum();
    let overlap = runs
        .iter()
        .filter_map(|run| times.overlap_s(run.start_s, run.start_s + run.duration_ns as f64 / 1e9));
    (lasted_s > 0.0).then(|| (overlap.sum::<f64>() / lasted_s).clamp(0.0, 1.0))
}

/// Whether the cell's server names wait events; taken for granted where its version is not recorded.
fn has_wait_events(all: &TailSamples<'_>, cell: usize) -> bool {
    let subject = &all.slowest.cells[cell].workload.subject;
    let subjects = &all.slowest.record.subjects;
    let own = subjects.iter().find(|of| Some(&of.name) == subject.as_ref()).or(subjects.first());
    let version = own.and_then(|of| Some(of.server.as_ref()?.version_num));
    version.is_none_or(|version| version >= WAIT_EVENTS_SINCE)
}
