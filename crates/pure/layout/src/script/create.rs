//! The script that makes a layout.

use std::iter;

use super::{
    fstab,
    shell::{Script, Word, disk, part, text},
};
use crate::{
    layout::{Filesystem, Group, Layout, Md, Partition, Stack, VolumeLayout},
    request::Raid,
    units::size_text,
    zfs::Pool,
};

/// Types of partitions in a GPT.
const TYPE_FILESYSTEM: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
const TYPE_LVM: &str = "E6D6D379-F507-44C2-A23C-238F2A3DF928";
const TYPE_RAID: &str = "A19D880F-05FC-4D3B-A006-743F0F84911E";
const TYPE_ZFS: &str = "6A898CC3-1DD2-11B2-99A6-080020736631";

/// The script that makes a layout: a POSIX shell script, to be read and then run as root.
///
/// It changes nothing without `--yes-erase-these-disks`, and refuses a disk that is mounted, has holders,
/// partitions or a signature, or another size, logical block or serial number than planned, before it changes any
/// of them.
pub fn script(layout: &Layout) -> String {
    let mut script = Script::new(&purpose(layout));
    script.need(&["blockdev", "blkid", "lsblk", "partx", "readlink", "sfdisk", "wipefs"]);
    script.need(tools(layout));
    checks(&mut script, layout);
    script.heading("From here on, disks are changed.");
    tables(&mut script, layout);
    match &layout.stack {
        Stack::Partitions => partitions(&mut script, layout),
        Stack::Lvm(group) => lvm(&mut script, layout, group),
        Stack::Md(md) => array(&mut script, layout, md),
        Stack::Zfs(pool) => zfs(&mut script, layout, pool),
    }
    script.heading("What is left to do by hand.");
    script.raw("cat <<'END'\n\nDone. Next:");
    script.raw(fstab::next_steps(layout).trim_end());
    script.raw("END");
    script.finish()
}

fn purpose(layout: &Layout) -> Vec<String> {
    let mut lines = vec![
        "Storage for PostgreSQL, planned by `pgdyno host layout`, which never runs this: read it, then run it as \
         root with --yes-erase-these-disks."
            .to_owned(),
        String::new(),
        "It ERASES:".to_owned(),
    ];
    lines.extend(layout.request.disks.iter().map(|disk| {
        let serial = disk.serial.as_ref().map(|serial| format!(", serial {serial}")).unwrap_or_default();
        format!("  {}, {} ({} bytes){serial}", disk.path, size_text(disk.size_bytes), disk.size_bytes)
    }));
    lines.extend([String::new(), "Numbers, and what each comes from:".to_owned()]);
    let numbers = layout.numbers().into_iter();
    lines.extend(numbers.map(|number| format!("- {}: {}: {}", number.what, number.value, number.because)));
    lines.extend([String::new(), "Notes:".to_owned()]);
    lines.extend(layout.notes.iter().map(|note| format!("- {note}")));
    lines
}

fn tools(layout: &Layout) -> &'static [&'static str] {
    let filesystem = &layout.volumes[0].filesystem;
    match (&layout.stack, filesystem) {
        (Stack::Partitions, Filesystem::Xfs(_)) => &["mkfs.xfs"],
        (Stack::Partitions, _) => &["mkfs.ext4"],
        (Stack::Lvm(_), Filesystem::Xfs(_)) => &["pvcreate", "vgcreate", "lvcreate", "vgs", "mkfs.xfs"],
        (Stack::Lvm(_), _) => &["pvcreate", "vgcreate", "lvcreate", "vgs", "mkfs.ext4"],
        (Stack::Md(_), Filesystem::Xfs(_)) => &["mdadm", "mkfs.xfs"],
        (Stack::Md(_), _) => &["mdadm", "mkfs.ext4"],
        (Stack::Zfs(_), _) => &["zpool", "zfs"],
    }
}

fn checks(script: &mut Script, layout: &Layout) {
    script.heading("Are these the disks that were planned with, and does nobody use them?");
    script.identify(layout);
    for index in 0..layout.request.disks.len() {
        script.call("idle", [disk(index)]);
        let starts = layout.partitions.iter().filter(|partition| partition.disk == index);
        let starts = starts.map(|partition| text(partition.start_bytes().to_string()));
        script.call("blank", iter::once(disk(index)).chain(starts));
    }
    let name = &layout.request.name;
    match &layout.stack {
        Stack::Partitions => {}
        Stack::Lvm(_) => exists(script, &format!("vgs {name} >/dev/null 2>&1"), "volume group", name),
        Stack::Md(_) => exists(script, &format!("[ -e /dev/md/{name} ]"), "array", name),
        Stack::Zfs(_) => exists(script, &format!("zpool list {name} >/dev/null 2>&1"), "pool", name),
    }
    for volume in &layout.volumes {
        if !matches!(volume.filesystem, Filesystem::Zfs(_)) {
            script.call("free_label", [text(&volume.label)]);
        }
        script.call("free_mount_point", [text(&volume.mount)]);
    }
}

/// Refuses if there is such a thing already. The name was checked: it consists of letters, digits and `_`.
fn exists(script: &mut Script, test: &str, what: &str, name: &str) {
    script.raw(&format!("if {test}; then"));
    script.raw(&format!("    refuse 'there is a {what} {name} already'"));
    script.raw("fi");
}

fn tables(script: &mut Script, layout: &Layout) {
    let kind = match layout.stack {
        Stack::Partitions => TYPE_FILESYSTEM,
        Stack::Lvm(_) => TYPE_LVM,
        Stack::Md(_) => TYPE_RAID,
        Stack::Zfs(_) => TYPE_ZFS,
    };
    for index in 0..layout.request.disks.len() {
        let own: Vec<&Partition> =
            layout.partitions.iter().filter(|partition| partition.disk == index).collect();
        script.call("write_table", [disk(index), text(table(&own, kind))]);
    }
    script.name_partitions(&layout.partitions);
    for partition in &layout.partitions {
        script.call("await", [part(partition), disk(partition.disk)]);
    }
}

