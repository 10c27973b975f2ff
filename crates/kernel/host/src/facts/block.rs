//! Block devices: `/sys/class/block` (Documentation/ABI/stable/sysfs-block).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use pgdyno_core::host::{BlockDevice, DeviceKind, Mount, Stripe};

use super::{
    dir::{bracketed, flag, names, number, numbered, order},
    file::first_line,
    mountinfo::{device_name, mount_of},
};

/// Most devices that are read: those below mounts first, then the others in order.
const MOST_DEVICES: usize = 512;
/// Most hardware queues of a device that are read.
const MOST_QUEUES: usize = 256;
/// The unit of sizes and positions in sysfs, whatever the device's block is.
const SECTOR: u64 = 512;

/// Reads all devices, those of the mounts first if there are too many. Empty drives and unused loop devices are left
/// out.
pub(super) fn read(root: &Path, mounts: &[Mount]) -> Vec<BlockDevice> {
    let mut found = Found { root, devices: Vec::new(), seen: BTreeSet::new() };
    mounts.iter().filter_map(|mount| mount.device.as_deref()).for_each(|name| found.add(name));
    let (loops, others): (Vec<String>, Vec<String>) =
        names(&root.join("sys/class/block")).into_iter().partition(|name| name.starts_with("loop"));
    others.iter().chain(&loops).for_each(|name| found.add(&name.replace('!', "/")));
    found.devices.sort_by(|a, b| order(&a.name).cmp(&order(&b.name)));
    found.devices
}

/// Reads a device and all that it consists of.
pub(super) fn stack(root: &Path, name: &str) -> Vec<BlockDevice> {
    let mut found = Found { root, devices: Vec::new(), seen: BTreeSet::new() };
    found.add(name);
    found.devices
}

struct Found<'a> {
    root: &'a Path,
    devices: Vec<BlockDevice>,
    seen: BTreeSet<String>,
}

impl Found<'_> {
    /// Adds a device and all that it consists of, unless it is there.
    fn add(&mut self, name: &str) {
        let mut names = vec![name.to_owned()];
        while let Some(name) = names.pop() {
            if self.devices.len() >= MOST_DEVICES || !self.seen.insert(name.clone()) {
                continue;
            }
            let Some(device) = device(self.root, &name) else { continue };
            names.extend(device.parents.iter().cloned());
            let stripe = self.stripe(&device);
            self.devices.push(BlockDevice { stripe, ..device });
        }
    }

    fn stripe(&self, device: &BlockDevice) -> Option<Stripe> {
        let dir = dir_of(self.root, &device.name);
        match device.kind {
            DeviceKind::Md => stripe_of_md(&dir),
            DeviceKind::Lvm => {
                let first = dir_of(self.root, device.parents.first()?);
                let disk = fs::canonicalize(&first).ok().filter(|dir| dir.join("partition").exists());
                let first = disk.as_deref().and_then(Path::parent).unwrap_or(&first);
                stripe_of_volume(device, (number(first, "queue/minimum_io_size"), preferred(first)))
            }
            _ => None,
        }
    }
}

fn dir_of(root: &Path, name: &str) -> PathBuf {
    root.join("sys/class/block").join(name.replace('/', "!"))
}

/// Reads a device but its stripes; `None` if it has no size or is hidden, as paths of NVMe devices are.
fn device(root: &Path, name: &str) -> Option<BlockDevice> {
    let dir = dir_of(root, name);
    let size_bytes = number::<u64>(&dir, "size")?.checked_mul(SECTOR).filter(|size| *size > 0)?;
    (flag(&dir, "hidden") != Some(true)).then_some(())?;
    let backing_file = first_line(&dir, "loop/backing_file");
    let start = number::<u64>(&dir, "start").filter(|_| dir.join("partition").exists());
    let first = |names: &[&str]| names.iter().find_map(|name| first_line(&dir, name));
    Some(queue(
        &dir,
        BlockDevice {
            name: name.to_owned(),
            alias: first_line(&dir, "dm/name"),
            kind: kind(&dir, name),
            model: first_line(&dir, "device/model"),
            serial: first(&["serial", "device/serial", "wwid", "device/wwid"]),
            size_bytes,
            parents: parents(root, &dir, backing_file.as_deref()),
            alignment_offset_bytes: number(&dir, "alignment_offset"),
            start_bytes: start.and_then(|sectors| sectors.checked_mul(SECTOR)),
            backing_file,
            backing_is_cached: flag(&dir, "loop/dio").map(|is_direct| !is_direct),
            ..BlockDevice::default()
        },
    ))
}

