//! `vm.overcommit_memory`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.overcommit_memory",
        what: "Whether the kernel promises more memory than it has: 0 by a rough estimate, 1 always, 2 never beyond \
               CommitLimit.",
        today: Today::Depends,
        why: "With 2, a session that wants too much memory gets an error and the server lives on; the manual \
              recommends it against the OOM killer. It asks for swap or a higher vm.overcommit_ratio, and for a host \
              where nothing else reserves much more than it uses (runtimes of Java and Go, browsers, fork of large \
              processes). With 0 it is the OOM score of the main process that protects the server.",
        danger: "1 promises everything to everybody, so that only the OOM killer is left; when it ends a process of \
                 the server, all sessions are lost and the server goes through crash recovery.",
        source: "PostgreSQL manual, \"Linux Memory Overcommit\"; Linux Documentation/mm/overcommit-accounting.rst.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        Some(0) => {
            RULE.fine(0, "Obvious excess is refused; what is left to protect the server is its OOM score.")
        }
        Some(1) => {
            let reason = "Every request for memory is granted, so that the OOM killer decides who ends when memory \
                          runs out.";
            vec![RULE.finding(Standing::Dangerous, reason).present(1).set_sysctl(0)]
        }
        Some(2) => RULE.fine(
            2,
            "Requests beyond CommitLimit get an error; the rule CommitLimit says whether it is enough.",
        ),
        Some(value) => {
            vec![RULE.finding(Standing::Unknown, "This is no mode that the kernel documents.").present(value)]
        }
        None => RULE.unread(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host};

    #[test]
    fn only_promising_everything_is_dangerous() {
        let (fine, dangerous) = (Standing::Fine, Standing::Dangerous);
        check_values(&RULE, &[("0", fine), ("1", dangerous), ("2", fine), ("7", Standing::Unknown)]);
        assert_eq!(changes(&RULE, &host(&[("vm.overcommit_memory", "1")])), ["0"]);
    }
}
