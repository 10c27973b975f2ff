//! A layer that injects nothing is the directory below it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use rustix::{
    fs::{AtFlags, CWD, FallocateFlags, OFlags, RenameFlags, Timespec, Timestamps},
    mm::{MapFlags, ProtFlags},
};

use super::{BLOCK, BOTH, Block, can_mount, directory, layered, layered_with, open};
use crate::layer::{Behaviour, operations::DirectIo};

/// What a program may do in a directory; names are few, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    Create { name: usize, mode: u32, exclusive: bool },
    Write { name: usize, offset: u64, size: usize, byte: u8, flags: OFlags },
    Append { name: usize, size: usize, byte: u8 },
    Read { name: usize },
    Truncate { name: usize, size: u64 },
    Allocate { name: usize, offset: u64, size: u64, mode: FallocateFlags },
    Rename { from: usize, to: usize, flags: RenameFlags },
    Remove { name: usize },
    MakeDirectory { name: usize, mode: u32 },
    RemoveDirectory { name: usize },
    SymbolicLink { name: usize, target: usize },
    HardLink { name: usize, new: usize },
    Mode { name: usize, mode: u32 },
    Times { name: usize, seconds: i64, nanoseconds: i64 },
}

const NAMES: [&str; 6] = ["a", "b", "d", "d/a", "d/b", "d/e"];

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let name = || 0..NAMES.len();
    let mode = || prop::sample::select(vec![0o600_u32, 0o640, 0o644, 0o700, 0o755, 0o1777, 0o2750]);
    let offset = || prop::sample::select(vec![0_u64, 1, 100, 4096, 8192, 8191, 20_000, 70_000]);
    let size = || prop::sample::select(vec![0_usize, 1, 100, 4096, 8192, 9000, 70_000]);
    let flags = vec![OFlags::empty(), OFlags::DSYNC, OFlags::SYNC, OFlags::TRUNC];
    let kinds = vec![FallocateFlags::empty(), FallocateFlags::KEEP_SIZE];
    let renames = vec![RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE];
    let flags = prop::sample::select(flags);
    prop_oneof![
        3 => (name(), mode(), any::<bool>()).prop_map(|(name, mode, exclusive)| Create { name, mode, exclusive }),
        5 => (name(), offset(), size(), any::<u8>(), flags)
            .prop_map(|(name, offset, size, byte, flags)| Write { name, offset, size, byte, flags }),
        2 => (name(), size(), any::<u8>()).prop_map(|(name, size, byte)| Append { name, size, byte }),
        3 => name().prop_map(|name| Read { name }),
        1 => (name(), offset()).prop_map(|(name, size)| Truncate { name, size }),
        1 => (name(), offset(), size(), prop::sample::select(kinds))
            .prop_map(|(name, offset, size, mode)| Allocate { name, offset, size: size as u64, mode }),
        3 => (name(), name(), prop::sample::select(renames))
            .prop_map(|(from, to, flags)| Rename { from, to, flags }),
        1 => name().prop_map(|name| Remove { name }),
        3 => (name(), mode()).prop_map(|(name, mode)| MakeDirectory { name, mode }),
        1 => name().prop_map(|name| RemoveDirectory { name }),
        1 => (name(), name()).prop_map(|(name, target)| SymbolicLink { name, target }),
        2 => (name(), name()).prop_map(|(name, new)| HardLink { name, new }),
        1 => (name(), mode()).prop_map(|(name, mode)| Mode { name, mode }),
        1 => (name(), -1_000_000_i64..4_000_000_000, 0_i64..1_000_000_000)
            .prop_map(|(name, seconds, nanoseconds)| Times { name, seconds, nanoseconds }),
    ]
}

