//! Options of mkfs.ext4, and of mounts of ext4 and its ancestors.

use pgdyno_core::{
    host::{Inventory, Mount},
    units::bytes,
};

use super::{
    geometry::striped,
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Today};

/// ext4, and what it can mount.
const EXT: &[&str] = &["ext2", "ext3", "ext4"];

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "mkfs.ext4 -m",
        also: &["mkfs.ext4 -m 0", "reserved blocks", "tune2fs -m"],
        what: "The share of the file system that only root may fill, and whom the options resuid and resgid name, in \
              percent; 5 by default.",
        today: Today::Kept,
        why: "5 % of a large volume is space that the server can never use; 0 or 1 is right for a volume that holds \
             nothing but data directories. tune2fs -m changes it at any time. df counts the reserve as neither used \
             nor available. It also keeps some space free, without which files fragment; watch free space yourself \
             instead. Reported are more than the default on any volume, and the default where it is large and not on \
             the root file system.",
        danger: "With 0, a file system that ran full has nothing left with which root could repair it.",
        source: "mke2fs(8), tune2fs(8).",
        ..Page::EMPTY
    })
    .mounts(EXT, judge_reserve),
    Rule::of(Page {
        name: "mkfs.ext4 -O extent",
        also: &["-O extent", "extent", "-O extents"],
        what: "Files are mapped by extents instead of single blocks.",
        today: Today::Obsolete,
        why: "Every ext4 has it: mkfs.ext4 sets it by default in /etc/mke2fs.conf. Naming it brings nothing.",
        source: "ext4(5), mke2fs.conf(5).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "mkfs.ext4 -O uninit_bg",
        also: &["-O uninit_bg", "uninit_bg", "gdt_csum"],
        what: "Block groups have a checksum, so that unused ones need not be initialised.",
        today: Today::Obsolete,
        why: "metadata_csum, which mkfs.ext4 sets by default since e2fsprogs 1.43, does the same and protects all \
             other metadata too; both are not used at once. Naming uninit_bg brings nothing.",
        source: "ext4(5), features uninit_bg and metadata_csum.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "lazy_itable_init",
        also: &["lazy_itable_init=1", "mkfs.ext4 -E lazy_itable_init", "ext4lazyinit", "init_itable"],
        what: "mkfs.ext4 leaves inode tables uninitialised, and the kernel writes them after the first mount.",
        today: Today::DefaultIsRight,
        why: "It is the default where the kernel can do it, which all can since 2.6.37. On a volume of some TiB the \
             thread ext4lazyinit writes for hours at a low rate. Before a measurement either wait until it has ended, \
             or make the file system with -E lazy_itable_init=0,lazy_journal_init=0, which takes as long as the \
             writing takes.",
        danger: "Measurements in the first hours of a file system share the disk with it.",
        source: "mke2fs(8), extended options; Linux Documentation/admin-guide/ext4.rst (init_itable).",
        ..Page::EMPTY
    })
    .mounts(&["ext4"], judge_initialisation),
    Rule::of(Page {
        name: "stride",
        also: &["mkfs.ext4 -E stride", "-E stride"],
        what: "Blocks of the file system that lie on one disk before the next one follows: stripe size divided by \
              block size.",
        today: Today::DefaultIsRight,
        why: "mkfs.ext4 reads it from what the device reports as minimum_io_size, so that md and LVM need no option; \
             a RAID controller often reports nothing. With flex_bg, which ext4 has by default, it hardly matters: it \
             spread bitmaps over disks when each block group had its own. tune2fs -E stride changes it later.",
        source: "mke2fs(8), extended options.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "stripe_width",
        also: &["mkfs.ext4 -E stripe_width", "stripe-width", "stripe="],
        what: "Blocks of ext4 in a full stripe: stride times the disks that hold data. The mount option stripe= \
              overrides it.",
        today: Today::Kept,
        why: "The allocator begins files on multiples of it, so that long writes fill whole stripes; on RAID 5 and 6 \
             a partial stripe makes the array read first. mkfs.ext4 takes it from optimal_io_size, so that md and LVM \
             need no option. On stripes without parity its effect is small.",
        source: "mke2fs(8), extended options; Linux Documentation/admin-guide/ext4.rst (stripe=).",
        ..Page::EMPTY
    })
    .mount_option("stripe", &["ext4"], judge_stripe_width),
    Rule::of(Page {
        name: "mkfs.ext4 -b",
        also: &["mkfs.ext4 -b 4096", "-b 4096"],
        what: "The block of ext4 in bytes: 1024 to 65536, not above the page size of the kernel.",
        today: Today::DefaultIsRight,
        why: "mkfs.ext4 takes 4096 for everything above 512 MiB, which is the page size of x86-64, and what current \
             disks write without reading. A block of 8 KiB of the server is two of them; the file system cannot write \
             both at once atomically, whatever its block. Blocks above the page size are refused up to Linux 6.18.",
        source: "mke2fs(8); ext4(5); Linux fs/ext4/super.c.",
        ..Page::EMPTY
    })
    .mounts(EXT, judge_block),
    Rule::of(Page {
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
    }),
    Rule::of(Page {
        name: "mkfs.ext4 -L",
        also: &["-L", "label", "mkfs.xfs -L"],
        what: "A label by which fstab can name the file system.",
        today: Today::Kept,
        why: "Names such as /dev/sdb may change at each start of the host. LABEL=, UUID= and names of LVM do not. A \
             UUID is unique without care, a label can be read; after cloning disks, beware of two file \
             systems with one label.",
        source: "fstab(5), blkid(8).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "nodelalloc",
        also: &["delalloc"],
        what: "ext4 chooses blocks when a file is written to, not when its pages are written out.",
        today: Today::DefaultIsRight,
        why: "With delayed allocation, the default, ext4 chooses when more of a file is known, so that files that \
             grow together get longer runs of blocks. The difference is small for a server: without it ext4 still \
             keeps some MiB beyond the end of a file that grows for that file, and PostgreSQL 16 and later extend \
             tables that grow fast by fallocate(), which chooses at once in both cases. nodelalloc was published to \
             avoid data loss of programs that do not call fsync, which PostgreSQL does.",
        source: "Linux Documentation/admin-guide/ext4.rst (delalloc, nodelalloc).",
        ..Page::EMPTY
    })
    .mount_option("nodelalloc", &["ext4"], judge_immediate_allocation),
    Rule::of(Page {
        name: "barrier",
        also: &["barrier=0", "barrier=1"],
        what: "Whether ext4 makes disks flush their volatile caches at fsync and at commits of its journal.",
        today: Today::Dangerous,
        why: "barrier=0 means that fsync returns while data is still in the cache of the disk: commits that were \
             confirmed are lost at a power failure, and the file system itself may be damaged. Where all disks have \
             no volatile cache (write_cache is write through), the kernel sends no flush anyway, so that barrier=0 \
             brings nothing. The manual knows one case for it: a controller whose cache is kept by a battery that \
             works, and which writes it out whenever it is asked to flush. Such a controller can mostly be configured \
             to keep what is flushed, which shows as write_cache write through. Figures measured on other disks with \
             barrier=0 are those of a server without fsync.",
        danger: "Loss of confirmed commits and corruption of the file system at a power failure.",
        source: "Linux Documentation/admin-guide/ext4.rst (barrier); Documentation/block/writeback_cache_control.rst; \
                PostgreSQL manual, Reliability.",
        ..Page::EMPTY
    })
    .mounts(&["ext3", "ext4"], judge_barrier),
    Rule::of(Page {
        name: "ext4 journal",
        also: &["has_journal", "mkfs.ext4 -O ^has_journal", "no journal", "jbd2"],
        what: "Whether ext4 writes changes of its metadata to a journal first, as it does unless it was made without \
              one (^has_journal); ext2 never has one.",
        today: Today::Kept,
        why: "PostgreSQL replays its data from WAL and syncs files and their directories, so that the manual does not \
             require a journal for them. But without one nothing brings the metadata back in order after a crash: the \
             kernel mounts the file system all the same, with a warning only, and damage goes unnoticed unless it is \
             checked before (e2fsck), for minutes to hours on a large volume; what the check cannot place is lost or \
             in lost+found, WAL included. Compared with WAL, a journal of metadata costs little: data=ordered does not \
             write data twice. tune2fs -j adds one, which is in use from the next mount on; where the file system is \
             mounted meanwhile, as a file .journal that must stay.",
        danger: "After a crash of the host, files and directories may be damaged or missing.",
        source: "ext4(5), has_journal; tune2fs(8); e2fsck(8); PostgreSQL manual, Write-Ahead Logging (tip on \
                journaled file systems).",
        ..Page::EMPTY
    })
    .mounts(&["ext2", "ext4"], judge_journal),
    Rule::of(Page {
        name: "data=writeback",
        also: &["data=ordered", "data="],
        what: "ext4 commits its journal without writing the data of new blocks first, as the default data=ordered \
              does.",
        today: Today::Depends,
        why: "fsync writes data and metadata in both modes, so that PostgreSQL loses no commit by it: the manual even \
             names it as a way to avoid flushes of data by the journal, for ext3. What it exposes: after a crash, \
             blocks that were allocated but not yet synced may show old contents of deleted files, of other users \
             too. PostgreSQL replays what it needs from WAL, but log files, archives and files of other programs are \
             not protected. With delayed allocation, ordered mode flushes little, so that the gain on ext4 is small. \
             ext4 refuses another mode at a remount: it holds from the next mount, after umount or a reboot.",
        danger: "Old contents of other files may appear in files that were not synced when the host crashed. With \
                barrier=0 as well, commits are also lost.",
        source: "Linux Documentation/admin-guide/ext4.rst (data=); PostgreSQL manual, Write-Ahead Logging (tip on \
                journaled file systems).",
        ..Page::EMPTY
    })
    .mount_option("data", &["ext3", "ext4"], judge_data_mode),
    Rule::of(Page {
        name: "data=journal",
        what: "ext4 writes data into its journal first, and into the files later.",
        today: Today::DefaultIsRight,
        why: "Everything is written twice, also WAL, which is a journal already. It disables delayed allocation and \
             direct I/O. It does not replace full_page_writes: a block of 8 KiB may be split between two transactions \
             of the journal, and nothing promises otherwise.",
        source: "Linux Documentation/admin-guide/ext4.rst (data=journal); PostgreSQL manual, Write-Ahead Logging (tip \
                on journaled file systems).",
        ..Page::EMPTY
    })
    .mount_option("data", &["ext3", "ext4"], judge_data_in_journal),
    Rule::of(Page {
        name: "journal_async_commit",
        what: "The journal of ext4 writes its commit block without waiting for the blocks before it.",
        today: Today::DefaultIsRight,
        why: "It saves one flush per commit of the journal and relies on checksums to show after a crash whether all \
             arrived. The kernel refuses it together with data=ordered, because data could then be missing from files \
             that the journal calls complete; so it comes with data=writeback and its exposure. What it brings was \
             not measured.",
        danger: "Replay stops at the first block whose checksum is wrong: what the journal holds after it is lost.",
        source: "Linux Documentation/admin-guide/ext4.rst (journal_async_commit); fs/ext4/super.c.",
        ..Page::EMPTY
    })
    .mount_option("journal_async_commit", &["ext4"], judge_asynchronous_journal),
];

