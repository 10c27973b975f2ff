//! `pgdyno load copy`: copies are what was loaded, or that they are not is said.

use std::process::{Child, Stdio};

use pgdyno_core::observe::{ObserveLevel, What};
use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{OLDEST, Place, admin, text, wait_until, word};

/// A server with a load in the database `src`.
struct Source {
    place: Place,
    server: Value,
}

impl Source {
    fn new(pg: &str, more: &[&str]) -> Self {
        let place = Place::new();
        place.done(&["up", "--pg", pg, "--bundle", "-c", "fsync=off"]);
        let server = place.only();
        let source = Self { place, server };
        admin(&source.server).execute("CREATE DATABASE src").expect("a new name");
        let load = ["load", "tpcb", "--server", "main", "-d", "src", "--scale", "1", "--jobs", "2"];
        source.place.done(&[&load, more].concat());
        source
    }

    fn session(&self) -> Session {
        self.session_with("src")
    }

    fn session_with(&self, database: &str) -> Session {
        let port = self.server["port"].as_u64().expect("it has one") as u16;
        let address = Address::Unix(word(&self.server, "socket_dir").into(), port);
        let mut options = ConnectOptions::local(address, "postgres");
        database.clone_into(&mut options.database);
        connect(&options).expect("it takes connections")
    }

    fn copy<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["load", "copy", "--server", "main", "-d", "src", "--jobs", "2"], more].concat()
    }

    fn start(&self, more: &[&str]) -> Child {
        let mut command = self.place.command(&Self::copy(more));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run")
    }

    fn dsn(&self, schema: &str) -> String {
        let (host, port) = (word(&self.server, "socket_dir"), self.server["port"].to_string());
        format!("host={host} port={port} user=postgres dbname=src options=-csearch_path={schema}")
    }
}

