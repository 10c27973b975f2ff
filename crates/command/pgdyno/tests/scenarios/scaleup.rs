//! `pgdyno load scaleup`: the two tables of the article, by every method, killed, verified and copied.

use std::process::Stdio;

use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{OLDEST, Place, admin, text, wait_until, word};

/// A server that is loaded.
struct Loaded {
    place: Place,
    server: Value,
}

impl Loaded {
    fn new(pg: &str) -> Self {
        let place = Place::new();
        place.done(&["up", "--pg", pg, "--bundle", "-c", "fsync=off"]);
        let server = place.only();
        Self { place, server }
    }

    fn database(&self, name: &str) -> Session {
        admin(&self.server).execute(&format!("CREATE DATABASE {name}")).expect("a new name");
        let port = self.server["port"].as_u64().expect("it has one") as u16;
        let address = Address::Unix(word(&self.server, "socket_dir").into(), port);
        let mut options = ConnectOptions::local(address, "postgres");
        name.clone_into(&mut options.database);
        connect(&options).expect("it takes connections")
    }

    fn load<'a>(database: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["load", "scaleup", "--server", "main", "-d", database, "--jobs", "2"], more].concat()
    }
}

const ROWS: [&str; 6] = ["--rows", "60000", "--log-rows", "55000", "--seed", "5"];

/// All rows and all that surrounds them, as the server shows it; files and how they were filled left out.
fn contents(session: &mut Session) -> Vec<String> {
    let asked = [
        "SELECT md5(string_agg(t::text, ';' ORDER BY id)) || count(*) FROM test t",
        "SELECT md5(string_agg(l::text, ';' ORDER BY id)) || count(*) FROM log l",
        "SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint \
         WHERE conrelid IN ('test'::regclass, 'log'::regclass) AND contype <> 'n' ORDER BY 1",
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'log'::regclass ORDER BY 1",
        "SELECT attrelid::regclass || attname || format_type(atttypid, atttypmod) || attnotnull || atthasdef \
         FROM pg_attribute WHERE attrelid IN ('test'::regclass, 'log'::regclass) AND attnum > 0 ORDER BY 1",
        "SELECT nextval('log_id_seq') > 55000",
    ];
    let mut all = Vec::new();
    for sql in asked {
        let rows = session.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        all.extend(rows.iter().map(|row| row.get(0).unwrap_or("NULL").to_owned()));
    }
    all
}

/// What the server itself makes of the article's statements, with seed and times in place of chance and clock.
const BY_HAND: &str = "CREATE TABLE test (id int, info text, crt_time timestamp); \
    INSERT INTO test SELECT n, md5('5/' || n), timestamp '2016-10-02' + n * interval '3 microseconds' \
    FROM generate_series(1, 60000) n; ALTER TABLE test ADD CONSTRAINT test_pkey PRIMARY KEY (id); \
    CREATE TABLE log (id serial8, c1 int8 default 0, c2 int8 default 0, c3 int8 default 0, c4 int8 default 0, \
    c5 int8 default 0, c6 int8 default 0, c7 int8 default 0, c8 int8 default 0, c9 int8 default 0, \
    c10 int8 default 0, c11 int8 default 0, c12 int8 default 0, c13 int8 default 0, c14 int8 default 0, \
    c15 int8 default 0, c16 int8 default 0, c17 int8 default 0, c18 int8 default 0, c19 int8 default 0, \
    c20 int8 default 0, crt_time timestamptz); \
    INSERT INTO log (crt_time) SELECT timestamptz '2016-10-02 00:00:00Z' + n * interval '3 microseconds' \
    FROM generate_series(1, 55000) n; \
    CREATE INDEX ON log USING brin (id); CREATE INDEX ON log USING brin (crt_time)";

/// Whatever way it is loaded, it is what the article's statements make.
fn equals_the_article(pg: &str, ways: &[&[&str]]) {
    let loaded = Loaded::new(pg);
    let mut by_hand = loaded.database("by_hand");
    by_hand.execute(BY_HAND).expect("the server can");
    let expected = contents(&mut by_hand);
    for (number, way) in ways.iter().enumerate() {
        let name = format!("way{number}");
        let mut session = loaded.database(&name);
        let said = loaded.place.done(&Loaded::load(&name, &[&ROWS[..], *way].concat()));
        assert!(
            said.contains("loaded rows 60,000 into") && said.contains("verified: 115,000 rows"),
            "{said}"
        );
        assert_eq!(contents(&mut session), expected, "{pg} {way:?}");
    }
    sizes_were_predicted(&loaded);
    faults_are_named(&loaded);
}