impl Step {
    /// Executes it below a directory; returns what was read, or nothing.
    fn execute(&self, dir: &Path) -> io::Result<Vec<u8>> {
        let at = |name: usize| dir.join(NAMES[name]);
        let writing = |name: usize| OpenOptions::new().write(true).open(at(name));
        match *self {
            Self::Create { name, mode, exclusive } => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(false).create_new(exclusive).mode(mode);
                options.open(at(name)).map(drop)
            }
            Self::Write { name, offset, size, byte, flags } => {
                let flags = flags.bits().cast_signed();
                let file = OpenOptions::new().write(true).custom_flags(flags).open(at(name))?;
                file.write_all_at(&vec![byte; size], offset)
            }
            Self::Append { name, size, byte } => {
                let mut file = OpenOptions::new().append(true).open(at(name))?;
                io::Write::write_all(&mut file, &vec![byte; size])
            }
            Self::Read { name } => return fs::read(at(name)),
            Self::Truncate { name, size } => writing(name)?.set_len(size),
            Self::Allocate { name, offset, size, mode } => {
                Ok(rustix::fs::fallocate(writing(name)?, mode, offset, size)?)
            }
            Self::Rename { from, to, flags } => {
                Ok(rustix::fs::renameat_with(CWD, at(from), CWD, at(to), flags)?)
            }
            Self::Remove { name } => fs::remove_file(at(name)),
            Self::MakeDirectory { name, mode } => {
                fs::create_dir(at(name))?;
                fs::set_permissions(at(name), fs::Permissions::from_mode(mode))
            }
            Self::RemoveDirectory { name } => fs::remove_dir(at(name)),
            Self::SymbolicLink { name, target } => std::os::unix::fs::symlink(NAMES[target], at(name)),
            Self::HardLink { name, new } => fs::hard_link(at(name), at(new)),
            Self::Mode { name, mode } => fs::set_permissions(at(name), fs::Permissions::from_mode(mode)),
            Self::Times { name, seconds, nanoseconds } => set_times(&at(name), seconds, nanoseconds),
        }
        .map(|()| Vec::new())
    }
}

fn set_times(path: &Path, seconds: i64, nanoseconds: i64) -> io::Result<()> {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// All that is known of a file but its inode number, its blocks, and times that the clock set.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    size: u64,
    content: Vec<u8>,
}

/// Everything below a directory, by its name.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Seen> {
    let (mut seen, mut left) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(name) = left.pop() {
        let path = dir.join(&name);
        // Only the owner works here, who may lack a right; root lacks none.
        let metadata = path.symlink_metadata().expect("it was listed");
        let needed = if metadata.is_dir() { 0o500 } else { 0o400 };
        let may_read = rustix::process::geteuid().is_root() || metadata.mode() & needed == needed;
        let content = if !may_read && !metadata.is_symlink() {
            Vec::new()
        } else if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("it is a directory");
            left.extend(entries.map(|entry| name.join(entry.expect("it can be read").file_name())));
            Vec::new()
        } else if metadata.is_symlink() {
            fs::read_link(&path).expect("it is a link").into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).expect("it is a file")
        };
        let size = if metadata.is_dir() { 0 } else { metadata.len() };
        let owner = (metadata.uid(), metadata.gid());
        let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
        seen.insert(name, Seen { mode: metadata.mode(), owner, links, size, content });
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every step has the same result or the same error as on a plain directory; afterwards both have the same content,
    /// through the mount and below it.
    #[test]
    fn a_layer_does_what_the_directory_does(steps in prop::collection::vec(step(), 1..60)) {
        if !can_mount() {
            return Ok(());
        }
        let (mut layered, plain) = (layered(Behaviour::default()), directory());
        // Modes of the roots differ otherwise: one is from tempfile.
        fs::set_permissions(plain.path(), fs::metadata(&layered.source)?.permissions())?;
        for step in &steps {
            let [through, direct] = [layered.mount.at(), plain.path()].map(|dir| step.execute(dir));
            let error = |result: &io::Result<Vec<u8>>| result.as_ref().err().and_then(io::Error::raw_os_error);
            prop_assert_eq!(error(&through), error(&direct), "{:?}", step);
            prop_assert_eq!(through.ok(), direct.ok(), "{:?}", step);
        }
        prop_assert_eq!(tree(layered.mount.at()), tree(plain.path()));
        layered.mount.unmount().expect("nobody uses it");
        prop_assert_eq!(tree(&layered.source), tree(plain.path()));
    }
}

#[test]
fn times_are_kept() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    fs::write(layered.path("file"), "text").expect("it is new");
    for (seconds, nanoseconds) in [(0, 0), (-5, 0), (4_000_000_000, 1)] {
        set_times(&layered.path("file"), seconds, nanoseconds).expect("it is ours");
        for path in [layered.path("file"), layered.source.join("file")] {
            let seen = path.metadata().expect("it is there");
            assert_eq!((seen.mtime(), seen.mtime_nsec()), (seconds, nanoseconds), "{}", path.display());
            assert_eq!((seen.atime(), seen.atime_nsec()), (seconds, nanoseconds), "{}", path.display());
        }
    }
}

