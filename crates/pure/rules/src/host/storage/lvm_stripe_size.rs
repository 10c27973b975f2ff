//! `lvcreate -I`.

use pgdyno_core::host::DeviceKind;
use pgdyno_core::units::bytes;

use super::scope::{devices, server_block_bytes};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// The default of LVM.
const DEFAULT: u64 = 64 << 10;

/// `lvcreate -I`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "lvcreate -I",
        also: &["--stripesize", "lvcreate --stripesize", "stripe size"],
        what: "How many KiB of a volume lie on one disk before the next one follows; 64 by default.",
        today: Today::Depends,
        why: "The size of the server's block (8 KiB) was published, but requests are cut at stripes: read-ahead, \
              writes of checkpoints and the combined reads of 128 kB since PostgreSQL 17 (io_combine_limit) are cut \
              into sixteen small pieces each, which the kernel can join again only for each disk. A block can \
              lie within one stripe where stripes are a multiple of it; files of ext4 and XFS begin at multiples of \
              4 KiB, so that some blocks lie on two disks all the same, the fewer the larger stripes are. 64 KiB to \
              512 KiB suit short transactions as well as scans; which of them is best was not measured here. A file \
              system that was made for stripes (stripe, stripe_width, sunit, swidth) is to be made for the new size.",
        source: "lvcreate(8); Linux Documentation/admin-guide/device-mapper/striped.rst; PostgreSQL manual, Resource \
                 Consumption, io_combine_limit.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let block = server_block_bytes(facts.host);
    let mut findings = Vec::new();
    for volume in devices(facts.host).into_iter().filter(|device| device.kind == DeviceKind::Lvm) {
        let Some(stripe) =
            volume.stripe.as_ref().filter(|stripe| stripe.level == "striped" && stripe.members > 1)
        else {
            continue;
        };
        let chunk = stripe.chunk_bytes;
        let finding = if chunk == 0 {
            continue;
        } else if !chunk.is_multiple_of(block) {
            let reason = format!(
                "A block of the server ({}) is spread over two disks now and then. The size is fixed: for another one, \
                     volume and file system are recreated, and the data is copied.",
                bytes(block)
            );
            RULE.finding(Standing::Improve, reason).better(bytes(DEFAULT.max(block)))
        } else if chunk < DEFAULT {
            let reason = format!(
                "A read of 128 KiB is cut into {} pieces, which the kernel can join again only for each disk. The size \
                 is fixed: for another one, volume and file system are recreated, and the data is copied.",
                (128 << 10) / chunk
            );
            RULE.finding(Standing::Improve, reason).better(bytes(DEFAULT.max(block)))
        } else {
            RULE.finding(
                Standing::Fine,
                "It is a multiple of the server's block, and does not cut reads into small pieces.",
            )
        };
        findings.push(finding.about(volume.alias.as_deref().unwrap_or(&volume.name)).seen(bytes(chunk)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, Inventory, Stripe};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings, with_setting};

    fn host(chunk_bytes: u64) -> Inventory {
        let stripe = Some(Stripe { level: "striped".to_owned(), members: 8, chunk_bytes });
        let volume =
            BlockDevice { stripe, alias: Some("vg-lv".to_owned()), ..device("dm-0", DeviceKind::Lvm, &[]) };
        mounted(mount("ext4", Some("dm-0"), ""), vec![volume])
    }

    #[test]
    fn small_stripes_cut_requests() {
        for (chunk, expected) in [
            (8 << 10, &[Standing::Improve][..]),
            (4 << 10, &[Standing::Improve]),
            (64 << 10, &[Standing::Fine]),
            (512 << 10, &[Standing::Fine]),
            (0, &[]),
        ] {
            assert_eq!(standings(&RULE, &host(chunk)), expected, "{chunk}");
        }
        let said = judged(&RULE, &host(8 << 10)).remove(0);
        assert_eq!(
            (said.object.as_str(), said.reason.as_str()),
            (
                "vg-lv",
                "A read of 128 KiB is cut into 16 pieces, which the kernel can join again only for each disk. The size \
                 is fixed: for another one, volume and file system are recreated, and the data is copied."
            )
        );
    }

    #[test]
    fn a_block_must_fit_into_a_stripe() {
        let large_blocks = with_setting(host(16 << 10), "block_size", "32768");
        assert!(judged(&RULE, &large_blocks)[0].reason.contains("two disks"));
    }

    #[test]
    fn volumes_without_stripes_are_not_judged() {
        let mut host = host(8 << 10);
        host.devices[0].stripe = None;
        assert_eq!(standings(&RULE, &host), []);
    }
}
