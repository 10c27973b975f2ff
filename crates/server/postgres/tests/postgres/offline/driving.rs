//! Clients against a scripted server: messages sent, outcomes counted, and ends of runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pgdyno_core::{measure::Counts, stop::Stop};
use pgdyno_engine::{MergedInterval, Report, Settings, SocketDriver, run};
use pgdyno_postgres::targets::SqlClients;
use pgdyno_script::{Protocol, Scripts};
use pgdyno_wire::fake::{Answer, FakeServer, Request, message, usual};

const TRANSACTION: &str = "BEGIN;\nUPDATE t SET v = 1;\nEND;\n";

/// Length of a run, and what ends it earlier.
#[derive(Debug, Clone)]
struct How {
    settings: Settings,
    /// Number of commits after which the run is stopped with [`ENOUGH`], however slow the machine is.
    commits: u64,
}

/// Reason for stopping a run after its commits.
const ENOUGH: &str = "enough";

/// A run that ends by its time.
const TIMED: How = How { settings: lasting(150_000_000), commits: u64::MAX };

/// A run that ends after about ten commits, or by its time if these do not come.
const SHORT: How = How { settings: lasting(60_000_000_000), commits: 10 };

/// A run that would last an hour if nothing ended it.
const ENDLESS: How = How { settings: lasting(3_600_000_000_000), commits: u64::MAX };

const fn lasting(duration_ns: u64) -> Settings {
    Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns,
        interval_ns: 10_000_000,
        drain_ns: 300_000_000,
        rate_per_s: None,
        seed: 1,
        statements: 0,
        cpus: Vec::new(),
    }
}

/// Drives `clients` clients, and checks what holds for every run.
fn drive(
    server: &FakeServer,
    script: &str,
    protocol: Protocol,
    clients: u32,
    driver: SocketDriver,
    how: &How,
) -> Report {
    let mut committed = 0;
    let on_interval = |interval: &MergedInterval, stop: &Stop| {
        committed += interval.counts.committed;
        if committed >= how.commits {
            stop.request(ENOUGH);
        }
    };
    let script = Scripts::one("test", script).expect("it is a script");
    drive_watched(server, script, protocol, clients, driver, &how.settings, on_interval)
}

/// Drives clients like [`drive`], with a callback after every interval that may stop the run.
fn drive_watched(
    server: &FakeServer,
    script: Scripts,
    protocol: Protocol,
    clients: u32,
    driver: SocketDriver,
    settings: &Settings,
    mut on_interval: impl FnMut(&MergedInterval, &Stop),
) -> Report {
    let script = Arc::new(script);
    let settings = Settings { statements: script.statements().count(), ..settings.clone() };
    let sql = SqlClients::new(script, protocol);
    let (workers, _) =
        sql.connect(&server.options(None), clients, 1, &Stop::default()).expect("they connect");
    let stop = Stop::default();
    let check = |interval: &MergedInterval| {
        assert_eq!(interval.counts.check(), Ok(()));
        on_interval(interval, &stop);
    };
    let report = run(driver, workers, &settings, &stop, check, |_| ()).expect("the run works");
    report.counts_whole.check().expect("nothing is lost in counting");
    assert_eq!((report.counts_whole.in_flight_at_start, report.counts_whole.in_flight_at_end), (0, 0));
    report
}

/// Drives one client with all drivers at servers with the same script, and checks each report.
fn both(script: fn(&Request) -> Answer, how: &How, check: impl Fn(&Report, &FakeServer)) {
    for driver in SocketDriver::usable() {
        let server = FakeServer::start(script).expect("it listens");
        let report = drive(&server, TRANSACTION, Protocol::Simple, 1, driver, how);
        check(&report, &server);
    }
}

fn codes(report: &Report) -> Vec<(&str, u64)> {
    report.errors.iter().map(|(code, _, count)| (code, count)).collect()
}

/// Checks runs in which every attempt is known: counts, and the only kind of error.
fn ends_with(script: fn(&Request) -> Answer, expected: Counts, code: &str) {
    both(script, &ENDLESS, |report, _| {
        let Counts { committed, failed, in_doubt, timed_out, .. } = report.counts_whole;
        assert_eq!(
            Counts { committed, failed, in_doubt, timed_out, ..Counts::default() },
            expected,
            "{report:?}"
        );
        assert_eq!(codes(report), [(code, 1)]);
        assert_eq!(report.clients_lost, 1);
        assert!(report.stopped.is_some());
    });
}

