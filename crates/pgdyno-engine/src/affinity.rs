//! Which processors a thread may run on.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Lets the calling thread, and the threads it starts from now on, run on these processors only. An empty list
/// changes nothing.
///
/// # Errors
/// The kernel's, for example `EINVAL` where none of the processors exists.
pub fn pin_current_thread(cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    Ok(sched_setaffinity(None, &set)?)
}
