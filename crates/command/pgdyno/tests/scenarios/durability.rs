//! What an acknowledged commit is worth if settings of sessions, scripts, functions or a change during the run weaken
//! it. One test for each place that has to look; the ways in are lists.

use std::fs;

use pgdyno_analysis::{Doubt, DoubtKind};
use pgdyno_core::facts::DurabilityTier::{self, AsyncCommit, Full, TornPages, Uncertain, Unlogged};
use pgdyno_record::{Run, RunRecord};
use serde_json::Value;

use crate::common::{Place, admin, is_complete, text, tiny, wait_until, word};

/// Functions, and tables with triggers, that workloads lead to.
const SETUP: &str = r#"
CREATE TABLE t (i int);
CREATE TABLE watched (i int);
CREATE VIEW seen AS SELECT 1 AS i;
CREATE FUNCTION lax() RETURNS void LANGUAGE plpgsql
    AS $$ BEGIN SET LOCAL synchronous_commit = off; INSERT INTO t VALUES (1); END $$;
CREATE FUNCTION calls_it() RETURNS void LANGUAGE sql AS 'SELECT lax()';
CREATE FUNCTION own_setting() RETURNS void LANGUAGE plpgsql SET synchronous_commit = off
    AS $$ BEGIN INSERT INTO t VALUES (1); END $$;
CREATE FUNCTION dynamic(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; END $$;
CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); RETURN NULL; END $$;
CREATE TRIGGER watch AFTER INSERT ON watched FOR EACH ROW EXECUTE PROCEDURE on_insert();
CREATE RULE instead AS ON INSERT TO seen DO INSTEAD INSERT INTO watched VALUES (NEW.i);
"#;

/// Name of a workload, its reset, its script, and what its commits are worth. They run in this order.
const WAYS: [(&str, &str, &str, DurabilityTier); 23] = [
    ("plain", "", "INSERT INTO t VALUES (1);", Full),
    ("asks", "", "SELECT current_setting('synchronous_commit'); -- SET synchronous_commit = off", Full),
    ("set", "", "SET synchronous_commit = off;\nINSERT INTO t VALUES (1);", AsyncCommit),
    ("set-local", "", "BEGIN;\nSET LOCAL synchronous_commit TO 'off';\nEND;", AsyncCommit),
    ("branch", "", "\\if 0\nSET synchronous_commit = off;\n\\endif\nSELECT 1;", AsyncCommit),
    ("joined", "", "SELECT 1\\; SET SESSION synchronous_commit = off\\; SELECT 2;", AsyncCommit),
    ("set-config", "", "SELECT set_config('synchronous_commit', 'off', true);", AsyncCommit),
    ("block", "", "DO $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); END $$;", AsyncCommit),
    ("defined", "", "SET synchronous_commit = :level;", AsyncCommit),
    ("called", "", "SELECT lax();", AsyncCommit),
    ("call-of-call", "", "SELECT calls_it();", AsyncCommit),
    ("trigger", "", "INSERT INTO watched VALUES (1);", AsyncCommit),
    ("rule", "", "INSERT INTO seen VALUES (1);", AsyncCommit),
    ("own-setting", "", "SELECT own_setting();", Uncertain),
    ("dynamic", "", "SELECT dynamic('INSERT INTO t VALUES (1)');", Uncertain),
    ("unlogged", "", "CREATE UNLOGGED TABLE u (i int);\nDROP TABLE u;", Unlogged),
    // What no text shows: the session shows at the end.
    ("hidden", "", "SELECT 'SET synchronous' || '_commit = off' AS it \\gset\n:it;", AsyncCommit),
    ("reloaded", "", "SELECT pg_reload_conf();", Uncertain),
    ("role", "ALTER ROLE postgres SET synchronous_commit = off", "SELECT 1;", AsyncCommit),
    ("after-role", "ALTER ROLE postgres RESET synchronous_commit", "SELECT 1;", Full),
    ("database", "ALTER DATABASE postgres SET synchronous_commit = off", "SELECT 1;", AsyncCommit),
    ("after-database", "ALTER DATABASE postgres RESET synchronous_commit", "SELECT 1;", Full),
    ("server", "", "ALTER SYSTEM SET full_page_writes = off;\nSELECT pg_reload_conf();", TornPages),
];

