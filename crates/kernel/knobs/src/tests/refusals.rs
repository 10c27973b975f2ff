//! Bad input: a sentence, and nothing written.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, lchown, symlink},
};

use pgdyno_core::{problem::Problem, stop::Stop};
use rustix::io::Errno;

use super::tree::{Fake, SCHEDULER, Then, Tree, all_kinds, limit, sysctl, sysfs};
use crate::{Place, apply::apply_with, calls::Calls, journal::Store, plan, status};

fn is_sentence(problem: &Problem, says: &str) {
    assert!(problem.what.contains(says), "{problem:?}");
    assert!(!problem.what.ends_with('.') && problem.hint.is_some(), "{problem:?}");
}

/// Applying is refused, and changes nothing.
fn refused(tree: &Tree, says: &str) {
    let before = tree.snapshot();
    let problem = tree.apply(&all_kinds(), &Fake::new(tree)).expect_err("it is refused");
    is_sentence(&problem, says);
    assert_eq!(tree.snapshot(), before, "{says}");
}

#[test]
fn a_plan_with_objections_is_refused() {
    let tree = Tree::new();
    let before = tree.snapshot();
    for (change, says) in [
        (sysctl("net.ipv4.tcp_tw_recycle", "1"), "net.ipv4.tcp_tw_recycle does not exist"),
        (sysctl("vm.drop_caches", "1"), "vm.drop_caches cannot be undone"),
        (sysfs("/sys/none", "1"), "/sys/none does not exist"),
    ] {
        let changes = [sysctl("vm.swappiness", "10"), change];
        let problem = tree.apply(&changes, &Fake::new(&tree)).expect_err("it is refused");
        is_sentence(&problem, says);
        tree.assert_restored(&before, says);
    }
    fs::remove_dir_all(tree.at("sys")).expect("it is ours");
    let problem = tree.apply(&[sysfs(SCHEDULER, "none")], &Fake::new(&tree)).expect_err("there is no /sys");
    is_sentence(&problem, "does not exist on this host");
}

#[test]
fn a_host_that_changed_since_it_was_planned_is_refused() {
    let tree = Tree::new();
    let planned = tree.plan(&all_kinds());
    tree.write("proc/sys/vm/swappiness", "61\n");
    let apply = || apply_with(&planned, &tree.place(), &Stop::default(), &Calls(&Fake::new(&tree)));
    is_sentence(&apply().expect_err("it changed"), "vm.swappiness is now 61");
    tree.write("proc/sys/vm/swappiness", "60\n");
    tree.write("etc/sysctl.d/99-pgdyno.conf", "# changed\n");
    is_sentence(&apply().expect_err("it changed"), "99-pgdyno.conf has another content");
    assert!(!tree.place().journal.exists());
    let other = Place { root: "/nowhere".into(), ..tree.place() };
    let problem = apply_with(&planned, &other, &Stop::default(), &Calls(&Fake::new(&tree)));
    is_sentence(&problem.expect_err("it is another root"), "another root");
}

#[test]
fn only_root_changes_the_host() {
    let place = Place { user: 1000, ..Place::host() };
    // A name that no host has: nothing would be written even if this were not refused.
    let planned = plan(&[sysctl("vm.pgdyno_has_no_such_thing", "1")], "/".as_ref());
    let problem = apply_with(&planned, &place, &Stop::default(), &Calls(&crate::calls::Unwatched));
    is_sentence(&problem.expect_err("it is refused"), "only root may change this host");
    let problem = crate::undo(&place, false, &Stop::default()).expect_err("it is refused");
    is_sentence(&problem, "only root may restore this host");
}

#[test]
fn a_failing_change_undoes_those_before_it() {
    for (call, path, errno, says, hint) in [
        (
            "write value",
            "rp_filter",
            Errno::INVAL,
            "could not set net.ipv4.conf.eth0/1.rp_filter to 2",
            "refuses",
        ),
        ("write value", "rp_filter", Errno::ROFS, "could not set", "read-only"),
        ("write value", "rp_filter", Errno::PERM, "could not set", "container"),
        (
            "create",
            "sysctl.d/.99-pgdyno.conf.pgdyno-new",
            Errno::ROFS,
            "could not set /etc/sysctl.d",
            "read-only",
        ),
        ("rename", "sysctl.d/99-pgdyno.conf", Errno::PERM, "could not set /etc/sysctl.d", "immutable"),
        ("make directory", "limits.d", Errno::ROFS, "could not set /etc/security/limits.d", "read-only"),
        ("write", "journal.json.pgdyno-new", Errno::NOSPC, "could not write the journal", "free space"),
        ("make directory", "pgdyno", Errno::ROFS, "could not make the directory", "writable"),
    ] {
        let tree = Tree::new();
        let before = tree.snapshot();
        let problem =
            tree.apply(&all_kinds(), &Fake::failing(&tree, call, path, errno)).expect_err("it fails");
        is_sentence(&problem, says);
        assert!(problem.hint.as_deref().is_some_and(|text| text.contains(hint)), "{problem:?}");
        tree.assert_restored(&before, says);
    }
}

