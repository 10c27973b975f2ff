//! Block devices: schedulers, queues, read-ahead, caches, blocks, partitions.

use pgdyno_core::{
    host::{BlockDevice, DeviceKind},
    units::{bytes, plural},
};
use pgdyno_settings::here;

use super::{
    rule::{Given, Rule},
    scope::{mounts, queue_of, server_block_bytes, sysfs},
};
use crate::{Finding, Page, Purpose, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "scheduler",
        also: &["queue/scheduler", "I/O scheduler", "mq-deadline", "kyber", "bfq"],
        what: "The I/O scheduler orders the requests that wait for a disk.",
        today: Today::Depends,
        why: "NVMe and paravirtual disks do best with none: they reorder by themselves or hand on to a host that \
             does, and a scheduler costs CPU time per request. A rotating disk needs mq-deadline, which bounds how \
             long a read waits behind writes of a checkpoint. Both are right for a SATA or SAS SSD. bfq is made for \
             fairness between programs of a desktop and is expensive per request. Volumes of LVM and arrays have no \
             scheduler of their own.",
        gain: here(
            "mq-deadline instead of none: no significant difference, -0.3 % [-8.1, 8.1] of the TPS of TPC-B with 8 \
             clients on a virtio disk",
        ),
        source: "Linux Documentation/block/deadline-iosched.rst, bfq-iosched.rst and switching-sched.rst.",
        ..Page::EMPTY
    })
    .disks(judge_scheduler),
    Rule::of(Page {
        name: "read_ahead_kb",
        also: &["read-ahead", "readahead", "--setra", "--setra 16384", "setra", "bdi/read_ahead_kb"],
        what: "How much the kernel reads ahead of a sequential read; blockdev --setra counts sectors of 512 bytes, so \
              that 16384 is 8 MiB.",
        today: Today::Depends,
        why: "It matters to sequential scans through the page cache; random reads of blocks hardly use it. The level \
             that counts is the one that the file system is on: the logical volume or array, or the disk of a \
             partition. What is set on disks below a volume is used only by who reads the disks directly. For scans \
             it should span the full stripe several times; for short transactions the default of 128 kB is enough.",
        danger: "Large values evict other pages from the page cache whenever a scan stops early.",
        source: "Linux mm/readahead.c; Documentation/ABI/stable/sysfs-block (read_ahead_kb); blockdev(8).",
        ..Page::EMPTY
    })
    .finds(judge_read_ahead),
    Rule::of(Page {
        name: "rq_affinity",
        also: &["queue/rq_affinity", "rq_affinity=2"],
        what: "Where completed requests are processed: 0 where the interrupt arrived, 1 on a processor that shares a \
              cache with the one that sent the request, 2 on exactly that one.",
        today: Today::Depends,
        why: "The default 1 is right for disks with a queue per processor, such as NVMe: their interrupts arrive near \
             the sender anyway. 2 spreads the work of a disk with one queue whose interrupts would keep one processor \
             busy.",
        source: "Linux Documentation/ABI/stable/sysfs-block (rq_affinity).",
        ..Page::EMPTY
    })
    .disks(judge_affinity),
    Rule::of(Page {
        name: "nr_requests",
        also: &["queue/nr_requests"],
        what: "How many requests the queue of a disk may hold.",
        today: Today::DefaultIsRight,
        why: "Without a scheduler the hardware limits it; with one, the kernel takes twice the depth of the hardware \
             queue, at most 256. More requests in a scheduler's queue let it order more, and let a checkpoint queue \
             more writes before a read. Many backends or io_workers wait for a queue that holds too few.",
        source: "Linux Documentation/ABI/stable/sysfs-block (nr_requests); block/blk-mq-sched.c.",
        ..Page::EMPTY
    })
    .disks(judge_requests),
    Rule::of(Page {
        name: "mq/cpu_list",
        also: &["cpu_list", "mq CPU list", "mq/0/cpu_list"],
        what: "The hardware queues of a disk and the processors that use each (/sys/block/DISK/mq/QUEUE/cpu_list).",
        today: Today::DefaultIsRight,
        why: "The kernel assigns processors to queues when it finds the disk; the list is read only. A test of a disk \
             should run on processors of all its queues. All processors share the queue of an NVMe or paravirtual \
             disk that has only one; from about eight on they are known to wait for each other. Virtual machines get \
             more queues by a setting of the hypervisor (num-queues), some clouds by a larger instance.",
        source: "Linux Documentation/block/blk-mq.rst; block/blk-mq-sysfs.c.",
        ..Page::EMPTY
    })
    .disks(judge_queues),
    Rule::of(Page {
        name: "write_cache",
        also: &["queue/write_cache"],
        what: "Whether the kernel takes the disk for one with a volatile cache (write back) or without (write \
              through).",
        today: Today::DefaultIsRight,
        why: "With write back, fsync makes the disk flush its cache, and barrier=0 loses commits at a power failure. \
             With write through, the kernel sends no flush, so that barriers cost nothing and switching them off \
             brings nothing. Disks with capacitors often report write through. The file can be written to, which \
             changes only what the kernel believes.",
        danger: "Writing write through for a disk that does have a volatile cache loses commits at a power failure.",
        source: "Linux Documentation/ABI/stable/sysfs-block (write_cache) and \
                Documentation/block/writeback_cache_control.rst; PostgreSQL manual, Reliability.",
        ..Page::EMPTY
    })
    .disks(judge_cache),
    Rule::of(Page {
        name: "physical_block_size",
        also: &["logical_block_size", "4Kn", "512e", "sector size"],
        what: "The smallest unit that a disk addresses (logical) and that it writes without reading before \
              (physical): 512 and 4096 bytes is 512e, 4096 and 4096 is 4Kn.",
        today: Today::DefaultIsRight,
        why: "A write that does not fill whole physical blocks is read, changed and written by the disk. PostgreSQL \
             writes blocks of 8 KiB and WAL in multiples of 8 KiB, so that 4 KiB blocks are filled if partitions \
             begin on their boundaries. A physical block above that of the server is not.",
        source: "Linux Documentation/ABI/stable/sysfs-block (logical_block_size, physical_block_size).",
        ..Page::EMPTY
    })
    .disks(judge_blocks),
    Rule::of(Page {
        name: "partition alignment",
        also: &["alignment", "first sector 2048", "start 2048"],
        what: "The byte of the disk at which a partition begins.",
        today: Today::Kept,
        why: "A partition must begin on a multiple of the physical block, or each write of a block touches one block \
             more, which the disk has to read before. fdisk and parted begin at 1 MiB (sector 2048) by themselves, \
             which is a multiple of the physical block of all disks, and of most stripes. On an array it should be a \
             multiple of the full stripe. Where a partition ends does not matter.",
        source: "Linux Documentation/ABI/stable/sysfs-block (alignment_offset, optimal_io_size); fdisk(8); parted(8), \
                align-check.",
        ..Page::EMPTY
    })
    .devices(judge_partition),
    Rule::of(Page {
        name: "alignment_offset",
        what: "By how many bytes the kernel finds the beginning of a device off the alignment of what is below it.",
        today: Today::Kept,
        why: "0 is right. Another value says that the beginning lies inside a physical block or chunk, so that writes \
             touch one more than they need; -1 says that the parts of a volume or array cannot be aligned with each \
             other. Make the partition or physical volume again at 1 MiB.",
        source: "Linux Documentation/ABI/stable/sysfs-block (alignment_offset); block/blk-settings.c.",
        ..Page::EMPTY
    })
    .devices(judge_offset),
];

