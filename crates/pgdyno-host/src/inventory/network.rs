//! Network interfaces: `/sys/class/net` (Documentation/ABI/testing/sysfs-class-net).

use std::{collections::BTreeMap, path::Path};

use pgdyno_inventory::Interface;

use super::dir::{link, names, number};
use crate::facts::file::first_line;

/// Most interfaces that are read; hosts of many virtual machines have more.
const MOST_INTERFACES: usize = 64;

/// Reads the interfaces that are devices, bonds or bridges. The most queues that a device can have and its offloads are
/// not told by files.
pub(super) fn read(root: &Path) -> Vec<Interface> {
    let base = root.join("sys/class/net");
    let is_real = |name: &String| {
        let has = |part: &str| base.join(name).join(part).exists();
        has("device") || has("bonding") || has("bridge")
    };
    let all = names(&base).into_iter().filter(is_real).take(MOST_INTERFACES);
    all.map(|name| interface(&base.join(&name), &name)).collect()
}

fn interface(dir: &Path, name: &str) -> Interface {
    Interface {
        name: name.to_owned(),
        driver: link(dir, "device/driver"),
        // -1 where the device tells none, and not readable while it is down.
        speed_mbit_s: number(dir, "speed").filter(|speed| *speed > 0 && *speed != u64::from(u32::MAX)),
        mtu_bytes: number(dir, "mtu"),
        queues: queues(&dir.join("queues")),
        most_queues: None,
        offloads: BTreeMap::new(),
        state: first_line(dir, "operstate"),
    }
}

fn queues(dir: &Path) -> Option<(u32, u32)> {
    let names = names(dir);
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    let (receive, transmit) = (count("rx-"), count("tx-"));
    (receive + transmit > 0).then_some((u32::try_from(receive).ok()?, u32::try_from(transmit).ok()?))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn devices_and_bonds_are_read() {
        let root = tree(&[
            ("sys/class/net/eth0/speed", "10000\n"),
            ("sys/class/net/eth0/mtu", "1500\n"),
            ("sys/class/net/eth0/operstate", "up\n"),
            ("sys/class/net/eth0/device/vendor", "0x1\n"),
            ("sys/class/net/eth0/queues/rx-0/x", ""),
            ("sys/class/net/eth0/queues/rx-1/x", ""),
            ("sys/class/net/eth0/queues/tx-0/x", ""),
            ("sys/class/net/bond0/bonding/mode", "802.3ad 4\n"),
            ("sys/class/net/bond0/speed", "-1\n"),
            ("sys/class/net/lo/mtu", "65536\n"),
            ("sys/class/net/veth1/mtu", "1500\n"),
        ]);
        let driver = root.path().join("sys/bus/virtio/drivers/virtio_net");
        fs::create_dir_all(&driver).expect("it can be made");
        symlink(driver, root.path().join("sys/class/net/eth0/device/driver")).expect("a link can be made");
        let found = read(root.path());
        let names: Vec<_> = found.iter().map(|interface| interface.name.as_str()).collect();
        assert_eq!(names, ["bond0", "eth0"]);
        let eth = &found[1];
        assert_eq!((eth.driver.as_deref(), eth.state.as_deref()), (Some("virtio_net"), Some("up")));
        assert_eq!((eth.speed_mbit_s, eth.mtu_bytes, eth.queues), (Some(10_000), Some(1_500), Some((2, 1))));
        assert_eq!((found[0].speed_mbit_s, found[0].queues), (None, None));
    }
}
