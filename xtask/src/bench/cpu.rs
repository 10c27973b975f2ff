//! CPU time and memory of a process, from `/proc`.

use std::fs;

/// CPU time of all threads since they started, in nanoseconds; `None` if the process is gone.
pub fn time_ns(pid: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    Some(threads.flatten().filter_map(of).sum())
}

/// Memory in bytes by its name in `/proc/PID/status`: `VmRSS` is the current one, `VmHWM` the peak.
pub fn memory_bytes(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_measured() {
        let pid = std::process::id();
        assert!(time_ns(pid).is_some_and(|ns| ns > 0));
        assert!(memory_bytes(pid, "VmHWM").is_some_and(|peak| peak >= 1 << 20));
        assert_eq!(memory_bytes(pid, "VmNothing"), None);
    }
}
