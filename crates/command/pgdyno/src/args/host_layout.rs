//! `pgdyno host layout`.

use std::{fs, process::ExitCode};

use clap::ValueEnum;
use pgdyno_core::problem::Problem;
use pgdyno_layout::{
    Amount, Disk, FilesystemKind, Manager, Overrides, Purpose, Raid, Request, Volume, VolumeKind, derive,
    fstab, old_stack_script, parse_size, script, takedown_script,
};

use super::host_of::here;
use crate::output;

/// Flags of `pgdyno host layout`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Touches no device. --script prints a script that makes the layout; it refuses by itself where a disk \
    is mounted, in use, signed, or another than when it was planned, and erases nothing without its own flag.\n\n\
    Examples:\n  \
    pgdyno host layout --disks /dev/sdb,/dev/sdc --fs xfs\n  \
    pgdyno host layout --disks /dev/sdb,/dev/sdc,/dev/sdd,/dev/sde --raid 10 --volume wal=200g --volume data=rest\n  \
    pgdyno host layout --disks /dev/nvme1n1 --script > layout.sh\n  \
    pgdyno host layout --disks /dev/sdb,/dev/sdc --takedown-old > blank.sh"
)]
pub struct Args {
    /// Whole disks, each used completely
    #[arg(long, value_name = "DEV,…", value_delimiter = ',', required = true)]
    disks: Vec<String>,
    /// What the storage is for
    #[arg(long, value_name = "PURPOSE", default_value = "oltp")]
    purpose: PurposeName,
    /// File system
    #[arg(long, value_name = "FS", default_value = "xfs")]
    fs: FsName,
    /// Block of PostgreSQL (--with-blocksize)
    #[arg(long, value_name = "SIZE", default_value = "8k", value_parser = size)]
    block: u64,
    /// How data is spread over the disks [default: 0, or none for one disk]
    #[arg(long, value_name = "LEVEL")]
    raid: Option<RaidName>,
    /// Software that combines the disks and makes volumes [default: lvm; none for ZFS, which does so itself]
    #[arg(long, value_name = "MANAGER")]
    manager: Option<ManagerName>,
    /// Volume and its size: data, index or wal, and 200g, 30% or rest; may be repeated [default: data=rest]
    #[arg(long, value_name = "KIND=SIZE", value_parser = volume)]
    volume: Vec<Volume>,
    /// Leave space for snapshots of LVM
    #[arg(long)]
    snapshot: bool,
    /// Name of volume group, array or pool; labels begin with it
    #[arg(long, value_name = "NAME", default_value = "pg")]
    name: String,
    /// Stripe (chunk) instead of the derived one
    #[arg(long, value_name = "SIZE", value_parser = size)]
    stripe: Option<u64>,
    /// Extent of LVM instead of the derived one
    #[arg(long, value_name = "SIZE", value_parser = size)]
    extent: Option<u64>,
    /// Block of the file system instead of the derived one
    #[arg(long, value_name = "SIZE", value_parser = size)]
    fs_block: Option<u64>,
    /// Allocation groups of XFS instead of the derived number
    #[arg(long, value_name = "N")]
    allocation_groups: Option<u64>,
    /// Print the script that makes it
    #[arg(long, conflicts_with_all = ["fstab", "takedown", "takedown_old", "json"])]
    script: bool,
    /// Print the lines of /etc/fstab
    #[arg(long, conflicts_with_all = ["takedown", "takedown_old", "json"])]
    fstab: bool,
    /// Print the script that takes this layout down again
    #[arg(long, conflicts_with_all = ["takedown_old", "json"])]
    takedown: bool,
    /// Print the script that takes down what is on these disks now (file systems, LVM, md, encrypted devices) and
    /// leaves them blank
    #[arg(long, conflicts_with = "json")]
    takedown_old: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PurposeName {
    /// Many short transactions
    Oltp,
    /// Few long queries
    Olap,
    /// WAL alone
    Wal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FsName {
    Ext4,
    Xfs,
    Zfs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RaidName {
    /// Not at all
    None,
    /// Stripes: no disk may fail
    #[value(name = "0")]
    Striped,
    /// Stripes over pairs of mirrors
    #[value(name = "10")]
    MirroredStripes,
    /// Stripes with one parity block each
    #[value(name = "5")]
    Parity,
    /// Stripes with two parity blocks each
    #[value(name = "6")]
    DoubleParity,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ManagerName {
    Lvm,
    Md,
    None,
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|problem| problem.to_string())
}

fn volume(text: &str) -> Result<Volume, String> {
    let (kind, amount) = text.split_once('=').ok_or("it has no `=`")?;
    let kind = match kind {
        "data" => VolumeKind::Data,
        "index" => VolumeKind::Index,
        "wal" => VolumeKind::Wal,
        _ => return Err("the kinds are data, index and wal".to_owned()),
    };
    let amount = match (amount, amount.strip_suffix('%')) {
        ("rest", _) => Amount::Rest,
        (_, Some(percent)) => Amount::Percent(percent.parse().map_err(|_| "it is no percentage".to_owned())?),
        (amount, None) => Amount::Bytes(size(amount)?),
    };
    Ok(Volume { kind, amount, mount: None })
}

/// The device node of a disk that may be named by a link such as those in `/dev/disk/by-id`.
fn node(path: &str) -> String {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let node = is_link.then(|| fs::canonicalize(path).ok()).flatten();
    node.and_then(|node| node.to_str().map(str::to_owned)).unwrap_or_else(|| path.to_owned())
}

/// Derives a layout, and prints its numbers with what they come from, or a script.
///
/// # Errors
/// A disk does not exist or is in use, or the layout is not possible.
pub fn run(args: &Args) -> Result<ExitCode, Problem> {
    if args.takedown_old {
        let disks: Vec<String> = args.disks.iter().map(|path| node(path)).collect();
        output::print(&old_stack_script(&here(None)?, &disks)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let layout = derive(&args.request()?)?;
    output::print(&if args.json {
        output::json(&layout)
    } else if args.script {
        script(&layout)
    } else if args.fstab {
        fstab(&layout)
    } else if args.takedown {
        takedown_script(&layout)
    } else {
        pgdyno_report::host_layout(&layout)
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn request(&self) -> Result<Request, Problem> {
        let host = here(None)?;
        let disks: Vec<Disk> =
            self.disks.iter().map(|path| Disk::find(&host, &node(path))).collect::<Result<_, _>>()?;
        let volumes = match self.volume.as_slice() {
            [] => vec![Volume { kind: self.usual_volume(), amount: Amount::Rest, mount: None }],
            given => given.to_vec(),
        };
        Ok(Request {
            raid: self.raid_of(disks.len()),
            manager: self.manager_or_usual(),
            disks,
            purpose: match self.purpose {
                PurposeName::Oltp => Purpose::Oltp,
                PurposeName::Olap => Purpose::Olap,
                PurposeName::Wal => Purpose::Wal,
            },
            filesystem: match self.fs {
                FsName::Ext4 => FilesystemKind::Ext4,
                FsName::Xfs => FilesystemKind::Xfs,
                FsName::Zfs => FilesystemKind::Zfs,
            },
            block_bytes: self.block,
            volumes,
            snapshot: self.snapshot,
            kernel: host.kernel.release.clone(),
            page_bytes: host.memory.page_bytes.max(4_096),
            name: self.name.clone(),
            overrides: Overrides {
                stripe_bytes: self.stripe,
                filesystem_block_bytes: self.fs_block,
                allocation_groups: self.allocation_groups,
                extent_bytes: self.extent,
            },
        })
    }

    fn usual_volume(&self) -> VolumeKind {
        match self.purpose {
            PurposeName::Wal => VolumeKind::Wal,
            PurposeName::Oltp | PurposeName::Olap => VolumeKind::Data,
        }
    }

    fn raid_of(&self, disks: usize) -> Raid {
        match self.raid {
            None if disks > 1 => Raid::Striped,
            None | Some(RaidName::None) => Raid::None,
            Some(RaidName::Striped) => Raid::Striped,
            Some(RaidName::MirroredStripes) => Raid::MirroredStripes,
            Some(RaidName::Parity) => Raid::Parity,
            Some(RaidName::DoubleParity) => Raid::DoubleParity,
        }
    }

    fn manager_or_usual(&self) -> Manager {
        match self.manager {
            None if self.fs == FsName::Zfs => Manager::None,
            None | Some(ManagerName::Lvm) => Manager::Lvm,
            Some(ManagerName::Md) => Manager::Md,
            Some(ManagerName::None) => Manager::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_the_disk_behind_them() {
        let dir = std::env::temp_dir().join(format!("pgdyno-links-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("it can be made");
        let link = dir.join("disk");
        std::os::unix::fs::symlink("/dev/null", &link).expect("it can be made");
        assert_eq!(node(link.to_str().expect("it is text")), "/dev/null");
        assert_eq!(node("/dev/null"), "/dev/null");
        assert_eq!(node("sdb"), "sdb");
        fs::remove_dir_all(&dir).expect("it can be removed");
    }

    #[test]
    fn volumes_have_sizes() {
        let of = |text| volume(text).map(|volume| (volume.kind, volume.amount));
        assert_eq!(of("wal=200g"), Ok((VolumeKind::Wal, Amount::Bytes(200 << 30))));
        assert_eq!(of("index=30%"), Ok((VolumeKind::Index, Amount::Percent(30))));
        assert_eq!(of("data=rest"), Ok((VolumeKind::Data, Amount::Rest)));
        for wrong in ["data", "logs=1g", "data=x%", "data=much"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
