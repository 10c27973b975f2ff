//! The OOM score of the server.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "oom_score_adj",
        also: &["PG_OOM_ADJUST_FILE", "PG_OOM_ADJUST_VALUE", "OOMScoreAdjust"],
        what: "What is added to the score by which the OOM killer chooses a process to end, -1000 (never) to 1000.",
        today: Today::Kept,
        why: "The main process of the server should be spared: with it everything ends. Its start script or unit \
              lowers its score (OOMScoreAdjust=-900 or -1000, which needs root), and \
              PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj in its environment gives its children a normal one again, \
              so that a single session can be chosen.",
        danger: "With the same low score for all, the OOM killer ends other services or finds nobody and the host \
                 stops; with a normal one for all it may end the main process.",
        source: "PostgreSQL manual, \"Linux Memory Overcommit\"; proc_pid_oom_score_adj(5).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(server) = facts.host.server.as_ref() else { return Vec::new() };
    let Some(main) = server.oom_score_adjustment else {
        return vec![RULE.finding(Standing::Unknown, "The score of the main process could not be read.")];
    };
    let strict = facts.host.sysctl_number("vm.overcommit_memory") == Some(2);
    match (main, server.child_oom_score_adjustment) {
        (0.., _) if strict => RULE.fine(
            main,
            "The kernel promises no more than it has (vm.overcommit_memory = 2), so it rarely comes to that.",
        ),
        (0.., _) => {
            let reason = "When memory runs out, the main process may be ended like any other, and all sessions with \
                          it.";
            vec![
                RULE.finding(Standing::Improve, reason)
                    .present(main)
                    .recommend("-900, by OOMScoreAdjust= of the unit"),
            ]
        }
        (_, Some(child)) if child <= main => {
            let reason = format!(
                "Sessions have {child} as well: set PG_OOM_ADJUST_FILE, so that one of them can be ended alone."
            );
            vec![RULE.finding(Standing::Improve, reason).present(main).recommend("0 for the children")]
        }
        (_, Some(child)) => {
            RULE.fine(main, format!("The main process is spared, and its children have {child}."))
        }
        (_, None) => RULE.fine(main, "The main process is spared; the score of its children is unknown."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{host, standings, with_server};

    #[test]
    fn the_main_process_is_spared() {
        for (main, child, mode, expected) in [
            (Some(0), Some(0), "0", Standing::Improve),
            (Some(0), None, "2", Standing::Fine),
            (Some(-900), Some(0), "0", Standing::Fine),
            (Some(-900), Some(-900), "0", Standing::Improve),
            (Some(-900), None, "0", Standing::Fine),
            (None, None, "0", Standing::Unknown),
        ] {
            let mut host = with_server(host(&[("vm.overcommit_memory", mode)]), 17, &[]);
            let server = host.server.as_mut().expect("it was put there");
            server.oom_score_adjustment = main;
            server.child_oom_score_adjustment = child;
            assert_eq!(standings(&RULE, &host), [expected], "{main:?} {child:?} {mode}");
        }
        assert!(standings(&RULE, &host(&[])).is_empty(), "no server");
    }
}
