//! Options of mkfs.xfs, and of mounts of XFS.

use pgdyno_core::{
    host::{BlockDevice, Mount},
    units::bytes,
};

use super::{
    geometry::striped,
    rule::{Given, Rule},
    scope::disk_names,
};
use crate::{Finding, Page, Today};

/// The file system of this family.
const XFS: &[&str] = &["xfs"];

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "mkfs.xfs -b",
        also: &["mkfs.xfs -b size", "-b size"],
        what: "The block of XFS in bytes: 1024 to 65536 with checksums (the default format), 512 without.",
        today: Today::DefaultIsRight,
        why: "4096 is the default and the page size of x86-64 and most others. Kernels before 6.12 refuse to mount a \
             block above the page size (Function not implemented); kernels with larger pages, such as 64 KiB on some \
             arm64 and ppc64le, mount blocks up to theirs. Since 6.12 blocks up to 64 KiB are mounted where the \
             kernel has transparent huge pages, in the format with checksums only, and the kernel logged this as \
             experimental. A block of 8 KiB does not make writes of the server atomic: that needs an atomic write \
             that the program requests.",
        source: "mkfs.xfs(8); Linux fs/xfs/xfs_super.c; merge of large block sizes for XFS in Linux 6.12.",
        ..Page::EMPTY
    })
    .mounts(XFS, judge_block),
    Rule::of(Page {
        name: "mkfs.xfs -l size",
        also: &["-l size", "mkfs.xfs -l"],
        what: "The size of the log of XFS, which holds changes of metadata that are not yet written to their place.",
        today: Today::DefaultIsRight,
        why: "mkfs.xfs scales it with the file system, up to just below 2 GiB. A server changes little metadata: it \
             grows files and recycles WAL segments. A larger log serves loads that create many files.",
        source: "mkfs.xfs(8), log section options.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "mkfs.xfs -l sunit",
        also: &["-l sunit", "-l su"],
        what: "The unit to which writes of the log are rounded, in sectors of 512 bytes.",
        today: Today::DefaultIsRight,
        why: "mkfs.xfs takes the stripe unit of the device, at most 256 KiB, and 32 KiB where the stripe is larger. \
             Each commit of the log fills a whole unit, so that a large one makes fsync of growing files write more.",
        source: "mkfs.xfs(8), log section options.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "agcount",
        also: &["mkfs.xfs -d agcount", "-d agcount"],
        what: "The number of allocation groups of XFS, within which allocations wait for each other.",
        today: Today::DefaultIsRight,
        why: "mkfs.xfs makes 4 on one disk, and more on stripes and large volumes: at least one per TiB. Thousands, \
             one per wanted session, were published: each group costs memory and CPU time, free space is scattered, \
             and files of 1 GiB hardly fit into groups of 600 MB, while sessions of PostgreSQL extend few relations \
             at a time and wait for the relation's extension lock rather than for a group. 16 to 64 are ample.",
        source: "mkfs.xfs(8), data section options.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "agsize",
        also: &["mkfs.xfs -d agsize", "-d agsize"],
        what: "The size of an allocation group of XFS: 16 MiB to 1 TiB, a multiple of the block; it excludes agcount.",
        today: Today::DefaultIsRight,
        why: "A group size that is a multiple of the stripe width puts the beginning of each group, where its \
             metadata is, on the same disk. mkfs.xfs avoids this by itself: it takes one stripe unit less, and warns \
             only where the size was given. A size of 156234 blocks over a stripe of 6 blocks thus becomes 156232.",
        source: "mkfs.xfs(8), data section options; xfsprogs mkfs/xfs_mkfs.c, align_ag_geometry().",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "sunit",
        also: &["mkfs.xfs -d sunit", "-d sunit", "-d su"],
        what: "The stripe unit of XFS in sectors of 512 bytes: what lies on one disk before the next one follows (su \
              is in bytes).",
        today: Today::Kept,
        why: "mkfs.xfs reads it from md and LVM by itself; a RAID controller often reports nothing. 16 sectors are \
             stripes of 8 KiB. As a mount option it can be corrected after the array was changed.",
        source: "mkfs.xfs(8), data section options; Linux Documentation/admin-guide/xfs.rst (sunit).",
        ..Page::EMPTY
    })
    .mounts(XFS, judge_stripe_unit),
    Rule::of(Page {
        name: "swidth",
        also: &["mkfs.xfs -d swidth", "-d swidth", "-d sw"],
        what: "The full stripe of XFS in sectors of 512 bytes: sunit times the disks that hold data (sw is that \
              number of disks).",
        today: Today::Kept,
        why: "Disks of parity or copies do not count: RAID 5 of 5 disks has 4, RAID 10 of 10 has 5. mkfs.xfs reads it \
             from md and LVM by itself. 48 sectors are three stripes of 8 KiB.",
        source: "mkfs.xfs(8), data section options; Linux Documentation/admin-guide/xfs.rst (swidth).",
        ..Page::EMPTY
    })
    .mount_option("swidth", XFS, judge_stripe_width),
    Rule::of(Page {
        name: "largeio",
        what: "stat() of a file on XFS reports the full stripe as the preferred size of requests, instead of a page.",
        today: Today::NoEffect,
        why: "PostgreSQL reads and writes its blocks whatever stat() says; only programs that size their buffers by \
             st_blksize, such as cp and the C library's stdio, are affected. It was published for data warehouses: \
             what helps scans is read-ahead.",
        source: "Linux Documentation/admin-guide/xfs.rst (largeio).",
        ..Page::EMPTY
    })
    .mount_option("largeio", XFS, |given, _, _| {
        Some(given.no_effect("The server does not ask for the preferred size of requests."))
    }),
    Rule::of(Page {
        name: "nolargeio",
        what: "stat() of a file on XFS reports a page as the preferred size of requests: the default.",
        today: Today::NoEffect,
        why: "It repeats the default, and the server does not ask for the preferred size anyway. The kernel does not \
             show it among the options of a mount.",
        source: "Linux Documentation/admin-guide/xfs.rst (nolargeio).",
        ..Page::EMPTY
    })
    .mount_option("nolargeio", XFS, |given, _, _| Some(given.no_effect("It repeats the default."))),
    Rule::of(Page {
        name: "logbsize",
        also: &["logbufs", "logbsize=262144", "logbsize=256k"],
        what: "The size of each buffer in memory for the log of XFS: 32 KiB to 256 KiB; there are 8 (logbufs).",
        today: Today::Depends,
        why: "Larger buffers merge more changes of metadata into one write of the log, which helps hosts that create \
             and remove very many files. A server flushes the log at each fsync of a file that grew, when buffers are \
             seldom full. The default is 32 KiB, or the stripe unit of the log. What 256 KiB brings a server was not \
             measured here; it costs 2 MiB of memory.",
        source: "Linux Documentation/admin-guide/xfs.rst (logbsize).",
        ..Page::EMPTY
    })
    .mount_option("logbsize", XFS, judge_log_buffers),
    Rule::of(Page {
        name: "logdev",
        also: &["mkfs.xfs -l logdev", "-l logdev"],
        what: "The log of XFS is on a device of its own.",
        today: Today::Depends,
        why: "It takes writes of the log off a slow disk that data is on, where metadata changes often; a server \
             changes little. On the disks that data is on, it only adds another place to write to. WAL on a device of \
             its own does more.",
        danger: "Without the device of the log the file system cannot be mounted, so that it is as lost as the log. \
                Both must be in one snapshot.",
        source: "mkfs.xfs(8), log section options; Linux Documentation/admin-guide/xfs.rst (logdev).",
        ..Page::EMPTY
    })
    .mount_option("logdev", XFS, judge_log_device),
    Rule::of(Page {
        name: "swalloc",
        what: "XFS begins new extents of files that grow on full stripes (swidth), not only on stripe units.",
        today: Today::Depends,
        why: "It helps writes of whole stripes on RAID 5 and 6. Without parity, stripe units are enough, and small \
             files leave gaps. On a file system without stripes it does nothing. What it brings was not measured.",
        source: "Linux Documentation/admin-guide/xfs.rst (swalloc).",
        ..Page::EMPTY
    })
    .mount_option("swalloc", XFS, judge_stripe_allocation),
    Rule::of(Page {
        name: "allocsize",
        also: &["allocsize=16M"],
        what: "How much XFS allocates beyond the end of a file that grows: a fixed amount instead of one that follows \
              the file.",
        today: Today::DefaultIsRight,
        why: "Since Linux 2.6.38 XFS allocates more the larger a file is, and less when space runs short; a fixed \
             value switches that off. Tables grow in files of up to 1 GiB, for which the default gives long extents. \
             A fixed value also holds that much space behind each small table until the file is closed or the space \
             is reclaimed.",
        danger: "With very many small tables and a large value, space is used up that du shows and the tables do not \
                need.",
        source: "Linux Documentation/admin-guide/xfs.rst (allocsize).",
        ..Page::EMPTY
    })
    .mount_option("allocsize", XFS, judge_preallocation),
    Rule::of(Page {
        name: "inode64",
        also: &["inode32"],
        what: "XFS may place inodes anywhere on the file system.",
        today: Today::DefaultIsRight,
        why: "It is the default since Linux 3.7, so that naming it brings nothing. inode32 keeps all inodes in the \
             first TiB, away from the data of large file systems, for programs that cannot handle inode numbers of 64 \
             bits; PostgreSQL can.",
        source: "Linux Documentation/admin-guide/xfs.rst (inode64).",
        ..Page::EMPTY
    })
    .mounts(XFS, judge_inodes),
];

