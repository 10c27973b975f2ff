//! Open files.

use std::os::fd::OwnedFd;

use rustix::{
    fs::OFlags,
    io::{self, Errno, Result},
};

/// Alignment of buffers for `O_DIRECT`, in bytes: that of a page, which is enough for every device.
const ALIGNMENT: usize = 4096;

/// `O_DSYNC`. The flag of that name in rustix 1.1 is `O_SYNC`, which syncs the time of the change, too.
const DATA_SYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

/// How a program opened a file, as far as the layer is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    /// With `O_DIRECT`.
    pub(crate) direct: bool,
    /// With `O_DSYNC` or `O_SYNC`.
    pub(crate) synchronous: bool,
    /// Flags for the file in the source directory.
    flags: OFlags,
}

impl Opened {
    /// By the flags of `open`.
    ///
    /// The kernel writes back pages through any descriptor of a file and may have to read a page first that is
    /// written in part: so one that is open for writing must be readable as well. Where to append is the kernel's
    /// business, which knows the size. Synchronous writes through the page cache are followed by a sync from the
    /// kernel, so that they must not be synchronous here a second time.
    pub(crate) fn by(flags: i32) -> Self {
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        let (direct, synchronous) = (flags.contains(OFlags::DIRECT), flags.intersects(DATA_SYNC));
        let dropped = OFlags::RWMODE | OFlags::APPEND | OFlags::DIRECT | OFlags::SYNC | OFlags::NOFOLLOW;
        let access = match flags & OFlags::RWMODE {
            OFlags::WRONLY => OFlags::RDWR,
            access => access,
        };
        Self { direct, synchronous, flags: (flags & !dropped) | access }
    }

    /// Flags for the file in the source directory.
    pub(crate) fn flags(self) -> OFlags {
        self.flags | OFlags::CLOEXEC
    }

    /// Flags for a second descriptor that bypasses the page cache, and writes synchronously or not.
    pub(crate) fn direct_flags(self, synchronous: bool) -> OFlags {
        let creation = OFlags::CREATE | OFlags::EXCL | OFlags::TRUNC;
        let sync = if synchronous { DATA_SYNC } else { OFlags::empty() };
        (self.flags & !creation) | OFlags::DIRECT | sync
    }
}

/// An open file of the source directory.
pub(crate) struct File {
    /// Through the page cache; also for pages that the kernel writes back, which need not be aligned.
    fd: OwnedFd,
    /// Past the page cache, if it was opened so.
    direct: Option<OwnedFd>,
    /// Whether a direct write is synced as well.
    pub(crate) syncs_direct_writes: bool,
}

impl File {
    /// A file by its descriptors.
    pub(crate) fn new(fd: OwnedFd, direct: Option<OwnedFd>, syncs_direct_writes: bool) -> Self {
        Self { fd, direct, syncs_direct_writes }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Reads up to `size` bytes; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub(crate) fn read(&self, offset: u64, size: usize) -> Result<Aligned> {
        let fd = self.direct.as_ref().unwrap_or(&self.fd);
        let mut buffer = Aligned::new(size);
        let mut read = 0;
        while read < size {
            match io::pread(fd, &mut buffer.bytes_mut()[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(Errno::INTR) => {}
                // A direct read that ended in the last block cannot continue from there.
                Err(Errno::INVAL) if read > 0 => break,
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(read);
        Ok(buffer)
    }

    /// Writes all bytes; past the page cache if the file was opened so, unless they come from the kernel's own cache.
    ///
    /// # Errors
    /// Those of `pwrite`.
    pub(crate) fn write(&self, offset: u64, data: &[u8], from_cache: bool) -> Result<()> {
        match &self.direct {
            Some(direct) if !from_cache => {
                let mut buffer = Aligned::new(data.len());
                buffer.bytes_mut().copy_from_slice(data);
                write_all(direct, offset, buffer.bytes())
            }
            _ => write_all(&self.fd, offset, data),
        }
    }
}

fn write_all(fd: &OwnedFd, offset: u64, data: &[u8]) -> Result<()> {
    let mut written = 0;
    while written < data.len() {
        match io::pwrite(fd, &data[written..], offset + written as u64) {
            Ok(0) => return Err(Errno::IO),
            Ok(more) => written += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes whose first one is at the start of a page.
pub(crate) struct Aligned {
    memory: Vec<u8>,
    start: usize,
    size: usize,
}

impl Aligned {
    fn new(size: usize) -> Self {
        let memory = vec![0; size + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, start, size }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.size]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.size]
    }

    fn truncate(&mut self, size: usize) {
        self.size = self.size.min(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(flags: OFlags) -> Opened {
        Opened::by(flags.bits().cast_signed())
    }

    #[test]
    fn the_kernel_can_read_what_it_writes_back_and_appends_itself() {
        let opened = by(OFlags::WRONLY | OFlags::APPEND | OFlags::TRUNC);
        assert_eq!(opened.flags(), OFlags::RDWR | OFlags::TRUNC | OFlags::CLOEXEC);
        assert!(!opened.direct && !opened.synchronous);
        assert_eq!(by(OFlags::RDONLY).flags(), OFlags::RDONLY | OFlags::CLOEXEC);
    }

    #[test]
    fn only_direct_writes_are_synchronous_here() {
        for flag in [DATA_SYNC, OFlags::SYNC] {
            let cached = by(OFlags::RDWR | flag);
            assert!(cached.synchronous && !cached.flags().intersects(OFlags::SYNC));
            let direct = by(OFlags::RDWR | OFlags::DIRECT | flag);
            assert!(direct.direct && !direct.flags().contains(OFlags::DIRECT));
            assert_eq!(direct.direct_flags(true), OFlags::RDWR | OFlags::DIRECT | DATA_SYNC);
            assert_eq!(direct.direct_flags(false), OFlags::RDWR | OFlags::DIRECT);
        }
    }

    #[test]
    fn buffers_begin_at_a_page() {
        for size in [0, 1, 512, 8192, 1 << 20] {
            let mut buffer = Aligned::new(size);
            assert_eq!((buffer.bytes().as_ptr() as usize % ALIGNMENT, buffer.bytes().len()), (0, size));
            buffer.truncate(size / 2);
            assert_eq!(buffer.bytes().len(), size / 2);
        }
    }
}