fn judge_reserve(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    /// A larger share than the default of 5 % has, which is rounded to blocks.
    const ABOVE_DEFAULT: f64 = 0.06;
    /// A reserve that a server would miss, in bytes.
    const LARGE: u64 = 10 << 30;
    let (size, reserved) = (mount.size_bytes.filter(|size| *size > 0)?, mount.reserved_bytes?);
    let share = reserved as f64 / size as f64;
    let who = mount.reserved_for();
    let never = match who.as_str() {
        "root" => "the server can never use them",
        _ => "a server of another user can never use them",
    };
    let reserve = format!("{} of {} are free for {who} alone", bytes(reserved), bytes(size));
    let is_large = mount.point != "/" && reserved > LARGE && share > 0.02;
    let finding = if share > ABOVE_DEFAULT {
        let reason = format!(
            "{reserve}, more than the default of 5 %: {never}. It was set on purpose: ask why first."
        );
        given.improve(reason).recommend(if mount.point == "/" { "tune2fs -m 5" } else { "tune2fs -m 1" })
    } else if is_large {
        given.improve(format!("{reserve}: {never}.")).recommend("tune2fs -m 1")
    } else {
        given.fine(format!("{reserve}."))
    };
    Some(finding.present(bytes(reserved)))
}

fn judge_initialisation(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    Some(match mount.initialises_inodes? {
        true => given.improve(
            "The kernel still writes inode tables in the background: wait until ext4lazyinit has ended before \
             measuring.",
        ),
        false => given.fine("No inode tables are being written."),
    })
}

