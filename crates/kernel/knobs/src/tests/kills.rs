//! A process that is killed before any of its calls leaves what a later one restores.

use std::{env, os::unix::process::ExitStatusExt, path::Path, process::Command};

use pgdyno_core::stop::Stop;

use super::tree::{Fake, SCHEDULER, Then, Tree, all_kinds, place, sysfs};
use crate::{apply::apply_with, calls::Calls, plan, undo::undo_with};

/// Root of the tree that the process works on, and what it does: `apply` or `undo`, and before which call it ends.
const TREE: &str = "PGDYNO_KNOBS_TEST_TREE";
const TASK: &str = "PGDYNO_KNOBS_TEST_TASK";
const DIES_AT: &str = "PGDYNO_KNOBS_TEST_DIES_AT";

#[test]
#[ignore = "started by another test"]
fn a_process_that_is_killed() {
    // With all ignored tests it is started without its tree.
    let Ok(root) = env::var(TREE) else { return };
    let root = Path::new(&root);
    let at = env::var(DIES_AT).expect("it is set too").parse().expect("it is a number");
    let fake = Fake { at: Some((at, Then::Killed)), ..Fake::at(root) };
    match env::var(TASK).expect("it is set too").as_str() {
        "apply" => {
            let planned = plan(&all_kinds(), root);
            apply_with(&planned, &place(root), &Stop::default(), &Calls(&fake)).map(drop)
        }
        _ => undo_with(&place(root), false, &Stop::default(), &Calls(&fake)).map(drop),
    }
    .expect("it is possible");
}

/// Whether the process was killed; else it completed.
fn killed(tree: &Tree, task: &str, at: u32) -> bool {
    let output = Command::new(env::current_exe().expect("it runs"))
        .args(["--exact", "tests::kills::a_process_that_is_killed", "--ignored", "--nocapture"])
        .env(TREE, tree.root())
        .env(TASK, task)
        .env(DIES_AT, at.to_string())
        .output()
        .expect("it is this program");
    let out = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.signal() == Some(9) || output.status.success(), "{task} {at}: {out}");
    assert!(output.status.signal().is_some() || out.contains("1 passed"), "{task} {at}: {out}");
    output.status.signal().is_some()
}

/// How many calls a task makes.
fn calls_of(task: impl Fn(&Tree, &Fake)) -> u32 {
    let tree = Tree::new();
    let fake = Fake::new(&tree);
    task(&tree, &fake);
    fake.calls.get()
}

fn applied(tree: &Tree, fake: &Fake) {
    tree.apply(&all_kinds(), fake).expect("all of them can be applied");
}

#[test]
fn apply_can_be_killed_before_any_call() {
    let calls = calls_of(applied);
    assert!(calls >= 100, "{calls}");
    for at in 1..=calls + 1 {
        let tree = Tree::new();
        let before = tree.snapshot();
        assert_eq!(killed(&tree, "apply", at), at <= calls, "call {at} of {calls}");
        assert!(at <= calls || tree.snapshot() != before, "something was applied");
        tree.undo(&Fake::new(&tree)).unwrap_or_else(|problem| panic!("call {at}: {problem:?}"));
        tree.assert_restored(&before, &format!("call {at} of {calls}"));
    }
}

#[test]
fn undo_can_be_killed_before_any_call_and_run_again() {
    let calls = calls_of(|tree, _| applied(tree, &Fake::new(tree)));
    assert_eq!(calls, 0);
    let calls = calls_of(|tree, fake| {
        applied(tree, &Fake::new(tree));
        tree.undo(fake).expect("it can be undone");
    });
    assert!(calls >= 100, "{calls}");
    for at in 1..=calls + 1 {
        let tree = Tree::new();
        let before = tree.snapshot();
        applied(&tree, &Fake::new(&tree));
        assert_eq!(killed(&tree, "undo", at), at <= calls, "call {at} of {calls}");
        let undone = tree.undo(&Fake::new(&tree)).unwrap_or_else(|problem| panic!("call {at}: {problem:?}"));
        assert_eq!(undone.left, [], "call {at} of {calls}");
        tree.assert_restored(&before, &format!("call {at} of {calls}"));
    }
}

#[test]
fn any_call_may_fail_once() {
    // Whatever fails, either all is applied, or all is restored at once or by a later undo.
    let calls = calls_of(applied);
    for at in 1..=calls {
        let tree = Tree::new();
        let before = tree.snapshot();
        let result = tree.apply(&all_kinds(), &Fake::then(&tree, at, Then::Fails(rustix::io::Errno::NOSPC)));
        let problem = result.expect_err("a call failed");
        assert!(problem.hint.is_some(), "{problem:?}");
        if tree.journal_files() == [""; 0] {
            tree.assert_restored(&before, &format!("call {at} of {calls}: {problem:?}"));
        }
        tree.undo(&Fake::new(&tree)).expect("it can be undone");
        tree.assert_restored(&before, &format!("call {at} of {calls}, undone"));
    }
}

#[test]
fn what_restoring_a_scheduler_changes_is_not_taken_for_the_doing_of_others() {
    // The scheduler is the first value, so nothing but what undo decided is in the journal when it is restored.
    let changes = [sysfs("/sys/block/sda/queue/nr_requests", "512"), sysfs(SCHEDULER, "none")];
    let mut at = 0;
    loop {
        at += 1;
        let tree = Tree::new();
        let before = tree.snapshot();
        tree.apply(&changes, &Fake::new(&tree)).expect("it is possible");
        let completed = tree.undo(&Fake::then(&tree, at, Then::Dead)).is_ok();
        let undone = tree.undo(&Fake::new(&tree)).expect("it is possible");
        assert_eq!(undone.left, [], "call {at}");
        tree.assert_restored(&before, &format!("call {at}"));
        if completed {
            return assert!(at > 20, "{at} calls");
        }
    }
}