/// What two schemas with the same load have in common: tables, columns, keys, no defaults that are left, rows, pages
/// that all see.
fn contents(session: &mut Session, schema: &str) -> Vec<String> {
    let within = format!("(SELECT oid FROM pg_class WHERE relnamespace = '{schema}'::regnamespace)");
    session.execute(&format!("SET search_path = {schema}")).expect("it is there");
    let asked = [
        format!(
            "SELECT ROW(relname, relkind, relpersistence, reloptions)::text \
             FROM pg_class WHERE oid IN {within} AND relkind IN ('r', 'p') ORDER BY 1"
        ),
        format!("SELECT relname FROM pg_class WHERE oid IN {within} ORDER BY 1"),
        format!(
            "SELECT attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull \
             || atthasdef FROM pg_attribute WHERE attnum > 0 AND attrelid IN {within} ORDER BY 1"
        ),
        format!(
            "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint \
             WHERE conrelid IN {within} ORDER BY 1"
        ),
        // VACUUM does not mark pages without rows.
        format!(
            "SELECT 'pages with rows that not all see: ' || \
             greatest(0, count(DISTINCT (tableoid, (ctid::text::point)[0])) - (SELECT sum(relallvisible) \
             FROM pg_class WHERE oid IN {within} AND relname ~ '^pgbench_accounts(_[0-9]+)?$')) FROM pgbench_accounts"
        ),
        "SELECT md5(string_agg(t::text, ';' ORDER BY aid)) FROM pgbench_accounts t".to_owned(),
        "SELECT md5(string_agg(t::text, ';' ORDER BY tid)) FROM pgbench_tellers t".to_owned(),
        "SELECT md5(string_agg(t::text, ';' ORDER BY bid)) FROM pgbench_branches t".to_owned(),
    ];
    let mut all = Vec::new();
    for sql in asked {
        let rows = session.query(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        all.extend(rows.iter().map(|row| row.get(0).unwrap_or("NULL").to_owned()));
    }
    all
}

fn copies_are_what_was_loaded(pg: &str, load: &[&str]) {
    let source = Source::new(pg, load);
    let said = source.place.done(&Source::copy(&["--into-schemas", "2"]));
    for name in ["public_1", "public_2"] {
        assert!(said.contains(&format!("{name}: verified: 100,011 rows")), "{said}");
        let said = source.place.done(&["load", "verify", "--dsn", &source.dsn(name)]);
        assert!(said.contains("tpcb at scale 1\nverified: 100,011 rows"), "{said}");
    }
    let mut session = source.session();
    let of_source = contents(&mut session, "public");
    assert_eq!(contents(&mut session, "public_2"), of_source, "{pg} {load:?}");
    drop(session);
    let said = source.place.refused(&Source::copy(&["--into-schemas", "3"]), 2);
    assert!(said.contains("the schema public_1 exists already") && said.contains("--prefix"), "{said}");

    let said = source.place.done(&Source::copy(&["--into-databases", "2"]));
    observed_from_outside(&source);
    for name in ["src_1", "src_2"] {
        assert!(said.contains(&format!("{name}: verified: 100,011 rows")), "{said}");
        source.place.done(&["load", "verify", "--server", "main", "-d", name]);
    }
    let said = source.place.refused(&Source::copy(&["--into-databases", "1"]), 2);
    assert!(said.contains("the database src_1 exists already"), "{said}");
    dumps_are_what_was_loaded(&source);
    what_cannot_be_copied(&source);
}

/// A session watches the last copy, though none may be in the source.
fn observed_from_outside(source: &Source) {
    let mut runs = source.place.runs();
    runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
    let run = runs.pop().expect("it was recorded");
    assert_eq!(run.record.observers.as_ref().map(|of| of.level), Some(ObserveLevel::All));
    let seen = run.observations().expect("it can be read").items;
    let has = |is: fn(&What) -> bool| seen.iter().any(|line| is(&line.what));
    assert!(has(|what| matches!(what, What::Waits(waits) if waits.samples > 0)), "{seen:?}");
    assert!(has(|what| matches!(what, What::Counters(_))), "{seen:?}");
    assert!(!has(|what| matches!(what, What::Gap { missing, .. } if missing == "session")), "{seen:?}");
}

/// Sessions in the source do not matter, and the schema of a copy may have its name.
fn dumps_are_what_was_loaded(source: &Source) {
    let mut session = source.session();
    let of_source = contents(&mut session, "public");
    let dump = ["--into-databases", "2", "--by", "dump", "--prefix", "test"];
    let said = source.place.done(&Source::copy(&[&dump[..], &["--rename-schema"]].concat()));
    for name in ["test_1", "test_2"] {
        assert!(said.contains(&format!("{name}: verified: 100,011 rows")), "{said}");
        assert!(said.contains(" (copied in ") && said.contains("iB/s)\n"), "{said}");
        assert_eq!(contents(&mut source.session_with(name), name), of_source);
    }
    let again = source.place.done(&Source::copy(&[&dump[..], &["--rename-schema", "--resume"]].concat()));
    assert!(
        again.starts_with("test_1: copied and verified before\ntest_2: copied and verified before\n\nNEXT"),
        "{again}"
    );
    let said = source.place.refused(&Source::copy(&["--into-databases", "1", "--rename-schema"]), 2);
    assert!(said.contains("keeps the names of its schemas") && said.contains("--by dump"), "{said}");
}

fn what_cannot_be_copied(source: &Source) {
    let mut session = source.session();
    let into = ["--into-databases", "1", "--prefix", "other"];
    let said = source.place.refused(&Source::copy(&into), 2);
    let pid = session.backend_pid().to_string();
    for words in
        ["could not copy the database src: other sessions are connected to it", &pid, "pg_terminate_backend"]
    {
        assert!(said.contains(words), "{said}");
    }
    session.execute("UPDATE pgbench_accounts SET abalance = 7 WHERE aid = 7").expect("it is there");
    drop(session);
    for into in [&into[..], &["--into-schemas", "1", "--prefix", "o'ther"]] {
        let output = source.place.run(&Source::copy(into));
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
        assert!(said.contains("! pgbench_accounts.abalance has the checksum"), "{said}");
        assert!(said.contains("ther_1: not verified: 1 difference"), "{said}");
    }
    // The tenth copy would have the name of the first one after the server has cut it.
    let prefix = "p".repeat(61);
    for into in ["--into-schemas", "--into-databases"] {
        let said = source.place.refused(&Source::copy(&[into, "10", "--prefix", &prefix]), 2);
        assert!(said.contains("_10: the name is too long") && said.contains("--prefix"), "{said}");
    }
    let mut session = source.session();
    let made = "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname ~ '^ppp') \
                + (SELECT count(*) FROM pg_database WHERE datname ~ '^ppp')";
    assert_eq!(session.value(made).expect("it can be asked").as_deref(), Some("0"));
    let copy = ["load", "copy", "--server", "main", "--into-schemas", "1"];
    let said = source.place.refused(&copy, 2);
    assert!(said.contains("no load is known there") && said.contains("pgdyno load tpcb"), "{said}");
}

/// Lets nobody begin a second copy as long as a session holds a lock: copies are not to be done before it has locked
/// what they copy from.
const HOLD_SECOND_COPIES: &str = "CREATE SCHEMA held; \
    CREATE FUNCTION held.wait() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF current_query() ~ 'CREATE SCHEMA .*_2' THEN PERFORM pg_advisory_xact_lock_shared(7777); END IF; END $$; \
    CREATE EVENT TRIGGER held ON ddl_command_start WHEN TAG IN ('CREATE SCHEMA') EXECUTE PROCEDURE held.wait()";

/// Copies whose loader is killed, and whose session is ended: the same command with `--resume` makes them whole.
fn copies_are_resumed(pg: &str) {
    let source = Source::new(pg, &["--foreign-keys"]);
    let mut session = source.session();
    session.execute(HOLD_SECOND_COPIES).expect("a superuser may");
    for (prefix, how) in [("killed", "loader"), ("ended", "session")] {
        let into = ["--into-schemas", "3", "--prefix", prefix];
        session.execute("SELECT pg_advisory_lock(7777)").expect("nobody else wants it");
        let mut child = source.start(&into);
        let first =
            format!("SELECT 1 FROM pgdyno_load.job WHERE target = '{prefix}_1' AND finished IS NOT NULL");
        wait_until("the first copy is whole", || session.value(&first).expect("it can be asked").is_some());
        session
            .execute(
                "BEGIN; LOCK TABLE public.pgbench_accounts IN ACCESS EXCLUSIVE MODE; \
                 SELECT pg_advisory_unlock(7777)",
            )
            .expect("in turn");
        let waits = "SELECT l.pid FROM pg_locks l WHERE NOT l.granted AND l.locktype = 'relation'";
        wait_until("the next one waits for it", || session.value(waits).expect("it can be asked").is_some());
        if how == "loader" {
            child.kill().expect("it runs");
        } else {
            let end = format!("SELECT pg_terminate_backend(pid) FROM ({waits}) w");
            session.execute(&end).expect("we may");
        }
        let output = child.wait_with_output().expect("it has ended");
        session.execute("COMMIT").expect("it is begun");
        if how == "session" {
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("--resume continues from there"), "{said}");
        }
        let said = source.place.refused(&Source::copy(&into), 2);
        assert!(said.contains(&format!("the schema {prefix}_1 exists already")), "{said}");
        assert!(said.contains("by --resume"), "{said}");
        let said = source.place.done(&Source::copy(&[&into[..], &["--resume"]].concat()));
        assert!(said.contains(&format!("{prefix}_1: copied and verified before")), "{said}");
        assert!(said.contains(&format!("{prefix}_3: verified: 100,011 rows")), "{said}");
        let of_source = contents(&mut session, "public");
        for number in 1..=3 {
            assert_eq!(contents(&mut session, &format!("{prefix}_{number}")), of_source, "{how} {number}");
        }
    }
    verified_copies_are_looked_at(&source, &mut session);
    // What was ended right after its first statement, and what is somebody else's.
    session
        .execute("CREATE SCHEMA early_1; CREATE SCHEMA theirs_1; CREATE TABLE theirs_1.t ()")
        .expect("new");
    let resume = |prefix| Source::copy(&["--into-schemas", "1", "--resume", "--prefix", prefix]);
    assert!(source.place.done(&resume("early")).contains("early_1: verified: 100,011 rows"));
    let said = source.place.refused(&resume("theirs"), 2);
    assert!(said.contains("schema theirs_1: it is not a copy of public"), "{said}");
    drop(session);
    databases_are_resumed(&source);
}

