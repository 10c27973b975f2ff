//! Events in the log of a server.

use pgdyno_core::observe::LogEvent;
use pgdyno_observe::activity::{LogEntry, LogFollower, LogPlace};

use super::{At, until};

pub fn events_are_returned_as_they_are_logged(at: &At<'_>) {
    let mut reader = LogFollower::begin(&at.server.running.log_path).expect("it is there");
    let mut work = at.session();
    let place = LogPlace::find(&mut work).expect("it answers");
    assert_eq!(place, LogPlace { english: Some(true), ..LogPlace::default() });
    work.execute("CHECKPOINT").expect("it may");
    work.execute("SELECT 1/0").expect_err("it is wrong");
    work.execute("SET work_mem = 64").expect("it may");
    work.execute("SELECT count(*) FROM (SELECT filler FROM t ORDER BY filler, id DESC OFFSET 0) x")
        .expect("it sorts");
    work.execute("BEGIN").expect("it begins");
    work.execute("UPDATE t SET v = 1 WHERE id = 3").expect("nobody has the row");
    let blocked = at.behind("UPDATE t SET v = 2 WHERE id = 3");
    let mut entries: Vec<LogEntry> = Vec::new();
    let mut all = |what: &str, done: &dyn Fn(&LogEntry) -> bool| {
        until(what, || {
            let news = reader.look().expect("it can be read");
            assert_eq!((news.unknown_lines, news.lost), (0, false));
            entries.extend(news.entries);
            entries.iter().find(|entry| done(entry)).cloned()
        })
    };
    let waits =
        all("a lock wait", &|one| matches!(one.sample.event, LogEvent::LockWait { acquired: false, .. }));
    assert_eq!(waits.sample.pid, u32::try_from(blocked.pid).ok());
    work.execute("COMMIT").expect("it commits");
    let pid = blocked.pid;
    blocked.end();
    let got = all("the lock", &|one| matches!(one.sample.event, LogEvent::LockWait { acquired: true, .. }));
    assert_eq!(got.sample.pid, u32::try_from(pid).ok());
    assert!(got.at_unix_s >= waits.at_unix_s && waits.at_unix_s.is_some(), "{got:?}");
    all("a checkpoint begins", &|one| matches!(one.sample.event, LogEvent::CheckpointBegan { .. }));
    all("a checkpoint ends", &|one| {
        matches!(one.sample.event, LogEvent::CheckpointEnded { buffers: 1.., longest_sync_s: Some(_), .. })
    });
    all(
        "a temporary file",
        &|one| matches!(one.sample.event, LogEvent::TemporaryFile { bytes } if bytes > 100_000),
    );
    let error = all("an error", &|one| one.sample.event == LogEvent::Error);
    assert_eq!(error.sample.message, "division by zero");
    let vacuum = all("autovacuum", &|one| {
        let ours = |table: &str| table.ends_with(".public.t");
        matches!(&one.sample.event, LogEvent::AutoAnalyze { table, elapsed_s: Some(_) } if ours(table))
    });
    assert!(vacuum.sample.pid.is_some());
}
