//! Runs that change the host and put it back: parameters of a real kernel, in namespaces that end with the test. The
//! host's own stay as they are, and so does its journal.

use std::{
    fs,
    process::{Command, Output},
};

use pgdyno_record::{HostValueRecord, RunRecord};

use crate::{
    common::{Place, am_root, left_out, text},
    scarce::through,
};

const NAME: &str = "net.ipv4.tcp_keepalive_time";
const FILE: &str = "/proc/sys/net/ipv4/tcp_keepalive_time";

/// A plan of a short run on a host with another value.
fn plan(place: &Place, duration: &str, more: &str) {
    let plan = format!(
        "name = \"prepared\"\n[host]\napply = true\nset = {{ \"{NAME}\" = \"77\" }}\n[data]\nscale = \"none\"\n\
         [[workload]]\nname = \"x\"\ntext = \"SELECT 1;\"\n\
         [measure]\nclients = [1]\nduration = \"{duration}\"\nwarmup = \"50ms\"\nblocks = 1\n{more}"
    );
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
}

const RUN: [&str; 5] = ["run", "plan.toml", "--pg", "18", "--bundle"];

/// Runs a shell script in namespaces of network, processes and mounts; `$@` is a command of pgdyno. `None` where they
/// cannot be made, which is said.
fn in_namespaces(script: &str, command: &Command) -> Option<Output> {
    if !am_root() {
        left_out("only root changes a host");
        return None;
    }
    let separate = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc"];
    let probe = Command::new(separate[0]).args(&separate[1..]).args(["test", "-w", FILE]).status();
    if !probe.is_ok_and(|status| status.success()) {
        left_out("no namespaces can be made, or their parameters cannot be set");
        return None;
    }
    // The journal of the host is in /var/lib.
    let script = format!("mount -t tmpfs -o mode=755 tmpfs /var/lib || exit 90\n{script}");
    let words: Vec<&str> = separate.into_iter().chain(["sh", "-c", &script, "sh"]).collect();
    Some(through(&words, command).output().expect("they can be made"))
}

/// The record of the only run, whose host was changed so for these subjects and put back.
fn was_changed(place: &Place, subjects: &[&str]) -> RunRecord {
    let record = place.only_run().record;
    let changes = record.host_changes.clone().expect("it was to be changed");
    assert_eq!((changes.restored, &changes.left, &changes.not_done), (Some(true), &Vec::new(), &None));
    let [state] = &changes.states[..] else { panic!("{changes:?}") };
    assert_eq!(state.subjects, subjects);
    let value = HostValueRecord {
        name: NAME.to_owned(),
        before: "7200".to_owned(),
        wanted: Some("77".to_owned()),
        became: "77".to_owned(),
    };
    assert_eq!(state.changed, [value]);
    record
}

/// Words of a script that has printed them.
fn said(output: &Output) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    format!("{out}{err}")
}

#[test]
fn a_run_prepares_the_host_and_puts_it_back() {
    let place = Place::new();
    plan(&place, "300ms", "");
    let command = place.command(&[&RUN[..], &["--allow-host-changes"]].concat());
    let script = format!("echo 7200 > {FILE}\n\"$@\" || exit\necho after: $(cat {FILE})");
    let Some(output) = in_namespaces(&script, &command) else { return };
    let said = said(&output);
    assert!(said.contains(&format!("changed, and put back: {NAME} 7200 → 77")), "{said}");
    assert!(said.contains("after: 7200"), "{said}");
    let record = was_changed(&place, &[]);
    let seen = record.host.kernel.sysctls;
    assert_eq!(seen.get(NAME).map(String::as_str), Some("77"), "the server ran with it");
    assert!(record.stages.iter().any(|stage| stage.name == "host"));
}

