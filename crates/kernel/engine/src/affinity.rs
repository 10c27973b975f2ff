//! CPU affinity of threads.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Restricts the calling thread, and the threads it starts from now on, to these CPUs. An empty list changes nothing.
///
/// # Errors
/// The kernel's error, for example `EINVAL` if none of the CPUs exists.
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
