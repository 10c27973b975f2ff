//! Hosts for tests.

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Mount, PgDirectory, PgPurpose, ServerProcess};

use super::{Facts, Rule};
use crate::{Finding, Purpose, Standing};

/// A host whose boot line has these words.
pub fn booted(words: &[&str]) -> Inventory {
    let mut host = Inventory::default();
    host.kernel.boot_words = words.iter().map(|&word| word.to_owned()).collect();
    host.kernel.release = "6.12.0".to_owned();
    host
}

/// A device that consists of others.
pub fn device(name: &str, kind: DeviceKind, parents: &[&str]) -> BlockDevice {
    let parents = parents.iter().map(|&parent| parent.to_owned()).collect();
    BlockDevice { name: name.to_owned(), kind, parents, ..BlockDevice::default() }
}

/// A file system at `/data` on a device, with options that are separated by commas.
pub fn mount(filesystem: &str, device: Option<&str>, options: &str) -> Mount {
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
pub fn mounted(mount: Mount, devices: Vec<BlockDevice>) -> Inventory {
    let mut host = booted(&[]);
    host.arch = "x86_64".to_owned();
    host.memory.page_bytes = 4096;
    host.mounts = vec![mount];
    host.devices = devices;
    host
}

/// Adds a directory of a server.
pub fn with_directory(mut host: Inventory, purpose: PgPurpose, mount_point: &str) -> Inventory {
    let path = format!("{mount_point}/pg");
    host.directories.push(PgDirectory { purpose, path, mount_point: Some(mount_point.to_owned()) });
    host
}

/// Adds a server with one setting.
pub fn with_setting(mut host: Inventory, name: &str, value: &str) -> Inventory {
    let server = host.server.get_or_insert_with(ServerProcess::default);
    server.settings.insert(name.to_owned(), value.to_owned());
    host
}

/// What a rule says, for short transactions.
pub fn judged(rule: &Rule, host: &Inventory) -> Vec<Finding> {
    judged_for(rule, host, Purpose::Oltp)
}

/// What a rule says for a purpose.
pub fn judged_for(rule: &Rule, host: &Inventory, purpose: Purpose) -> Vec<Finding> {
    (rule.judge)(&Facts { host, purpose })
}

/// How a rule judges a host.
pub fn standings(rule: &Rule, host: &Inventory) -> Vec<Standing> {
    judged(rule, host).into_iter().map(|finding| finding.standing).collect()
}
