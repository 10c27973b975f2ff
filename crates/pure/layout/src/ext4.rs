//! The numbers of ext4.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    derived::Derived,
    request::VolumeKind,
    stripes::Stripes,
    units::{KIB, MIB, size_text},
};

/// Longest label in bytes.
pub const LONGEST_LABEL: usize = 16;
/// First kernel that mounts blocks above its page.
pub const LARGE_BLOCKS_SINCE: (u32, u32) = (6, 19);
/// Bytes of an inode by default.
const INODE_BYTES: u64 = 256;
/// Inodes that a volume has at least, if 16 KiB each allow it.
const INODES_WANTED: u64 = 1 << 20;

/// The numbers of an ext4 file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ext4 {
    /// Block in bytes (`-b`).
    pub block_bytes: Derived<u64>,
    /// Blocks of a stripe on one disk (`-E stride`); `None` without stripes.
    pub stride_blocks: Option<Derived<u64>>,
    /// Blocks of a full stripe (`-E stripe_width`); `None` without stripes.
    pub stripe_width_blocks: Option<Derived<u64>>,
    /// Share of blocks that only root may use, in percent (`-m`).
    pub reserved_percent: Derived<u32>,
    /// Bytes per inode (`-i`).
    pub bytes_per_inode: Derived<u64>,
    /// Whether tables of inodes are initialised in the background, after the first mount (`-E lazy_itable_init`).
    pub lazy_inode_tables: Derived<bool>,
    /// Whether the journal is (`-E lazy_journal_init`).
    pub lazy_journal: Derived<bool>,
}

/// The numbers for a volume.
pub fn ext4(kind: VolumeKind, size_bytes: u64, block_bytes: Derived<u64>, stripes: Option<&Stripes>) -> Ext4 {
    let block = block_bytes.value;
    let bytes_per_inode = bytes_per_inode(size_bytes);
    let tables = size_bytes / bytes_per_inode.value * INODE_BYTES;
    Ext4 {
        stride_blocks: stripes.map(|stripes| {
            let bytes = stripes.stripe_bytes.value;
            let because = format!("stripe of {} / block of {}", size_text(bytes), size_text(block));
            Derived::new(bytes / block, because)
        }),
        stripe_width_blocks: stripes.map(|stripes| {
            let disks = stripes.data_disks.value;
            Derived::new(stripes.width_bytes() / block, format!("stride × {disks} data disks"))
        }),
        reserved_percent: reserved(kind),
        lazy_inode_tables: Derived::new(
            false,
            format!(
                "{} of inode tables are written now; by default the kernel thread ext4lazyinit writes them after the \
                 first mount, into the measurement",
                size_text(tables)
            ),
        ),
        lazy_journal: Derived::new(false, "the journal is overwritten now, not when it is first used"),
        bytes_per_inode,
        block_bytes,
    }
}

fn reserved(kind: VolumeKind) -> Derived<u32> {
    match kind {
        VolumeKind::Wal => Derived::new(
            1,
            "PostgreSQL stops when this volume is full, and it must not use the reserve; `tune2fs -m 0` then gives it \
             space to start with again",
        ),
        VolumeKind::Data | VolumeKind::Index => Derived::new(
            0,
            "no process of root needs space on a volume of PostgreSQL, which cannot use the default of 5 %",
        ),
    }
}

fn bytes_per_inode(size_bytes: u64) -> Derived<u64> {
    let mut ratio = MIB;
    while ratio > 16 * KIB && size_bytes / ratio < INODES_WANTED {
        ratio /= 2;
    }
    let inodes = size_bytes / ratio;
    let like = if ratio == MIB { ", the same as -T largefile" } else { "" };
    let because = if inodes >= INODES_WANTED {
        format!(
            "{inodes} inodes{like}: a relation has two files and more, and one for each GiB; 1 Mi inodes are \
             enough for some hundred thousand relations, and fewer tables are checked and initialised"
        )
    } else {
        format!(
            "{inodes} inodes: the default ratio, as the volume is too small for 1 Mi inodes at a larger one"
        )
    };
    Derived::new(ratio, because)
}

impl Ext4 {
    /// Arguments of `mkfs.ext4`, without label and device.
    pub fn arguments(&self) -> Vec<String> {
        let flag = |name: &str, on: bool| format!("{name}={}", u8::from(on));
        let mut extended = vec![
            flag("lazy_itable_init", self.lazy_inode_tables.value),
            flag("lazy_journal_init", self.lazy_journal.value),
        ];
        if let (Some(stride), Some(width)) = (&self.stride_blocks, &self.stripe_width_blocks) {
            extended.push(format!("stride={}", stride.value));
            extended.push(format!("stripe_width={}", width.value));
        }
        let numbers = [
            ("-b", self.block_bytes.value.to_string()),
            ("-m", self.reserved_percent.value.to_string()),
            ("-i", self.bytes_per_inode.value.to_string()),
            ("-E", extended.join(",")),
        ];
        numbers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{GIB, TIB};

    fn block() -> Derived<u64> {
        Derived::new(4096, "")
    }

    #[test]
    fn stride_and_width_are_counted_in_blocks() {
        // stripe, data disks, stride, stripe width: the articles' 8 and 16 disks with 8 KiB; and today's.
        let cases = [(8, 8, 2, 16), (8, 16, 2, 32), (64, 8, 16, 128), (256, 4, 64, 256)];
        for (kib, disks, stride, width) in cases {
            let stripes =
                Stripes { data_disks: Derived::new(disks, ""), stripe_bytes: Derived::new(kib * KIB, "") };
            let ext4 = ext4(VolumeKind::Data, TIB, block(), Some(&stripes));
            let numbers = (ext4.stride_blocks, ext4.stripe_width_blocks);
            assert_eq!(
                (numbers.0.map(|it| it.value), numbers.1.map(|it| it.value)),
                (Some(stride), Some(width))
            );
        }
    }

    #[test]
    fn inodes_are_enough_on_small_volumes_too() {
        let cases = [
            (14 * TIB, MIB),
            (TIB, MIB),
            (TIB - GIB, 512 * KIB),
            (100 * GIB, 64 * KIB),
            (16 * GIB, 16 * KIB),
            (GIB, 16 * KIB),
        ];
        for (size, ratio) in cases {
            assert_eq!(bytes_per_inode(size).value, ratio, "{}", size_text(size));
        }
    }

    #[test]
    fn a_disk_without_stripes_gets_none() {
        let arguments = ext4(VolumeKind::Wal, TIB, block(), None).arguments().join(" ");
        assert_eq!(arguments, "-b 4096 -m 1 -i 1048576 -E lazy_itable_init=0,lazy_journal_init=0");
    }
}
