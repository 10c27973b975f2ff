//! Profiles of the server's processes, and what is said where there are none.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use crate::common::{Place, admin, brief, holds_together, text, tiny};
use pgdyno_core::profile::StackKind;
use pgdyno_record::Status;

/// Runs a command with a program in place of perf.
fn with_perf(place: &Place, script: &str, args: &[&str]) -> Output {
    let dir = place.path("programs");
    fs::create_dir_all(&dir).expect("there is room");
    let perf = dir.join("perf");
    fs::write(&perf, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    fs::set_permissions(&perf, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = std::env::var("PATH").expect("there is one");
    place.command(args).env("PATH", format!("{}:{path}", dir.display())).output().expect("pgdyno can be run")
}

/// A plan with one cell.
fn plan(place: &Place) -> &'static [&'static str] {
    let plan = format!(
        "name = \"one\"\n[data]\nscale = \"none\"\n[[workload]]\nname = \"one\"\ntext = \"SELECT 1\"\n\
         [measure]\nclients = [2]\nblocks = 1\nduration = \"{}\"\nwarmup = \"50ms\"\nprofile = \"auto\"\n",
        brief()
    );
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
    &["run", "plan.toml", "--pg", "18", "--bundle"]
}

/// Files of profiles, and those that are there only while one is taken.
fn files_of_profiles(run: &Path) -> Vec<String> {
    let names = fs::read_dir(run).expect("it is there").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("profile") || name.contains("perf")).collect()
}

#[test]
fn a_perf_that_refuses_is_a_warning_and_not_the_end() {
    let place = Place::new();
    let refuses = "[ \"$1\" = --version ] && { echo perf version 6.1.187; exit; }\n\
                   echo 'Error:' >&2; echo 'No permission to enable cycles event.' >&2; exit 255";
    let output = with_perf(&place, refuses, plan(&place));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let why = "perf failed (exit status: 255): No permission to enable cycles event.";
    assert!(said.contains(why), "{said}");
    let run = place.only_run();
    holds_together(&run);
    assert_eq!(run.record.status, Status::Complete);
    let [profile] = run.record.profiles.as_slice() else { panic!("{:?}", run.record.profiles) };
    assert_eq!((profile.failed, profile.missing.as_deref(), &profile.profile), (1, Some(why), &None));
    assert_eq!(files_of_profiles(&run.path), Vec::<String>::new());
    assert!(place.done(&["show", "last", "--full"]).contains("No profile of one/2"));
    place.nothing_is_left();
}

mod long {
    use super::*;
    use testkit::left_out;

    /// Whether perf can sample a process of its own here; says so if it cannot.
    fn can_sample() -> bool {
        let tried = Command::new("perf").args(["record", "-q", "-o", "/dev/null", "true"]).output();
        let works = tried.as_ref().is_ok_and(|tried| tried.status.success());
        if !works {
            left_out(&format!("perf samples nothing here: {tried:?}"));
        }
        works
    }

