//! `isolcpus=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `isolcpus=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "isolcpus",
        also: &["isolcpus="],
        what: "Processors that the scheduler gives to no process by itself.",
        today: Today::Depends,
        why: "PostgreSQL starts a process per session and binds none to a processor, so isolated ones stay idle. \
              Bound to several isolated processors by taskset, all sessions pile up on the first, because the \
              scheduler does not balance among them. To keep processors free for a server, use cpusets \
              (AllowedCPUs= of systemd) for everything else.",
        danger: "The server does not use these processors, and measurements take them for idle capacity.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (isolcpus=, deprecated in favour of cpusets); \
                 Documentation/admin-guide/cgroup-v2.rst (cpuset).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(word) = facts.host.kernel.boot_word("isolcpus").filter(|word| !word.is_empty()) else {
        return Vec::new();
    };
    vec![
        RULE.finding(
            Standing::Improve,
            format!("The scheduler gives no session of a server to these processors: {word}."),
        )
        .seen(format!("isolcpus={word}"))
        .better("without the word")
        .by(Knob::BootWord("isolcpus".to_owned()), ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn isolated_processors_are_found() {
        assert_eq!(standings(&RULE, &booted(&["isolcpus=2-7"])), [Standing::Improve]);
        assert_eq!(standings(&RULE, &booted(&["isolcpus="])), []);
        assert_eq!(standings(&RULE, &booted(&["nohz_full=2-7"])), []);
    }
}
