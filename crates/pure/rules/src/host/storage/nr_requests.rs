//! `nr_requests`.

use super::scope::disks;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// SATA allows 32 requests on the disk; a queue that holds fewer leaves the disk idle for some time.
const FEW: u64 = 31;

/// `nr_requests`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nr_requests",
        also: &["queue/nr_requests"],
        what: "How many requests the queue of a disk may hold.",
        today: Today::DefaultIsRight,
        why: "Without a scheduler the hardware limits it; with one, the kernel takes twice the depth of the \
              hardware queue, at most 256. More requests in a scheduler's queue let it order more, and let a \
              checkpoint queue more writes before a read. Many backends or io_workers wait for a queue that holds \
              too few.",
        source: "Linux Documentation/ABI/stable/sysfs-block (nr_requests); block/blk-mq-sched.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let judge_one = |(name, depth): (&str, u64)| {
        let finding = match depth < FEW {
            true => RULE
                .finding(
                    Standing::Improve,
                    format!("Only {depth} requests fit into its queue: others wait before it."),
                )
                .better("the default of the driver"),
            false => RULE.finding(Standing::Fine, "The queue holds enough requests to keep the disk busy."),
        };
        finding.about(name).seen(depth.to_string())
    };
    disks(facts.host)
        .into_iter()
        .filter_map(|disk| Some((disk.name.as_str(), disk.queue_depth?)))
        .map(judge_one)
        .collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    #[test]
    fn short_queues_are_found() {
        for (queue_depth, expected) in [
            (Some(4), &[Standing::Improve][..]),
            (Some(31), &[Standing::Fine]),
            (Some(1023), &[Standing::Fine]),
            (None, &[]),
        ] {
            let disk = BlockDevice { queue_depth, ..device("sda", DeviceKind::Disk, &[]) };
            let host = mounted(mount("ext4", Some("sda"), ""), vec![disk]);
            assert_eq!(standings(&RULE, &host), expected, "{queue_depth:?}");
        }
    }
}
