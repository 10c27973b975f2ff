//! Directories of tests that make and remove many files.

use std::{fs::File, path::Path};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// Has ext4 keep what is in a directory apart from what is in others.
///
/// Ext4 takes no inode again within minutes of its removal, and looks past all such inodes for every new file. The next
/// file is looked for where its directory is, and directories are made near their parent, unless that is marked as the
/// top of trees that have nothing to do with each other. Tests make and remove clusters of a thousand files each: next to
/// each other they take four times as long. Other file systems need no mark, and refuse it.
pub fn spread(dir: &Path) {
    if let Ok(dir) = File::open(dir)
        && let Ok(flags) = ioctl_getflags(&dir)
    {
        let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
    }
}