/// That a copy was verified once says nothing of tables that are gone since, nor of what a crash of the server emptied;
/// of a source neither.
fn verified_copies_are_looked_at(source: &Source, session: &mut Session) {
    let copy = Source::copy(&["--into-schemas", "3", "--prefix", "killed", "--resume"]);
    let again = "killed_2: it is no longer an intact copy";
    let tasks = "SELECT 'pgdyno_load.task_' || id FROM pgdyno_load.job WHERE target = 'killed_2'";
    let tasks = session.value(tasks).expect("it is there").expect("it was copied");
    let emptied = format!("TRUNCATE {tasks}");
    for (change, back, said) in [
        (
            "ALTER TABLE killed_2.pgbench_history RENAME TO h",
            "ALTER TABLE killed_2.h RENAME TO pgbench_history",
            again,
        ),
        (
            "ALTER TABLE pgbench_history RENAME TO h",
            "ALTER TABLE h RENAME TO pgbench_history",
            "its tables were replaced",
        ),
        (emptied.as_str(), "DROP SCHEMA killed_2 CASCADE", again),
    ] {
        session.execute("SET search_path = public").expect("it is there");
        session.execute(change).expect(change);
        let out = source.place.refused(&copy, 2);
        assert!(out.contains(said) && !out.contains("before"), "{change}: {out}");
        session.execute(back).expect(back);
    }
    let out = source.place.done(&copy);
    let whole =
        ["killed_1: copied and verified before", "killed_2: verified: 100,011 rows", "killed_3: copied and"];
    assert!(whole.iter().all(|words| out.contains(words)), "{out}");
}

