//! File descriptors of a thread, as a process of PostgreSQL has them.

use std::{io, thread};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Does work on a thread with a table of file descriptors of its own. Where threads share one, the kernel counts its
/// users with each system call: writes to the page cache took 6 % longer than those of a process with one thread.
///
/// The work may use the files that were open before, and closes all that it opens.
///
/// # Errors
/// The thread could not be started.
pub(super) fn with_own<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let own = move || {
            unshare();
            work()
        };
        let thread = thread::Builder::new().name("sync".to_owned()).spawn_scoped(scope, own)?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Gives the calling thread, which must be about to end with the work at hand, a table of its own. Where the kernel
/// refuses, all stays as it is.
#[expect(
    unsafe_code,
    reason = "a descriptor that was opened by another thread afterwards means nothing here"
)]
pub(super) fn unshare() {
    // SAFETY: the thread only lives as long as its work, which is given no file that is opened or closed meanwhile.
    let _ = unsafe { unshare_unsafe(UnshareFlags::FILES) };
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::fd::AsRawFd, path::PathBuf};

    use super::*;

    /// Whether the descriptor is that of the file `name` of this process.
    fn in_table(thread: rustix::thread::Pid, file: &File, name: &str) -> bool {
        let link = PathBuf::from(format!("/proc/self/task/{thread}/fd/{}", file.as_raw_fd()));
        std::fs::read_link(link).is_ok_and(|target| target.ends_with(name))
    }

    #[test]
    fn files_of_before_stay_open_and_those_of_the_work_are_its_own() {
        let main = rustix::thread::gettid();
        let before = File::open("/proc/self/status").expect("it can be opened");
        let seen = with_own(|| {
            let own = File::open("/proc/self/stat").expect("it can be opened");
            let thread = rustix::thread::gettid();
            [(thread, &before, "status"), (thread, &own, "stat"), (main, &own, "stat")]
                .map(|(of, file, name)| in_table(of, file, name))
        });
        assert_eq!(seen.expect("a thread can be started"), [true, true, false]);
        assert!(in_table(main, &before, "status"));
    }
}
