//! The file that tests write to, and what they write.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::{Path, PathBuf},
};

use pgdyno_core::random::Random;
use pgdyno_host::new_file;
use rustix::fs::{Mode, OFlags, open, openat};

/// Bytes per write when a file is filled.
const CHUNK_BYTES: u64 = 1 << 20;
/// Alignment of buffers in bytes, as `O_DIRECT` needs it; pg_test_fsync aligns to a WAL page.
const ALIGNMENT: usize = 8_192;

/// An empty file of its own, opened for reading and writing.
pub(super) struct Scratch {
    pub file: File,
    /// Its name, while it has one.
    name: Option<PathBuf>,
    /// Its descriptor below that of `/proc/self/fd`: a walk from the root to there takes as long as opening a file.
    descriptors: OwnedFd,
    number: String,
}

impl Scratch {
    /// Creates the file with mode 0600. Unless it is to keep its name it is unlinked at once, so that nothing stays
    /// whatever happens; otherwise it is removed when this is dropped.
    pub(super) fn create(dir: &Path, named: bool) -> io::Result<Self> {
        let descriptors = open("/proc/self/fd", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let (file, path) = new_file::create(dir)?;
        let number = file.as_raw_fd().to_string();
        let unlinked = if named { Ok(()) } else { fs::remove_file(&path) };
        let scratch = Self { file, name: named.then_some(path), descriptors, number };
        unlinked.map(|()| scratch)
    }

    /// Opens the file once more, with further flags of `open(2)`.
    ///
    /// They are numbers of libc: `OFlags::DSYNC` of rustix 1.1 is `O_SYNC` on Linux.
    pub(super) fn reopen(&self, flags: i32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::from_bits_retain(flags.cast_unsigned());
        let opened = match &self.name {
            Some(path) => open(path, flags, Mode::empty()),
            None => openat(&self.descriptors, self.number.as_str(), flags, Mode::empty()),
        };
        Ok(File::from(opened?))
    }

    /// Writes this many bytes from the start, as long as `may_continue` says so. Returns whether all were written.
    pub(super) fn fill(
        &self,
        bytes: u64,
        chunk: &mut Block,
        mut may_continue: impl FnMut() -> bool,
    ) -> io::Result<bool> {
        let mut offset = 0;
        while offset < bytes && may_continue() {
            let length = (bytes - offset).min(chunk.len());
            self.file.write_all_at(&chunk.next()[..length as usize], offset)?;
            offset += length;
        }
        Ok(offset >= bytes)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(path) = &self.name {
            // An error cannot be reported here; the documentation names the file.
            let _ = fs::remove_file(path);
        }
    }
}

/// Aligned bytes to write.
pub(super) struct Block {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
    written: u64,
}

impl Block {
    /// Bytes that no device can compress.
    pub(super) fn random(length: u64) -> Self {
        let mut block = Self::zeros(length);
        let mut random = Random::seeded(length);
        let range = block.start..block.start + block.length;
        for word in block.bytes[range].chunks_mut(8) {
            word.copy_from_slice(&random.next_bits().to_ne_bytes()[..word.len()]);
        }
        block
    }

    /// Bytes to fill a file with.
    pub(super) fn chunk() -> Self {
        Self::random(CHUNK_BYTES)
    }

    /// Zeros.
    pub(super) fn zeros(length: u64) -> Self {
        let bytes = vec![0; length as usize + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start, length: length as usize, written: 0 }
    }

    pub(super) fn len(&self) -> u64 {
        self.length as u64
    }

    /// The bytes as they are.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    /// The bytes, with another content than before: a device may recognise what it has already.
    #[inline]
    pub(super) fn next(&mut self) -> &[u8] {
        self.written += 1;
        let word = self.written.to_ne_bytes();
        self.bytes[self.start..self.start + word.len()].copy_from_slice(&word);
        self.bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, io::Read, os::unix::fs::MetadataExt};

    use super::*;

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).expect("it is there").count()
    }

    #[test]
    fn a_file_without_a_name_leaves_nothing_and_can_be_opened_again() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        assert_eq!(entries(dir.path()), 0);
        assert_eq!(scratch.file.metadata().expect("it is open").mode() & 0o777, 0o600);
        assert!(scratch.fill(100_000, &mut Block::chunk(), || true).expect("there is space"));
        let mut text = Vec::new();
        let mut again = scratch.reopen(0).expect("it can be opened");
        again.read_to_end(&mut text).expect("it can be read");
        assert_eq!(text.len(), 100_000);
    }

    #[test]
    fn a_file_with_a_name_is_removed_at_the_end() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), true).expect("it can be made");
        let other = Scratch::create(dir.path(), true).expect("so can another");
        assert_eq!(entries(dir.path()), 2);
        scratch.reopen(libc::O_DSYNC).expect("it can be opened");
        drop((scratch, other));
        assert_eq!(entries(dir.path()), 0);
    }

    #[test]
    fn filling_ends_on_request() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        let mut chunks = 0;
        let may_continue = || {
            chunks += 1;
            chunks < 3
        };
        assert!(!scratch.fill(16 << 20, &mut Block::chunk(), may_continue).expect("there is space"));
        assert_eq!(scratch.file.metadata().expect("it is open").len(), 2 << 20);
    }

    #[test]
    fn blocks_are_aligned_and_never_repeat() {
        for length in [512, 8_192, 1 << 20] {
            let mut block = Block::random(length);
            assert_eq!(block.bytes().as_ptr().align_offset(ALIGNMENT), 0);
            let contents: HashSet<Vec<u8>> = (0..50).map(|_| block.next().to_vec()).collect();
            assert_eq!((contents.len(), block.bytes().len() as u64), (50, length));
            let different: HashSet<u8> = block.bytes().iter().copied().collect();
            assert!(different.len() > 200, "{length}");
        }
    }
}
