//! A host that is only described, as rules of settings take it: what a file of `host facts --json` or a record keeps of
//! it, in place of what is read from the machine itself.

use pgdyno_core::facts::{
    CgroupLimits, CpuFacts, HostFacts, HugePages, MemoryFacts, StorageFacts, amount::MB,
};
use pgdyno_core::host::{BlockDevice, Inventory, Memory, Mount};

/// The facts of a described host; `None` if its memory or its processors are not known, without which nothing can be
/// sized. Limits that are not known limit nothing.
pub fn host_facts(host: &Inventory) -> Option<HostFacts> {
    let is_sized = host.memory.total_bytes > 0 && host.cpu.logical > 0;
    is_sized.then(|| HostFacts {
        os: host.os.clone(),
        kernel: host.kernel.release.clone(),
        arch: host.arch.clone(),
        cpu: CpuFacts {
            model: host.cpu.model.clone(),
            allowed: (0..host.cpu.logical).collect(),
            governor: host.cpu.governor.clone(),
        },
        memory: memory(host),
        cgroup: CgroupLimits { memory_bytes: host.kernel.cgroup.memory_bytes, cpus: host.kernel.cgroup.cpus },
        clocksource: host.kernel.clocks.current.clone(),
        virtualization: virtualization(host),
        open_files_limit: u64::MAX,
        memlock_limit_bytes: None,
    })
}

fn memory(host: &Inventory) -> MemoryFacts {
    let of = &host.memory;
    let mode = host.sysctl_number("vm.overcommit_memory").and_then(|mode| u8::try_from(mode).ok());
    MemoryFacts {
        total_bytes: of.total_bytes,
        available_bytes: of.available_bytes.unwrap_or(of.total_bytes),
        swap_bytes: of.swaps.iter().flatten().map(|swap| swap.size_bytes).fold(0, u64::saturating_add),
        overcommit_mode: mode.unwrap_or(0),
        commit_limit_bytes: of.commit_limit_bytes.unwrap_or(u64::MAX),
        committed_bytes: of.committed_bytes.unwrap_or(0),
        huge_pages: huge_pages(host),
        transparent_huge_pages: of.transparent.enabled.clone(),
    }
}

/// The pool of huge pages of the default size. Where only `vm.nr_hugepages` is known, none of them is taken for used;
/// where nothing is, the size of a page is 0.
fn huge_pages(host: &Inventory) -> HugePages {
    let Memory { huge_pages: pools, default_huge_page_bytes: size, .. } = &host.memory;
    let of_size = pools.iter().find(|pool| Some(pool.page_bytes) == *size);
    // x86 has pages of 2 MiB unless the boot line says otherwise, which tells the size, too.
    let usual = size.unwrap_or(if host.arch == "x86_64" { 2 * MB } else { 0 });
    match (of_size, host.sysctl_number("vm.nr_hugepages").and_then(|pages| u64::try_from(pages).ok())) {
        (Some(pool), _) => HugePages {
            total: pool.total,
            free: pool.free.saturating_sub(pool.reserved),
            page_bytes: pool.page_bytes,
        },
        (None, Some(pages)) => HugePages { total: pages, free: pages, page_bytes: usual },
        (None, None) => HugePages { total: 0, free: 0, page_bytes: 0 },
    }
}

fn virtualization(host: &Inventory) -> Option<String> {
    let container = host.kernel.container.as_ref().map(|kind| format!("container ({kind})"));
    container.or_else(|| host.cpu.hypervisor.as_ref().map(|kind| format!("hypervisor ({kind})")))
}

/// The storage of a directory of a described host: of the mount that holds it; `None` if none is known to. A size that
/// is not known is 0, and then nothing is known of the free space.
pub fn storage_facts(host: &Inventory, directory: &str) -> Option<StorageFacts> {
    let own = host.directories.iter().find(|own| own.path == directory);
    let mount = match own.and_then(|own| host.mount(own.mount_point.as_deref()?)) {
        Some(mount) => mount,
        None => holding(host, directory)?,
    };
    let disks = mount.device.as_deref().map(|device| host.disks_below(device)).unwrap_or_default();
    let known = mount.size_bytes.or(mount.available_bytes).zip(mount.available_bytes);
    let (size_bytes, available_bytes) = known.unwrap_or((0, 0));
    Some(StorageFacts {
        path: directory.to_owned(),
        mount_point: Some(mount.point.clone()),
        filesystem: Some(mount.filesystem.clone()),
        mount_options: Some(mount.options.join(",")),
        device: mount.device.as_ref().map(|device| format!("/dev/{device}")),
        rotational: any_rotates(host, &disks),
        write_cache: disks.first().and_then(|disk| disk.write_cache.clone()),
        size_bytes,
        available_bytes,
        backing: None,
        backing_is_cached: None,
    })
}