/// `--dry-run` says what the tables take, to the page.
fn sizes_were_predicted(loaded: &Loaded) {
    let mut session = loaded.database("sizes");
    let said = loaded
        .place
        .done(&Loaded::load("sizes", &[&ROWS[..], &["--dry-run", "--method", "stream"]].concat()));
    assert!(said.starts_with("scaleup with 60,000 rows of test and 55,000 of log into schema"), "{said}");
    loaded.place.done(&Loaded::load("sizes", &[&ROWS[..], &["--method", "stream"]].concat()));
    for (size, words) in
        [("pg_relation_size('test')", "test       "), ("pg_relation_size('test_pkey')", ", key ")]
    {
        let bytes = session.value(&format!("SELECT {size}")).expect("it is there").expect("a size");
        let shown = pgdyno_core::units::bytes(bytes.parse().expect("a number"));
        assert!(said.contains(&format!("{words}{shown}")), "{words}{shown}: {said}");
    }
}

/// Every way in which the tables can be wrong is found and named.
fn faults_are_named(loaded: &Loaded) {
    let mut session = loaded.database("wrong");
    loaded.place.done(&Loaded::load("wrong", &["--rows", "6000", "--log-rows", "5500", "--seed", "5"]));
    for (fault, undo, said) in [
        (
            "UPDATE test SET info = md5(info) WHERE id = 9",
            "UPDATE test SET info = md5('5/9') WHERE id = 9",
            "test.info has",
        ),
        (
            "UPDATE test SET crt_time = crt_time + interval '1 microsecond' WHERE id = 5999",
            "UPDATE test SET crt_time = crt_time - interval '1 microsecond' WHERE id = 5999",
            "test.crt_time has the checksum",
        ),
        (
            "UPDATE log SET c20 = 1 WHERE id = 7",
            "UPDATE log SET c20 = 0 WHERE id = 7",
            "log.c20 has the checksum",
        ),
        (
            "ALTER TABLE log RESET (autovacuum_enabled)",
            "ALTER TABLE log RESET (autovacuum_freeze_max_age, autovacuum_freeze_table_age, \
             autovacuum_multixact_freeze_max_age, autovacuum_multixact_freeze_table_age), SET (autovacuum_enabled=off, \
             autovacuum_freeze_max_age=1500000000, autovacuum_freeze_table_age=1400000000, \
             autovacuum_multixact_freeze_max_age=1500000000, autovacuum_multixact_freeze_table_age=1400000000)",
            "log has the storage parameters autovacuum_freeze_max_age=1500000000",
        ),
        (
            "ALTER TABLE test DROP CONSTRAINT test_pkey",
            "ALTER TABLE test ADD PRIMARY KEY (id)",
            "test lacks its primary key (id)",
        ),
        (
            "DROP INDEX log_id_idx",
            "CREATE INDEX ON log USING brin (id)",
            "log has 1 BRIN indexes, 2 were expected",
        ),
        (
            "CREATE INDEX twice ON log USING brin (id)",
            "DROP INDEX twice; CREATE INDEX ON log (crt_time)",
            "log has 3 BRIN indexes, 2 were expected",
        ),
        ("DELETE FROM log WHERE id = 5500", "", "log has 5,499 rows, 5,500 were expected"),
    ] {
        session.execute(fault).expect(fault);
        let output = loaded.place.run(&["load", "verify", "--server", "main", "-d", "wrong"]);
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{fault}: {out}{}", text(&output.stderr));
        assert!(out.contains(said), "{fault}: {out}");
        if !undo.is_empty() {
            session.execute(undo).expect(undo);
        }
    }
}

#[test]
fn the_articles_tables_in_the_newest_server() {
    let hash = ["--partitions", "3", "--partition-method", "hash"];
    equals_the_article(
        "18",
        &[&["--method", "chunks"], &["--method", "server"], &["--partitions", "3"], &hash],
    );
}

