//! What is known of the moving parts of a device.
//!
//! `queue/rotational` is what the driver says, and the drivers of paravirtual disks say 1 whatever is behind them. A
//! guest is not told what its storage is: there 1 is no answer. 0 is one everywhere, since a driver has to declare it.

use pgdyno_core::facts::{HostFacts, StorageFacts};
use pgdyno_inventory::{BlockDevice, DeviceKind, Inventory};

/// Whether a block device rotates; `None` if that is not known, as of a disk of a guest whose driver says that it does.
pub fn rotates(device: &BlockDevice, host: &Inventory) -> Option<bool> {
    told(device.rotational, device.kind == DeviceKind::Virtual || host.cpu.hypervisor.is_some())
}

/// The same of the storage under a directory. Whoever is in a container does not see whether its host is a guest.
pub(crate) fn storage_rotates(storage: &StorageFacts, host: &HostFacts) -> Option<bool> {
    let is_paravirtual = storage.device.as_deref().is_some_and(is_paravirtual);
    told(storage.rotational, is_paravirtual || host.virtualization.is_some())
}

/// What the kernel says, as far as it can know.
fn told(said: Option<bool>, may_be_virtual: bool) -> Option<bool> {
    said.filter(|rotates| !(*rotates && may_be_virtual))
}

/// Whether a device such as `/dev/vda1` is a disk of virtio or Xen, or a part of one.
fn is_paravirtual(device: &str) -> bool {
    let name = device.strip_prefix("/dev/").unwrap_or(device);
    ["vd", "xvd"].iter().any(|start| {
        let rest = name.strip_prefix(start).unwrap_or_default();
        rest.starts_with(|c: char| c.is_ascii_lowercase())
            && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_knows_what_rotates() {
        for (kind, hypervisor, said, known) in [
            (DeviceKind::Disk, None, Some(true), Some(true)),
            (DeviceKind::Disk, None, Some(false), Some(false)),
            (DeviceKind::Disk, Some("kvm"), Some(true), None),
            (DeviceKind::Disk, Some("kvm"), Some(false), Some(false)),
            (DeviceKind::Virtual, None, Some(true), None),
            (DeviceKind::Virtual, Some("kvm"), Some(true), None),
            (DeviceKind::Nvme, Some("kvm"), Some(false), Some(false)),
            (DeviceKind::Disk, None, None, None),
        ] {
            let mut host = Inventory::default();
            host.cpu.hypervisor = hypervisor.map(str::to_owned);
            let device = BlockDevice { kind, rotational: said, ..BlockDevice::default() };
            assert_eq!(rotates(&device, &host), known, "{kind:?} {hypervisor:?} {said:?}");
        }
    }

    #[test]
    fn paravirtual_disks_are_known_by_their_names() {
        for (device, expected) in [
            ("/dev/vda", true),
            ("/dev/vda1", true),
            ("/dev/xvdb", true),
            ("/dev/sda1", false),
            ("/dev/nvme0n1", false),
            ("/dev/mapper/vdo-data", false),
            ("/dev/vd", false),
            ("tank/vda", false),
        ] {
            assert_eq!(is_paravirtual(device), expected, "{device}");
        }
    }
}
