//! Clients with pgbench's behaviour against a scripted server: messages sent, texts printed, and counts.

use std::time::Duration;

use pgdyno_engine::Level;
use pgdyno_postgres::targets::ClientBehavior;
use pgdyno_script::Protocol;
use pgdyno_wire::fake::{Answer, FakeServer, Request, message, usual};

use crate::play::{How, Played, pgbench, play};

fn at(answer: fn(&Request) -> Answer, script: &str, how: &How) -> (Played, Vec<String>) {
    let server = FakeServer::start(answer).expect("it listens");
    let played = play(&server.options(None), &[script], how);
    let heard = server.received().into_iter().filter_map(|(_, message)| match message.tag {
        b'Q' => Some(format!("Q {}", message.text(0))),
        b'P' => Some(format!("P {} {}", message.text(0), message.text(1))),
        b'B' => Some(format!("B {}", message.text(1))),
        b'p' | b'X' => None,
        tag => Some((tag as char).to_string()),
    });
    let heard = heard.collect();
    (played, heard)
}

/// A script whose UPDATE uses a random number.
const DRAWN: &str = "\\set a random(1, 1000000)\nBEGIN;\nUPDATE t SET v = :a;\nEND;\n";

#[test]
fn another_try_draws_the_same_numbers_and_is_counted() {
    let fails = |request: &Request| match request.number {
        1 => Answer::error("40001", "could not serialize access"),
        _ => usual(request),
    };
    let manner = ClientBehavior { max_tries: 2, verbose_errors: true, ..pgbench() };
    let how = How { manner, attempts: 2, ..How::default() };
    let (played, heard) = at(fails, DRAWN, &how);
    let update = heard[1].clone();
    let first = ["Q BEGIN;", &update, "Q ROLLBACK", "Q BEGIN;", &update, "Q END;", "Q BEGIN;"];
    assert_eq!(heard[..7], first);
    assert_ne!(heard[7], update, "the next attempt draws again");
    let tally = played.report.tally;
    assert_eq!((tally.committed, tally.retries, tally.retried, tally.failed()), (2, 1, 1, 0));
    assert_eq!(played.report.commands[2].retries, 1);
    assert_eq!(
        played.said,
        [
            "I client 0 got an error in command 2 (SQL) of script 0; ERROR:  could not serialize access",
            "I client 0 repeats the transaction after the error (try 1/2)",
        ]
    );
}

#[test]
fn tries_end_and_the_attempt_is_a_failure_of_its_kind() {
    let fails = |request: &Request| {
        if request.starts_with("UPDATE") {
            Answer::error("40P01", "deadlock detected")
        } else {
            usual(request)
        }
    };
    for (max_tries, tries) in [(1, 1), (3, 3)] {
        let how = How { manner: ClientBehavior { max_tries, ..pgbench() }, attempts: 2, ..How::default() };
        let (played, heard) = at(fails, DRAWN, &how);
        let updates = heard.iter().filter(|text| text.starts_with("Q UPDATE")).count();
        assert_eq!(updates, 2 * tries);
        let tally = played.report.tally;
        assert_eq!((tally.committed, tally.deadlock, tally.retries), (0, 2, 2 * (tries as u64 - 1)));
        assert_eq!((played.report.clients_lost, played.report.commands[2].failures), (0, 2));
        assert!(played.said.is_empty(), "{:?}", played.said);
    }
}

#[test]
fn no_try_comes_after_the_latency_limit() {
    let fails = |request: &Request| {
        if request.starts_with("UPDATE") {
            Answer::error("40001", "no").after(Duration::from_millis(5))
        } else {
            usual(request)
        }
    };
    let manner =
        ClientBehavior { max_tries: 0, latency_limit_ns: Some(1_000_000), verbose_errors: true, ..pgbench() };
    let (played, _) = at(fails, DRAWN, &How { manner, ..How::default() });
    assert_eq!((played.report.tally.serialization, played.report.tally.retries), (1, 0));
    assert!(played.heard("client 0 ends the failed transaction (try 1, "), "{:?}", played.said);
    assert!(played.heard("% of the maximum time of tries was used)"));
}

#[test]
fn other_errors_end_the_client_unless_it_continues() {
    let fails = |request: &Request| {
        if request.starts_with("UPDATE") { Answer::error("23505", "duplicate key") } else { usual(request) }
    };
    let (played, heard) = at(fails, DRAWN, &How { attempts: 3, ..How::default() });
    assert_eq!(played.said, ["E client 0 script 0 aborted in command 2 query 0: ERROR:  duplicate key"]);
    assert_eq!((played.report.clients_lost, played.report.tally.total()), (1, 0));
    assert_eq!(heard.len(), 2);
    let manner = ClientBehavior { continue_on_error: true, ..pgbench() };
    let (played, heard) = at(fails, DRAWN, &How { manner, attempts: 3, ..How::default() });
    assert_eq!((played.report.tally.other, played.report.clients_lost), (3, 0));
    assert_eq!(heard.iter().filter(|text| *text == "Q ROLLBACK").count(), 3);
    assert!(played.said.is_empty());
}

