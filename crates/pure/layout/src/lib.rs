//! Storage for a PostgreSQL server, derived number by number.
//!
//! ```text
//! Request (disks, purpose, RAID, manager, file system) → derive → Layout → script · fstab · takedown_script
//! ```
//! Nothing here touches a device: a layout is data, and its scripts are texts that an administrator reads and runs.
//! Every number says what it comes from. Everything here is pure.

mod amounts;
mod derive;
mod derived;
mod ext4;
mod layout;
mod mount;
mod names;
mod notes;
mod numbers;
mod partitions;
mod request;
mod script;
mod stripes;
mod units;
mod xfs;
mod zfs;

pub use derive::derive;
pub use derived::Derived;
pub use ext4::Ext4;
pub use layout::{Filesystem, Group, Layout, Md, Partition, Stack, VolumeLayout};
pub use numbers::Number;
pub use request::{
    Amount, Disk, FilesystemKind, Manager, Overrides, Purpose, Raid, Request, Volume, VolumeKind,
};
pub use script::{fstab, old_stack_script, script, takedown_script};
pub use stripes::Stripes;
pub use units::{parse_size, size_text};
pub use xfs::{AllocationGroups, Xfs, allocation_groups};
pub use zfs::{Dataset, FullPageWrites, Pool};