/// Adds what the directory `queue` says, which partitions do not have.
fn queue(dir: &Path, device: BlockDevice) -> BlockDevice {
    let queue = dir.join("queue");
    let (scheduler, schedulers) = schedulers(&first_line(&queue, "scheduler").unwrap_or_default());
    let kilobytes: Option<u64> = number(&queue, "read_ahead_kb");
    BlockDevice {
        rotational: flag(&queue, "rotational"),
        scheduler,
        schedulers,
        read_ahead_bytes: kilobytes.and_then(|kilobytes| kilobytes.checked_mul(1024)),
        queue_depth: number(&queue, "nr_requests"),
        queues: hardware_queues(&dir.join("mq")),
        completion_affinity: number(&queue, "rq_affinity"),
        write_cache: first_line(&queue, "write_cache"),
        force_unit_access: flag(&queue, "fua"),
        logical_block_bytes: number(&queue, "logical_block_size"),
        physical_block_bytes: number(&queue, "physical_block_size"),
        minimum_io_bytes: number(&queue, "minimum_io_size"),
        optimal_io_bytes: preferred(dir),
        atomic_write_bytes: number(&queue, "atomic_write_unit_max_bytes"),
        discard: number::<u64>(&queue, "discard_max_bytes").map(|most| most > 0),
        ..device
    }
}

/// The preferred request size; 0 means none.
fn preferred(dir: &Path) -> Option<u64> {
    number(dir, "queue/optimal_io_size").filter(|size| *size > 0)
}

/// The active scheduler and all, of a line such as `none [mq-deadline] kyber`; a device without a choice has one word.
fn schedulers(line: &str) -> (Option<String>, Vec<String>) {
    let all: Vec<String> =
        line.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect();
    let only = || all.first().filter(|_| all.len() == 1).cloned();
    (bracketed(line).map(str::to_owned).or_else(only), all)
}

fn hardware_queues(base: &Path) -> Vec<String> {
    let queues = numbered(base, "").into_iter().take(MOST_QUEUES);
    queues.filter_map(|queue| first_line(base, &format!("{queue}/cpu_list"))).collect()
}

fn kind(dir: &Path, name: &str) -> DeviceKind {
    if dir.join("partition").exists() {
        return DeviceKind::Partition;
    }
    if dir.join("md").is_dir() {
        return DeviceKind::Md;
    }
    if dir.join("dm").is_dir() {
        return kind_of_mapper(&first_line(dir, "dm/uuid").unwrap_or_default());
    }
    kind_of_name(name)
}

/// What made a device of the device mapper, by the prefix that its maker gave to the UUID.
fn kind_of_mapper(uuid: &str) -> DeviceKind {
    let is_of = |prefix: &str| uuid.starts_with(prefix);
    match () {
        () if is_of("LVM-") => DeviceKind::Lvm,
        // These check blocks, and do not encrypt.
        () if is_of("CRYPT-VERITY-") || is_of("CRYPT-INTEGRITY-") => DeviceKind::Mapper,
        () if is_of("CRYPT-") => DeviceKind::Crypt,
        () if is_of("mpath-") => DeviceKind::Multipath,
        // Made by kpartx.
        () if is_of("part") && uuid.contains("-mpath-") => DeviceKind::Partition,
        () => DeviceKind::Mapper,
    }
}

fn kind_of_name(name: &str) -> DeviceKind {
    const KINDS: [(&str, DeviceKind); 11] = [
        ("nvme", DeviceKind::Nvme),
        ("vd", DeviceKind::Virtual),
        ("xvd", DeviceKind::Virtual),
        ("loop", DeviceKind::Loop),
        ("ram", DeviceKind::Memory),
        ("zram", DeviceKind::Memory),
        ("pmem", DeviceKind::Memory),
        ("sd", DeviceKind::Disk),
        ("hd", DeviceKind::Disk),
        ("mmcblk", DeviceKind::Disk),
        ("dasd", DeviceKind::Disk),
    ];
    KINDS.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(DeviceKind::Other, |(_, kind)| *kind)
}

/// The devices that a device consists of: the disk of a partition, the devices below it, or the one that holds its
/// backing file.
fn parents(root: &Path, dir: &Path, backing_file: Option<&str>) -> Vec<String> {
    if let Some(file) = backing_file {
        let file = Path::new(file.trim_end_matches(" (deleted)"));
        let below = mount_of(root, file).and_then(|mount| device_name(root, &mount.device_number));
        return below.into_iter().collect();
    }
    let disk = || fs::canonicalize(dir).ok()?.parent()?.file_name()?.to_str().map(str::to_owned);
    let parents = match dir.join("partition").exists() {
        true => disk().into_iter().collect(),
        false => names(&dir.join("slaves")),
    };
    parents.iter().map(|name| name.replace('!', "/")).collect()
}

/// Levels without stripes have chunk size 0.
fn stripe_of_md(dir: &Path) -> Option<Stripe> {
    Some(Stripe {
        level: first_line(dir, "md/level")?,
        members: number(dir, "md/raid_disks")?,
        chunk_bytes: number(dir, "md/chunk_size").filter(|chunk| *chunk > 0)?,
    })
}

