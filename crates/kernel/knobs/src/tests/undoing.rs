//! What apply and undo say, and what undo does with changes of others.

use pgdyno_core::stop::Stop;

use super::tree::{Fake, SCHEDULER, Tree, all_kinds, limit, sysctl, sysfs};
use crate::{Standing, apply::apply_with, calls::Calls, state::State, status, undo::undo_with};

#[test]
fn all_is_applied_and_restored() {
    let tree = Tree::new();
    let before = tree.snapshot();
    let applied = tree.apply(&all_kinds(), &Fake::new(&tree)).expect("it is possible");
    let changed =
        |name: &str| applied.changed.iter().find(|changed| changed.name == name).expect("it is listed");
    let pages = changed("vm.nr_hugepages");
    assert_eq!((pages.wanted.as_deref(), pages.became.as_str(), pages.partly), (Some("1000"), "900", true));
    assert!(!changed("net.ipv4.tcp_rmem").partly && !changed(SCHEDULER).partly);
    // Set after the scheduler that resets it, though planned before.
    assert_eq!(changed("/sys/block/sda/queue/nr_requests").became, "512");
    let effect = changed("/sys/block/sda/queue/iosched/read_expire");
    assert_eq!((effect.wanted.as_deref(), effect.became.as_str()), (None, State::Absent.words().as_str()));
    assert_eq!(tree.read("proc/sys/vm/dirty_ratio"), "0");
    let state = status(&tree.place()).expect("it can be read");
    assert!(state.found && !state.rebooted && !state.unfinished);
    let partly: Vec<_> = state.items.iter().filter(|item| item.standing != Standing::Applied).collect();
    assert!(partly.len() == 1 && partly[0].standing == Standing::Partly, "{partly:?}");
    let undone = tree.undo(&Fake::new(&tree)).expect("it is possible");
    assert!(undone.found && undone.left.is_empty() && undone.restored.len() >= all_kinds().len());
    tree.assert_restored(&before, "undone");
    let again = tree.undo(&Fake::new(&tree)).expect("it is possible");
    assert!(!again.found && !status(&tree.place()).expect("it can be read").found);
}

#[test]
fn the_value_of_somebody_else_is_left_unless_forced() {
    for force in [false, true] {
        let tree = Tree::new();
        let before = tree.snapshot();
        tree.apply(&all_kinds(), &Fake::new(&tree)).expect("it is possible");
        tree.write("proc/sys/vm/swappiness", "30\n");
        tree.write("etc/security/limits.d/99-pgdyno.conf", "# mine\n");
        let standing = |name: &str| {
            let items = status(&tree.place()).expect("it can be read").items;
            items.into_iter().find(|item| item.name == name).expect("it is listed").standing
        };
        assert_eq!(standing("vm.swappiness"), Standing::Foreign);
        let undone = undo_with(&tree.place(), force, &Stop::default(), &Calls(&Fake::new(&tree)));
        let left: Vec<_> = undone.expect("it is possible").left.into_iter().map(|left| left.name).collect();
        if force {
            assert_eq!(left, [""; 0]);
            tree.assert_restored(&before, "forced");
        } else {
            // The directory has a file of somebody else.
            assert_eq!(
                left,
                ["/etc/security/limits.d/99-pgdyno.conf", "vm.swappiness", "/etc/security/limits.d"]
            );
            assert_eq!(tree.read("proc/sys/vm/swappiness"), "30");
            assert_eq!(tree.read("etc/security/limits.d/99-pgdyno.conf"), "# mine");
            assert_eq!(tree.read("proc/sys/net/ipv4/conf/eth0.1/rp_filter"), "1");
            assert_eq!(tree.journal_files(), [""; 0]);
        }
    }
}

#[test]
fn the_scheduler_of_somebody_else_keeps_its_parameters() {
    let tree = Tree::new();
    tree.apply(&[sysfs(SCHEDULER, "none")], &Fake::new(&tree)).expect("it is possible");
    tree.write(SCHEDULER, "none mq-deadline [kyber]\n");
    let undone = tree.undo(&Fake::new(&tree)).expect("it is possible");
    assert_eq!(undone.left.len(), 3, "{undone:?}");
    assert_eq!(tree.read(SCHEDULER), "none mq-deadline [kyber]");
    assert_eq!(tree.read("sys/block/sda/queue/nr_requests"), "31");
}

/// Restoring the scheduler resets the parameter that somebody has put back before.
#[test]
fn what_is_as_before_is_so_after_its_cause_is_restored() {
    let tree = Tree::new();
    let before = tree.snapshot();
    tree.apply(&[sysfs(SCHEDULER, "none")], &Fake::new(&tree)).expect("it is possible");
    tree.write("sys/devices/pci0/sda/queue/nr_requests", "200\n");
    let undone = tree.undo(&Fake::new(&tree)).expect("it is possible");
    assert_eq!(undone.left, []);
    tree.assert_restored(&before, "with a parameter that was as before");
}

