//! How a load runs: workers for keys, its time shown before, free space that the user knows.

use std::fs;

use pgdyno_core::results::DoubtKind;
use pgdyno_record::{Found, KeyWorkersRecord, LoadRecord, RangeRecord, Run};

use crate::common::{OLDEST, Place, admin, text};

fn last_load(place: &Place) -> (Run, LoadRecord) {
    let mut runs = place.runs();
    runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
    let run = runs.pop().expect("there is one");
    let Some(Found::Load(load)) = run.record.operations.first().map(|operation| operation.found.clone())
    else {
        panic!("{:?}", run.record.operations)
    };
    (run, *load)
}

fn is_doubted(run: &Run) -> bool {
    run.record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::FewKeyWorkers)
}

fn planned(workers: &KeyWorkersRecord) -> Option<(u64, u64)> {
    workers.planned.map(|RangeRecord { least, most }| (least, most))
}

/// A table of 13 MiB is worth one worker: the storage option makes it two, and is gone afterwards.
#[test]
fn keys_have_the_workers_that_were_requested() {
    let place = Place::new();
    place.done(&["up", "--pg", "18", "--bundle", "-c", "fsync=off"]);
    let load = ["load", "tpcb", "--server", "main", "--scale", "1", "--jobs", "1", "--key-workers"];
    let with = |workers: &'static str, more: &[&'static str]| [&load[..], &[workers], more].concat();
    let said = place.done(&with("2", &[]));
    assert!(said.contains("requested 2, planned 2"), "{said}");
    assert!(said.contains("  primary keys ") && said.contains(" rows/s"), "{said}");
    let (run, record) = last_load(&place);
    let workers = record.key_workers.expect("they were counted");
    assert_eq!((workers.asked, planned(&workers), workers.limits.len()), (Some(2), Some((2, 2)), 0));
    assert!(!is_doubted(&run), "{:?}", run.record.doubts);
    let mut session = admin(&place.only());
    let options = "SELECT count(reloptions) FROM pg_class WHERE relname = 'pgbench_accounts'";
    // pgbench's fill factor is the only one, as without workers.
    let names =
        "SELECT string_agg(o, ' ') FROM pg_class, unnest(reloptions) o WHERE relname = 'pgbench_accounts'";
    assert_eq!(session.value(options).expect("it is there").as_deref(), Some("1"));
    assert_eq!(session.value(names).expect("it is there").as_deref(), Some("fillfactor=100"));

    let said = place.refused(&with("9", &["--dry-run"]), 2);
    assert!(
        said.contains("could not give a key 9 parallel workers: max_worker_processes of the server is 8")
    );
    session
        .execute("DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history")
        .expect("ours");
    session.execute("ALTER ROLE postgres SET min_parallel_table_scan_size = '1GB'").expect("a superuser may");
    let said = place.run(&with("2", &[]));
    let said = format!("{}{}", text(&said.stdout), text(&said.stderr));
    assert!(said.contains("requested, but tables below min_parallel_table_scan_size have none"), "{said}");
    assert!(said.contains("requested 2, planned 0"), "{said}");
    let (run, _) = last_load(&place);
    assert!(is_doubted(&run), "{:?}", run.record.doubts);
    times_are_shown(&place);
}

/// After two loads there is a time for a third, without a server as well; a damaged line is named and ignored.
fn times_are_shown(place: &Place) {
    let times = place.path("state/load-times.ndjson");
    let kept = fs::read_to_string(&times).expect("loads are kept");
    assert_eq!(kept.lines().count(), 2, "{kept}");
    let imagined = ["load", "tpcb", "--dry-run", "--server-version", "18", "--scale", "10", "--jobs", "1"];
    let said = place.done(&[&imagined[..], &["--key-workers", "2", "--method", "stream"]].concat());
    let time = said.lines().find(|line| line.starts_with("  time       about ")).unwrap_or_default();
    assert!(
        time.contains("rows ") && time.contains(", vacuum ") && time.contains(", primary keys "),
        "{said}"
    );
    assert!(said.contains("  time from  2 loads on this machine, the latest of 20"), "{said}");
    assert!(said.contains("but        10 times as many rows"), "{said}");
    let said = place.done(&[&imagined[..], &["--partitions", "2"]].concat());
    assert!(said.contains("time       not known: no such load was measured on this machine;"), "{said}");
    fs::write(&times, format!("{{\"finished_at\":7}}\n{kept}")).expect("it is ours");
    let said = place.done(&imagined);
    assert!(said.contains("line 1 of ") && said.contains("is damaged and was ignored"), "{said}");
    let elsewhere = kept.replace("\"machine\":\"", "\"machine\":\"another ");
    fs::write(&times, elsewhere).expect("it is ours");
    let said = place.done(&imagined);
    assert!(said.contains("measured on this machine (2 loads on other machines)"), "{said}");
}