/// Checks runs whose first connection is lost: counts until then, the only kind of error, and that the client
/// continues on another connection.
fn comes_back(script: fn(&Request) -> Answer, expected: Counts, code: &str) {
    for driver in SocketDriver::usable() {
        let first = move |request: &Request| match request.connection {
            0 => script(request),
            _ => usual(request),
        };
        let server = FakeServer::start(first).expect("it listens");
        let report = drive(&server, TRANSACTION, Protocol::Simple, 1, driver, &SHORT);
        let Counts { committed, failed, in_doubt, timed_out, .. } = report.counts_whole;
        let (lost, wanted) = ((failed, in_doubt, timed_out), (expected.failed, expected.in_doubt, 0));
        assert_eq!(lost, wanted, "{driver:?}: {report:?}");
        assert!(committed > expected.committed, "{driver:?}: {report:?}");
        assert_eq!(codes(&report), [(code, 1)], "{driver:?}");
        let outage = report.outage;
        assert_eq!((outage.lost, outage.made_again, outage.refused), (1, 1, 0), "{driver:?}");
        let stopped = report.stopped.as_deref();
        assert_eq!((stopped, report.clients_lost), (Some(ENOUGH), 0), "{driver:?}: {report:?}");
    }
}

fn counts(committed: u64, failed: u64, in_doubt: u64) -> Counts {
    Counts { committed, failed, in_doubt, ..Counts::default() }
}

/// Types of the messages received, with their text if any.
fn heard(server: &FakeServer, messages: usize) -> Vec<String> {
    let text = |message: &message::Message| match message.tag {
        b'Q' => format!("Q {}", message.text(0)),
        b'P' => format!("P {} {}", message.text(0), message.text(1)),
        b'B' => format!("B {} {}", message.text(0), message.text(1)),
        tag => (tag as char).to_string(),
    };
    server.received().iter().take(messages).map(|(_, message)| text(message)).collect()
}

const PARAMETRIC: &str = "\\set a -7\nBEGIN;\nSELECT :a + 1;\nEND;\n";

#[test]
fn the_three_protocols_send_what_libpq_sends() {
    for driver in SocketDriver::usable() {
        let hear = |protocol, messages| {
            let server = FakeServer::start(usual).expect("it listens");
            let report = drive(&server, PARAMETRIC, protocol, 1, driver, &SHORT);
            assert!(report.counts_whole.committed > 2 && report.counts_whole.failed == 0, "{report:?}");
            heard(&server, messages).join("|")
        };
        assert_eq!(hear(Protocol::Simple, 4), "Q BEGIN;|Q SELECT -7 + 1;|Q END;|Q BEGIN;");
        let each = |name: &str, sql: &str, parse: bool| {
            let parse = if parse { format!("P {name} {sql}|") } else { String::new() };
            format!("{parse}B  {name}|D|E|S")
        };
        let extended = ["BEGIN;", "SELECT $1 + 1;", "END;", "BEGIN;"].map(|sql| each("", sql, true));
        assert_eq!(hear(Protocol::Extended, 20), extended.join("|"));
        let prepared = [("P_0", "BEGIN;"), ("P_1", "SELECT $1 + 1;"), ("P_2", "END;")];
        let first = prepared.map(|(name, sql)| each(name, sql, true)).join("|");
        let second = prepared.map(|(name, sql)| each(name, sql, false)).join("|");
        assert_eq!(hear(Protocol::Prepared, 27), format!("{first}|{second}"));
    }
}

#[test]
fn parameters_are_bound_as_numbers() {
    let server = FakeServer::start(|request: &Request| {
        assert!(
            request.starts_with("SELECT") == (request.parameters == [Some("-7".to_owned())]),
            "{request:?}"
        );
        usual(request)
    });
    let server = server.expect("it listens");
    let report = drive(&server, PARAMETRIC, Protocol::Prepared, 1, SocketDriver::Epoll, &SHORT);
    assert!(report.counts_whole.committed > 0 && report.clients_lost == 0, "{report:?}");
}