/// Absent, the option may be what mkfs wrote, which recent kernels do not show.
fn judge_stripe_width(given: &Given<'_>, mount: &Mount, blocks: &str) -> Option<Finding> {
    let blocks: u64 = blocks.parse().ok()?;
    let below = striped(given.host, mount)?;
    let block = mount.block_bytes.filter(|&bytes| bytes > 0)?;
    let present = blocks.checked_mul(block)?;
    let name = &below.device.name;
    let finding = match present == below.full {
        true => given.fine(format!("It is the full stripe of {name}.")),
        false => {
            let (chunks, chunk) = (below.full / below.chunk, bytes(below.chunk));
            given
                .improve(format!("{name} has {chunks} chunks of {chunk} with data in a full stripe."))
                .set_mount_option(&format!("stripe={}", below.full / block))
                .recommend(bytes(below.full))
        }
    };
    Some(finding.present(bytes(present)))
}

fn judge_block(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let block = mount.block_bytes.filter(|&bytes| bytes > 0)?;
    let finding = match block < 4096 {
        true => given
            .improve(format!("Each page is mapped by {} blocks instead of one.", 4096_u64.div_ceil(block)))
            .recommend("4 KiB, with a new file system"),
        false => given.fine("It is what current disks write without reading before."),
    };
    Some(finding.present(bytes(block)))
}