#[test]
fn without_permission_the_host_is_left_alone_and_that_is_said() {
    let place = Place::new();
    plan(&place, "300ms", "");
    let before = fs::read_to_string(FILE).expect("it is there");
    let output = place.run(&RUN);
    let said = said(&output);
    assert!(said.contains("not changed: --allow-host-changes was not given"), "{said}");
    assert_eq!(fs::read_to_string(FILE).expect("it is there"), before);
    let changes = place.only_run().record.host_changes.expect("the plan says it");
    assert_eq!(changes.not_done.as_deref(), Some("--allow-host-changes was not given"));
    let report = place.done(&["show", "last", "--full"]);
    assert!(report.contains("Not done: --allow-host-changes was not given."), "{report}");
}

#[test]
fn what_cannot_be_put_back_is_refused_before_anything_is_done() {
    let place = Place::new();
    let refused = place.refused(&["ab", "--host", "default", "--host", "recommended", "--bundle"], 2);
    assert!(
        refused.contains("it may not be changed") && refused.contains("--allow-host-changes"),
        "{refused}"
    );
    let states = ["ab", "--host", "default", "--host", "vm.swappiness=1", "--slots", "--allow-host-changes"];
    let refused = place.refused(&states, 2);
    assert!(refused.contains("they are too short"), "{refused}");
    plan(&place, "300ms", "");
    let text = fs::read_to_string(place.path("plan.toml")).expect("it is there");
    fs::write(place.path("plan.toml"), text.replace(NAME, "vm.drop_caches")).expect("it can be written");
    let refused = place.refused(&[&RUN[..], &["--allow-host-changes"]].concat(), 2);
    let why = if am_root() { "vm.drop_caches" } else { "only root may" };
    assert!(refused.contains(&format!("could not change the host: {why}")), "{refused}");
    assert!(place.runs().is_empty());
}

/// Nobody else changes the host meanwhile. What a killed run leaves is put back by `host undo`, and no other run begins
/// before.
#[test]
fn a_killed_run_is_put_back_by_undo() {
    let place = Place::new();
    plan(&place, "60s", "");
    let command = place.command(&[&RUN[..], &["--allow-host-changes"]].concat());
    // The command may begin with another program, which sets signals.
    let program = env!("CARGO_BIN_EXE_pgdyno");
    let script = format!(
        "echo 7200 > {FILE}\n\
         program={program}\n\
         \"$@\" >out 2>&1 &\n\
         run=$!\n\
         for i in $(seq 600); do [ \"$(cat {FILE})\" = 77 ] && break; sleep 0.1; done\n\
         $program host apply --set {NAME}=88 && exit 91\n\
         $program host undo && exit 92\n\
         kill -9 $run; wait $run\n\
         echo killed: $(cat {FILE})\n\
         \"$@\" && exit 93\n\
         $program host status; $program host undo || exit 94\n\
         echo undone: $(cat {FILE})\n\
         PGDYNO_CACHE=$PWD/no-cache $program clean --yes >/dev/null"
    );
    let Some(output) = in_namespaces(&script, &command) else { return };
    let said = said(&output);
    assert_eq!(said.matches("is running on this host").count(), 2, "{said}");
    for part in ["killed: 77", "changes of it are applied already", "as set by pgdyno", "undone: 7200"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn states_of_the_host_are_compared() {
        let place = Place::new();
        let state = format!("{NAME}=77");
        let command = place.command(&[
            "ab",
            "--host",
            "default",
            "--host",
            &state,
            "--allow-host-changes",
            "--pg",
            "18",
            "--bundle",
            "-b",
            "select-only",
            "--scale",
            "1",
            "--clients",
            "2",
            "-T",
            "500ms",
            "--warmup",
            "100ms",
            "--blocks",
            "8",
        ]);
        let script = format!("echo 7200 > {FILE}\n\"$@\" || exit\necho after: $(cat {FILE})");
        let Some(output) = in_namespaces(&script, &command) else { return };
        assert!(said(&output).contains("after: 7200"), "{}", said(&output));
        let record = was_changed(&place, &["B"]);
        assert_eq!(record.subjects[1].said, format!("host:{state}"));
    }
}
