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

/// CPU time of a process and its children in nanoseconds, including children that ended and were waited for: all of a
/// server, given its postmaster. Resolution is 10 ms. `None` if the process is gone.
pub fn tree_ns(root: u32) -> Option<u64> {
    let ticks = |pid: u32, fields: usize| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // utime, stime, cutime and cstime are fields 14 to 17 of proc_pid_stat(5); the name before them may contain
        // anything.
        let after_name = stat.rsplit_once(')')?.1;
        Some(
            after_name
                .split_whitespace()
                .skip(11)
                .take(fields)
                .filter_map(|n| n.parse::<u64>().ok())
                .sum::<u64>(),
        )
    };
    let children = fs::read_to_string(format!("/proc/{root}/task/{root}/children")).ok()?;
    let children = children.split_whitespace().filter_map(|pid| ticks(pid.parse().ok()?, 2));
    Some((children.sum::<u64>() + ticks(root, 4)?) * 10_000_000)
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
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let before = tree_ns(pid).expect("we are here");
        let mut child =
            std::process::Command::new("sh").args(["-c", busy]).spawn().expect("a shell can be run");
        child.wait().expect("it is ours");
        assert!(tree_ns(pid).is_some_and(|after| after > before), "an ended child counts");
        assert_eq!(tree_ns(u32::MAX), None);
    }
}