    #[test]
    #[ignore = "makes long runs"]
    fn functions_of_server_and_kernel_are_sampled_in_measured_intervals() {
        if !can_sample() {
            return;
        }
        let place = Place::new();
        let args = tiny(&["--profile", "--pg", "18", "--bundle", "--duration", "3s"]);
        place.done(&args);
        let run = place.only_run();
        holds_together(&run);
        assert!(run.record.command.contains(" --profile=auto"), "{}", run.record.command);
        let load = run.record.profiles[0].clone();
        assert_eq!((load.stage.as_deref(), load.failed, &load.missing), (Some("load"), 0, &None), "{load:?}");
        assert!(load.profile.is_some_and(|profile| profile.samples > 3), "its tables are loaded");
        assert_eq!(run.record.profiles.len(), 1 + run.record.cells.len());
        for (at, record) in run.record.profiles.iter().enumerate().skip(1) {
            assert_eq!((record.recordings, record.failed, &record.missing), (2, 0, &None), "{record:?}");
            let profile = record.profile.as_ref().expect("it was sampled");
            assert!((profile.over_s - 6.0).abs() < 1.0, "{profile:?}");
            assert!(profile.samples > 30 && profile.server_samples > 0, "{profile:?}");
            let sides = profile.server_samples + profile.kernel_samples + profile.library_samples;
            assert!(sides <= profile.samples, "{profile:?}");
            // By the processes' own clocks.
            let runs = run.record.runs.iter().filter(|of| Some(&of.workload) == record.workload.as_ref());
            let cpus: Vec<f64> =
                runs.filter_map(|of| Some(of.cpu.server_s? * 1e9 / of.duration_ns as f64)).collect();
            let cpus = cpus.iter().sum::<f64>() / cpus.len() as f64;
            let sampled = profile.cpus.expect("it is known");
            assert!((sampled / cpus - 1.0).abs() < 0.3, "{sampled} {cpus}");
            let program = profile.program.as_ref().expect("it is ours");
            assert!(program.path.ends_with("/bin/postgres") && program.build_id.is_some(), "{program:?}");
            let stacks = run.stacks_of(at).expect("they are there");
            assert!(stacks.contains("client backend;"), "{stacks}");
            assert!(stacks.contains(";PostgresMain;"), "stacks reach the main loop: {stacks}");
            let samples: u64 =
                stacks.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
            assert_eq!(samples, profile.samples);
        }
        let page = fs::read_to_string(run.path.join("report.html")).expect("it is written");
        assert!(page.contains("svg class=\"flame\"") && page.contains("PostgresMain"));
        assert!(files_of_profiles(&run.path).iter().all(|name| name.ends_with(".folded")));
        let shown = place.done(&["show", "last", "--full"]);
        assert!(shown.contains("PROFILE: WHERE THE SERVER SPENT CPU TIME"), "{shown}");
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "makes two runs"]
    fn stages_of_a_load_and_existing_servers_are_profiled() {
        if !can_sample() {
            return;
        }
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        place.done(&["load", "tpcb", "--server", "main", "--scale", "20", "--jobs", "2", "--profile=fp"]);
        let run = place.runs().pop().expect("it was recorded");
        holds_together(&run);
        let stages: Vec<_> =
            run.record.profiles.iter().map(|of| of.stage.clone().expect("a stage")).collect();
        assert!(
            stages.len() > 2 && run.record.profiles.iter().all(|of| of.failed == 0),
            "{:?}",
            run.record.profiles
        );
        let sampled = run.record.profiles.iter().filter_map(|of| of.profile.as_ref());
        let most = sampled.max_by_key(|profile| profile.samples).expect("they were sampled");
        assert!(most.samples > 10 && most.stacks == StackKind::Fp, "{stages:?}: {most:?}");
        assert!((0..stages.len()).all(|at| run.stacks_of(at).is_some()), "{stages:?}");
        assert!(place.done(&["show", "last", "--full"]).contains(&stages[0]));

        // The same server as one that exists.
        let server = place.only();
        let (socket, port) =
            (server["socket_dir"].as_str().expect("it has one").to_owned(), server["port"].to_string());
        let to = format!("host={socket} port={port} dbname=postgres user=postgres");
        let args = ["bench", "--quick", "--dsn", &to, "--scale", "1", "--clients", "2", "--profile"];
        place.done(&[&args[..], &["--duration", brief(), "--warmup", "50ms", "--blocks", "1"]].concat());
        let mut runs = place.runs();
        runs.retain(|run| run.record.operations.is_empty());
        let of_cell = runs[0].record.profiles.iter().find(|of| of.workload.is_some()).expect("it has a cell");
        let profile = of_cell.profile.as_ref().expect("it was sampled");
        // The sessions of pgdyno itself are not among them.
        let there = admin(&server).value("SELECT count(*) FROM pg_stat_activity").ok().flatten();
        assert!(there.is_some() && profile.processes > 3, "{profile:?}");
        place.done(&["down", "main"]);
    }

