//! Mounts the layer, and unmounts it.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::Duration,
};

use fuser::{BackgroundSession, Config, Session, SessionACL};
use pgdyno_core::problem::Problem;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    process::{Resource, Rlimit, geteuid, getrlimit, setrlimit},
};

use crate::layer::{
    behaviour::Behaviour,
    delay_line::DelayLine,
    device::{DEVICE, HELPER, mount_as_root, mount_as_user, unmount_at},
    injector::{Injector, OperationCounts},
    operations::{DirectIo, Layer},
};

/// Threads that execute operations: as many can wait for the device at the same time. Delays need no thread.
const THREADS: usize = 16;
/// Attempts to unmount what is in use.
const UNMOUNT_ATTEMPTS: u32 = 11;
/// Time between them.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);

/// A mounted layer; unmounts when it is dropped. Files that are still open then stay usable until this process ends.
pub struct Mount {
    /// Present until it is unmounted.
    session: Option<BackgroundSession>,
    injector: Arc<Injector>,
    at: PathBuf,
}

/// Shows the directory `source` at the empty directory `at`, with this behaviour, until the [`Mount`] is dropped.
///
/// As root it is mounted for all users, with the owners of `source`; otherwise for this user alone, with
/// `fusermount3`. The soft limit of open files is raised to the hard one, because the layer keeps a descriptor for
/// every file that the kernel remembers.
///
/// # Errors [`Problem`] if a value of the behaviour is out of range, a directory is not there, `at` is not empty, or
/// is `source` or below it, FUSE is not available, or a layer whose process was killed is still mounted at `at`.
pub fn mount(source: &Path, at: &Path, behaviour: Behaviour) -> Result<Mount, Problem> {
    mount_with(source, at, behaviour, DirectIo::OfLayer)
}

/// As [`mount()`]; with [`DirectIo::OfKernel`] as on a kernel before 6.6.
pub(crate) fn mount_with(
    source: &Path,
    at: &Path,
    behaviour: Behaviour,
    direct_io: DirectIo,
) -> Result<Mount, Problem> {
    behaviour.check()?;
    let failed = |why: &dyn std::fmt::Display| {
        Problem::could_not(format!("could not mount {} at {}: {why}", source.display(), at.display()))
    };
    let at_problem = |error: io::Error| stale(at, &error).unwrap_or_else(|| failed(&error));
    let at = fs::canonicalize(at).map_err(at_problem)?;
    let not_empty = fs::read_dir(&at).map_err(at_problem)?.next().is_some();
    let inside = at.starts_with(fs::canonicalize(source).map_err(|error| failed(&error))?);
    if inside || not_empty {
        let why = if inside { "it is the source or below it" } else { "it is not empty" };
        return Err(Problem::wrong_request(failed(&why).what).hint("name an empty directory elsewhere"));
    }
    raise_open_files();
    let injector = Arc::new(Injector::new(behaviour));
    let session =
        start(source, &at, Arc::clone(&injector), direct_io).map_err(|error| without_fuse(failed(&error)))?;
    unlimit_dirty_pages(&at);
    Ok(Mount { session: Some(session), injector, at })
}

fn start(
    source: &Path,
    at: &Path,
    injector: Arc<Injector>,
    direct_io: DirectIo,
) -> io::Result<BackgroundSession> {
    let root = rustix::fs::open(source, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let layer = Layer::new(root, injector, DelayLine::start()?, direct_io)?;
    let root_user = geteuid().is_root();
    let device = if root_user { mount_as_root(source, at)? } else { mount_as_user(source, at)? };
    let mut config = Config::default();
    config.acl = if root_user { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    // Nobody answers yet, so that a lazy unmount is the only one that does not hang.
    Session::from_fd(layer, device, config.acl, config).and_then(Session::spawn).inspect_err(|_| {
        let _ = unmount_at(at, true);
    })
}

impl Mount {
    /// Where it is mounted.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// How many operations reached the layer since it was mounted.
    pub fn counts(&self) -> OperationCounts {
        self.injector.counts()
    }

    /// Unmounts, once all is written to the source directory. Does nothing if it was unmounted before.
    ///
    /// # Errors
    /// [`Problem`] if a file is open or a process works in it: it stays mounted.
    pub fn unmount(&mut self) -> Result<(), Problem> {
        if self.session.is_none() {
            return Ok(());
        }
        let failed = |why: &dyn std::fmt::Display| {
            Problem::could_not(format!("could not unmount {}: {why}", self.at.display()))
        };
        unmount_patiently(&self.at)
            .map_err(|error| failed(&error).hint("end the processes that use it; fuser -vm names them"))?;
        let session = self.session.take().map_or(Ok(()), BackgroundSession::join);
        session.map_err(|error| failed(&error))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.unmount().is_err() && self.session.is_some() {
            // In use: hidden now, and gone once it is no longer in use.
            let _ = unmount_at(&self.at, true);
        }
    }
}

/// Unmounts what is not in use. A process that was just started may have inherited a descriptor for a moment, until it
/// executes another program: so it is tried for a fifth of a second.
fn unmount_patiently(at: &Path) -> io::Result<()> {
    for _ in 1..UNMOUNT_ATTEMPTS {
        if unmount_at(at, false).is_ok() {
            return Ok(());
        }
        thread::sleep(BETWEEN_ATTEMPTS);
    }
    unmount_at(at, false)
}

/// The problem of a mount point whose process is gone.
fn stale(at: &Path, error: &io::Error) -> Option<Problem> {
    (error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error())).then(|| {
        let at = at.display();
        Problem::could_not(format!(
            "could not mount at {at}: the process of the file system mounted there is gone"
        ))
        .detail(error.to_string())
        .hint(format!("unmount it with `umount -l {at}` as root, or `fusermount3 -u {at}`"))
    })
}

/// Adds what is missing, if FUSE is.
fn without_fuse(problem: Problem) -> Problem {
    let is_there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    if !Path::new(DEVICE).exists() {
        problem.hint("load the kernel module (modprobe fuse); a container needs /dev/fuse and CAP_SYS_ADMIN")
    } else if !geteuid().is_root() && !is_there(HELPER) {
        problem.hint("install fusermount3 (package fuse3), or mount as root")
    } else {
        problem
    }
}

/// Raises the soft limit of open files to the hard one.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // A descriptor too few will be an error of its own.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Lets the layer have as many dirty pages as a disk, as far as root may say so: of a FUSE file system the kernel
/// otherwise tolerates 1 % of that, and makes writers wait.
fn unlimit_dirty_pages(at: &Path) {
    let Ok(device) = fs::metadata(at).map(|metadata| metadata.dev()) else { return };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    for (file, value) in [("strict_limit", "0"), ("max_ratio", "100")] {
        let _ = fs::write(format!("/sys/class/bdi/{major}:{minor}/{file}"), value);
    }
}