fn databases_are_resumed(source: &Source) {
    source.place.done(&Source::copy(&["--into-databases", "1"]));
    let into = ["--into-databases", "2"];
    let said = source.place.refused(&Source::copy(&into), 2);
    assert!(said.contains("the database src_1 exists already") && said.contains("by --resume"), "{said}");
    let again = Source::copy(&["--into-databases", "2", "--resume"]);
    let said = source.place.done(&again);
    assert!(said.contains("src_1: verified: 100,011") && said.contains("src_2: verified: 100,011"), "{said}");
    source.session_with("src_2").execute("DROP SCHEMA pgdyno_load CASCADE").expect("it is there");
    let said = source.place.refused(&again, 2);
    assert!(said.contains("database src_2: it is not a copy of what was loaded"), "{said}");
}

/// What may go wrong in the middle of a copy, as SQL for a trigger of the copied accounts or for a command there, and
/// what is said of it.
const FAULTS: [(&str, &str, &str); 6] = [
    (
        "row",
        "IF NEW.aid = 77 THEN RETURN NULL; END IF",
        "pgbench_accounts has 99,999 rows, 100,000 were expected",
    ),
    ("row", "IF NEW.aid = 77 THEN NEW.bid := 2; END IF", "pgbench_accounts.bid has the checksum"),
    ("row", "IF NEW.aid = 77 THEN NEW.aid := -77; END IF", "pgbench_accounts.aid has the checksum"),
    (
        "ADD PRIMARY KEY",
        "ALTER TABLE faulty_1.pgbench_accounts DROP CONSTRAINT pgbench_accounts_pkey",
        "pgbench_accounts lacks its primary key (aid)",
    ),
    (
        "ADD PRIMARY KEY",
        "ALTER TABLE faulty_1.pgbench_tellers SET (fillfactor = 50)",
        "pgbench_tellers has the storage parameters fillfactor=50, fillfactor=90 was expected",
    ),
    (
        "ADD PRIMARY KEY",
        "ALTER TABLE faulty_1.pgbench_history ALTER delta SET DEFAULT 7",
        "pgbench_history has defaults for delta, none was expected",
    ),
];

