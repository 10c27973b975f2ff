//! Network interfaces: `/sys/class/net` (Documentation/ABI/testing/sysfs-class-net), and by ethtool(8), where it is
//! installed, what no file contains: offloads, and how many queues a device can have. Neither needs privileges.

use std::{collections::BTreeMap, path::Path};

use pgdyno_core::host::Interface;

use super::file::first_line;
use super::{
    dir::{link, names, number},
    program,
};

/// Most interfaces that are read; hosts of many virtual machines have more.
const MOST_INTERFACES: usize = 64;
/// Most interfaces that ethtool is run for, twice each, at 2 ms.
const MOST_BY_ETHTOOL: usize = 16;
/// The offloads that change what TCP costs.
const OFFLOADS: [&str; 7] = [
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
];

/// Reads the interfaces that are devices, bonds or bridges.
pub(super) fn read(root: &Path) -> Vec<Interface> {
    let base = root.join("sys/class/net");
    let is_real = |name: &String| {
        let has = |part: &str| base.join(name).join(part).exists();
        has("device") || has("bonding") || has("bridge")
    };
    let all = names(&base).into_iter().filter(is_real).take(MOST_INTERFACES);
    let mut all: Vec<_> = all.map(|name| interface(&base.join(&name), &name)).collect();
    for interface in all.iter_mut().take(MOST_BY_ETHTOOL) {
        let ethtool = |question: &str| program::answer(root, "ethtool", [question, &interface.name]);
        let (features, channels) = (ethtool("-k"), ethtool("-l"));
        interface.offloads = features.map(|text| offloads(&text)).unwrap_or_default();
        interface.most_queues = channels.and_then(|text| most_queues(&text));
    }
    all
}

/// Lines such as `tcp-segmentation-offload: on` or `large-receive-offload: off [fixed]`.
fn offloads(features: &str) -> BTreeMap<String, bool> {
    let of_line = |line: &str| {
        let (name, state) = line.split_once(": ")?;
        let is_on = match state.split(' ').next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        OFFLOADS.contains(&name).then(|| (name.to_owned(), is_on))
    };
    features.lines().filter_map(of_line).collect()
}

/// The most queues for both directions, or for receiving, of the maximums, which come before the present numbers.
fn most_queues(channels: &str) -> Option<u32> {
    let maximums = channels.split("Current hardware settings").next()?;
    let of_line = |line: &str| {
        let (name, count) = line.split_once(':')?;
        ["RX", "Combined"].contains(&name).then(|| count.trim().parse::<u32>().ok())?
    };
    maximums.lines().filter_map(of_line).max().filter(|most| *most > 0)
}

fn interface(dir: &Path, name: &str) -> Interface {
    Interface {
        name: name.to_owned(),
        driver: link(dir, "device/driver"),
        // -1 where the device reports none, and not readable while it is down.
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

    use super::{program::tests::with_programs, *};
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

    #[test]
    fn ethtool_reports_offloads_and_the_most_queues() {
        let root = with_programs(&[(
            "ethtool",
            "case \"$*\" in\n\
             '-k eth0') printf 'Features for eth0:\\ntcp-segmentation-offload: on\\n\\ttx-tcp6-segmentation: on\\n'\n\
             printf 'large-receive-offload: off [fixed]\\nrx-checksumming: on [fixed]\\nhighdma: on\\n';;\n\
             '-l eth0') printf 'Channel parameters for eth0:\\nPre-set maximums:\\nRX:\\t\\tn/a\\nTX:\\t\\t4\\n'\n\
             printf 'Combined:\\t8\\nCurrent hardware settings:\\nRX:\\t\\t64\\nCombined:\\t2\\n';;\n\
             *) exit 1;; esac",
        )]);
        for name in ["eth0", "eth1"] {
            fs::create_dir_all(root.path().join("sys/class/net").join(name).join("device"))
                .expect("it can be made");
        }
        let [eth0, eth1] = &read(root.path())[..] else { panic!("there are two") };
        let reported: Vec<_> = eth0.offloads.iter().map(|(name, is_on)| (name.as_str(), *is_on)).collect();
        let offloads =
            [("large-receive-offload", false), ("rx-checksumming", true), ("tcp-segmentation-offload", true)];
        assert_eq!((&reported[..], eth0.most_queues), (&offloads[..], Some(8)));
        assert_eq!((eth1.offloads.len(), eth1.most_queues), (0, None), "its driver reports nothing");
    }
}
