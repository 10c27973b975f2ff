//! Comparisons in slots over connections that stay open.

use std::{collections::BTreeSet, fs};

use pgdyno_core::measure::CellRun;

use crate::common::{Place, brief, holds_together, is_complete, word};

/// Numbers of the server processes that answered the slowest transactions of an arm in the blocks of a start.
fn processes(runs: &[CellRun], arm: &str, blocks: std::ops::Range<u32>) -> BTreeSet<u32> {
    let of_start = runs.iter().filter(|run| blocks.contains(&run.block));
    let of_arm = of_start.filter(|run| run.workload.subject.as_deref() == Some(arm));
    of_arm.flat_map(|run| &run.slowest).filter_map(|slow| slow.backend_pid).collect()
}

/// 60 clients have room at this server, those of both arms have not.
#[test]
fn clients_of_both_arms_need_room_at_one_server() {
    let place = Place::new();
    place.done(&["up", "there", "--pg", "18", "--bundle", "--set", "max_connections=100"]);
    let server = place.only();
    let dsn =
        format!("host={} port={} user=postgres dbname=postgres", word(&server, "socket_dir"), server["port"]);
    let arms =
        ["ab", "--dsn", &dsn, "-b", "select-only", "-b", "simple-update", "--dry-run", "--clients", "60"];
    place.done(&arms);
    let err = place.refused(&[&arms[..], &["--slots"]].concat(), 3);
    assert!(err.contains("in slots the clients of both arms stay connected: 120 clients are more"), "{err}");
    assert!(err.contains("max_connections (100"), "{err}");
}

#[test]
fn what_cannot_run_in_slots_is_refused_by_name() {
    let place = Place::new();
    let plan = |name: &str, text: &str| {
        fs::write(place.path(name), text).expect("it can be written");
        place.path(name).display().to_string()
    };
    let reset = plan(
        "reset.toml",
        "name = \"reset\"\n[data]\nsetup_text = \"CREATE TABLE t (a int)\"\n[measure]\nclients = [1]\n\
         [[workload]]\nname = \"w\"\ntext = \"INSERT INTO t VALUES (1);\"\nreset = \"TRUNCATE t\"\n",
    );
    let paced = plan(
        "paced.toml",
        "name = \"paced\"\n[data.tpcc]\nwarehouses = 1\n[measure]\nclients = [2]\n[[workload]]\n\
         tpcc = { paced = true }\n",
    );
    for (args, why) in [
        (vec!["--command", "true", "--command", "false"], "a command makes connections of its own"),
        (vec!["--plan", &reset, "default", "default"], "the plan resets its data before every run"),
        (vec!["--plan", &paced, "default", "default"], "keying and think times need longer runs"),
    ] {
        let err = place.refused(&[&["ab", "--slots"], &args[..]].concat(), 2);
        assert!(err.contains("could not compare in slots: ") && err.contains(why), "{err}");
        assert!(err.contains("leave out --slots"), "{err}");
    }
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// Each client keeps its connection within a start, and servers are settled after it: what was written in slots and
    /// practice runs is found in the data.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn clients_keep_their_connections_from_slot_to_slot() {
        let place = Place::new();
        let args = ["ab", "--slots", "--bundle", "--pg", "18", "default", "default", "--margin", "0.01%"];
        let tiny = [
            "--scale",
            "2",
            "--clients",
            "2",
            "--warmup",
            "50ms",
            "--duration",
            brief(),
            "--blocks",
            "16",
            "--full",
        ];
        let out = place.done(&[&args[..], &tiny].concat());
        let run = place.only_run();
        is_complete(&run);
        let record = &run.record;
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            record.plan.slots && words.contains("Runs were slots over connections that stayed open"),
            "{out}"
        );
        let starts = record.starts.len() as u32;
        assert_eq!((starts, record.plan.blocks_per_start, record.runs.len()), (4, Some(4), 32), "{out}");
        assert!(record.runs.iter().all(|run| run.connect_ns == 0 && run.checkpoint_s == Some(0.0)));
        let all = BTreeSet::from_iter((0..starts).flat_map(|start| ["A", "B"].map(|arm| (start, arm))));
        let pids: Vec<_> = all
            .into_iter()
            .map(|(start, arm)| processes(&record.runs, arm, 4 * start..4 * start + 4))
            .collect();
        assert!(pids.iter().all(|pids| (1..=2).contains(&pids.len())), "two clients a start: {pids:?}");
        for subject in &record.subjects {
            let balance = subject.balance.as_ref().expect("it was checked");
            assert!(balance.violations == 0 && balance.committed > 0, "{balance:?}");
        }
        place.nothing_is_left();
    }

    /// A connection that the server ended is made again for the next slot.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_lost_connection_is_made_again_for_the_next_slot() {
        let place = Place::new();
        let script = place.path("dies.sql");
        // One session in about two hundred transactions ends itself.
        let sql = "\\set r random(1, 200)\n\\if :r = 1\nSELECT pg_terminate_backend(pg_backend_pid());\n\\endif\n\
                   SELECT 1;\n";
        fs::write(&script, sql).expect("it can be written");
        let script = script.display().to_string();
        let args =
            ["ab", "--slots", "--bundle", "--pg", "18", "default", "default", "--trust", "-f", &script];
        let tiny = ["--scale", "1", "--clients", "2", "--warmup", "50ms", "--duration", brief()];
        place.done(&[&args[..], &tiny, &["--blocks", "3", "--restart", "never", "--margin", "50%"]].concat());
        let run = place.only_run();
        holds_together(&run);
        let lost: u64 = run.record.runs.iter().filter_map(|run| run.outage.as_ref()).map(|of| of.lost).sum();
        assert!(lost > 0 && run.record.runs.iter().all(|run| run.counts.committed > 0), "{lost} were lost");
        place.nothing_is_left();
    }
}
