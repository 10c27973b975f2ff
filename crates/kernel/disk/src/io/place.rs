//! Where is measured: a directory, or a block device that is only read.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::FileTypeExt,
    path::Path,
    sync::Arc,
};

use pgdyno_core::{
    disk::io::{IoCache, IoNote},
    host::Storage,
    problem::Problem,
    units,
};
use pgdyno_host::new_file;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fcntl_setfl, seek};

use super::request::{IoRequest, writes};

/// Bytes of the file system that are left free: for metadata, and for other users of the file system.
const SPARE_BYTES: u64 = 16 << 20;

/// A directory or a block device, with what the kernel reports about it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    request: &'a IoRequest,
    pub(super) is_device: bool,
    pub(super) storage: Option<Storage>,
}

impl<'a> Place<'a> {
    /// Looks at the path of a request.
    ///
    /// # Errors
    /// If it is neither a directory nor a block device, cannot be reached, is a device that would be written to, or has
    /// too little free space.
    pub(super) fn find(request: &'a IoRequest) -> Result<Self, Problem> {
        let path = &request.path;
        let kind = fs::metadata(path).map_err(|error| could_not(path, &error))?.file_type();
        if !kind.is_dir() && !kind.is_block_device() {
            let what = format!(
                "could not measure in {}: it is neither a directory nor a block device",
                path.display()
            );
            return Err(
                Problem::wrong_request(what).hint("name the directory in which test files may be made")
            );
        }
        let is_device = kind.is_block_device();
        refuse_writes(request, is_device)?;
        let storage = pgdyno_host::facts::storage(path).ok();
        let place = Self { request, is_device, storage };
        if let Some(storage) = place.storage.as_ref().filter(|_| !is_device) {
            check_room(request, storage.available_bytes)?;
        }
        Ok(place)
    }

    pub(super) fn is_in_memory(&self) -> bool {
        !self.is_device && self.storage.as_ref().is_some_and(Storage::is_in_memory)
    }

    /// What keeps in memory what these files do not.
    pub(super) fn cached_below(&self) -> Option<IoNote> {
        let storage = self.storage.as_ref().filter(|_| !self.is_device)?;
        Some(IoNote::CachedBelow { file: storage.cached_file_below()?.to_owned() })
    }

    /// Opens what is measured: the device, or new files without names, which are empty.
    pub(super) fn open(&self) -> Result<Vec<Arc<File>>, Problem> {
        let path = &self.request.path;
        if self.is_device {
            let device = File::open(path).map_err(|error| could_not(path, &error))?;
            self.check_size(&device)?;
            return Ok(std::iter::repeat_n(Arc::new(device), self.request.files() as usize).collect());
        }
        let files = (0..self.request.files()).map(|_| scratch_file(path).map(Arc::new));
        files.collect::<io::Result<_>>().map_err(|error| could_not(path, &error))
    }

    fn check_size(&self, device: &File) -> Result<(), Problem> {
        let path = &self.request.path;
        let size = seek(device, SeekFrom::End(0)).map_err(|error| could_not(path, &error.into()))?;
        if size >= self.request.pattern.file_bytes {
            return Ok(());
        }
        let (asked, size) = (units::bytes(self.request.pattern.file_bytes), units::bytes(size));
        Err(Problem::wrong_request(format!("could not read {asked} of {}: it has {size}", path.display())))
    }

