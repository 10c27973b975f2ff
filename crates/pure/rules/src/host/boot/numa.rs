//! `numa=off`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `numa=off`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "numa=off",
        also: &["numa="],
        what: "The kernel takes the memory of all sockets for one node.",
        today: Today::Obsolete,
        why: "It was published against kernels that reclaimed page cache of one node while others had free memory. \
              vm.zone_reclaim_mode has been 0 by default since Linux 3.16, which removes that cause, and without \
              node information the kernel can neither keep memory near its processor nor balance it. Leave the \
              word out; to spread shared_buffers over nodes, start the server with numactl --interleave=all.",
        danger: "Memory of a process may lie on a remote node throughout, and nothing shows it any more.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (numa=) and \
                 Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode); commit 4f9b16a64753 of Linux 3.16.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    if host.kernel.boot_word("numa") != Some("off") {
        return Vec::new();
    }
    let finding = match host.cpu.sockets {
        Some(1) => RULE.finding(
            Standing::NoEffect,
            "The host has one socket, so there is usually one node, and nothing to switch off.",
        ),
        Some(sockets) => RULE.finding(
            Standing::Improve,
            format!(
                "The memory of {sockets} sockets is one node, and is given to processes wherever they run."
            ),
        ),
        None => RULE.finding(
            Standing::Improve,
            "Nodes are hidden from the kernel, so processes get memory of any node, wherever they run.",
        ),
    };
    vec![finding.seen("numa=off").better("without the word").by(Knob::BootWord("numa".to_owned()), "")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn numa_off_is_found() {
        let mut host = booted(&["ro", "numa=off"]);
        assert_eq!(standings(&RULE, &host), [Standing::Improve]);
        host.cpu.sockets = Some(2);
        assert_eq!(standings(&RULE, &host), [Standing::Improve]);
        host.cpu.sockets = Some(1);
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
    }

    #[test]
    fn other_words_are_not() {
        for words in [&["numa=noacpi"][..], &["ro"], &[]] {
            assert_eq!(standings(&RULE, &booted(words)), [], "{words:?}");
        }
    }
}
