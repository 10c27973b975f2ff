//! What the whole stack below a data directory promises: whole blocks, room, disks of its own, and to outlive a crash.

use pgdyno_core::{
    host::{Inventory, Mount, PgDirectory, PgPurpose},
    units::bytes,
};

use super::{
    rule::{Given, Rule},
    scope::{disks_of_mount, holds, mounts_of, server_block_bytes},
};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "full_page_writes",
        also: &["torn pages", "fpw"],
        what: "The server writes whole pages to WAL at their first change after a checkpoint, so that a page that was \
              written in part at a crash can be restored.",
        today: Today::Dangerous,
        why: "It may be off only where the whole stack writes a block of the server as a whole or not at all. ZFS \
             does, by its transaction groups, if recordsize is a multiple of the block and not below it: the manual \
             names it. A disk that can write 8 KiB at once (atomic_write_unit_max_bytes, since Linux 6.11) is not \
             enough: the program must request it by direct I/O with RWF_ATOMIC, which PostgreSQL does not do up to \
             18. A cache with a battery is enough only if it guarantees to take whole blocks. A block of 8 KiB of the \
             file system, a journal or checksums are not: checksums find a torn page, and do not restore it. A backup \
             does not help either, as a torn page may go unnoticed into later backups. pg_basebackup switches it on \
             for its own time. wal_compression and longer checkpoints make it cheaper.",
        danger: "Pages that are half old and half new after a crash, found late or never.",
        source: "PostgreSQL manual, Reliability, and Write Ahead Log, full_page_writes; Linux \
                Documentation/ABI/stable/sysfs-block (atomic_write_unit_max_bytes) and \
                Documentation/filesystems/ext4/atomic_writes.rst; see also the open OpenZFS issue 17879, which \
                reports torn writes.",
        ..Page::EMPTY
    })
    .finds(judge_full_page_writes),
    Rule::of(Page {
        name: "block sizes",
        also: &["block size of the stack"],
        what: "The block of the server, the record or block of the file system, the chunk of stripes, and the \
              physical block of disks.",
        today: Today::Kept,
        why: "A block of the server should be a multiple of the file system's block and of the physical block, and a \
             chunk a multiple of the block of the server, so that a block can lie on one disk. File systems allocate \
             in blocks of their own, mostly of 4 KiB, so that a file may begin in the middle of a chunk: the larger \
             chunks are, the fewer blocks lie on two disks. The advice to make stripes as small as a block cuts all \
             larger requests besides.",
        source: "PostgreSQL manual, Installation from Source Code, --with-blocksize; Linux \
                Documentation/ABI/stable/sysfs-block.",
        ..Page::EMPTY
    })
    .mounts(&[], judge_block_sizes),
    Rule::of(Page {
        name: "wal device",
        also: &["pg_wal on its own device", "waldir"],
        what: "Whether WAL and data are on the same disks.",
        today: Today::Depends,
        why: "On rotating disks WAL is written in sequence only if nothing else moves the heads, so that a disk of \
             its own pays. On SSDs the separation matters less: it keeps writes of a checkpoint out of the queue of \
             WAL, makes them measurable apart, and a full volume of data cannot stop WAL. It halves what each may \
             take from the disks that there are.",
        danger: "Where WAL cannot be written because its file system is full, the server stops with PANIC.",
        source: "PostgreSQL manual, WAL Internals.",
        ..Page::EMPTY
    })
    .finds(judge_wal_device),
    Rule::of(Page {
        name: "free space",
        also: &["disk full", "no space left on device"],
        what: "How much of a file system unprivileged users can still fill, of what they may fill at all: blocks that \
              are reserved for root are left out, as df does.",
        today: Today::Kept,
        why: "A statement that finds no space for data fails; WAL that finds none stops the server with PANIC, and it \
             cannot start until there is space. File systems that are nearly full also fragment, those that copy on \
             write first. Below 10 % is worth a look, below 3 % with WAL on it is an outage that waits.",
        danger: "The server stops when WAL cannot be written.",
        source: "PostgreSQL manual, Disk Full Failure.",
        ..Page::EMPTY
    })
    .mounts(&[], judge_free_space),
    Rule::of(Page {
        name: "overlay",
        also: &["overlayfs"],
        what: "The file system of containers: a writable layer above read-only images.",
        today: Today::Dangerous,
        why: "The writable layer is removed with the container. The first write to a file of an image copies it \
             whole. Put the data directory on a volume.",
        danger: "Loss of all data when the container is removed or recreated.",
        source: "Linux Documentation/filesystems/overlayfs.rst.",
        ..Page::EMPTY
    })
    .finds(judge_overlay),
    Rule::of(Page {
        name: "tmpfs",
        also: &["ramfs", "/dev/shm"],
        what: "A file system in memory.",
        today: Today::Dangerous,
        why: "Everything is lost when the host restarts, and fsync does nothing, so that figures measured there are \
             those of a server without a disk. It also takes memory from the server. For a test of the CPU it is \
             right, if stated with the figures.",
        danger: "Loss of all data at a restart of the host.",
        source: "tmpfs(5).",
        ..Page::EMPTY
    })
    .finds(judge_memory),
    Rule::of(Page {
        name: "fuse",
        also: &["fuseblk", "fuse.sshfs", "fuse.glusterfs", "virtiofs", "9p"],
        what: "A file system in a process of user space, or one that a hypervisor passes through.",
        today: Today::Depends,
        why: "What fsync promises is up to that process or the host behind it, and each request takes two more \
             switches of context. Ask its makers whether fsync reaches disks, and whether a rename is durable after \
             fsync of the directory.",
        danger: "Confirmed commits may be lost where fsync does not reach disks.",
        source: "Linux Documentation/filesystems/fuse.rst; PostgreSQL manual, Creating a Database Cluster, Use of \
                Secondary File Systems.",
        ..Page::EMPTY
    })
    .finds(judge_foreign),
];

