//! Restarts, crashes, terminated sessions and cancelled statements during a run: it continues, counts every
//! attempt, and counted commits match rows of history except those in doubt.
//!
//! Seen to fail when a connection lost during a COMMIT counts as a failure, and when a lost connection ends its
//! client.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;
use pgdyno_engine::{MergedInterval, Report, SocketDriver};
use pgdyno_wire::{ConnectOptions, Session, SessionAttrs, connect};

use super::{Drive, MS, server::Server, shared};

const SCRIPT: &str = "BEGIN;\nINSERT INTO history VALUES (1, 2);\nEND;\n";
/// A script with a statement that can be cancelled.
const SLOW: &str = "BEGIN;\nSELECT pg_sleep(0.004);\nINSERT INTO history VALUES (1, 2);\nEND;\n";
const CLIENTS: u32 = 6;
/// Longest run, if its commits do not end it earlier.
const LIMIT: Duration = Duration::from_secs(900);

fn prepare(server: &Server) {
    let mut session = connect(&server.options()).expect("the server answers");
    for sql in ["DROP TABLE IF EXISTS history", "CREATE TABLE history (a int, b int)"] {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// A disturbance during a run, called with the number of an interval and its failures; returns whether it is
/// over, so that the run may end.
type Trouble<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Whether every client is connected.
fn all_are_back(options: &ConnectOptions) -> bool {
    connect(options).is_ok_and(|mut session| backends(&mut session).len() == CLIENTS as usize)
}

/// Drives until the disturbance is over, a thousand more attempts have committed, and all clients are connected.
fn drive_through(drive: &Drive<'_>, trouble: Trouble<'_>) -> Report {
    let (begin, mut number, mut since) = (Instant::now(), 0, None);
    drive.run(
        |target| target,
        |interval: &MergedInterval, stop: &Stop| {
            if since.is_none() && trouble(number, interval.counts.failed) {
                since = Some(0);
            }
            number += 1;
            if let Some(commits) = &mut since {
                *commits += interval.counts.committed;
                if *commits >= 1_000 && all_are_back(&drive.options) {
                    stop.request("enough");
                }
            }
            if begin.elapsed() > LIMIT {
                stop.request("not in time");
            }
        },
    )
}

fn how(server: &Server, rate_per_s: Option<f64>, driver: SocketDriver) -> Drive<'static> {
    Drive {
        options: server.options(),
        script: SCRIPT,
        clients: CLIENTS,
        duration_ns: 3_600_000 * MS,
        rate_per_s,
        driver,
    }
}

/// Description of an unexpected result.
fn described(report: &Report) -> String {
    let Report { counts_whole, outage, errors, stopped, clients_lost, .. } = report;
    format!("{counts_whole:?} {outage:?} {errors:?} {stopped:?}, {clients_lost} clients lost")
}

/// Checks what must hold after every such run.
fn holds(server: &Server, report: &Report, what: &str) {
    assert_eq!(report.stopped.as_deref(), Some("enough"), "{what}: {}", described(report));
    let (whole, outage) = (&report.counts_whole, &report.outage);
    assert_eq!((report.clients_lost, outage.made_again), (0, outage.lost), "{what}: {}", described(report));
    assert_eq!((whole.in_flight_at_start, whole.in_flight_at_end), (0, 0), "{what}");
    let mut session = connect(&server.options()).expect("the server answers");
    let rows = session.value("SELECT count(*) FROM history").expect("it can be counted");
    let rows: u64 = rows.and_then(|text| text.parse().ok()).expect("a number");
    let possible = whole.committed..=whole.committed + whole.in_doubt;
    assert!(possible.contains(&rows), "{what}: {rows} rows for {whole:?}");
    println!("{what}: {}", described(report));
}

fn kill(pid: u32, signal: &str) {
    let done = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()), "it runs");
}

/// Process IDs of the clients' backends; a session that asked before may still be there.
fn backends(session: &mut Session) -> Vec<u32> {
    let sql = "SELECT pid FROM pg_stat_activity WHERE query ~ 'INSERT|BEGIN|END|sleep' AND query !~ 'pg_stat_activity'";
    let rows = session.query(sql).expect("it answers");
    rows.iter().filter_map(|row| row.parse(0)).collect()
}

/// Signals a backend through a server function if it is in this state; returns whether it was signalled.
fn sent(session: &mut Session, function: &str, pid: u32, state: &str) -> bool {
    let sql = format!("SELECT {function}(pid) FROM pg_stat_activity WHERE pid = {pid} AND {state}");
    !session.query(&sql).expect("it may").is_empty()
}