fn judge_block(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let page = given.host.memory.page_bytes;
    let block = mount.block_bytes.filter(|&bytes| bytes > 0)?;
    let finding = if block < 4096 {
        given
            .improve("More blocks are mapped per page than needed.")
            .recommend("4 KiB, with a new file system")
    } else if page > 0 && block > page {
        let page = bytes(page);
        given
            .improve(format!("It is above the page size of {page}: only kernels since 6.12 mount it."))
            .recommend(format!("{page}, with a new file system"))
    } else {
        given.fine("Every kernel with this page size mounts it.")
    };
    Some(finding.present(bytes(block)))
}

fn judge_stripe_unit(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let below = striped(given.host, mount).filter(|_| !mount.options.is_empty())?;
    let present = match mount.option("sunit") {
        // XFS shows it always, if it has one.
        None => 0,
        Some(sectors) => sectors.parse::<u64>().ok()?.checked_mul(512)?,
    };
    let (name, chunk) = (&below.device.name, bytes(below.chunk));
    let finding = match present {
        0 => given
            .improve(format!("{name} is striped, and the file system does not know it."))
            .recommend(chunk),
        _ if present == below.chunk => given.fine(format!("It is what a disk of {name} holds at a time.")),
        _ => given.improve(format!("A disk of {name} holds {chunk} at a time.")).recommend(chunk),
    };
    Some(finding.present(bytes(present)))
}

