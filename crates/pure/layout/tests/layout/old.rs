//! Taking down what is on disks already.

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Memory, Mount, Swap};
use pgdyno_layout::old_stack_script;

use crate::tools::shell;

fn device(name: &str, kind: DeviceKind, parents: &[&str]) -> BlockDevice {
    let parents = parents.iter().map(|&parent| parent.to_owned()).collect();
    BlockDevice { name: name.into(), kind, parents, size_bytes: 1 << 40, ..BlockDevice::default() }
}

/// A system on sda, an array with a volume on sdb and sdc, a group over sdd and sde, swap on sdf.
fn host() -> Inventory {
    use DeviceKind::{Disk, Lvm, Md, Multipath, Partition};
    let mount = |point: &str, device: &str| Mount {
        point: point.into(),
        device: Some(device.into()),
        ..Mount::default()
    };
    let mut devices: Vec<BlockDevice> =
        ["sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg"].map(|name| device(name, Disk, &[])).to_vec();
    devices.extend([
        device("sda1", Partition, &["sda"]),
        device("sdb1", Partition, &["sdb"]),
        device("sdc1", Partition, &["sdc"]),
        device("md127", Md, &["sdb1", "sdc1"]),
        device("dm-0", Lvm, &["md127"]),
        device("dm-1", Lvm, &["sdd", "sde"]),
        device("dm-2", Multipath, &["sdg"]),
    ]);
    let swaps = Some(vec![Swap { name: "/dev/sdf".into(), ..Swap::default() }]);
    Inventory {
        devices,
        mounts: vec![mount("/", "sda1"), mount("/srv/old", "dm-0")],
        memory: Memory { swaps, ..Memory::default() },
        ..Inventory::default()
    }
}

fn disks(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_stack_is_taken_down_from_the_top() {
    let script = old_stack_script(&host(), &disks(&["/dev/sdb", "sdc"])).expect("all of it can be");
    let after = script.split("confirm \"$@\"\n").nth(1).expect("the functions end there");
    let steps: Vec<&str> = after.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(
        steps,
        [
            "need blockdev lsblk readlink swapoff umount wipefs",
            "identify /dev/sdb 1099511627776 512 ''",
            "disk_1=$disk",
            "identify /dev/sdc 1099511627776 512 ''",
            "disk_2=$disk",
            "unmount /dev/dm-0",
            "remove_group /dev/md127",
            "step mdadm --stop /dev/md127",
            "step mdadm --zero-superblock /dev/sdb1 /dev/sdc1",
            "idle \"$disk_1\"",
            "idle \"$disk_2\"",
            "step wipefs --all /dev/sdb1",
            "step wipefs --all /dev/sdc1",
            "step wipefs --all \"$disk_1\"",
            "step wipefs --all \"$disk_2\"",
        ]
    );
    let said = shell(&["-n"], &script, &[]);
    assert!(said.ok, "{}", said.err);
}

#[test]
fn swap_is_released() {
    let script = old_stack_script(&host(), &disks(&["sdf"])).expect("all of it can be");
    assert!(script.contains("\nstep swapoff /dev/sdf\n"), "{script}");
}

#[test]
fn what_must_stay_is_refused() {
    let cases = [
        ("sda", "/ of this system"),
        ("sdb", "dm-0 also needs /dev/sdc"),
        ("sdd", "dm-1 also needs /dev/sde"),
        ("sdb1", "not a whole disk"),
        ("sdg", "by hand"),
        ("sdz", "there is no disk"),
    ];
    for (name, part) in cases {
        let problem = old_stack_script(&host(), &disks(&[name])).expect_err(name);
        let text = problem.what;
        assert!(text.contains(part), "{name}: {text}");
    }
}