fn judge_immediate_allocation(given: &Given<'_>, _: &Mount, _: &str) -> Option<Finding> {
    let reason = "It brings nothing to a server, which syncs what it must not lose, and files that grow together get \
                  shorter runs of blocks.";
    Some(given.improve(reason).set_mount_option("delalloc"))
}

fn judge_barrier(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let finding = match has_no_barrier(mount) {
        _ if mount.options.is_empty() => return None,
        false => return Some(given.fine("fsync flushes the caches of disks.").present("barrier=1")),
        true if has_no_volatile_cache(given.host, mount) => given.no_effect(
            "No disk below has a volatile cache, so that the kernel would send no flush either way.",
        ),
        true => given.dangerous(
            "fsync returns while data may still be in a volatile cache of a disk: a power failure then loses \
             confirmed commits, and can damage the file system.",
        ),
    };
    Some(finding.present("barrier=0").set_mount_option("barrier=1"))
}

/// Whether the file system asks disks for no flush.
fn has_no_barrier(mount: &Mount) -> bool {
    mount.option("barrier") == Some("0") || mount.option("nobarrier").is_some()
}

/// Whether all disks below are known to have none.
fn has_no_volatile_cache(host: &Inventory, mount: &Mount) -> bool {
    let disks = mount.device.as_deref().map(|name| host.disks_below(name)).unwrap_or_default();
    !disks.is_empty() && disks.iter().all(|disk| disk.write_cache.as_deref() == Some("write through"))
}

fn judge_journal(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    match mount.is_journaled()? {
        // Without flushes the journal may reach the disk after what it describes.
        true if has_no_barrier(mount) => None,
        true => Some(given.fine("A crash leaves metadata in order.").present("journal")),
        false => {
            let reason = "After a crash only e2fsck puts the file system in order, and what that cannot place is lost \
                          or in lost+found; WAL does not help there.";
            let finding = given.dangerous(reason).present("no journal");
            Some(finding.recommend("a journal (tune2fs -j, in use from the next mount on)"))
        }
    }
}

fn judge_data_mode(given: &Given<'_>, _: &Mount, mode: &str) -> Option<Finding> {
    match mode {
        "writeback" => {
            let reason = "Files that were not synced may show old contents of others after a crash; this alone risks \
                          no commit. ext4 refuses another mode at a remount, so it takes umount and mount, or a \
                          reboot.";
            Some(given.improve(reason).set_mount_option("data=ordered"))
        }
        "ordered" => Some(given.fine("New blocks are written before the journal refers to them.")),
        _ => None,
    }
}

fn judge_data_in_journal(given: &Given<'_>, _: &Mount, mode: &str) -> Option<Finding> {
    let reason = "All data is written twice, into the journal and into its file.";
    (mode == "journal").then(|| given.improve(reason).set_mount_option("data=ordered"))
}

