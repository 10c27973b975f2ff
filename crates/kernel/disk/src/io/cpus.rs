//! The CPUs of a device's queues, and those that this process may use.

use std::{fs, path::Path};

use pgdyno_core::cpus::CpuList;
use pgdyno_host::observe::{Places, WatchedServer, Watcher};
use rustix::thread::{CpuSet, sched_getaffinity};

/// CPUs of the hardware queues of the disk below a path, the first of every queue before the second of any, so that
/// jobs bound to them in this order use all queues. Empty where the kernel shows no queue.
pub fn queue_cpus(path: &Path) -> Vec<u32> {
    disk_below(path)
        .map(|disk| queues_of(Path::new("/sys/block"), &disk))
        .map(|lists| interleave(&lists))
        .unwrap_or_default()
}

/// Name of the lowest device below a directory, or of a block device itself.
fn disk_below(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let name = path.file_name().and_then(|name| name.to_str());
    if let Some(name) =
        name.filter(|name| Path::new("/sys/block").join(name).exists() && path.starts_with("/dev"))
    {
        return Some(name.to_owned());
    }
    let mut watcher = Watcher::begin();
    watcher.watch(
        0,
        WatchedServer {
            places: Places { data: Some(path), ..Places::default() },
            ..WatchedServer::default()
        },
    );
    let (seen, _) = watcher.read();
    let disks = watcher.devices(0, &seen).into_iter().map(|sample| sample.device);
    disks.into_iter().find(|device| Path::new("/sys/block").join(device).join("mq").exists())
}

/// The CPU list of every queue of a disk, in the order of their numbers.
fn queues_of(sys_block: &Path, disk: &str) -> Vec<Vec<u32>> {
    let Ok(entries) = fs::read_dir(sys_block.join(disk).join("mq")) else { return Vec::new() };
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse::<u32>().ok();
    let mut queues: Vec<_> =
        entries.flatten().filter_map(|entry| Some((number(&entry.file_name())?, entry.path()))).collect();
    queues.sort();
    let list = |path: &Path| {
        let text = fs::read_to_string(path.join("cpu_list")).ok()?;
        text.trim().parse::<CpuList>().ok().map(CpuList::into_vec)
    };
    queues.iter().filter_map(|(_, path)| list(path)).collect()
}

/// The first of every list, then the second of every list, and so on; each CPU once.
fn interleave(lists: &[Vec<u32>]) -> Vec<u32> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut all = Vec::new();
    for cpu in (0..longest).flat_map(|nth| lists.iter().filter_map(move |list| list.get(nth))) {
        if !all.contains(cpu) {
            all.push(*cpu);
        }
    }
    all
}

/// CPUs that this process may use; `None` if the kernel does not report them.
pub(super) fn allowed() -> Option<Vec<u32>> {
    let set = sched_getaffinity(None).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// The CPUs of `asked` that are allowed, in its order.
pub(super) fn usable(asked: &[u32], allowed: Option<&[u32]>) -> Vec<u32> {
    asked.iter().copied().filter(|cpu| allowed.is_none_or(|allowed| allowed.contains(cpu))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_used_in_turn() {
        let root = tempfile::tempdir_in(".").expect("a directory can be made");
        for (queue, cpus) in [("0", "0, 1, 2\n"), ("1", "3, 4\n"), ("10", "6\n"), ("2", "5\n")] {
            let dir = root.path().join("sda/mq").join(queue);
            fs::create_dir_all(&dir).expect("it can be made");
            fs::write(dir.join("cpu_list"), cpus).expect("it can be written");
        }
        let lists = queues_of(root.path(), "sda");
        assert_eq!(lists, [vec![0, 1, 2], vec![3, 4], vec![5], vec![6]]);
        assert_eq!(interleave(&lists), [0, 3, 5, 6, 1, 4, 2]);
        assert_eq!(queues_of(root.path(), "sdb"), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn cpus_that_are_not_allowed_are_left_out() {
        assert_eq!(usable(&[3, 1, 2], Some(&[1, 3])), [3, 1]);
        assert_eq!(usable(&[3, 1], None), [3, 1]);
        let mine = allowed().expect("Linux reports them");
        assert!(!mine.is_empty() && usable(&mine, Some(&mine)) == mine);
    }
}
