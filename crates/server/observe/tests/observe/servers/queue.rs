//! Planted lock queues.

use pgdyno_core::observe::{BlockedSession, root_blockers};
use pgdyno_observe::activity::{BlockedReader, WaitReader, WaitTally};

use super::{At, until};

pub fn a_queue_has_its_head(at: &At<'_>) {
    let (mut head, mut watch) = (at.session(), at.session());
    head.execute("BEGIN").expect("it begins");
    head.execute("UPDATE t SET v = 1 WHERE id = 1").expect("nobody has the row");
    let second = at.behind("UPDATE t SET v = 2, filler = 'hunter2' WHERE id = 1 /* no password */");
    until("the second waits", || waiting(at, 1));
    let third = at.behind("UPDATE t SET v = 3 WHERE id = 1");
    let queue = until("the third waits", || waiting(at, 2));

    let mut reader = WaitReader::new(at.version_num, &[], &[]);
    // A transaction is not among the oldest in its first 10 ms.
    let sample = until("all three are old enough", || {
        let sample = reader.read(&mut watch).expect("it can be read");
        (sample.oldest.len() == 3).then_some(sample)
    });
    let oldest: Vec<_> = sample.oldest.iter().map(|one| (one.pid, one.event.starts_with("Lock"))).collect();
    assert_eq!(oldest, [(head.backend_pid(), false), (second.pid, true), (third.pid, true)], "{sample:?}");
    assert_eq!(sample.in_transaction, 3);
    for one in &sample.oldest {
        let statement_s = one.statement_age_s.expect("its role may see it");
        assert!(one.transaction_age_s >= 0.01 && one.transaction_age_s >= statement_s - 1e-3, "{one:?}");
    }
    let seen = sample.seen;
    assert!(WaitTally::locks_suspected(&seen), "{seen:?}");
    let locks: u64 = seen.iter().filter(|one| one.event.starts_with("Lock")).map(|one| one.count).sum();
    assert_eq!(locks, 2, "{seen:?}");
    assert!(seen.iter().any(|one| one.event == "client"), "the head waits for its client: {seen:?}");
    if at.version_num >= 100_000 {
        assert!(seen.iter().any(|one| one.backend == "checkpointer"), "{seen:?}");
    }
    let again = reader.read(&mut at.session()).expect("another session will do");
    assert!(WaitTally::locks_suspected(&again.seen));

    let roots = root_blockers(&queue);
    assert_eq!(roots[&second.pid].iter().copied().collect::<Vec<_>>(), [head.backend_pid()]);
    assert_eq!(roots[&third.pid].iter().copied().collect::<Vec<_>>(), [head.backend_pid()]);
    let first = &queue[0];
    assert_eq!(
        (first.pid, first.lock.as_str(), first.mode.as_str()),
        (second.pid, "transactionid", "ShareLock")
    );
    assert_eq!(queue[1].relation.as_deref(), Some("t"));
    assert!(first.waited_s.is_some_and(|waited| (0.0..120.0).contains(&waited)), "{first:?}");
    assert!(first.statement.starts_with("UPDATE t SET v = 2") && !first.statement.contains("hunter2"));
    let by = &first.blocked_by[0];
    assert_eq!(
        (by.state.as_str(), by.statement.as_str()),
        ("idle in transaction", "UPDATE t SET v = 1 WHERE id = 1")
    );
    assert!(by.transaction_age_s.is_some_and(|age| age >= 0.0), "{by:?}");
    let mut others = BlockedReader::new(at.version_num, &[second.pid, third.pid]);
    let mine = others.read(&mut watch).expect("it can be read");
    assert_eq!(mine, [], "pgdyno's own sessions do not count");

    head.execute("COMMIT").expect("it commits");
    second.end();
    third.end();
    assert_eq!(BlockedReader::new(at.version_num, &[]).read(&mut watch).expect("it can be read"), []);
}

pub fn a_prepared_transaction_is_named(at: &At<'_>) {
    let mut forgetful = at.session();
    forgetful.execute("BEGIN").expect("it begins");
    forgetful.execute("UPDATE t SET v = 1 WHERE id = 2").expect("nobody has the row");
    forgetful.execute("PREPARE TRANSACTION 'forgotten'").expect("it can be prepared");
    let blocked = at.behind("UPDATE t SET v = 2 WHERE id = 2");
    let queue = until("it waits", || waiting(at, 1));
    let by = &queue[0].blocked_by[0];
    assert_eq!((by.pid, by.state.as_str(), by.statement.as_str()), (0, "prepared transaction", "forgotten"));
    assert!(by.transaction_age_s.is_some());
    forgetful.execute("ROLLBACK PREPARED 'forgotten'").expect("it ends");
    blocked.end();
}

/// The sessions that wait, if there are so many.
fn waiting(at: &At<'_>, many: usize) -> Option<Vec<BlockedSession>> {
    let blocked = BlockedReader::new(at.version_num, &[]).read(&mut at.session()).expect("it can be read");
    (blocked.len() == many).then_some(blocked)
}
