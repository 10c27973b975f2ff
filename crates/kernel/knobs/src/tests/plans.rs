//! What a plan says, and its script and files.

use std::{fs, process::Command};

use pgdyno_core::host::{Change, Knob};

use super::tree::{SCHEDULER, THP, Tree, all_kinds, limit, sysctl, sysfs};
use crate::{Plan, Verdict};

fn verdicts(plan: &Plan) -> Vec<(&Verdict, Option<&str>)> {
    plan.items.iter().map(|item| (&item.verdict, item.present.as_deref())).collect()
}

#[test]
fn a_plan_reads_what_is_there() {
    let tree = Tree::new();
    let before = tree.snapshot();
    let plan = tree.plan(&[
        sysctl("vm.swappiness", "10"),
        sysctl("vm.overcommit_memory", "0"),
        sysctl("net.ipv4.tcp_rmem", "4096\t131072  6291456"),
        sysctl("net.ipv4.conf.eth0/1.rp_filter", "2"),
        sysctl("net.ipv4.tcp_tw_recycle", "1"),
        sysfs(SCHEDULER, "none"),
        sysfs(THP, "always"),
        limit("postgres", "nofile", "65536"),
        sysctl("vm.swappiness", "10"),
    ]);
    assert_eq!(
        verdicts(&plan),
        [
            (&Verdict::Change, Some("60")),
            (&Verdict::AlreadySo, Some("0")),
            (&Verdict::AlreadySo, Some("4096 131072 6291456")),
            (&Verdict::Change, Some("1")),
            (&Verdict::Missing, None),
            (&Verdict::Change, Some("mq-deadline")),
            (&Verdict::AlreadySo, Some("always")),
            (&Verdict::Change, None),
        ]
    );
    assert_eq!(tree.snapshot(), before);
}

#[test]
fn what_cannot_be_undone_or_set_is_said() {
    let tree = Tree::new();
    for pair in ["proc/sys/vm/dirty_background_bytes", "proc/sys/vm/dirty_background_ratio"] {
        tree.write(pair, "0\n");
    }
    tree.write("proc/sys/kernel/only_written", "1\n");
    tree.set_mode("proc/sys/kernel/only_written", 0o200);
    tree.write("proc/sys/kernel/version", "#1\n");
    tree.set_mode("proc/sys/kernel/version", 0o444);
    tree.write("proc/sys/kernel/domain", "\n");
    let change = |knob, value: &str| Change { knob, value: value.to_owned() };
    for (change, says) in [
        (sysctl("vm.drop_caches", "3"), "cannot be undone: writing it empties the page cache"),
        (sysctl("kernel.only_written", "3"), "it can only be written"),
        (sysctl("vm.dirty_background_bytes", "3"), "both 0"),
        (sysctl("kernel.domain", "x"), "is empty"),
        (sysctl("kernel.version", "#2"), "read-only"),
        (sysctl("vm.swappiness", ""), "the value is empty"),
        (sysctl("vm.swappiness", "1'"), "has the character"),
        (sysctl("vm/../../etc/passwd", "1"), "is no kernel parameter"),
        (sysctl("vm", "1"), "does not exist"),
        (sysfs("/etc/passwd", "1"), "is no file of sysfs"),
        (limit("a b", "nofile", "1"), "not one word"),
        (change(Knob::BootWord("quiet".to_owned()), ""), "administrator"),
        (change(Knob::MountOption("/".to_owned()), "noatime"), "/etc/fstab"),
    ] {
        let plan = tree.plan(std::slice::from_ref(&change));
        let objection = plan.items[0].verdict.objection().unwrap_or_default();
        assert!(objection.contains(says), "{change:?}: {objection}");
        assert!(plan.files().is_empty() && plan.applicable().items.is_empty());
    }
}

#[test]
fn two_values_of_one_thing_are_refused() {
    let tree = Tree::new();
    for (first, second) in [
        (sysctl("vm.swappiness", "10"), sysctl("vm/swappiness", "5")),
        (sysctl("vm.dirty_bytes", "1000000"), sysctl("vm.dirty_ratio", "5")),
        (limit("postgres", "nofile", "1"), limit("postgres", "nofile", "2")),
    ] {
        let plan = tree.plan(&[first, second]);
        assert_eq!(plan.items[0].verdict, Verdict::Change);
        assert!(
            matches!(&plan.items[1].verdict, Verdict::Refused(why) if why.contains("only one")),
            "{plan:?}"
        );
    }
}

#[test]
fn files_keep_what_else_is_in_them() {
    let tree = Tree::new();
    tree.write("etc/sysctl.d/99-sysctl.conf", "vm.swappiness = 30\n");
    let plan = tree.plan(&all_kinds());
    let files = plan.files();
    let paths: Vec<_> = files.iter().map(|(path, _)| path.to_str().expect("it is plain")).collect();
    assert_eq!(
        paths,
        [
            "/etc/security/limits.d/99-pgdyno.conf",
            "/etc/sysctl.d/99-pgdyno.conf",
            "/etc/systemd/system/pgdyno-host.service",
            "/etc/systemd/system/sysinit.target.d/pgdyno-host.conf",
        ]
    );
    let sysctls = &files[1].1;
    assert!(sysctls.starts_with("# by hand\nkernel.sysrq = 0\nvm.swappiness = 10\n"), "{sysctls}");
    assert!(sysctls.contains("net.ipv4.conf.eth0/1.rp_filter = 2\n"), "{sysctls}");
    assert_eq!(
        plan.notes,
        ["/etc/sysctl.d/99-sysctl.conf sets vm.swappiness too, and is read later at boot"]
    );
    assert_eq!(plan.until_reboot().files().len(), 1);
    fs::remove_dir_all(tree.at("etc/systemd")).expect("it is ours");
    let plan = tree.plan(&all_kinds());
    assert!(
        plan.files().len() == 2 && plan.notes.iter().any(|note| note.contains("next reboot")),
        "{plan:?}"
    );
}

fn run(script: &str) -> (bool, String) {
    let output = Command::new("sh").args(["-c", script]).output().expect("there is a shell");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_script_does_the_same_and_refuses_another_host() {
    let tree = Tree::new();
    let before = tree.snapshot();
    let plan = tree.plan(&all_kinds());
    let script = plan.script();
    tree.write("proc/sys/vm/swappiness", "61\n");
    let (done, said) = run(&script);
    assert!(!done && said.contains("is '61' and was '60'") && said.contains("nothing was changed"), "{said}");
    tree.write("proc/sys/vm/swappiness", "60\n");
    tree.write("etc/sysctl.d/99-pgdyno.conf", "# by another hand\n");
    let (done, said) = run(&script);
    assert!(!done && said.contains("was changed since"), "{said}");
    tree.write("etc/sysctl.d/99-pgdyno.conf", "# by hand\nvm.swappiness = 1\nkernel.sysrq = 0\n");
    assert_eq!(tree.snapshot(), before);
    let (done, said) = run(&script);
    assert!(done, "{said}");
    for item in
        plan.changes().filter(|item| item.path.as_deref() != Some("etc/security/limits.d/99-pgdyno.conf"))
    {
        let path = item.path.as_deref().expect("it has one");
        assert_eq!(tree.read(path), item.change.value, "{path}");
    }
    for (path, text) in plan.files() {
        assert_eq!(
            fs::read_to_string(tree.at(path.to_str().expect("it is plain"))).expect("it is there"),
            text
        );
    }
}