fn judge_stripe_width(given: &Given<'_>, mount: &Mount, sectors: &str) -> Option<Finding> {
    let present = sectors.parse::<u64>().ok()?.checked_mul(512)?;
    let below = striped(given.host, mount)?;
    let disks = below.full / below.chunk;
    let reason =
        format!("{} has {disks} disks with data, of {} each.", below.device.name, bytes(below.chunk));
    let finding = match present == below.full {
        true => given.fine(reason),
        false => given.improve(reason).recommend(bytes(below.full)),
    };
    Some(finding.present(bytes(present)))
}

fn judge_log_buffers(given: &Given<'_>, _: &Mount, text: &str) -> Option<Finding> {
    let present = size(text)?;
    let reason = match present > 32 << 10 {
        true => "Larger buffers cost little memory, and help where very many files are created.",
        false => "It is the default, which serves a server that changes little metadata.",
    };
    Some(given.fine(reason).present(bytes(present)))
}

/// A size of XFS, such as `32k`, in bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn judge_log_device(given: &Given<'_>, mount: &Mount, path: &str) -> Option<Finding> {
    let host = given.host;
    let name = path.rsplit('/').next().filter(|_| !path.is_empty())?;
    let is_it = |device: &&BlockDevice| device.name == name || device.alias.as_deref() == Some(name);
    let log = disk_names(host, &host.devices.iter().find(is_it)?.name);
    let data = disk_names(host, mount.device.as_deref()?);
    let finding = match log.is_disjoint(&data) {
        _ if log.is_empty() || data.is_empty() => return None,
        true => given.fine("The log is on disks of its own; without them the file system is lost."),
        false => {
            given.no_effect("The log is on disks that data is on too, where an internal log does the same.")
        }
    };
    Some(finding.present(path))
}