/// A measurement continues after constraint violations only if requested, and otherwise ends the run.
#[test]
fn a_measurement_continues_after_violated_constraints_only_on_request() {
    let fails = |request: &Request| {
        if request.starts_with("UPDATE") { Answer::error("23505", "duplicate key") } else { usual(request) }
    };
    for continue_on_error in [true, false] {
        let manner = ClientBehavior { continue_on_error, ..ClientBehavior::default() };
        let (played, _) = at(fails, DRAWN, &How { manner, attempts: 3, ..How::default() });
        let failed = if continue_on_error { 3 } else { 1 };
        assert_eq!(played.report.counts_whole.failed, failed);
        assert_eq!(played.report.stopped.is_none(), continue_on_error, "{:?}", played.report.stopped);
    }
}

#[test]
fn a_closed_connection_is_reported_in_pgbenchs_words() {
    let closes = |request: &Request| {
        if request.starts_with("UPDATE") { Answer::default().close() } else { usual(request) }
    };
    let (played, _) = at(closes, DRAWN, &How::default());
    let died = "perhaps the backend died while processing";
    assert_eq!(played.said, [format!("E client 0 aborted in command 2 (SQL) of script 0; {died}")]);
    let fatal = |request: &Request| {
        if request.starts_with("UPDATE") {
            Answer::fatal("57P01", "terminating connection")
        } else {
            usual(request)
        }
    };
    let (played, _) = at(fatal, DRAWN, &How::default());
    assert_eq!(
        played.said,
        ["E client 0 script 0 aborted in command 2 query 0: FATAL:  terminating connection"]
    );
    let gone_later = |request: &Request| match request.number {
        1 => Answer::error("40001", "no"),
        2 => Answer::default().close(),
        _ => usual(request),
    };
    let (played, _) = at(gone_later, DRAWN, &How::default());
    let what = "E client 0 aborted while rolling back the transaction after an error";
    assert_eq!(played.said, [format!("{what}; {died}")]);
}

/// Query numbers as in pgbench 18: the end of `\syncpipeline` counts as a result before the next statement's.
#[test]
fn a_query_behind_syncpipeline_is_numbered_as_pgbench_numbers_it() {
    let fails = |request: &Request| {
        if request.sql.starts_with("UPDATE") { Answer::error("22012", "no") } else { usual(request) }
    };
    let said = |script: &str| {
        let how = How { protocol: Protocol::Extended, ..How::default() };
        at(fails, script, &how).0.said
    };
    let sync = "\\syncpipeline\n";
    for (before, command, query) in [("", 3, 0), (sync, 4, 1)] {
        let script = format!("\\startpipeline\nSELECT 1;\n{before}UPDATE t SET v = 1;\n\\endpipeline\n");
        let expected = format!("E client 0 script 0 aborted in command {command} query {query}: ERROR:  no");
        assert_eq!(said(&script), [expected]);
    }
}

/// If `\gset` stored a NULL, pgbench only reports that the command failed.
#[test]
fn an_empty_variable_in_an_expression_ends_the_client_in_pgbenchs_words() {
    let null = |_: &Request| Answer::rows(&[&[None]]);
    let (played, _) = at(null, "SELECT x \\gset\n\\set y :c0 + 1\n", &How::default());
    let what = "evaluation of meta-command failed";
    assert_eq!(played.said, [format!("E client 0 aborted in command 1 (set) of script 0; {what}")]);
}

#[test]
fn the_shell_calls_itself_as_pgbenchs_does() {
    let (played, _) = at(usual, "\\setshell x echo $0\n", &How::default());
    assert!(played.heard("shell command must return an integer (not \"sh"), "{:?}", played.said);
}

#[test]
fn statements_are_prepared_by_themselves_and_once() {
    let script = "SELECT :nosuch, :x;\n\\if false\nSELECT 2;\n\\endif\nSELECT 3;\n";
    let definitions = vec!["x=a'b".parse().expect("it is a definition")];
    let how = How { protocol: Protocol::Prepared, attempts: 2, definitions, ..How::default() };
    let nulls = |request: &Request| {
        if request.sql.starts_with("SELECT $1") && request.statement.is_some() {
            assert_eq!(request.parameters, [None, Some("a'b".to_owned())]);
        }
        usual(request)
    };
    let (played, heard) = at(nulls, script, &how);
    let expected = "P P_0 SELECT $1, $2;|S|B P_0|D|E|S|P P_2 SELECT 3;|S|B P_2|D|E|S|B P_0|D|E|S|B P_2|D|E|S";
    assert_eq!(heard.join("|"), expected);
    assert_eq!((played.report.tally.committed, played.said.len()), (2, 0));
}

