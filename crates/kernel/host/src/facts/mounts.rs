//! Mounted file systems, and the directories of a server on them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use pgdyno_core::host::{Mount, PgDirectory, PgPurpose};
use rustix::fs::StatVfs;

use super::{
    dir::names,
    file::text,
    mountinfo::{self, device_name, mount_of},
    processes::Processes,
};

/// Most mounts that are kept, those of the server first.
const MOST_MOUNTS: usize = 256;
/// Most tablespaces that are read.
const MOST_TABLESPACES: usize = 256;

/// File systems that know their devices without the kernel's table of mounts, which shows none.
const WITH_OWN_DEVICES: [&str; 3] = ["zfs", "btrfs", "bcachefs"];
/// Images that are mounted read-only: packages and installation media.
const IMAGES: [&str; 4] = ["squashfs", "iso9660", "udf", "erofs"];

/// The directories of a server: its data directory, and as far as they can be seen those of WAL and of tablespaces.
pub(super) fn directories(root: &Path, data: Option<&Path>) -> Vec<PgDirectory> {
    let Some(data) = data.and_then(|data| std::path::absolute(data).ok()) else { return Vec::new() };
    // `pg_xlog` before version 10.
    let wal = ["pg_wal", "pg_xlog"].iter().find_map(|name| fs::canonicalize(data.join(name)).ok());
    let links = names(&data.join("pg_tblspc")).into_iter().take(MOST_TABLESPACES);
    let tablespaces = links.filter_map(|name| fs::canonicalize(data.join("pg_tblspc").join(name)).ok());
    let of = |purpose, path: PathBuf| PgDirectory {
        purpose,
        mount_point: mount_of(root, &path).map(|mount| mount.mount_point.display().to_string()),
        path: path.display().to_string(),
    };
    let others = wal.into_iter().map(|path| of(PgPurpose::Wal, path));
    let others = others.chain(tablespaces.map(|path| of(PgPurpose::Tablespace, path))).collect::<Vec<_>>();
    [of(PgPurpose::Data, data)].into_iter().chain(others).collect()
}

/// Reads the mounts on block devices, and those that hold a directory.
pub(super) fn read(root: &Path, directories: &[PgDirectory], processes: &Processes) -> Vec<Mount> {
    let all = mountinfo::read(root);
    let is_of_server = |mount: &&mountinfo::Mount| {
        let point = mount.mount_point.to_str();
        directories.iter().any(|directory| directory.mount_point.as_deref() == point)
    };
    let (of_server, others): (Vec<_>, Vec<_>) = visible(&all).into_iter().partition(is_of_server);
    let others = others.into_iter().filter(|mount| is_of_interest(root, mount));
    let mut mounts: Vec<Mount> =
        of_server.into_iter().chain(others).take(MOST_MOUNTS).map(|mount| read_one(root, mount)).collect();
    mounts.sort_by(|a, b| a.point.cmp(&b.point));
    mark_initialisation(&mut mounts, processes.initialises_inodes);
    mounts
}

/// Of several mounts at a point, the last one hides the others.
fn visible(all: &[mountinfo::Mount]) -> Vec<&mountinfo::Mount> {
    let mut seen = BTreeSet::new();
    all.iter().rev().filter(|mount| seen.insert(&mount.mount_point)).collect()
}