fn judge_scheduler(given: &Given<'_>, disk: &BlockDevice) -> Option<Finding> {
    let present = disk.scheduler.as_deref()?;
    let is_fast = matches!(disk.kind, DeviceKind::Nvme | DeviceKind::Virtual);
    if !is_fast {
        // Where not even the kernel knows whether a disk rotates, nothing is reported.
        disk.rotational?;
    }
    let rotates = !is_fast && given.host.rotates(disk) == Some(true);
    let (wanted, why) = match present {
        "none" | "noop" if rotates => (
            ["mq-deadline", "deadline"],
            "The disk rotates: without a scheduler reads wait behind all writes of a checkpoint.",
        ),
        "bfq" | "cfq" if rotates => (
            ["mq-deadline", "deadline"],
            "It shares the disk fairly between programs, which a server does not need.",
        ),
        "bfq" | "cfq" => {
            (["none", "noop"], "It costs CPU time per request, and the disk needs no order of requests.")
        }
        "mq-deadline" | "deadline" | "kyber" if disk.kind == DeviceKind::Nvme => (
            ["none", "noop"],
            "An NVMe disk has queues of its own and needs no order of requests; the gain was not measured here.",
        ),
        _ => {
            let reason = match (rotates, is_fast) {
                (true, _) => "It fits a rotating disk.",
                (_, true) if !matches!(present, "none" | "noop") => {
                    "The disk needs no order of requests: none would save some CPU time for each, which was \
                     within the noise where we measured it."
                }
                (_, true) => "It fits a disk that orders requests by itself.",
                _ => "It fits this disk.",
            };
            return Some(given.fine(reason).present(present));
        }
    };
    let chosen = wanted.into_iter().find(|name| disk.schedulers.iter().any(|other| other == name))?;
    Some(given.improve(why).present(present).set(sysfs(disk, "queue/scheduler"), chosen))
}

