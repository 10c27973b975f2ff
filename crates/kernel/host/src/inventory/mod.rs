//! Reads the facts of a host, without privileges: what cannot be read stays absent. No program is started but
//! ethtool, and those of ZFS where something is mounted from it.
//!
//! The kernel's files and those of `/etc` are taken from under a root, so that all is tested on trees of files. Lists
//! have a limit, which is stated where it is set, so that thousands of devices or processes take no longer than a
//! fraction of a second.

mod block;
mod cpu;
mod dir;
mod interrupts;
mod kernel;
mod login;
mod memory;
mod mounts;
mod network;
mod processes;
mod program;
mod server;
mod settings;
mod sysctl_files;
mod sysctls;
mod zfs;

use std::{path::Path, time::Duration};

use pgdyno_core::host::Inventory;

use crate::facts::{file::first_line, system};

/// What is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Where the kernel's files are: `/`, but in tests.
    pub root: &'a Path,
    /// The data directory of the server whose facts are read too.
    pub data: Option<&'a Path>,
}

/// After which time processes that wait for a device are read again: long enough for a disk that answers.
const SECOND_READING: Duration = Duration::from_secs(2);

/// Reads the facts of this host. What cannot be read, or is nonsense, is absent.
pub fn read(request: &Request<'_>) -> Inventory {
    let &Request { root, data } = request;
    let uname = rustix::system::uname();
    let words = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let processes = processes::read(root);
    let directories = mounts::directories(root, data);
    let mut mounts = mounts::read(root, &directories, &processes);
    zfs::read(root, &mut mounts);
    let devices = block::read(root, &mounts);
    let network = network::read(root);
    let interrupts = interrupts::read(root, &network, &processes);
    Inventory {
        name: first_line(root, "proc/sys/kernel/hostname").unwrap_or_else(|| words(uname.nodename())),
        os: system::os(root),
        // A file since Linux 6.1.
        arch: first_line(root, "proc/sys/kernel/arch").unwrap_or_else(|| words(uname.machine())),
        cpu: cpu::read(root),
        memory: memory::read(root),
        kernel: kernel::read(root, processes.blocked),
        devices,
        mounts,
        directories,
        network,
        interrupts,
        server: data.and_then(|data| server::read(root, data)),
        login: login::read(root, data),
    }
}

/// Notes how long each process that waited for a device when this host was read is in one and the same wait. Takes two
/// seconds if there is one.
pub fn wait_for_blocked(host: &mut Inventory) {
    if !host.kernel.blocked.is_empty() {
        processes::read_again(Path::new("/proc"), &mut host.kernel.blocked, SECOND_READING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn this_host_has_facts() {
        let host = read(&Request { root: Path::new("/"), data: None });
        assert!(host.memory.total_bytes > 1 << 20 && host.memory.page_bytes >= 4096);
        assert!(host.cpu.logical > 0 && !host.arch.is_empty() && !host.name.is_empty());
        assert!(host.kernel.version().is_some());
        assert_eq!((host.server, host.login.user.as_str()), (None, "postgres"));
    }

    #[test]
    fn nothing_to_read_is_no_fault() {
        let empty = tree(&[]);
        let host = read(&Request { root: empty.path(), data: Some(Path::new("/nonexistent/data")) });
        assert_eq!((host.cpu, host.server), (pgdyno_core::host::Cpu::default(), None));
        assert!(host.devices.is_empty() && host.mounts.is_empty() && host.network.is_empty());
        assert!(host.kernel.sysctls.is_empty() && host.kernel.boot_words.is_empty());
        assert_eq!(host.memory.total_bytes, 0);
        assert_eq!(host.interrupts, pgdyno_core::host::InterruptBalance::default());
    }
}