/// A crash of the server empties unlogged tables and leaves their indexes, which are recreated, not created twice.
#[test]
fn indexes_are_made_once() {
    let loaded = Loaded::new("18");
    let mut session = loaded.database("crashed");
    let rows = ["--rows", "1000", "--log-rows", "1000", "--unlogged", "--no-verify"];
    loaded.place.done(&Loaded::load("crashed", &rows));
    session.execute("TRUNCATE test, log, pgdyno_load.task_1").expect("what a crash leaves of them");
    let said = loaded.place.done(&Loaded::load("crashed", &["--resume"]));
    assert!(said.contains("verified: 2,000 rows"), "{said}");
    let asked = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_index \
                 JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'log'::regclass";
    let indexes = session.value(asked).expect("it can be asked");
    assert_eq!(indexes.as_deref(), Some("log_crt_time_idx log_id_idx"));
}

/// Partitions are filled one by one each, `log` next to them in chunks where many streams take less than one.
#[test]
fn a_log_next_to_partitions_is_cut() {
    let loaded = Loaded::new("18");
    let mut session = loaded.database("cut");
    let load = ["load", "scaleup", "--server", "main", "-d", "cut", "--jobs", "4"];
    let rows = ["--rows", "1000", "--log-rows", "120000", "--partitions", "2"];
    let output = loaded.place.run(&[&load[..], &rows].concat());
    let err = text(&output.stderr);
    assert!(text(&output.stdout).contains("verified: 121,000 rows"), "{err}");
    assert!(err.contains("2 partitions, each frozen as it is written; log in tasks of 50,000 rows"), "{err}");
    let fills = session.value("SELECT count(*) FROM pgdyno_load.task_1 WHERE stage = 1");
    assert_eq!(fills.expect("it is there").as_deref(), Some("5"));
}

/// No other tables are loaded over an interrupted load, which could then never be resumed.
fn a_load_keeps_its_schema(loaded: &Loaded, session: &mut Session) {
    let begin = ["load", "tpcb", "--server", "main", "-d", "killed", "--scale", "1"];
    let layout = "UPDATE pgdyno_load.job SET layout = layout";
    for (change, more) in [("+ 0", &[][..]), ("+ 0", &["--dry-run"]), ("+ 100", &[])] {
        session.execute(&format!("{layout} {change}")).expect("it is there");
        let said = loaded.place.refused(&[&begin, more].concat(), 2);
        assert!(said.contains("tables of another load exist there already"), "{change} {more:?}: {said}");
        assert!(said.contains("there are: log, log_id_seq, test") && said.contains("drop them"), "{said}");
    }
    session.execute(&format!("{layout} - 100")).expect("it is there");
}

/// A killed load is resumed, and a load of other tables is refused in its place; copies of it are complete.
fn kills_and_copies(loaded: &Loaded) {
    let mut session = loaded.database("killed");
    let rows = ["--rows", "240000", "--log-rows", "160000", "--method", "chunks"];
    let mut command = loaded.place.command(&Loaded::load("killed", &rows));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pgdyno can be run");
    let begun = "SELECT 1 FROM pg_class WHERE relname = 'task_1'";
    wait_until("tasks are there", || session.value(begun).expect("it can be asked").is_some());
    // It is not to be done when the kill comes: its key waits for this, its rows do not.
    session.execute("BEGIN; LOCK TABLE test IN ACCESS SHARE MODE").expect("it is there");
    let some = "SELECT 1 FROM pgdyno_load.task_1 WHERE done HAVING count(*) > 2";
    wait_until("some are done", || session.value(some).expect("it can be asked").is_some());
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    session.execute("COMMIT").expect("it is begun");
    let other = ["load", "tpcb", "--server", "main", "-d", "killed", "--resume"];
    let said = loaded.place.refused(&other, 2);
    assert!(said.contains("`load tpcb` was requested, but the load was begun by `load scaleup`"), "{said}");
    a_load_keeps_its_schema(loaded, &mut session);
    let said = loaded.place.refused(&Loaded::load("killed", &["--resume", "--seed", "3"]), 2);
    assert!(said.contains("--seed: 3 was requested, but the load was begun with 0"), "{said}");
    let said = loaded.place.done(&Loaded::load("killed", &["--resume"]));
    assert!(said.contains("verified: 400,000 rows"), "{said}");
    let copy = ["load", "copy", "--server", "main", "-d", "killed", "--into-schemas", "1"];
    let said = loaded.place.done(&copy);
    assert!(said.contains("public_1: verified: 400,000 rows"), "{said}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_articles_tables_in_the_oldest_server() {
        equals_the_article(
            OLDEST,
            &[&["--method", "stream"], &["--method", "chunks"], &["--method", "server"]],
        );
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_killed_load_is_resumed_and_copied() {
        kills_and_copies(&Loaded::new("18"));
    }
}
