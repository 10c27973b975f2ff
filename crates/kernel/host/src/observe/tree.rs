//! CPU time and I/O of a process and its children: a PostgreSQL server is the postmaster and its children.

use std::{collections::BTreeMap, fs};

use super::processes::parse_io;
use crate::procs;

/// Nanoseconds of a clock tick: Linux reports 100 a second to user space on the platforms of PostgreSQL.
const TICK_NS: u64 = 10_000_000;

/// Most tries to get a reading during which no child is reaped. If children end all the time (one connection per
/// transaction), none may succeed; then at most one child is missed.
const READINGS: u32 = 20;

/// Resources that one process has used since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Used {
    cpu_ns: u64,
    waited_ns: u64,
    device_read_bytes: Option<u64>,
    asked_written_bytes: Option<u64>,
}

/// Reading of a process and all its children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeUsage {
    processes: BTreeMap<u32, Used>,
    /// CPU time of children that have ended and were reaped by the root.
    collected_ns: u64,
}

/// Resources that a tree used between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TreeUse {
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Seconds that its processes were ready to run and waited for a CPU. Those that ended meanwhile do not count.
    pub waited_s: f64,
    /// Bytes fetched from a device; `None` if no process may be read (another user's).
    pub device_read_bytes: Option<u64>,
    /// Bytes that they asked the kernel to write; `None` if no process may be read. Writes of children that have
    /// ended since `earlier` are missing.
    pub asked_written_bytes: Option<u64>,
}

impl TreeUsage {
    /// Reads a tree; `None` if the root does not exist.
    pub fn read(root: u32) -> Option<Self> {
        let collected = || collected_ns(&fs::read_to_string(format!("/proc/{root}/stat")).ok()?);
        let members = || {
            let pids = procs::children(root).into_iter().chain([root]);
            pids.filter_map(|pid| Some((pid, read_process(pid)?))).collect()
        };
        Self::settled(collected, members)
    }

    /// Takes both parts of a reading at one moment. A child reaped between them would be missing from both, with all it
    /// ever used: at the end of a run every backend ends at once. So the reaped total is read before and after the
    /// members until it does not change.
    fn settled(
        mut collected: impl FnMut() -> Option<u64>,
        mut members: impl FnMut() -> BTreeMap<u32, Used>,
    ) -> Option<Self> {
        let mut collected_ns = collected()?;
        for _ in 0..READINGS {
            let processes = members();
            let collected_after_ns = collected()?;
            if collected_after_ns == collected_ns {
                return Some(Self { processes, collected_ns });
            }
            collected_ns = collected_after_ns;
        }
        Some(Self { processes: members(), collected_ns })
    }

    /// Usage since `earlier`. Children that have ended meanwhile count with what the root reaped of them.
    pub fn since(&self, earlier: &Self) -> TreeUse {
        let (mut cpu_ns, mut waited_ns) = (0, 0);
        let (mut read, mut written) = (None, None);
        for (pid, now) in &self.processes {
            let then = earlier.processes.get(pid).copied().unwrap_or_default();
            cpu_ns += now.cpu_ns.saturating_sub(then.cpu_ns);
            waited_ns += now.waited_ns.saturating_sub(then.waited_ns);
            add_bytes(&mut read, now.device_read_bytes, then.device_read_bytes);
            add_bytes(&mut written, now.asked_written_bytes, then.asked_written_bytes);
        }
        let ended = earlier.processes.iter().filter(|(pid, _)| !self.processes.contains_key(pid));
        let counted_before: u64 = ended.map(|(_, used)| used.cpu_ns).sum();
        let collected = self.collected_ns.saturating_sub(earlier.collected_ns);
        cpu_ns += collected.saturating_sub(counted_before);
        TreeUse {
            cpu_s: cpu_ns as f64 / 1e9,
            waited_s: waited_ns as f64 / 1e9,
            device_read_bytes: read,
            asked_written_bytes: written,
        }
    }
}

/// Adds the bytes that a process moved since its last reading, if it may be read.
fn add_bytes(sum: &mut Option<u64>, now: Option<u64>, then: Option<u64>) {
    if let Some(bytes) = now {
        *sum.get_or_insert(0) += bytes.saturating_sub(then.unwrap_or(0));
    }
}

/// CPU time to the nanosecond from `schedstat`, or to the tick from `stat` if the kernel has no `schedstat`.
fn read_process(pid: u32) -> Option<Used> {
    let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let [exact, waited_ns] = file("schedstat").as_deref().and_then(schedstat).unwrap_or_default();
    let cpu_ns = Some(exact).filter(|ns| *ns > 0).or_else(|| own_ns(&file("stat")?))?;
    let io = file("io").as_deref().and_then(parse_io);
    let device_read_bytes = io.map(|[_, _, read_bytes, _]| read_bytes);
    let asked_written_bytes = io.map(|[_, written_bytes, ..]| written_bytes);
    Some(Used { cpu_ns, waited_ns, device_read_bytes, asked_written_bytes })
}

/// CPU time and time spent waiting for a CPU, in nanoseconds: the first two numbers of `schedstat` of a task
/// (Documentation/scheduler/sched-stats.rst).
fn schedstat(text: &str) -> Option<[u64; 2]> {
    let mut numbers = text.split_whitespace();
    Some([numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?])
}

