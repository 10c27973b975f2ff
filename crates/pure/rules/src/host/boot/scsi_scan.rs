//! `scsi_mod.scan=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `scsi_mod.scan=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "scsi_mod.scan",
        also: &["scsi_mod.scan=sync", "scsi_mod.scan=async"],
        what: "Whether the kernel finds SCSI disks one host adapter after the other (sync) or all at once (async).",
        today: Today::NoEffect,
        why: "It only concerns how long booting takes and in which order disks get their names; nothing of it is \
              left once the server runs. The order of sda and sdb is not promised with sync either: mount by UUID \
              or label.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (scsi_mod.scan=); drivers/scsi/scsi_scan.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(word) = facts.host.kernel.boot_word("scsi_mod.scan") else { return Vec::new() };
    let finding = match word {
        // Then only an explicit write to sysfs finds disks, or the word is wrong: neither is ours to judge.
        "sync" | "async" => RULE
            .finding(
                Standing::NoEffect,
                "Disks were found when the host booted: the word does nothing to their speed.",
            )
            .better("without the word")
            .by(Knob::BootWord("scsi_mod.scan".to_owned()), ""),
        _ => return Vec::new(),
    };
    vec![finding.seen(format!("scsi_mod.scan={word}"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_word_does_nothing_to_a_running_server() {
        assert_eq!(standings(&RULE, &booted(&["scsi_mod.scan=sync"])), [Standing::NoEffect]);
        assert_eq!(standings(&RULE, &booted(&["scsi_mod.scan=none"])), []);
        assert_eq!(standings(&RULE, &booted(&["scsi_mod.scanner=sync"])), []);
    }
}