fn plan() -> String {
    let head = format!("name = \"ways\"\n[data]\nsetup_text = '''{SETUP}'''\n");
    let workloads = WAYS.iter().map(|(name, reset, script, _)| {
        let reset = if reset.is_empty() { String::new() } else { format!("reset = \"{reset}\"\n") };
        format!(
            "[[workload]]\nname = \"{name}\"\nprotocol = \"simple\"\ntext = '''\n{script}\n'''\n{reset}\
             define = {{ level = \"off\" }}\n"
        )
    });
    let end = "[[workload]]\nname = \"repaired\"\ntext = 'SELECT 1;'\n\
               reset = \"ALTER SYSTEM RESET full_page_writes; SELECT pg_reload_conf();\"\n";
    let measure = "[measure]\nclients = [1]\njobs = 1\nduration = '200ms'\nwarmup = '10ms'\nblocks = 1\n";
    head + &workloads.collect::<String>() + end + measure
}

fn weak(record: &RunRecord) -> &Doubt {
    let doubt = record.doubts.iter().find(|doubt| doubt.kind == DoubtKind::WeakDurability);
    doubt.expect("it is doubted")
}

/// All that was said, on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn dsn(server: &Value, options: &str) -> String {
    let (dir, port) = (word(server, "socket_dir"), &server["port"]);
    format!("host={dir} port={port} user=postgres dbname=postgres options='{options}'")
}

