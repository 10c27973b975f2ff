//! From the processes of a server to a sample.

use std::{cmp::Reverse, collections::BTreeMap};

use pgdyno_core::observe::{SessionSample, WaitSample};
use pgdyno_wire::Row;

/// Most sessions of a sample that are named: those that have been in their transaction for the longest time.
const MOST_NAMED: usize = 50;
/// Most activities of a sample with their query ids; of the rarer ones only event and backend type are reported.
const MOST_WITH_ID: usize = 100;
/// Transactions younger than this are not named.
const LEAST_AGE_S: f64 = 0.01;
/// Backend type of a session, and what it is called where the server has no types (before 10).
const CLIENTS: [&str; 2] = ["client backend", "session"];
/// The wait event of a session whose client has not sent anything yet; before 10, which has no such event,
/// [`look`](super::look) gives it to sessions whose state says so.
pub(super) const READ: [&str; 2] = ["Client", "ClientRead"];
/// What is said of a process that the role may not see.
const NOT_SEEN: &str = "not seen";

/// What sessions and background processes were doing at one instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ActivitySample {
    /// How many processes were in each activity.
    pub seen: Vec<WaitSample>,
    /// Client sessions that were in a transaction; 0 if none of them is in `oldest`.
    pub in_transaction: u64,
    /// Those that had been in it for the longest time, at most 50, and none for less than 10 ms; the oldest first.
    pub oldest: Vec<SessionSample>,
}

/// What a process does, in the order of the columns that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process<'a> {
    pid: i32,
    doing: Doing<'a>,
    query_id: Option<i64>,
    /// Ages of its transaction and of its statement; `None` outside transactions.
    transaction_age_s: Option<f64>,
    statement_age_s: Option<f64>,
}

/// What the activity of a process is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Doing<'a> {
    is_hidden: bool,
    wait_type: Option<&'a str>,
    wait_event: Option<&'a str>,
    backend: Option<&'a str>,
}

impl<'a> Process<'a> {
    /// A row of the answer; `None` if it has no process.
    pub(super) fn of(row: &'a Row) -> Option<Self> {
        Some(Self {
            pid: row.parse(0)?,
            doing: Doing {
                is_hidden: row.get(1) == Some("t"),
                wait_type: row.get(2),
                wait_event: row.get(3),
                backend: row.get(4),
            },
            query_id: row.parse(5),
            transaction_age_s: row.parse(6),
            statement_age_s: row.parse(7),
        })
    }

    fn session(&self) -> Option<SessionSample> {
        Some(SessionSample {
            pid: self.pid,
            event: self.doing.event(),
            query_id: self.query_id,
            transaction_age_s: self.transaction_age_s?,
            statement_age_s: self.statement_age_s,
        })
    }
}

impl Doing<'_> {
    /// The wait event with its type, or what there is instead.
    ///
    /// Its state does not matter: a session is idle by it before it has sent its answer, and still while it reads the
    /// next request; and the server copies the states of all sessions before it reads their wait events.
    fn event(&self) -> String {
        match (self.wait_type, self.wait_event) {
            _ if self.is_hidden => NOT_SEEN.to_owned(),
            (Some(kind), Some(event)) if [kind, event] == READ => "client".to_owned(),
            (Some(kind), Some(event)) => format!("{kind}:{event}"),
            (Some(kind), None) => kind.to_owned(),
            (None, _) => "running".to_owned(),
        }
    }

    fn backend(&self) -> String {
        self.backend.unwrap_or(NOT_SEEN).to_owned()
    }
}

