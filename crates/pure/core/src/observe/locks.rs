//! Who is at the head of a lock queue.

use std::collections::{BTreeMap, BTreeSet};

use super::BlockedSession;

/// For each blocked session the sessions that its wait ends with: those that block it, directly or through others, and
/// wait for no lock themselves. Empty for a session of a circle, which is a deadlock that is not yet resolved.
pub fn root_blockers(blocked: &[BlockedSession]) -> BTreeMap<i32, BTreeSet<i32>> {
    let blockers: BTreeMap<i32, Vec<i32>> = blocked
        .iter()
        .map(|session| (session.pid, session.blocked_by.iter().map(|one| one.pid).collect()))
        .collect();
    blockers.keys().map(|pid| (*pid, roots_of(*pid, &blockers))).collect()
}

fn roots_of(pid: i32, blockers: &BTreeMap<i32, Vec<i32>>) -> BTreeSet<i32> {
    let (mut seen, mut roots) = (BTreeSet::from([pid]), BTreeSet::new());
    let mut next = vec![pid];
    while let Some(pid) = next.pop() {
        match blockers.get(&pid) {
            None => {
                roots.insert(pid);
            }
            Some(others) => next.extend(others.iter().filter(|other| seen.insert(**other))),
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observe::BlockingSession;

    fn blocked(pid: i32, by: &[i32]) -> BlockedSession {
        let blocked_by = by.iter().map(|pid| BlockingSession {
            pid: *pid,
            state: "active".to_owned(),
            statement: String::new(),
            transaction_age_s: None,
        });
        BlockedSession {
            pid,
            lock: "transactionid".to_owned(),
            mode: "ShareLock".to_owned(),
            relation: None,
            waited_s: None,
            statement: String::new(),
            blocked_by: blocked_by.collect(),
        }
    }

    fn roots(blocked: &[BlockedSession], pid: i32) -> Vec<i32> {
        root_blockers(blocked)[&pid].iter().copied().collect()
    }

    #[test]
    fn chains_lead_to_their_head() {
        let queue = [blocked(3, &[2]), blocked(2, &[1]), blocked(4, &[2, 3]), blocked(5, &[0, 9])];
        assert_eq!((roots(&queue, 2), roots(&queue, 3), roots(&queue, 4)), (vec![1], vec![1], vec![1]));
        assert_eq!(roots(&queue, 5), [0, 9], "a prepared transaction is a root like others");
        assert!(root_blockers(&[]).is_empty());
    }

    #[test]
    fn a_deadlock_has_no_head() {
        let circle = [blocked(1, &[2]), blocked(2, &[1]), blocked(3, &[1, 7])];
        assert_eq!((roots(&circle, 1), roots(&circle, 2), roots(&circle, 3)), (vec![], vec![], vec![7]));
    }

    proptest! {
        #[test]
        fn a_root_waits_for_nobody(edges in prop::collection::vec((0..12_i32, 0..12_i32), 0..40)) {
            let mut by: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
            edges.iter().for_each(|(pid, other)| by.entry(*pid).or_default().push(*other));
            let queue: Vec<_> = by.iter().map(|(pid, by)| blocked(*pid, by)).collect();
            for (pid, roots) in root_blockers(&queue) {
                prop_assert!(roots.iter().all(|root| !by.contains_key(root) && *root != pid));
                let direct = by[&pid].iter().filter(|other| !by.contains_key(other));
                prop_assert!(direct.into_iter().all(|other| roots.contains(other)));
            }
        }
    }
}