fn last_run(place: &Place) -> Run {
    let mut runs = place.runs();
    runs.sort_by_key(|run| run.record.started_at.clone());
    runs.pop().expect("it is recorded")
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// Settings that a role, a database or an address gives sessions, and settings changed during the run.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn what_sessions_are_given_is_seen_and_what_changes_in_mid_run() {
        let place = Place::new();
        place.done(&["up", "there", "--pg", "18"]);
        let server = place.only();
        let mut admin = admin(&server);
        let off = "SET synchronous_commit = off";
        let ways = [
            (format!("ALTER ROLE postgres {off}"), "ALTER ROLE postgres RESET ALL", ""),
            (format!("ALTER DATABASE postgres {off}"), "ALTER DATABASE postgres RESET ALL", ""),
            ("SELECT 1".to_owned(), "SELECT 1", "-c synchronous_commit=off"),
        ];
        for (before, after, options) in ways {
            admin.execute(&before).expect("it can be set");
            place.done(&tiny(&["--blocks", "1", "--dsn", &dsn(&server, options)]));
            admin.execute(after).expect("it can be taken back");
            let record = last_run(&place).record;
            assert_eq!(
                record.subjects[0].server.as_ref().expect("known").durability,
                place.tier().max(AsyncCommit),
                "{before}"
            );
            assert!(!weak(&record).cells.is_empty(), "{before}");
        }
        let dsn = dsn(&server, "");
        let args = tiny(&["--blocks", "1", "--duration", "4s", "--dsn", &dsn]);
        let mut child = place.command(&args).spawn().expect("it can be run");
        wait_until("its clients write", || {
            let rows = admin.value("SELECT count(*) FROM pgdyno.pgbench_history");
            rows.is_ok_and(|rows| rows.is_some_and(|rows| rows != "0"))
        });
        for change in ["ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()"] {
            admin.execute(change).expect("it can be changed");
        }
        assert!(child.wait().expect("it ends").success());
        let run = last_run(&place);
        is_complete(&run);
        assert_eq!(
            run.record.subjects[0].server.as_ref().expect("known").durability,
            place.tier().max(AsyncCommit)
        );
        if place.tier() == Full {
            let detail = &weak(&run.record).detail;
            assert!(detail.contains("2 of 2 clients' sessions at the end of the run"), "{detail}");
        }
    }

    /// The comparison that said "slower" of a commit that waits, and "full" of both.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn arms_of_other_tiers_are_distinguished_next_to_the_answer() {
        let place = Place::new();
        let scripts = [("on.sql", "SELECT 1;\n"), ("off.sql", "SET synchronous_commit = off;\nSELECT 1;\n")];
        let paths = scripts.map(|(name, sql)| {
            fs::write(place.path(name), sql).expect("it can be written");
            place.path(name).display().to_string()
        });
        place.done(&["up", "there", "--pg", "18"]);
        let dsn = dsn(&place.only(), "");
        let tiny = "ab --full --scale 1 --clients 2 --duration 300ms --warmup 50ms --blocks 3 --dsn";
        let args: Vec<_> = tiny.split(' ').chain([&*dsn, "-f", &paths[0], "-f", &paths[1]]).collect();
        let output = place.run(&args);
        let said = line(&(text(&output.stdout) + &text(&output.stderr)));
        assert!(output.status.success(), "{said}");
        let record = place.only_run().record;
        let tiers = record.subjects.iter().map(|arm| arm.server.as_ref().expect("known").durability);
        assert_eq!(tiers.collect::<Vec<_>>(), [place.tier(), place.tier().max(AsyncCommit)]);
        if place.tier() == Full {
            let weak = weak(&record);
            assert!(weak.detail.starts_with("B: durability is asynchronous commit"), "{weak:?}");
            assert!(weak.detail.contains("line 1 of off.sql: SET synchronous_commit = off"), "{weak:?}");
            assert_eq!(record.subjects[1].comparable.as_ref().expect("judged").besides, ["durability"]);
            assert!(
                said.contains("Durability differs: A full: ") && said.contains("; B asynchronous commit"),
                "{said}"
            );
        }
    }

    /// `pgbench --record` goes by the same, and asks over its own connections alone, those that end by themselves too.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_recorded_pgbench_run_has_the_tier_of_its_transactions() {
        let place = Place::new();
        place.done(&["up", "there", "--pg", "18"]);
        let server = place.only();
        let (dir, port) = (word(&server, "socket_dir").to_owned(), server["port"].to_string());
        let hidden = "SELECT 'SET synchronous' || '_commit = off' AS it \\gset\n:it;\n";
        let ways = [
            ("full.sql", "SELECT 1;\n", Full),
            ("set.sql", "SET LOCAL synchronous_commit = off;\n", AsyncCommit),
            ("hidden.sql", hidden, AsyncCommit),
        ];
        for (name, sql, tier) in ways {
            fs::write(place.path(name), sql).expect("it can be written");
            let there = ["pgbench", "-h", &dir, "-p", &port, "-U", "postgres", "--record", "-n"];
            let path = place.path(name).display().to_string();
            for how in [["-t", "5", "-c", "3"], ["-T", "1", "-c", "1"]] {
                place.done(&[&there[..], &how, &["-f", &path, "postgres"]].concat());
                let record = last_run(&place).record;
                let found = record.subjects[0].server.as_ref().expect("known").durability;
                assert_eq!(found, place.tier().max(tier), "{name} {how:?}: {:?}", record.runs[0].durability);
                assert_eq!(record.cells[0].durability, Some(found), "{name}");
            }
        }
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn every_workload_has_the_tier_of_its_own_transactions() {
        let place = Place::new();
        let path = place.path("ways.toml");
        fs::write(&path, plan()).expect("it can be written");
        let output =
            place.run(&["run", &path.display().to_string(), "--pg", "18", "--bundle", "--trust", "--full"]);
        let said = line(&(text(&output.stdout) + &text(&output.stderr)));
        assert!(output.status.success(), "{said}");
        let record = place.only_run().record;
        let found: Vec<_> = record
            .cells
            .iter()
            .map(|cell| (&*cell.workload.script, cell.durability.expect("known")))
            .collect();
        let expected: Vec<_> =
            WAYS.iter().map(|(name, _, _, tier)| (*name, place.tier().max(*tier))).collect();
        assert_eq!(found[..WAYS.len()], expected);
        let doubted = &weak(&record).cells;
        assert!(doubted.iter().any(|cell| cell.starts_with("trigger ")), "{doubted:?}");
        if place.tier() == Full {
            assert!(!doubted.iter().any(|cell| cell.starts_with("plain ")), "{doubted:?}");
            let because = |name: &str| {
                let run = record.runs.iter().find(|run| run.workload.script == name).expect("it ran");
                run.durability.as_ref().expect("known").because.join("; ")
            };
            assert_eq!(
                because("set-local"),
                "line 2 of ways.toml (set-local: text): SET synchronous_commit = off"
            );
            assert_eq!(because("trigger"), "function public.on_insert: SET synchronous_commit = off");
            assert_eq!(
                because("role"),
                "the clients' sessions had synchronous_commit = off; 1 of 1 clients' sessions at \
                                         the end of the run had synchronous_commit = off"
            );
            assert!(
                because("hidden").starts_with("1 of 1 clients' sessions at the end"),
                "{}",
                because("hidden")
            );
            assert!(because("dynamic").contains("assembled at run time"));
            assert!(
                said.contains("Durability differs: unlogged (simple)/1 none: tables are unlogged"),
                "{said}"
            );
        }
        place.nothing_is_left();
    }
}