/// Faults during copying are found by the verification of the copy.
fn faulty_copies_are_named(pg: &str) {
    let source = Source::new(pg, &["--fillfactor", "90"]);
    let mut session = source.session();
    for (when, fault, said) in FAULTS {
        let body = if when == "row" {
            format!(
                "IF tg_tag = 'CREATE TABLE' AND to_regclass('faulty_1.pgbench_accounts') IS NOT NULL \
                 AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgname = 'fault') THEN \
                 CREATE FUNCTION faulty_1.fault() RETURNS trigger LANGUAGE plpgsql AS \
                 'BEGIN {fault}; RETURN NEW; END'; \
                 CREATE TRIGGER fault BEFORE INSERT ON faulty_1.pgbench_accounts \
                 FOR EACH ROW EXECUTE PROCEDURE faulty_1.fault(); END IF;"
            )
        } else {
            // The command of the fault is one of these itself, and must not bring another.
            format!(
                "IF current_query() ~ 'TABLE pgbench_accounts {when}' AND pg_trigger_depth() = 0 \
                 AND current_setting('pgdyno.planted') = '' THEN \
                 PERFORM set_config('pgdyno.planted', 'yes', false); {fault}; END IF;"
            )
        };
        session
            .execute(&format!(
                "ALTER DATABASE src SET pgdyno.planted = ''; \
                 CREATE FUNCTION public.plant() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$; \
                 CREATE EVENT TRIGGER plant ON ddl_command_end EXECUTE PROCEDURE public.plant()"
            ))
            .expect("a superuser may");
        let output = source.place.run(&Source::copy(&["--into-schemas", "1", "--prefix", "faulty"]));
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{fault}: {out}{}", text(&output.stderr));
        assert!(out.contains(said) && out.contains("faulty_1: not verified: "), "{fault}: {out}");
        session
            .execute("DROP EVENT TRIGGER plant; DROP FUNCTION public.plant(); DROP SCHEMA faulty_1 CASCADE")
            .expect("they are there");
    }
    drop(session);
    // A copy of a database is compared with the requested load, whatever happened to the source.
    source
        .session()
        .execute("ALTER TABLE pgbench_branches DROP CONSTRAINT pgbench_branches_pkey")
        .expect("it is there");
    let output = source.place.run(&Source::copy(&["--into-databases", "1"]));
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}{}", text(&output.stderr));
    assert!(out.contains("! pgbench_branches lacks its primary key (bid)"), "{out}");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn copies_of_every_kind() {
    copies_are_what_was_loaded("18", &["--partitions", "3", "--partition-method", "hash", "--foreign-keys"]);
    copies_are_what_was_loaded("18", &["--method", "chunks", "--unlogged"]);
    copies_are_what_was_loaded("12", &["--partitions", "2"]);
    copies_are_what_was_loaded("15", &[]);
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn copies_that_broke_off_in_the_oldest_server() {
        copies_are_resumed(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn copies_that_broke_off_in_the_newest_server() {
        copies_are_resumed("18");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn copies_in_the_oldest_server() {
        copies_are_what_was_loaded(OLDEST, &["--foreign-keys", "--fillfactor", "90"]);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn faulty_copies_in_the_newest_server() {
        faulty_copies_are_named("18");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn faulty_copies_in_the_oldest_server() {
        faulty_copies_are_named(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn copies_in_the_newest_server() {
        copies_are_what_was_loaded("18", &["--partitions", "3"]);
    }
}