    /// Makes the files bypass the page cache, or use it, as the request says. Where direct I/O is refused, returns why
    /// if the page cache may be used instead.
    pub(super) fn set_cache(&self, files: &[Arc<File>], cache: IoCache) -> Result<Option<IoNote>, Problem> {
        let direct = cache == IoCache::Direct;
        let refused = if direct && self.is_in_memory() {
            Some("it is in memory".to_owned())
        } else {
            files.iter().find_map(|file| set_direct(file, direct).err()).map(|error| error.to_string())
        };
        let Some(why) = refused else { return Ok(None) };
        let filesystem = self.storage.as_ref().and_then(|storage| storage.filesystem.as_deref());
        let why = format!("{}: {why}", filesystem.unwrap_or("unknown file system"));
        if self.request.may_buffer && direct {
            return Ok(Some(IoNote::BufferedInstead { why }));
        }
        let what = format!("could not bypass the page cache in {}: {why}", self.request.path.display());
        Err(Problem::could_not(what).hint(
            "allow the page cache to be used, which measures memory as well, or name another directory",
        ))
    }
}

/// Refuses patterns that would write to a block device.
pub(super) fn refuse_writes(request: &IoRequest, is_device: bool) -> Result<(), Problem> {
    if !is_device || !writes(&request.pattern) {
        return Ok(());
    }
    let what = format!("refused to write to {}: a block device is only read", request.path.display());
    Err(Problem::wrong_request(what)
        .detail(format!("the pattern is {}", request.pattern.name))
        .hint("name a directory on a file system of that device"))
}

fn check_room(request: &IoRequest, available_bytes: u64) -> Result<(), Problem> {
    let needed = request.pattern.file_bytes.saturating_mul(request.files());
    if needed.saturating_add(SPARE_BYTES) <= available_bytes {
        return Ok(());
    }
    let what = format!(
        "could not lay out {} in {}: {} of free space",
        units::bytes(needed),
        request.path.display(),
        units::bytes(available_bytes)
    );
    let detail = format!("{} stay free", units::bytes(SPARE_BYTES));
    Err(Problem::could_not(what).detail(detail).hint("use a smaller file. Nothing was written."))
}

/// A new file that has lost its name, so that nothing is left behind whatever happens.
fn scratch_file(dir: &Path) -> io::Result<File> {
    let (file, path) = new_file::create(dir)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, direct);
    Ok(fcntl_setfl(file, flags)?)
}