#[test]
fn a_statement_is_parsed_once_even_if_its_first_execution_failed() {
    let script = |request: &Request| match request.number {
        1 => Answer::error("40001", "could not serialize access"),
        _ => usual(request),
    };
    for driver in SocketDriver::usable() {
        let server = FakeServer::start(script).expect("it listens");
        let report = drive(&server, PARAMETRIC, Protocol::Prepared, 1, driver, &SHORT);
        assert_eq!(report.counts_whole.failed, 1);
        let parsed = server.received().iter().filter(|(_, message)| message.tag == b'P').count();
        assert_eq!(parsed, 3);
    }
}

#[test]
fn serialization_failures_and_deadlocks_are_rolled_back_and_the_client_continues() {
    both(
        |request| match request.number {
            1 => Answer::error("40001", "could not serialize access"),
            4 => Answer::error("40P01", "deadlock detected"),
            _ => usual(request),
        },
        &SHORT,
        |report, server| {
            assert_eq!(report.counts_whole.failed, 2);
            assert_eq!(report.stopped.as_deref(), Some(ENOUGH), "{report:?}");
            assert_eq!(codes(report), [("40001", 1), ("40P01", 1)]);
            let want = "Q BEGIN;|Q UPDATE t SET v = 1;|Q ROLLBACK|Q BEGIN;|Q UPDATE t SET v = 1;|Q ROLLBACK|Q BEGIN;";
            assert_eq!(heard(server, 7).join("|"), want);
        },
    );
}

#[test]
fn a_commit_that_is_answered_by_rollback_is_no_commit() {
    both(
        |request| if request.number == 2 { Answer::complete("ROLLBACK") } else { usual(request) },
        &SHORT,
        |report, _| {
            assert_eq!(report.counts_whole.failed, 1);
            assert!(report.counts_whole.committed > 0);
            assert_eq!(codes(report), [("rollback", 1)]);
        },
    );
}

#[test]
fn a_commit_that_fails_is_no_commit() {
    both(
        |request| if request.number == 2 { Answer::error("40001", "at commit") } else { usual(request) },
        &SHORT,
        |report, _| assert_eq!(report.counts_whole.failed, 1),
    );
}

/// A reply to END that is neither COMMIT nor ROLLBACK leaves the transaction's outcome open.
#[test]
fn a_commit_counts_only_when_it_is_complete_and_the_server_is_idle() {
    let scripts: [fn(&Request) -> Answer; 5] = [
        |request| if request.number == 2 { Answer::default() } else { usual(request) },
        |request| match request.number {
            2 => Answer::bytes([message::complete("COMMIT"), message::ready(b'T')].concat()),
            _ => usual(request),
        },
        |request| if request.number == 2 { Answer::complete("SELECT 1") } else { usual(request) },
        |request| match request.number {
            2 => Answer::bytes([message::complete("COMMIT"), message::message(b'Z', b"")].concat()),
            _ => usual(request),
        },
        |request| match request.number {
            2 => Answer::bytes([message::complete("COMMIT"), message::message(b'Z', b"X")].concat()),
            _ => usual(request),
        },
    ];
    for script in scripts {
        ends_with(script, counts(0, 0, 1), "protocol");
    }
}

#[test]
fn errors_that_would_come_again_stop_the_run_with_their_reason() {
    for code in ["42P01", "28000", "53400", "XX001", "0A000", "25006", "58P01", "23505"] {
        for driver in SocketDriver::usable() {
            let script = move |request: &Request| match request.number {
                4 => Answer::error(code, "no use"),
                _ => usual(request),
            };
            let server = FakeServer::start(script).expect("it listens");
            let report = drive(&server, TRANSACTION, Protocol::Extended, 1, driver, &ENDLESS);
            assert_eq!((report.counts_whole.committed, report.counts_whole.failed), (1, 1));
            let reason = report.stopped.expect("it was stopped");
            assert!(reason.contains(code) && reason.contains("no use"), "{reason}");
        }
    }
}

#[test]
fn a_connection_lost_while_committing_is_in_doubt_and_elsewhere_a_failure() {
    comes_back(
        |request| if request.number == 5 { Answer::default().close() } else { usual(request) },
        counts(1, 0, 1),
        "connection",
    );
    comes_back(
        |request| if request.number == 4 { Answer::default().close() } else { usual(request) },
        counts(1, 1, 0),
        "connection",
    );
    let autocommit = |request: &Request| match (request.connection, request.number) {
        (0, 2) => Answer::default().close(),
        _ => usual(request),
    };
    for (sql, expected) in [("UPDATE t SET v = 1;", (0, 1)), ("SELECT 1;", (1, 0))] {
        let server = FakeServer::start(autocommit).expect("it listens");
        let whole = drive(&server, sql, Protocol::Prepared, 1, SocketDriver::Epoll, &SHORT).counts_whole;
        assert_eq!((whole.failed, whole.in_doubt), expected, "{sql}");
        assert!(whole.committed > 2, "{sql}: {whole:?}");
    }
}

