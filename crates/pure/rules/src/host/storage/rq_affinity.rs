//! `rq_affinity`.

use pgdyno_core::host::Knob;
use pgdyno_core::units::plural;

use super::scope::{disks, sysfs};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `rq_affinity`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "rq_affinity",
        also: &["queue/rq_affinity", "rq_affinity=2"],
        what: "Where completed requests are processed: 0 where the interrupt arrived, 1 on a processor that shares \
               a cache with the one that sent the request, 2 on exactly that one.",
        today: Today::Depends,
        why: "The default 1 is right for disks with a queue per processor, such as NVMe: their interrupts arrive \
              near the sender anyway. 2 spreads the work of a disk with one queue whose interrupts would keep one \
              processor busy.",
        source: "Linux Documentation/ABI/stable/sysfs-block (rq_affinity).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let processors = facts.host.cpu.logical;
    let mut findings = Vec::new();
    for disk in disks(facts.host) {
        let Some(present) = disk.completion_affinity else { continue };
        let has_a_queue_each = processors > 0 && disk.queues.len() as u64 >= u64::from(processors);
        let finding = match present {
            0 => RULE
                .finding(Standing::Improve, "All completions are processed where the interrupt arrives.")
                .better("1")
                .by(Knob::Sysfs(sysfs(disk, "queue/rq_affinity")), "1"),
            2 if has_a_queue_each => RULE.finding(
                Standing::NoEffect,
                format!(
                    "The disk has {} for {}: completions arrive there anyway.",
                    plural(disk.queues.len() as u64, "queue"),
                    plural(u64::from(processors), "processor")
                ),
            ),
            _ => RULE.finding(
                Standing::Fine,
                "Completions are processed near the processor that sent the request.",
            ),
        };
        findings.push(finding.about(&disk.name).seen(present.to_string()));
    }
    findings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings};

    fn host(affinity: Option<u8>, queues: usize) -> Inventory {
        let disk = BlockDevice {
            completion_affinity: affinity,
            queues: (0..queues).map(|queue| queue.to_string()).collect(),
            ..device("sda", DeviceKind::Disk, &[])
        };
        let mut host = mounted(mount("ext4", Some("sda"), ""), vec![disk]);
        host.cpu.logical = 4;
        host
    }

    #[test]
    fn values_are_judged_by_the_queues() {
        for (affinity, queues, expected) in [
            (Some(1), 1, &[Standing::Fine][..]),
            (Some(2), 1, &[Standing::Fine]),
            (Some(2), 4, &[Standing::NoEffect]),
            (Some(0), 1, &[Standing::Improve]),
            (None, 1, &[]),
        ] {
            assert_eq!(standings(&RULE, &host(affinity, queues)), expected, "{affinity:?}, {queues} queues");
        }
        let change = judged(&RULE, &host(Some(0), 1)).remove(0).change.expect("0 is to be changed");
        assert_eq!(change.knob, Knob::Sysfs("/sys/block/sda/queue/rq_affinity".to_owned()));
    }
}