/// The mount with the longest mount point that a directory is in.
fn holding<'a>(host: &'a Inventory, directory: &str) -> Option<&'a Mount> {
    let is_in = |mount: &&Mount| {
        let rest = directory.strip_prefix(mount.point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    host.mounts.iter().filter(is_in).max_by_key(|mount| mount.point.len())
}

/// Whether one of the disks rotates; `None` if none is known to, and not all are known not to.
fn any_rotates(host: &Inventory, disks: &[&BlockDevice]) -> Option<bool> {
    let each: Vec<Option<bool>> = disks.iter().map(|disk| host.rotates(disk)).collect();
    match each.contains(&Some(true)) {
        true => Some(true),
        false => (!each.is_empty() && each.iter().all(Option::is_some)).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::GB;
    use pgdyno_core::host::{Cpu, DeviceKind, HugePagePool, PgDirectory, Swap};

    use super::*;

    fn host() -> Inventory {
        let disk = |name: &str, rotational| BlockDevice {
            name: name.to_owned(),
            kind: DeviceKind::Disk,
            rotational,
            ..BlockDevice::default()
        };
        let volume = BlockDevice {
            name: "dm-0".to_owned(),
            kind: DeviceKind::Lvm,
            parents: vec!["sda".to_owned(), "sdb".to_owned()],
            ..BlockDevice::default()
        };
        let mount = |point: &str, device: &str, available_bytes| Mount {
            point: point.to_owned(),
            filesystem: "xfs".to_owned(),
            device: Some(device.to_owned()),
            size_bytes: Some(100 * GB),
            available_bytes,
            ..Mount::default()
        };
        Inventory {
            arch: "x86_64".to_owned(),
            cpu: Cpu { logical: 8, ..Cpu::default() },
            memory: Memory { total_bytes: 64 * GB, ..Memory::default() },
            devices: vec![
                volume,
                disk("sda", Some(false)),
                disk("sdb", Some(false)),
                disk("sdc", Some(true)),
            ],
            mounts: vec![mount("/", "sdc", Some(10 * GB)), mount("/data", "dm-0", None)],
            ..Inventory::default()
        }
    }

    #[test]
    fn a_described_host_has_what_is_known_of_it() {
        let mut of = host();
        let facts = host_facts(&of).expect("it is sized");
        assert_eq!((facts.memory.total_bytes, facts.cpu.allowed.len()), (64 * GB, 8));
        assert_eq!(facts.memory.huge_pages.page_bytes, 0, "nothing is known of huge pages");
        of.kernel.sysctls.insert("vm.nr_hugepages".to_owned(), "100".to_owned());
        of.cpu.hypervisor = Some("kvm".to_owned());
        of.memory.swaps = Some(vec![Swap { size_bytes: GB, ..Swap::default() }]);
        let facts = host_facts(&of).expect("it is sized");
        let HugePages { total, free, page_bytes } = facts.memory.huge_pages;
        assert_eq!((total, free, page_bytes), (100, 100, 2 * MB));
        assert_eq!(
            (facts.memory.swap_bytes, facts.virtualization.as_deref()),
            (GB, Some("hypervisor (kvm)"))
        );
        of.memory.default_huge_page_bytes = Some(2 * MB);
        let pool = HugePagePool { page_bytes: 2 * MB, total: 100, free: 90, reserved: 20, overcommit: 0 };
        of.memory.huge_pages = vec![pool];
        assert_eq!(host_facts(&of).expect("it is sized").memory.huge_pages.free, 70);
        of.memory.total_bytes = 0;
        assert_eq!(host_facts(&of), None);
    }

    #[test]
    fn a_directory_lies_on_the_nearest_mount() {
        let mut host = host();
        let of = |host: &Inventory, directory: &str| storage_facts(host, directory).expect("it has a mount");
        let data = of(&host, "/data/18/main");
        assert_eq!((data.mount_point.as_deref(), data.rotational), (Some("/data"), Some(false)));
        assert_eq!((data.size_bytes, data.available_bytes), (0, 0), "the free space is not known");
        let root = of(&host, "/database");
        assert_eq!((root.mount_point.as_deref(), root.rotational), (Some("/"), Some(true)));
        assert_eq!((root.size_bytes, root.available_bytes), (100 * GB, 10 * GB));
        host.directories = vec![PgDirectory {
            path: "/var/lib/postgresql".to_owned(),
            mount_point: Some("/data".to_owned()),
            ..PgDirectory::default()
        }];
        assert_eq!(of(&host, "/var/lib/postgresql").mount_point.as_deref(), Some("/data"));
        host.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(of(&host, "/database").rotational, None, "a guest is not told");
        host.mounts.clear();
        assert!(storage_facts(&host, "/database").is_none());
    }
}