#[test]
fn the_last_words_of_a_server_are_the_reason() {
    comes_back(
        |request| if request.number == 4 { Answer::fatal("57P01", "terminated") } else { usual(request) },
        counts(1, 1, 0),
        "57P01",
    );
    comes_back(
        |request| if request.number == 5 { Answer::fatal("57P02", "crash") } else { usual(request) },
        counts(1, 0, 1),
        "57P02",
    );
    // In the same packet as the commit's acknowledgement: the commit counts, the next attempt fails.
    comes_back(
        |request| match request.number {
            2 => {
                let said = [
                    message::complete("COMMIT"),
                    message::ready(b'I'),
                    message::error("FATAL", "57P01", "x"),
                ];
                Answer::bytes(said.concat()).close()
            }
            _ => usual(request),
        },
        counts(1, 1, 0),
        "57P01",
    );
    // A little later, perhaps after the next statement was sent.
    comes_back(
        |request| match request.number {
            2 => {
                let said = [message::complete("COMMIT"), message::ready(b'I')].concat();
                let fatal = message::error("FATAL", "57P01", "x");
                Answer::bytes(said).then_wait(Duration::from_millis(20)).then_bytes(fatal).close()
            }
            _ => usual(request),
        },
        counts(1, 1, 0),
        "57P01",
    );
}

#[test]
fn a_server_that_goes_away_corrupt_stops_the_run() {
    both(
        |request| if request.number == 1 { Answer::fatal("XX001", "bad page") } else { usual(request) },
        &ENDLESS,
        |report, _| assert!(report.stopped.as_deref().is_some_and(|reason| reason.contains("XX001"))),
    );
}

#[test]
fn notices_and_parameters_change_nothing() {
    both(
        |request| {
            let aside = [message::notice("by the way"), message::parameter("TimeZone", "UTC")].concat();
            let mut answer = Answer::default().then_bytes(aside.clone()).then_complete("SELECT 1");
            if !request.starts_with("SELECT") {
                answer = usual(request);
            }
            answer.bytes_after_ready(&aside)
        },
        &SHORT,
        |report, _| {
            let whole = report.counts_whole;
            assert!(whole.committed > 2 && whole.failed == 0 && report.clients_lost == 0, "{report:?}");
        },
    );
}

#[test]
fn copies_and_garbage_end_the_client() {
    ends_with(
        |request| match request.number {
            1 => Answer::bytes(message::copy_response(b'G')),
            _ => usual(request),
        },
        counts(0, 1, 0),
        "protocol",
    );
    ends_with(
        |request| match request.number {
            1 => Answer::bytes(message::copy_response(b'W')),
            _ => usual(request),
        },
        counts(0, 1, 0),
        "protocol",
    );
    ends_with(
        |request| match request.number {
            1 => Answer::bytes(b"HTTP/1.1 500 no\r\n".to_vec()),
            _ => usual(request),
        },
        counts(0, 1, 0),
        "protocol",
    );
    ends_with(
        |request| match request.number {
            2 => Answer::bytes(message::announced(b'C', -5, &[])),
            _ => usual(request),
        },
        counts(0, 0, 1),
        "protocol",
    );
    // A second ReadyForQuery would answer the next statement.
    ends_with(
        |request| match request.number {
            1 => usual(request).bytes_after_ready(&message::ready(b'I')),
            _ => usual(request),
        },
        counts(0, 1, 0),
        "protocol",
    );
}

