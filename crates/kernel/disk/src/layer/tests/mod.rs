//! Tests on a mounted layer. They need FUSE: root, or `fusermount3`.

mod injects;
mod mounts;
mod passes_through;

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rustix::fs::OFlags;
use tempfile::TempDir;
use testkit::left_out;

use crate::layer::{Behaviour, Mount, mount::mount_with, operations::DirectIo};

/// Both ways of direct I/O: that of new kernels, and that of old ones.
const BOTH: [DirectIo; 2] = [DirectIo::OfLayer, DirectIo::OfKernel];

/// Bytes of a block: a page of PostgreSQL.
const BLOCK: usize = 8192;

/// Whether FUSE can be mounted here. Where not, the calling test is left out.
fn can_mount() -> bool {
    static CAN: OnceLock<Result<(), String>> = OnceLock::new();
    let can = CAN.get_or_init(|| {
        let dir = directory();
        let [source, at] = ["source", "at"].map(|name| dir.path().join(name));
        [&source, &at].into_iter().for_each(|made| std::fs::create_dir(made).expect("it is new"));
        crate::layer::mount(&source, &at, Behaviour::default())
            .map(drop)
            .map_err(|problem| problem.to_string())
    });
    can.as_ref().map_err(|why| left_out(why)).is_ok()
}

/// A layer over a new directory; unmounted before its directories are removed.
struct Layered {
    mount: Mount,
    source: PathBuf,
    _dir: TempDir,
}

/// On a disk: memory file systems know no `O_DIRECT` before Linux 6.6.
fn directory() -> TempDir {
    tempfile::tempdir_in("/var/tmp").expect("a directory on a disk")
}

fn layered(behaviour: Behaviour) -> Layered {
    layered_with(behaviour, DirectIo::OfLayer)
}

fn layered_with(behaviour: Behaviour, direct_io: DirectIo) -> Layered {
    let dir = directory();
    let source = dir.path().join("source");
    std::fs::create_dir(&source).expect("it is new");
    layered_over(source, behaviour, direct_io, dir)
}

fn layered_over(source: PathBuf, behaviour: Behaviour, direct_io: DirectIo, dir: TempDir) -> Layered {
    let at = dir.path().join("at");
    std::fs::create_dir(&at).expect("it is new");
    let mount =
        mount_with(&source, &at, behaviour, direct_io).unwrap_or_else(|problem| panic!("{problem:?}"));
    Layered { mount, source, _dir: dir }
}

impl Layered {
    /// A layer over this one.
    fn covered_by(&self, behaviour: Behaviour, direct_io: DirectIo) -> Layered {
        layered_over(self.mount.at().to_owned(), behaviour, direct_io, directory())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.mount.at().join(name)
    }
}

/// Opens a file for reading and writing, creating it if need be, with further flags.
fn open(path: &Path, flags: OFlags) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags.bits().cast_signed());
    options.open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A block at the start of a page, as `O_DIRECT` needs it.
struct Block {
    memory: Vec<u8>,
    start: usize,
}

impl Block {
    fn of(byte: u8) -> Self {
        let memory = vec![byte; 2 * BLOCK];
        let start = memory.as_ptr().align_offset(4096);
        Self { memory, start }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + BLOCK]
    }

    fn write(&self, file: &File, number: u64) -> io::Result<()> {
        file.write_all_at(self.bytes(), number * BLOCK as u64)
    }

    fn read(&mut self, file: &File, number: u64) -> io::Result<()> {
        file.read_exact_at(&mut self.memory[self.start..self.start + BLOCK], number * BLOCK as u64)
    }
}
