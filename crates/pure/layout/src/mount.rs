//! Mount options: today's safe defaults.

use crate::{derived::Derived, request::FilesystemKind};

/// The mount options of a file system, each with its reason. ZFS mounts its datasets itself.
pub fn options(filesystem: FilesystemKind) -> Vec<Derived<String>> {
    let no_access_times = Derived::new(
        "noatime".to_owned(),
        "PostgreSQL does not use access times; it implies nodiratime. relatime, the default since Linux 2.6.30, still \
         writes them once a day and after each change",
    );
    let read_only_on_error = Derived::new(
        "errors=remount-ro".to_owned(),
        "after damage was found in metadata nothing more is written; the default of mke2fs is to continue",
    );
    match filesystem {
        FilesystemKind::Ext4 => vec![no_access_times, read_only_on_error],
        FilesystemKind::Xfs => vec![no_access_times],
        FilesystemKind::Zfs => Vec::new(),
    }
}