/// The stripes of a logical volume. Its table is readable only with privileges; but the target `striped` says its chunk
/// as the smallest and the whole stripe as the preferred request (`stripe_io_hints` of drivers/md/dm-stripe.c). Linear
/// volumes pass on what the device below says, given as its smallest and preferred request; so where both agree, or
/// where the members do not add up, nothing is known.
fn stripe_of_volume(device: &BlockDevice, below: (Option<u64>, Option<u64>)) -> Option<Stripe> {
    let (chunk, whole) = (device.minimum_io_bytes?, device.optimal_io_bytes?);
    (below != (Some(chunk), Some(whole)) && chunk > 0 && whole % chunk == 0).then_some(())?;
    let members = whole / chunk;
    let devices = device.parents.len() as u64;
    // A volume that was extended may be striped over one set of devices after the other.
    (members >= 2 && members <= devices && devices.is_multiple_of(members)).then_some(())?;
    Some(Stripe { level: "striped".to_owned(), members: u32::try_from(members).ok()?, chunk_bytes: chunk })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    /// A tree with files below `sys/devices`, and links to devices: from the directory of all devices, and from those
    /// of a device to the ones below.
    fn sysfs(files: &[(&str, &str)], devices: &[&str], below: &[(&str, &str)]) -> tempfile::TempDir {
        let files: Vec<_> = files.iter().map(|(path, text)| (format!("sys/devices/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let root = tree(&files);
        let link = |to: &str, at: String| {
            let at = root.path().join(at);
            fs::create_dir_all(at.parent().expect("it has one")).expect("it can be made");
            symlink(root.path().join("sys/devices").join(to), at).expect("a link can be made");
        };
        for device in devices {
            let name = device.rsplit('/').next().expect("it has a name");
            link(device, format!("sys/class/block/{name}"));
        }
        for (device, part) in below {
            let name = part.rsplit('/').next().expect("it has a name");
            link(part, format!("sys/devices/{device}/slaves/{name}"));
        }
        root
    }

    #[test]
    fn a_striped_volume_on_partitions_is_read() {
        let root = sysfs(
            &[
                ("vdb/size", "4096\n"),
                ("vdb/serial", "abc\n"),
                ("vdb/queue/scheduler", "none [mq-deadline] kyber\n"),
                ("vdb/queue/read_ahead_kb", "128\n"),
                ("vdb/queue/optimal_io_size", "0\n"),
                ("vdb/queue/minimum_io_size", "4096\n"),
                ("vdb/queue/write_cache", "write back\n"),
                ("vdb/queue/fua", "0\n"),
                ("vdb/queue/discard_max_bytes", "0\n"),
                ("vdb/mq/0/cpu_list", "0, 2\n"),
                ("vdb/mq/1/cpu_list", "1, 3\n"),
                ("vdb/vdb1/partition", "1\n"),
                ("vdb/vdb1/size", "2048\n"),
                ("vdb/vdb1/start", "2048\n"),
                ("vdb/vdb1/alignment_offset", "-1\n"),
                ("vdc/size", "4096\n"),
                ("dm-0/size", "4000\n"),
                ("dm-0/dm/name", "vg-data\n"),
                ("dm-0/dm/uuid", "LVM-abcdef\n"),
                ("dm-0/queue/minimum_io_size", "8192\n"),
                ("dm-0/queue/optimal_io_size", "16384\n"),
                ("loop0/size", "0\n"),
                ("sr0/hidden", "0\n"),
            ],
            &["vdb", "vdb/vdb1", "vdc", "dm-0", "loop0", "sr0"],
            &[("dm-0", "vdb/vdb1"), ("dm-0", "vdc")],
        );
        let devices = read(root.path(), &[]);
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "vdb", "vdc", "vdb1"]);
        let [volume, disk, _, partition] = &devices[..] else { panic!("there are four") };
        assert_eq!((volume.kind, volume.alias.as_deref()), (DeviceKind::Lvm, Some("vg-data")));
        assert_eq!(volume.parents, ["vdc", "vdb1"]);
        let stripe = Stripe { level: "striped".into(), members: 2, chunk_bytes: 8192 };
        assert_eq!(volume.stripe, Some(stripe));
        assert_eq!((partition.kind, partition.start_bytes), (DeviceKind::Partition, Some(1 << 20)));
        assert_eq!(
            (partition.alignment_offset_bytes, &partition.parents[..]),
            (Some(-1), &["vdb".to_owned()][..])
        );
        assert_eq!((disk.kind, disk.size_bytes, disk.optimal_io_bytes), (DeviceKind::Virtual, 2 << 20, None));
        assert_eq!((disk.scheduler.as_deref(), disk.schedulers.len()), (Some("mq-deadline"), 3));
        assert_eq!(
            (&disk.queues[..], disk.discard),
            (&["0, 2".to_owned(), "1, 3".to_owned()][..], Some(false))
        );
        assert_eq!((disk.read_ahead_bytes, disk.force_unit_access), (Some(128 << 10), Some(false)));
    }

    #[test]
    fn arrays_have_levels_and_chunks() {
        for (level, chunk, expected) in [("raid10", "65536", Some(65536)), ("raid1", "0", None)] {
            let root = sysfs(
                &[
                    ("md0/size", "100\n"),
                    ("md0/md/level", level),
                    ("md0/md/raid_disks", "4\n"),
                    ("md0/md/chunk_size", chunk),
                ],
                &["md0"],
                &[],
            );
            let devices = read(root.path(), &[]);
            assert_eq!(devices[0].kind, DeviceKind::Md);
            let stripe = devices[0].stripe.as_ref();
            assert_eq!(stripe.map(|stripe| stripe.chunk_bytes), expected, "{level}");
            assert!(stripe.is_none_or(|stripe| stripe.members == 4 && stripe.level == level));
        }
    }

    #[test]
    fn stripes_are_not_guessed() {
        let parents = |count: usize| (0..count).map(|at| format!("sd{at}")).collect::<Vec<_>>();
        let volume = |parents, minimum, optimal| BlockDevice {
            parents,
            minimum_io_bytes: minimum,
            optimal_io_bytes: optimal,
            ..BlockDevice::default()
        };
        let none = (Some(512), None);
        for (count, minimum, optimal, below, members) in [
            (8, Some(8192), Some(65536), none, Some(8)),
            (16, Some(8192), Some(65536), none, Some(8)),
            (1, Some(65536), Some(262_144), (Some(65536), Some(262_144)), None),
            (4, Some(65536), Some(262_144), (Some(65536), Some(262_144)), None),
            (3, Some(8192), Some(16384), none, None),
            (2, Some(8192), Some(8192), none, None),
            (2, Some(8192), Some(12288), none, None),
            (2, Some(0), Some(8192), none, None),
            (2, None, Some(8192), none, None),
        ] {
            let found = stripe_of_volume(&volume(parents(count), minimum, optimal), below);
            assert_eq!(found.map(|stripe| stripe.members), members, "{count} {minimum:?} {optimal:?}");
        }
    }

    #[test]
    fn devices_have_kinds() {
        for (name, kind) in [
            ("sda", DeviceKind::Disk),
            ("nvme0n1", DeviceKind::Nvme),
            ("xvda", DeviceKind::Virtual),
            ("zram0", DeviceKind::Memory),
            ("loop3", DeviceKind::Loop),
            ("rbd0", DeviceKind::Other),
        ] {
            assert_eq!(kind_of_name(name), kind, "{name}");
        }
        for (uuid, kind) in [
            ("LVM-x", DeviceKind::Lvm),
            ("CRYPT-LUKS2-x", DeviceKind::Crypt),
            ("CRYPT-VERITY-x", DeviceKind::Mapper),
            ("mpath-36", DeviceKind::Multipath),
            ("part1-mpath-36", DeviceKind::Partition),
            ("", DeviceKind::Mapper),
        ] {
            assert_eq!(kind_of_mapper(uuid), kind, "{uuid}");
        }
    }

    #[test]
    fn of_too_many_devices_those_of_mounts_stay() {
        let paths: Vec<String> = (0..MOST_DEVICES + 5).map(|at| format!("sd{at}/size")).collect();
        let files: Vec<_> = paths.iter().map(|path| (path.as_str(), "8\n")).collect();
        let devices: Vec<_> = paths.iter().map(|path| path.trim_end_matches("/size")).collect();
        let root = sysfs(&files, &devices, &[]);
        let last = devices[devices.len() - 1];
        let mount = Mount { device: Some(last.to_owned()), ..Mount::default() };
        let found = read(root.path(), &[mount]);
        assert_eq!(found.len(), MOST_DEVICES);
        assert!(found.iter().any(|device| device.name == last));
    }

    #[test]
    fn a_circle_of_devices_ends() {
        let root = sysfs(
            &[("dm-0/size", "8\n"), ("dm-1/size", "8\n")],
            &["dm-0", "dm-1"],
            &[("dm-0", "dm-1"), ("dm-1", "dm-0")],
        );
        assert_eq!(read(root.path(), &[]).len(), 2);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,100}", chunk in any::<u64>(), whole in any::<u64>()) {
            let _ = (schedulers(&text), kind_of_mapper(&text), kind_of_name(&text));
            let device = BlockDevice {
                minimum_io_bytes: Some(chunk),
                optimal_io_bytes: Some(whole),
                parents: vec![text; 3],
                ..BlockDevice::default()
            };
            let _ = stripe_of_volume(&device, (None, None));
        }
    }
}
