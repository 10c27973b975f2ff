//! What LVM makes of the derived numbers: its metadata on loop devices, without activating anything.

use pgdyno_layout::{FilesystemKind, Manager, Raid, Stack, derive};

use crate::{
    loops::Loops,
    request::{GIB, KIB, disks, request},
    tools::{installed, must},
};

/// Settings that keep LVM to these devices, and away from udev and the files of the host.
fn settings(devices: &[&str]) -> String {
    let accepted: String = devices.iter().map(|device| format!("\"a|^{device}$|\",")).collect();
    format!(
        "devices{{use_devicesfile=0 scan_lvs=0 filter=[{accepted}\"r|.*|\"]}} backup{{backup=0 archive=0}} \
         activation{{udev_sync=0 udev_rules=0 monitoring=0}}"
    )
}

/// Runs a command of LVM. Without the driver it would check what the kernel knows, which is not what is tested.
fn lvm(command: &str, settings: &str, words: &[&str]) -> String {
    let mut all = vec!["--config", settings, "--driverloaded", "n"];
    all.extend(words);
    must(command, &all)
}

#[test]
fn volumes_have_the_numbers_that_were_derived() {
    if !installed(&["pvcreate", "vgcreate", "lvcreate"]) {
        return;
    }
    let Some(loops) = Loops::attach(&[3 * GIB, 3 * GIB, 3 * GIB]) else { return };
    let mut request = request(disks(3, 3 * GIB), Raid::Striped, Manager::Lvm, FilesystemKind::Ext4);
    request.overrides.stripe_bytes = Some(8 * KIB);
    request.name = "pglayout".into();
    let layout = derive(&request).expect("it is valid");
    let Stack::Lvm(group) = &layout.stack else { panic!("it is a volume group") };
    let names = loops.names();
    // The loop devices stand for the partitions: what they have more is left free.
    let settings = settings(&names);
    let (alignment, extent) =
        (format!("{}b", group.data_alignment_bytes.value), format!("{}b", group.extent_bytes.value));
    let mut create = vec!["--dataalignment", &alignment];
    create.extend(&names);
    lvm("pvcreate", &settings, &create);
    let mut create = vec!["--physicalextentsize", &extent, "pglayout"];
    create.extend(&names);
    lvm("vgcreate", &settings, &create);
    let extents = layout.volumes[0].extents.expect("it is a logical volume").to_string();
    lvm(
        "lvcreate",
        &settings,
        &[
            "-an",
            "-Zn",
            "-Wn",
            "--type",
            group.segment,
            "--stripes",
            "3",
            "--stripesize",
            "8k",
            "--extents",
            &extents,
            "--name",
            "data",
            "pglayout",
        ],
    );
    let fields = |command: &str, what: &str| -> Vec<String> {
        let text = lvm(command, &settings, &["--noheadings", "--nosuffix", "--units", "b", "-o", what]);
        text.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(fields("pvs", "pe_start"), vec![group.data_alignment_bytes.value.to_string(); 3]);
    assert_eq!(fields("vgs", "vg_extent_size"), [group.extent_bytes.value.to_string()]);
    let size = layout.volumes[0].size_bytes.value.to_string();
    assert_eq!(fields("lvs", "stripes,stripe_size,lv_size"), ["3", "8192", &size]);
    // The partition is 2 MiB smaller than the loop device: an extent at most.
    let count: u64 = fields("vgs", "vg_extent_count")[0].parse().expect("it is a number");
    assert!((0..=3).contains(&(count - 3 * group.extents_per_disk.value)), "{count}");
    lvm("vgremove", &settings, &["--force", "pglayout"]);
}