/// The problem of a path that cannot be measured.
pub(super) fn could_not(path: &Path, error: &io::Error) -> Problem {
    let problem = Problem::could_not(format!("could not measure in {}: {error}", path.display()));
    match error.kind() {
        ErrorKind::NotFound => problem.hint("create the directory first"),
        ErrorKind::PermissionDenied => {
            problem.hint("a directory needs write permission, a block device read permission")
        }
        ErrorKind::ReadOnlyFilesystem => {
            problem.hint("name a directory on a file system that is mounted for writing")
        }
        ErrorKind::InvalidInput => {
            problem.hint("the block size may not be a multiple of what the device allows for direct I/O")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => problem.hint("use a smaller file"),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::request::tests::sample, *};

    fn at(path: &str) -> IoRequest {
        IoRequest { path: path.into(), ..sample() }
    }

    #[test]
    fn paths_that_cannot_be_measured_are_named() {
        let missing = Place::find(&at("/nonexistent/x")).expect_err("it is not there");
        assert!(missing.what.contains("/nonexistent/x") && missing.hint.is_some(), "{missing:?}");
        let file = Place::find(&at("/proc/self/exe")).expect_err("it is a file");
        assert!(file.what.contains("neither a directory nor a block device"), "{file:?}");
        let device = Place::find(&at("/dev/null")).expect_err("it is a character device");
        assert!(device.what.contains("neither a directory nor a block device"), "{device:?}");
        let unwritable = at("/proc");
        let place = Place { request: &unwritable, is_device: false, storage: None };
        assert!(place.open().is_err_and(|problem| problem.what.contains("/proc")));
    }

    #[test]
    fn too_little_room_is_an_error_before_anything_is_written() {
        let mut request = sample();
        request.pattern.file_bytes = 1 << 50;
        let problem = Place::find(&request).expect_err("a PiB is too much");
        assert!(
            problem.what.starts_with("could not lay out 1,024 TiB") || problem.what.contains("PiB"),
            "{problem}"
        );
        request.pattern.file_bytes = 64 << 20;
        request.pattern.jobs = 3;
        assert_eq!(check_room(&request, 80 << 20), Ok(()));
        assert!(check_room(&request, (80 << 20) - 1).is_err());
        request.pattern.files = pgdyno_core::disk::io::IoFiles::OneEach;
        assert!(check_room(&request, 200 << 20).is_err_and(|p| p.hint.is_some()), "three of them");
    }

    #[test]
    fn a_block_device_is_never_written_to() {
        let devices = fs::read_dir("/dev").into_iter().flatten().flatten();
        let device = devices
            .map(|entry| entry.path())
            .find(|path| fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device()));
        // Containers may have no block device.
        let Some(device) = device else { return };
        for change in [
            |r: &mut IoRequest| r.pattern.read_share = 0.0,
            |r: &mut IoRequest| r.pattern.read_share = 0.99,
            |r: &mut IoRequest| r.pattern.sync_after_writes = Some(1),
            |r: &mut IoRequest| r.pattern.sync_at_end = true,
        ] {
            let mut request = IoRequest { path: device.clone(), ..sample() };
            change(&mut request);
            let problem = Place::find(&request).expect_err("it would be written");
            assert!(problem.what.contains("a block device is only read"), "{problem}");
        }
        assert!(Place::find(&IoRequest { path: device, ..sample() }).is_ok_and(|place| place.is_device));
    }

    #[test]
    fn files_have_no_name_and_nothing_stays() {
        let dir = tempfile::tempdir_in(".").expect("a directory can be made");
        let mut request = IoRequest { path: dir.path().to_owned(), ..sample() };
        request.pattern.files = pgdyno_core::disk::io::IoFiles::OneEach;
        request.pattern.jobs = 3;
        let files = Place::find(&request).and_then(|place| place.open()).expect("it can be written");
        assert_eq!((files.len(), fs::read_dir(dir.path()).expect("it is there").count()), (3, 0));
    }

    #[test]
    fn a_file_that_a_loop_device_keeps_in_memory_is_named() {
        let request = at(".");
        let mut place = Place::find(&request).expect("it is there");
        let below = |path: &str, is_cached, backing: &Storage| Storage {
            path: path.to_owned(),
            backing: Some(Box::new(backing.clone())),
            backing_is_cached: Some(is_cached),
            ..backing.clone()
        };
        let disk = Storage {
            path: "/disk.img".to_owned(),
            backing: None,
            backing_is_cached: None,
            ..place.storage.clone().expect("statvfs works")
        };
        let inner = |is_cached| below("/inner.img", is_cached, &disk);
        let named = Some(IoNote::CachedBelow { file: "/disk.img".to_owned() });
        let cases = [
            (disk.clone(), None),
            (inner(true), named.clone()),
            (inner(false), None),
            (below("/outer", false, &inner(true)), named),
        ];
        for (storage, expected) in cases {
            place.storage = Some(storage);
            assert_eq!(place.cached_below(), expected);
        }
    }

    #[test]
    fn memory_is_not_bypassed_unless_buffers_are_allowed() {
        let mut request = at("/dev/shm");
        let Ok(place) = Place::find(&request) else { return };
        if !place.is_in_memory() {
            return;
        }
        let files = place.open().expect("it can be written");
        let problem = place.set_cache(&files, IoCache::Direct).expect_err("there is no device");
        assert!(problem.what.contains("tmpfs") && problem.hint.is_some(), "{problem:?}");
        assert_eq!(place.set_cache(&files, IoCache::Cold), Ok(None));
        request.may_buffer = true;
        let place = Place::find(&request).expect("it was there");
        let note = place.set_cache(&files, IoCache::Direct).expect("it is allowed");
        assert!(matches!(note, Some(IoNote::BufferedInstead { why }) if why.contains("tmpfs")));
    }
}
