//! Hosts for the tests of rules, and what rules say of them. Rules go by the names of their pages.

use pgdyno_core::{
    facts::amount::{GB, MB},
    host::{
        BlockDevice, Cpu, DeviceKind, HugePagePool, Inventory, Kernel, Memory, Mount, NumaNode, PgDirectory,
        PgPurpose, ServerProcess, SysctlLine, ZfsDataset,
    },
};

use super::{Facts, rules};
use crate::{Finding, Purpose, Standing};

/// A host of 64 GiB, 16 processors and Linux 6.1 with these kernel parameters.
pub(crate) fn host(sysctls: &[(&str, &str)]) -> Inventory {
    let pool = HugePagePool { page_bytes: 2 * MB, ..HugePagePool::default() };
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Inventory {
        cpu: Cpu { logical: 16, ..Cpu::default() },
        memory: Memory {
            total_bytes: 64 * GB,
            page_bytes: 4096,
            huge_pages: vec![pool],
            default_huge_page_bytes: Some(2 * MB),
            swaps: Some(Vec::new()),
            ..Memory::default()
        },
        kernel: Kernel {
            release: "6.1.0-18-amd64".to_owned(),
            sysctls: sysctls.iter().map(own).collect(),
            ..Kernel::default()
        },
        ..Inventory::default()
    }
}

/// The same host with another kernel.
pub(crate) fn on_kernel(mut host: Inventory, release: &str) -> Inventory {
    release.clone_into(&mut host.kernel.release);
    host
}

/// The same host with a server of a major (9 is 9.6) and its settings.
pub(crate) fn with_server(mut host: Inventory, major: u32, settings: &[(&str, &str)]) -> Inventory {
    let version_num = if major == 9 { 90_600 } else { major * 10_000 };
    host.server = Some(ServerProcess {
        pid: 4711,
        user: Some("postgres".to_owned()),
        version_num: Some(version_num),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..ServerProcess::default()
    });
    host
}

/// The same host with so many NUMA nodes.
pub(crate) fn with_nodes(mut host: Inventory, count: u32) -> Inventory {
    host.cpu.numa_nodes = (0..count).map(|number| NumaNode { number, ..NumaNode::default() }).collect();
    host
}

/// The same host with a line in `/etc/sysctl.conf`.
pub(crate) fn with_line(mut host: Inventory, name: &str, value: &str) -> Inventory {
    let line =
        SysctlLine { file: "/etc/sysctl.conf".to_owned(), name: name.to_owned(), value: value.to_owned() };
    host.kernel.sysctl_lines.push(line);
    host
}

/// A host whose boot line has these words.
pub(crate) fn booted(words: &[&str]) -> Inventory {
    let mut host = Inventory::default();
    host.kernel.boot_words = words.iter().map(|&word| word.to_owned()).collect();
    host.kernel.release = "6.12.0".to_owned();
    host
}

/// A device that consists of others.
pub(crate) fn device(name: &str, kind: DeviceKind, parents: &[&str]) -> BlockDevice {
    let parents = parents.iter().map(|&parent| parent.to_owned()).collect();
    BlockDevice { name: name.to_owned(), kind, parents, ..BlockDevice::default() }
}

/// A file system at `/data` on a device, with options that are separated by commas.
pub(crate) fn mount(filesystem: &str, device: Option<&str>, options: &str) -> Mount {
    Mount {
        point: "/data".to_owned(),
        filesystem: filesystem.to_owned(),
        source: device.map_or_else(|| "none".to_owned(), |name| format!("/dev/{name}")),
        device: device.map(str::to_owned),
        options: options.split(',').filter(|option| !option.is_empty()).map(str::to_owned).collect(),
        ..Mount::default()
    }
}

/// A host with one file system.
pub(crate) fn mounted(mount: Mount, devices: Vec<BlockDevice>) -> Inventory {
    let mut host = booted(&[]);
    host.arch = "x86_64".to_owned();
    host.memory.page_bytes = 4096;
    host.mounts = vec![mount];
    host.devices = devices;
    host
}

/// Adds a directory of a server.
pub(crate) fn with_directory(mut host: Inventory, purpose: PgPurpose, mount_point: &str) -> Inventory {
    let path = format!("{mount_point}/pg");
    host.directories.push(PgDirectory { purpose, path, mount_point: Some(mount_point.to_owned()) });
    host
}

/// Adds a server with one setting.
pub(crate) fn with_setting(mut host: Inventory, name: &str, value: &str) -> Inventory {
    let server = host.server.get_or_insert_with(ServerProcess::default);
    server.settings.insert(name.to_owned(), value.to_owned());
    host
}

/// A host with a dataset of ZFS at `/data`.
pub(crate) fn with_dataset(dataset: ZfsDataset) -> Inventory {
    mounted(Mount { zfs: Some(dataset), ..mount("zfs", None, "rw") }, Vec::new())
}

/// What a rule finds for a purpose.
pub(crate) fn findings_for(rule: &str, host: &Inventory, purpose: Purpose) -> Vec<Finding> {
    let found = rules().find(|candidate| candidate.page.name == rule);
    found.unwrap_or_else(|| panic!("no rule is named {rule}")).judge(&Facts { host, purpose })
}

/// What a rule finds for short transactions.
pub(crate) fn findings(rule: &str, host: &Inventory) -> Vec<Finding> {
    findings_for(rule, host, Purpose::Oltp)
}

/// Verdicts of the findings of a rule.
pub(crate) fn standings(rule: &str, host: &Inventory) -> Vec<Standing> {
    findings(rule, host).into_iter().map(|finding| finding.standing).collect()
}

/// The values that a rule would set.
pub(crate) fn changes(rule: &str, host: &Inventory) -> Vec<String> {
    findings(rule, host).into_iter().filter_map(|finding| Some(finding.change?.value)).collect()
}

/// Checks what rules say of values of their kernel parameters on a host without a server.
pub(crate) fn check_values(table: &[(&str, &[(&str, Standing)])]) {
    for (rule, values) in table {
        for (value, expected) in *values {
            assert_eq!(standings(rule, &host(&[(rule, value)])), [*expected], "{rule} = {value}");
        }
        for finding in findings(rule, &host(&[])) {
            assert_eq!(finding.standing, Standing::Unknown, "{rule} is absent");
        }
        let odd = standings(rule, &host(&[(rule, "no number")]));
        assert!(odd.iter().all(|standing| *standing == Standing::Unknown), "{rule}: {odd:?}");
    }
}

/// Checks how rules judge hosts.
pub(crate) fn check_hosts(table: &[(&str, Inventory, &[Standing])]) {
    for (row, (rule, host, expected)) in table.iter().enumerate() {
        assert_eq!(standings(rule, host), *expected, "row {row}: {rule}");
    }
}

/// Checks what rules say of file systems at `/data`, by file system and options.
pub(crate) fn check_mounts(table: &[(&str, &str, &str, &[Standing])]) {
    for (rule, filesystem, options, expected) in table {
        let host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
        assert_eq!(standings(rule, &host), *expected, "{rule}: {filesystem} {options}");
    }
}
