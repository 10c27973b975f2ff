//! Options of `mkfs.ext4` that no running host tells.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

/// `mkfs.ext4 -O extent`.
pub static EXTENT: Rule = explained(Page {
    name: "mkfs.ext4 -O extent",
    also: &["-O extent", "extent", "-O extents"],
    what: "Files are mapped by extents instead of single blocks.",
    today: Today::Obsolete,
    why: "Every ext4 has it: mkfs.ext4 sets it by default in /etc/mke2fs.conf. Naming it brings nothing.",
    source: "ext4(5), mke2fs.conf(5).",
    ..Page::EMPTY
});

/// `mkfs.ext4 -O uninit_bg`.
pub static UNINIT: Rule = explained(Page {
    name: "mkfs.ext4 -O uninit_bg",
    also: &["-O uninit_bg", "uninit_bg", "gdt_csum"],
    what: "Block groups have a checksum, so that unused ones need not be initialised.",
    today: Today::Obsolete,
    why: "metadata_csum, which mkfs.ext4 sets by default since e2fsprogs 1.43, does the same and protects all \
          other metadata too; both are not used at once. Naming uninit_bg brings nothing.",
    source: "ext4(5), features uninit_bg and metadata_csum.",
    ..Page::EMPTY
});

/// `mkfs.ext4 -E stride`.
pub static STRIDE: Rule = explained(Page {
    name: "stride",
    also: &["mkfs.ext4 -E stride", "-E stride"],
    what: "Blocks of the file system that lie on one disk before the next one follows: stripe size divided by \
           block size.",
    today: Today::DefaultIsRight,
    why: "mkfs.ext4 reads it from what the device reports as minimum_io_size, so that md and LVM need no option; a \
          RAID controller often reports nothing. With flex_bg, which ext4 has by default, it hardly matters: it \
          spread bitmaps over disks when each block group had its own. tune2fs -E stride changes it later.",
    source: "mke2fs(8), extended options.",
    ..Page::EMPTY
});

/// `mkfs.ext4 -T largefile`.
pub static USAGE: Rule = explained(Page {
    name: "mkfs.ext4 -T",
    also: &["mkfs.ext4 -T largefile", "-T largefile", "largefile", "largefile4"],
    what: "How the file system is used; largefile makes one inode per MiB instead of one per 16 KiB, largefile4 \
           one per 4 MiB.",
    today: Today::Kept,
    why: "A server has one file of up to 1 GiB per GiB of a relation and some small ones, so inodes of a MiB each \
          are plenty, unless there are very many small tables. The default spends 1/64 of the volume on inode \
          tables (256 bytes per 16 KiB), which the kernel initialises after the first mount. It cannot be changed \
          later.",
    danger: "Inodes that ran out look like a full disk while df shows free space: look at df -i.",
    source: "mke2fs(8), mke2fs.conf(5).",
    ..Page::EMPTY
});

/// `mkfs.ext4 -L`.
pub static LABEL: Rule = explained(Page {
    name: "mkfs.ext4 -L",
    also: &["-L", "label", "mkfs.xfs -L"],
    what: "A label by which fstab can name the file system.",
    today: Today::Kept,
    why: "Names such as /dev/sdb may change at each start of the host. LABEL=, UUID= and names of LVM do not. A \
          UUID is unique without care, a label can be read; two file systems with one label are a trap for whoever \
          clones disks.",
    source: "fstab(5), blkid(8).",
    ..Page::EMPTY
});
