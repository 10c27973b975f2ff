//! A host as data: what is read from it, what rules judge, what a record keeps.
//!
//! Everything here is pure. A fact that could not be read is `None` or an empty list, never 0.

mod block;
mod change;
mod cpu;
mod difference;
mod finding;
mod kernel;
mod memory;
mod mount;
mod network;
mod process;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod server;
mod storage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use block::{BlockDevice, DeviceKind, Stripe};
pub use change::{Change, Knob, with_separators_swapped};
pub use cpu::{Cache, Cpu, IdleState, NumaNode};
pub use difference::{Difference, differences};
pub use finding::{Finding, Standing};
pub use kernel::{BlockedProcess, Cgroup, ClockSources, Kernel, Pressure, SysctlLine};
pub use memory::{HugePagePool, Memory, Swap, TransparentHugePages};
pub use mount::{Mount, PgDirectory, PgPurpose, ZfsDataset};
pub use network::{Interface, InterruptBalance};
pub use process::Process;
pub use server::{Limit, LimitLine, Login, ServerProcess, TableOption};
pub use storage::Storage;

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
    /// What the process that read the host may use of it; `None` of a host that is only described.
    pub process: Option<Process>,
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

    /// Processors that the process that read the host may run on, in ascending order: of a described host all.
    pub fn allowed_cpus(&self) -> Vec<u32> {
        match &self.process {
            Some(process) => process.allowed_cpus.clone(),
            None => (0..self.cpu.logical).collect(),
        }
    }

    /// Files that the process that read the host may have open at once: of a described host any number.
    pub fn open_files_limit(&self) -> u64 {
        self.process.as_ref().and_then(|process| process.open_files).unwrap_or(u64::MAX)
    }

    /// Whether its memory and its processors are known, without which nothing can be sized.
    pub fn is_sized(&self) -> bool {
        self.memory.total_bytes > 0 && !self.allowed_cpus().is_empty()
    }

    /// Memory in bytes that a process of the control group of this one may still expect: what is available, and no more
    /// than the group may have.
    pub fn expected_memory_bytes(&self) -> u64 {
        let available = self.memory.available_bytes.unwrap_or(self.memory.total_bytes);
        available.min(self.kernel.cgroup.memory_bytes.unwrap_or(u64::MAX))
    }

    /// Bytes that the kernel's commit limit leaves, where `vm.overcommit_memory` is 2, which enforces it; `None` where
    /// there is no such limit.
    pub fn commit_left_bytes(&self) -> Option<u64> {
        let limit = self.memory.commit_limit_bytes.filter(|_| self.overcommit_mode() == 2)?;
        Some(limit.saturating_sub(self.memory.committed_bytes.unwrap_or(0)))
    }

    /// `vm.overcommit_memory`: 0 heuristic, also where it is unknown, 1 always, 2 never.
    pub fn overcommit_mode(&self) -> i64 {
        self.sysctl_number("vm.overcommit_memory").unwrap_or(0)
    }

    /// The pool of explicit huge pages of the default size. Where only `vm.nr_hugepages` is known, none of them is
    /// taken for used; where nothing is, the size of a page is 0.
    pub fn default_huge_pages(&self) -> HugePagePool {
        const USUAL_ON_X86: u64 = 2 << 20;
        let Memory { huge_pages: pools, default_huge_page_bytes: size, .. } = &self.memory;
        let of_size = pools.iter().find(|pool| Some(pool.page_bytes) == *size);
        let pages = self.sysctl_number("vm.nr_hugepages").and_then(|pages| u64::try_from(pages).ok());
        match (of_size, pages) {
            (Some(pool), _) => pool.clone(),
            (None, Some(total)) => {
                // The boot line may say otherwise, and then gives the size, too.
                let usual = if self.arch == "x86_64" { USUAL_ON_X86 } else { 0 };
                let page_bytes = size.unwrap_or(usual);
                HugePagePool { page_bytes, total, free: total, ..HugePagePool::default() }
            }
            (None, None) => HugePagePool::default(),
        }
    }

    /// Container or hypervisor in words, such as `container (docker)`; the container takes precedence, since its limits
    /// are tighter.
    pub fn virtualization(&self) -> Option<String> {
        let container = self.kernel.container.as_ref().map(|kind| format!("container ({kind})"));
        container.or_else(|| self.cpu.hypervisor.as_ref().map(|kind| format!("hypervisor ({kind})")))
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

    /// Whether a block device rotates; `None` if that is not known. `queue/rotational` is what the driver says, and the
    /// drivers of paravirtual disks say 1 whatever is behind them. A guest does not know what its storage is, and a
    /// process in a container does not see whether its host is a guest, so 1 is not conclusive there. 0 always is,
    /// since a driver has to declare it.
    pub fn rotates(&self, device: &BlockDevice) -> Option<bool> {
        let may_be_virtual = device.kind == DeviceKind::Virtual || self.virtualization().is_some();
        device.rotational.filter(|rotates| !(*rotates && may_be_virtual))
    }

    /// Whether one of the disks rotates; `None` if none is known to, and not all are known not to.
    fn any_rotates(&self, disks: &[&BlockDevice]) -> Option<bool> {
        let each: Vec<Option<bool>> = disks.iter().map(|disk| self.rotates(disk)).collect();
        match each.contains(&Some(true)) {
            true => Some(true),
            false => (!each.is_empty() && each.iter().all(Option::is_some)).then_some(false),
        }
    }
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
            let mut contained = Inventory::default();
            contained.kernel.container = hypervisor.map(|_| "docker".to_owned());
            let device = BlockDevice { kind, rotational: said, ..BlockDevice::default() };
            assert_eq!(host.rotates(&device), known, "{kind:?} {hypervisor:?} {said:?}");
            assert_eq!(contained.rotates(&device), known, "{kind:?} in a container, {said:?}");
        }
    }

    #[test]
    fn a_described_host_has_what_is_known_of_it() {
        let mut host = Inventory { arch: "x86_64".to_owned(), ..Inventory::default() };
        host.memory.total_bytes = 64 << 30;
        assert!(!host.is_sized());
        host.cpu.logical = 8;
        assert!(host.is_sized() && host.allowed_cpus() == [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((host.open_files_limit(), host.commit_left_bytes()), (u64::MAX, None));
        assert_eq!(host.default_huge_pages().page_bytes, 0, "nothing is known of huge pages");
        host.kernel.sysctls.insert("vm.nr_hugepages".to_owned(), "100".to_owned());
        let pool = host.default_huge_pages();
        assert_eq!((pool.total, pool.unreserved(), pool.page_bytes), (100, 100, 2 << 20));
        host.memory.default_huge_page_bytes = Some(2 << 20);
        let pool = HugePagePool { page_bytes: 2 << 20, total: 100, free: 90, reserved: 20, overcommit: 0 };
        host.memory.huge_pages = vec![pool];
        assert_eq!(host.default_huge_pages().unreserved(), 70);
        host.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(host.virtualization().as_deref(), Some("hypervisor (kvm)"));
        host.kernel.container = Some("docker".to_owned());
        assert_eq!(host.virtualization().as_deref(), Some("container (docker)"));
        host.memory.total_bytes = 0;
        assert!(!host.is_sized());
    }
}
