//! The numbers of a layout as a list, to be printed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    derived::Derived,
    ext4::Ext4,
    layout::{Filesystem, Layout, Partition, Stack, VolumeLayout},
    units::size_text,
    xfs::Xfs,
    zfs::{Dataset, FullPageWrites},
};

/// A number of a layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Number {
    /// What it is, such as `ext4 stride of data`.
    pub what: String,
    /// Its value, as the tools take or print it.
    pub value: String,
    /// What it comes from.
    pub because: String,
}

/// Collects numbers.
struct List(Vec<Number>);

impl List {
    fn add<T>(&mut self, what: impl Into<String>, derived: &Derived<T>, text: impl Fn(&T) -> String) {
        let value = text(&derived.value);
        self.0.push(Number { what: what.into(), value, because: derived.because.clone() });
    }

    fn size(&mut self, what: impl Into<String>, derived: &Derived<u64>) {
        self.add(what, derived, |bytes| size_text(*bytes));
    }

    fn count(&mut self, what: impl Into<String>, derived: &Derived<u64>) {
        self.add(what, derived, u64::to_string);
    }

    fn partitions(&mut self, whose: &str, partitions: &[&Partition]) {
        for partition in partitions {
            let place = format!("of partition {} of {whose}", partition.number);
            let text = |blocks: &u64| format!("{blocks} ({})", size_text(blocks * partition.sector_bytes));
            self.add(format!("first block {place}"), &partition.start_sector, text);
            self.add(format!("blocks {place}"), &partition.sectors, text);
        }
    }

    /// The partitions of all disks; once, if they are the same on each.
    fn disks(&mut self, layout: &Layout) {
        let disks = &layout.request.disks;
        let of = |disk: usize| -> Vec<&Partition> {
            layout.partitions.iter().filter(|partition| partition.disk == disk).collect()
        };
        let numbers = |disk: usize| -> Vec<_> {
            of(disk).into_iter().map(|it| (&it.start_sector, &it.sectors, it.sector_bytes)).collect()
        };
        if disks.len() > 1 && (1..disks.len()).all(|disk| numbers(disk) == numbers(0)) {
            return self.partitions("each disk", &of(0));
        }
        for (index, disk) in disks.iter().enumerate() {
            self.partitions(&disk.path, &of(index));
        }
    }

    fn stack(&mut self, stack: &Stack) {
        match stack {
            Stack::Partitions => {}
            Stack::Lvm(group) => {
                self.size("LVM data alignment", &group.data_alignment_bytes);
                self.size("LVM extent", &group.extent_bytes);
                self.count("LVM extents per disk", &group.extents_per_disk);
                if let Some(chunk) = &group.snapshot_chunk_bytes {
                    self.size("LVM chunk of snapshots", chunk);
                    self.count("LVM extents left for snapshots", &group.snapshot_extents);
                }
            }
            Stack::Md(md) => {
                self.size("md data offset", &md.data_offset_bytes);
                self.size("md size of the array", &md.size_bytes);
                self.partitions("the array", &md.partitions.iter().collect::<Vec<_>>());
            }
            Stack::Zfs(pool) => self.add("ZFS ashift", &pool.ashift, u32::to_string),
        }
    }

    fn volume(&mut self, volume: &VolumeLayout) {
        let name = volume.kind.name();
        self.add(format!("size of {name}"), &volume.size_bytes, |bytes| match bytes {
            0 => "no quota".to_owned(),
            bytes => size_text(*bytes),
        });
        match &volume.filesystem {
            Filesystem::Ext4(ext4) => self.ext4(name, ext4),
            Filesystem::Xfs(xfs) => self.xfs(name, xfs),
            Filesystem::Zfs(dataset) => self.dataset(name, dataset),
        }
        for option in &volume.mount_options {
            self.add(format!("mount option of {name}"), option, String::clone);
        }
    }

    fn ext4(&mut self, name: &str, ext4: &Ext4) {
        self.size(format!("ext4 block of {name}"), &ext4.block_bytes);
        for (what, number) in [("stride", &ext4.stride_blocks), ("stripe_width", &ext4.stripe_width_blocks)] {
            if let Some(number) = number {
                self.count(format!("ext4 {what} of {name}"), number);
            }
        }
        self.add(format!("ext4 reserve of {name}"), &ext4.reserved_percent, |percent| format!("{percent} %"));
        self.size(format!("ext4 bytes per inode of {name}"), &ext4.bytes_per_inode);
        let flag = |on: &bool| u8::from(*on).to_string();
        self.add(format!("ext4 lazy_itable_init of {name}"), &ext4.lazy_inode_tables, flag);
        self.add(format!("ext4 lazy_journal_init of {name}"), &ext4.lazy_journal, flag);
    }

    fn xfs(&mut self, name: &str, xfs: &Xfs) {
        self.size(format!("XFS block of {name}"), &xfs.block_bytes);
        self.size(format!("XFS sector of {name}"), &xfs.sector_bytes);
        if let Some(stripe) = &xfs.stripe {
            self.size(format!("XFS su of {name}"), &stripe.unit_bytes);
            self.count(format!("XFS sw of {name}"), &stripe.units);
        }
        self.count(format!("XFS blocks of an allocation group of {name}"), &xfs.groups.blocks);
        self.count(format!("XFS allocation groups of {name}"), &xfs.groups.count);
        self.size(format!("XFS log of {name}"), &xfs.log_bytes);
        if let Some(unit) = &xfs.log_stripe_bytes {
            self.size(format!("XFS stripe unit of the log of {name}"), unit);
        }
    }

    fn dataset(&mut self, name: &str, dataset: &Dataset) {
        self.size(format!("ZFS recordsize of {name}"), &dataset.record_bytes);
        let properties = [
            ("logbias", &dataset.log_bias),
            ("primarycache", &dataset.primary_cache),
            ("compression", &dataset.compression),
            ("atime", &dataset.access_time),
        ];
        for (property, value) in properties {
            self.add(format!("ZFS {property} of {name}"), value, String::clone);
        }
        self.add(format!("full_page_writes for {name}"), &dataset.full_page_writes, |answer| match answer {
            FullPageWrites::MustBeOn => "on".to_owned(),
            FullPageWrites::MayBeOff => "off is possible".to_owned(),
        });
    }
}

impl Layout {
    /// All numbers, in the order in which the script uses them.
    pub fn numbers(&self) -> Vec<Number> {
        let mut list = List(Vec::new());
        list.disks(self);
        if let Some(stripes) = &self.stripes {
            list.count("data disks", &stripes.data_disks);
            list.size("stripe", &stripes.stripe_bytes);
        }
        list.stack(&self.stack);
        for volume in &self.volumes {
            list.volume(volume);
        }
        list.0
    }
}
