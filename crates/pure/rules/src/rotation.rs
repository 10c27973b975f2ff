//! What is known of the moving parts of the storage under a directory.

use pgdyno_core::facts::{HostFacts, StorageFacts};
use pgdyno_core::host::believed_rotation;

/// Whether the storage under a directory rotates; `None` if that is not known. Whoever is in a container does not see
/// whether its host is a guest.
pub(crate) fn storage_rotates(storage: &StorageFacts, host: &HostFacts) -> Option<bool> {
    let is_paravirtual = storage.device.as_deref().is_some_and(is_paravirtual);
    believed_rotation(storage.rotational, is_paravirtual || host.virtualization.is_some())
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
