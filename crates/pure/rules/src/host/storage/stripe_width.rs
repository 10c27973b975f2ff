//! `stripe_width` of ext4.

use pgdyno_core::host::Knob;
use pgdyno_core::units::bytes;

use super::geometry::striped;
use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `stripe_width`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "stripe_width",
        also: &["mkfs.ext4 -E stripe_width", "stripe-width", "stripe="],
        what: "Blocks of ext4 in a full stripe: stride times the disks that hold data. The mount option stripe= \
               overrides it.",
        today: Today::Kept,
        why: "The allocator begins files on multiples of it, so that long writes fill whole stripes; on RAID 5 and \
              6 a partial stripe makes the array read first. mkfs.ext4 takes it from optimal_io_size, so that md \
              and LVM need no option. On stripes without parity its effect is small.",
        source: "mke2fs(8), extended options; Linux Documentation/admin-guide/ext4.rst (stripe=).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4"]), |mount| {
        // Absent, it may be what mkfs wrote, which recent kernels do not show.
        let blocks: u64 = mount.option("stripe")?.parse().ok()?;
        let below = striped(facts.host, mount)?;
        let block = mount.block_bytes.filter(|&bytes| bytes > 0)?;
        let present = blocks.checked_mul(block)?;
        if present == below.full {
            let reason = format!("It is the full stripe of {}.", below.device.name);
            return Some(RULE.finding(Standing::Fine, reason).seen(bytes(present)));
        }
        let wanted = format!("stripe={}", below.full / block);
        let reason = format!(
            "{} has {} chunks of {} with data in a full stripe.",
            below.device.name,
            below.full / below.chunk,
            bytes(below.chunk)
        );
        let finding = RULE.finding(Standing::Improve, reason).seen(bytes(present)).better(bytes(below.full));
        Some(finding.by(Knob::MountOption(mount.point.clone()), &wanted))
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Stripe};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings};

    fn host(options: &str, stripe: Option<Stripe>) -> Inventory {
        let mut mount = mount("ext4", Some("dm-0"), options);
        mount.block_bytes = Some(4096);
        mounted(mount, vec![BlockDevice { stripe, ..device("dm-0", DeviceKind::Lvm, &[]) }])
    }

    /// 8 stripes of 8 KiB, as the first article lays them out: stride 2, stripe_width 16.
    fn eight() -> Option<Stripe> {
        Some(Stripe { level: "striped".to_owned(), members: 8, chunk_bytes: 8192 })
    }

    #[test]
    fn the_width_is_compared_with_the_stripes_below() {
        assert_eq!(standings(&RULE, &host("stripe=16", eight())), [Standing::Fine]);
        assert_eq!(standings(&RULE, &host("stripe=32", eight())), [Standing::Improve]);
        let said = judged(&RULE, &host("stripe=0", eight())).remove(0);
        assert_eq!(said.change.expect("it can be mounted otherwise").value, "stripe=16");
    }

    #[test]
    fn nothing_is_claimed_of_what_is_unknown() {
        for (options, stripe) in [("noatime", eight()), ("stripe=16", None), ("stripe=many", eight())] {
            assert_eq!(standings(&RULE, &host(options, stripe)), [], "{options}");
        }
    }
}
