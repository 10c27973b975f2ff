//! Locks between pgdyno processes: files that only their owner can open, so that no other user can hold one, and waits
//! with a limit.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use pgdyno_host::procs;

use super::safe::open_lock;

/// Interval at which a held lock is retried.
const POLL: Duration = Duration::from_millis(50);

/// Opens a lock file, creating it if missing, and takes its lock; calls `waiting` once if another process holds it.
///
/// # Errors
/// If the file cannot be opened, or the lock is still held after `limit`; then the error is [`io::ErrorKind::TimedOut`]
/// and names the holder.
pub fn lock(path: &Path, limit: Duration, waiting: &mut dyn FnMut()) -> io::Result<File> {
    let file = open_lock(path)?;
    let deadline = Instant::now() + limit;
    let mut said = false;
    while is_held(&file)? {
        if Instant::now() >= deadline {
            return Err(still_held(&file, path, limit));
        }
        if !std::mem::replace(&mut said, true) {
            waiting();
        }
        thread::sleep(POLL);
    }
    Ok(file)
}

/// Tries to take the lock of a file; returns whether another process holds it.
fn is_held(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn still_held(file: &File, path: &Path, limit: Duration) -> io::Error {
    let holder = file.metadata().ok().and_then(|metadata| procs::lock_holder(metadata.ino()));
    let holder = holder.map_or("another process".to_owned(), |pid| {
        let name = procs::name(pid).unwrap_or_default();
        format!("process {pid} ({name})")
    });
    let text = format!("{holder} has held {} for {} s", path.display(), limit.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        sync::mpsc,
    };

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn temp() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary directory can be made")
    }

    #[test]
    fn a_wait_for_a_lock_ends_and_names_its_holder() {
        let dir = temp();
        let path = dir.path().join("lock");
        let _held = lock(&path, LONG, &mut || panic!("nobody holds it")).expect("it is free");
        let error = lock(&path, Duration::ZERO, &mut || ()).expect_err("it is held");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains(&format!("process {} (", std::process::id())), "{error}");
    }

    #[test]
    fn whoever_waits_gets_the_lock_when_it_is_free() {
        let dir = temp();
        let path = dir.path().join("lock");
        let held = lock(&path, LONG, &mut || panic!("nobody holds it")).expect("it is free");
        let (sender, receiver) = mpsc::channel();
        let waiter = thread::spawn(move || {
            lock(&path, LONG, &mut || sender.send(()).expect("somebody listens")).map(drop)
        });
        receiver.recv().expect("it says that it waits");
        drop(held);
        waiter.join().expect("it does not panic").expect("it gets the lock");
    }

    #[test]
    fn a_lock_is_its_owners_alone_and_never_made_through_a_link() {
        let dir = temp();
        let (path, outside, link) = (dir.path().join("lock"), dir.path().join("x"), dir.path().join("link"));
        // As older versions created it.
        fs::write(&path, "").expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        lock(&path, LONG, &mut || ()).expect("it is free");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
        symlink(&outside, &link).expect("a link can be made");
        let error = lock(&link, LONG, &mut || ()).expect_err("a link is refused");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert!(!outside.exists());
    }
}
