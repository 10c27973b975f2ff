//! Measuring tables that are there: found, checked, counted from their state, and left.
//!
//! Seen to fail where tables are used that only look like TPC-B's, where changes by others go unnoticed, and where
//! something that somebody owns is emptied or dropped.

use std::{fs, process::Stdio};

use pgdyno_analysis::DoubtKind;
use pgdyno_record::{Run, RunRecord};
use pgdyno_wire::Session;

use crate::common::{OLDEST, Place, admin, brief, text, tiny};

/// A place with a server whose public schema has TPC-B's tables at scale 2.
fn with_tables(pg: &str) -> (Place, Session) {
    let place = Place::new();
    place.done(&["up", "main", "--pg", pg, "--bundle"]);
    place.done(&["load", "tpcb", "--server", "main", "--scale", "2", "--no-record"]);
    let session = admin(&place.only());
    (place, session)
}

fn number(session: &mut Session, sql: &str) -> u64 {
    let value = session.value(sql).expect("it can be asked");
    value.and_then(|value| value.parse().ok()).expect("it is a number")
}

/// Arguments of a short bench on the server, which reads the scale from its tables.
fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = tiny(&["--server", "main"]);
    let at = args.iter().position(|arg| *arg == "--scale").expect("it has one");
    args.drain(at..at + 2);
    args.into_iter().chain(more.iter().copied()).collect()
}

fn last(place: &Place) -> Run {
    let mut runs = place.runs();
    runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
    runs.pop().expect("there is one")
}

/// Commits that wrote to history, warm-up and drain included.
fn written(record: &RunRecord) -> u64 {
    let writes = record.runs.iter().filter(|run| run.workload.script == "tpcb-like");
    writes.map(|run| run.counts_whole.committed).sum()
}

fn tables_are_measured_and_stay(pg: &str) {
    let (place, mut session) = with_tables(pg);
    let mut known = 0;
    for round in 0..2 {
        let said = place.done(&bench(&["--tables", "existing", "--full"]));
        let record = last(&place).record;
        let subject = &record.subjects[0];
        let found = subject.existing.as_ref().expect("they were found");
        assert_eq!((&*found.schema, found.scale, record.plan.scale), ("public", 2, Some(2)));
        assert!(found.loaded_by.is_some() && subject.load.is_none(), "{found:?}");
        let balance = subject.balance.as_ref().expect("it was checked");
        assert_eq!((&*balance.mode, balance.violations), ("changes", 0), "{round}: {:?}", balance.examples);
        assert_eq!(balance.history_rows, written(&record), "it counts from the state found");
        known += written(&record);
        assert_eq!(number(&mut session, "SELECT count(*) FROM pgbench_history"), known, "nothing is emptied");
        assert!(said.contains("as they were found") && said.contains("public, owner postgres"), "{said}");
        assert!(!record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::ForeignTables));
    }
    // Tables of its own are another thing, and it is reported whose are left alone.
    let output = place.run(&tiny(&["--server", "main"]));
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("left alone"), "{said}");
    assert!(said.contains("pgbench_accounts at scale 2 in schema public"), "{said}");
    assert_eq!(number(&mut session, "SELECT count(*) FROM pgbench_history"), known);
    let schemas = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = 'pgdyno'";
    assert_eq!(number(&mut session, schemas), 0, "its own are gone");
    place.done(&["down", "main", "--remove"]);
}

/// Each fault, as SQL, and what is said of it.
const FAULTS: [(&str, &str, &str); 6] = [
    (
        "ALTER TABLE pgbench_accounts ADD COLUMN extra int",
        "ALTER TABLE pgbench_accounts DROP COLUMN extra",
        "pgbench_accounts is not as expected: it has a column extra more",
    ),
    (
        "ALTER TABLE pgbench_tellers ALTER COLUMN tbalance TYPE bigint",
        "ALTER TABLE pgbench_tellers ALTER COLUMN tbalance TYPE int",
        "column tbalance is bigint, not integer",
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM pgbench_tellers WHERE tid > 15; \
         DELETE FROM pgbench_tellers WHERE tid > 15",
        "INSERT INTO pgbench_tellers SELECT * FROM kept; DROP TABLE kept",
        "pgbench_tellers has 15 rows instead of 20",
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM pgbench_accounts WHERE aid % 2 = 0; \
         DELETE FROM pgbench_accounts WHERE aid % 2 = 0 AND aid < 200000",
        "INSERT INTO pgbench_accounts SELECT * FROM kept WHERE aid < 200000; DROP TABLE kept",
        "accounts that were looked up",
    ),
    (
        "CREATE SCHEMA postgres; CREATE TABLE postgres.pgbench_branches (LIKE public.pgbench_branches)",
        "DROP SCHEMA postgres CASCADE",
        "pgbench_accounts is in schema public, but pgbench_branches in schema postgres",
    ),
    (
        "ALTER TABLE pgbench_accounts DROP CONSTRAINT pgbench_accounts_pkey",
        "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)",
        "pgbench_accounts has no unique index on aid",
    ),
];

