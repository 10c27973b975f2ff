//! Waits for any process, a child or not, without polling where the kernel allows it.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use pgdyno_host::procs::ProcessId;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid},
};

/// Process held by a descriptor (pidfd), so that its PID cannot be reused meanwhile. Kernels before 5.3 have no pidfd;
/// there the start time is compared before every signal.
pub struct ProcessHandle {
    fd: Option<OwnedFd>,
    pid: Pid,
    process: ProcessId,
}

impl ProcessHandle {
    /// Takes hold of a process; `None` if it has ended.
    pub fn open(process: ProcessId) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(process.pid).ok()?)?;
        let fd = pidfd_open(pid, PidfdFlags::empty()).ok();
        // Checked again with the descriptor open: from here on the PID means this process.
        process.is_alive().then_some(Self { fd, pid, process })
    }

    /// Sends a signal; a process that has ended is no error.
    ///
    /// # Errors
    /// If this user may not signal it.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        let sent = match &self.fd {
            Some(fd) => pidfd_send_signal(fd, signal),
            None if self.process.is_alive() => kill_process(self.pid, signal),
            None => Ok(()),
        };
        sent.or_else(|error| if error == Errno::SRCH { Ok(()) } else { Err(error) })
    }

    /// Waits for the process to end; `false` if the limit passed first. Reaps it if it is a child of this process.
    pub fn wait(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.process.is_alive() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            match &self.fd {
                // Interrupted, or the limit has passed: the loop checks again.
                Some(fd) => drop(wait_on(fd, left)),
                None => std::thread::sleep(left.min(POLL)),
            }
        }
        let _ = waitpid(Some(self.pid), WaitOptions::NOHANG);
        true
    }
}

/// Interval in which a process without a pidfd is polled.
const POLL: Duration = Duration::from_millis(20);

/// Waits until a descriptor is readable; `false` if the limit passed first or a signal came.
pub fn wait_on(fd: impl AsFd, limit: Duration) -> io::Result<bool> {
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Waits for a child to end, at most for `limit`, without reaping it.
pub fn wait_for_exit(pid: u32, limit: Duration) {
    let fd = i32::try_from(pid).ok().and_then(Pid::from_raw).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    match fd {
        Some(Ok(fd)) => drop(wait_on(&fd, limit)),
        // Without a pidfd (very old kernels) wait for the whole limit.
        _ => std::thread::sleep(limit),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    // The wait under test reaps the child.
    #[allow(clippy::zombie_processes)]
    #[test]
    fn a_child_is_waited_for_and_collected() {
        let child = Command::new("sleep").arg("60").spawn().expect("sleep can be started");
        let id = ProcessId::of(child.id()).expect("it runs");
        let held = ProcessHandle::open(id).expect("it runs");
        assert!(!held.wait(Duration::from_millis(1)));
        held.signal(Signal::TERM).expect("it is ours");
        assert!(held.wait(Duration::from_secs(30)));
        assert!(!std::path::Path::new(&format!("/proc/{}", id.pid)).exists());
        held.signal(Signal::TERM).expect("it has ended");
        assert!(ProcessHandle::open(id).is_none());
    }
}