#[test]
fn a_failure_whose_undoing_fails_keeps_the_journal() {
    let tree = Tree::new();
    let fake = Fake::then(&tree, 60, Then::Dead);
    let problem = tree.apply(&all_kinds(), &fake).expect_err("it fails");
    assert!(problem.detail.as_deref().is_some_and(|detail| detail.contains("failed too")), "{problem:?}");
    assert!(problem.hint.is_some_and(|hint| hint.contains("undo")));
    assert!(tree.journal_files().contains(&"journal.json".to_owned()));
    let problem =
        tree.apply(&[sysctl("vm.overcommit_memory", "2")], &Fake::new(&tree)).expect_err("it is refused");
    is_sentence(&problem, "applied already");
}

#[test]
fn two_at_once_are_refused() {
    let tree = Tree::new();
    let fake = Fake::new(&tree);
    let calls = Calls(&fake);
    let held = Store::make(&tree.place(), &calls).expect("nobody has it");
    refused(&tree, "another pgdyno is changing");
    is_sentence(&tree.undo(&fake).expect_err("it is locked"), "another pgdyno is changing");
    assert!(status(&tree.place()).is_ok());
    drop(held);
    tree.apply(&all_kinds(), &fake).expect("it is free again");
    let more = tree.apply(&[sysctl("vm.overcommit_memory", "2")], &fake);
    is_sentence(&more.expect_err("there is a journal"), "applied already");
}

#[test]
fn a_journal_that_was_changed_is_refused() {
    let tree = Tree::new();
    tree.apply(&all_kinds(), &Fake::new(&tree)).expect("it is possible");
    let path = tree.place().journal.join("journal.json");
    let good = fs::read_to_string(&path).expect("it is ours");
    let after = tree.snapshot();
    let changed = [
        (good.replace("\"60\"", "\"61\""), "was changed: its checksum"),
        (good.replacen("  ", " ", 1), "was changed: its checksum"),
        (good[..good.len() / 2].to_owned(), "is damaged or was cut off"),
        (String::new(), "is damaged or was cut off"),
        (good.replace("\"format\": 1", "\"format\": 2"), "has the format 2"),
        (good.replace("\"boot_id\"", "\"more\": 1, \"boot_id\""), "is damaged"),
    ];
    for (text, says) in changed {
        fs::write(&path, text).expect("it is ours");
        is_sentence(&tree.undo(&Fake::new(&tree)).expect_err("it is refused"), says);
        is_sentence(&status(&tree.place()).expect_err("it is refused"), says);
        assert_eq!(tree.snapshot(), after, "{says}");
    }
    fs::write(&path, good).expect("it is ours");
    tree.undo(&Fake::new(&tree)).expect("it is as it was written");
}

#[test]
fn every_byte_of_a_journal_counts() {
    let tree = Tree::new();
    tree.apply(&[sysctl("vm.swappiness", "10")], &Fake::new(&tree)).expect("it is possible");
    let path = tree.place().journal.join("journal.json");
    let good = fs::read(&path).expect("it is ours");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).expect("it is ours");
        assert!(status(&tree.place()).is_err(), "byte {at}");
    }
}