/// A table as `sfdisk` reads it; numbers are logical blocks.
fn table(partitions: &[&Partition], kind: &str) -> String {
    let first = partitions.first().map_or(2048, |partition| partition.start_sector.value);
    let mut lines = vec!["label: gpt".to_owned(), format!("first-lba: {first}")];
    lines.extend(partitions.iter().map(|partition| {
        format!("start={}, size={}, type={kind}", partition.start_sector.value, partition.sectors.value)
    }));
    lines.join("\n")
}

fn partitions(script: &mut Script, layout: &Layout) {
    for (volume, partition) in layout.volumes.iter().zip(&layout.partitions) {
        make(script, volume, part(partition));
    }
}

fn lvm(script: &mut Script, layout: &Layout, group: &Group) {
    let name = &layout.request.name;
    let parts: Vec<Word> = layout.partitions.iter().map(part).collect();
    let kib = |bytes: u64| format!("{}k", bytes / 1024);
    let alignment = [text("--dataalignment"), text(kib(group.data_alignment_bytes.value))];
    script.step("pvcreate", alignment.into_iter().chain(parts.iter().cloned()));
    let extent = [text("--physicalextentsize"), text(kib(group.extent_bytes.value)), text(name)];
    script.step("vgcreate", extent.into_iter().chain(parts));
    for volume in &layout.volumes {
        let mut words =
            vec![text("--yes"), text("--wipesignatures"), text("y"), text("--type"), text(group.segment)];
        if let Some(stripes) = layout.stripes.as_ref().filter(|_| layout.request.raid != Raid::None) {
            words.extend([text("--stripes"), text(stripes.data_disks.value.to_string())]);
            words.extend([text("--stripesize"), text(kib(stripes.stripe_bytes.value))]);
        }
        if layout.request.raid == Raid::MirroredStripes {
            words.extend([text("--mirrors"), text("1")]);
        }
        words.extend([text("--extents"), text(volume.extents.unwrap_or_default().to_string())]);
        words.extend([text("--name"), text(&volume.name), text(name)]);
        script.step("lvcreate", words);
    }
    for volume in &layout.volumes {
        make(script, volume, text(format!("/dev/{name}/{}", volume.name)));
    }
}

fn array(script: &mut Script, layout: &Layout, md: &Md) {
    let path = format!("/dev/md/{}", layout.request.name);
    let chunk = layout.stripes.as_ref().map_or(0, |stripes| stripes.stripe_bytes.value);
    let mut options = vec![
        format!("--level={}", md.level),
        format!("--raid-devices={}", layout.partitions.len()),
        format!("--chunk={}K", chunk / 1024),
        format!("--data-offset={}K", md.data_offset_bytes.value / 1024),
        "--metadata=1.2".to_owned(),
    ];
    if md.level == "10" {
        options.push("--layout=n2".to_owned());
    }
    if md.level != "0" {
        options.push("--bitmap=internal".to_owned());
    }
    // The checks found no signature: mdadm need not ask.
    options.push("--run".to_owned());
    let words = iter::once(text("--create")).chain([text(&path)]).chain(options.into_iter().map(text));
    script.step("mdadm", words.chain(layout.partitions.iter().map(part)));
    script.raw(&format!("array=$(readlink -f {path})"));
    let own: Vec<&Partition> = md.partitions.iter().collect();
    let array = || Word::Variable("array".to_owned());
    script.call("write_table", [array(), text(table(&own, TYPE_FILESYSTEM))]);
    for (volume, partition) in layout.volumes.iter().zip(&md.partitions) {
        script.raw(&format!("volume=$(part \"$array\" {})", partition.number));
        let node = || Word::Variable("volume".to_owned());
        script.call("await", [node(), array()]);
        make(script, volume, node());
    }
}

fn zfs(script: &mut Script, layout: &Layout, pool: &Pool) {
    let name = &layout.request.name;
    let mut words = vec![text("-o"), text(format!("ashift={}", pool.ashift.value))];
    for property in ["canmount=off", "mountpoint=none", "xattr=sa"] {
        words.extend([text("-O"), text(property)]);
    }
    words.push(text(name));
    for (kind, disks) in &pool.groups {
        words.extend((!kind.is_empty()).then(|| text(*kind)));
        words.extend(disks.iter().map(|disk| part(&layout.partitions[*disk])));
    }
    script.step("zpool create", words);
    for volume in &layout.volumes {
        let Filesystem::Zfs(dataset) = &volume.filesystem else { continue };
        let mut properties = dataset.properties();
        if volume.size_bytes.value > 0 {
            properties.push(format!("quota={}", volume.size_bytes.value));
        }
        properties.push(format!("mountpoint={}", volume.mount));
        let words = properties.into_iter().flat_map(|property| [text("-o"), text(property)]);
        script.step("zfs create", words.chain([text(format!("{name}/{}", volume.name))]));
    }
}

fn make(script: &mut Script, volume: &VolumeLayout, device: Word) {
    let (tool, arguments) = match &volume.filesystem {
        Filesystem::Ext4(ext4) => ("mkfs.ext4", ext4.arguments()),
        Filesystem::Xfs(xfs) => ("mkfs.xfs", xfs.arguments()),
        Filesystem::Zfs(_) => return,
    };
    let words = arguments.into_iter().map(text);
    script.step(tool, words.chain([text("-L"), text(&volume.label), device]));
}
