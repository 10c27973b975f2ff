//! Limits of the control group, and containers.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const SOURCE: &str = "Linux Documentation/admin-guide/cgroup-v2.rst; systemd.resource-control(5).";

/// The rule of memory.
pub static MEMORY: Rule = Rule {
    page: Page {
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
    },
    judge: judge_memory,
};

/// The rule of CPU time.
pub static CPU: Rule = Rule {
    page: Page {
        name: "cpu.max",
        also: &["cgroup cpu", "CPUQuota", "cpu.cfs_quota_us"],
        what: "CPU time of a control group per period, mostly of 100 ms.",
        today: Today::Depends,
        why: "A group with many processes uses up its period at once and then stands still until the next one, so \
              that latencies of up to a period appear. Whole processors (cpuset.cpus) have no such gaps.",
        danger: "A process that holds a lock is stopped as well, and all that wait for it.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_cpu,
};

/// The rule of processes.
pub static PROCESSES: Rule = Rule {
    page: Page {
        name: "pids.max",
        also: &["cgroup pids", "TasksMax"],
        what: "Processes and threads of a control group.",
        today: Today::Kept,
        why: "Each connection is a process: it has to be above max_connections, workers and what else is in the \
              group.",
        danger: "Too low, connections fail (\"could not fork new process for connection\").",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_processes,
};

/// The rule of containers.
pub static CONTAINER: Rule = Rule {
    page: Page {
        name: "container",
        also: &["docker", "kubernetes", "podman"],
        what: "A server in a container with or without limits.",
        today: Today::Depends,
        why: "Without limits the container shares everything with the others of the host, and what was measured once \
              may not hold the next day. Kernel parameters of vm and fs are those of the host, those of net and \
              System V its own. /dev/shm has 64 MiB in Docker by default, which parallel queries exhaust: \
              --shm-size.",
        danger: "A parallel query fails with \"could not resize shared memory segment\" where /dev/shm is small.",
        source: "docker-run(1), --shm-size and --memory; PostgreSQL manual, dynamic_shared_memory_type.",
        ..Page::EMPTY
    },
    judge: judge_container,
};

fn judge_memory(facts: &Facts<'_>) -> Vec<Finding> {
    let (group, total) = (&facts.host.kernel.cgroup, facts.host.memory.total_bytes);
    let Some(limit) = group.memory_bytes.filter(|limit| total == 0 || *limit < total) else {
        return Vec::new();
    };
    let present = units::bytes(limit);
    let in_huge_pages = facts.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0);
    match facts.shared_memory_bytes().map(|bytes| bytes.saturating_sub(in_huge_pages)) {
        Some(shared) if shared > limit / 4 * 3 => {
            let reason = format!(
                "The shared memory of the server, {}, takes most of the {present} of the group: sessions and page \
                 cache have little, and the OOM killer ends processes at the limit.",
                units::bytes(shared)
            );
            let best = units::bytes(shared.saturating_mul(3));
            vec![MEMORY.finding(Standing::Improve, reason).present(present).recommend(best)]
        }
        Some(shared) => MEMORY.fine(
            &present,
            format!(
                "The shared memory of the server, {}, leaves the rest of {present} to sessions and page cache.",
                units::bytes(shared)
            ),
        ),
        None => MEMORY.fine(
            &present,
            format!("Settings of memory have to fit into {present}, not into the {} of the host.", units::bytes(total)),
        ),
    }
}

fn judge_cpu(facts: &Facts<'_>) -> Vec<Finding> {
    let logical = f64::from(facts.host.cpu.logical);
    let limited =
        facts.host.kernel.cgroup.cpus.filter(|cpus| cpus.is_finite() && (logical == 0.0 || *cpus < logical));
    limited.map_or_else(Vec::new, |cpus| {
        let present = units::significant(cpus);
        let reason = format!(
            "The group has {present} s of CPU time per second on {} processors, and stands still when a period is \
             used up.",
            facts.host.cpu.logical
        );
        CPU.fine(present, reason)
    })
}

fn judge_processes(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(limit) = facts.host.kernel.cgroup.processes else { return Vec::new() };
    match facts.server_processes() {
        Some(needed) if needed > limit => {
            let reason = format!("The server may need {} processes.", units::count(needed));
            vec![
                PROCESSES
                    .finding(Standing::Improve, reason)
                    .present(limit)
                    .recommend(needed.saturating_mul(2)),
            ]
        }
        Some(needed) => PROCESSES.fine(limit, format!("The server needs at most {}.", units::count(needed))),
        None => PROCESSES.fine(limit, "No server was named that would have to fit."),
    }
}

fn judge_container(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(container) = facts.host.kernel.container.as_deref() else { return Vec::new() };
    let group = &facts.host.kernel.cgroup;
    match (group.version, group.memory_bytes) {
        (None, _) => {
            let reason = "Whether the container has limits could not be read.";
            vec![CONTAINER.finding(Standing::Unknown, reason).present(container)]
        }
        (Some(_), None) => {
            let reason =
                "The container has no limit of memory, so that it competes with all others of the host.";
            vec![
                CONTAINER
                    .finding(Standing::Improve, reason)
                    .present(container)
                    .recommend("a limit of memory"),
            ]
        }
        (Some(_), Some(limit)) => {
            CONTAINER.fine(container, format!("It has {} of memory.", units::bytes(limit)))
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::GB;
    use pgdyno_core::host::{Cgroup, Inventory};

    use super::*;
    use crate::host::testing::{host, standings, with_server};

    fn grouped(cgroup: Cgroup) -> Inventory {
        let mut host = with_server(host(&[]), 17, &[("shared_buffers", "8GB"), ("max_connections", "500")]);
        host.kernel.cgroup = Cgroup { version: Some(2), ..cgroup };
        host
    }

    #[test]
    fn memory_of_the_group_is_what_there_is() {
        for (limit, expected) in [
            (None, vec![]),
            (Some(9 * GB), vec![Standing::Improve]),
            (Some(32 * GB), vec![Standing::Fine]),
            (Some(64 * GB), vec![]),
        ] {
            let host = grouped(Cgroup { memory_bytes: limit, ..Cgroup::default() });
            assert_eq!(standings(&MEMORY, &host), expected, "{limit:?}");
        }
    }

    #[test]
    fn processes_have_to_fit() {
        for (limit, expected) in
            [(None, vec![]), (Some(100), vec![Standing::Improve]), (Some(10_000), vec![Standing::Fine])]
        {
            let host = grouped(Cgroup { processes: limit, ..Cgroup::default() });
            assert_eq!(standings(&PROCESSES, &host), expected, "{limit:?}");
        }
    }

    #[test]
    fn cpu_time_below_the_hosts_is_told() {
        for (cpus, expected) in [(None, vec![]), (Some(2.5), vec![Standing::Fine]), (Some(16.0), vec![])] {
            let host = grouped(Cgroup { cpus, ..Cgroup::default() });
            assert_eq!(standings(&CPU, &host), expected, "{cpus:?}");
        }
    }

    #[test]
    fn containers_have_limits() {
        let mut host = grouped(Cgroup::default());
        assert!(standings(&CONTAINER, &host).is_empty());
        host.kernel.container = Some("docker".to_owned());
        assert_eq!(standings(&CONTAINER, &host), [Standing::Improve]);
        host.kernel.cgroup.memory_bytes = Some(GB);
        assert_eq!(standings(&CONTAINER, &host), [Standing::Fine]);
        host.kernel.cgroup = Cgroup::default();
        assert_eq!(standings(&CONTAINER, &host), [Standing::Unknown]);
    }
}