/// Whether it is on block devices; single files, which container engines mount over others, are not.
fn is_of_interest(root: &Path, mount: &mountinfo::Mount) -> bool {
    let kind = mount.filesystem.as_str();
    let is_on_devices = WITH_OWN_DEVICES.contains(&kind) || device_name(root, &mount.device_number).is_some();
    is_on_devices && !IMAGES.contains(&kind) && !below(root, &mount.mount_point).is_file()
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

pub(super) fn read_one(root: &Path, mount: &mountinfo::Mount) -> Mount {
    let device = device_name(root, &mount.device_number).or_else(|| device_of_source(root, &mount.source));
    let of_ext4 = device.as_ref().filter(|_| mount.filesystem == "ext4").map(|name| name.replace('/', "!"));
    let extra = of_ext4.as_ref().and_then(|name| text(root, &format!("proc/fs/ext4/{name}/options")));
    let has_journal = of_ext4.as_ref().and_then(|name| has_journal(root, name, extra.as_deref()));
    let extra = extra.unwrap_or_default();
    let space = &rustix::fs::statvfs(below(root, &mount.mount_point)).ok().filter(|space| space.f_blocks > 0);
    // ZFS says another size than that of its records.
    let has_blocks = device.is_some() && mount.filesystem != "zfs";
    Mount {
        point: mount.mount_point.display().to_string(),
        filesystem: mount.filesystem.clone(),
        source: mount.source.clone(),
        options: options([&mount.options, &mount.super_options], &extra),
        block_bytes: space.as_ref().filter(|_| has_blocks).map(|space| space.f_frsize),
        size_bytes: space.as_ref().map(|space| space.f_blocks.saturating_mul(space.f_frsize)),
        available_bytes: space.as_ref().map(|space| space.f_bavail.saturating_mul(space.f_frsize)),
        reserved_bytes: space.as_ref().filter(|_| mount.filesystem.starts_with("ext")).map(reserved),
        has_journal,
        device,
        ..Mount::default()
    }
}

/// What is free and not available: only root may use it.
fn reserved(space: &StatVfs) -> u64 {
    space.f_bfree.saturating_sub(space.f_bavail).saturating_mul(space.f_frsize)
}

/// Whether an ext4 file system has a journal. A journal within it has a directory of its device and inode, such as
/// `vda1-8`; and where all options are shown, there is a mode of the journal (`data=`) if there is a journal, also on
/// another device (`_ext4_show_options` of fs/ext4/super.c).
fn has_journal(root: &Path, device: &str, options: Option<&str>) -> Option<bool> {
    let is_its_own = |name: &String| {
        let inode = name.strip_prefix(device).and_then(|rest| rest.strip_prefix('-'));
        inode.is_some_and(|inode| inode.parse::<u64>().is_ok())
    };
    if names(&root.join("proc/fs/jbd2")).iter().any(is_its_own) {
        return Some(true);
    }
    options.map(|options| options.lines().any(|line| line.trim().starts_with("data=")))
}

/// The device of a file system whose device number is its own, such as btrfs: the one that was given for mounting.
fn device_of_source(root: &Path, source: &str) -> Option<String> {
    source.starts_with("/dev/").then_some(())?;
    let path = below(root, Path::new(source));
    let name = fs::canonicalize(&path).unwrap_or(path).file_name()?.to_str()?.to_owned();
    root.join("sys/class/block").join(&name).exists().then_some(name)
}

/// Options of the mount, then those of the file system, each once. `ext4` shows all that are in effect, also the
/// defaults, in a file of its own, a line each.
fn options([of_mount, of_filesystem]: [&str; 2], lines: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    let all = of_mount.split(',').chain(of_filesystem.split(',')).chain(lines.lines().map(str::trim));
    for option in all.filter(|option| !option.is_empty()) {
        let has = |name: &str| options.iter().any(|own| own == name);
        // A mount may be read-only where its file system is not.
        let is_known = matches!(option, "rw" | "ro") && (has("rw") || has("ro"));
        if !is_known && !has(option) {
            options.push(option.to_owned());
        }
    }
    options
}

/// One thread of the kernel initialises the inode tables of all ext4 file systems, so that it is known which one only
/// where a single one is writable and not mounted with `noinit_itable`. On newer kernels the thread also reads block
/// bitmaps ahead, for a short time after a mount.
fn mark_initialisation(mounts: &mut [Mount], thread_runs: Option<bool>) {
    let is_candidate = |mount: &&mut Mount| {
        let has = |name: &str| mount.options.iter().any(|option| option == name);
        mount.filesystem == "ext4" && has("rw") && !has("noinit_itable")
    };
    let mut candidates: Vec<&mut Mount> = mounts.iter_mut().filter(is_candidate).collect();
    let devices: BTreeSet<_> = candidates.iter().map(|mount| mount.device.clone()).collect();
    let initialises = thread_runs.filter(|runs| !runs || devices.len() == 1);
    candidates.iter_mut().for_each(|mount| mount.initialises_inodes = initialises);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 8:17 / /data ro,noatime shared:2 - xfs /dev/sdb1 rw,attr2
29 27 0:40 / /tank rw - zfs tank rw,xattr
30 27 0:41 / /tmp rw - tmpfs tmpfs rw
31 27 0:42 / /pool rw - btrfs /dev/sdc rw
32 27 7:1 / /snap/x ro - squashfs /dev/loop1 ro
33 27 254:0 /h /hosts rw - ext4 /dev/vda rw
nonsense
";

    fn host() -> tempfile::TempDir {
        let root = tree(&[
            ("proc/self/mountinfo", MOUNTS),
            ("proc/fs/ext4/vda/options", "rw\nbarrier\ndelalloc\ndata=ordered\n"),
            ("sys/devices/vda/size", "1"),
            ("sys/devices/sdb1/size", "1"),
            ("sys/devices/loop1/size", "1"),
            ("sys/class/block/sdc/size", "1"),
            ("hosts", "127.0.0.1\n"),
        ]);
        fs::create_dir_all(root.path().join("sys/dev/block")).expect("it can be made");
        for (number, name) in [("254:0", "vda"), ("8:17", "sdb1"), ("7:1", "loop1")] {
            let link = root.path().join("sys/dev/block").join(number);
            symlink(root.path().join("sys/devices").join(name), link).expect("a link can be made");
        }
        root
    }

    #[test]
    fn mounts_on_devices_are_read() {
        let root = host();
        let mounts = read(root.path(), &[], &Processes::default());
        let found: Vec<_> =
            mounts.iter().map(|mount| (mount.point.as_str(), mount.device.as_deref())).collect();
        assert_eq!(
            found,
            [("/", Some("vda")), ("/data", Some("sdb1")), ("/pool", Some("sdc")), ("/tank", None)]
        );
        assert_eq!(mounts[0].options, ["rw", "relatime", "discard", "barrier", "delalloc", "data=ordered"]);
        assert_eq!(mounts[1].options, ["ro", "noatime", "attr2"]);
        assert!(mounts[0].size_bytes.is_some() && mounts[1].size_bytes.is_none(), "one is there");
        assert_eq!((mounts[0].has_journal, mounts[1].has_journal), (Some(true), None));
        assert!(mounts[0].reserved_bytes.is_some() && mounts[1].reserved_bytes.is_none(), "of ext4 alone");
    }

    #[test]
    fn an_ext4_without_a_journal_is_known() {
        for (files, device, options, expected) in [
            (&[][..], "vda", Some("rw\ndata=ordered\n"), Some(true)),
            (&[], "vda", Some("rw\nbarrier\n"), Some(false)),
            (&[], "vda", None, None),
            (&[("proc/fs/jbd2/vda-8/info", "")], "vda", Some("rw\n"), Some(true)),
            (&[("proc/fs/jbd2/vda1-8/info", "")], "vda", Some("rw\n"), Some(false)),
            (&[("proc/fs/jbd2/dm-1-8/info", "")], "dm-1", None, Some(true)),
            (&[("proc/fs/jbd2/dm-1-8/info", "")], "dm", None, None),
        ] {
            let root = tree(files);
            assert_eq!(has_journal(root.path(), device, options), expected, "{device} {files:?} {options:?}");
        }
    }

    #[test]
    fn the_file_system_of_a_server_counts_whatever_it_is() {
        let root = host();
        let directory = PgDirectory { mount_point: Some("/tmp".into()), ..PgDirectory::default() };
        let mounts = read(root.path(), &[directory], &Processes::default());
        assert!(mounts.iter().any(|mount| mount.point == "/tmp" && mount.filesystem == "tmpfs"));
    }

    #[test]
    fn directories_follow_links() {
        let root = tree(&[
            ("proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n"),
            ("data/PG_VERSION", "18\n"),
            ("wal/x", ""),
            ("space/x", ""),
        ]);
        let at = |name: &str| fs::canonicalize(root.path()).expect("it is there").join(name);
        fs::create_dir(at("data/pg_tblspc")).expect("it can be made");
        symlink(at("wal"), at("data/pg_wal")).expect("a link can be made");
        symlink(at("space"), at("data/pg_tblspc/16400")).expect("a link can be made");
        let found = directories(root.path(), Some(&at("data")));
        let expected = [(PgPurpose::Data, "data"), (PgPurpose::Wal, "wal"), (PgPurpose::Tablespace, "space")];
        assert_eq!(found.len(), expected.len());
        for (directory, (purpose, name)) in found.iter().zip(expected) {
            assert_eq!((directory.purpose, &directory.path), (purpose, &at(name).display().to_string()));
            assert_eq!(directory.mount_point.as_deref(), Some("/"));
        }
        assert!(directories(root.path(), None).is_empty());
    }

    #[test]
    fn which_inode_tables_are_initialised_is_known_of_one_candidate() {
        let mount = |device: &str, options: &[&str]| Mount {
            filesystem: "ext4".into(),
            device: Some(device.into()),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            ..Mount::default()
        };
        let (a, b) = (mount("a", &["rw"]), mount("b", &["rw"]));
        let (done, read_only) = (mount("c", &["rw", "noinit_itable"]), mount("d", &["ro"]));
        for (mounts, runs, expected) in [
            (vec![a.clone(), b.clone()], Some(true), vec![None, None]),
            (vec![a.clone(), b], Some(false), vec![Some(false), Some(false)]),
            (vec![a.clone(), a.clone()], Some(true), vec![Some(true), Some(true)]),
            (vec![a.clone(), done, read_only], Some(true), vec![Some(true), None, None]),
            (vec![a], None, vec![None]),
        ] {
            let mut mounts = mounts;
            mark_initialisation(&mut mounts, runs);
            let found: Vec<_> = mounts.iter().map(|mount| mount.initialises_inodes).collect();
            assert_eq!(found, expected, "{mounts:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(a in "(?s).{0,100}", b in "[rwo,=a-c]{0,30}") {
            let all = mountinfo::parse(&format!("{a}\n27 1 0:1 / {b} {a} - {b} {a}"));
            let _ = visible(&all);
            let found = options([&b, &b], &a);
            let distinct: BTreeSet<_> = found.iter().collect();
            prop_assert_eq!(distinct.len(), found.len());
        }
    }
}