    /// A plan that loads tables again, and pgbench: what it prints stays as it is.
    #[test]
    #[ignore = "makes two runs"]
    fn tables_loaded_again_and_pgbench_are_profiled() {
        if !can_sample() {
            return;
        }
        let place = Place::new();
        let plan = "name = \"two\"\n[data]\nscale = 5\n[[workload]]\nscript = \"select-only\"\n[[workload]]\n\
                    name = \"parted\"\nscript = \"select-only\"\nload = { partitions = 4 }\n[measure]\nclients = [2]\n\
                    blocks = 1\nduration = \"1s\"\nwarmup = \"50ms\"\nprofile = \"auto\"\n";
        fs::write(place.path("plan.toml"), plan).expect("it can be written");
        place.done(&["run", "plan.toml", "--pg", "18", "--bundle"]);
        let run = place.runs().pop().expect("it was recorded");
        holds_together(&run);
        let profiles = run.record.profiles.iter();
        let stages: Vec<_> = profiles.clone().filter_map(|of| of.stage.as_deref()).collect();
        assert_eq!(stages, ["load", "load for parted"]);
        assert!(
            profiles.clone().all(|of| of.profile.as_ref().is_some_and(|of| of.samples > 0)),
            "{profiles:?}"
        );

        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        let place_of_run = place.path("of-pgbench");
        let runs = format!("--runs={}", place_of_run.display());
        let bench = ["pgbench", "--server=main", "-n", "-c2", "-T2", "-f"];
        let script = place.path("one.sql");
        fs::write(&script, "SELECT sum(i) FROM generate_series(1, 1000) i;\n").expect("it can be written");
        let script = script.display().to_string();
        place.done(&[&bench[..], &[&script, "--record", &runs, "--profile=auto"]].concat());
        let dir = fs::read_dir(&place_of_run).expect("it is there").flatten().next().expect("a run");
        let run = pgdyno_record::open(&dir.path()).expect("it can be read");
        holds_together(&run);
        let [of_cell] = run.record.profiles.as_slice() else { panic!("{:?}", run.record.profiles) };
        let profile = of_cell.profile.as_ref().expect("it was sampled");
        assert!(of_cell.workload.is_some() && profile.samples > 50, "{profile:?}");
        assert!((profile.over_s - 2.0).abs() < 0.5, "{profile:?}");
        let page = fs::read_to_string(dir.path().join("report.html")).expect("it is written");
        assert!(page.contains("svg class=\"flame\""));
        place.done(&["down", "main"]);
    }

    /// perf dies in the middle: what it recorded until then is kept, and the run continues.
    #[test]
    #[ignore = "makes a run"]
    fn a_perf_that_dies_meanwhile_is_reported() {
        let place = Place::new();
        let dies = "case $1 in --version) echo perf version 6.1.187; exit;; script) cat >/dev/null; exit;; esac\n\
                    for word; do case $word in --control=*) fifos=${word#*fifo:};; esac; done\n\
                    (while read -r line; do echo ack >&4; \
                     [ $line = enable ] && { sleep 0.2; echo out of memory >&2; kill -9 $$; }; \
                     done <&3 &) 3<${fifos%,*} 4<>${fifos#*,}\ncat";
        let output = with_perf(&place, dies, plan(&place));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("sampling ended early: perf ended early: out of memory"), "{said}");
        let run = place.only_run();
        holds_together(&run);
        let profile = &run.record.profiles[0];
        assert_eq!((profile.failed, profile.recordings), (1, 1));
        assert!(profile.profile.as_ref().is_some_and(|of| of.samples == 0 && of.over_s == 0.0));
        assert!(place.done(&["show", "last", "--full"]).contains("is not complete"));
        place.nothing_is_left();
    }
}