/// Adds up what processes did at one instant.
pub(super) fn sampled<'a>(processes: impl Iterator<Item = Process<'a>>) -> ActivitySample {
    let mut counts: BTreeMap<(Doing<'_>, Option<i64>), u64> = BTreeMap::new();
    let mut in_transactions = Vec::new();
    for process in processes {
        *counts.entry((process.doing, process.query_id)).or_default() += 1;
        if process.doing.backend.is_some_and(|backend| CLIENTS.contains(&backend))
            && process.transaction_age_s.is_some()
        {
            in_transactions.push(process);
        }
    }
    let oldest = oldest(&mut in_transactions);
    let in_transaction = if oldest.is_empty() { 0 } else { in_transactions.len() as u64 };
    ActivitySample { seen: activities(counts), in_transaction, oldest }
}

/// Those that have been in their transaction for the longest time.
fn oldest(in_transactions: &mut [Process<'_>]) -> Vec<SessionSample> {
    let age_s = |process: &Process<'_>| process.transaction_age_s.unwrap_or(0.0);
    in_transactions.sort_by(|a, b| age_s(b).total_cmp(&age_s(a)).then(a.pid.cmp(&b.pid)));
    let oldest = in_transactions.iter().take(MOST_NAMED).take_while(|process| age_s(process) >= LEAST_AGE_S);
    oldest.filter_map(Process::session).collect()
}

/// The activities, the most frequent of them with their query ids.
fn activities(counts: BTreeMap<(Doing<'_>, Option<i64>), u64>) -> Vec<WaitSample> {
    let mut with_ids: BTreeMap<(String, String, Option<i64>), u64> = BTreeMap::new();
    for ((doing, query_id), count) in counts {
        *with_ids.entry((doing.event(), doing.backend(), query_id)).or_default() += count;
    }
    let mut by_count: Vec<_> = with_ids.into_iter().collect();
    by_count.sort_by_key(|(_, count)| Reverse(*count));
    let mut kept = BTreeMap::new();
    for (place, ((event, backend, query_id), count)) in by_count.into_iter().enumerate() {
        let query_id = query_id.filter(|_| place < MOST_WITH_ID);
        *kept.entry((event, backend, query_id)).or_insert(0) += count;
    }
    let sample = |((event, backend, query_id), count)| WaitSample { event, backend, query_id, count };
    kept.into_iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that waits for nothing.
    fn client(pid: i32, transaction_age_s: Option<f64>) -> Process<'static> {
        let backend = Some(CLIENTS[0]);
        Process {
            pid,
            doing: Doing { is_hidden: false, wait_type: None, wait_event: None, backend },
            query_id: None,
            transaction_age_s,
            statement_age_s: transaction_age_s,
        }
    }

    #[test]
    fn wait_events_become_activities() {
        let doing = client(1, None).doing;
        let lock = Doing { wait_type: Some("Lock"), wait_event: Some("tuple"), ..doing };
        let read = Doing { wait_type: Some("Client"), wait_event: Some("ClientRead"), ..doing };
        for (doing, event) in [
            (doing, "running"),
            (lock, "Lock:tuple"),
            (Doing { wait_event: None, ..lock }, "Lock"),
            (read, "client"),
            (Doing { wait_event: Some("ClientWrite"), ..read }, "Client:ClientWrite"),
            (Doing { is_hidden: true, ..lock }, "not seen"),
        ] {
            assert_eq!(doing.event(), event, "{doing:?}");
        }
        assert_eq!(Doing { backend: None, ..doing }.backend(), "not seen");
    }

    #[test]
    fn the_oldest_sessions_are_named() {
        let young = sampled([client(1, Some(0.009)), client(2, None)].into_iter());
        assert_eq!((young.in_transaction, young.oldest.len()), (0, 0));
        let mut worker = client(5, Some(99.0));
        worker.doing.backend = Some("parallel worker");
        let some =
            [client(1, Some(0.009)), client(2, Some(0.02)), client(3, Some(7.0)), client(4, None), worker];
        let sample = sampled(some.into_iter());
        let named: Vec<_> = sample.oldest.iter().map(|one| one.pid).collect();
        assert_eq!((sample.in_transaction, named), (3, vec![3, 2]));
        let many = sampled((1..=60).map(|pid| client(pid, Some(f64::from(pid)))));
        assert_eq!((many.in_transaction, many.oldest.len()), (60, MOST_NAMED));
        assert_eq!((many.oldest[0].pid, many.oldest[49].pid), (60, 11));
    }

    #[test]
    fn the_rarest_activities_lose_their_query_ids() {
        let with_id = |pid: i32, id: i64| Process { query_id: Some(id), ..client(pid, None) };
        let twice = (0..2 * MOST_WITH_ID as i64).map(|at| with_id(1, at / 2));
        let seen = sampled(twice.chain((0..7).map(|at| with_id(1, 1_000 + at)))).seen;
        assert_eq!(seen.len(), MOST_WITH_ID + 1);
        assert_eq!(seen.iter().find(|one| one.query_id.is_none()).map(|one| one.count), Some(7));
        assert_eq!(seen.iter().map(|one| one.count).sum::<u64>(), 2 * MOST_WITH_ID as u64 + 7);
    }
}
