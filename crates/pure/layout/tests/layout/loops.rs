//! The scripts themselves, on loop devices that the test made. The test detaches them.

use std::{
    fs::{self, File},
    io::Read,
    path::PathBuf,
};

use pgdyno_layout::{Disk, FilesystemKind, Layout, Manager, Raid, derive, script, takedown_script};
use tempfile::TempDir;

use crate::{
    request::{GIB, MIB, request, three_volumes},
    tools::{Said, image, installed, must, run, shell},
};

const GO: &str = "--yes-erase-these-disks";

/// Loop devices on files without content.
pub struct Loops {
    directory: TempDir,
    devices: Vec<String>,
}

impl Loops {
    /// Attaches some; `None` where this user cannot, which is reported.
    pub fn attach(sizes: &[u64]) -> Option<Self> {
        if !installed(&["losetup", "sfdisk", "wipefs", "blkid"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("there is a directory for temporary files");
        let mut loops = Self { directory, devices: Vec::new() };
        for (number, &bytes) in sizes.iter().enumerate() {
            let path = loops.file(number);
            image(&path, bytes);
            let said = run("losetup", &["--find", "--show", "--partscan", path.to_str().expect("plain")])?;
            if !said.ok {
                testkit::left_out(&format!("no loop device: {}", said.err.trim()));
                return None;
            }
            loops.devices.push(said.out.trim().to_owned());
        }
        Some(loops)
    }

    fn file(&self, number: usize) -> PathBuf {
        self.directory.path().join(format!("disk{number}"))
    }

    pub fn names(&self) -> Vec<&str> {
        self.devices.iter().map(String::as_str).collect()
    }

    /// A layout without a volume manager: three volumes on one disk.
    fn layout(&self, filesystem: FilesystemKind) -> Layout {
        let name = &self.devices[0];
        let size = fs::metadata(self.file(0)).expect("it is ours").len();
        let disk = Disk {
            path: name.clone(),
            size_bytes: size,
            logical_block_bytes: 512,
            physical_block_bytes: 512,
            ..Disk::default()
        };
        let mut request = request(vec![disk], Raid::None, Manager::None, filesystem);
        request.volumes = three_volumes(GIB);
        for volume in &mut request.volumes {
            let point = self.directory.path().join("srv").join(volume.kind.name());
            // Names of temporary directories begin with a dot.
            volume.mount = Some(point.to_str().expect("plain").replace("/.", "/"));
        }
        let number: String = name.chars().filter(char::is_ascii_digit).collect();
        request.name = format!("lt{number}");
        derive(&request).expect("it is valid")
    }

    /// The first MiB of the disk, where partition tables and most signatures are.
    fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        let file = File::open(self.file(0)).expect("it is ours");
        file.take(MIB).read_to_end(&mut head).expect("it is ours");
        head
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for device in &self.devices {
            run("losetup", &["--detach", device]);
        }
    }
}

fn refused(said: &Said, why: &str) {
    assert!(!said.ok, "{}", said.out);
    assert!(said.err.contains(why), "{}{}", said.out, said.err);
    assert!(said.err.contains("Nothing was changed.") && !said.out.contains('+'), "{}{}", said.out, said.err);
}

#[test]
fn a_disk_that_is_not_as_planned_is_refused() {
    let Some(loops) = Loops::attach(&[8 * GIB]) else { return };
    let layout = loops.layout(FilesystemKind::Ext4);
    let with = |change: fn(&mut Disk)| {
        let mut changed = layout.clone();
        change(&mut changed.request.disks[0]);
        shell(&[], &script(&changed), &[GO])
    };
    refused(&with(|disk| disk.size_bytes += 512), "were planned");
    refused(&with(|disk| disk.logical_block_bytes = 4096), "logical blocks of 512");
    refused(&with(|disk| disk.serial = Some("S3Z8NB0K".into())), "another serial number");
    refused(&with(|disk| disk.path = "/dev/no_such_disk".into()), "not a block device");
    refused(&with(|disk| disk.path = "/dev/null".into()), "not a block device");
    assert!(loops.head().iter().all(|byte| *byte == 0), "nothing was written");
}

#[test]
fn a_disk_with_a_signature_or_a_mount_is_refused() {
    let Some(loops) = Loops::attach(&[8 * GIB]) else { return };
    if !installed(&["mkfs.ext4"]) {
        return;
    }
    let text = script(&loops.layout(FilesystemKind::Ext4));
    let device = loops.names()[0];
    must("mkfs.ext4", &["-q", device]);
    refused(&shell(&[], &text, &[GO]), "has a signature");
    let point = loops.directory.path().join("mounted");
    fs::create_dir(&point).expect("the directory is ours");
    let point = point.to_str().expect("plain");
    if run("mount", &[device, point]).is_some_and(|said| said.ok) {
        let said = shell(&[], &text, &[GO]);
        must("umount", &[point]);
        refused(&said, "is mounted");
    } else {
        testkit::left_out("a loop device cannot be mounted here");
    }
    must("wipefs", &["--all", device]);
    // What an old partition held is found at the place where a new one will begin.
    must("mkfs.ext4", &["-q", "-E", "offset=1048576", device, "1g"]);
    refused(&shell(&[], &text, &[GO]), "has a signature");
}

#[test]
fn what_was_derived_is_created_and_taken_down() {
    for filesystem in [FilesystemKind::Ext4, FilesystemKind::Xfs] {
        let Some(loops) = Loops::attach(&[8 * GIB]) else { return };
        if !installed(&["mkfs.ext4", "mkfs.xfs", "dumpe2fs", "xfs_db"]) {
            return;
        }
        let layout = loops.layout(filesystem);
        let said = shell(&[], &script(&layout), &[GO]);
        assert!(said.ok, "{}{}", said.out, said.err);
        assert!(said.out.contains("+ mkfs."), "each step is printed: {}", said.out);
        let device = loops.names()[0];
        let table = must("sfdisk", &["--dump", device]);
        for (volume, partition) in layout.volumes.iter().zip(&layout.partitions) {
            let node = format!("{device}p{}", partition.number);
            let line = table.lines().find(|line| line.starts_with(&node)).expect("the partition is there");
            let numbers: Vec<u64> =
                line.split([',', '=']).filter_map(|word| word.trim().parse().ok()).take(2).collect();
            assert_eq!(numbers, [partition.start_sector.value, partition.sectors.value], "{line}");
            let label = must("blkid", &["-p", "-o", "value", "-s", "LABEL", &node]);
            assert_eq!(label.trim(), volume.label);
        }
        refused(&shell(&[], &script(&layout), &[GO]), "partitions");
        let point = loops.directory.path().join("mounted");
        fs::create_dir(&point).expect("the directory is ours");
        let node = format!("{device}p2");
        run("mount", &[&node, point.to_str().expect("plain")]);
        let said = shell(&[], &takedown_script(&layout), &[GO]);
        let mounts = fs::read_to_string("/proc/self/mounts").expect("there is /proc");
        assert!(!mounts.contains(&format!("{node} ")), "it is unmounted first");
        assert!(said.ok, "{}{}", said.out, said.err);
        assert_eq!(must("wipefs", &["--no-act", device]), "", "the disk is blank again");
        run("partx", &["--delete", device]);
    }
}
