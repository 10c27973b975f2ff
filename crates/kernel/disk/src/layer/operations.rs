//! The operations of the layer on the source directory, without FUSE's replies.

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use fuser::{FileAttr, FileHandle, INodeNo, Request, TimeOrNow};
use rustix::{
    fs::{self, AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Timestamps, Uid},
    io::{Errno, Result},
};

use crate::layer::{
    attributes::{attributes, timespec},
    delay_line::DelayLine,
    directory::{Directory, Listed},
    file::{Aligned, File, Opened},
    handles::Handles,
    injector::{Injector, Kind},
    nodes::{Node, Nodes},
};

/// Bits of a mode that `chmod` sets.
const PERMISSIONS: u32 = 0o7777;
/// Bit of the mode of a directory that hands its group on to what is created in it.
const SET_GROUP: u32 = 0o2000;

/// The layer: what is known of the source directory, and what is open.
pub(crate) struct Layer {
    pub(crate) nodes: Nodes,
    files: Handles<File>,
    directories: Handles<Directory>,
    pub(crate) injector: Arc<Injector>,
    line: DelayLine,
    direct_io: DirectIo,
}

/// How files that are open with `O_DIRECT` are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectIo {
    /// By the layer: several threads may write to a file at the same time. Needs a kernel that keeps such files and the
    /// page cache of others consistent (Linux 6.6).
    OfLayer,
    /// By the kernel, which lets one write to a file at a time, unless they are asynchronous.
    OfKernel,
}

/// What an operation returned and when, and how long its answer is delayed from then on.
pub(crate) struct Timed<T> {
    result: Result<T>,
    end: Instant,
    delay: Duration,
}

/// Changes of the status of a file; absent ones are kept.
pub(crate) struct Change {
    pub(crate) mode: Option<u32>,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) atime: Option<TimeOrNow>,
    pub(crate) mtime: Option<TimeOrNow>,
}

impl Layer {
    /// The layer over a directory, with the most that is wanted of direct I/O.
    ///
    /// # Errors
    /// That of `fstat`.
    pub(crate) fn new(
        root: OwnedFd,
        injector: Arc<Injector>,
        line: DelayLine,
        direct_io: DirectIo,
    ) -> Result<Self> {
        let nodes = Nodes::new(root)?;
        let (files, directories) = (Handles::default(), Handles::default());
        Ok(Self { nodes, files, directories, injector, line, direct_io })
    }

    /// Leaves direct I/O to the kernel unless it is new enough.
    pub(crate) fn limit_direct_io(&mut self, new_enough: bool) {
        if !new_enough {
            self.direct_io = DirectIo::OfKernel;
        }
    }

    /// Whether direct I/O of a file is the layer's own.
    pub(crate) fn is_direct(&self, opened: Opened) -> bool {
        opened.direct && self.direct_io == DirectIo::OfLayer
    }

    /// What was opened, with a second descriptor past the page cache if need be. The kernel sends a sync after a
    /// synchronous write unless the layer has taken over.
    fn opened(&self, fd: OwnedFd, node: &Node, opened: Opened) -> Result<FileHandle> {
        let synchronous = opened.synchronous && self.is_direct(opened);
        let flags = opened.direct_flags(synchronous && !self.injector.drops_syncs());
        let direct = opened.direct.then(|| node.open(flags)).transpose()?;
        Ok(self.files.add(File::new(fd, direct, synchronous)))
    }

