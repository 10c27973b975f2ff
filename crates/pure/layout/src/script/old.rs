//! The script that takes down what is on disks already, whatever made it.

use pgdyno_core::{
    host::{BlockDevice, DeviceKind, Inventory},
    problem::Problem,
};

use super::shell::{Script, Word, disk, text};
use crate::names;

/// Directories of the system: what holds one of them is not taken down.
const SYSTEM: [&str; 9] = ["/", "/boot", "/boot/efi", "/usr", "/var", "/home", "/etc", "/opt", "/root"];

/// The script that takes down what is on these disks of a host, and leaves them blank: file systems and swap areas are
/// released, then volume groups, arrays and encrypted devices are removed from the top down, and all signatures erased.
///
/// It is to be read and then run as root, and refuses other disks than those of this inventory. ZFS is not seen by an
/// inventory: its pools must be destroyed first, else erasing fails as the disks are in use.
///
/// # Errors
/// If a disk does not exist, the system itself is on it, what is on it also needs other disks, or it holds a kind of
/// device that must be taken down by hand.
pub fn old_stack_script(host: &Inventory, disks: &[String]) -> Result<String, Problem> {
    let disks: Vec<&BlockDevice> = disks.iter().map(|path| find(host, path)).collect::<Result<_, _>>()?;
    let above = above(host, &disks);
    check_system(host, &disks, &above)?;
    for device in &above {
        check_device(host, device, &disks)?;
    }
    let mut script = Script::new(&purpose(&disks, &above));
    script.need(&["blockdev", "lsblk", "readlink", "swapoff", "umount", "wipefs"]);
    script.heading("Are these the disks that were listed?");
    for (index, facts) in disks.iter().enumerate() {
        identify(&mut script, index, facts);
    }
    script.heading("Release file systems and swap areas: fails while something uses them.");
    for device in above.iter().chain(&disks) {
        release(&mut script, host, device);
    }
    script.heading("Remove groups, arrays and encrypted devices, from the top down.");
    for device in &above {
        remove(&mut script, host, device);
    }
    script.heading("Does nobody use the disks any more? Then erase signatures and tables.");
    for index in 0..disks.len() {
        script.call("idle", [disk(index)]);
    }
    for partition in above.iter().filter(|device| device.kind == DeviceKind::Partition) {
        script.step("wipefs", [text("--all"), node(partition)]);
    }
    for index in 0..disks.len() {
        script.step("wipefs", [text("--all"), disk(index)]);
    }
    Ok(script.finish())
}

fn find<'a>(host: &'a Inventory, path: &str) -> Result<&'a BlockDevice, Problem> {
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    let device =
        host.device(name).ok_or_else(|| Problem::wrong_request(format!("there is no disk `{path}`")))?;
    if !device.parents.is_empty() {
        return Err(Problem::wrong_request(format!("{path} is not a whole disk"))
            .hint("name the disks below it: what is on them is taken down completely"));
    }
    device.serial.as_deref().map_or(Ok(()), names::serial)?;
    Ok(device)
}

/// What lies above the disks, from the top down: a device comes before those that it consists of.
fn above<'a>(host: &'a Inventory, disks: &[&BlockDevice]) -> Vec<&'a BlockDevice> {
    let is_above = |device: &&BlockDevice| {
        !device.parents.is_empty() && host.disks_below(&device.name).iter().any(|below| disks.contains(below))
    };
    let mut left: Vec<&BlockDevice> = host.devices.iter().filter(is_above).collect();
    let mut sorted = Vec::new();
    while !left.is_empty() {
        let is_below = |device: &BlockDevice| left.iter().any(|other| other.parents.contains(&device.name));
        let (tops, rest): (Vec<_>, Vec<_>) = left.iter().copied().partition(|device| !is_below(device));
        if tops.is_empty() {
            break;
        }
        sorted.extend(tops);
        left = rest;
    }
    sorted
}

fn check_system(host: &Inventory, disks: &[&BlockDevice], above: &[&BlockDevice]) -> Result<(), Problem> {
    let is_on = |name: &str| disks.iter().chain(above).any(|device| device.name == name);
    let mut mounts = host.mounts.iter().filter(|mount| mount.device.as_deref().is_some_and(is_on));
    match mounts.find(|mount| SYSTEM.contains(&mount.point.as_str())) {
        Some(mount) => {
            Err(Problem::wrong_request(format!("{} of this system is on these disks", mount.point))
                .hint("name other disks. Nothing was changed."))
        }
        None => Ok(()),
    }
}

fn check_device(host: &Inventory, device: &BlockDevice, disks: &[&BlockDevice]) -> Result<(), Problem> {
    use DeviceKind::{Crypt, Lvm, Md, Partition};
    names::device_path(&format!("/dev/{}", device.name))?;
    if ![Partition, Lvm, Md, Crypt].contains(&device.kind) {
        return Err(Problem::wrong_request(format!("{} must be taken down by hand", device.name))
            .detail(format!("its kind is {:?}", device.kind)));
    }
    match host.disks_below(&device.name).into_iter().find(|below| !disks.contains(below)) {
        Some(other) => Err(Problem::wrong_request(format!("{} also needs /dev/{}", device.name, other.name))
            .hint("name all of its disks, or move it away from them first")),
        None => Ok(()),
    }
}

fn purpose(disks: &[&BlockDevice], above: &[&BlockDevice]) -> Vec<String> {
    let names = |devices: &[&BlockDevice]| -> String {
        let names: Vec<String> = devices.iter().map(|device| format!("/dev/{}", device.name)).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(" ") }
    };
    vec![
        "Takes down an old stack of storage. Printed by `pgdyno host layout`, which never runs this: read it, \
         then run it as root with --yes-erase-these-disks. Stop the servers first, and destroy pools of ZFS."
            .to_owned(),
        String::new(),
        format!("ALL DATA on these disks is lost: {}", names(disks)),
        format!("What is on them: {}", names(above)),
        String::new(),
    ]
}

fn identify(script: &mut Script, index: usize, facts: &BlockDevice) {
    let words = [
        node(facts),
        text(facts.size_bytes.to_string()),
        text(facts.logical_block_bytes.unwrap_or(512).to_string()),
        text(facts.serial.clone().unwrap_or_default()),
    ];
    script.identify_disk(index, words);
}

fn node(device: &BlockDevice) -> Word {
    text(format!("/dev/{}", device.name))
}

fn release(script: &mut Script, host: &Inventory, device: &BlockDevice) {
    if host.mounts.iter().any(|mount| mount.device.as_deref() == Some(device.name.as_str())) {
        script.call("unmount", [node(device)]);
    }
    let path = format!("/dev/{}", device.name);
    if host.memory.swaps.iter().flatten().any(|swap| swap.name == path) {
        script.step("swapoff", [node(device)]);
    }
}

fn remove(script: &mut Script, host: &Inventory, device: &BlockDevice) {
    let members = device.parents.iter().filter_map(|name| host.device(name));
    match device.kind {
        DeviceKind::Lvm => members.for_each(|member| script.call("remove_group", [node(member)])),
        DeviceKind::Md => {
            script.step("mdadm", [text("--stop"), node(device)]);
            script.step("mdadm", [text("--zero-superblock")].into_iter().chain(members.map(node)));
        }
        DeviceKind::Crypt => script.step("cryptsetup", [text("close"), node(device)]),
        _ => {}
    }
}
