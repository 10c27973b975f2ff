//! The script that takes a layout down.

use std::iter;

use super::shell::{Script, Word, disk, part, text};
use crate::layout::{Layout, Md, Stack};

/// The script that takes a layout down and leaves blank disks, to be read and then run as root.
///
/// It refuses other disks than planned, and a group, array or pool that has other members. What is mounted is unmounted
/// first, which fails while a server uses it; only then is anything erased.
pub fn takedown_script(layout: &Layout) -> String {
    let mut script = Script::new(&purpose(layout));
    script.need(&["blockdev", "lsblk", "readlink", "umount", "wipefs"]);
    script.heading("Are these the disks that were planned with?");
    script.identify(layout);
    script.name_partitions(&layout.partitions);
    script.raw("parts=");
    for partition in &layout.partitions {
        let Word::Variable(name) = part(partition) else { continue };
        script.raw(&format!("parts=\"$parts ${name}\""));
    }
    match &layout.stack {
        Stack::Partitions => partitions(&mut script, layout),
        Stack::Lvm(_) => lvm(&mut script, layout),
        Stack::Md(md) => array(&mut script, layout, md),
        Stack::Zfs(_) => zfs(&mut script, layout),
    }
    erase(&mut script, layout);
    let labels: Vec<&str> = layout.volumes.iter().map(|volume| volume.label.as_str()).collect();
    script.raw("cat <<'END'\n\nDone. Remove from /etc/fstab (and from mdadm.conf) the lines of:");
    script.raw(&labels.join("\n"));
    script.raw("END");
    script.finish()
}

fn purpose(layout: &Layout) -> Vec<String> {
    let mut lines = vec![
        "Takes down storage for PostgreSQL that was planned by `pgdyno host layout`, which never runs this: read \
         it, then run it as root with --yes-erase-these-disks. Stop the server first."
            .to_owned(),
        String::new(),
        "ALL DATA on these disks is lost:".to_owned(),
    ];
    lines.extend(layout.request.disks.iter().map(|disk| format!("  {}", disk.path)));
    lines.push(String::new());
    lines
}

fn partitions(script: &mut Script, layout: &Layout) {
    script.heading("Unmount.");
    for partition in layout.partitions.iter().rev() {
        script.call("unmount", [part(partition)]);
    }
}

fn lvm(script: &mut Script, layout: &Layout) {
    let name = &layout.request.name;
    script.need(&["pvs", "vgs", "vgchange", "lvremove", "vgremove", "pvremove"]);
    script.heading("Unmount; then remove volumes, group and physical volumes, if the group is there.");
    script.raw(&format!("if vgs {name} >/dev/null 2>&1; then"));
    script.raw(&format!("members=$(pvs --noheadings -o pv_name --select vg_name={name})"));
    script.raw(&format!("only_planned {name} $members"));
    for volume in layout.volumes.iter().rev() {
        script.call("unmount", [text(format!("/dev/{name}/{}", volume.name))]);
    }
    script.step("vgchange", [text("-an"), text(name)]);
    script.step("lvremove", [text("--yes"), text(name)]);
    script.step("vgremove", [text(name)]);
    script.step("pvremove", layout.partitions.iter().map(part));
    script.raw("fi");
}

fn array(script: &mut Script, layout: &Layout, md: &Md) {
    let path = format!("/dev/md/{}", layout.request.name);
    script.need(&["mdadm"]);
    script.heading("Unmount; then stop the array, if it is there, and erase what it wrote on its members.");
    script.raw(&format!("if [ -e {path} ]; then"));
    script.raw(&format!("array=$(readlink -f {path})"));
    let list = "sed -n 's/^MD_DEVICE_.*_DEV=//p'";
    script.raw(&format!("members=$(mdadm --detail --export \"$array\" | {list})"));
    script.raw(&format!("only_planned {path} $members"));
    for partition in md.partitions.iter().rev() {
        script.raw(&format!("unmount \"$(part \"$array\" {})\"", partition.number));
    }
    script.raw("step wipefs --all \"$array\"");
    script.raw("step mdadm --stop \"$array\"");
    script.step("mdadm", iter::once(text("--zero-superblock")).chain(layout.partitions.iter().map(part)));
    script.raw("fi");
}

fn zfs(script: &mut Script, layout: &Layout) {
    let name = &layout.request.name;
    script.need(&["zpool"]);
    script.heading("Destroy the pool, if it is there: fails while a dataset is in use.");
    script.raw(&format!("if zpool list {name} >/dev/null 2>&1; then"));
    script.raw(&format!("members=$(zpool status -L -P {name} | grep -o '/dev/[^ ]*')"));
    script.raw(&format!("only_planned {name} $members"));
    script.step("zpool", [text("destroy"), text(name)]);
    for partition in &layout.partitions {
        script.step("zpool", [text("labelclear"), text("-f"), part(partition)]);
    }
    script.raw("fi");
}

fn erase(script: &mut Script, layout: &Layout) {
    script.heading("Does nobody use the disks any more? Then erase signatures and tables.");
    for index in 0..layout.request.disks.len() {
        script.call("idle", [disk(index)]);
    }
    for partition in &layout.partitions {
        let Word::Variable(name) = part(partition) else { continue };
        script.raw(&format!("if [ -b \"${name}\" ]; then step wipefs --all \"${name}\"; fi"));
    }
    for index in 0..layout.request.disks.len() {
        script.step("wipefs", [text("--all"), disk(index)]);
    }
}
