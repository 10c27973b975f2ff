//! Lines of `/etc/fstab`, and what is left to do by hand.

use crate::{
    layout::{Filesystem, Layout, Stack, VolumeLayout},
    units::size_text,
};

/// The lines of `/etc/fstab`, by label; a comment for ZFS, which mounts its datasets itself.
pub fn fstab(layout: &Layout) -> String {
    layout.volumes.iter().map(|volume| line(volume) + "\n").collect()
}

fn line(volume: &VolumeLayout) -> String {
    let (kind, pass) = match &volume.filesystem {
        Filesystem::Ext4(_) => ("ext4", 2),
        // fsck.xfs does nothing: XFS replays its log when it is mounted.
        Filesystem::Xfs(_) => ("xfs", 0),
        Filesystem::Zfs(_) => return format!("# {}: ZFS mounts the dataset itself", volume.mount),
    };
    let options: Vec<&str> = volume.mount_options.iter().map(|option| option.value.as_str()).collect();
    format!("LABEL={} {} {kind} {} 0 {pass}", volume.label, volume.mount, options.join(","))
}

/// What is left to do by hand, as plain text.
pub fn next_steps(layout: &Layout) -> String {
    let mut text = String::new();
    if !matches!(layout.stack, Stack::Zfs(_)) {
        let mounts: Vec<&str> = layout.volumes.iter().map(|volume| volume.mount.as_str()).collect();
        text += &format!("- mkdir -p {}\n- append to /etc/fstab:\n", mounts.join(" "));
        text += &fstab(layout);
        text += "- systemctl daemon-reload; mount -a\n";
    }
    if matches!(layout.stack, Stack::Md(_)) {
        text += "- append the output of `mdadm --detail --scan` to /etc/mdadm/mdadm.conf (or /etc/mdadm.conf), \
        and rebuild the initramfs\n- wait until /proc/mdstat shows no resync before you measure\n";
    }
    if let Stack::Lvm(group) = &layout.stack
        && let Some(chunk) = &group.snapshot_chunk_bytes
    {
        text += &format!(
            "- a snapshot: lvcreate --snapshot --chunksize {}k --extents 100%FREE --name snap {}/data ({} chunks)\n",
            chunk.value / 1024,
            layout.request.name,
            size_text(chunk.value)
        );
    }
    text + "- give the directories of the server below the mount points to its user\n"
}