fn judge_full_page_writes(given: &Given<'_>) -> Vec<Finding> {
    let host = given.host;
    let setting = host.server.as_ref().and_then(|server| server.settings.get("full_page_writes"));
    let Some(is_on) = setting.and_then(|text| switched(text)) else { return Vec::new() };
    let block = server_block_bytes(host);
    let mounts = mounts_of(host, &[PgPurpose::Data, PgPurpose::Tablespace]).into_iter();
    let judged = mounts.map(|mount| judge_torn_pages(given, mount, block, is_on).on(&mount.point));
    judged.map(|finding| finding.present(if is_on { "on" } else { "off" })).collect()
}

fn judge_torn_pages(given: &Given<'_>, mount: &Mount, block: u64, is_on: bool) -> Finding {
    match (promises_whole_blocks(mount, block), is_on) {
        (true, true) => given.fine(format!(
            "ZFS keeps blocks of {} whole here, so that off would be safe as well; its gain was not measured.",
            bytes(block)
        )),
        (true, false) => {
            given.fine(format!("ZFS keeps blocks of {} whole here, as its records hold them.", bytes(block)))
        }
        (false, true) => given.fine(why_not(given.host, mount, block)),
        (false, false) => given.dangerous(why_not(given.host, mount, block)).recommend("on"),
    }
}

/// Whether a block of the server is written as a whole or not at all: by ZFS, if it lies within one record.
fn promises_whole_blocks(mount: &Mount, block: u64) -> bool {
    let record = mount.zfs.as_ref().and_then(|zfs| zfs.record_bytes);
    mount.filesystem == "zfs" && record.is_some_and(|record| record >= block && record.is_multiple_of(block))
}