/// libpq's message, as this is its check.
#[test]
fn a_row_with_other_fields_than_were_described_ends_the_client() {
    fn answered(request: &Request, messages: &[Vec<u8>]) -> Answer {
        let end = [message::complete("SELECT 1"), message::ready(b'T')].concat();
        match request.number {
            1 => Answer::bytes([messages.concat(), end].concat()),
            _ => usual(request),
        }
    }
    let answers: [fn(&Request) -> Answer; 4] = [
        |request| answered(request, &[message::row_description(2), message::row(&[Some("1")])]),
        |request| {
            let good = message::row(&[Some("1")]);
            answered(request, &[message::row_description(1), good, message::row(&[None, None])])
        },
        |request| answered(request, &[message::row(&[Some("1")])]),
        |request| answered(request, &[message::row_description(1), message::message(b'D', &[])]),
    ];
    for answer in answers {
        ends_with(answer, counts(0, 1, 0), "protocol");
        both(answer, &ENDLESS, |report, _| {
            let said: Vec<_> = report.errors.iter().map(|(_, message, _)| message).collect();
            assert!(said[0].ends_with("unexpected field count in \"D\" message"), "{said:?}");
        });
    }
}

#[test]
fn a_huge_row_is_passed_over_in_bounded_memory() {
    let before = peak_kib();
    comes_back(
        |request| match request.number {
            1 => {
                let head = [message::row_description(0), message::announced(b'D', i32::MAX, &[])].concat();
                Answer::bytes(head).then_repeat(vec![0; 1 << 20], 200).close()
            }
            _ => usual(request),
        },
        counts(0, 1, 0),
        "connection",
    );
    // The kernel updates its counters lazily, so the peak can even seem to shrink.
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 100 << 10, "{grown} KiB for a row of 200 MiB");
}

/// Peak resident memory of this process in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux has it");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn a_rollback_that_does_not_roll_back_ends_the_client() {
    both(
        |request| match request.number {
            1 => Answer::error("40001", "again"),
            2 => Answer::error("25P02", "still aborted"),
            _ => usual(request),
        },
        &ENDLESS,
        |report, _| assert_eq!((report.counts_whole.failed, report.clients_lost), (1, 1)),
    );
}

#[test]
fn a_script_may_roll_back_but_not_end_inside_a_transaction() {
    for driver in SocketDriver::usable() {
        let server = FakeServer::start(usual).expect("it listens");
        let report = drive(&server, "BEGIN;\nROLLBACK;\n", Protocol::Simple, 1, driver, &SHORT);
        assert!(report.counts_whole.committed > 0 && report.counts_whole.failed == 0, "{report:?}");
        let report = drive(&server, "BEGIN;\nSELECT 1;\n", Protocol::Simple, 1, driver, &ENDLESS);
        assert_eq!((report.counts_whole.committed, report.counts_whole.failed), (0, 1));
        assert!(report.stopped.is_some_and(|reason| reason.contains("inside a transaction block")));
    }
}

