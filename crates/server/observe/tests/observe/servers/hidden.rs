//! What a role may not see, and what a server does not report.

use std::time::Duration;

use pgdyno_core::observe::WaitSample;
use pgdyno_observe::activity::{
    BlockedReader, CounterReader, ProgressReader, StatementSupport, TableReader, WaitReader,
};
use pgdyno_wire::connect;

use super::{At, until};

fn hidden(seen: &[WaitSample]) -> u64 {
    seen.iter().filter(|one| one.event == "not seen").map(|one| one.count).sum()
}

pub fn an_ordinary_role_sees_what_it_may(at: &At<'_>) {
    let mut head = at.session();
    head.execute("CREATE ROLE plain LOGIN").expect("it may");
    let options = at.server.options();
    let database = at.server.running.superuser;
    let mut watch = connect(&pgdyno_wire::ConnectOptions {
        user: "plain".to_owned(),
        database: database.to_owned(),
        ..options
    })
    .expect("it may log in");
    let mut waits = WaitReader::new(at.version_num, &[], &[]);
    head.execute("BEGIN").expect("it begins");
    head.execute("LOCK TABLE t").expect("nobody has it");
    let blocked = at.behind("SELECT count(*) FROM t");
    let mut reader = BlockedReader::new(at.version_num, &[]);
    let queue = until("it waits", || {
        let queue = reader.read(&mut watch).expect("no rights are needed");
        (!queue.is_empty()).then_some(queue)
    });
    assert_eq!((queue[0].pid, queue[0].blocked_by[0].pid), (blocked.pid, head.backend_pid()));
    assert_eq!(
        (queue[0].relation.as_deref(), queue[0].blocked_by[0].state.as_str()),
        (Some("t"), "not seen")
    );
    let sample = waits.read(&mut watch).expect("no rights are needed");
    assert_eq!((sample.in_transaction, sample.oldest.len()), (0, 0), "it has no transaction itself");
    let seen = sample.seen;
    assert!(hidden(&seen) >= 2 && !seen.iter().any(|one| one.event.starts_with("Lock")), "{seen:?}");
    head.execute("ROLLBACK").expect("it ends");
    blocked.end();

    let mut counters = CounterReader::new(&mut watch, at.version_num, &[]).expect("no rights are needed");
    let mut tables = TableReader::new(&mut watch, &[]).expect("no rights are needed");
    let mut progress = ProgressReader::new(&mut watch).expect("no rights are needed");
    for _ in 0..2 {
        counters.read(&mut watch).expect("no rights are needed");
        tables.read(&mut watch).expect("no rights are needed");
        // Autovacuum may run meanwhile; nothing is reported about what it does.
        let seen = progress.read(&mut watch).expect("no rights are needed");
        assert!(seen.iter().all(|one| one.relation.is_none() && one.phase.is_empty()), "{seen:?}");
    }
    assert!(counters.unreadable().is_empty(), "{:?}", counters.unreadable());
    StatementSupport::find(&mut watch).expect("no rights are needed");
}

pub fn sessions_without_activities_are_not_seen(at: &At<'_>) {
    let (mut silent, mut watch) = (at.session(), at.session());
    let mut reader = WaitReader::new(at.version_num, &[], &[]);
    let before = hidden(&reader.read(&mut watch).expect("it can be read").seen);
    silent.execute("SET track_activities = off").expect("it may");
    silent.execute("SELECT 1").expect("it answers");
    until("it is hidden", || {
        (hidden(&reader.read(&mut watch).expect("it can be read").seen) == before + 1).then_some(())
    });
}

pub fn a_timeout_is_an_error_that_passes(at: &At<'_>) {
    let (mut head, mut watch) = (at.session(), at.session());
    let mut reader = WaitReader::new(at.version_num, &[], &[]);
    reader.read(&mut watch).expect("it can be read");
    watch.execute("SET statement_timeout = '50ms'").expect("it may");
    watch.within(Some(Duration::from_secs(120)));
    head.execute("BEGIN").expect("it begins");
    head.execute("LOCK TABLE pg_catalog.pg_database IN ACCESS EXCLUSIVE MODE").expect("a superuser may");
    let error = reader.read(&mut watch).expect_err("its names of databases are locked");
    assert_eq!(error.code(), Some("57014"), "{error}");
    head.execute("ROLLBACK").expect("it ends");
    watch.execute("SET statement_timeout = 0").expect("it may");
    reader.read(&mut watch).expect("the session continues");
}
