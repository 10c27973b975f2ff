//! `pgdyno selftest`, and what `bench` makes of it.

use std::fs;

use pgdyno_analysis::DoubtKind;
use pgdyno_core::facts::Instrument;

use crate::common::{Place, kill, text, tiny, wait_until};

/// Measured once for all that follows: it takes some seconds.
fn measured(place: &Place) -> Instrument {
    let printed = place.done(&["selftest", "--json"]);
    let kept = fs::read_to_string(place.path("state/selftest.json")).expect("it is kept");
    assert_eq!(printed, kept, "what is printed is what is kept");
    serde_json::from_str(&kept).expect("it is JSON")
}

/// How many runs of a tiny bench have the doubt, and its words.
fn doubted(place: &Place, more: &[&str]) -> Vec<String> {
    place.done(&tiny(more));
    let run = place.runs().pop().expect("a run");
    let near = run.record.doubts.iter().filter(|doubt| doubt.kind == DoubtKind::NearCeiling);
    near.map(|doubt| doubt.detail.clone()).collect()
}

fn keep(place: &Place, instrument: &Instrument) {
    let json = serde_json::to_string(instrument).expect("it is JSON");
    fs::write(place.path("state/selftest.json"), json).expect("it can be written");
}

/// Whether a process has a handler for SIGINT, the second signal (`proc_pid_status(5)`).
fn heeds_ctrl_c(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

#[test]
fn what_is_interrupted_is_not_kept() {
    let place = Place::new();
    let child = place
        .command(&["selftest"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until("it heeds Ctrl-C", || heeds_ctrl_c(child.id()));
    kill(u64::from(child.id()), "-INT");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("interrupted"), "{}", text(&output.stderr));
    assert!(!place.path("state/selftest.json").exists());
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn floor_and_ceiling_are_measured_and_a_run_near_the_ceiling_is_doubted() {
        let place = Place::new();
        let found = measured(&place);
        assert!(found.clock.cost_ns > 0.0 && found.clock.resolution_ns > 0, "{found:?}");
        assert!(found.recording_ns > 0.0 && found.null_attempts_per_s > 1_000.0, "{found:?}");
        // Epoll works everywhere; io_uring has figures if it works here.
        assert!(found.timers.iter().any(|timer| timer.waiting == "epoll" && timer.waits > 100), "{found:?}");
        assert_eq!(found.ceilings.len(), 2 * found.timers.len());
        assert!(found.ceilings.iter().all(|ceiling| ceiling.round_trips_per_cpu_s > 100.0), "{found:?}");

        // As it is on this machine, a server that does some work is far from it; the fault is a ceiling that is as low
        // as what the run will do.
        let low = |instrument: &Instrument| {
            let mut low = instrument.clone();
            low.ceilings.iter_mut().for_each(|ceiling| ceiling.round_trips_per_cpu_s = 10.0);
            low
        };
        keep(&place, &low(&found));
        let details = doubted(&place, &[]);
        assert_eq!(details.len(), 1, "{details:?}");
        assert!(details[0].contains("`pgdyno selftest`"), "{details:?}");

        // Figures of another machine or program, or of none, say nothing about this one.
        let mut elsewhere = low(&found);
        elsewhere.machine.kernel = "2.0.36".to_owned();
        keep(&place, &elsewhere);
        assert_eq!(doubted(&place, &[]), [""; 0]);
        fs::write(place.path("state/selftest.json"), "{").expect("it can be written");
        assert_eq!(doubted(&place, &[]), [""; 0]);
        place.cleaned();
        assert!(!place.path("state/selftest.json").exists());
    }

    /// Where nothing can be kept, it is printed all the same.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_table_says_what_it_is_also_where_nothing_can_be_kept() {
        let place = Place::new();
        fs::write(place.path("state"), "a file where a directory should be").expect("it can be written");
        let output = place.run(&["selftest"]);
        let (printed, said) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && said.contains("warning: could not write"), "{said}");
        for words in [
            "selftest · pgdyno",
            "null target",
            "CEILING: round trips/s",
            "FLOOR: how late a wait of 100 µs ends",
        ] {
            assert!(printed.contains(words), "{words}: {printed}");
        }
        assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
        fs::remove_file(place.path("state")).expect("it is ours");
    }
}
