//! Sessions by state, and the position of the log.

use pgdyno_core::observe::BusySession;
use pgdyno_observe::activity::{PositionReader, SessionReader};

use super::{At, until};

pub fn active_sessions_are_listed_one_by_one(at: &At<'_>) {
    let (mut head, mut watch, mut idle) = (at.session(), at.session(), at.session());
    let mut reader = SessionReader::new(at.version_num, &[]);
    idle.execute("SELECT 'hunter2' AS password").expect("it answers");
    head.execute("BEGIN; UPDATE t SET v = 1 WHERE id = 1").expect("nobody has the row");
    head.execute("SELECT 'hunter2' AS password").expect("it answers");
    let waits = at.behind("UPDATE t SET v = 2 WHERE id = 1");
    let mut read = || reader.read(&mut watch).expect("it can be read");
    let find = |busy: &[BusySession], pid| busy.iter().find(|one| one.pid == pid).cloned();
    let waiting = until("it waits", || {
        find(&read().busy, waits.pid).filter(|one| one.event.is_some() && one.state == "active")
    });
    let seen = read();
    let event = if at.version_num < 90_600 { "Lock" } else { "Lock:transactionid" };
    assert_eq!((waiting.event.as_deref(), waiting.application.is_some()), (Some(event), true), "{waiting:?}");
    assert!(waiting.state_age_s.is_some_and(|age| (0.0..120.0).contains(&age)), "{waiting:?}");
    let first = find(&seen.busy, head.backend_pid()).expect("it is in a transaction");
    assert_eq!((first.state.as_str(), first.statement.as_str()), ("idle in transaction", "SELECT ***"));
    assert!(first.transaction_age_s >= first.state_age_s && first.database.is_some(), "{first:?}");
    assert!(find(&seen.busy, idle.backend_pid()).is_none(), "idle sessions are only counted");
    // Backends of earlier sessions may not be gone yet; the one that asks does not count.
    let expected = [("active", 1), ("idle", 1), ("idle in transaction", 1)];
    let expected = expected.map(|(state, many)| (state.to_owned(), many)).into();
    until("all others are gone", || (read().by_state == expected).then_some(()));
    head.execute("ROLLBACK").expect("it ends");
    waits.end();
}

pub fn the_wal_position_advances(at: &At<'_>) {
    let (mut session, mut watch) = (at.session(), at.session());
    let mut reader = PositionReader::new(at.version_num);
    // What is written into a table of the same transaction need not be logged.
    session.execute("CREATE TABLE logged (t text)").expect("it may");
    session.execute("CHECKPOINT").expect("it may");
    let before = reader.read(&mut watch).expect("it can be read");
    session
        .execute("INSERT INTO logged SELECT repeat('x', 1000) FROM generate_series(1, 2000)")
        .expect("it may");
    let after = reader.read(&mut watch).expect("it can be read");
    session.execute("DROP TABLE logged").expect("it may");
    let grown = after.position_bytes.zip(before.position_bytes).map(|(after, before)| after - before);
    assert!(grown.is_some_and(|bytes| bytes > 1_000_000), "{before:?} {after:?}");
    assert!(!after.in_recovery && after.up_s.is_some_and(|up_s| up_s > 0.0), "{after:?}");
    let checkpoint = (after.checkpoint_age_s, after.since_checkpoint_bytes);
    match at.version_num {
        0..90_600 => assert_eq!(checkpoint, (None, None)),
        _ => {
            assert!(checkpoint.0.is_some_and(|age| age < 120.0), "{after:?}");
            assert!(checkpoint.1.is_some_and(|bytes| bytes > 1_000_000), "{after:?}");
        }
    }
}
