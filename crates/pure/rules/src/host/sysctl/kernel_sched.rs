//! `kernel.sched_autogroup_enabled` and `kernel.sched_migration_cost_ns`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of groups of sessions.
pub static AUTOGROUP: Rule = Rule {
    page: Page {
        name: "kernel.sched_autogroup_enabled",
        what: "Whether the scheduler shares processors between sessions (in the sense of setsid) instead of \
               processes.",
        today: Today::Depends,
        why: "Every process of the server makes itself a session, so each is a group of its own, which costs the \
              scheduler a level more; and groups do not apply at all where the processes are in a control group with \
              the cpu controller. Gains published for 0 are from kernels of 2012; compare both on your own.",
        danger: "nice has no effect between processes of different groups, so that a backup with nice 19 competes \
                 fully.",
        source: "sched(7), \"The autogroup feature\".",
        ..Page::EMPTY
    },
    judge: judge_autogroup,
};

/// The rule of how soon a process may move.
pub static MIGRATION: Rule = Rule {
    page: Page {
        name: "kernel.sched_migration_cost_ns",
        what: "How long after its last run a process counts as having its data in the cache of a processor, 500000 \
               ns by default.",
        today: Today::Obsolete,
        why: "Since Linux 5.13 it is no kernel parameter any more but a file for debugging, \
              /sys/kernel/debug/sched/migration_cost_ns. The published 5000000 is from kernels of 2012 and a \
              scheduler that has been replaced in 6.6.",
        danger: "High values keep processes waiting on one processor while others are idle.",
        source: "Linux commit 8a99b6833c88 (Linux 5.13).",
        until_kernel: Some((5, 13)),
        ..Page::EMPTY
    },
    judge: judge_migration,
};

fn judge_autogroup(facts: &Facts<'_>) -> Vec<Finding> {
    match AUTOGROUP.number(facts) {
        None => Vec::new(),
        Some(0) => AUTOGROUP.fine(0, "Processors are divided among processes."),
        Some(value) => AUTOGROUP.fine(
            value,
            "Processors are divided among sessions of setsid, of which each process of the server is one, where no \
             control group divides them; its effect here is not measured.",
        ),
    }
}

fn judge_migration(facts: &Facts<'_>) -> Vec<Finding> {
    let gone = facts.kernel_is_at_least(5, 13);
    match (MIGRATION.number(facts), facts.sysctl_line(MIGRATION.page.name), gone) {
        (Some(500_000), _, _) => MIGRATION.fine(500_000, "It is the default."),
        (Some(value), _, _) => {
            let reason = "Newer kernels no longer have it, and what it brings here is not measured.";
            vec![MIGRATION.finding(Standing::Obsolete, reason).present(value).recommend(500_000)]
        }
        (None, Some(line), Some(true)) => {
            let reason =
                format!("{} sets it to {}, and kernels since 5.13 do not have it.", line.file, line.value);
            vec![MIGRATION.finding(Standing::Obsolete, reason)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, on_kernel, standings, with_line};

    #[test]
    fn groups_of_sessions_are_no_fault() {
        check_values(&AUTOGROUP, &[("0", Standing::Fine), ("1", Standing::Fine)]);
    }

    #[test]
    fn the_cost_of_migration_left_the_parameters() {
        check_values(&MIGRATION, &[("500000", Standing::Fine), ("5000000", Standing::Obsolete)]);
        let set = with_line(host(&[]), "kernel.sched_migration_cost_ns", "5000000");
        assert_eq!(standings(&MIGRATION, &set), [Standing::Obsolete]);
        assert!(standings(&MIGRATION, &on_kernel(set.clone(), "5.10.0")).is_empty());
        assert!(standings(&MIGRATION, &on_kernel(set, "")).is_empty(), "an unknown kernel may have it");
    }
}
