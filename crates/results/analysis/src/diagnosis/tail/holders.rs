//! Who held the locks that were waited for.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::{
    observe::{BlockedSession, BlockingSession, root_blockers},
    results::{HolderKind, LockHolder},
};

/// State of a prepared transaction in place of a session's.
const PREPARED: &str = "prepared transaction";
/// Most distinct texts of one kind that are counted for a holder.
const MOST_TEXTS: usize = 200;
/// Most holders that are distinguished; further sessions are counted as one without a process id.
const MOST_HOLDERS: usize = 1_000;

/// Who held a lock: a single session by its process id.
pub type Holder = (HolderKind, Option<i32>);
/// Nobody asked.
pub const NOT_SEEN: Holder = (HolderKind::NotSeen, None);

/// Everybody who was at the head of a lock queue.
#[derive(Debug, Default)]
pub struct Holders(BTreeMap<Holder, Known>);

/// What is known of a holder.
#[derive(Debug, Default)]
struct Known {
    states: Texts,
    statements: Texts,
    relations: Texts,
    waiting: Texts,
    transaction_age_s: Option<f64>,
}

/// Texts by how often they were seen.
#[derive(Debug, Default)]
struct Texts(BTreeMap<String, u64>);

impl Texts {
    fn add(&mut self, text: &str) {
        if !text.is_empty() && (self.0.len() < MOST_TEXTS || self.0.contains_key(text)) {
            *self.0.entry(text.to_owned()).or_default() += 1;
        }
    }

    /// The most frequent one; of several, the first of the alphabet.
    fn most(&self) -> Option<String> {
        let most = self.0.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        most.map(|(text, _)| text.clone())
    }
}

impl Holders {
    /// Who is at the head of the queue of each blocked session. `clients` are the server processes of the run.
    pub fn heads(&mut self, blocked: &[BlockedSession], clients: &BTreeSet<i32>) -> Vec<Holder> {
        let roots = root_blockers(blocked);
        let blocking: BTreeMap<i32, &BlockingSession> =
            blocked.iter().flat_map(|of| &of.blocked_by).map(|by| (by.pid, by)).collect();
        let head = |of: &BlockedSession| {
            let roots = roots.get(&of.pid)?.iter().filter_map(|pid| blocking.get(pid).copied());
            // Who is no client of the run is the news.
            roots.min_by_key(|by| (clients.contains(&by.pid), by.pid))
        };
        let heads = blocked.iter().map(|of| {
            let by = head(of);
            let holder = self.holder(by, clients);
            self.0.entry(holder).or_default().add(of, by);
            holder
        });
        heads.collect()
    }

    fn holder(&self, by: Option<&BlockingSession>, clients: &BTreeSet<i32>) -> Holder {
        match by {
            None => (HolderKind::Deadlock, None),
            Some(by) if by.state == PREPARED || by.pid == 0 => (HolderKind::PreparedTransaction, None),
            Some(by) if clients.contains(&by.pid) => (HolderKind::Clients, None),
            Some(by) => {
                let single = (HolderKind::Session, Some(by.pid));
                let has_room = self.0.len() < MOST_HOLDERS || self.0.contains_key(&single);
                if has_room { single } else { (HolderKind::Session, None) }
            }
        }
    }

    /// What is known of a holder.
    pub fn of(&self, holder: Holder) -> LockHolder {
        let (kind, pid) = holder;
        let known = self.0.get(&holder);
        LockHolder {
            kind,
            pid,
            state: known.and_then(|of| of.states.most()),
            statement: known.and_then(|of| of.statements.most()),
            transaction_age_s: known.and_then(|of| of.transaction_age_s),
            relation: known.and_then(|of| of.relations.most()),
            waiting: known.and_then(|of| of.waiting.most()),
        }
    }
}

/// Whether it does not belong to the run, and so explains the wait whatever else happened.
pub fn is_foreign((kind, _): Holder) -> bool {
    matches!(kind, HolderKind::Session | HolderKind::PreparedTransaction)
}

impl Known {
    fn add(&mut self, blocked: &BlockedSession, by: Option<&BlockingSession>) {
        self.waiting.add(&blocked.statement);
        self.relations.add(blocked.relation.as_deref().unwrap_or_default());
        if let Some(by) = by {
            self.states.add(&by.state);
            self.statements.add(&by.statement);
            let ages = self.transaction_age_s.into_iter().chain(by.transaction_age_s);
            self.transaction_age_s = ages.reduce(f64::max);
        }
    }
}