#[test]
fn gset_wants_one_row() {
    for (answer, said) in [
        (Answer::rows(&[&[Some("1")], &[Some("2")]]), "expected one row, got 2"),
        (Answer::complete("DROP TABLE"), "expected one row, got 0"),
        (Answer::complete("SELECT 0"), "expected one row, got 0"),
    ] {
        let server = FakeServer::start(move |_| answer.clone()).expect("it listens");
        let played = play(&server.options(None), &["SELECT 1 \\gset\n"], &How::default());
        assert_eq!(played.said, [format!("E client 0 script 0 command 0 query 0: {said}")]);
        assert_eq!(played.report.clients_lost, 1);
    }
}

/// Malformed results cause an error, never a panic or unbounded memory.
#[test]
fn results_that_are_none_end_the_client() {
    let described = |columns: usize| message::row_description(columns);
    let row = |body: &[u8]| message::message(b'D', body);
    let end = || [message::complete("SELECT 1"), message::ready(b'I')].concat();
    for (name, bytes) in [
        ("fewer fields", [described(2), message::row(&[Some("1")]), end()].concat()),
        ("no field", [described(1), row(&[0, 0]), end()].concat()),
        ("a negative length", [described(1), row(&[0, 1, 255, 255, 255, 254]), end()].concat()),
        ("a length beyond the row", [described(1), row(&[0, 1, 127, 255, 255, 255]), end()].concat()),
        ("bytes behind the last field", [described(1), row(&[0, 1, 0, 0, 0, 1, b'1', 0]), end()].concat()),
        ("an empty row", [described(1), row(&[]), end()].concat()),
        ("a cut description", [message::message(b'T', &[0, 1, b'a']), end()].concat()),
        ("more columns than are described", [message::message(b'T', &[255, 255]), end()].concat()),
        ("an endless row", [described(1), message::announced(b'D', i32::MAX, &[0; 64])].concat()),
        ("an endless description", message::announced(b'T', i32::MAX, &[0; 64])),
    ] {
        for script in ["SELECT 1 AS a \\gset\nSELECT :a;\n", "SELECT 1 AS a \\aset\nSELECT :a;\n"] {
            let answer = Answer::bytes(bytes.clone());
            let server = FakeServer::start(move |_| answer.clone()).expect("it listens");
            let played = play(&server.options(None), &[script], &How::default());
            assert_eq!(
                (played.report.clients_lost, played.report.tally.committed),
                (1, 0),
                "{name}: {script}"
            );
            assert!(!played.said.is_empty(), "{name}: {script}");
        }
    }
}

#[test]
fn steps_are_reported_with_debug_output() {
    let how = How { level: Level::Debug, ..How::default() };
    let (played, _) = at(usual, "\\set a 1\n\\sleep 1 us\nSELECT :a;\n", &how);
    assert_eq!(
        played.said,
        [
            "D client 0 executing script \"script0\"",
            "D client 0 executing \\set a",
            "D client 0 executing \\sleep 1 us",
            "D client 0 sending SELECT 1;",
            "D client 0 receiving",
        ]
    );
}

#[test]
fn a_script_that_is_not_trusted_runs_no_program() {
    let manner = ClientBehavior { trust: false, ..pgbench() };
    let (played, _) = at(usual, "\\shell exit 0\n", &How { manner, ..How::default() });
    assert!(played.heard("\\shell runs a program, and this script is not trusted to"));
    assert!(
        played.heard("client 0 aborted in command 0 (shell) of script 0; execution of meta-command failed")
    );
    assert_eq!(played.report.clients_lost, 1);
}

#[test]
fn scripts_are_chosen_by_weight_and_share_their_variables() {
    let server = FakeServer::start(usual).expect("it listens");
    let how = How { attempts: 200, weights: vec![1, 3], ..How::default() };
    let played = play(&server.options(None), &["SELECT 0;\n\\set n 5\n", "SELECT :n;\n"], &how);
    let [first, second] = &played.report.scripts[..] else { panic!("there are two") };
    assert_eq!(first.committed + second.committed, 200);
    assert!((25..80).contains(&first.committed), "{first:?}");
    let texts: Vec<_> = server.received().iter().map(|(_, message)| message.text(0).to_owned()).collect();
    assert!(texts.iter().any(|text| text == "SELECT 5;"));
}

#[test]
fn a_client_may_connect_for_every_attempt() {
    let server = FakeServer::start(usual).expect("it listens");
    let how = How { attempts: 3, reconnect_after: Some(1), protocol: Protocol::Prepared, ..How::default() };
    let played = play(&server.options(None), &["SELECT 1;\n"], &how);
    assert_eq!((played.report.tally.committed, played.report.connects.0), (3, 3));
    let parsed = server.received().iter().filter(|(_, message)| message.tag == b'P').count();
    assert_eq!(parsed, 3, "a new session knows no statement");
}