/// Removed or renamed files are usable as long as they are open, as those that PostgreSQL drops under other sessions.
#[test]
fn an_open_file_outlives_its_name() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let (file, mut block) = (open(&layered.path("file"), OFlags::empty()), Block::of(5));
    fs::remove_file(layered.path("file")).expect("it is there");
    block.write(&file, 3).expect("it is open");
    file.sync_all().expect("it is open");
    assert_eq!(file.metadata().expect("it is open").len(), 4 * BLOCK as u64);
    block.read(&file, 0).expect("it is open");
    assert_eq!(block.bytes(), [0; BLOCK]);
    assert_eq!(fs::read_dir(layered.mount.at()).expect("it is there").count(), 0);
}

/// More than fit into one answer of the kernel; none is missing or doubled.
#[test]
fn large_directories_are_listed() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let names: Vec<OsString> = (0..3_000).map(|number| format!("{number:0>40}").into()).collect();
    for name in &names {
        fs::write(layered.source.join(name), "").expect("it is new");
    }
    let listed = fs::read_dir(layered.mount.at()).expect("it is there");
    let mut listed: Vec<_> = listed.map(|entry| entry.expect("it can be read").file_name()).collect();
    listed.sort();
    assert_eq!(listed, names);
}

#[test]
fn direct_and_cached_io_see_the_same_bytes() {
    if !can_mount() {
        return;
    }
    BOTH.into_iter().for_each(see_the_same_bytes);
}

fn see_the_same_bytes(direct_io: DirectIo) {
    let layered = layered_with(Behaviour::default(), direct_io);
    let cached = open(&layered.path("file"), OFlags::empty());
    Block::of(1).write(&cached, 0).expect("it has space");
    let direct = open(&layered.path("file"), OFlags::DIRECT);
    let mut block = Block::of(0);
    block.read(&direct, 0).expect("what is in the cache");
    assert_eq!(block.bytes(), [1; BLOCK]);
    Block::of(2).write(&direct, 0).expect("it has space");
    block.read(&cached, 0).expect("what was written past the cache");
    assert_eq!(block.bytes(), [2; BLOCK]);
    // The end of a file need not be aligned when the kernel writes it back through any of its descriptors.
    cached.write_all_at(b"tail", BLOCK as u64).expect("it has space");
    drop(cached);
    direct.sync_all().expect("it writes the tail");
    assert_eq!(fs::metadata(layered.source.join("file")).expect("it is there").len(), BLOCK as u64 + 4);
}

#[test]
fn files_can_be_mapped() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let file = open(&layered.path("file"), OFlags::empty());
    file.set_len(BLOCK as u64).expect("it is open");
    #[expect(unsafe_code, reason = "a mapping is what is tested; the file does not shrink below it")]
    unsafe {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let address = rustix::mm::mmap(std::ptr::null_mut(), BLOCK, protection, MapFlags::SHARED, &file, 0)
            .expect("it can be mapped");
        address.cast::<u8>().add(100).write_volatile(7);
        rustix::mm::munmap(address, BLOCK).expect("it is mapped");
    }
    file.sync_all().expect("it writes the page");
    assert_eq!(fs::read(layered.source.join("file")).expect("it is there")[100], 7);
}

#[test]
fn sockets_and_pipes_can_be_made() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let _listener = UnixListener::bind(layered.path("s")).expect("it is new");
    let made = layered.source.join("s").symlink_metadata().expect("it is there");
    assert!(made.file_type().is_socket());
}

/// Two programs exclude each other by locks on the same file.
#[test]
fn locks_exclude() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let [first, second] = [(); 2].map(|()| open(&layered.path("file"), OFlags::empty()));
    first.lock().expect("nobody has it");
    assert!(second.try_lock().is_err());
    first.unlock().expect("it is locked");
    second.try_lock().expect("nobody has it");
}

#[test]
fn free_space_is_that_of_the_source() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let [through, below] =
        [layered.mount.at(), &layered.source].map(|path| rustix::fs::statvfs(path).expect("a space"));
    assert_eq!((through.f_blocks, through.f_frsize), (below.f_blocks, below.f_frsize));
    assert!(through.f_bavail > 0);
}