#[test]
fn tables_that_only_look_like_tpcb_are_refused() {
    let (place, mut session) = with_tables("18");
    let args = bench(&["--tables", "existing"]);
    for (fault, cure, expected) in FAULTS {
        session.execute(fault).expect("it can be done");
        let said = place.refused(&args, 2);
        assert!(said.contains(expected) && said.contains("hint: "), "{fault}: {said}");
        session.execute(cure).expect("it can be undone");
    }
    let said = place.refused(&[&args[..], &["--scale", "3"]].concat(), 2);
    assert!(said.contains("scale 3 requested, and there is tpcb at scale 2 in schema public"), "{said}");
    let said = place.refused(&[&args[..], &["--fillfactor", "50"]].concat(), 2);
    assert!(said.contains("loaded already"), "{said}");
    session.execute("DROP TABLE pgbench_history").expect("it is there");
    let said = place.refused(&args, 2);
    assert!(said.contains("no table pgbench_history in the search_path of role postgres"), "{said}");
    let said = place.refused(&tiny(&["--pg", "18", "--loaded"]), 2);
    assert!(said.contains("pgdyno's own server has none"), "{said}");
    assert_eq!(place.runs().len(), 0);
    place.done(&["down", "main", "--remove"]);
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// Scripts of one's own find the tables that their role finds; nothing is loaded that they do not name.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn own_scripts_use_the_tables_that_are_there() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        let server = place.only();
        let mut session = admin(&server);
        session.execute("CREATE TABLE mine AS SELECT n FROM generate_series(1, 100) n").expect("it can");
        for (name, sql) in
            [("a.sql", "SELECT count(*) FROM mine;\n"), ("b.sql", "SELECT max(n) FROM mine;\n")]
        {
            fs::write(place.path(name), sql).expect("it can be written");
        }
        let ab =
            ["ab", "--server", "main", "--clients", "2", "-T", brief(), "--warmup", "50ms", "--blocks", "3"];
        place.done(&[&ab[..], &["-f", "a.sql", "-f", "b.sql"]].concat());
        let record = place.only_run().record;
        assert!(record.plan.scale.is_none() && record.subjects.iter().all(|arm| arm.load.is_none()));
        let held =
            record.subjects[0].held.as_ref().and_then(|held| held.before.as_ref()).expect("it was looked at");
        assert!(held.tables.largest.iter().any(|table| table.name.ends_with("mine")), "{held:?}");
        assert_eq!(number(&mut session, "SELECT count(*) FROM mine"), 100);

        // A plan that resets something never meets the tables of somebody else.
        let plan = "name = \"own\"\n[measure]\nclients = [1]\nduration = \"300ms\"\nwarmup = \"50ms\"\nblocks = 1\n\
                    [[workload]]\nname = \"own\"\ntext = \"SELECT count(*) FROM mine\"\nreset = \"TRUNCATE mine\"\n";
        fs::write(place.path("plan.toml"), plan).expect("it can be written");
        let output = place.run(&["run", "plan.toml", "--server", "main"]);
        let said = text(&output.stderr);
        assert!(said.contains("relation \"mine\" does not exist"), "{said}");
        assert_eq!(number(&mut session, "SELECT count(*) FROM mine"), 100);

        fs::write(place.path("b.sql"), "SELECT max(n) FROM other.mine;\n").expect("it can be written");
        fs::write(place.path("a.sql"), "SELECT max(n) FROM nowhere;\n").expect("it can be written");
        let output = place.run(&[&ab[..], &["-f", "a.sql", "-f", "b.sql"]].concat());
        let said = text(&output.stderr);
        assert!(said.contains("relation \"nowhere\" does not exist"), "{said}");
        assert!(said.contains("the sessions look in \"$user\", public, pgdyno"), "{said}");
        place.done(&["down", "main", "--remove"]);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_of_the_newest_server_are_measured_and_stay() {
        tables_are_measured_and_stay("18");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_of_the_oldest_server_are_measured_and_stay() {
        tables_are_measured_and_stay(OLDEST);
    }

    /// Two servers, each with tables of its own: what one arm leaves does not matter to the check of the other.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_of_two_databases_are_compared() {
        let (place, mut session) = with_tables("18");
        session.execute("CREATE DATABASE other").expect("it can");
        place.done(&["load", "tpcb", "--server", "main", "-d", "other", "--scale", "2", "--no-record"]);
        let server = place.only();
        let socket = server["socket_dir"].as_str().expect("a path");
        let dsn =
            |database: &str| format!("host={socket} port={} user=postgres dbname={database}", server["port"]);
        let (a, b) = (dsn("postgres"), dsn("other"));
        place.done(&[
            "ab",
            "--dsn",
            &a,
            "--dsn",
            &b,
            "--clients",
            "2",
            "-T",
            brief(),
            "--warmup",
            "50ms",
            "--blocks",
            "3",
            "--loaded",
        ]);
        let record = place.only_run().record;
        for subject in &record.subjects {
            let balance = subject.balance.as_ref().expect("it was checked");
            assert_eq!((&*balance.mode, balance.violations), ("changes", 0), "{:?}", balance.examples);
            assert_eq!(subject.existing.as_ref().map(|tables| tables.scale), Some(2));
        }
        place.done(&["down", "main", "--remove"]);
    }

    /// One database by two addresses: what both arms commit is in one history, and every commit counts.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_of_one_database_are_compared_in_two_ways() {
        let (place, mut session) = with_tables("18");
        let server = place.only();
        let socket = server["socket_dir"].as_str().expect("a path");
        std::os::unix::fs::symlink(socket, place.path("s")).expect("it can be made");
        let other = place.path("s").display().to_string();
        let [a, b] = [socket, &other]
            .map(|host| format!("host={host} port={} user=postgres dbname=postgres", server["port"]));
        let ways = ["ab", "--dsn", &a, "--dsn", &b];
        let size = ["--clients", "2", "--duration", brief(), "--warmup", "50ms", "--blocks", "3"];
        let said = place.refused(&[&ways[..], &size].concat(), 2);
        assert!(said.contains("is reached in two ways") && said.contains("--tables existing"), "{said}");
        place.done(&[&ways[..], &size, &["--loaded"]].concat());
        let record = place.only_run().record;
        let rows = number(&mut session, "SELECT count(*) FROM pgbench_history");
        assert!(rows >= written(&record) && written(&record) > 0);
        for subject in &record.subjects {
            let balance = subject.balance.as_ref().expect("it was checked");
            // Practice runs are among them.
            assert_eq!((&*balance.mode, balance.violations, balance.committed), ("changes", 0, rows));
            assert_eq!(balance.history_rows, rows);
        }
        assert_eq!(number(&mut session, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'"), 0);
        place.done(&["down", "main", "--remove"]);
    }

    /// A balance that somebody else changes meanwhile is a violation.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn changes_by_others_are_found() {
        let (place, mut session) = with_tables("18");
        let args = bench(&["--tables", "existing", "--clients", "1"]);
        let child =
            place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let began = "SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'pgbench_history' AND relpages >= 0 \
                     AND EXISTS (SELECT FROM pgbench_history)";
        crate::common::wait_until("a run that writes", || number(&mut session, began) > 0);
        session
            .execute("UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1")
            .expect("it is there");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.code().is_some());
        let record = last(&place).record;
        let balance = record.subjects[0].balance.as_ref().expect("it was checked");
        assert_eq!(balance.violations, 1, "{:?}", balance.examples);
        assert!(balance.examples[0].starts_with("branches: the balances "), "{:?}", balance.examples);
        assert!(record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::BalanceViolated));
        place.done(&["down", "main", "--remove"]);
    }

    /// A plan on the tables of `load scaleup`, which must have the rows that its scripts draw from.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_plan_measures_the_rows_of_scaleup_that_are_there() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        place.done(&["load", "scaleup", "--server", "main", "--rows", "5000", "--no-record"]);
        let plan = |rows: u64| {
            format!(
                "name = \"keys\"\n[data]\nloaded = true\nscaleup = {{ rows = {rows} }}\n[measure]\nclients = [1]\n\
                 duration = \"{}\"\nwarmup = \"50ms\"\nblocks = 2\n[[workload]]\nname = \"key\"\n\
                 text = \"\"\"\n\\\\set id random(1, :rows)\nSELECT * FROM test WHERE id = :id;\n\"\"\"\n",
                brief()
            )
        };
        fs::write(place.path("plan.toml"), plan(5_000)).expect("it can be written");
        place.done(&["run", "plan.toml", "--server", "main"]);
        let record = place.only_run().record;
        let found = record.subjects[0].existing.as_ref().expect("they were found");
        assert_eq!((found.set.name(), found.scale), ("scaleup", 5_000));
        fs::write(place.path("plan.toml"), plan(6_000)).expect("it can be written");
        let said = place.refused(&["run", "plan.toml", "--server", "main"], 2);
        assert!(said.contains("rows 6,000 requested, and there is scaleup with 5000 rows"), "{said}");
        place.done(&["down", "main", "--remove"]);
    }
}
