//! `elevator=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `elevator=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "elevator=",
        also: &["elevator", "elevator=deadline", "elevator=noop", "elevator=cfq"],
        what: "It chose one I/O scheduler for all disks.",
        today: Today::Obsolete,
        why: "Linux 5.0 removed the single-queue block layer with noop, deadline and cfq, whose scheduler the word \
              chose; disks with multiple queues never used it. Later kernels only log that it has no effect. \
              Choose the scheduler of each disk in /sys/block/DISK/queue/scheduler, by a udev rule.",
        source: "Linux block/elevator.c, elevator_setup(), which only warns; \
                 Documentation/block/switching-sched.rst.",
        until_kernel: Some((5, 0)),
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let kernel = &facts.host.kernel;
    let (Some(word), Some(version)) = (kernel.boot_word("elevator"), kernel.version()) else {
        return Vec::new();
    };
    let finding = if version >= (5, 0) {
        RULE.finding(
            Standing::Obsolete,
            format!("Linux {} ignores it: no disk has its scheduler from here.", kernel.release),
        )
        .better("without the word")
        .by(Knob::BootWord("elevator".to_owned()), "")
    } else if matches!(word, "deadline" | "noop") {
        RULE.finding(
            Standing::Fine,
            format!(
                "Linux {} still obeys it for disks of the older block layer, which most were then.",
                kernel.release
            ),
        )
    } else {
        RULE.finding(
            Standing::Improve,
            format!(
                "Linux {} gives this scheduler to all disks of the older block layer, which most were then.",
                kernel.release
            ),
        )
        .better("elevator=deadline")
        .by(Knob::BootWord("elevator".to_owned()), "deadline")
    };
    vec![finding.seen(format!("elevator={word}"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_kernel_decides_what_the_word_does() {
        for (word, release, expected) in [
            ("elevator=deadline", "6.12.0", Standing::Obsolete),
            ("elevator=noop", "5.0.1", Standing::Obsolete),
            ("elevator=deadline", "3.10.0-693.el7", Standing::Fine),
            ("elevator=cfq", "4.19.0", Standing::Improve),
        ] {
            let mut host = booted(&[word]);
            host.kernel.release = release.to_owned();
            assert_eq!(standings(&RULE, &host), [expected], "{word} on {release}");
        }
    }

    #[test]
    fn without_the_word_or_the_release_nothing_is_claimed() {
        assert_eq!(standings(&RULE, &booted(&["ro"])), []);
        let mut host = booted(&["elevator=deadline"]);
        host.kernel.release.clear();
        assert_eq!(standings(&RULE, &host), []);
    }
}
