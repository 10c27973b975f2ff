//! Published configurations: what a server gets of them, and what is reported of the rest.
//!
//! Seen to fail where settings that weaken durability apply unasked, where a value that the server refuses is kept,
//! where storage options of tables are not written, and where a comparison does not know of a requested preset.

use std::fs;

use pgdyno_core::facts::{DurabilityTier, PresetFacts};
use pgdyno_record::RunRecord;
use serde_json::Value;

use crate::common::{OLDEST, Place, admin, is_complete, text, tiny};

/// Settings as the server shows them, of those that its configuration files set without an error.
fn shown(server: &Value, name: &str) -> Option<String> {
    let mut session = admin(server);
    session.value(&format!("SHOW {name}")).expect("it answers")
}

fn reason<'a>(preset: &'a PresetFacts, name: &str) -> &'a str {
    let change = preset.changes.iter().find(|change| change.name == name);
    &change.unwrap_or_else(|| panic!("{name} is not reported: {preset:?}")).reason
}

/// The article's own major gets what was published, but for what the machine and durability need otherwise.
#[test]
fn a_preset_is_applied_and_the_rest_is_reported() {
    let place = Place::new();
    let said =
        place.done(&["up", "--pg", OLDEST, "--bundle", "--preset", "scaleup-9.6", "--set", "work_mem=5MB"]);
    assert!(said.contains("preset scaleup-9.6 (PostgreSQL 9.6 against 9.5, 2016: that of 9.6): "), "{said}");
    assert!(said.contains("full_page_writes, synchronous_commit\n      it weakens durability"), "{said}");
    assert!(said.contains(" has no such setting") && said.contains("backend_flush_after"), "{said}");
    let server = place.only();
    for (name, value) in [
        ("checkpoint_timeout", "55min"),
        ("dynamic_shared_memory_type", "sysv"),
        ("autovacuum_naptime", "10s"),
        ("work_mem", "5MB"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("logging_collector", "off"),
    ] {
        assert_eq!(shown(&server, name).as_deref(), Some(value), "{name}");
    }
    place.done(&["down", "main"]);
    // A stopped server keeps its preset.
    let again = place.done(&["up"]);
    assert!(again.contains("preset scaleup-9.6 "), "{again}");
    assert_eq!(shown(&place.only(), "checkpoint_timeout").as_deref(), Some("55min"));
    place.refused(&["up", "--preset", "storage-12"], 2);
}

/// A measurement with a file of the user: the record and the report say what was left out.
fn a_file_is_measured(pg: &str) {
    let place = Place::new();
    let conf = "# mine\nfsync = off\nwork_mem = 9MB\nnosuch_setting = 1\nwal_keep_segments = 8\n\
                archive_command = 'touch /tmp/pgdyno-was-here %p'\narchive_mode = on\nport = 1\n\
                synchronous_standby_names = 'nobody'\ncheckpoint_timeout = 1000000h\n";
    fs::write(place.path("mine.conf"), conf).expect("it can be written");
    let measured = |flags: &[&str]| -> RunRecord {
        let output = place.run(&tiny(&[&["--pg", pg, "--preset", "./mine.conf"], flags].concat()));
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{said}");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("preset ./mine.conf"), "{said}");
        assert!(words.contains("left out nosuch_setting: PostgreSQL"), "{said}");
        let run = place.runs().into_iter().max_by_key(|run| run.record.started_at.clone()).expect("recorded");
        is_complete(&run);
        run.record
    };
    let record = measured(&[]);
    let subject = &record.subjects[0];
    let (preset, server) =
        (subject.preset.as_ref().expect("it is recorded"), subject.server.as_ref().expect("known"));
    assert_eq!((server.in_force("work_mem"), server.durability), (Some("9MB"), place.tier()));
    assert!(reason(preset, "fsync").contains("weakens durability"));
    assert!(reason(preset, "nosuch_setting").ends_with("has no such setting"));
    assert!(reason(preset, "archive_command").contains("run a program"));
    assert!(reason(preset, "checkpoint_timeout").contains("refuses"), "{preset:?}");
    assert!(reason(preset, "synchronous_standby_names").contains("not there"));
    assert_eq!(server.in_force("wal_keep_size").is_some(), pg != OLDEST);
    place.done(&["report", "last", "--out", "report.md"]);
    let report = fs::read_to_string(place.path("report.md")).expect("it is written");
    assert!(report.contains("Preset") && report.contains("nosuch"), "{report}");
    let record = measured(&["--as-published"]);
    let server = record.subjects[0].server.as_ref().expect("known");
    assert_eq!(server.durability, DurabilityTier::NoSync.max(place.tier()));
    assert!(server.in_force("archive_command").is_none_or(str::is_empty), "a file never runs programs");
    place.nothing_is_left();
}

#[test]
fn what_is_wrong_with_a_preset_is_reported_before_a_server_is_made() {
    let place = Place::new();
    let said = place.refused(&["up", "--preset", "tpcc-9.7"], 2);
    assert!(
        said.starts_with("error: there is no preset `tpcc-9.7`\nhint: the presets are storage-12, "),
        "{said}"
    );
    let said = place.refused(&tiny(&["--as-published"]), 2);
    assert!(said.contains("could not apply a preset as published: none is named"), "{said}");
    let said = place.refused(&["up", "--preset", "./nosuch.conf"], 2);
    assert!(said.contains("could not read the configuration ./nosuch.conf"), "{said}");
    fs::write(place.path("wrong.conf"), "work_mem = 1MB\nwork_mem 1 2\n").expect("it can be written");
    let said = place.refused(&["up", "--preset", "wrong.conf"], 2);
    assert!(said.starts_with("error: could not read wrong.conf: line 2 is no setting"), "{said}");
    let said = place.refused(&["up", "--allow", "10.0.0.0/8"], 2);
    assert!(said.contains("does not listen on TCP"), "{said}");
    let said = place.refused(&["up", "--listen", "127.0.0.1", "--allow", "all trust"], 2);
    assert!(said.contains("`all trust` is no network"), "{said}");
    place.nothing_is_left();
}

/// Presets and tables of each subject of a plan are announced; the path of a file counts from the plan.
#[test]
fn a_plan_names_presets_and_tables_for_each_subject() {
    let place = Place::new();
    fs::create_dir(place.path("plans")).expect("it can be made");
    fs::write(place.path("plans/own.conf"), "jit = off\n").expect("it can be written");
    let plan = "name = \"x\"\n[server]\npg = \"18\"\nbundle = true\n[data]\nscale = 1\n\
                [[subject]]\nname = \"one\"\npreset = \"./own.conf\"\n\
                [[subject]]\nname = \"parts\"\npreset = \"ten-billion-11\"\n\
                load = { partitions = 4, fillfactor = 90 }\n\
                [[workload]]\nscript = \"select-only\"\n[measure]\nclients = [1]\nduration = \"200ms\"\n";
    fs::write(place.path("plans/x.toml"), plan).expect("it can be written");
    let output = place.run(&["run", "plans/x.toml", "--dry-run"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "preset one: plans/./own.conf: 1 of 1 settings",
        "preset parts: ten-billion-11",
        "4 partitions by range",
    ] {
        assert!(words.contains(expected), "{expected}: {said}");
    }
    assert!(words.contains("synchronous_commit: it weakens durability"), "{said}");
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use pgdyno_analysis::compare::Fairness;
    use pgdyno_core::facts::Transport;

    use super::*;
    use crate::common::Small;

    /// Every setting of every preset that a server gets is one that it has, with a value that it accepts.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn every_setting_is_known_to_its_server() {
        let names = [
            "storage-12",
            "tpcc-9.5",
            "tpcc-9.5-stage-3",
            "tpcc-9.5-stage-4",
            "scaleup-9.5",
            "scaleup-9.6",
            "ten-billion-11",
            "trillion-11",
        ];
        for pg in [OLDEST, "9.6", "11", "15", "18"] {
            let place = Place::new();
            for (at, preset) in names.into_iter().enumerate() {
                let name = format!("s{at}");
                place.done(&["up", &name, "--pg", pg, "--bundle", "--preset", preset]);
                let server = place.only();
                let mut session = admin(&server);
                let wrong = "SELECT string_agg(f.name || ': ' || coalesce(f.error, 'it is unknown'), '; ') \
                             FROM pg_file_settings f LEFT JOIN pg_settings s ON lower(s.name) = lower(f.name) \
                             WHERE f.sourcefile LIKE '%pgdyno.conf' AND (f.error IS NOT NULL OR s.name IS NULL)";
                assert_eq!(session.value(wrong).expect("it answers"), None, "{preset} on {pg}");
                let weak = "SELECT string_agg(name, ', ') FROM pg_settings WHERE setting = 'off' AND name IN \
                            ('fsync', 'full_page_writes', 'synchronous_commit')";
                assert_eq!(session.value(weak).expect("it answers"), None, "{preset} on {pg}");
                drop(session);
                place.done(&["down", &name, "--remove"]);
            }
        }
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_file_is_measured_on_the_oldest_major() {
        a_file_is_measured(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_file_is_measured_on_the_newest_major() {
        a_file_is_measured("18");
    }

    /// Where presets, addresses or tables were asked to differ, that is what differs, and nothing besides.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn what_subjects_differ_in_was_asked() {
        let place = Place::new();
        fs::write(
            place.path("off.conf"),
            "jit = off\nDateStyle = 'iso, mdy'\nsynchronous_commit = off\nmax_connections = 1000\n",
        )
        .expect("a file");
        let plan = "name = \"x\"\n[server]\npg = \"18\"\nbundle = true\n[data]\nscale = 1\n\
                    [[subject]]\nname = \"usual\"\n\
                    [[subject]]\nname = \"preset\"\npreset = \"./off.conf\"\nas_published = true\n\
                    [[subject]]\nname = \"tcp\"\nlisten = \"127.0.0.1\"\nallow = [\"samehost\"]\n\
                    [[subject]]\nname = \"tables\"\n[subject.load]\npartitions = 4\n\
                    table_options = { \"accounts.parallel_workers\" = \"2\" }\n\
                    [[workload]]\nscript = \"select-only\"\n\
                    [measure]\nclients = [2]\nduration = \"300ms\"\nwarmup = \"50ms\"\nblocks = 1\n";
        fs::write(place.path("x.toml"), plan).expect("it can be written");
        place.done(&["run", "x.toml"]);
        let run = place.only_run();
        is_complete(&run);
        let subjects = &run.record.subjects;
        for (index, asked) in [(1, "jit"), (2, "transport"), (3, "table option accounts.parallel_workers")] {
            let subject = &subjects[index];
            let comparable = subject.comparable.as_ref().expect("it is judged");
            assert_eq!(
                comparable.verdict,
                Fairness::AlikeButForWhatWasAsked,
                "{}: {comparable:?}",
                subject.name
            );
            assert!(comparable.asked.iter().any(|what| what == asked), "{}: {comparable:?}", subject.name);
        }
        let transport = |index: usize| subjects[index].connection_facts().and_then(|facts| facts.transport);
        assert_eq!((transport(0), transport(2)), (Some(Transport::UnixSocket), Some(Transport::Tcp)));
        let durability = |index: usize| subjects[index].server.as_ref().expect("known").durability;
        assert_eq!(durability(1), DurabilityTier::AsyncCommit.max(place.tier()));
        let options = |index: usize| {
            let load = subjects[index].load.as_ref().expect("it was loaded");
            load.accounts.as_ref().expect("known").options.clone()
        };
        assert_eq!((options(0), options(3)), (vec![], vec!["parallel_workers=2".to_owned()]));
        place.done(&["report", "last", "--out", "report.md"]);
        let report = fs::read_to_string(place.path("report.md")).expect("it is written");
        assert!(report.contains("accounts.parallel"), "{report}");
        place.nothing_is_left();
    }

    /// What a version does not know of storage options is said by the server, before a table is made.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn an_option_of_tables_that_the_server_lacks_is_refused() {
        let place = Place::new();
        for (pg, option, said) in [
            (OLDEST, "accounts.parallel_workers=2", "parallel_workers"),
            ("18", "no_such_option=2", "no_such_option"),
            ("18", "accounts.parallel_workers=99999", "parallel_workers"),
        ] {
            let output = place.run(&tiny(&["--pg", pg, "--table-option", option]));
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.code(), Some(2), "{out}{err}");
            assert!(
                err.contains(&format!("error: could not load with the table option `{option}`")),
                "{err}"
            );
            assert!(err.contains(said), "{err}");
        }
        let said = place.refused(&tiny(&["--pg", "18", "--table-option", "nosuch.fillfactor=70"]), 2);
        assert!(said.contains("is about no table of tpcb: branches, tellers, accounts, history"), "{said}");
        place.nothing_is_left();
    }

    /// A tablespace on a small disk of its own is found too small before a row is written.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_full_tablespace_is_named() {
        let place = Place::new();
        let Some(disk) = Small::mount(24) else { return };
        let space = disk.0.path().join("space").display().to_string();
        let plan = format!(
            "name = \"x\"\n[server]\npg = \"18\"\nbundle = true\ntablespaces = {{ small = \"{space}\" }}\n\
             [data]\nscale = 4\n[load]\ntablespace = \"small\"\n[[workload]]\nscript = \"select-only\"\n"
        );
        fs::write(place.path("x.toml"), plan).expect("it can be written");
        let output = place.run(&["run", "x.toml"]);
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{said}");
        assert!(said.contains(&*disk.0.path().display().to_string()), "it names the disk: {said}");
        place.nothing_is_left();
    }
}
