//! What one walk over all processes shows: those that wait for a device, and daemons that matter.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::host::BlockedProcess;

use super::{
    dir::names,
    file::{first_line, text},
};
use crate::procs::Stat;

/// Most processes that are walked over.
const MOST_PROCESSES: usize = 10_000;
/// Most blocked processes that are kept.
const MOST_BLOCKED: usize = 32;
/// Most lines of a kernel stack.
const DEEPEST: usize = 64;

/// What is known of all processes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Processes {
    /// Those in state D.
    pub blocked: Vec<BlockedProcess>,
    /// Whether irqbalance runs; `None` if it may hide.
    pub irqbalance_runs: Option<bool>,
    /// Whether the kernel initialises inode tables of some ext4 file system; `None` if its thread may hide.
    pub initialises_inodes: Option<bool>,
}

pub(super) fn read(root: &Path) -> Processes {
    let proc = &root.join("proc");
    let pids: Vec<u32> = names(proc).iter().filter_map(|name| name.parse().ok()).collect();
    let all_are_seen = pids.len() <= MOST_PROCESSES && sees_kernel_threads(proc);
    let mut found = Processes::default();
    let (mut irqbalance, mut lazy_initialiser) = (false, false);
    for pid in pids.into_iter().take(MOST_PROCESSES) {
        let Some(stat) = text(proc, &format!("{pid}/stat")).and_then(|line| Stat::parse(&line)) else {
            continue;
        };
        irqbalance |= stat.name == "irqbalance";
        lazy_initialiser |= stat.name == "ext4lazyinit";
        if stat.state == 'D' && found.blocked.len() < MOST_BLOCKED {
            found.blocked.push(blocked(proc, pid, stat.name));
        }
    }
    let if_certain = |is_there: bool| (is_there || all_are_seen).then_some(is_there);
    found.irqbalance_runs = if_certain(irqbalance);
    found.initialises_inodes = if_certain(lazy_initialiser);
    found
}

/// Notes how long each of these processes was in one and the same wait. A process that ran in between has switched
/// context more often.
pub(super) fn read_again(proc: &Path, blocked: &mut [BlockedProcess], pause: Duration) {
    let before: Vec<Option<u64>> = blocked.iter().map(|process| switches(proc, process.pid)).collect();
    let begun = Instant::now();
    thread::sleep(pause);
    let passed_s = begun.elapsed().as_secs_f64();
    for (process, before) in blocked.iter_mut().zip(before) {
        let state = text(proc, &format!("{}/stat", process.pid)).and_then(|line| Stat::parse(&line));
        let waits_still =
            state.is_some_and(|stat| stat.state == 'D') && switches(proc, process.pid) == before;
        process.waited_s = before.map(|_| if waits_still { passed_s } else { 0.0 });
    }
}

/// How often a process has left a processor, of its own will or not.
fn switches(proc: &Path, pid: u32) -> Option<u64> {
    let status = text(proc, &format!("{pid}/status"))?;
    let count = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse::<u64>().ok()
    };
    count("voluntary_ctxt_switches")?.checked_add(count("nonvoluntary_ctxt_switches")?)
}

/// Process 2 is the father of kernel threads. It cannot be seen from a container, nor with `hidepid` by ordinary users:
/// where it is seen, nothing hides.
fn sees_kernel_threads(proc: &Path) -> bool {
    first_line(proc, "2/comm").as_deref() == Some("kthreadd")
}

fn blocked(proc: &Path, pid: u32, name: String) -> BlockedProcess {
    let dir = proc.join(pid.to_string());
    // 0 means none, or that this user may not see it.
    let waits_in = first_line(&dir, "wchan").filter(|function| function != "0");
    let stack = text(&dir, "stack").map(|text| stack(&text)).unwrap_or_default();
    BlockedProcess { pid, name, waits_in, stack, waited_s: None }
}