/// CPU time of the process itself: utime and stime (fields 14 and 15 of proc_pid_stat(5)).
fn own_ns(stat: &str) -> Option<u64> {
    ticks(stat, 14).map(|ticks| ticks * TICK_NS)
}

/// CPU time of reaped children: cutime and cstime (fields 16 and 17 of proc_pid_stat(5)).
fn collected_ns(stat: &str) -> Option<u64> {
    ticks(stat, 16).map(|ticks| ticks * TICK_NS)
}

/// Sum of two adjacent fields. The second field, the name, may hold blanks and parentheses: count from its end.
fn ticks(stat: &str, field: usize) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(field - 3);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    fn usage(processes: &[(u32, u64)], collected_ns: u64) -> TreeUsage {
        let used = |&(pid, cpu_ns): &(u32, u64)| {
            let asked_written_bytes = (pid != 1).then_some(2 * cpu_ns);
            (pid, Used { cpu_ns, waited_ns: cpu_ns, device_read_bytes: Some(cpu_ns), asked_written_bytes })
        };
        TreeUsage { processes: processes.iter().map(used).collect(), collected_ns }
    }

    #[test]
    fn processes_that_end_or_begin_are_counted_once() {
        let earlier = usage(&[(1, 1_000_000_000), (2, 2_000_000_000)], 0);
        // Process 2 used another second and ended, 3 began and used half a second.
        let later = usage(&[(1, 1_500_000_000), (3, 500_000_000)], 3_000_000_000);
        let used = later.since(&earlier);
        assert_eq!(used.cpu_s, 0.5 + 0.5 + 1.0);
        assert_eq!(used.waited_s, 0.5 + 0.5, "of those that are there");
        assert_eq!(
            (used.device_read_bytes, used.asked_written_bytes),
            (Some(1_000_000_000), Some(1_000_000_000))
        );
    }

    #[test]
    fn a_child_that_is_collected_between_the_parts_of_a_reading_is_not_lost() {
        let earlier = usage(&[(1, 1_000_000_000), (2, 2_000_000_000)], 0);
        // Process 2 has used another second when it is reaped, right after the root was first read.
        let mut collected = [0, 3_000_000_000, 3_000_000_000].into_iter();
        let later = usage(&[(1, 1_000_000_000)], 0);
        let settled = TreeUsage::settled(|| collected.next(), || later.processes.clone());
        assert_eq!(settled.expect("the root is there").since(&earlier).cpu_s, 1.0);
    }

    #[test]
    fn a_child_that_is_collected_after_it_was_read_is_counted_once() {
        let earlier = usage(&[(1, 1_000_000_000), (2, 2_000_000_000)], 0);
        let mut collected = [0, 3_000_000_000, 3_000_000_000].into_iter();
        let with = usage(&[(1, 1_000_000_000), (2, 3_000_000_000)], 0).processes;
        let mut members = [with, usage(&[(1, 1_000_000_000)], 0).processes].into_iter();
        let settled = TreeUsage::settled(|| collected.next(), || members.next().unwrap_or_default());
        assert_eq!(settled.expect("the root is there").since(&earlier).cpu_s, 1.0);
    }

    #[test]
    fn fields_are_counted_from_the_end_of_the_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 3 4 5 6 20 0 1 0";
        assert_eq!(own_ns(stat), Some(70_000_000));
        assert_eq!(collected_ns(stat), Some(110_000_000));
        assert_eq!(own_ns("7 (a"), None);
    }

    #[test]
    fn what_an_ended_child_has_used_is_not_lost() {
        let before = TreeUsage::read(process::id()).expect("we are here");
        // Runs until it has used five ticks, on any CPU: utime and stime are fields 14 and 15.
        let busy =
            "t=0; while [ $t -lt 5 ]; do read -r s </proc/$$/stat; set -- $s; t=$((${14} + ${15})); done";
        let mut child = process::Command::new("sh").args(["-c", busy]).spawn().expect("a shell can be run");
        let pid = child.id();
        while procs::ProcessId::of(pid).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // The child has ended and is not reaped yet.
        let own = |usage: &TreeUsage| usage.processes.get(&pid).map(|used| used.cpu_ns);
        let ended = TreeUsage::read(process::id()).expect("we are here");
        assert!(own(&ended).is_some_and(|cpu_ns| cpu_ns > TICK_NS), "{:?}", own(&ended));
        assert!(ended.since(&before).cpu_s * 1e9 > TICK_NS as f64);
        child.wait().expect("it has ended");
        let collected = TreeUsage::read(process::id()).expect("we are here");
        assert_eq!(own(&collected), None);
        // User and system time are each truncated to a tick.
        assert!(collected.collected_ns + 2 * TICK_NS > own(&ended).expect("it was read"));
    }

    #[test]
    fn this_process_can_be_read() {
        let usage = TreeUsage::read(process::id()).expect("we are here");
        assert!(usage.processes.contains_key(&process::id()));
        assert_eq!(TreeUsage::read(u32::MAX), None);
    }
}