    /// Answers when the delay is over.
    pub(crate) fn answer<T: Send + 'static>(
        &self,
        timed: Timed<T>,
        reply: impl FnOnce(Result<T>) + Send + 'static,
    ) {
        let Timed { result, end, delay } = timed;
        self.line.answer(end, delay, move || reply(result));
    }

    /// Executes an operation, unless it is to fail, and draws its delay. Operations that fail are not delayed.
    fn timed<T>(&self, kind: Kind, operation: impl FnOnce() -> Result<T>) -> Timed<T> {
        let begin = Instant::now();
        let result = self.injector.begin(kind).and_then(|()| operation());
        let end = Instant::now();
        let delay = if result.is_ok() { self.injector.delay(kind, end - begin) } else { Duration::ZERO };
        Timed { result, end, delay }
    }

    pub(crate) fn look_up(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr> {
        let (number, stat) = self.nodes.look_up(&*self.nodes.get(parent)?, name)?;
        Ok(attributes(number, &stat))
    }

    pub(crate) fn status(&self, number: INodeNo) -> Result<FileAttr> {
        Ok(attributes(number, &self.nodes.get(number)?.stat()?))
    }

    /// Owner before mode, because a change of the owner clears set-user-id bits; times last, because the others set
    /// them.
    pub(crate) fn change(
        &self,
        number: INodeNo,
        file: Option<FileHandle>,
        change: &Change,
    ) -> Result<FileAttr> {
        let node = self.nodes.get(number)?;
        if change.uid.is_some() || change.gid.is_some() {
            set_owner(node.fd(), change.uid, change.gid)?;
        }
        if let Some(mode) = change.mode {
            fs::chmod(node.path(), Mode::from_raw_mode(mode & PERMISSIONS))?;
        }
        if let Some(size_bytes) = change.size_bytes {
            match file.and_then(|file| self.files.get(file).ok()) {
                Some(file) => fs::ftruncate(file.fd(), size_bytes)?,
                None => fs::ftruncate(node.open(OFlags::WRONLY)?, size_bytes)?,
            }
        }
        if change.atime.is_some() || change.mtime.is_some() {
            let times =
                Timestamps { last_access: timespec(change.atime), last_modification: timespec(change.mtime) };
            fs::utimensat(CWD, node.path(), &times, AtFlags::empty())?;
        }
        Ok(attributes(number, &node.stat()?))
    }

    pub(crate) fn read_link(&self, number: INodeNo) -> Result<Vec<u8>> {
        Ok(fs::readlinkat(self.nodes.get(number)?.fd(), "", Vec::new())?.into_bytes())
    }

    /// Creates something in a directory, owned by the requesting user.
    ///
    /// The mode is set again at the end: the kernel has applied the right umask to it, this process another one.
    pub(crate) fn make(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: Option<u32>,
        make: impl FnOnce(&OwnedFd) -> Result<()>,
    ) -> Result<FileAttr> {
        let directory = self.nodes.get(parent)?;
        make(directory.fd())?;
        let (number, stat) = self.nodes.look_up(&directory, name)?;
        let node = self.nodes.get(number)?;
        give(&node, &stat, request, &directory.stat()?)?;
        if let Some(mode) = mode.map(|mode| mode & PERMISSIONS) {
            fs::chmod(node.path(), Mode::from_raw_mode(mode | (stat.st_mode & SET_GROUP)))?;
        }
        Ok(attributes(number, &node.stat()?))
    }

    pub(crate) fn make_directory(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
    ) -> Result<FileAttr> {
        let make =
            |directory: &OwnedFd| fs::mkdirat(directory, name, Mode::from_raw_mode(mode & PERMISSIONS));
        self.make(request, parent, name, Some(mode), make)
    }

    pub(crate) fn make_node(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        device: u32,
    ) -> Result<FileAttr> {
        let permissions = Mode::from_raw_mode(mode & PERMISSIONS);
        let kind = FileType::from_raw_mode(mode);
        let make = |directory: &OwnedFd| fs::mknodat(directory, name, kind, permissions, device.into());
        self.make(request, parent, name, Some(mode), make)
    }

    pub(crate) fn make_symbolic_link(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
    ) -> Result<FileAttr> {
        self.make(request, parent, name, None, |directory| fs::symlinkat(target, directory, name))
    }

    pub(crate) fn link(&self, number: INodeNo, parent: INodeNo, name: &OsStr) -> Result<FileAttr> {
        let (node, directory) = (self.nodes.get(number)?, self.nodes.get(parent)?);
        fs::linkat(CWD, node.path(), directory.fd(), name, AtFlags::SYMLINK_FOLLOW)?;
        self.look_up(parent, name)
    }

    pub(crate) fn remove(&self, parent: INodeNo, name: &OsStr, flags: AtFlags) -> Result<()> {
        fs::unlinkat(self.nodes.get(parent)?.fd(), name, flags)
    }

    pub(crate) fn rename(
        &self,
        (parent, name): (INodeNo, &OsStr),
        (new_parent, new_name): (INodeNo, &OsStr),
        flags: fs::RenameFlags,
    ) -> Result<()> {
        let (from, to) = (self.nodes.get(parent)?, self.nodes.get(new_parent)?);
        fs::renameat_with(from.fd(), name, to.fd(), new_name, flags)
    }

    pub(crate) fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        opened: Opened,
    ) -> Result<(FileAttr, FileHandle)> {
        let mut file = None;
        let attributes = self.make(request, parent, name, Some(mode), |directory| {
            let flags = opened.flags() | OFlags::CREATE | OFlags::NOFOLLOW;
            file = Some(fs::openat(directory, name, flags, Mode::from_raw_mode(mode & PERMISSIONS))?);
            Ok(())
        })?;
        let node = self.nodes.get(attributes.ino)?;
        Ok((attributes, self.opened(file.ok_or(Errno::IO)?, &node, opened)?))
    }

    pub(crate) fn open(&self, number: INodeNo, opened: Opened) -> Result<FileHandle> {
        let node = self.nodes.get(number)?;
        self.opened(node.open(opened.flags())?, &node, opened)
    }

    pub(crate) fn close(&self, file: FileHandle) {
        self.files.remove(file);
    }

    pub(crate) fn read(&self, file: FileHandle, offset: u64, size: u32) -> Timed<Aligned> {
        self.timed(Kind::Read, || self.files.get(file)?.read(offset, size as usize))
    }

    /// A direct write of a file that is open with `O_DSYNC` is a sync as well: the kernel sends none.
    pub(crate) fn write(&self, file: FileHandle, offset: u64, data: &[u8], from_cache: bool) -> Timed<u32> {
        let mut syncs = false;
        let mut timed = self.timed(Kind::Write, || {
            let file = self.files.get(file)?;
            syncs = file.syncs_direct_writes && !from_cache;
            file.write(offset, data, from_cache)?;
            Ok(data.len() as u32)
        });
        if syncs && timed.result.is_ok() {
            let sync = self.sync(|| Ok(()));
            timed.delay += sync.delay;
            timed.result = timed.result.and_then(|written| sync.result.map(|()| written));
        }
        timed
    }

    pub(crate) fn sync_file(&self, file: FileHandle, data_only: bool) -> Timed<()> {
        self.sync(|| sync(self.files.get(file)?.fd(), data_only))
    }

    pub(crate) fn sync_directory(&self, directory: FileHandle, data_only: bool) -> Timed<()> {
        self.sync(|| sync(self.directories.get(directory)?.fd(), data_only))
    }

    fn sync(&self, operation: impl FnOnce() -> Result<()>) -> Timed<()> {
        if self.injector.drops_syncs() {
            let (result, end) = (self.injector.begin(Kind::Sync), Instant::now());
            return Timed { result, end, delay: Duration::ZERO };
        }
        self.timed(Kind::Sync, operation)
    }

    pub(crate) fn allocate(&self, file: FileHandle, offset: u64, size_bytes: u64, mode: i32) -> Result<()> {
        let mode = fs::FallocateFlags::from_bits_retain(mode.cast_unsigned());
        fs::fallocate(self.files.get(file)?.fd(), mode, offset, size_bytes)
    }

    pub(crate) fn open_directory(&self, number: INodeNo) -> Result<FileHandle> {
        let fd = self.nodes.get(number)?.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(self.directories.add(Directory::new(fd)))
    }

    pub(crate) fn close_directory(&self, directory: FileHandle) {
        self.directories.remove(directory);
    }

    pub(crate) fn entries(&self, directory: FileHandle, offset: u64) -> Result<Arc<Vec<Listed>>> {
        self.directories.get(directory)?.entries(offset)
    }

    pub(crate) fn space(&self) -> Result<fs::StatVfs> {
        fs::fstatvfs(self.nodes.get(INodeNo::ROOT)?.fd())
    }
}

fn sync(fd: &OwnedFd, data_only: bool) -> Result<()> {
    if data_only { fs::fdatasync(fd) } else { fs::fsync(fd) }
}

/// Makes the requesting user and group the owner of what this process created; files in a set-group-ID directory keep
/// its group.
fn give(node: &Node, stat: &Stat, request: &Request, directory: &Stat) -> Result<()> {
    let gid = if directory.st_mode & SET_GROUP == 0 { request.gid() } else { stat.st_gid };
    if (stat.st_uid, stat.st_gid) == (request.uid(), gid) {
        return Ok(());
    }
    set_owner(node.fd(), Some(request.uid()), Some(gid))
}

fn set_owner(fd: &OwnedFd, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    fs::chownat(fd, "", uid.map(Uid::from_raw), gid.map(Gid::from_raw), flags)
}