fn judge_asynchronous_journal(given: &Given<'_>, _: &Mount, _: &str) -> Option<Finding> {
    let reason = "It is allowed only without data=ordered, and trusts checksums where the default waits.";
    Some(given.improve(reason).recommend("without the option"))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Knob, Stripe};

    use super::*;
    use crate::{
        Standing,
        host::testing::{check_hosts, check_mounts, device, findings, mount, mounted, standings},
    };

    #[test]
    fn options_are_judged() {
        use Standing::{Fine, Improve};
        check_mounts(&[
            ("nodelalloc", "ext4", "rw,nodelalloc", &[Improve]),
            ("nodelalloc", "ext4", "rw,delalloc", &[]),
            ("nodelalloc", "ext4", "", &[]),
            ("data=writeback", "ext4", "rw,data=writeback", &[Improve]),
            ("data=writeback", "ext4", "rw,data=ordered", &[Fine]),
            ("data=writeback", "ext4", "rw,data=journal", &[]),
            ("data=writeback", "ext4", "rw", &[]),
            ("data=writeback", "xfs", "rw,data=writeback", &[]),
            ("data=journal", "ext4", "rw,data=journal", &[Improve]),
            ("data=journal", "ext4", "rw,data=ordered", &[]),
            ("data=journal", "ext4", "rw", &[]),
            ("journal_async_commit", "ext4", "rw,journal_async_commit", &[Improve]),
            ("journal_async_commit", "ext4", "rw,journal_checksum", &[]),
            ("journal_async_commit", "ext4", "", &[]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Dangerous, Fine, Improve, NoEffect};
        let initialising = |initialises| {
            let mut mount = mount("ext4", Some("sda"), "");
            mount.initialises_inodes = initialises;
            mounted(mount, Vec::new())
        };
        let with_block = |filesystem: &str, block_bytes| {
            let mut mount = mount(filesystem, Some("sda"), "");
            mount.block_bytes = block_bytes;
            mounted(mount, Vec::new())
        };
        let (back, through) = (Some("write back"), Some("write through"));
        let journaled = |filesystem: &str, options: &str, has_journal| {
            let mount = Mount { has_journal, ..mount(filesystem, Some("sda"), options) };
            mounted(mount, Vec::new())
        };
        check_hosts(&[
            ("lazy_itable_init", initialising(Some(true)), &[Improve]),
            ("lazy_itable_init", initialising(Some(false)), &[Fine]),
            ("lazy_itable_init", initialising(None), &[]),
            ("mkfs.ext4 -b", with_block("ext4", Some(1024)), &[Improve]),
            ("mkfs.ext4 -b", with_block("ext4", Some(4096)), &[Fine]),
            ("mkfs.ext4 -b", with_block("ext4", Some(0)), &[]),
            ("mkfs.ext4 -b", with_block("ext4", None), &[]),
            ("mkfs.ext4 -b", with_block("xfs", Some(1024)), &[]),
            ("barrier", barrier_host("ext4", "rw,noatime", &[back, back]), &[Fine]),
            ("barrier", barrier_host("ext4", "rw,barrier=1", &[back, back]), &[Fine]),
            ("barrier", barrier_host("ext4", "rw,barrier=0", &[back, back]), &[Dangerous]),
            ("barrier", barrier_host("ext4", "rw,nobarrier", &[back, back]), &[Dangerous]),
            ("barrier", barrier_host("ext4", "rw,barrier=0", &[through, back]), &[Dangerous]),
            ("barrier", barrier_host("ext4", "rw,barrier=0", &[through, None]), &[Dangerous]),
            ("barrier", barrier_host("ext4", "rw,barrier=0", &[through, through]), &[NoEffect]),
            ("ext4 journal", journaled("ext4", "rw", Some(false)), &[Dangerous]),
            ("ext4 journal", journaled("ext4", "rw", Some(true)), &[Fine]),
            ("ext4 journal", journaled("ext4", "rw,data=writeback", None), &[Fine]),
            ("ext4 journal", journaled("ext4", "rw,data=ordered,barrier=0", Some(true)), &[]),
            ("ext4 journal", journaled("ext4", "rw", None), &[]),
            ("ext4 journal", journaled("ext4", "ro", Some(false)), &[]),
            ("ext4 journal", journaled("ext2", "rw", None), &[Dangerous]),
            ("ext4 journal", journaled("xfs", "rw", None), &[]),
            ("barrier", barrier_host("ext4", "", &[None]), &[]),
            ("barrier", barrier_host("xfs", "rw,nobarrier", &[None]), &[]),
        ]);
    }

    #[test]
    fn a_large_reserve_is_reported() {
        const GB: u64 = 1 << 30;
        for (point, size, reserved, expected) in [
            ("/", Some(252 * GB), Some(161 * GB), &[Standing::Improve][..]),
            ("/", Some(252 * GB), Some(12 * GB), &[Standing::Fine]),
            ("/data", Some(1000 * GB), Some(50 * GB), &[Standing::Improve]),
            ("/data", Some(1000 * GB), Some(10 * GB), &[Standing::Fine]),
            ("/data", Some(30 * GB), Some(GB), &[Standing::Fine]),
            ("/data", Some(30 * GB), None, &[]),
            ("/data", Some(0), Some(0), &[]),
            ("/data", None, Some(0), &[]),
        ] {
            let mut of = mount("ext4", Some("sda"), "rw,resuid=0,resgid=0");
            of.point = point.to_owned();
            (of.size_bytes, of.reserved_bytes) = (size, reserved);
            let host = mounted(of, Vec::new());
            assert_eq!(standings("mkfs.ext4 -m", &host), expected, "{point} {reserved:?} of {size:?}");
            let named = findings("mkfs.ext4 -m", &host).first().is_none_or(|finding| {
                let better = if point == "/" { "tune2fs -m 5" } else { "tune2fs -m 1" };
                finding.object == point && finding.recommended.as_deref().is_none_or(|value| value == better)
            });
            assert!(named, "{point}");
        }
    }

    #[test]
    fn the_reserve_may_be_the_servers() {
        let mut of = mount("ext4", Some("sda"), "rw,resuid=26,resgid=27");
        (of.size_bytes, of.reserved_bytes) = (Some(100 << 30), Some(50 << 30));
        let finding = findings("mkfs.ext4 -m", &mounted(of, Vec::new())).remove(0);
        let expected = "50 GiB of 100 GiB are free for root, user 26 and group 27 alone, more than the default of 5 %: \
                        a server of another user can never use them. It was set on purpose: ask why first.";
        assert_eq!((finding.standing, finding.reason.as_str()), (Standing::Improve, expected));
    }

    fn width_host(options: &str, stripe: Option<Stripe>) -> Inventory {
        let mut mount = mount("ext4", Some("dm-0"), options);
        mount.block_bytes = Some(4096);
        mounted(mount, vec![BlockDevice { stripe, ..device("dm-0", DeviceKind::Lvm, &[]) }])
    }

    /// 8 stripes of 8 KiB, as the first article lays them out: stride 2, stripe_width 16.
    fn eight() -> Option<Stripe> {
        Some(Stripe { level: "striped".to_owned(), members: 8, chunk_bytes: 8192 })
    }

    #[test]
    fn the_width_is_compared_with_the_stripes_below() {
        assert_eq!(standings("stripe_width", &width_host("stripe=16", eight())), [Standing::Fine]);
        assert_eq!(standings("stripe_width", &width_host("stripe=32", eight())), [Standing::Improve]);
        let said = findings("stripe_width", &width_host("stripe=0", eight())).remove(0);
        assert_eq!(said.change.expect("it can be mounted otherwise").value, "stripe=16");
    }

    #[test]
    fn nothing_is_claimed_of_what_is_unknown() {
        for (options, stripe) in [("noatime", eight()), ("stripe=16", None), ("stripe=many", eight())] {
            assert_eq!(standings("stripe_width", &width_host(options, stripe)), [], "{options}");
        }
    }

    fn barrier_host(filesystem: &str, options: &str, caches: &[Option<&str>]) -> Inventory {
        let names: Vec<String> = (0..caches.len()).map(|number| format!("sd{number}")).collect();
        let parents: Vec<&str> = names.iter().map(String::as_str).collect();
        let disks = names.iter().zip(caches).map(|(name, cache)| BlockDevice {
            write_cache: cache.map(str::to_owned),
            ..device(name, DeviceKind::Disk, &[])
        });
        let devices = std::iter::once(device("md0", DeviceKind::Md, &parents)).chain(disks).collect();
        mounted(mount(filesystem, Some("md0"), options), devices)
    }

    #[test]
    fn a_file_system_on_an_unknown_device_is_in_danger() {
        let mut host = barrier_host("ext4", "rw,barrier=0", &[Some("write through")]);
        host.mounts[0].device = None;
        assert_eq!(standings("barrier", &host), [Standing::Dangerous]);
        let change = findings("barrier", &host).remove(0).change.expect("it must be mounted otherwise");
        assert_eq!(
            (change.knob, change.value.as_str()),
            (Knob::MountOption("/data".to_owned()), "barrier=1")
        );
    }
}
