//! How TPC-B's tables are loaded for a measurement, and what the record and the report say of it.

use std::fs;

use pgdyno_analysis::DoubtKind;
use pgdyno_core::{facts::DurabilityTier, probe::Held};
use pgdyno_record::{LoadRecord, Run};
use pgdyno_wire::Session;

use crate::common::{OLDEST, Place, admin, is_complete, text, tiny, word};

fn loaded(run: &Run) -> &LoadRecord {
    run.record.subjects[0].load.as_ref().expect("tables were loaded")
}

/// What a run of this server with these flags came to, and what was printed.
fn measured(place: &Place, pg: &str, flags: &[&str]) -> (Run, String) {
    let output = place.run(&tiny(&[&["--full", "--pg", pg], flags].concat()));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{pg} {flags:?}: {out}{err}");
    let run = place.runs().pop().expect("it is recorded");
    is_complete(&run);
    (run, out + &err)
}

/// No crash leaves anything of unlogged tables, and no report may call such a run durable.
fn unlogged_tables_are_never_durable(pg: &str) {
    let place = Place::new();
    let (run, said) = measured(&place, pg, &["--unlogged", "--fillfactor", "50", "--foreign-keys"]);
    let load = loaded(&run);
    let (terms, accounts) = (load.terms.as_ref().expect("known"), load.accounts.as_ref().expect("known"));
    assert!(terms.options.unlogged && accounts.unlogged && terms.options.fillfactor == Some(50));
    assert_eq!((accounts.foreign_keys, &*accounts.options), (5, &["fillfactor=50".to_owned()][..]));
    let server = run.record.subjects[0].server.as_ref().expect("known");
    assert_eq!(server.durability, DurabilityTier::Unlogged);
    let doubt = run.record.doubts.iter().find(|doubt| doubt.kind == DoubtKind::WeakDurability);
    let doubt = doubt.expect("tpcb-like writes");
    assert!(doubt.detail.contains("unlogged") && doubt.advice.contains("logged tables"), "{doubt:?}");
    let shown = place.done(&["show", "last", "--full"]);
    let durable = "Durability none: tables are unlogged; any crash of the server empties them.";
    assert!(shown.replace('\n', " ").contains(durable) && !shown.contains("survives a crash"), "{shown}");
    assert!(said.contains("warning: tables are unlogged"), "{said}");
    let html = place.done(&["report", "last", "--out", "-"]);
    assert!(html.contains("tables are unlogged") && !html.contains("survives a crash"));
    let balance = run.record.subjects[0].balance.as_ref().expect("it is checked");
    assert_eq!(balance.violations, 0, "{balance:?}");
    place.nothing_is_left();
}

/// What a version cannot have is refused before a server is made, where the version is known by then.
#[test]
fn partitions_of_the_oldest_server_are_refused() {
    let place = Place::new();
    let said = place.refused(&tiny(&["--pg", OLDEST, "--partitions", "2"]), 2);
    let what = "error: could not make partitions: the server is older than PostgreSQL 11\n";
    assert_eq!(said, format!("{what}hint: leave --partitions out\n"));
    let args = "run plan.toml --subject pg=18 --subject pg=11 --partitions 2 --foreign-keys";
    fs::write(place.path("plan.toml"), "name = \"x\"\n[[workload]]\nscript = \"select-only\"\n")
        .expect("a file");
    let said = place.refused(&args.split(' ').collect::<Vec<_>>(), 2);
    assert!(said.starts_with("error: pg=11: could not make foreign keys: before PostgreSQL 12"), "{said}");
    assert_eq!(place.runs().len(), 0);
    place.nothing_is_left();
}

/// A plan's own tables may be unlogged as well: what counts is what the server has.
#[test]
fn unlogged_tables_of_a_plan_are_seen() {
    let place = Place::new();
    let plan = "name = \"own\"\n[data]\nsetup_text = \"CREATE UNLOGGED TABLE t (n int)\"\n\
                [[workload]]\nname = \"insert\"\ntext = \"INSERT INTO t VALUES (1);\"\n\
                [measure]\nclients = [1]\nduration = \"200ms\"\nwarmup = \"50ms\"\nblocks = 1\n";
    fs::write(place.path("own.toml"), plan).expect("it can be written");
    place.done(&["run", "own.toml", "--pg", "18"]);
    let run = place.only_run();
    let server = run.record.subjects[0].server.as_ref().expect("known");
    assert_eq!(server.durability, DurabilityTier::Unlogged);
    place.nothing_is_left();
}