/// Functions of a stack, of lines such as `[<0>] io_schedule+0x46/0x80`.
fn stack(text: &str) -> Vec<String> {
    let functions = text.lines().filter_map(|line| {
        let (_, place) = line.split_once("] ")?;
        let function = place.split('+').next()?.trim();
        (!function.is_empty() && !function.starts_with("0x")).then(|| function.to_owned())
    });
    functions.take(DEEPEST).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    const REST: &str = "1 2 3 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200";

    fn stat(pid: u32, name: &str, state: char) -> (String, String) {
        (format!("proc/{pid}/stat"), format!("{pid} ({name}) {state} {REST}\n"))
    }

    fn read_tree(files: &[(String, String)]) -> Processes {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        read(tree(&files).path())
    }

    #[test]
    fn a_process_that_waits_for_a_device_is_reported_with_its_stack() {
        let stack = "[<0>] txg_wait_open+0x8c/0xd0 [zfs]\n[<0>] dmu_tx_wait+0x1e7/0x2b0\n\
                     [<ffffffffffffffff>] 0xffffffffffffffff\n";
        let found = read_tree(&[
            stat(7, "postgres", 'D'),
            ("proc/7/wchan".into(), "txg_wait_open".into()),
            ("proc/7/stack".into(), stack.into()),
            stat(8, "bash", 'S'),
            stat(9, "dd", 'D'),
            ("proc/9/wchan".into(), "0".into()),
        ]);
        let blocked = |pid, name: &str, waits_in: Option<&str>, stack: &[&str]| BlockedProcess {
            pid,
            name: name.into(),
            waits_in: waits_in.map(str::to_owned),
            stack: stack.iter().map(|&function| function.to_owned()).collect(),
            waited_s: None,
        };
        assert_eq!(
            found.blocked,
            [
                blocked(7, "postgres", Some("txg_wait_open"), &["txg_wait_open", "dmu_tx_wait"]),
                blocked(9, "dd", None, &[])
            ]
        );
    }

    #[test]
    fn a_second_reading_shows_which_still_wait() {
        let status = |pid: u32, count: u32| {
            let text =
                format!("Name:\tx\nvoluntary_ctxt_switches:\t{count}\nnonvoluntary_ctxt_switches:\t1\n");
            (format!("proc/{pid}/status"), text)
        };
        let files = [stat(7, "a", 'D'), status(7, 5), stat(8, "b", 'S'), status(8, 5), stat(9, "c", 'D')];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let root = tree(&files);
        let mut blocked: Vec<_> =
            [7, 8, 9, 10].map(|pid| BlockedProcess { pid, ..BlockedProcess::default() }).to_vec();
        read_again(&root.path().join("proc"), &mut blocked, Duration::from_millis(5));
        let waited: Vec<Option<bool>> =
            blocked.iter().map(|process| process.waited_s.map(|seconds| seconds > 0.0)).collect();
        assert_eq!(waited, [Some(true), Some(false), None, None], "8 runs again, 9 and 10 are unknown");
    }

    #[test]
    fn what_may_hide_is_unknown() {
        let kthreadd = || ("proc/2/comm".to_owned(), "kthreadd\n".to_owned());
        let irqbalance = || stat(5, "irqbalance", 'S');
        for (files, runs) in [
            (vec![], None),
            (vec![kthreadd()], Some(false)),
            (vec![kthreadd(), irqbalance()], Some(true)),
            (vec![irqbalance()], Some(true)),
        ] {
            let found = read_tree(&files);
            assert_eq!(found.irqbalance_runs, runs, "{files:?}");
        }
        let found = read_tree(&[kthreadd(), stat(6, "ext4lazyinit", 'S')]);
        assert_eq!(found.initialises_inodes, Some(true));
    }

    #[test]
    fn very_many_blocked_processes_are_cut() {
        let all: Vec<_> = (10..100).map(|pid| stat(pid, "cp", 'D')).collect();
        assert_eq!(read_tree(&all).blocked.len(), MOST_BLOCKED);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = (stack(&text), Stat::parse(&text));
        }
    }
}
