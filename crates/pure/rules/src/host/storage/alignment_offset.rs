//! `alignment_offset`.

use super::scope::devices;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `alignment_offset`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "alignment_offset",
        also: &[],
        what: "By how many bytes the kernel finds the beginning of a device off the alignment of what is below it.",
        today: Today::Kept,
        why: "0 is right. Another value says that the beginning lies inside a physical block or chunk, so that \
              writes touch one more than they need; -1 says that the parts of a volume or array cannot be aligned \
              with each other. Make the partition or physical volume again at 1 MiB.",
        source: "Linux Documentation/ABI/stable/sysfs-block (alignment_offset); block/blk-settings.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for device in devices(facts.host) {
        let Some(offset) = device.alignment_offset_bytes else { continue };
        let finding = match offset {
            0 => RULE.finding(Standing::Fine, "It begins where the device below is aligned."),
            -1 => RULE
                .finding(Standing::Improve, "The kernel cannot align its parts with each other.")
                .better("parts that begin at 1 MiB"),
            _ => RULE
                .finding(
                    Standing::Improve,
                    format!("It begins {offset} bytes off the alignment of the device below."),
                )
                .better("0"),
        };
        findings.push(finding.about(&device.name).seen(offset.to_string()));
    }
    findings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    #[test]
    fn offsets_are_found() {
        for (offset, expected) in [
            (Some(0), &[Standing::Fine][..]),
            (Some(3584), &[Standing::Improve]),
            (Some(-1), &[Standing::Improve]),
            (None, &[]),
        ] {
            let disk = BlockDevice { alignment_offset_bytes: offset, ..device("sda", DeviceKind::Disk, &[]) };
            let host = mounted(mount("ext4", Some("sda"), ""), vec![disk]);
            assert_eq!(standings(&RULE, &host), expected, "{offset:?}");
        }
    }
}
