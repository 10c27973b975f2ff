//! Whole scripts on real servers of the oldest and the newest major version: their effects, and messages when
//! they fail. The cases follow PostgreSQL's own tests of pgbench.

use pgdyno_postgres::targets::ClientBehavior;
use pgdyno_script::Protocol;
use pgdyno_wire::{ConnectOptions, connect};
use testkit::OLDEST;

use crate::{
    own::{Server, bundle},
    play::{How, pgbench, play},
};

#[test]
fn the_oldest_major() {
    everything_holds(OLDEST);
}

#[test]
fn the_newest_major() {
    everything_holds("18");
}

fn everything_holds(major: &str) {
    let server = Server::start(&bundle(major));
    let options = server.options();
    good_scripts_run(&options);
    bad_scripts_end_their_client(&options);
    serialization_failures_are_tried_again(&options);
    deadlocks_are_tried_again(&options);
    clients_reconnect(&options);
    notices_are_shown(&options);
}

const ALL: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];
const BOUND: [Protocol; 2] = [Protocol::Extended, Protocol::Prepared];

fn good_scripts_run(server: &ConnectOptions) {
    let mut wrong = Vec::new();
    for (protocols, script, said) in [
        (&ALL[..], "SELECT 1;\n;\nBEGIN;\nEND;\n", &[][..]),
        (
            &ALL,
            "SELECT 1 AS one, 20 AS two, NULL AS three \\gset p_\n\\set x debug(:p_one + 1)\n\
             SELECT (:p_one::int + :p_two::int = 21)::int AS ok \\gset\n\\set y debug(:ok)\n",
            &["P debug(script=0,command=2): int 2", "P debug(script=0,command=4): int 1"],
        ),
        (
            &ALL[..1],
            "SELECT 1 AS a \\; SELECT 2 AS b \\; SELECT 3 AS a \\; SELECT 9 AS a WHERE false \\aset\n\
             \\set x debug(:a * 10 + :b)\n",
            &["P debug(script=0,command=2): int 32"],
        ),
        (
            &ALL[..1],
            "\\; \\; SELECT 0 AS i \\; SELECT 5 AS i \\; \\; \\gset\n\\set x debug(:i)\n",
            &["P debug(script=0,command=2): int 5"],
        ),
        (
            &ALL,
            "\\if false\nSELECT 1 / 0;\n\\if true\nSELECT 1 / 0;\n\\elif true\nSELECT 1 / 0;\n\\else\n\
             SELECT 1 / 0;\n\\endif\n\\elif 0\nSELECT 1 / 0;\n\\elif 1\n\\set a debug(1)\n\\elif 1 / 0\n\
             SELECT 1 / 0;\n\\else\nSELECT 1 / 0;\n\\endif\n\\if true\n\\set a debug(2)\n\\else\n\\if true\n\
             SELECT 1 / 0;\n\\endif\n\\endif\n",
            &["P debug(script=0,command=13): int 1", "P debug(script=0,command=20): int 2"],
        ),
        (&ALL, "\\set n 1\n\\sleep :n ms\n\\sleep 10 us\n\\sleep 0\n", &[]),
        (
            &ALL,
            "\\set n 20\n\\setshell twice expr :n '*' 2\n\\set x debug(:twice)\n\\shell test :twice = 40\n",
            &["P debug(script=0,command=3): int 40"],
        ),
        (
            &BOUND,
            "\\startpipeline\n\\endpipeline\n\\startpipeline\nSELECT 1;\n\\syncpipeline\n\\syncpipeline\n\
             SELECT 2;\n\\endpipeline\nSELECT 3;\n",
            &[],
        ),
        (
            &BOUND,
            "\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;\n\\endpipeline\n",
            &[],
        ),
        (&BOUND, "\\startpipeline\nVACUUM pg_class;\n\\endpipeline\n", &[]),
        (&ALL, "BEGIN \\; SELECT 1 \\; END;\n", &[]),
    ] {
        for &protocol in protocols {
            if protocol != Protocol::Simple && script.contains("\\; SELECT 1") {
                continue; // several statements go only into a Query
            }
            let how = How { protocol, attempts: 3, ..How::default() };
            let played = play(server, &[script], &how);
            let expected: Vec<_> = (0..3).flat_map(|_| said).map(|text| (*text).to_owned()).collect();
            let committed = played.report.tally.committed;
            if (committed, played.report.clients_lost, &played.said) != (3, 0, &expected) {
                wrong.push(format!("{script} {protocol:?}: {committed} committed, said {:?}", played.said));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn bad_scripts_end_their_client(server: &ConnectOptions) {
    use Protocol::{Extended, Prepared, Simple};
    let mut wrong = Vec::new();
    for (protocol, script, said) in [
        (Simple, "SELECT 1 + ;", "client 0 script 0 aborted in command 0 query 0: ERROR:  syntax error"),
        (Prepared, "SELECT 1 + ;", "ERROR:  syntax error"),
        (Prepared, "SELECT 1 + ;", "ERROR:  prepared statement \"P_0\" does not exist"),
        (Simple, "SELECT 1 \\; SELECT 1 / 0;", "aborted in command 0 query 1: ERROR:  division by zero"),
        (Extended, "\\set i 1 / 0", "E division by zero"),
        (
            Extended,
            "SELECT 1;\n\\set i :nosuch",
            "client 0 aborted in command 1 (set) of script 0; evaluation of meta-command failed",
        ),
        (Simple, "\\set . 1", "E set: invalid variable name: \".\""),
        (Simple, "\\set . 1", "(set) of script 0; assignment of meta-command failed"),
        (Simple, "\\if 1 / 0\n\\endif", "(if) of script 0; evaluation of meta-command failed"),
        (Simple, "\\sleep :nosuch", "E sleep: undefined variable \"nosuch\""),
        (Simple, "\\sleep :nosuch", "(sleep) of script 0; execution of meta-command failed"),
        (Simple, "\\shell exit 3", "E exit: could not launch shell command"),
        (Simple, "\\shell exit 3", "(shell) of script 0; execution of meta-command failed"),
        (Simple, "\\shell echo ::foo :nosuch", "E echo: undefined variable \":nosuch\""),
        (Simple, "\\setshell i echo one", "E echo: shell command must return an integer (not \"one\n\")"),
        (Simple, "\\setshell i true", "E true: could not read result of shell command"),
        (Simple, "SELECT WHERE false \\gset", "command 0 query 0: expected one row, got 0"),
        (Simple, "SELECT 1 UNION SELECT 2 \\gset", "command 0 query 0: expected one row, got 2"),
        (Prepared, "DROP TABLE IF EXISTS nosuch \\gset", "expected one row, got 0"),
        (Prepared, "SELECT 1 \\gset", "error storing into variable ?column?"),
        (Simple, "SELECT 1 AS \"bad name!\" \\gset", "E gset: invalid variable name: \"bad name!\""),
        (Simple, "SELECT 1 AS \"bad name!\" \\aset p_", "error storing into variable p_bad name!"),
        (Simple, "SELECT 5 AS i WHERE false \\aset\n\\set x :i", "E undefined variable \"i\""),
        (
            Simple,
            "\\startpipeline",
            "(startpipeline) of script 0; cannot use pipeline mode with the simple query protocol",
        ),
        (Extended, "\\startpipeline\n\\startpipeline", "already in pipeline mode"),
        (Extended, "\\endpipeline", "(endpipeline) of script 0; not in pipeline mode"),
        (Extended, "\\syncpipeline", "(syncpipeline) of script 0; not in pipeline mode"),
        (Extended, "\\startpipeline", "client 0 aborted: end of script reached with pipeline open"),
        (
            Extended,
            "\\startpipeline\nSELECT 1 \\gset\n\\endpipeline",
            "(gset) of script 0; \\gset is not allowed in pipeline mode",
        ),
        (
            Prepared,
            "\\startpipeline\nSELECT 1;\nSELECT 1 / 0;\nSELECT 2;\n\\endpipeline",
            "client 0 script 0 aborted in command 4 query 0: ERROR:  division by zero",
        ),
        (Extended, "\\startpipeline\nSAVEPOINT a;\n\\endpipeline", "ERROR:  SAVEPOINT can only be used in"),
        (Simple, "COPY pg_class TO STDOUT;", "COPY is not supported in pgbench, aborting"),
        (Simple, "COPY pg_class FROM STDIN;", "COPY is not supported in pgbench, aborting"),
    ] {
        let played = play(server, &[script], &How { protocol, attempts: 2, ..How::default() });
        let (committed, lost) = (played.report.tally.committed, played.report.clients_lost);
        if !played.heard(said) || (committed, lost) != (0, 1) {
            wrong.push(format!("{script}: {committed} committed, {lost} lost, said {:?}", played.said));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let played = play(server, &["BEGIN;SELECT 1;"], &How { attempts: 10, ..How::default() });
    let why = "end of script reached without completing the last transaction";
    assert_eq!(played.said, [format!("E client 0 aborted: {why}")]);
    assert_eq!((played.report.tally.committed, played.report.clients_lost), (1, 1));
}

/// Two clients read and write the same row in one snapshot each: one of them fails, and must draw the same
/// number again.
fn serialization_failures_are_tried_again(server: &ConnectOptions) {
    let mut admin = connect(server).expect("the server answers");
    admin.execute("CREATE TABLE counted (n int); INSERT INTO counted VALUES (0)").expect("it can be made");
    let script = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT n FROM counted;\n\\sleep 1 ms\n\
                  UPDATE counted SET n = n + 1;\nEND;\n";
    for protocol in ALL {
        let manner = ClientBehavior { max_tries: 0, ..pgbench() };
        let how = How { protocol, manner, clients: 4, attempts: 20, ..How::default() };
        let played = play(server, &[script], &how);
        let tally = played.report.tally;
        assert_eq!((tally.committed, tally.failed(), played.report.clients_lost), (80, 0, 0));
        assert!(tally.retries > 0 && tally.retried <= tally.retries, "{tally:?}");
        let count = admin.value("SELECT n FROM counted").expect("it can be read");
        assert_eq!(count.as_deref(), Some("80"), "what was committed is there, and nothing else");
        admin.execute("UPDATE counted SET n = 0").expect("it can be written");
    }
}

fn deadlocks_are_tried_again(server: &ConnectOptions) {
    let mut admin = connect(server).expect("the server answers");
    admin
        .execute("CREATE TABLE pair (id int PRIMARY KEY, n int); INSERT INTO pair VALUES (0, 0), (1, 0)")
        .expect("it can be made");
    let script = "BEGIN;\nSET LOCAL deadlock_timeout = '10ms';\nUPDATE pair SET n = n + 1 WHERE id = :client_id % 2;\n\
                  \\sleep 5 ms\nUPDATE pair SET n = n + 1 WHERE id = 1 - :client_id % 2;\nEND;\n";
    let manner = ClientBehavior { max_tries: 100, ..pgbench() };
    let played = play(server, &[script], &How { manner, clients: 2, attempts: 5, ..How::default() });
    let tally = played.report.tally;
    assert_eq!((tally.committed, tally.failed()), (10, 0), "{:?}", played.said);
    assert!(tally.retries > 0, "{tally:?}");
    assert!(played.report.errors.iter().all(|(code, _, _)| code == "40P01"));
}

fn clients_reconnect(server: &ConnectOptions) {
    let script =
        "SELECT pg_backend_pid() AS pid \\gset\n\\set same debug(:pid = :before)\n\\set before :pid\n";
    let definitions = vec!["before=0".parse().expect("it is a definition")];
    let how = How {
        protocol: Protocol::Prepared,
        attempts: 4,
        reconnect_after: Some(2),
        definitions,
        ..How::default()
    };
    let played = play(server, &[script], &how);
    let same: Vec<_> = played.said.iter().map(|text| text.ends_with("true")).collect();
    assert_eq!((same, played.report.connects.0), (vec![false, true, false, true], 2));
}

fn notices_are_shown(server: &ConnectOptions) {
    let script = "SET LOCAL work_mem = '1MB';\n";
    let played = play(server, &[script], &How::default());
    assert_eq!(played.said, ["P WARNING:  SET LOCAL can only be used in transaction blocks"]);
    let script = "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSET LOCAL work_mem = '1MB';\n\\endpipeline\n";
    let how = How { protocol: Protocol::Extended, ..How::default() };
    let played = play(server, &[script], &how);
    assert_eq!(played.said, ["P WARNING:  SET LOCAL can only be used in transaction blocks"]);
}
