//! Reads the facts of a host, without privileges: what cannot be read stays absent. No program is started but
//! ethtool, and those of ZFS where something is mounted from it.
//!
//! The kernel's files and those of `/etc` are taken from under a root, so that all is tested on trees of files. Lists
//! have a limit, which is stated where it is set, so that thousands of devices or processes take no longer than a
//! fraction of a second.

mod block;
mod cgroup;
mod cpu;
mod dir;
pub(crate) mod file;
mod interrupts;
mod kernel;
mod login;
mod meminfo;
mod memory;
mod mountinfo;
mod mounts;
mod network;
mod process;
mod processes;
mod program;
mod server;
mod settings;
mod storage;
mod sysctl_files;
mod sysctls;
mod system;
mod zfs;

use std::{io, path::Path, time::Duration};

use pgdyno_core::host::{Inventory, Memory};

use file::first_line;
pub use meminfo::Meminfo;
pub(crate) use mountinfo::mount_of;
pub(crate) use storage::devices_below;
pub use storage::storage;

/// After which time processes that wait for a device are read again: long enough for a disk that answers.
const SECOND_READING: Duration = Duration::from_secs(2);

/// Reads the facts of this host.
///
/// # Errors
/// If `/proc` does not say how much memory or which processors there are; everything else may be absent.
pub fn host() -> io::Result<Inventory> {
    let host = host_with(None);
    let why = "/proc shows no total of memory, or no processors";
    if host.is_sized() { Ok(host) } else { Err(io::Error::new(io::ErrorKind::InvalidData, why)) }
}

/// Reads the facts of this host, with the server and the storage of a data directory. What cannot be read, or is
/// nonsense, is absent.
pub fn host_with(data: Option<&Path>) -> Inventory {
    read(Path::new("/"), data)
}

/// Reads the facts of the memory of this host, without the others.
pub fn memory() -> Memory {
    memory::read(Path::new("/"))
}

/// Whether this host is known to be a guest of a hypervisor, or this process to be in a container.
pub fn is_virtual() -> bool {
    let root = Path::new("/");
    cpu::hypervisor(root).or_else(|| kernel::container(root)).is_some()
}

/// The name of this host.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Reads the facts of a host with the files of `/proc`, `/sys` and `/etc` taken from under `root`.
fn read(root: &Path, data: Option<&Path>) -> Inventory {
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
        process: Some(process::read(root)),
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
pub(crate) mod tests {
    use std::fs;

    use super::*;

    /// Writes a tree of files.
    pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("files have a parent")).expect("directories can be made");
            fs::write(path, content).expect("a file can be written");
        }
        root
    }

    #[test]
    fn this_host_has_facts() {
        let host = host().expect("this machine has /proc");
        assert!(host.memory.total_bytes > 1 << 20 && host.memory.page_bytes >= 4096);
        assert!(host.memory.available_bytes <= Some(host.memory.total_bytes));
        assert!(!host.allowed_cpus().is_empty() && host.open_files_limit() > 0);
        assert!(host.cpu.logical > 0 && !host.arch.is_empty() && !host.name.is_empty());
        assert!(host.kernel.version().is_some());
        assert_eq!((host.server, host.login.user.as_str()), (None, "postgres"));
    }

    #[test]
    fn nothing_to_read_is_no_fault() {
        let empty = tree(&[]);
        let host = read(empty.path(), Some(Path::new("/nonexistent/data")));
        assert_eq!((&host.cpu, &host.server), (&pgdyno_core::host::Cpu::default(), &None));
        assert!(host.devices.is_empty() && host.mounts.is_empty() && host.network.is_empty());
        assert!(host.kernel.sysctls.is_empty() && host.kernel.boot_words.is_empty());
        assert!(host.memory.total_bytes == 0 && !host.is_sized());
        assert_eq!(host.interrupts, pgdyno_core::host::InterruptBalance::default());
    }
}
