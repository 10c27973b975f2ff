//! Directories of tests that make and remove many files.

use std::{fs::File, path::Path};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// Has ext4 keep what is in a directory apart from what is in others.
///
/// Ext4 uses no inode again within minutes of its removal, and looks past all of these for every new file. It looks for
/// room near the directory of the file, and makes directories near their parent, unless that is marked as the top of
/// trees that have nothing to do with each other. Tests make and remove clusters of a thousand files each: near each
/// other, that takes them four times as long. Other file systems need no mark, and refuse it.
pub fn spread(dir: &Path) {
    if let Ok(dir) = File::open(dir)
        && let Ok(flags) = ioctl_getflags(&dir)
    {
        let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
    }
}