/// Huge pages that were there before may have become scattered memory.
#[test]
fn what_the_kernel_does_not_give_back_is_reported() {
    let tree = Tree::new();
    tree.write("proc/sys/vm/nr_hugepages", "1400\n");
    tree.apply(&[sysctl("vm.nr_hugepages", "100")], &Fake::new(&tree)).expect("it is possible");
    let problem = tree.undo(&Fake::new(&tree)).expect_err("the kernel grants 900");
    assert!(problem.what.contains("vm.nr_hugepages is 900 instead of 1400"), "{problem:?}");
    assert!(tree.place().journal.exists());
}

#[test]
fn a_device_that_is_gone_holds_up_nothing() {
    for force in [false, true] {
        let tree = Tree::new();
        let changes = [sysfs("/sys/block/sda/queue/read_ahead_kb", "4096"), sysctl("vm.swappiness", "10")];
        tree.apply(&changes, &Fake::new(&tree)).expect("it is possible");
        std::fs::remove_file(tree.at("sys/block/sda")).expect("it is ours");
        let undone = undo_with(&tree.place(), force, &Stop::default(), &Calls(&Fake::new(&tree)));
        let undone = undone.expect("it is possible");
        assert_eq!(undone.left.len(), 1, "{undone:?}");
        assert_eq!(tree.read("proc/sys/vm/swappiness"), "60");
    }
}

#[test]
fn after_a_reboot_only_files_are_restored() {
    let tree = Tree::new();
    let before = tree.snapshot();
    let changes = [sysctl("vm.swappiness", "10"), limit("postgres", "nofile", "65536")];
    tree.apply(&changes, &Fake::new(&tree)).expect("it is possible");
    tree.write("proc/sys/kernel/random/boot_id", "another\n");
    assert!(status(&tree.place()).expect("it can be read").rebooted);
    let undone = tree.undo(&Fake::new(&tree)).expect("it is possible");
    assert_eq!(undone.ended_by_reboot, ["vm.swappiness"]);
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "10");
    tree.write("proc/sys/vm/swappiness", "60\n");
    tree.write(
        "proc/sys/kernel/random/boot_id",
        before["proc/sys/kernel/random/boot_id"].rsplit(' ').next().expect("it has words"),
    );
    tree.assert_restored(&before, "after a reboot");
}

#[test]
fn what_cannot_be_restored_keeps_the_journal() {
    let tree = Tree::new();
    let changes = [sysctl("vm.swappiness", "10"), sysctl("vm.overcommit_memory", "2")];
    tree.apply(&changes, &Fake::new(&tree)).expect("it is possible");
    let failing = Fake::failing(&tree, "write value", "swappiness", rustix::io::Errno::IO);
    let problem = tree.undo(&failing).expect_err("one cannot be restored");
    assert!(problem.what.contains("vm.swappiness"), "{problem:?}");
    assert_eq!((tree.read("proc/sys/vm/overcommit_memory"), tree.journal_files().len()), ("0".to_owned(), 1));
    let given_up = undo_with(&tree.place(), true, &Stop::default(), &Calls(&failing));
    assert!(given_up.is_ok() && tree.journal_files().is_empty());
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "10");
}

#[test]
fn a_stop_ends_it_between_two_changes() {
    /// Requests a stop at a value.
    struct Stopping<'a>(Fake, &'a Stop, &'static str);
    impl crate::calls::Watch for Stopping<'_> {
        fn before(&self, call: &str, path: &std::path::Path) -> std::io::Result<()> {
            if path.ends_with(self.2) {
                self.1.request("Ctrl-C");
            }
            self.0.before(call, path)
        }
        fn written(&self, path: &std::path::Path) {
            self.0.written(path);
        }
    }
    let tree = Tree::new();
    let before = tree.snapshot();
    let stop = Stop::default();
    let changes = [sysctl("vm.swappiness", "10"), sysctl("vm.overcommit_memory", "2")];
    let plan = tree.plan(&changes).until_reboot();
    let stopping = Stopping(Fake::new(&tree), &stop, "swappiness");
    let problem = apply_with(&plan, &tree.place(), &stop, &Calls(&stopping)).expect_err("it was stopped");
    assert!(problem.what.contains("stopped after 1 of 2 changes (Ctrl-C)"), "{problem:?}");
    assert_eq!(tree.read("proc/sys/vm/overcommit_memory"), "0");
    assert!(status(&tree.place()).expect("it can be read").unfinished);
    let problem =
        undo_with(&tree.place(), false, &stop, &Calls(&Fake::new(&tree))).expect_err("it was stopped");
    assert!(problem.hint.is_some_and(|hint| hint.contains("undo again")));
    tree.undo(&Fake::new(&tree)).expect("it is possible");
    tree.assert_restored(&before, "after a stop");
}
