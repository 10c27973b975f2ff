//! The stripes below a file system.

use pgdyno_core::host::{BlockDevice, Inventory, Mount, Stripe};

/// A striped device below a file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Striped<'a> {
    /// The array or volume.
    pub device: &'a BlockDevice,
    /// How it is striped.
    pub stripe: &'a Stripe,
    /// Bytes on one member before the next one follows; not 0.
    pub chunk: u64,
    /// Bytes of data in a full stripe; not 0.
    pub full: u64,
}

/// The uppermost striped device below a file system; `None` if there is none, or one whose stripes are unknown.
pub fn striped<'a>(host: &'a Inventory, mount: &Mount) -> Option<Striped<'a>> {
    let stack = host.stack(mount.device.as_deref()?);
    stack.into_iter().find_map(|device| {
        let stripe = device.stripe.as_ref()?;
        let chunk = stripe.chunk_bytes;
        let full = chunk.checked_mul(u64::from(data_members(stripe)?))?;
        (full > 0).then_some(Striped { device, stripe, chunk, full })
    })
}

/// The members whose data a full stripe holds: all but those of parity or copies; `None` for levels without stripes.
pub fn data_members(stripe: &Stripe) -> Option<u32> {
    match stripe.level.as_str() {
        "raid0" | "striped" => Some(stripe.members),
        "raid4" | "raid5" => stripe.members.checked_sub(1),
        "raid6" => stripe.members.checked_sub(2),
        // Near copies, two of each chunk: the default of mdadm.
        "raid10" => Some(stripe.members / 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::DeviceKind;

    use super::*;
    use crate::host::testing::{device, mount, mounted};

    #[test]
    fn members_of_data_are_counted() {
        for (level, members, expected) in [
            ("raid0", 10, Some(10)),
            ("striped", 8, Some(8)),
            ("raid5", 5, Some(4)),
            ("raid6", 6, Some(4)),
            ("raid10", 10, Some(5)),
            ("raid1", 2, None),
            ("raid6", 1, None),
        ] {
            let stripe = Stripe { level: level.to_owned(), members, chunk_bytes: 0 };
            assert_eq!(data_members(&stripe), expected, "{level} of {members}");
        }
    }

    #[test]
    fn the_uppermost_stripes_count() {
        let stripe = |level: &str, members, chunk_bytes| {
            Some(Stripe { level: level.to_owned(), members, chunk_bytes })
        };
        let mut devices = vec![device("dm-0", DeviceKind::Lvm, &["md0"]), device("md0", DeviceKind::Md, &[])];
        devices[1].stripe = stripe("raid5", 4, 65536);
        let mut host = mounted(mount("xfs", Some("dm-0"), ""), devices);
        let found = striped(&host, &host.mounts[0]).expect("the array is striped");
        assert_eq!((found.device.name.as_str(), found.chunk, found.full), ("md0", 65536, 3 * 65536));
        host.devices[0].stripe = stripe("striped", 2, 8192);
        assert_eq!(striped(&host, &host.mounts[0]).map(|found| found.full), Some(16384));
        host.devices[0].stripe = stripe("striped", 0, 8192);
        host.devices[1].stripe = stripe("striped", 2, u64::MAX);
        assert_eq!(striped(&host, &host.mounts[0]), None);
    }
}
