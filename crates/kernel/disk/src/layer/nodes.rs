//! The inodes that the kernel knows, each with a descriptor of its file.

use std::{
    collections::{HashMap, hash_map::Entry},
    os::fd::{AsRawFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use fuser::INodeNo;
use rustix::{
    fs::{self, Mode, OFlags, Stat},
    io::{Errno, Result},
};

/// A file without being opened: its descriptor names it, whatever it is renamed to.
pub(crate) struct Node {
    fd: OwnedFd,
}

impl Node {
    /// The descriptor, opened with `O_PATH`.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// A path by which system calls reach the file itself that take no descriptor with `O_PATH`.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Opens the file with these flags.
    pub(crate) fn open(&self, flags: OFlags) -> Result<OwnedFd> {
        fs::open(self.path(), flags | OFlags::CLOEXEC, Mode::empty())
    }

    pub(crate) fn stat(&self) -> Result<Stat> {
        fs::fstat(&self.fd)
    }
}

/// A node with the kernel's lookup count: lookups that it has not forgotten.
struct Known {
    node: Arc<Node>,
    lookups: u64,
}

/// All nodes by inode number. A number is that of the file in the source directory: while a node holds its file, no
/// other file gets it. The root is 1, as FUSE wants it.
pub(crate) struct Nodes {
    root: Arc<Node>,
    device: u64,
    root_number: u64,
    known: RwLock<HashMap<u64, Known>>,
}

impl Nodes {
    /// The nodes below a directory, opened with `O_PATH`.
    ///
    /// # Errors
    /// That of `fstat`.
    pub(crate) fn new(root: OwnedFd) -> Result<Self> {
        let stat = fs::fstat(&root)?;
        let root = Arc::new(Node { fd: root });
        Ok(Self { root, device: stat.st_dev, root_number: stat.st_ino, known: RwLock::default() })
    }

    /// The node of a number.
    ///
    /// # Errors
    /// `ESTALE` if the kernel does not know it.
    pub(crate) fn get(&self, number: INodeNo) -> Result<Arc<Node>> {
        if number == INodeNo::ROOT {
            return Ok(Arc::clone(&self.root));
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&number.0).map(|known| Arc::clone(&known.node)).ok_or(Errno::STALE)
    }

    /// The number that the kernel knows a file by.
    ///
    /// # Errors
    /// `EXDEV` if it is in another file system than the source directory, or has the number of the root.
    pub(crate) fn number(&self, stat: &Stat) -> Result<INodeNo> {
        match stat.st_ino {
            _ if stat.st_dev != self.device => Err(Errno::XDEV),
            number if number == self.root_number => Ok(INodeNo::ROOT),
            number if INodeNo(number) == INodeNo::ROOT => Err(Errno::XDEV),
            number => Ok(INodeNo(number)),
        }
    }

    /// Looks a name up in a directory and adds one to the node's lookup count; returns its number and status.
    ///
    /// # Errors
    /// Those of `openat`, `fstat` and [`Nodes::number`].
    pub(crate) fn look_up(&self, parent: &Node, name: &std::ffi::OsStr) -> Result<(INodeNo, Stat)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(parent.fd(), name, flags, Mode::empty())?;
        let stat = fs::fstat(&fd)?;
        let number = self.number(&stat)?;
        if number != INodeNo::ROOT {
            self.add(number, fd);
        }
        Ok((number, stat))
    }

    fn add(&self, number: INodeNo, fd: OwnedFd) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.entry(number.0) {
            Entry::Occupied(mut entry) => entry.get_mut().lookups += 1,
            Entry::Vacant(entry) => {
                entry.insert(Known { node: Arc::new(Node { fd }), lookups: 1 });
            }
        }
    }

    /// Takes back lookups; without any the node is gone.
    pub(crate) fn forget(&self, number: INodeNo, lookups: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut entry) = known.entry(number.0) {
            let left = entry.get().lookups.saturating_sub(lookups);
            entry.get_mut().lookups = left;
            if left == 0 {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, fs::File};

    use super::*;

    fn nodes(dir: &std::path::Path) -> Nodes {
        let root = fs::open(dir, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("it is there");
        Nodes::new(root).expect("it is a directory")
    }

    #[test]
    fn a_node_lives_as_long_as_the_kernel_knows_it() {
        let dir = tempfile::tempdir().expect("a directory");
        File::create(dir.path().join("a")).expect("it is new");
        std::fs::hard_link(dir.path().join("a"), dir.path().join("b")).expect("a second name");
        let nodes = nodes(dir.path());
        let root = nodes.get(INodeNo::ROOT).expect("the root is always known");
        let (first, _) = nodes.look_up(&root, OsStr::new("a")).expect("it is there");
        let (second, stat) = nodes.look_up(&root, OsStr::new("b")).expect("it is there");
        assert_eq!((first, stat.st_nlink), (second, 2));
        nodes.forget(first, 1);
        assert!(nodes.get(first).is_ok());
        nodes.forget(first, 1);
        assert_eq!(nodes.get(first).err(), Some(Errno::STALE));
    }

    #[test]
    fn a_node_follows_its_file_through_renames_and_removal() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("a"), "text").expect("it is new");
        let nodes = nodes(dir.path());
        let root = nodes.get(INodeNo::ROOT).expect("the root is always known");
        let (number, _) = nodes.look_up(&root, OsStr::new("a")).expect("it is there");
        std::fs::rename(dir.path().join("a"), dir.path().join("b")).expect("it is there");
        std::fs::remove_file(dir.path().join("b")).expect("it is there");
        let node = nodes.get(number).expect("it is known");
        assert_eq!(std::fs::read_to_string(node.path()).expect("it is open"), "text");
    }

    /// /proc is mounted below /, and its root has a number of its own file system.
    #[test]
    fn other_file_systems_are_not_shown() {
        let nodes = nodes(std::path::Path::new("/"));
        let root = nodes.get(INodeNo::ROOT).expect("the root is always known");
        assert_eq!(nodes.look_up(&root, OsStr::new("proc")).err(), Some(Errno::XDEV));
    }
}
