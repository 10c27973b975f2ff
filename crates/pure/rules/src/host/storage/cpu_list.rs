//! Hardware queues and their processors.

use pgdyno_core::host::DeviceKind;
use pgdyno_core::units::plural;

use super::scope::disks;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// From so many processors on, one queue is known to be contended.
const MANY: u32 = 8;

/// `mq/*/cpu_list`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "mq/cpu_list",
        also: &["cpu_list", "mq CPU list", "mq/0/cpu_list"],
        what: "The hardware queues of a disk and the processors that use each (/sys/block/DISK/mq/QUEUE/cpu_list).",
        today: Today::DefaultIsRight,
        why: "The kernel assigns processors to queues when it finds the disk; the list is read only. A test of a \
              disk should run on processors of all its queues. All processors share the queue of an NVMe or \
              paravirtual disk that has only one; from about eight on they are known to wait for each other. Virtual \
              machines get more queues by a setting of the hypervisor (num-queues), some clouds by a larger \
              instance.",
        source: "Linux Documentation/block/blk-mq.rst; block/blk-mq-sysfs.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let processors = facts.host.cpu.logical;
    let is_multiple = |kind| matches!(kind, DeviceKind::Nvme | DeviceKind::Virtual);
    disks(facts.host)
        .into_iter()
        .filter(|disk| is_multiple(disk.kind) && !disk.queues.is_empty() && processors > 0)
        .map(|disk| {
            let queues = disk.queues.len();
            let finding = match queues == 1 && processors >= MANY {
                true => RULE
                    .finding(
                        Standing::Improve,
                        format!("All {processors} processors send their requests through one queue."),
                    )
                    .better("several queues, set in the hypervisor or the driver"),
                false => {
                    let few = if queues == 1 && processors > 1 { ", which is enough for so few" } else { "" };
                    let processors = plural(u64::from(processors), "processor");
                    let queues = plural(queues as u64, "queue");
                    RULE.finding(Standing::Fine, format!("{queues} for {processors}{few}."))
                }
            };
            finding.about(&disk.name).seen(queues.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, Inventory};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings};

    fn host(kind: DeviceKind, queues: &[&str], logical: u32) -> Inventory {
        let queues = queues.iter().map(|&queue| queue.to_owned()).collect();
        let disk = BlockDevice { queues, ..device("vda", kind, &[]) };
        let mut host = mounted(mount("ext4", Some("vda"), ""), vec![disk]);
        host.cpu.logical = logical;
        host
    }

    #[test]
    fn queues_are_counted() {
        for (queues, expected) in [
            (&["0-1"][..], "1 queue for 2 processors, which is enough for so few."),
            (&["0", "1"], "2 queues for 2 processors."),
        ] {
            assert_eq!(judged(&RULE, &host(DeviceKind::Virtual, queues, 2))[0].reason, expected);
        }
    }

    #[test]
    fn one_queue_for_many_processors_is_found() {
        for (kind, queues, logical, expected) in [
            (DeviceKind::Virtual, &["0-15"][..], 16, &[Standing::Improve][..]),
            (DeviceKind::Virtual, &["0", "1"], 2, &[Standing::Fine]),
            (DeviceKind::Virtual, &["0-1"], 2, &[Standing::Fine]),
            (DeviceKind::Disk, &["0-15"], 16, &[]),
            (DeviceKind::Nvme, &[], 16, &[]),
            (DeviceKind::Nvme, &["0"], 0, &[]),
        ] {
            assert_eq!(standings(&RULE, &host(kind, queues, logical)), expected, "{kind:?} {queues:?}");
        }
    }
}