#[test]
fn a_run_continues_after_restarts_and_crashes() {
    let _shared = shared();
    let mut server = Server::start("18");
    for (driver, rate_per_s) in [(SocketDriver::best(), None), (SocketDriver::Epoll, Some(300.0))] {
        prepare(&server);
        let drive = how(&server, rate_per_s, driver);
        let report = drive_through(&drive, &mut |number, _| {
            if number == 1 {
                server.restart();
            }
            let backends = match number {
                0 => Vec::new(),
                _ => backends(&mut connect(&server.options()).expect("the server answers")),
            };
            // After all clients have reconnected.
            let all = number > 1 && backends.len() == CLIENTS as usize;
            if all {
                kill(backends[0], "-9");
            }
            all
        });
        holds(&server, &report, "restart and crash of a backend");
        assert!(
            report.outage.lost >= u64::from(2 * CLIENTS) && report.outage.none_ns > 0,
            "{}",
            described(&report)
        );
        assert!(report.errors.iter().any(|(code, _, _)| code == "57P01"), "{}", described(&report));
    }
    prepare(&server);
    let drive = how(&server, None, SocketDriver::best());
    let report = drive_through(&drive, &mut |number, _| {
        if number == 1 {
            kill(server.pid(), "-QUIT");
            server.start_again();
        }
        number == 1
    });
    holds(&server, &report, "immediate stop");
    assert!(report.outage.refused > 0, "{}", described(&report));
}

#[test]
fn ended_sessions_and_cancelled_statements_are_counted_and_passed() {
    let _shared = shared();
    let server = Server::start("18");
    let mut session = connect(&server.options()).expect("the server answers");
    for rate_per_s in [None, Some(400.0)] {
        prepare(&server);
        let drive = Drive { script: SLOW, ..how(&server, rate_per_s, SocketDriver::best()) };
        let (mut random, mut ended, mut cancelled) = (7_u64, 0_u32, 0_u32);
        let report = drive_through(&drive, &mut |_, _| {
            for pid in backends(&mut session) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                match random >> 62 {
                    0 => ended += u32::from(sent(&mut session, "pg_terminate_backend", pid, "true")),
                    // A cancel between two statements has no effect, but a sleeping backend is in one.
                    1 => {
                        let state = "wait_event = 'PgSleep'";
                        cancelled += u32::from(sent(&mut session, "pg_cancel_backend", pid, state));
                    }
                    _ => {}
                }
            }
            ended >= 5 && cancelled >= 20
        });
        holds(&server, &report, "ended and cancelled at random");
        assert!(report.outage.lost > 0, "{}", described(&report));
        // Only one client at a time is disconnected; the others keep the server busy.
        let codes: Vec<_> = report.errors.iter().map(|(code, _, _)| code).collect();
        assert!(codes.contains(&"57014"), "{codes:?}");
        assert!(codes.iter().all(|code| ["57P01", "57014", "connection"].contains(code)), "{codes:?}");
    }
}

/// A server that no longer accepts the role, or whose database is gone: retries would not help.
#[test]
fn a_refusal_that_would_come_again_stops_the_run() {
    let _shared = shared();
    let server = Server::start("18");
    prepare(&server);
    let mut session = connect(&server.options()).expect("the server answers");
    for sql in ["CREATE ROLE worker LOGIN", "GRANT ALL ON history TO worker"] {
        session.execute(sql).expect("it may");
    }
    let mut drive = how(&server, None, SocketDriver::best());
    drive.options = ConnectOptions { user: "worker".to_owned(), ..drive.options };
    let begin = Instant::now();
    let report = drive_through(&drive, &mut |number, _| {
        if number == 1 {
            session.execute("ALTER ROLE worker NOLOGIN").expect("it may");
            let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'";
            session.execute(all).expect("it may");
        }
        false
    });
    let reason = report.stopped.as_deref().unwrap_or_default();
    assert!(reason.contains("refused a connection") && reason.contains("28000"), "{reason}");
    assert!(begin.elapsed() < LIMIT && report.counts_whole.committed > 0, "{}", described(&report));
}

/// Among several servers, clients try each until one accepts writes.
#[test]
fn clients_find_the_server_that_accepts_writes() {
    let _shared = shared();
    let server = Server::start("18");
    prepare(&server);
    let mut session = connect(&server.options()).expect("the server answers");
    session.execute("SET default_transaction_read_only = off").expect("it may");
    // Existing sessions are affected, too: their statements fail with 25006.
    let read_only = |session: &mut Session, on: &str| {
        for sql in
            [&format!("ALTER SYSTEM SET default_transaction_read_only = {on}"), "SELECT pg_reload_conf()"]
        {
            session.execute(sql).expect("it may");
        }
    };
    let sessions = |session: &mut Session| -> u64 {
        let sql = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()";
        let count = session.value(sql).expect("it can be asked");
        count.and_then(|count| count.parse().ok()).expect("a number")
    };
    let mut drive = how(&server, None, SocketDriver::best());
    let host = drive.options.hosts[0].clone();
    drive.options.hosts = vec![host.clone(), host];
    drive.options.target = SessionAttrs::ReadWrite;
    // Until every client had a statement refused, and more sessions than clients were opened in vain.
    let (mut refused, mut enough) = (0, None);
    let report = drive_through(&drive, &mut |number, failed| {
        if number == 1 {
            read_only(&mut session, "on");
        }
        refused += failed;
        if refused < u64::from(CLIENTS) {
            return false;
        }
        let begun = sessions(&mut session);
        let over = begun >= *enough.get_or_insert(begun + u64::from(2 * CLIENTS));
        if over {
            read_only(&mut session, "off");
        }
        over
    });
    holds(&server, &report, "no server accepts writes for some time");
    assert!(report.outage.refused > 0 && report.outage.none_ns > 0, "{}", described(&report));
    assert!(report.errors.iter().any(|(code, _, _)| code == "25006"), "{}", described(&report));
}
