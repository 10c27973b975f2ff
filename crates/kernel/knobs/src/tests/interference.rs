//! Whatever somebody else changes in between, and wherever undo is interrupted: it restores exactly what is ours.

use std::collections::BTreeMap;

use pgdyno_core::{host::Change, stop::Stop};
use proptest::prelude::*;

use super::tree::{Fake, Then, Tree, limit, sysctl, sysfs};
use crate::{apply::apply_with, calls::Calls};

/// Values that change nothing else: knob, path, ours, and somebody else's.
const KNOBS: [(&str, &str, &str, &str); 6] = [
    ("vm.swappiness", "proc/sys/vm/swappiness", "10", "30"),
    ("vm.overcommit_memory", "proc/sys/vm/overcommit_memory", "2", "1"),
    ("vm.nr_hugepages", "proc/sys/vm/nr_hugepages", "1000", "17"),
    ("kernel.sem", "proc/sys/kernel/sem", "250 32000 100 128", "1\t2\t3\t4"),
    ("net.ipv4.tcp_rmem", "proc/sys/net/ipv4/tcp_rmem", "4096 87380 16777216", "1\t2\t3"),
    ("/sys/block/sda/queue/read_ahead_kb", "sys/devices/pci0/sda/queue/read_ahead_kb", "4096", "256"),
];
const FILES: [&str; 2] = ["etc/sysctl.d/99-pgdyno.conf", "etc/security/limits.d/99-pgdyno.conf"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Meddling {
    None,
    Foreign,
    /// The state before, by hand.
    Before,
    /// A mode or a byte of a file.
    Small,
}

fn meddling() -> impl Strategy<Value = Meddling> {
    prop_oneof![
        3 => Just(Meddling::None),
        1 => Just(Meddling::Foreign),
        1 => Just(Meddling::Before),
        1 => Just(Meddling::Small),
    ]
}

fn change(at: usize) -> Change {
    let (name, _, ours, _) = KNOBS[at];
    if name.starts_with('/') { sysfs(name, ours) } else { sysctl(name, ours) }
}

/// Somebody else changes a value; returns whether undo must leave it.
fn meddle_with_value(tree: &Tree, at: usize, before: &str, meddling: Meddling) -> bool {
    let (_, path, _, foreign) = KNOBS[at];
    match meddling {
        Meddling::None | Meddling::Small => return false,
        Meddling::Foreign => tree.write(path, &format!("{foreign}\n")),
        Meddling::Before => tree.write(path, before),
    }
    meddling == Meddling::Foreign
}

fn meddle_with_file(tree: &Tree, path: &str, meddling: Meddling) -> bool {
    if !tree.at(path).exists() {
        return false;
    }
    match meddling {
        Meddling::None | Meddling::Before => return false,
        Meddling::Foreign => tree.write(path, "# of somebody else\n"),
        Meddling::Small => tree.set_mode(path, 0o600),
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn undo_restores_exactly_what_is_ours(
        chosen in proptest::collection::vec(any::<bool>(), KNOBS.len()),
        with_limit: bool,
        lasting: bool,
        of_values in proptest::collection::vec(meddling(), KNOBS.len()),
        of_files in proptest::collection::vec(meddling(), FILES.len()),
        deaths in proptest::collection::vec(1u32..120, 0..4),
    ) {
        let tree = Tree::new();
        let before = tree.snapshot();
        let raw: Vec<String> =
            KNOBS.iter().map(|(_, path, ..)| std::fs::read_to_string(tree.at(path)).expect("it is there")).collect();
        let mut changes: Vec<Change> = (0..KNOBS.len()).filter(|&at| chosen[at]).map(change).collect();
        changes.extend(with_limit.then(|| limit("postgres", "nofile", "65536")));
        let plan = tree.plan(&changes);
        let plan = if lasting { plan } else { plan.until_reboot() };
        let fake = Fake::new(&tree);
        apply_with(&plan, &tree.place(), &Stop::default(), &Calls(&fake)).expect("it is possible");
        let mut left: Vec<&str> = Vec::new();
        for at in 0..KNOBS.len() {
            left.extend(meddle_with_value(&tree, at, &raw[at], of_values[at]).then_some(KNOBS[at].1));
        }
        for (path, meddling) in FILES.into_iter().zip(of_files) {
            left.extend(meddle_with_file(&tree, path, meddling).then_some(path));
        }
        let after = tree.snapshot();
        for death in deaths {
            // Whether it died or completed, the next one completes what is missing.
            let _ = tree.undo(&Fake::then(&tree, death, Then::Dead));
        }
        tree.undo(&Fake::new(&tree)).expect("it is possible");
        tree.assert_restored(&expected(before, &after, &left), &format!("{changes:?} {left:?}"));
    }
}

/// The tree before, with what is left as it is after, and the directories that this is in.
fn expected(
    mut before: BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    left: &[&str],
) -> BTreeMap<String, String> {
    for path in left {
        before.insert((*path).to_owned(), after[*path].clone());
        for (end, _) in path.match_indices('/') {
            let dir = &path[..end];
            before.entry(dir.to_owned()).or_insert_with(|| after[dir].clone());
        }
    }
    before
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_number_of_deaths_is_survived(apply_dies in 1u32..200, deaths in proptest::collection::vec(1u32..200, 0..6)) {
        let tree = Tree::new();
        let before = tree.snapshot();
        let _ = tree.apply(&super::tree::all_kinds(), &Fake::then(&tree, apply_dies, Then::Dead));
        for death in deaths {
            let _ = tree.undo(&Fake::then(&tree, death, Then::Dead));
        }
        tree.undo(&Fake::new(&tree)).expect("it is possible");
        tree.assert_restored(&before, &format!("apply died at {apply_dies}"));
    }
}
