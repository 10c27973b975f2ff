//! What `mkfs` makes of the derived options, read back from image files: no device, no root.

use std::{collections::BTreeMap, path::Path};

use pgdyno_layout::{
    Derived, Filesystem, FilesystemKind, Layout, Manager, Raid, Request, VolumeLayout, derive,
};

use crate::{
    request::{GIB, KIB, MIB, disks, request},
    tools::{image, installed, must, run},
};

/// Makes the file system of a volume in an image file of its size.
fn make(volume: &VolumeLayout, path: &Path) {
    image(path, volume.size_bytes.value);
    let (tool, arguments) = match &volume.filesystem {
        Filesystem::Ext4(ext4) => ("mkfs.ext4", ext4.arguments()),
        Filesystem::Xfs(xfs) => ("mkfs.xfs", xfs.arguments()),
        Filesystem::Zfs(_) => panic!("ZFS needs a module"),
    };
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    words.extend(["-L", &volume.label, path.to_str().expect("its name is plain")]);
    must(tool, &words);
}

fn layouts(filesystem: FilesystemKind) -> Vec<Layout> {
    let lvm = |count, gib, raid| request(disks(count, gib * GIB), raid, Manager::Lvm, filesystem);
    let narrow = |mut request: Request| {
        request.overrides.stripe_bytes = Some(8 * KIB);
        request
    };
    let requests = [
        request(disks(1, 3 * GIB), Raid::None, Manager::None, filesystem),
        lvm(4, 2, Raid::Striped),
        lvm(6, 3, Raid::MirroredStripes),
        lvm(5, 4, Raid::Parity),
        narrow(lvm(8, 2, Raid::Striped)),
        narrow(lvm(3, 5, Raid::Striped)),
    ];
    requests.iter().map(|request| derive(request).expect("it is valid")).collect()
}

/// The fields of `dumpe2fs -h`.
fn superblock(path: &Path) -> BTreeMap<String, String> {
    let text = must("dumpe2fs", &["-h", path.to_str().expect("its name is plain")]);
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

#[test]
fn ext4_has_the_numbers_that_were_derived() {
    if !installed(&["mkfs.ext4", "dumpe2fs"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    for layout in layouts(FilesystemKind::Ext4) {
        let volume = &layout.volumes[0];
        let Filesystem::Ext4(ext4) = &volume.filesystem else { panic!("it is ext4") };
        let path = directory.path().join("ext4");
        make(volume, &path);
        let fields = superblock(&path);
        let number = |name: &str| fields.get(name).map(|value| value.parse::<u64>().expect("it is a number"));
        let optional = |number: &Option<Derived<u64>>| number.as_ref().map(|number| number.value);
        assert_eq!(number("Block size"), Some(ext4.block_bytes.value));
        assert_eq!(number("RAID stride"), optional(&ext4.stride_blocks));
        assert_eq!(number("RAID stripe width"), optional(&ext4.stripe_width_blocks));
        let blocks = volume.size_bytes.value / ext4.block_bytes.value;
        assert_eq!(number("Block count"), Some(blocks));
        assert_eq!(
            number("Reserved block count"),
            Some(blocks * u64::from(ext4.reserved_percent.value) / 100)
        );
        // Each of the groups rounds its inodes up to a whole block of 16, and to a multiple of 8.
        let (inodes, groups) =
            (volume.size_bytes.value / ext4.bytes_per_inode.value, blocks.div_ceil(32_768));
        let found = number("Inode count").expect("there are some");
        assert!((inodes..=inodes + groups * 16).contains(&found), "{found} inodes, {inodes} derived");
        assert_eq!(fields["Filesystem volume name"], volume.label);
        let features = &fields["Filesystem features"];
        assert!(features.contains("extent") && features.contains("metadata_csum"), "{features}");
        assert!(!features.contains("uninit_bg"), "{features}");
        must("e2fsck", &["-fn", path.to_str().expect("its name is plain")]);
    }
}

#[test]
fn obsolete_features_of_the_articles_change_nothing() {
    if !installed(&["mkfs.ext4", "dumpe2fs"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let features = |name: &str, more: &[&str]| {
        let path = directory.path().join(name);
        image(&path, 256 * MIB);
        let mut words = more.to_vec();
        words.push(path.to_str().expect("its name is plain"));
        must("mkfs.ext4", &words);
        superblock(&path)["Filesystem features"].clone()
    };
    assert_eq!(features("old", &["-O", "extent,uninit_bg"]), features("new", &[]));
}

/// The fields of the first superblock, by their names in `xfs_db`.
fn xfs_fields(path: &Path) -> BTreeMap<String, String> {
    let text =
        must("xfs_db", &["-r", "-c", "sb 0", "-c", "print", path.to_str().expect("its name is plain")]);
    let fields = text.lines().filter_map(|line| line.split_once(" = "));
    fields.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

#[test]
fn xfs_has_the_numbers_that_were_derived() {
    if !installed(&["mkfs.xfs", "xfs_db"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    for layout in layouts(FilesystemKind::Xfs) {
        let volume = &layout.volumes[0];
        let Filesystem::Xfs(xfs) = &volume.filesystem else { panic!("it is XFS") };
        let path = directory.path().join("xfs");
        make(volume, &path);
        let fields = xfs_fields(&path);
        let number = |name: &str| fields[name].parse::<u64>().expect("it is a number");
        let block = xfs.block_bytes.value;
        let (unit, width) =
            xfs.stripe.as_ref().map_or((0, 0), |it| (it.sunit * 512 / block, it.swidth * 512 / block));
        assert_eq!((number("blocksize"), number("sectsize")), (block, xfs.sector_bytes.value));
        assert_eq!((number("unit"), number("width")), (unit, width));
        assert_eq!(
            (number("agblocks"), number("agcount")),
            (xfs.groups.blocks.value, xfs.groups.count.value)
        );
        assert_eq!(number("dblocks"), volume.size_bytes.value / block - xfs.groups.unused_blocks);
        assert_eq!(number("logblocks") * block, xfs.log_bytes.value);
        let log_unit = xfs.log_stripe_bytes.as_ref().map_or(0, |unit| unit.value);
        // Without a stripe unit, 1 byte stands for none.
        assert_eq!(number("logsunit"), log_unit.max(1));
        assert_eq!(fields["fname"].trim_end_matches("\\000"), volume.label);
        must("xfs_repair", &["-n", "-f", path.to_str().expect("its name is plain")]);
    }
}

#[test]
fn mkfs_xfs_warns_of_groups_of_whole_stripes_and_not_of_ours() {
    if !installed(&["mkfs.xfs"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let path = directory.path().join("xfs");
    // 4 groups of 1.5 GiB on 3 disks of 8 KiB: 393216 blocks are 65536 × 6.
    image(&path, 6 * GIB);
    let warns = |size: u64| {
        let data = format!("su=8192,sw=3,agsize={}", size * 4096);
        let words = ["-N", "-d", &data, path.to_str().expect("its name is plain")];
        let said = run("mkfs.xfs", &words).expect("it is installed");
        // Newer versions warn on the standard output.
        (said.out + &said.err).contains("multiple of stripe width")
    };
    let groups =
        pgdyno_layout::allocation_groups(6 * GIB / 4096, 4, 2, 6, 4096).expect("they are large enough");
    assert_eq!(groups.blocks.value, 393_214);
    assert_eq!((warns(393_216), warns(groups.blocks.value)), (true, false));
}