/// No server is asked, and the space is what the user says.
#[test]
fn a_load_is_foretold_without_a_server() {
    let place = Place::new();
    let dry = ["load", "tpcb", "--dry-run", "--scale", "10000000", "--jobs", "64"];
    let with = |more: &[&'static str]| [&dry[..], more].concat();
    // Article 004: 10^12 rows in pages of 32 KiB take 120 TiB and 20 TiB.
    let large = ["--server-version", "11", "--block-size", "32kB", "--room", "200TB"];
    let said = place.done(&with(&large));
    for words in
        ["PostgreSQL 11", "accounts   120 TiB, key 20.3 TiB", "of the 200 TiB that --room says are free"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = place.run(&with(&["--server-version", "11", "--block-size", "32kB", "--room", "100TB"]));
    assert_eq!(said.status.code(), Some(3));
    let said = text(&said.stderr);
    assert!(said.contains("are needed for everything") && said.contains("--room says that 100 TiB are free"));
    let said = place.refused(&with(&["--server-version", "18"]), 2);
    assert!(said.contains("PostgreSQL allows at most"), "{said}");
    let said = place.refused(&with(&["--server-version", "9.6", "--partitions", "8"]), 2);
    assert!(said.contains("the server is older than PostgreSQL 11"), "{said}");
    let said = place.refused(&with(&["--server-version", "9.6", "--key-workers", "8"]), 2);
    assert!(said.contains("could not give keys parallel workers"), "{said}");
}

#[test]
fn room_that_is_given_counts_for_a_server_too() {
    let place = Place::new();
    place.done(&["up", "--pg", OLDEST, "--bundle", "-c", "fsync=off"]);
    let load = ["load", "tpcb", "--server", "main", "--scale", "1", "--room"];
    let said = place.refused(&[&load[..], &["20MB"]].concat(), 3);
    assert!(said.contains("--room says that 20 MiB are free, of which 32 MiB must stay free"), "{said}");
    let table =
        admin(&place.only()).value("SELECT to_regclass('pgbench_accounts')").expect("it can be asked");
    assert_eq!(table, None);
    let said = place.refused(&[&load[..6], &["--key-workers", "2"]].concat(), 2);
    assert!(said.contains("could not give keys parallel workers: the server is older"), "{said}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    const LOAD: [&str; 8] = ["load", "tpcb", "--scale", "100", "--partitions", "100", "--jobs", "1"];

    fn with(more: &[&'static str]) -> Vec<&'static str> {
        [&LOAD[..], more].concat()
    }

    /// What a calibration said, with all stages of a partitioned load.
    fn shows_the_time(said: &str) {
        assert!(said.contains("time from  1 calibration on this machine, the latest of 20"), "{said}");
        for stage in ["partitions ", "rows ", "vacuum ", "analyze ", "primary keys ", "key of the whole "] {
            assert!(said.contains(stage) && !said.contains("not measured"), "{stage}: {said}");
        }
        let but = "but        measured with 10 partitions instead of 100; 10 times as many rows";
        assert!(said.contains(but), "{said}");
    }

    /// On a server with another load, whose record stays.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_calibration_gives_the_time_and_leaves_nothing() {
        let place = Place::new();
        place.done(&["up", "--pg", "18", "--bundle", "-c", "fsync=off"]);
        let mut session = admin(&place.only());
        let mut value = |sql: &str| session.value(sql).expect("it can be asked");
        let schemas = "SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname LIKE 'pgdyno%'";
        let said = place.done(&with(&["--server", "main", "--dry-run"]));
        assert!(
            said.contains("time       not known") && said.contains("--calibrate measures a small one"),
            "{said}"
        );
        let said = place.done(&with(&["--server", "main", "--calibrate"]));
        shows_the_time(&said);
        assert_eq!(value(schemas), None, "nothing is left");
        shows_the_time(&place.done(&with(&["--server", "main", "--dry-run"])));
        value("CREATE SCHEMA theirs");
        value("ALTER DATABASE postgres SET search_path = theirs");
        place.done(&["load", "tpcb", "--server", "main", "--scale", "1", "--jobs", "1", "--no-record"]);
        value("ALTER DATABASE postgres RESET search_path");
        place.done(&with(&["--server", "main", "--calibrate"]));
        assert_eq!(value("SELECT string_agg(target, ' ') FROM pgdyno_load.job").as_deref(), Some("theirs"));
        assert_eq!(
            value("SELECT count(*) FROM pg_tables WHERE schemaname = 'pgdyno_load'").as_deref(),
            Some("2")
        );
        value("CREATE SCHEMA pgdyno_calibration");
        let said = place.refused(&with(&["--server", "main", "--calibrate"]), 2);
        assert!(said.contains("could not create schema \"pgdyno_calibration\": it exists already"), "{said}");
    }

    /// Without a server a temporary one is measured, and gone afterwards.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_temporary_server_is_calibrated() {
        let place = Place::new();
        let said = place.refused(&with(&["--server-version", "18"]), 2);
        assert!(said.contains("no server is assumed or started"), "{said}");
        shows_the_time(&place.done(&with(&["--calibrate", "--server-version", "18"])));
        place.nothing_is_left();
    }
}
