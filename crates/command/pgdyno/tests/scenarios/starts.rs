//! Servers that are restarted between blocks.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use pgdyno_analysis::DoubtKind;
use pgdyno_record::{Run, Status};

use crate::common::{OLDEST, Place, brief, holds_together, is_complete, text, wait_until, word};

/// A short comparison of a server with itself.
fn ab<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let tiny = ["ab", "--bundle", "--scale", "1", "--clients", "1", "--warmup", "50ms", "--blocks", "8"];
    let length = ["--duration", brief()];
    tiny.iter().chain(&length).chain(more).copied().collect()
}

fn has_doubt(run: &Run, kind: DoubtKind) -> bool {
    run.record.doubts.iter().any(|doubt| doubt.kind == kind)
}

#[test]
fn servers_that_cannot_restart_are_refused_by_name() {
    let place = Place::new();
    place.done(&["up", "there"]);
    let server = place.only();
    let dsn =
        format!("host={} port={} user=postgres dbname=postgres", word(&server, "socket_dir"), server["port"]);
    let err =
        place.refused(&["ab", "--dsn", &dsn, "-M", "simple", "-M", "prepared", "--restart", "always"], 2);
    assert!(err.contains("pgdyno does not restart existing servers"), "{err}");
    let odd = place.refused(&["ab", "default", "default", "--blocks", "9", "--restart", "always"], 2);
    assert!(odd.contains("9 blocks do not make 4 starts of 2"), "{odd}");
    let word = place.refused(&["ab", "default", "default", "--restart", "often"], 2);
    assert!(word.contains("auto, always or never"), "{word}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// Both arms write the same format, so their data changes hands at every start; every commit of practice runs too
    /// is found in the data where it was made.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn servers_restart_and_pass_on_their_data() {
        let place = Place::new();
        let out = place.done(&ab(&["--pg", "18", "default", "default", "--margin", "50%", "--full"]));
        let run = place.only_run();
        is_complete(&run);
        let starts = &run.record.starts;
        assert_eq!(run.record.plan.blocks_per_start, Some(2));
        assert!(
            starts.iter().all(|start| start.restart_s.is_some() && start.practice.len() == 2),
            "{starts:?}"
        );
        let shifts: Vec<_> = starts.iter().map(|start| start.data_shift).collect();
        assert_eq!(shifts, [None, Some(1), None, Some(1)]);
        let comparison = run.record.comparison.as_ref().expect("it is one");
        let of_blocks: Vec<_> = comparison.blocks.iter().filter_map(|block| block.start).collect();
        assert_eq!(of_blocks, [1, 1, 2, 2, 3, 3, 4, 4]);
        assert_eq!(comparison.starts.as_ref().map(|scatter| scatter.starts), Some(4));
        for subject in &run.record.subjects {
            let balance = subject.balance.as_ref().expect("it was checked");
            let practised = starts.iter().flat_map(|start| &start.practice).map(|of| of.committed).min();
            assert!(balance.violations == 0 && practised.is_some_and(|least| least > 0), "{balance:?}");
        }
        assert!(!has_doubt(&run, DoubtKind::OneStart));
        assert!(out.contains("Over 4 starts of both servers") && !out.contains("for this pair"), "{out}");
        place.nothing_is_left();
    }

    /// Programs that use all processors disturb the first blocks, before they are what is usual here. Those blocks stay
    /// in the record and do not count.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn blocks_disturbed_by_other_load_are_measured_again() {
        let place = Place::with_disturbed_blocks_repeated();
        let spin =
            || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell can be run");
        let mut hogs: Vec<Child> = (0..4).map(|_| spin()).collect();
        let args = ["ab", "--bundle", "--pg", "18", "--scale", "1", "--clients", "1", "--warmup", "50ms"];
        let more = ["--duration", "1s", "--blocks", "3", "-b", "select-only", "--full", "default", "default"];
        let output = place.run(&[&args[..], &more].concat());
        for hog in &mut hogs {
            hog.kill().expect("it is ours");
            hog.wait().expect("it has ended");
        }
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{out}{err}");
        let run = place.only_run();
        holds_together(&run);
        let comparison = run.record.comparison.as_ref().expect("it is one");
        let disturbed: Vec<bool> = comparison.blocks.iter().map(|block| block.disturbed.is_some()).collect();
        assert!(disturbed.len() >= 6 && disturbed[..3] == [true; 3], "{disturbed:?}");
        assert!(comparison.too_disturbed || comparison.undisturbed().count() == 3, "{disturbed:?}");
        assert!(err.contains("block 1 does not count: other programs used"), "{err}");
        assert!(out.contains("not counted: other programs used"), "{out}");
    }

    /// Several subjects begin every pass over the levels with new starts.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn subjects_of_a_plan_restart_before_every_block() {
        let place = Place::new();
        let plan = format!(
            "name = \"two\"\n[data]\nscale = 1\n[measure]\nclients = [1, 2]\nduration = \"{}\"\nwarmup = \"50ms\"\n\
             blocks = 3\n[[workload]]\nscript = \"tpcb-like\"\n[[workload]]\nscript = \"select-only\"\n",
            brief()
        );
        fs::write(place.path("plan.toml"), plan).expect("it can be written");
        let file = place.path("plan.toml").display().to_string();
        let args = ["run", &file, "--subject", "pg=18,bundle", "--subject", "pg=18,bundle,set:jit=off"];
        place.done(&args);
        let run = place.only_run();
        is_complete(&run);
        assert_eq!((run.record.plan.blocks_per_start, run.record.starts.len()), (Some(1), 6));
        assert!(!has_doubt(&run, DoubtKind::OneStart));
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn programs_of_two_formats_keep_their_data() {
        let place = Place::new();
        place.done(&ab(&["--pg", OLDEST, "--pg", "18", "-b", "select-only"]));
        let run = place.only_run();
        is_complete(&run);
        assert_eq!(run.record.starts.len(), 4);
        assert!(run.record.starts.iter().all(|start| start.data_shift.is_none()));
        place.nothing_is_left();
    }

    /// One script does much more than the other, and both commit often enough to be judged, so there is an answer; it
    /// is about these servers alone.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn one_start_is_said_and_doubted() {
        let place = Place::new();
        let script = |name: &str, sql: &str| {
            fs::write(place.path(name), sql).expect("it can be written");
            place.path(name).display().to_string()
        };
        let fast = script("fast.sql", "SELECT 1;");
        let slow = script("slow.sql", "SELECT count(*) FROM generate_series(1, 2000);");
        let out = place.done(&ab(&["--pg", "18", "-f", &fast, "-f", &slow, "--restart", "never"]));
        let run = place.only_run();
        holds_together(&run);
        assert_eq!((run.record.plan.blocks_per_start, run.record.starts.len()), (None, 1));
        assert!(run.record.starts[0].restart_s.is_none() && run.record.starts[0].practice.len() == 2);
        assert!(has_doubt(&run, DoubtKind::OneStart));
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(" slower [") && words.contains("], for this pair of servers."), "{out}");
    }

    /// The settings of a server were broken while it ran: what was measured before is kept, and nothing else.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_server_that_does_not_start_again_ends_it() {
        let place = Place::new();
        let args = ab(&["--pg", "18", "-b", "select-only", "default", "default", "--margin", "0.01%"]);
        let mut command = place.command(&args);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
        let logs = || {
            let runs = fs::read_dir(place.path("runs")).into_iter().flatten().flatten();
            runs.map(|run| run.path().join("events.ndjson.partial")).collect::<Vec<PathBuf>>()
        };
        let measured = |log: &PathBuf| {
            fs::read_to_string(log).is_ok_and(|text| text.contains(r#""event":"run-recorded""#))
        };
        wait_until("a run was measured", || logs().iter().any(measured));
        let servers = fs::read_dir(place.path("state/servers")).expect("there are two").flatten();
        for conf in servers.map(|server| server.path().join("data/postgresql.auto.conf")) {
            fs::write(conf, "shared_buffers = nonsense\n").expect("it can be written");
        }
        let output = child.wait_with_output().expect("it ends");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{err}");
        assert!(err.contains("could not start the server"), "{err}");
        let run = place.only_run();
        assert_eq!(run.record.status, Status::Stopped);
        let blocks = run.record.comparison.as_ref().map(|comparison| comparison.blocks.len());
        assert_eq!(blocks, Some(2), "those of the first start: {err}");
        place.nothing_is_left();
    }
}
