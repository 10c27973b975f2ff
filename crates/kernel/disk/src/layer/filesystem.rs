//! The layer as a FUSE file system.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use rustix::{fs::AtFlags, io::Result};

use crate::layer::{
    attributes::errno,
    file::Opened,
    operations::{Change, Layer},
};

/// How long the kernel may keep names and attributes: no other program changes them.
const KEPT: Duration = Duration::from_secs(3_600);
/// An inode number never identifies another file while the kernel knows it.
const GENERATION: Generation = Generation(0);
/// Largest write that the kernel may send, in bytes.
const MAX_WRITE_BYTES: u32 = 1 << 20;
/// Requests of the page cache and of asynchronous I/O that may be in flight at once; 12 by default.
const MAX_BACKGROUND: u16 = 1_024;
/// What the kernel may do, if it can: write pages back when it must and not at once, send asynchronous direct I/O
/// without waiting, look names up in parallel, read attributes with directories.
const WANTED: [InitFlags; 5] = [
    InitFlags::FUSE_WRITEBACK_CACHE,
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
];

/// How the kernel treats a file.
fn open_flags(direct: bool) -> FopenFlags {
    match direct {
        true => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
        false => FopenFlags::FOPEN_KEEP_CACHE,
    }
}

fn entry(reply: ReplyEntry, result: Result<FileAttr>) {
    match result {
        Ok(attributes) => reply.entry(&KEPT, &attributes, GENERATION),
        Err(error) => reply.error(errno(error)),
    }
}

fn attribute(reply: ReplyAttr, result: Result<FileAttr>) {
    match result {
        Ok(attributes) => reply.attr(&KEPT, &attributes),
        Err(error) => reply.error(errno(error)),
    }
}

fn empty(reply: ReplyEmpty, result: Result<()>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

impl Filesystem for Layer {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in WANTED {
            // Without one of them the layer works as well, only slower.
            let _ = config.add_capabilities(wanted);
        }
        self.limit_direct_io(config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP).is_ok());
        let _ = config.set_max_write(MAX_WRITE_BYTES);
        let _ = config.set_max_background(MAX_BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(reply, self.look_up(parent, name));
    }

    fn forget(&self, _: &Request, number: INodeNo, lookups: u64) {
        self.nodes.forget(number, lookups);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attribute(reply, self.status(number));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size_bytes: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        file: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change { mode, uid, gid, size_bytes, atime, mtime };
        attribute(reply, self.change(number, file, &change));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.read_link(number) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        entry(reply, self.make_node(request, parent, name, mode, device));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        entry(reply, self.make_directory(request, parent, name, mode));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.remove(parent, name, AtFlags::empty()));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.remove(parent, name, AtFlags::REMOVEDIR));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        entry(reply, self.make_symbolic_link(request, parent, name, target));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        empty(reply, Layer::rename(self, (parent, name), (new_parent, new_name), flags));
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(reply, Layer::link(self, number, parent, name));
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let opened = Opened::by(flags);
        match Layer::create(self, request, parent, name, mode, opened) {
            Ok((attributes, file)) => {
                reply.created(&KEPT, &attributes, GENERATION, file, open_flags(self.is_direct(opened)))
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = Opened::by(flags.0);
        match Layer::open(self, number, opened) {
            Ok(file) => reply.opened(file, open_flags(self.is_direct(opened))),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        file: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.answer(Layer::read(self, file, offset, size), |result| match result {
            Ok(buffer) => reply.data(buffer.bytes()),
            Err(error) => reply.error(errno(error)),
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        file: FileHandle,
        offset: u64,
        data: &[u8],
        flags: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let from_cache = flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        self.answer(Layer::write(self, file, offset, data, from_cache), |result| match result {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(errno(error)),
        });
    }

    /// There are no delayed writes that `close` would have to flush; after this answer the kernel sends no more
    /// requests.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        file: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.close(file);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, file: FileHandle, data_only: bool, reply: ReplyEmpty) {
        self.answer(self.sync_file(file, data_only), |result| empty(reply, result));
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.open_directory(number) {
            Ok(directory) => reply.opened(directory, FopenFlags::empty()),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        directory: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = match self.entries(directory, offset) {
            Ok(entries) => entries,
            Err(error) => return reply.error(errno(error)),
        };
        for (next, listed) in (offset + 1..).zip(entries.iter().skip(offset as usize)) {
            if reply.add(listed.number, next, listed.kind, &listed.name) {
                break;
            }
        }
        reply.ok();
    }

    /// Every returned entry counts as a lookup, except `.` and `..`, which the kernel ignores.
    fn readdirplus(
        &self,
        _: &Request,
        parent: INodeNo,
        directory: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let entries = match self.entries(directory, offset) {
            Ok(entries) => entries,
            Err(error) => return reply.error(errno(error)),
        };
        for (next, listed) in (offset + 1..).zip(entries.iter().skip(offset as usize)) {
            let counts = listed.name != "." && listed.name != "..";
            let found = if counts { self.look_up(parent, &listed.name) } else { self.status(parent) };
            // One that is gone by now, or that is in another file system, is left out.
            let Ok(attributes) = found else { continue };
            if reply.add(attributes.ino, next, &listed.name, &KEPT, &attributes, GENERATION) {
                if counts {
                    self.nodes.forget(attributes.ino, 1);
                }
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, directory: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.close_directory(directory);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, directory: FileHandle, data_only: bool, reply: ReplyEmpty) {
        self.answer(self.sync_directory(directory, data_only), |result| empty(reply, result));
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.space() {
            Ok(of) => reply.statfs(
                of.f_blocks,
                of.f_bfree,
                of.f_bavail,
                of.f_files,
                of.f_ffree,
                of.f_bsize as u32,
                of.f_namemax as u32,
                of.f_frsize as u32,
            ),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        file: FileHandle,
        offset: u64,
        size_bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(reply, self.allocate(file, offset, size_bytes, mode));
    }
}
