//! Limits of the control group, and containers.

use pgdyno_core::units;

use super::rule::{Given, Rule};
use crate::{Finding, Page, Today};

const SOURCE: &str = "Linux Documentation/admin-guide/cgroup-v2.rst; systemd.resource-control(5).";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "memory.max",
        also: &["cgroup memory", "MemoryMax", "memory.limit_in_bytes"],
        what: "Memory of a control group, with its page cache and its shared memory.",
        today: Today::Kept,
        why: "All settings of memory have to fit into it, not into the memory of the host: the server and the tools \
             that tune it see the host's. Explicit huge pages are not counted in it by default.",
        danger: "When shared memory and sessions reach it, the OOM killer ends a process of the group, however much \
                memory the host has.",
        source: SOURCE,
        ..Page::EMPTY
    })
    .judges(judge_memory),
    Rule::of(Page {
        name: "cpu.max",
        also: &["cgroup cpu", "CPUQuota", "cpu.cfs_quota_us"],
        what: "CPU time of a control group per period, mostly of 100 ms.",
        today: Today::Depends,
        why: "A group with many processes uses up its period at once and is then stopped until the next one, so \
             that latencies of up to a period appear. Whole processors (cpuset.cpus) have no such gaps.",
        danger: "A process that holds a lock is stopped as well, and all that wait for it.",
        source: SOURCE,
        ..Page::EMPTY
    })
    .judges(judge_cpu),
    Rule::of(Page {
        name: "pids.max",
        also: &["cgroup pids", "TasksMax"],
        what: "Processes and threads of a control group.",
        today: Today::Kept,
        why: "Each connection is a process: it has to be above max_connections, workers and what else is in the \
             group.",
        danger: "Too low, connections fail (\"could not fork new process for connection\").",
        source: SOURCE,
        ..Page::EMPTY
    })
    .judges(judge_processes),
    Rule::of(Page {
        name: "container",
        also: &["docker", "kubernetes", "podman"],
        what: "A server in a container with or without limits.",
        today: Today::Depends,
        why: "Without limits the container shares everything with the others of the host, and what was measured once \
             may not hold the next day. Kernel parameters of vm and fs are those of the host, those of net and System \
             V its own. /dev/shm has 64 MiB in Docker by default, which parallel queries exhaust: --shm-size.",
        danger: "A parallel query fails with \"could not resize shared memory segment\" where /dev/shm is small.",
        source: "docker-run(1), --shm-size and --memory; PostgreSQL manual, dynamic_shared_memory_type.",
        ..Page::EMPTY
    })
    .judges(judge_container),
];

fn judge_memory(given: &Given<'_>) -> Option<Finding> {
    let (group, total) = (&given.host.kernel.cgroup, given.host.memory.total_bytes);
    let limit = group.memory_bytes.filter(|limit| total == 0 || *limit < total)?;
    let present = units::bytes(limit);
    let in_huge_pages = given.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0);
    let finding = match given.shared_memory_bytes().map(|bytes| bytes.saturating_sub(in_huge_pages)) {
        Some(shared) if shared > limit / 4 * 3 => {
            let reason = format!(
                "The shared memory of the server, {}, takes most of the {present} of the group: sessions and page \
                 cache have little, and the OOM killer ends processes at the limit.",
                units::bytes(shared)
            );
            given.improve(reason).recommend(units::bytes(shared.saturating_mul(3)))
        }
        Some(shared) => given.fine(format!(
            "The shared memory of the server, {}, leaves the rest of {present} to sessions and page cache.",
            units::bytes(shared)
        )),
        None => given.fine(format!(
            "Settings of memory have to fit into {present}, not into the {} of the host.",
            units::bytes(total)
        )),
    };
    Some(finding.present(present))
}

fn judge_cpu(given: &Given<'_>) -> Option<Finding> {
    let processors = given.host.cpu.logical;
    let is_limit = |cpus: &f64| cpus.is_finite() && (processors == 0 || *cpus < f64::from(processors));
    let present = units::significant(given.host.kernel.cgroup.cpus.filter(is_limit)?);
    let reason = format!(
        "The group has {present} s of CPU time per second on {processors} processors, and is stopped when a period \
         is used up."
    );
    Some(given.fine(reason).present(present))
}

fn judge_processes(given: &Given<'_>) -> Option<Finding> {
    let limit = given.host.kernel.cgroup.processes?;
    let finding = match given.server_processes() {
        Some(needed) if needed > limit => given
            .improve(format!("The server may need {} processes.", units::count(needed)))
            .recommend(needed.saturating_mul(2)),
        Some(needed) => given.fine(format!("The server needs at most {}.", units::count(needed))),
        None => given.fine("No server was named that would have to fit."),
    };
    Some(finding.present(limit))
}

fn judge_container(given: &Given<'_>) -> Option<Finding> {
    let container = given.host.kernel.container.as_deref()?;
    let group = &given.host.kernel.cgroup;
    let finding = match (group.version, group.memory_bytes) {
        (None, _) => given.unknown("Whether the container has limits could not be read."),
        (Some(_), None) => given
            .improve("The container has no limit of memory, so that it competes with all others of the host.")
            .recommend("a limit of memory"),
        (Some(_), Some(limit)) => given.fine(format!("It has {} of memory.", units::bytes(limit))),
    };
    Some(finding.present(container))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        facts::amount::GB,
        host::{Cgroup, Inventory},
    };

    use crate::{
        Standing,
        host::testing::{check_hosts, host, standings, with_server},
    };

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve};
        let with_memory = |limit| grouped(Cgroup { memory_bytes: limit, ..Cgroup::default() });
        let with_processes = |limit| grouped(Cgroup { processes: limit, ..Cgroup::default() });
        let with_cpus = |cpus| grouped(Cgroup { cpus, ..Cgroup::default() });
        check_hosts(&[
            ("memory.max", with_memory(None), &[]),
            ("memory.max", with_memory(Some(9 * GB)), &[Improve]),
            ("memory.max", with_memory(Some(32 * GB)), &[Fine]),
            ("memory.max", with_memory(Some(64 * GB)), &[]),
            ("pids.max", with_processes(None), &[]),
            ("pids.max", with_processes(Some(100)), &[Improve]),
            ("pids.max", with_processes(Some(10_000)), &[Fine]),
            ("cpu.max", with_cpus(None), &[]),
            ("cpu.max", with_cpus(Some(2.5)), &[Fine]),
            ("cpu.max", with_cpus(Some(16.0)), &[]),
        ]);
    }

    fn grouped(cgroup: Cgroup) -> Inventory {
        let mut host = with_server(host(&[]), 17, &[("shared_buffers", "8GB"), ("max_connections", "500")]);
        host.kernel.cgroup = Cgroup { version: Some(2), ..cgroup };
        host
    }

    #[test]
    fn containers_have_limits() {
        let mut host = grouped(Cgroup::default());
        assert!(standings("container", &host).is_empty());
        host.kernel.container = Some("docker".to_owned());
        assert_eq!(standings("container", &host), [Standing::Improve]);
        host.kernel.cgroup.memory_bytes = Some(GB);
        assert_eq!(standings("container", &host), [Standing::Fine]);
        host.kernel.cgroup = Cgroup::default();
        assert_eq!(standings("container", &host), [Standing::Unknown]);
    }
}
