//! `scsi_mod.use_blk_mq`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `scsi_mod.use_blk_mq`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "scsi_mod.use_blk_mq",
        also: &["scsi_mod.use_blk_mq=1", "scsi_mod.use_blk_mq=Y"],
        what: "It put SCSI and SATA disks on the multi-queue block layer.",
        today: Today::Obsolete,
        why: "Since Linux 5.0 the multi-queue block layer is the only one. Before, from 3.17 on, the word chose \
              between both, and with it the schedulers mq-deadline, kyber, bfq and none instead of deadline, cfq \
              and noop.",
        source: "Linux drivers/scsi/scsi.c; the legacy path was removed in Linux 5.0 (scsi: kill off the legacy IO \
                 path).",
        since_kernel: Some((3, 17)),
        until_kernel: Some((5, 0)),
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let kernel = &facts.host.kernel;
    let (Some(word), Some(version)) = (kernel.boot_word(RULE.page.name), kernel.version()) else {
        return Vec::new();
    };
    let finding = match version >= (5, 0) {
        true => RULE
            .finding(
                Standing::Obsolete,
                format!("Linux {} has no other block layer to choose.", kernel.release),
            )
            .better("without the word")
            .by(Knob::BootWord(RULE.page.name.to_owned()), ""),
        false => RULE.finding(
            Standing::Fine,
            format!("Linux {} has both block layers, and the word chooses one of them.", kernel.release),
        ),
    };
    vec![finding.seen(format!("{}={word}", RULE.page.name))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_word_is_of_kernels_before_5_0() {
        let mut host = booted(&["scsi_mod.use_blk_mq=1"]);
        assert_eq!(standings(&RULE, &host), [Standing::Obsolete]);
        host.kernel.release = "4.19.0".to_owned();
        assert_eq!(standings(&RULE, &host), [Standing::Fine]);
        host.kernel.release.clear();
        assert_eq!(standings(&RULE, &host), []);
        assert_eq!(standings(&RULE, &booted(&["ro"])), []);
    }
}