fn judge_stripe_allocation(given: &Given<'_>, mount: &Mount, _: &str) -> Option<Finding> {
    let has_width = mount.option("swidth").is_some_and(|width| width != "0");
    let level = striped(given.host, mount).map(|below| below.stripe.level.as_str());
    Some(match level {
        _ if !has_width => {
            given.no_effect("The file system has no stripe width.").recommend("without the option")
        }
        Some("raid0" | "striped" | "raid10") => given.no_effect(
            "Without parity, an array reads nothing to write a partial stripe: it brings nothing that stripe units do \
             not.",
        ),
        Some(_) => given.fine("The array has parity, so that it gains by writes of whole stripes."),
        None => return None,
    })
}

fn judge_preallocation(given: &Given<'_>, _: &Mount, text: &str) -> Option<Finding> {
    let reason = "A fixed amount switches off the allocation that follows the size of the file.";
    Some(given.improve(reason).present(bytes(size(text)?)).recommend("without the option"))
}

fn judge_inodes(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    /// Up to this size inode32 keeps inodes nowhere that inode64 would not.
    const ONE_TIB: u64 = 1 << 40;
    if mount.option("inode64").is_some() {
        let reason = "It is the default, which the kernel shows of every XFS, named or not.";
        return Some(given.fine(reason).present("inode64"));
    }
    mount.option("inode32")?;
    let size = mount.size_bytes?;
    let finding = match size > ONE_TIB {
        true => given
            .improve(format!("All inodes of {} are kept in the first TiB.", bytes(size)))
            .recommend("inode64"),
        false => given.no_effect("Up to 1 TiB, inodes are placed as with inode64."),
    };
    Some(finding.present("inode32"))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{DeviceKind, Inventory, Stripe};

    use super::*;
    use crate::{
        Standing,
        host::testing::{check_hosts, check_mounts, device, findings, mount, mounted, standings},
    };

    #[test]
    fn options_are_judged() {
        use Standing::NoEffect;
        check_mounts(&[
            ("largeio", "xfs", "rw,largeio", &[NoEffect]),
            ("largeio", "xfs", "rw", &[]),
            ("largeio", "xfs", "", &[]),
            ("nolargeio", "xfs", "rw,nolargeio", &[NoEffect]),
            ("nolargeio", "xfs", "rw,largeio", &[]),
            ("nolargeio", "xfs", "", &[]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        let with_block = |block_bytes, page_bytes| {
            let mut mount = mount("xfs", Some("sda"), "");
            mount.block_bytes = block_bytes;
            let mut host = mounted(mount, Vec::new());
            host.memory.page_bytes = page_bytes;
            host
        };
        let of_size = |options: &str, size_bytes| {
            let mut mount = mount("xfs", Some("sda"), options);
            mount.size_bytes = size_bytes;
            mounted(mount, Vec::new())
        };
        check_hosts(&[
            ("mkfs.xfs -b", with_block(Some(4096), 4096), &[Fine]),
            ("mkfs.xfs -b", with_block(Some(8192), 4096), &[Improve]),
            ("mkfs.xfs -b", with_block(Some(65536), 65536), &[Fine]),
            ("mkfs.xfs -b", with_block(Some(1024), 4096), &[Improve]),
            ("mkfs.xfs -b", with_block(Some(8192), 0), &[Fine]),
            ("mkfs.xfs -b", with_block(None, 4096), &[]),
            ("sunit", unit_host("rw,sunit=16,swidth=48", true), &[Fine]),
            ("sunit", unit_host("rw,sunit=128,swidth=384", true), &[Improve]),
            ("sunit", unit_host("rw,noquota", true), &[Improve]),
            ("sunit", unit_host("rw,sunit=16", false), &[]),
            ("sunit", unit_host("rw,sunit=x", true), &[]),
            ("sunit", unit_host("", true), &[]),
            ("swidth", width_host("sunit=16,swidth=48", "raid0", 3), &[Fine]),
            ("swidth", width_host("sunit=16,swidth=64", "raid5", 5), &[Fine]),
            ("swidth", width_host("sunit=16,swidth=80", "raid5", 5), &[Improve]),
            ("swidth", width_host("sunit=16,swidth=80", "raid1", 5), &[]),
            ("swidth", width_host("sunit=16", "raid0", 3), &[]),
            ("swidth", width_host("swidth=18446744073709551615", "raid0", 3), &[]),
            ("swalloc", allocation_host("swalloc,sunit=128,swidth=384", "raid5"), &[Fine]),
            ("swalloc", allocation_host("swalloc,sunit=128,swidth=512", "raid0"), &[NoEffect]),
            ("swalloc", allocation_host("swalloc", "raid5"), &[NoEffect]),
            ("swalloc", allocation_host("sunit=128,swidth=384", "raid5"), &[]),
            ("swalloc", allocation_host("swalloc,sunit=128,swidth=384", "raid1"), &[]),
            ("inode64", of_size("rw,inode64", Some(8 << 40)), &[Fine]),
            ("inode64", of_size("rw,inode32", Some(8 << 40)), &[Improve]),
            ("inode64", of_size("rw,inode32", Some(1 << 40)), &[NoEffect]),
            ("inode64", of_size("rw,inode32", None), &[]),
            ("inode64", of_size("rw", Some(8 << 40)), &[]),
        ]);
    }

    fn unit_host(options: &str, is_striped: bool) -> Inventory {
        // 3 stripes of 8 KiB, as the second article lays them out: sunit 16, swidth 48.
        let stripe =
            is_striped.then(|| Stripe { level: "striped".to_owned(), members: 3, chunk_bytes: 8192 });
        let volume = BlockDevice { stripe, ..device("dm-0", DeviceKind::Lvm, &[]) };
        mounted(mount("xfs", Some("dm-0"), options), vec![volume])
    }

    fn width_host(options: &str, level: &str, members: u32) -> Inventory {
        let stripe = Some(Stripe { level: level.to_owned(), members, chunk_bytes: 8192 });
        let volume = BlockDevice { stripe, ..device("md0", DeviceKind::Md, &[]) };
        mounted(mount("xfs", Some("md0"), options), vec![volume])
    }

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("32k", Some(32768)),
            ("262144", Some(262_144)),
            ("16M", Some(16 << 20)),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(size(text), expected, "{text}");
        }
        assert_eq!(size("18446744073709551615k"), None);
    }

    #[test]
    fn buffers_are_reported() {
        for (options, present) in
            [("logbsize=32k", Some("32 KiB")), ("logbsize=262144", Some("256 KiB")), ("rw", None)]
        {
            let findings = findings("logbsize", &mounted(mount("xfs", Some("sda"), options), Vec::new()));
            assert_eq!(findings.first().and_then(|finding| finding.present.as_deref()), present, "{options}");
            assert!(findings.iter().all(|finding| finding.standing == Standing::Fine));
        }
    }

    fn log_host(options: &str, log_on: &str) -> Inventory {
        let log =
            BlockDevice { alias: Some("vg-log".to_owned()), ..device("dm-1", DeviceKind::Lvm, &[log_on]) };
        let data = device("dm-0", DeviceKind::Lvm, &["sda"]);
        let disks = ["sda", "sdb"].map(|name| device(name, DeviceKind::Disk, &[]));
        mounted(mount("xfs", Some("dm-0"), options), [vec![data, log], disks.to_vec()].concat())
    }

    #[test]
    fn the_disks_of_log_and_data_are_compared() {
        let options = "rw,logdev=/dev/mapper/vg-log";
        assert_eq!(standings("logdev", &log_host(options, "sdb")), [Standing::Fine]);
        assert_eq!(standings("logdev", &log_host(options, "sda")), [Standing::NoEffect]);
        assert_eq!(standings("logdev", &log_host("rw,logdev=/dev/unknown", "sda")), []);
        assert_eq!(standings("logdev", &log_host("rw", "sda")), []);
    }

    fn allocation_host(options: &str, level: &str) -> Inventory {
        let stripe = Some(Stripe { level: level.to_owned(), members: 4, chunk_bytes: 65536 });
        let array = BlockDevice { stripe, ..device("md0", DeviceKind::Md, &[]) };
        mounted(mount("xfs", Some("md0"), options), vec![array])
    }

    #[test]
    fn a_fixed_amount_is_found() {
        let host = |options| mounted(mount("xfs", Some("sda"), options), Vec::new());
        assert_eq!(standings("allocsize", &host("rw,allocsize=16384k")), [Standing::Improve]);
        assert_eq!(findings("allocsize", &host("rw,allocsize=16384k"))[0].present.as_deref(), Some("16 MiB"));
        assert_eq!(standings("allocsize", &host("rw,allocsize=much")), []);
        assert_eq!(standings("allocsize", &host("rw")), []);
    }
}