/// Below this a scan of a table is read in pieces that are small for any disk.
const SCAN: u64 = 1 << 20;
/// Above this a scan that ends early has read far too much.
const MUCH: u64 = 4 << 20;
/// The kernel's default of read-ahead.
const DEFAULT_AHEAD: u64 = 128 << 10;

fn judge_read_ahead(given: &Given<'_>) -> Vec<Finding> {
    let host = given.host;
    let mut findings: Vec<Finding> = Vec::new();
    for mount in mounts(host) {
        let top = mount.device.as_deref().and_then(|name| host.device(name));
        let Some(top) = top.and_then(|device| queue_of(host, device)) else { continue };
        let found = judge_top(given, top).into_iter().chain(judge_below(given, top));
        for finding in found {
            // Two file systems may be on one disk.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// The device that the file system reads from.
fn judge_top(given: &Given<'_>, device: &BlockDevice) -> Option<Finding> {
    let present = device.read_ahead_bytes?;
    // The kernel itself chooses twice the full stripe for arrays and striped volumes.
    let stripes = device.optimal_io_bytes.unwrap_or(0).saturating_mul(2);
    let improve = |wanted: u64, reason: &str| {
        let finding = given.improve(reason).set(sysfs(device, "queue/read_ahead_kb"), wanted / 1024);
        finding.recommend(bytes(wanted))
    };
    let finding = match given.purpose {
        Purpose::Oltp if present > MUCH.max(stripes) => improve(
            DEFAULT_AHEAD.max(stripes),
            "Short transactions read little in sequence, and a scan that stops early has read too much.",
        ),
        Purpose::Olap | Purpose::BulkLoad if present < SCAN.max(stripes) => improve(
            SCAN.max(stripes),
            "Long scans are read in small pieces; what a larger value brings here was not measured.",
        ),
        _ => given.fine("The file system reads ahead by this much, which fits the purpose."),
    };
    Some(finding.on(&device.name).present(bytes(present)))
}

/// What was set below the device that counts.
fn judge_below(given: &Given<'_>, top: &BlockDevice) -> Vec<Finding> {
    let below = given.host.stack(&top.name).into_iter().filter(|device| device.name != top.name);
    let judged = below.filter_map(|device| {
        let present = device.read_ahead_bytes?;
        let own = device.optimal_io_bytes.map(|bytes| bytes.saturating_mul(2));
        if present == DEFAULT_AHEAD || Some(present) == own || Some(present) == top.read_ahead_bytes {
            return None;
        }
        let reason =
            format!("The file system is on {}, whose own value counts: this one is not used.", top.name);
        Some(given.no_effect(reason).on(&device.name).present(bytes(present)))
    });
    judged.collect()
}

fn judge_affinity(given: &Given<'_>, disk: &BlockDevice) -> Option<Finding> {
    let present = disk.completion_affinity?;
    let (queues, processors) = (disk.queues.len() as u64, u64::from(given.host.cpu.logical));
    let finding = match present {
        0 => given
            .improve("All completions are processed where the interrupt arrives.")
            .set(sysfs(disk, "queue/rq_affinity"), 1),
        2 if processors > 0 && queues >= processors => given.no_effect(format!(
            "The disk has {} for {}: completions arrive there anyway.",
            plural(queues, "queue"),
            plural(processors, "processor")
        )),
        _ => given.fine("Completions are processed near the processor that sent the request."),
    };
    Some(finding.present(present))
}

fn judge_requests(given: &Given<'_>, disk: &BlockDevice) -> Option<Finding> {
    /// SATA allows 32 requests on the disk; a queue that holds fewer leaves the disk idle for some time.
    const FEW: u64 = 31;
    let depth = disk.queue_depth?;
    let finding = match depth < FEW {
        true => given
            .improve(format!("Only {depth} requests fit into its queue: others wait before it."))
            .recommend("the default of the driver"),
        false => given.fine("The queue holds enough requests to keep the disk busy."),
    };
    Some(finding.present(depth))
}

fn judge_queues(given: &Given<'_>, disk: &BlockDevice) -> Option<Finding> {
    /// From so many processors on, one queue is known to be contended.
    const MANY: u32 = 8;
    let (queues, processors) = (disk.queues.len(), given.host.cpu.logical);
    let is_multiple = matches!(disk.kind, DeviceKind::Nvme | DeviceKind::Virtual);
    if !is_multiple || queues == 0 || processors == 0 {
        return None;
    }
    let finding = match queues == 1 && processors >= MANY {
        true => given
            .improve(format!("All {processors} processors send their requests through one queue."))
            .recommend("several queues, set in the hypervisor or the driver"),
        false => {
            let few = if queues == 1 && processors > 1 { ", which is enough for so few" } else { "" };
            let processors = plural(u64::from(processors), "processor");
            given.fine(format!("{} for {processors}{few}.", plural(queues as u64, "queue")))
        }
    };
    Some(finding.present(queues))
}

fn judge_cache(given: &Given<'_>, disk: &BlockDevice) -> Option<Finding> {
    let present = disk.write_cache.as_deref()?;
    let reason = match (present, disk.force_unit_access) {
        ("write back", Some(true)) => {
            "The kernel flushes its cache at fsync, and can write single requests through it."
        }
        ("write back", _) => "The kernel flushes its cache at fsync.",
        ("write through", _) => "The kernel sends no flush, as the disk says that it has no volatile cache.",
        _ => return None,
    };
    Some(given.fine(reason).present(present))
}

fn judge_blocks(given: &Given<'_>, disk: &BlockDevice) -> Option<Finding> {
    let (logical, physical) = (disk.logical_block_bytes?, disk.physical_block_bytes?);
    let server = server_block_bytes(given.host);
    let finding = match physical > server {
        true => given.improve(format!(
            "The disk writes {} at once and the server {}, so that it reads before most writes.",
            bytes(physical),
            bytes(server)
        )),
        false => {
            given.fine(format!("A block of the server ({}) fills whole physical blocks.", bytes(server)))
        }
    };
    Some(finding.present(format!("{} logical, {} physical", bytes(logical), bytes(physical))))
}

fn judge_partition(given: &Given<'_>, partition: &BlockDevice) -> Option<Finding> {
    if partition.kind != DeviceKind::Partition {
        return None;
    }
    let disk = given.host.device(partition.parents.first()?)?;
    let start = partition.start_bytes?;
    let physical = disk.physical_block_bytes.filter(|&bytes| bytes > 0)?;
    // Disks without stripes report odd values here, such as 33553920 of some USB bridges.
    let is_stripe = |&bytes: &u64| bytes > 0 && bytes.is_multiple_of(4096) && disk.stripe.is_some();
    let stripe = disk.optimal_io_bytes.filter(is_stripe);
    let finding = if !start.is_multiple_of(physical) {
        given
            .improve(format!(
                "It begins {} bytes off a multiple of the physical block of {}: most writes touch one block more.",
                start % physical,
                bytes(physical)
            ))
            .recommend("a partition that begins at 1 MiB")
    } else if let Some(stripe) = stripe.filter(|&stripe| !start.is_multiple_of(stripe)) {
        let full = bytes(stripe);
        given
            .improve(format!(
                "It does not begin on a multiple of the full stripe of {}, which is {full}.",
                disk.name
            ))
            .recommend("a partition that begins on a multiple of the stripe")
    } else {
        given.fine(format!("It begins on a multiple of the physical block, {}.", bytes(physical)))
    };
    Some(finding.present(bytes(start)))
}

fn judge_offset(given: &Given<'_>, device: &BlockDevice) -> Option<Finding> {
    let offset = device.alignment_offset_bytes?;
    let finding = match offset {
        0 => given.fine("It begins where the device below is aligned."),
        -1 => given
            .improve("The kernel cannot align its parts with each other.")
            .recommend("parts that begin at 1 MiB"),
        _ => given
            .improve(format!("It begins {offset} bytes off the alignment of the device below."))
            .recommend(0),
    };
    Some(finding.present(offset))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Inventory, Knob, Stripe};

    use super::*;
    use crate::{
        Standing,
        host::testing::{check_hosts, device, findings, findings_for, mount, mounted, standings},
    };

    /// A host with one disk, `sda`.
    fn disk(change: impl FnOnce(&mut BlockDevice)) -> Inventory {
        let mut disk = device("sda", DeviceKind::Disk, &[]);
        change(&mut disk);
        mounted(mount("ext4", Some("sda"), ""), vec![disk])
    }

    fn blocks(logical: Option<u64>, physical: Option<u64>) -> Inventory {
        disk(|disk| (disk.logical_block_bytes, disk.physical_block_bytes) = (logical, physical))
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        check_hosts(&[
            ("rq_affinity", affinity_host(Some(1), 1), &[Fine]),
            ("rq_affinity", affinity_host(Some(2), 1), &[Fine]),
            ("rq_affinity", affinity_host(Some(2), 4), &[NoEffect]),
            ("rq_affinity", affinity_host(Some(0), 1), &[Improve]),
            ("rq_affinity", affinity_host(None, 1), &[]),
            ("nr_requests", disk(|disk| disk.queue_depth = Some(4)), &[Improve]),
            ("nr_requests", disk(|disk| disk.queue_depth = Some(31)), &[Fine]),
            ("nr_requests", disk(|disk| disk.queue_depth = Some(1023)), &[Fine]),
            ("nr_requests", disk(|disk| disk.queue_depth = None), &[]),
            ("mq/cpu_list", queues_host(DeviceKind::Virtual, &["0-15"], 16), &[Improve]),
            ("mq/cpu_list", queues_host(DeviceKind::Virtual, &["0", "1"], 2), &[Fine]),
            ("mq/cpu_list", queues_host(DeviceKind::Virtual, &["0-1"], 2), &[Fine]),
            ("mq/cpu_list", queues_host(DeviceKind::Disk, &["0-15"], 16), &[]),
            ("mq/cpu_list", queues_host(DeviceKind::Nvme, &[], 16), &[]),
            ("mq/cpu_list", queues_host(DeviceKind::Nvme, &["0"], 0), &[]),
            ("physical_block_size", blocks(Some(512), Some(512)), &[Fine]),
            ("physical_block_size", blocks(Some(512), Some(4096)), &[Fine]),
            ("physical_block_size", blocks(Some(4096), Some(4096)), &[Fine]),
            ("physical_block_size", blocks(Some(512), Some(16384)), &[Improve]),
            ("physical_block_size", blocks(Some(512), None), &[]),
            ("physical_block_size", blocks(None, Some(4096)), &[]),
            ("partition alignment", alignment_host(Some(1 << 20), Some(4096), None), &[Fine]),
            // The beginning that fdisk chose before 2010: sector 63.
            ("partition alignment", alignment_host(Some(63 * 512), Some(4096), None), &[Improve]),
            ("partition alignment", alignment_host(Some(63 * 512), Some(512), None), &[Fine]),
            ("partition alignment", alignment_host(Some(1 << 20), Some(4096), Some(192 << 10)), &[Improve]),
            ("partition alignment", alignment_host(Some(1 << 20), Some(4096), Some(256 << 10)), &[Fine]),
            ("partition alignment", alignment_host(None, Some(4096), None), &[]),
            ("partition alignment", alignment_host(Some(1 << 20), None, None), &[]),
            ("partition alignment", alignment_host(Some(1 << 20), Some(0), None), &[]),
            ("alignment_offset", disk(|disk| disk.alignment_offset_bytes = Some(0)), &[Fine]),
            ("alignment_offset", disk(|disk| disk.alignment_offset_bytes = Some(3584)), &[Improve]),
            ("alignment_offset", disk(|disk| disk.alignment_offset_bytes = Some(-1)), &[Improve]),
            ("alignment_offset", disk(|disk| disk.alignment_offset_bytes = None), &[]),
        ]);
    }

    fn scheduler_host(kind: DeviceKind, rotational: bool, scheduler: &str) -> Inventory {
        let disk = BlockDevice {
            rotational: Some(rotational),
            scheduler: Some(scheduler.to_owned()),
            schedulers: ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec(),
            ..device("sda", kind, &[])
        };
        mounted(mount("ext4", Some("sda"), ""), vec![disk])
    }

    #[test]
    fn the_kind_of_the_disk_decides() {
        for (kind, rotational, scheduler, recommended) in [
            (DeviceKind::Nvme, false, "none", None),
            (DeviceKind::Nvme, false, "mq-deadline", Some("none")),
            (DeviceKind::Nvme, false, "bfq", Some("none")),
            (DeviceKind::Virtual, true, "none", None),
            (DeviceKind::Virtual, true, "mq-deadline", None),
            (DeviceKind::Virtual, true, "bfq", Some("none")),
            (DeviceKind::Disk, true, "mq-deadline", None),
            (DeviceKind::Disk, true, "none", Some("mq-deadline")),
            (DeviceKind::Disk, true, "bfq", Some("mq-deadline")),
            (DeviceKind::Disk, false, "none", None),
            (DeviceKind::Disk, false, "mq-deadline", None),
        ] {
            let findings = findings("scheduler", &scheduler_host(kind, rotational, scheduler));
            assert_eq!(findings.len(), 1, "{kind:?} {scheduler}");
            assert_eq!(findings[0].object, "sda");
            assert_eq!(findings[0].recommended.as_deref(), recommended, "{kind:?} {rotational} {scheduler}");
            let change = findings[0].change.as_ref();
            assert_eq!(change.map(|change| change.value.as_str()), recommended);
            if let Some(change) = change {
                assert_eq!(change.knob, Knob::Sysfs("/sys/block/sda/queue/scheduler".to_owned()));
            }
        }
    }

    #[test]
    fn a_guest_does_not_know_whether_its_disk_rotates() {
        let mut guest = scheduler_host(DeviceKind::Disk, true, "none");
        guest.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(findings("scheduler", &guest)[0].standing, Standing::Fine);
    }

    #[test]
    fn nothing_is_recommended_that_the_kernel_lacks_or_that_is_unknown() {
        let mut lacking = scheduler_host(DeviceKind::Disk, true, "none");
        lacking.devices[0].schedulers = vec!["none".to_owned()];
        assert_eq!(findings("scheduler", &lacking), []);
        lacking.devices[0].scheduler = None;
        assert_eq!(findings("scheduler", &lacking), []);
    }

    fn ahead_with(device: BlockDevice, read_ahead_bytes: u64) -> BlockDevice {
        BlockDevice { read_ahead_bytes: Some(read_ahead_bytes), ..device }
    }

    /// What is said of a volume on one disk, as objects, standings and recommended values.
    fn judged(purpose: Purpose, volume: u64, disk: u64) -> Vec<(String, Standing, Option<String>)> {
        let devices = vec![
            ahead_with(device("dm-0", DeviceKind::Lvm, &["sda"]), volume),
            ahead_with(device("sda", DeviceKind::Disk, &[]), disk),
        ];
        let host = mounted(mount("ext4", Some("dm-0"), ""), devices);
        let said = findings_for("read_ahead_kb", &host, purpose).into_iter();
        said.map(|finding| (finding.object, finding.standing, finding.change.map(|change| change.value)))
            .collect()
    }

    #[test]
    fn the_purpose_decides_what_is_right() {
        let one =
            |standing, value: Option<&str>| vec![("dm-0".to_owned(), standing, value.map(str::to_owned))];
        for (purpose, present, expected) in [
            (Purpose::Oltp, 128 << 10, one(Standing::Fine, None)),
            (Purpose::Oltp, 8 << 20, one(Standing::Improve, Some("128"))),
            (Purpose::Mixed, 8 << 20, one(Standing::Fine, None)),
            (Purpose::Olap, 128 << 10, one(Standing::Improve, Some("1024"))),
            (Purpose::Olap, 8 << 20, one(Standing::Fine, None)),
        ] {
            assert_eq!(judged(purpose, present, 128 << 10), expected, "{purpose:?} {present}");
        }
    }

    #[test]
    fn what_is_set_below_a_volume_is_not_used() {
        let said = judged(Purpose::Olap, 8 << 20, 4 << 20);
        assert_eq!(said[1], ("sda".to_owned(), Standing::NoEffect, None));
        assert_eq!(judged(Purpose::Olap, 8 << 20, 8 << 20).len(), 1, "the same value misleads nobody");
    }

    #[test]
    fn the_disk_of_a_partition_counts() {
        let devices = vec![
            device("sda1", DeviceKind::Partition, &["sda"]),
            ahead_with(device("sda", DeviceKind::Disk, &[]), 8 << 20),
        ];
        let host = mounted(mount("ext4", Some("sda1"), ""), devices);
        let said = findings_for("read_ahead_kb", &host, Purpose::Oltp);
        assert_eq!((said.len(), said[0].object.as_str(), said[0].standing), (1, "sda", Standing::Improve));
    }

    #[test]
    fn wide_stripes_allow_more() {
        let mut volume = ahead_with(device("md0", DeviceKind::Md, &[]), 8 << 20);
        volume.optimal_io_bytes = Some(4 << 20);
        let host = mounted(mount("ext4", Some("md0"), ""), vec![volume]);
        assert_eq!(findings_for("read_ahead_kb", &host, Purpose::Oltp)[0].standing, Standing::Fine);
    }

    #[test]
    fn nothing_is_claimed_of_what_is_unknown() {
        assert_eq!(findings_for("read_ahead_kb", &disk(|_| ()), Purpose::Oltp), []);
    }

    fn affinity_host(affinity: Option<u8>, queues: usize) -> Inventory {
        let mut host = disk(|disk| {
            disk.completion_affinity = affinity;
            disk.queues = (0..queues).map(|queue| queue.to_string()).collect();
        });
        host.cpu.logical = 4;
        host
    }

    #[test]
    fn values_are_judged_by_the_queues() {
        let change =
            findings("rq_affinity", &affinity_host(Some(0), 1)).remove(0).change.expect("0 is to be changed");
        assert_eq!(change.knob, Knob::Sysfs("/sys/block/sda/queue/rq_affinity".to_owned()));
    }

    fn queues_host(kind: DeviceKind, queues: &[&str], logical: u32) -> Inventory {
        let queues = queues.iter().map(|&queue| queue.to_owned()).collect();
        let disk = BlockDevice { queues, ..device("vda", kind, &[]) };
        let mut host = mounted(mount("ext4", Some("vda"), ""), vec![disk]);
        host.cpu.logical = logical;
        host
    }

    #[test]
    fn queues_are_counted() {
        for (queues, expected) in [
            (&["0-1"][..], "1 queue for 2 processors, which is enough for so few."),
            (&["0", "1"], "2 queues for 2 processors."),
        ] {
            assert_eq!(
                findings("mq/cpu_list", &queues_host(DeviceKind::Virtual, queues, 2))[0].reason,
                expected
            );
        }
    }

    #[test]
    fn the_cache_is_reported() {
        for (write_cache, said) in [
            (Some("write back"), Some("The kernel flushes its cache at fsync.")),
            (
                Some("write through"),
                Some("The kernel sends no flush, as the disk says that it has no volatile cache."),
            ),
            (Some("?"), None),
            (None, None),
        ] {
            let write_cache = write_cache.map(str::to_owned);
            let findings = findings("write_cache", &disk(|disk| disk.write_cache.clone_from(&write_cache)));
            assert_eq!(findings.first().map(|finding| finding.reason.as_str()), said, "{write_cache:?}");
        }
    }

    fn alignment_host(start: Option<u64>, physical: Option<u64>, full_stripe: Option<u64>) -> Inventory {
        let disk = BlockDevice {
            physical_block_bytes: physical,
            optimal_io_bytes: full_stripe,
            stripe: full_stripe.map(|_| Stripe::default()),
            ..device("sda", DeviceKind::Disk, &[])
        };
        let partition = BlockDevice { start_bytes: start, ..device("sda1", DeviceKind::Partition, &["sda"]) };
        mounted(mount("ext4", Some("sda1"), ""), vec![disk, partition])
    }

    #[test]
    fn odd_values_of_disks_without_stripes_are_ignored() {
        let mut host = alignment_host(Some(1 << 20), Some(512), None);
        host.devices[0].optimal_io_bytes = Some(33_553_920);
        assert_eq!(standings("partition alignment", &host), [Standing::Fine]);
    }
}
