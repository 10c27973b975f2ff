//! Facts about the machine, read from `/proc`, `/sys`, the control groups and a few system calls.
//!
//! Every parser takes text and every reader takes the root of a file tree, so that all are tested independently of the
//! machine. What cannot be read is absent, never 0.

pub(crate) mod cgroup;
pub(crate) mod cpu;
pub(crate) mod file;
pub(crate) mod memory;
pub(crate) mod mounts;
mod storage;
pub(crate) mod system;

use std::{io, path::Path};

use pgdyno_core::facts::HostFacts;

use rustix::process::{Resource, getrlimit};
pub(crate) use storage::device_name;
pub use storage::read as storage;

use file::first_line;

/// Reads the facts of this machine for this process.
///
/// # Errors
/// If `/proc/meminfo` cannot be read or has no total; everything else may be absent.
pub fn host() -> io::Result<HostFacts> {
    host_at(Path::new("/"))
}

/// The name of this machine.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Reads the facts of this machine with the files of `/proc`, `/sys` and `/etc` taken from under `root`.
///
/// # Errors
/// If `proc/meminfo` under `root` cannot be read or has no total.
pub fn host_at(root: &Path) -> io::Result<HostFacts> {
    let uname = rustix::system::uname();
    let words = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Ok(HostFacts {
        os: system::os(root),
        kernel: words(uname.release()),
        arch: words(uname.machine()),
        cpu: cpu::read(root),
        memory: memory::read(root)?,
        cgroup: cgroup::read(root),
        clocksource: first_line(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        virtualization: system::virtualization(root),
        open_files_limit: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        memlock_limit_bytes: getrlimit(Resource::Memlock).current,
    })
}

/// The mount that holds a path.
pub(crate) struct MountOf {
    /// Its device as `major:minor`.
    pub device_number: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Type of the file system.
    pub filesystem: String,
}

/// Finds the mount that holds a path, or its nearest existing ancestor. The kernel's files are taken from under `root`.
pub(crate) fn mount_of(root: &Path, path: &Path) -> Option<MountOf> {
    let there = storage::nearest_existing(path).ok()?;
    let all = mounts::parse(&file::text(root, "proc/self/mountinfo")?);
    let mount = mounts::holding(&all, &there)?;
    Some(MountOf {
        device_number: mount.device_number.clone(),
        mount_point: mount.mount_point.display().to_string(),
        filesystem: mount.filesystem.clone(),
    })
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
    fn this_machine_has_facts() {
        let facts = host().expect("this machine has /proc");
        assert!(facts.memory.total_bytes > 1 << 20);
        assert!(facts.memory.available_bytes <= facts.memory.total_bytes);
        assert!(!facts.cpu.allowed.is_empty());
        assert!(!facts.kernel.is_empty());
        assert!(facts.open_files_limit > 0);
    }

    #[test]
    fn an_empty_tree_is_an_error_and_a_bare_one_is_not() {
        let empty = tree(&[]);
        assert!(host_at(empty.path()).is_err());
        let bare = tree(&[("proc/meminfo", "MemTotal: 1024 kB\n")]);
        let facts = host_at(bare.path()).expect("a total is enough");
        assert_eq!(facts.memory.total_bytes, 1 << 20);
        assert_eq!(facts.cgroup, pgdyno_core::facts::CgroupLimits::default());
        assert_eq!(facts.os, None);
    }
}
