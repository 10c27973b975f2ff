//! Partitions, aligned at both ends.

use pgdyno_core::problem::Problem;

use crate::{
    amounts,
    derived::Derived,
    layout::Partition,
    request::{Disk, Volume},
    stripes::Stripes,
    units::{KIB, MIB, common_multiple, round_down, size_text},
};

/// Largest alignment that is taken from a full stripe; beyond it, a device means something else by it.
const LARGEST_ALIGNMENT: u64 = 256 * MIB;

/// A device that gets a partition table: a disk, or an array.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Index of the disk; 0 for an array.
    pub disk: usize,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Bytes of a logical block.
    pub sector_bytes: u64,
    /// What partitions are aligned to, in bytes.
    pub alignment: Derived<u64>,
}

/// What partitions are aligned to: 1 MiB, and whole stripes of what is below.
pub fn alignment(below: Option<&Stripes>) -> Derived<u64> {
    let common = |stripes: &Stripes| common_multiple(MIB, stripes.width_bytes());
    match below.map(|stripes| (stripes, common(stripes))) {
        Some((stripes, bytes)) if bytes > MIB && bytes <= LARGEST_ALIGNMENT => Derived::new(
            bytes,
            format!(
                "the least common multiple of 1 MiB and the full stripe of {} below",
                size_text(stripes.width_bytes())
            ),
        ),
        _ => Derived::new(
            MIB,
            "1 MiB is a multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and leaves \
             space for the partition table",
        ),
    }
}

impl Surface {
    /// A disk.
    pub fn of(disk: usize, facts: &Disk, below: Option<&Stripes>) -> Self {
        let alignment = alignment(below);
        Self { disk, size_bytes: facts.size_bytes, sector_bytes: facts.logical_block_bytes, alignment }
    }

    /// Bytes between the table at the beginning and its copy at the end, a multiple of the alignment.
    pub fn usable_bytes(&self) -> u64 {
        let unit = self.alignment.value;
        // The copy of a GPT is 128 entries of 128 bytes, and one logical block.
        let copy = 16 * KIB + self.sector_bytes;
        round_down(self.size_bytes.saturating_sub(copy), unit).saturating_sub(unit)
    }

    /// One partition of so many bytes, a multiple of the alignment.
    pub fn whole(&self, bytes: u64, because: &str) -> Partition {
        self.partition(1, self.alignment.value, bytes, because)
    }

    /// A partition for each volume.
    pub fn divided(&self, volumes: &[Volume]) -> Result<Vec<Partition>, Problem> {
        let unit = self.alignment.value;
        let shares = amounts::shares(volumes, self.usable_bytes() / unit, unit)?;
        let mut start = unit;
        let mut partitions = Vec::new();
        for ((volume, units), number) in volumes.iter().zip(shares).zip(1..) {
            let because = amounts::words(volume.amount);
            partitions.push(self.partition(number, start, units * unit, &because));
            start += units * unit;
        }
        Ok(partitions)
    }

    fn partition(&self, number: u32, start: u64, bytes: u64, because: &str) -> Partition {
        let sector = self.sector_bytes;
        let unit = size_text(self.alignment.value);
        Partition {
            disk: self.disk,
            number,
            start_sector: Derived::new(
                start / sector,
                format!("in logical blocks of {sector} bytes: {}", self.alignment.because),
            ),
            sectors: Derived::new(bytes / sector, format!("{because}; the end is aligned to {unit} as well")),
            sector_bytes: sector,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Amount, VolumeKind};

    fn surface(size_bytes: u64, sector_bytes: u64) -> Surface {
        Surface { disk: 0, size_bytes, sector_bytes, alignment: alignment(None) }
    }

    #[test]
    fn partitions_begin_at_1_mib_and_leave_the_copy_of_the_table() {
        let cases = [
            // size, logical block, first block, blocks
            (256 * MIB, 512, 2048, 254 * 2048),
            // One block more than 257 MiB is not enough for the copy.
            (257 * MIB + 16 * KIB, 512, 2048, 255 * 2048),
            (257 * MIB + 16 * KIB + 512, 512, 2048, 256 * 2048),
            (256 * MIB, 4096, 256, 254 * 256),
        ];
        for (size, sector, start, sectors) in cases {
            let surface = surface(size, sector);
            let partition = surface.whole(surface.usable_bytes(), "all of it");
            assert_eq!((partition.start_sector.value, partition.sectors.value), (start, sectors), "{size}");
            assert!(partition.start_bytes() + partition.size_bytes() + 16 * KIB + sector <= size);
        }
    }

    #[test]
    fn partitions_are_aligned_to_whole_stripes() {
        let stripes = Stripes { data_disks: Derived::new(6, ""), stripe_bytes: Derived::new(64 * KIB, "") };
        // 384 KiB and 1 MiB: 3 MiB.
        assert_eq!(alignment(Some(&stripes)).value, 3 * MIB);
        let wide = Stripes { data_disks: Derived::new(127, ""), stripe_bytes: Derived::new(16 * MIB, "") };
        assert_eq!(alignment(Some(&wide)).value, MIB, "no disk begins at 2 GiB");
    }

    #[test]
    fn a_disk_is_divided_without_gaps() {
        let volumes = [(VolumeKind::Wal, Amount::Bytes(20 * MIB)), (VolumeKind::Data, Amount::Rest)]
            .map(|(kind, amount)| Volume { kind, amount, mount: None });
        let partitions = surface(256 * MIB, 512).divided(&volumes).expect("they fit");
        let ends: Vec<_> =
            partitions.iter().map(|it| (it.start_bytes() / MIB, it.size_bytes() / MIB)).collect();
        assert_eq!(ends, [(1, 20), (21, 234)]);
    }
}
