//! A host as data: what is read from it, what rules judge, what a record keeps.
//!
//! Everything here is pure. A fact that could not be read is `None` or an empty list, never 0.

mod block;
mod change;
mod cpu;
mod difference;
mod kernel;
mod memory;
mod mount;
mod network;
mod server;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use block::{BlockDevice, DeviceKind, Stripe};
pub use change::{Change, Knob, with_separators_swapped};
pub use cpu::{Cache, Cpu, IdleState, NumaNode};
pub use difference::{Difference, differences};
pub use kernel::{BlockedProcess, Cgroup, ClockSources, Kernel, Pressure, SysctlLine};
pub use memory::{HugePagePool, Memory, Swap, TransparentHugePages};
pub use mount::{Mount, PgDirectory, PgPurpose, ZfsDataset};
pub use network::{Interface, InterruptBalance};
pub use server::{Limit, LimitLine, Login, ServerProcess, TableOption};

/// A host at one instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Inventory {
    /// Host name.
    pub name: String,
    /// Operating system, for example `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Machine architecture, for example `x86_64`.
    pub arch: String,
    /// Processors.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// The kernel, its settings and limits.
    pub kernel: Kernel,
    /// Block devices, by name, and what each consists of.
    pub devices: Vec<BlockDevice>,
    /// Mounted file systems that are on block devices, or that hold a directory of a server.
    pub mounts: Vec<Mount>,
    /// Directories of the server that was named, with the mount and the devices below each.
    pub directories: Vec<PgDirectory>,
    /// Network interfaces but the loopback.
    pub network: Vec<Interface>,
    /// How interrupts are spread over processors.
    pub interrupts: InterruptBalance,
    /// The server that was named, if it runs here.
    pub server: Option<ServerProcess>,
    /// Limits that a login of the server's user would get.
    pub login: Login,
}

impl Inventory {
    /// The value of a kernel parameter, such as `vm.swappiness`.
    pub fn sysctl(&self, name: &str) -> Option<&str> {
        self.kernel.sysctls.get(name).map(String::as_str)
    }

    /// The value of a kernel parameter that is one number.
    pub fn sysctl_number(&self, name: &str) -> Option<i64> {
        self.sysctl(name)?.trim().parse().ok()
    }

    /// A block device by its name in `/sys/block`, such as `sda` or `dm-0`.
    pub fn device(&self, name: &str) -> Option<&BlockDevice> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The mount at a mount point.
    pub fn mount(&self, point: &str) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.point == point)
    }

    /// A device and all that it consists of, each once, from the top down to the disks.
    pub fn stack<'a>(&'a self, name: &str) -> Vec<&'a BlockDevice> {
        let mut found: Vec<&BlockDevice> = Vec::new();
        let mut names = vec![name.to_owned()];
        while let Some(name) = names.pop() {
            let Some(device) = self.device(&name).filter(|device| !found.contains(device)) else { continue };
            found.push(device);
            names.extend(device.parents.iter().rev().cloned());
        }
        found
    }

    /// The disks at the bottom of a device: those that consist of nothing else.
    pub fn disks_below<'a>(&'a self, name: &str) -> Vec<&'a BlockDevice> {
        self.stack(name).into_iter().filter(|device| device.parents.is_empty()).collect()
    }

    /// Whether a block device rotates; `None` if that is not known, as of a disk of a guest whose driver says that it
    /// does.
    pub fn rotates(&self, device: &BlockDevice) -> Option<bool> {
        believed_rotation(
            device.rotational,
            device.kind == DeviceKind::Virtual || self.cpu.hypervisor.is_some(),
        )
    }
}

/// What is to be believed of `queue/rotational`. It is what the driver says, and the drivers of paravirtual disks say 1
/// whatever is behind them. A guest is not told what its storage is: there 1 is no answer. 0 is one everywhere, since a
/// driver has to declare it.
pub fn believed_rotation(said: Option<bool>, may_be_virtual: bool) -> Option<bool> {
    said.filter(|rotates| !(*rotates && may_be_virtual))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, parents: &[&str]) -> BlockDevice {
        let parents = parents.iter().map(|&parent| parent.to_owned()).collect();
        BlockDevice { name: name.to_owned(), parents, ..BlockDevice::default() }
    }

    #[test]
    fn a_stack_goes_down_to_the_disks() {
        let devices = vec![
            device("dm-0", &["md0"]),
            device("md0", &["sda1", "sdb1"]),
            device("sda1", &["sda"]),
            device("sdb1", &["sdb"]),
            device("sda", &[]),
            device("sdb", &[]),
        ];
        let host = Inventory { devices, ..Inventory::default() };
        let names = |devices: Vec<&BlockDevice>| -> Vec<String> {
            devices.into_iter().map(|device| device.name.clone()).collect()
        };
        assert_eq!(names(host.stack("dm-0")), ["dm-0", "md0", "sda1", "sda", "sdb1", "sdb"]);
        assert_eq!(names(host.disks_below("dm-0")), ["sda", "sdb"]);
        assert!(host.stack("nothing").is_empty());
    }

    #[test]
    fn a_circle_of_devices_ends() {
        let host =
            Inventory { devices: vec![device("a", &["b"]), device("b", &["a"])], ..Inventory::default() };
        assert_eq!(host.stack("a").len(), 2);
    }

    #[test]
    fn an_empty_inventory_is_read_back() {
        let text = serde_json::to_string(&Inventory::default()).expect("plain data");
        assert_eq!(
            serde_json::from_str::<Inventory>(&text).expect("it was written by us"),
            Inventory::default()
        );
        assert_eq!(serde_json::from_str::<Inventory>("{}").expect("all may be absent"), Inventory::default());
    }

    #[test]
    fn only_a_host_knows_what_rotates() {
        for (kind, hypervisor, said, known) in [
            (DeviceKind::Disk, None, Some(true), Some(true)),
            (DeviceKind::Disk, None, Some(false), Some(false)),
            (DeviceKind::Disk, Some("kvm"), Some(true), None),
            (DeviceKind::Disk, Some("kvm"), Some(false), Some(false)),
            (DeviceKind::Virtual, None, Some(true), None),
            (DeviceKind::Virtual, Some("kvm"), Some(true), None),
            (DeviceKind::Nvme, Some("kvm"), Some(false), Some(false)),
            (DeviceKind::Disk, None, None, None),
        ] {
            let mut host = Inventory::default();
            host.cpu.hypervisor = hypervisor.map(str::to_owned);
            let device = BlockDevice { kind, rotational: said, ..BlockDevice::default() };
            assert_eq!(host.rotates(&device), known, "{kind:?} {hypervisor:?} {said:?}");
        }
    }
}