#[test]
fn paths_that_others_could_exchange_are_refused() {
    let tree = Tree::new();
    fs::create_dir_all(tree.at("var/lib/pgdyno/host")).expect("it is ours");
    let mode = |path: &str, mode| tree.set_mode(path, mode);
    mode("var/lib/pgdyno/host", 0o700);
    for (path, bad, good, says) in [
        ("var/lib/pgdyno", 0o777, 0o755, "may be written by others (mode 0777)"),
        ("var/lib/pgdyno/host", 0o750, 0o700, "mode 0700"),
        ("etc/sysctl.d", 0o777, 0o755, "may be written by others"),
        ("etc", 0o777, 0o755, "may be written by others"),
    ] {
        mode(path, bad);
        refused(&tree, says);
        mode(path, good);
    }
    // A link of ours in the path is followed, one that takes the place of a file is not.
    fs::rename(tree.at("var/lib/pgdyno"), tree.at("var/real")).expect("it is ours");
    symlink("../real", tree.at("var/lib/pgdyno")).expect("it is ours");
    tree.apply(&[limit("a", "core", "0")], &Fake::new(&tree)).expect("the link is ours");
    tree.undo(&Fake::new(&tree)).expect("the link is ours");
    // An absolute link stays in the tree.
    fs::rename(tree.at("etc/security"), tree.at("etc/real")).expect("it is ours");
    symlink("/etc/real", tree.at("etc/security")).expect("it is ours");
    fs::create_dir(tree.at("etc/real/limits.d")).expect("it is ours");
    tree.write("etc/real/limits.d/99-pgdyno.conf", "# in the tree\n");
    let (dir, _) = crate::read::parent(&tree.place(), crate::contents::LIMITS)
        .expect("it is ours")
        .expect("it is there");
    assert!(dir.has("99-pgdyno.conf").expect("it is ours"));
    fs::remove_file(tree.at("etc/security")).expect("it is ours");
    fs::rename(tree.at("etc/real"), tree.at("etc/security")).expect("it is ours");
    fs::rename(tree.at("etc/sysctl.d/99-pgdyno.conf"), tree.at("etc/other")).expect("it is ours");
    symlink("../other", tree.at("etc/sysctl.d/99-pgdyno.conf")).expect("it is ours");
    refused(&tree, "is a symbolic link");
    fs::remove_file(tree.at("etc/sysctl.d/99-pgdyno.conf")).expect("it is ours");
    fs::hard_link(tree.at("etc/other"), tree.at("etc/sysctl.d/99-pgdyno.conf")).expect("it is ours");
    refused(&tree, "several hard links");
    fs::remove_file(tree.at("etc/other")).expect("it is ours");
    tree.write("etc/sysctl.d/.99-pgdyno.conf.pgdyno-new", "of others");
    refused(&tree, "is next to it");
}

#[test]
fn links_and_directories_of_other_users_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return testkit::left_out("files of other users need root");
    }
    let tree = Tree::new();
    fs::create_dir_all(tree.at("var/real/host")).expect("it is ours");
    symlink("../real", tree.at("var/lib/pgdyno")).expect("it is ours");
    lchown(tree.at("var/lib/pgdyno"), Some(1000), Some(1000)).expect("root may");
    refused(&tree, "is a symbolic link of user 1000");
    lchown(tree.at("var/lib/pgdyno"), Some(0), Some(0)).expect("root may");
    chown(tree.at("var/real"), Some(1000), Some(1000)).expect("root may");
    refused(&tree, "belongs to user 1000");
    chown(tree.at("var/real"), Some(0), Some(0)).expect("root may");
    fs::set_permissions(tree.at("var/real/host"), fs::Permissions::from_mode(0o700)).expect("it is ours");
    tree.apply(&all_kinds(), &Fake::new(&tree)).expect("all is root's");
    let journal = tree.place().journal.join("journal.json");
    chown(&journal, Some(1000), None).expect("root may");
    is_sentence(
        &tree.undo(&Fake::new(&tree)).expect_err("it is refused"),
        "is not a file of this user alone",
    );
    fs::rename(&journal, tree.at("var/elsewhere")).expect("it is ours");
    symlink("../../elsewhere", &journal).expect("it is ours");
    is_sentence(&tree.undo(&Fake::new(&tree)).expect_err("it is refused"), "is a symbolic link");
}

#[test]
fn parameters_of_another_network_namespace_are_refused() {
    let tree = Tree::new();
    let enter = |network: &str| {
        fs::create_dir_all(tree.at("proc/self/ns")).expect("it is ours");
        let _ = fs::remove_file(tree.at("proc/self/ns/net"));
        symlink(network, tree.at("proc/self/ns/net")).expect("it is ours");
    };
    enter("net:[1]");
    let before = tree.snapshot();
    tree.apply(&[sysctl("net.ipv4.tcp_rmem", "1 2 3")], &Fake::new(&tree)).expect("it is possible");
    enter("net:[2]");
    let after = tree.snapshot();
    let problem = tree.undo(&Fake::new(&tree)).expect_err("it is refused");
    is_sentence(&problem, "another network namespace");
    assert_eq!(tree.snapshot(), after);
    enter("net:[1]");
    tree.undo(&Fake::new(&tree)).expect("it is where it was applied");
    tree.assert_restored(&before, "undone in the same namespace");
}