/// Sizes and buffers of a server are read before the runs and after them: history grows meanwhile, tables were read
/// into shared buffers, and a database that is ours alone has what it takes to see that.
fn sizes_are_recorded(pg: &str, partitions: u64) {
    let place = Place::new();
    let count = partitions.to_string();
    let (run, said) = measured(&place, pg, &["--partitions", &count]);
    let held = run.record.subjects[0].held.as_ref().expect("it was looked at");
    let (before, after) = (held.before.as_ref().expect("before"), held.after.as_ref().expect("after"));
    let accounts = &before.tables.largest[0];
    assert_eq!((&*accounts.name, accounts.partitions), ("public.pgbench_accounts", partitions));
    assert_eq!((before.tables.count, before.indexes.count), (4, 3));
    assert!(accounts.bytes > 12 << 20 && accounts.pages * 8_192 <= accounts.bytes, "{accounts:?}");
    assert_eq!(before.tables.bytes, before.tables.largest.iter().map(|one| one.bytes).sum::<u64>());
    assert_eq!(accounts.resident_pages, Some(accounts.pages), "it was read into shared buffers");
    assert_eq!(before.indexes.resident_pages, Some(before.indexes.pages));
    let history = |held: &Held| {
        let history = held.tables.largest.iter().find(|one| one.name.ends_with("pgbench_history"));
        history.expect("it is there").bytes
    };
    assert!(history(before) < history(after), "{before:?} {after:?}");
    let database = before.database.as_ref().and_then(|database| database.bytes).expect("it is ours");
    assert!(database > before.tables.bytes + before.indexes.bytes);
    assert_eq!(before.tablespaces.iter().map(|space| &*space.name).collect::<Vec<_>>(), ["pg_default"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Sizes, before → after the runs"), "{said}");
    assert!(said.contains(", in shared buffers 100 % → "), "{said}");
    place.nothing_is_left();
}

#[test]
fn sizes_at_the_newest_server_are_recorded() {
    sizes_are_recorded("18", 3);
}

/// What the server of a bundle can be at while it builds a key.
const PHASES_OF_KEYS: [&str; 6] = [
    "initializing",
    "building index",
    "scanning table",
    "sorting live tuples",
    "sorting dead tuples",
    "loading tuples in tree",
];

/// A run with as large a load as it takes here for the server to be seen building keys: it is observed five times a
/// second, and of what is over between two looks nothing is seen.
fn seen_building_keys(place: &Place) -> (Run, String) {
    for scale in ["10", "40", "160"] {
        let flags = ["--scale", scale, "--partitions", "1", "--check", "off"];
        let (run, said) = measured(place, "18", &flags);
        let keys = loaded(&run).stages.iter().find(|stage| stage.name == "primary keys");
        if keys.is_some_and(|keys| !keys.phases.is_empty()) {
            return (run, said);
        }
    }
    panic!("the server was never seen building keys");
}

/// The record has the stages of a load: how long each took, what WAL was written, what the server was at, and by how
/// many processes keys were built.
#[test]
fn stages_of_a_load_are_recorded() {
    let place = Place::new();
    let (run, said) = seen_building_keys(&place);
    let load = loaded(&run);
    let names: Vec<_> = load.stages.iter().map(|stage| &*stage.name).collect();
    assert_eq!(names, ["rows", "vacuum", "analyze", "primary keys", "key of the whole"]);
    let [rows, vacuum, analyze, keys, whole] = &load.stages[..] else { panic!("{names:?}") };
    assert_eq!(load.copy_s, rows.duration_s);
    assert_eq!(load.vacuum_s, vacuum.duration_s + analyze.duration_s);
    assert_eq!(load.index_s, keys.duration_s + whole.duration_s);
    assert!(rows.phases.is_empty(), "no server reports them: {rows:?}");
    // Which of them a look comes in is chance.
    assert!(keys.phases.iter().all(|phase| PHASES_OF_KEYS.contains(&&*phase.name)), "{keys:?}");
    // Its processes belong to the user of the test, or the test is root.
    assert!(
        keys.phases.iter().all(|phase| phase.read_bytes.is_some() && phase.written_bytes.is_some()),
        "{keys:?}"
    );
    let longest = keys.phases.iter().max_by(|a, b| a.duration_s.total_cmp(&b.duration_s));
    let longest = &*longest.expect("it was seen building keys").name;
    // A key of a million rows has 21 MiB; empty room in its pages is not logged.
    assert!(keys.wal_bytes.is_some_and(|bytes| bytes > 16 << 20), "{keys:?}");
    let workers = load.key_workers.as_ref().expect("known");
    assert!(workers.asked.is_some() && workers.planned.is_some(), "{workers:?}");
    let rate = load.rows_per_s.expect("rows were written") * rows.duration_s;
    assert!((rate - load.rows as f64).abs() < 1.0, "{load:?}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [" rows/s, ", "stage primary keys: ", "; server: ", longest, "key workers requested "] {
        assert!(said.contains(words), "{words}: {said}");
    }
    place.nothing_is_left();
}

/// On an existing server, tables and keys are in the requested tablespaces, which are in the record.
#[test]
fn tablespaces_of_a_server_that_is_there_are_used() {
    let place = Place::new();
    let space = format!("fast={}", place.path("fast").display());
    place.done(&["up", "theirs", "--pg", "18", "--tablespace", &space]);
    let server = place.only();
    let port = server["port"].to_string();
    let there = ["-h", word(&server, "socket_dir"), "-p", &port, "-U", "postgres", "-d", "postgres"];
    let refused = place.refused(&tiny(&[&there[..], &["--tablespace", "slow"]].concat()), 2);
    assert!(refused.contains("there is no tablespace \"slow\""), "{refused}");
    let flags = ["--tablespace", "fast", "--index-tablespace", "fast", "--full"];
    let said = place.done(&tiny(&[&there[..], &flags].concat()));
    let run = place
        .runs()
        .into_iter()
        .find(|run| run.record.subjects[0].load.is_some())
        .expect("one was not refused");
    let after =
        run.record.subjects[0].held.as_ref().and_then(|held| held.after.as_ref()).expect("it was looked at");
    let bytes = |name: &str| {
        let space = after.tablespaces.iter().find(|space| space.name == name);
        space.and_then(|space| space.bytes).expect("it is a superuser's")
    };
    assert!(bytes("fast") > 15 << 20, "{after:?}");
    assert!(bytes("pg_default") > 0 && said.contains("fast: "), "{said}");
    let terms = loaded(&run).terms.as_ref().expect("known");
    assert_eq!(
        (terms.options.tablespace.as_deref(), terms.options.index_tablespace.as_deref()),
        (Some("fast"), Some("fast"))
    );
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// Each way leaves the same rows: the balance check looks at all of them.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn partitions_are_loaded_by_several_connections() {
        let place = Place::new();
        for (flags, words) in [
            ("--partitions 3 --load-jobs 2", "3 partitions by range"),
            ("--partitions 2 --partition-method hash --load-jobs 2", "2 partitions by hash"),
            ("--load-method server", "rows generated by the server"),
            ("--load-method chunks --load-jobs 2", "COPY in chunks by 2 connections"),
        ] {
            let flags: Vec<_> = flags.split(' ').collect();
            let (run, said) = measured(&place, "18", &flags);
            assert!(said.contains(words), "{flags:?}: {said}");
            let load = loaded(&run);
            let (terms, accounts) =
                (load.terms.as_ref().expect("known"), load.accounts.as_ref().expect("known"));
            assert_eq!(
                (load.rows, accounts.partitions),
                (100_011, terms.options.partitions.expect("known")),
                "{flags:?}"
            );
            let balance = run.record.subjects[0].balance.as_ref().expect("it is checked");
            assert!(balance.violations == 0 && balance.rows_examined > 100_011, "{flags:?}: {balance:?}");
            let server = run.record.subjects[0].server.as_ref().expect("known");
            assert_eq!(server.durability, place.tier());
        }
        place.nothing_is_left();
    }

    /// Both arms have the requested tables, and the comparison has their durability tier.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn arms_are_loaded_alike() {
        let place = Place::new();
        let tiny = "ab --full --scale 1 --clients 1 --duration 1s --warmup 50ms --blocks 3 pg=17 pg=18";
        let args: Vec<_> = tiny.split(' ').chain(["--partitions", "2", "--unlogged"]).collect();
        let said = place.done(&args);
        let run = place.only_run();
        for arm in &run.record.subjects {
            let accounts = arm.load.as_ref().and_then(|load| load.accounts.as_ref()).expect("known");
            assert!(accounts.unlogged && accounts.partitions == 2);
            assert_eq!(arm.server.as_ref().map(|of| of.durability), Some(DurabilityTier::Unlogged));
        }
        assert!(said.contains("Durability none: tables are unlogged"), "{said}");
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn unlogged_tables_of_the_oldest_server() {
        unlogged_tables_are_never_durable(OLDEST);
    }

    /// Nothing is created in an existing database to inspect shared buffers; existing extensions are used.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_database_of_somebody_else_gets_no_extension() {
        let place = Place::new();
        place.done(&["up", "theirs", "--pg", "18"]);
        let server = place.only();
        let extensions = |session: &mut Session| {
            let sql = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_buffercache'";
            session.value(sql).expect("it can be asked").expect("a row")
        };
        let mut session = admin(&server);
        let port = server["port"].to_string();
        let flags = ["-h", word(&server, "socket_dir"), "-p", &port, "-U", "postgres", "-d", "postgres"];
        for made in [false, true] {
            if made {
                session.execute("CREATE EXTENSION pg_buffercache").expect("it is there to be had");
            }
            place.done(&tiny(&flags));
            let run = place.runs().pop().expect("it is recorded");
            let before = run.record.subjects[0]
                .held
                .as_ref()
                .and_then(|held| held.before.as_ref())
                .expect("it was looked at");
            assert_eq!(before.tables.largest[0].name, "pgdyno.pgbench_accounts");
            assert_eq!(before.tables.resident_pages.is_some(), made, "{before:?}");
            assert_eq!(extensions(&mut session), if made { "1" } else { "0" });
            let shown = place.done(&["show", "last", "--full"]);
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            // Of accounts alone: history has no page before the runs, and so no share of them.
            let of_accounts = shown.split_once("pgdyno.pgbench_accounts: ").map(|(_, after)| after);
            let share = of_accounts.and_then(|after| after.split_once(", in shared buffers "));
            let (_, share) = share.expect("accounts come first");
            assert_eq!(share.starts_with('–'), !made, "{shown}");
        }
        drop(session);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn unlogged_tables_of_the_newest_server() {
        unlogged_tables_are_never_durable("18");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn sizes_at_the_oldest_server_are_recorded() {
        sizes_are_recorded(OLDEST, 0);
    }

    /// The oldest server has no parallel workers for keys: what is not known is absent.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_oldest_server_shows_less_of_a_load() {
        let place = Place::new();
        let (run, said) = measured(&place, OLDEST, &["--load-method", "server"]);
        let load = loaded(&run);
        let names: Vec<_> = load.stages.iter().map(|stage| &*stage.name).collect();
        assert_eq!(names, ["rows", "vacuum", "primary keys"]);
        assert!(load.stages.iter().all(|stage| stage.wal_bytes.is_some()), "{:?}", load.stages);
        assert_eq!((load.copy_bytes, load.copy_bytes_per_s), (0, None));
        let workers = load.key_workers.as_ref().expect("known");
        assert_eq!((workers.asked, workers.planned, workers.launched), (None, None, None));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("requested –, planned –, launched –") && said.contains("no COPY data"),
            "{said}"
        );
        place.nothing_is_left();
    }
}