#[test]
fn a_script_without_statements_ends_on_time() {
    for driver in SocketDriver::usable() {
        let server = FakeServer::start(usual).expect("it listens");
        let report = drive(&server, "\\set a 1\n", Protocol::Simple, 2, driver, &TIMED);
        assert!(report.counts_whole.committed > 0);
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_the_drain() {
    for (number, expected) in [(1, (0, 1)), (2, (1, 0))] {
        for driver in SocketDriver::usable() {
            let script = move |request: &Request| {
                if request.number == number { Answer::default().without_ready() } else { usual(request) }
            };
            let server = FakeServer::start(script).expect("it listens");
            let whole = drive(&server, TRANSACTION, Protocol::Simple, 1, driver, &TIMED).counts_whole;
            assert_eq!((whole.in_doubt, whole.timed_out), expected);
        }
    }
}

/// Occasional single bytes do not prolong the drain.
#[test]
fn a_server_that_drips_is_given_up_after_the_drain() {
    for driver in SocketDriver::usable() {
        let script = |request: &Request| {
            if request.number != 1 {
                return usual(request);
            }
            let head = Answer::bytes(message::announced(b'N', 1_000, &[]));
            (0..60).fold(head, |drip, _| drip.then_wait(Duration::from_millis(50)).then_bytes(vec![b'x']))
        };
        let server = FakeServer::start(script).expect("it listens");
        let whole = drive(&server, TRANSACTION, Protocol::Simple, 1, driver, &TIMED).counts_whole;
        assert_eq!((whole.committed, whole.timed_out, whole.in_doubt), (0, 1, 0), "{driver:?}");
    }
}

/// However long a script sleeps, the run ends on time, or immediately on a stop.
#[test]
fn an_enormous_sleep_ends_with_the_run() {
    for driver in SocketDriver::usable() {
        for sleep in ["9223372036854775807 s", "99999999999999999999 s", "4000000000 ms"] {
            let server = FakeServer::start(usual).expect("it listens");
            let script = format!("SELECT 1;\n\\sleep {sleep}\n");
            let whole = drive(&server, &script, Protocol::Simple, 2, driver, &TIMED).counts_whole;
            assert_eq!((whole.committed, whole.timed_out), (0, 2), "{driver:?} {sleep}");
        }
    }
}

/// All connections are lost at once, as in a crash: every client reconnects, and no attempt is lost in counting.
#[test]
fn a_server_that_cuts_all_connections_is_driven_on() {
    for (driver, rate_per_s) in
        SocketDriver::usable().map(|driver| (driver, None)).chain([(SocketDriver::Epoll, Some(500.0))])
    {
        // Number of statements on the first connections, and of other connections with any statement.
        let (answered, back) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counters = (Arc::clone(&answered), Arc::clone(&back));
        let server = FakeServer::start(move |request| {
            if request.connection < 5 {
                counters.0.fetch_add(1, Ordering::Relaxed);
                return usual(request);
            }
            counters.1.fetch_add(usize::from(request.number == 0), Ordering::Relaxed);
            // Slow enough that every client is needed, also in an open loop.
            usual(request).after(Duration::from_millis(5))
        });
        let server = server.expect("it listens");
        let (mut cut, mut committed) = (false, 0);
        let on_interval = |interval: &MergedInterval, stop: &Stop| {
            if !cut && answered.load(Ordering::Relaxed) >= 100 {
                server.cut_connections();
                cut = true;
            }
            committed += interval.counts.committed;
            if back.load(Ordering::Relaxed) == 5 && committed > 100 {
                stop.request(ENOUGH);
            }
        };
        let settings = Settings { rate_per_s, ..lasting(60_000_000_000) };
        let script = Scripts::one("test", TRANSACTION).expect("it is a script");
        let report = drive_watched(&server, script, Protocol::Prepared, 5, driver, &settings, on_interval);
        assert_eq!((report.outage.lost, report.outage.made_again), (5, 5), "{driver:?}: {report:?}");
        assert_eq!(
            (report.clients_lost, report.stopped.as_deref()),
            (0, Some(ENOUGH)),
            "{driver:?}: {report:?}"
        );
        let whole = report.counts_whole;
        assert!(whole.committed > 100 && whole.failed + whole.in_doubt <= 5, "{driver:?}: {report:?}");
    }
}

/// A full disk may be emptied; ten such errors in a run end it.
#[test]
fn a_server_that_lacks_something_is_borne_for_a_while() {
    for code in ["53100", "53200", "58030"] {
        for driver in SocketDriver::usable() {
            let script = move |request: &Request| match request.starts_with("UPDATE") {
                true => Answer::error(code, "no room"),
                false => usual(request),
            };
            let server = FakeServer::start(script).expect("it listens");
            let report = drive(&server, TRANSACTION, Protocol::Extended, 1, driver, &ENDLESS);
            assert_eq!((report.counts_whole.committed, report.counts_whole.failed), (0, 10), "{driver:?}");
            let reason = report.stopped.expect("it was stopped");
            assert!(reason.contains(code) && reason.contains("10 attempts"), "{reason}");
        }
        both(
            |request| match request.number {
                1 => Answer::error("53200", "out of memory"),
                _ => usual(request),
            },
            &SHORT,
            |report, _| {
                assert_eq!(report.stopped.as_deref(), Some(ENOUGH), "{report:?}");
                assert_eq!(report.counts_whole.failed, 1);
            },
        );
    }
}

/// Transient errors: the transaction is rolled back, and the client continues on the same connection.
#[test]
fn a_statement_that_is_cancelled_or_waits_too_long_is_a_failure() {
    for code in ["57014", "55P03", "25P04"] {
        let script = move |request: &Request| match request.number {
            1 => Answer::error(code, "not now"),
            _ => usual(request),
        };
        let server = FakeServer::start(script).expect("it listens");
        let report = drive(&server, TRANSACTION, Protocol::Simple, 1, SocketDriver::Epoll, &SHORT);
        assert_eq!((report.counts_whole.failed, report.outage.lost), (1, 0), "{code}: {report:?}");
        assert_eq!(report.stopped.as_deref(), Some(ENOUGH), "{code}: {report:?}");
        assert_eq!(heard(&server, 4)[2], "Q ROLLBACK", "{code}");
    }
}