/// Why the stack does not promise it, with the figures of this host.
fn why_not(host: &Inventory, mount: &Mount, block: u64) -> String {
    let block_text = bytes(block);
    if mount.filesystem == "zfs" {
        return match mount.zfs.as_ref().and_then(|zfs| zfs.record_bytes) {
            Some(record) => {
                format!("Records of {} split blocks of {block_text}, which a crash may tear.", bytes(record))
            }
            None => format!(
                "Whether records of this dataset hold blocks of {block_text} is unknown, so that a crash may tear \
                 them."
            ),
        };
    }
    let disks = mount.device.as_deref().map(|name| host.disks_below(name)).unwrap_or_default();
    let atomic = disks.iter().map(|disk| disk.atomic_write_bytes.unwrap_or(0)).min().unwrap_or(0);
    match atomic >= block {
        true => format!(
            "The disks can write {} at once, but PostgreSQL does not request it, so that a crash may tear blocks \
             of {block_text}.",
            bytes(atomic)
        ),
        false => format!("Nothing below keeps blocks of {block_text} whole, so that a crash may tear them."),
    }
}

/// A boolean as configuration files spell it; `None` if it is none.
fn switched(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn judge_block_sizes(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let server = server_block_bytes(given.host);
    let layers = layers(given.host, mount);
    let sizes = layers.iter().map(|layer| format!("{} {}", layer.what, bytes(layer.bytes)));
    let sizes: Vec<String> = std::iter::once(format!("server {}", bytes(server))).chain(sizes).collect();
    let finding = match layers.iter().find(|layer| !layer.fits(server)) {
        _ if layers.is_empty() => return None,
        Some(layer) => given.improve(layer.fault(server)),
        None => given.fine("A block of the server has whole blocks of all layers, and can lie on one disk."),
    };
    Some(finding.present(sizes.join(", ")))
}

/// A layer below the server.
struct Layer {
    what: String,
    bytes: u64,
    /// Whether it holds several blocks, so that its size is a multiple of theirs, and not the reverse.
    is_container: bool,
}

impl Layer {
    fn fits(&self, server: u64) -> bool {
        match self.is_container {
            true => self.bytes.is_multiple_of(server),
            false => server.is_multiple_of(self.bytes),
        }
    }

    fn fault(&self, server: u64) -> String {
        match self.is_container {
            true => format!("The {} of {} splits blocks of {}.", self.what, bytes(self.bytes), bytes(server)),
            false => format!(
                "A block of {} does not fill the {} of {}.",
                bytes(server),
                self.what,
                bytes(self.bytes)
            ),
        }
    }
}

/// The layers whose sizes are known, from the top down.
fn layers(host: &Inventory, mount: &Mount) -> Vec<Layer> {
    let record = mount.zfs.as_ref().and_then(|zfs| zfs.record_bytes);
    let block = mount.block_bytes.filter(|_| mount.filesystem != "zfs");
    let mut layers = Vec::new();
    let mut add = |what: &str, bytes: Option<u64>, is_container| {
        if let Some(bytes) = bytes.filter(|&bytes| bytes > 0) {
            layers.push(Layer { what: what.to_owned(), bytes, is_container });
        }
    };
    add("record", record, true);
    add("block of the file system", block, false);
    for device in mount.device.as_deref().map(|name| host.stack(name)).unwrap_or_default() {
        let chunk = device.stripe.as_ref().map(|stripe| stripe.chunk_bytes);
        add(&format!("chunk of {}", device.name), chunk, true);
        if device.parents.is_empty() {
            add(&format!("physical block of {}", device.name), device.physical_block_bytes, false);
        }
    }
    layers
}

fn judge_wal_device(given: &Given<'_>) -> Vec<Finding> {
    let data = mounts_of(given.host, &[PgPurpose::Data, PgPurpose::Tablespace]);
    let wal = mounts_of(given.host, &[PgPurpose::Wal]).into_iter();
    wal.filter_map(|wal| Some(judge_wal_mount(given, wal, &data)?.on(&wal.point))).collect()
}

fn judge_wal_mount(given: &Given<'_>, wal: &Mount, data: &[&Mount]) -> Option<Finding> {
    let host = given.host;
    let own = disks_of_mount(host, wal);
    let of_data: Vec<_> = data.iter().map(|mount| disks_of_mount(host, mount)).collect();
    if own.is_empty() || data.is_empty() || of_data.iter().any(|disks| disks.is_empty()) {
        return None;
    }
    let is_shared = |disk: &&str| of_data.iter().any(|disks| disks.contains(disk));
    let shared: Vec<&str> = own.iter().copied().filter(is_shared).collect();
    let names = shared.join(", ");
    let rotates = |disk: &&str| host.device(disk).and_then(|disk| host.rotates(disk));
    Some(if shared.is_empty() {
        given.fine("WAL has disks of its own.")
    } else if shared.iter().any(|disk| rotates(disk) == Some(true)) {
        given
            .improve(format!("WAL and data move the heads of the same disk: {names}."))
            .recommend("WAL on disks of its own")
    } else {
        let known = shared.iter().all(|disk| rotates(disk) == Some(false));
        let why = match (known, shared.len()) {
            (true, _) => "where nothing rotates",
            (false, 1) => "of which it is not known that it rotates",
            (false, _) => "of which it is not known that they rotate",
        };
        given.fine(format!("WAL and data share {names}, {why}."))
    })
}

fn judge_free_space(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let (size, free) = (mount.size_bytes.filter(|&size| size > 0)?, mount.available_bytes?);
    let reserved = mount.reserved_bytes.unwrap_or(0).min(size);
    let percent = free as f64 / (size - reserved).max(1) as f64 * 100.0;
    let holds_wal = holds(given.host, mount, &[PgPurpose::Wal]);
    let space = space_words(free, size, (reserved, &mount.reserved_for()));
    let finding = if percent < 3.0 && holds_wal {
        given.dangerous(format!("{space}: the server stops when WAL finds no space.")).recommend("10 %")
    } else if percent < 10.0 {
        given.improve(format!("{space}: loads and checkpoints may find no space.")).recommend("10 %")
    } else {
        given.fine(format!("{space}."))
    };
    Some(finding.present(format!("{percent:.1} %")))
}

/// How much is free. What only root may use is left out of both, as df does.
fn space_words(free: u64, size: u64, (reserved, who): (u64, &str)) -> String {
    let usable = bytes(size - reserved);
    match reserved {
        0 => format!("{} of {usable} are free", bytes(free)),
        _ => format!(
            "{} of {usable} are free, and {} more for {who} alone (`pgdyno explain 'mkfs.ext4 -m'`)",
            bytes(free),
            bytes(reserved)
        ),
    }
}

/// What is said of each directory of the server on such a mount.
fn judge_directories(
    given: &Given<'_>,
    is_such: impl Fn(&str) -> bool,
    say: impl Fn(&PgDirectory, &str) -> Finding,
) -> Vec<Finding> {
    let found = given.host.directories.iter().filter_map(|directory| {
        let filesystem = given.host.mount(directory.mount_point.as_deref()?)?.filesystem.as_str();
        is_such(filesystem).then(|| say(directory, filesystem).on(&directory.path).present(filesystem))
    });
    found.collect()
}

fn judge_overlay(given: &Given<'_>) -> Vec<Finding> {
    judge_directories(
        given,
        |filesystem| filesystem == "overlay",
        |directory, _| {
            let what = directory.purpose.words();
            given
                .dangerous(format!("The {what} directory is in the writable layer of a container."))
                .recommend("a volume")
        },
    )
}

fn judge_memory(given: &Given<'_>) -> Vec<Finding> {
    let is_memory = |filesystem: &str| matches!(filesystem, "tmpfs" | "ramfs");
    judge_directories(given, is_memory, |directory, _| {
        let reason = format!("The {} directory is in memory.", directory.purpose.words());
        given.dangerous(reason).recommend("a file system on a disk")
    })
}

fn judge_foreign(given: &Given<'_>) -> Vec<Finding> {
    let is_foreign =
        |name: &str| matches!(name, "fuse" | "fuseblk" | "virtiofs" | "9p") || name.starts_with("fuse.");
    judge_directories(given, is_foreign, |directory, filesystem| {
        let what = directory.purpose.words();
        given
            .improve(format!(
                "What fsync of the {what} directory promises is up to what is behind {filesystem}."
            ))
            .recommend("a file system of the kernel")
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Stripe, ZfsDataset};

    use super::*;
    use crate::{
        Standing,
        host::testing::{
            check_hosts, device, findings, mount, mounted, standings, with_directory, with_setting,
        },
    };

    #[test]
    fn hosts_are_judged() {
        use Standing::{Dangerous, Fine, Improve};
        check_hosts(&[
            ("full_page_writes", on_zfs(Some(8 << 10), "off"), &[Fine]),
            ("full_page_writes", on_zfs(Some(128 << 10), "off"), &[Fine]),
            ("full_page_writes", on_zfs(Some(4 << 10), "off"), &[Dangerous]),
            ("full_page_writes", on_zfs(None, "off"), &[Dangerous]),
            ("full_page_writes", on_zfs(Some(8 << 10), "on"), &[Fine]),
            ("full_page_writes", on_zfs(Some(4 << 10), "on"), &[Fine]),
            ("block sizes", blocks_host(4096, 65536, 4096), &[Fine]),
            ("block sizes", blocks_host(4096, 8192, 512), &[Fine]),
            ("block sizes", blocks_host(4096, 4096, 512), &[Improve]),
            ("block sizes", blocks_host(16384, 65536, 512), &[Improve]),
            ("block sizes", blocks_host(4096, 65536, 16384), &[Improve]),
            ("free space", space_host(Some(1000), Some(500)), &[Fine]),
            ("free space", space_host(Some(1000), Some(99)), &[Improve]),
            ("free space", space_host(Some(1000), Some(0)), &[Improve]),
            ("free space", space_host(Some(0), Some(0)), &[]),
            ("free space", space_host(None, Some(0)), &[]),
            ("free space", space_host(Some(1000), None), &[]),
            ("block sizes", mounted(mount("xfs", None, "rw"), Vec::new()), &[]),
            ("block sizes", mounted(mount("xfs", Some("sda"), "rw"), Vec::new()), &[]),
        ]);
    }

    fn served(mount: Mount, devices: Vec<BlockDevice>, setting: &str) -> Inventory {
        let host = with_directory(mounted(mount, devices), PgPurpose::Data, "/data");
        with_setting(host, "full_page_writes", setting)
    }

    fn on_zfs(record_bytes: Option<u64>, setting: &str) -> Inventory {
        let mut mount = mount("zfs", None, "rw");
        mount.zfs = Some(ZfsDataset { record_bytes, ..ZfsDataset::default() });
        served(mount, Vec::new(), setting)
    }

    fn on_disk(atomic_write_bytes: Option<u64>, setting: &str) -> Inventory {
        let disk = BlockDevice { atomic_write_bytes, ..device("nvme0n1", DeviceKind::Nvme, &[]) };
        served(mount("xfs", Some("nvme0n1"), "rw"), vec![disk], setting)
    }

    #[test]
    fn only_zfs_with_whole_blocks_promises_them() {
        let large_blocks = with_setting(on_zfs(Some(8 << 10), "off"), "block_size", "32768");
        assert_eq!(
            standings("full_page_writes", &large_blocks),
            [Standing::Dangerous],
            "32 KiB in records of 8 KiB"
        );
    }

    #[test]
    fn atomic_disks_are_not_enough() {
        for atomic in [None, Some(0), Some(4096), Some(64 << 10)] {
            assert_eq!(
                standings("full_page_writes", &on_disk(atomic, "off")),
                [Standing::Dangerous],
                "{atomic:?}"
            );
        }
        let said = &findings("full_page_writes", &on_disk(Some(64 << 10), "off"))[0].reason;
        assert!(
            said.starts_with("The disks can write 64 KiB at once, but PostgreSQL does not request it"),
            "{said}"
        );
    }

    #[test]
    fn one_tablespace_elsewhere_is_enough_for_danger() {
        let mut host = on_zfs(Some(8 << 10), "off");
        host.mounts.push(Mount { point: "/more".to_owned(), ..mount("ext4", None, "rw") });
        let host = with_directory(host, PgPurpose::Tablespace, "/more");
        assert_eq!(standings("full_page_writes", &host), [Standing::Fine, Standing::Dangerous]);
    }

    #[test]
    fn nothing_is_claimed_without_a_setting_or_a_directory() {
        assert_eq!(standings("full_page_writes", &on_disk(None, "perhaps")), []);
        let mut host = on_disk(None, "off");
        host.directories.clear();
        assert_eq!(standings("full_page_writes", &host), []);
        let mut host = on_disk(None, "off");
        host.server = None;
        assert_eq!(standings("full_page_writes", &host), []);
    }

    #[test]
    fn booleans_are_read_as_the_server_does() {
        for (text, expected) in
            [("ON", Some(true)), (" no ", Some(false)), ("1", Some(true)), ("", None), ("x", None)]
        {
            assert_eq!(switched(text), expected, "{text}");
        }
    }

    fn blocks_host(block_bytes: u64, chunk_bytes: u64, physical: u64) -> Inventory {
        let mut mount = mount("xfs", Some("md0"), "rw");
        mount.block_bytes = Some(block_bytes);
        let stripe = Some(Stripe { level: "raid0".to_owned(), members: 1, chunk_bytes });
        let array = BlockDevice { stripe, ..device("md0", DeviceKind::Md, &["sda"]) };
        let disk =
            BlockDevice { physical_block_bytes: Some(physical), ..device("sda", DeviceKind::Disk, &[]) };
        mounted(mount, vec![array, disk])
    }

    #[test]
    fn layers_are_compared() {
        let said = findings("block sizes", &blocks_host(4096, 4096, 512)).remove(0);
        assert_eq!(said.reason, "The chunk of md0 of 4 KiB splits blocks of 8 KiB.");
        assert_eq!(
            said.present.as_deref(),
            Some(
                "server 8 KiB, block of the file system 4 KiB, chunk of md0 4 KiB, physical block of sda 512 B"
            )
        );
    }

    #[test]
    fn large_blocks_of_the_server_need_large_chunks() {
        // The last article: blocks of 32 KiB over stripes and records of 8 KiB.
        assert_eq!(
            standings("block sizes", &with_setting(blocks_host(4096, 8192, 512), "block_size", "32768")),
            [Standing::Improve]
        );
        let mut dataset = mount("zfs", None, "rw");
        dataset.block_bytes = Some(131_072);
        dataset.zfs = Some(ZfsDataset { record_bytes: Some(8192), ..ZfsDataset::default() });
        let on_zfs = mounted(dataset, Vec::new());
        assert_eq!(standings("block sizes", &on_zfs), [Standing::Fine]);
        assert_eq!(
            standings("block sizes", &with_setting(on_zfs, "block_size", "32768")),
            [Standing::Improve]
        );
    }

    fn wal_host(wal_on: &str, rotational: bool) -> Inventory {
        let disks = ["sda", "sdb"]
            .map(|name| BlockDevice { rotational: Some(rotational), ..device(name, DeviceKind::Disk, &[]) })
            .to_vec();
        let mut host = mounted(mount("xfs", Some("sda"), "rw"), disks);
        host.mounts.push(Mount { point: "/wal".to_owned(), ..mount("xfs", Some(wal_on), "rw") });
        with_directory(with_directory(host, PgPurpose::Data, "/data"), PgPurpose::Wal, "/wal")
    }

    #[test]
    fn shared_disks_matter_where_they_rotate() {
        assert_eq!(standings("wal device", &wal_host("sda", true)), [Standing::Improve]);
        assert_eq!(standings("wal device", &wal_host("sdb", true)), [Standing::Fine]);
        assert_eq!(standings("wal device", &wal_host("sda", false)), [Standing::Fine]);
        let mut guest = wal_host("sda", true);
        guest.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(standings("wal device", &guest), [Standing::Fine], "a guest does not know what rotates");
    }

    #[test]
    fn nothing_is_claimed_of_unknown_disks() {
        assert_eq!(standings("wal device", &wal_host("unknown", true)), []);
        let mut without = wal_host("sda", true);
        without.directories.clear();
        assert_eq!(standings("wal device", &without), []);
    }

    fn space_host(size_bytes: Option<u64>, available_bytes: Option<u64>) -> Inventory {
        let mut mount = mount("xfs", None, "rw");
        (mount.size_bytes, mount.available_bytes) = (size_bytes, available_bytes);
        mounted(mount, Vec::new())
    }

    #[test]
    fn what_is_for_root_alone_is_reported() {
        const GB: u64 = 1 << 30;
        let mut host = space_host(Some(252 * GB), Some(20 * GB));
        assert_eq!(standings("free space", &host), [Standing::Improve]);
        host.mounts[0].reserved_bytes = Some(161 * GB);
        // As df says: 71 GiB of 91 are used.
        let said = findings("free space", &host).remove(0);
        assert_eq!((said.standing, said.present.as_deref()), (Standing::Fine, Some("22.0 %")));
        assert!(said.reason.starts_with("20 GiB of 91 GiB are free, and 161 GiB more"), "{}", said.reason);
        host.mounts[0].reserved_bytes = Some(u64::MAX);
        assert_eq!(standings("free space", &host).len(), 1, "nonsense is no fault");
    }

    #[test]
    fn wal_without_space_is_dangerous() {
        let host = with_directory(space_host(Some(100 << 30), Some(1 << 30)), PgPurpose::Wal, "/data");
        let said = findings("free space", &host).remove(0);
        assert_eq!(said.standing, Standing::Dangerous);
        assert!(said.reason.starts_with("1 GiB of 100 GiB are free: the server stops"), "{}", said.reason);
    }

    #[test]
    fn each_file_system_has_its_rule() {
        for (filesystem, overlay, tmpfs, fuse) in [
            ("overlay", &[Standing::Dangerous][..], &[][..], &[][..]),
            ("tmpfs", &[], &[Standing::Dangerous], &[]),
            ("fuse.sshfs", &[], &[], &[Standing::Improve]),
            ("9p", &[], &[], &[Standing::Improve]),
            ("ext4", &[], &[], &[]),
        ] {
            let host = mounted(mount(filesystem, None, "rw"), Vec::new());
            for rule in ["overlay", "tmpfs", "fuse"] {
                assert_eq!(standings(rule, &host), [], "no server was named");
            }
            let host = with_directory(host, PgPurpose::Wal, "/data");
            assert_eq!(standings("overlay", &host), overlay, "{filesystem}");
            assert_eq!(standings("tmpfs", &host), tmpfs, "{filesystem}");
            assert_eq!(standings("fuse", &host), fuse, "{filesystem}");
        }
    }

    #[test]
    fn the_directory_is_named() {
        let host = with_directory(mounted(mount("tmpfs", None, "rw"), Vec::new()), PgPurpose::Wal, "/data");
        let said = findings("tmpfs", &host).remove(0);
        assert_eq!(
            (said.object.as_str(), said.reason.as_str()),
            ("/data/pg", "The WAL directory is in memory.")
        );
    }
}
