//! Kernel parameters (`/proc/sys`, Documentation/admin-guide/sysctl).

use std::{collections::BTreeMap, path::Path};

use super::file::text;

/// The parameters that are read: those that guides to PostgreSQL set, and those that rules check. One that this kernel
/// does not have is absent.
const NAMES: [&str; 101] = [
    "fs.aio-max-nr",
    "fs.aio-nr",
    "fs.file-max",
    "fs.file-nr",
    "fs.nr_open",
    "kernel.core_pattern",
    "kernel.core_uses_pid",
    "kernel.hung_task_timeout_secs",
    "kernel.io_uring_disabled",
    "kernel.io_uring_group",
    "kernel.kptr_restrict",
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "kernel.panic_on_oops",
    "kernel.perf_event_mlock_kb",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.randomize_va_space",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_latency_ns",
    "kernel.sched_migration_cost_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_wakeup_granularity_ns",
    "kernel.sem",
    "kernel.shm_rmid_forced",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.threads-max",
    "kernel.yama.ptrace_scope",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "net.nf_conntrack_max",
    "vm.admin_reserve_kbytes",
    "vm.compaction_proactiveness",
    "vm.defrag_mode",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.dirtytime_expire_seconds",
    "vm.extra_free_kbytes",
    "vm.hugetlb_optimize_vmemmap",
    "vm.hugetlb_shm_group",
    "vm.laptop_mode",
    "vm.lowmem_reserve_ratio",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.mmap_min_addr",
    "vm.nr_hugepages",
    "vm.nr_overcommit_hugepages",
    "vm.oom_dump_tasks",
    "vm.oom_kill_allocating_task",
    "vm.overcommit_kbytes",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.page-cluster",
    "vm.panic_on_oom",
    "vm.percpu_pagelist_fraction",
    "vm.percpu_pagelist_high_fraction",
    "vm.stat_interval",
    "vm.swappiness",
    "vm.user_reserve_kbytes",
    "vm.vfs_cache_pressure",
    "vm.watermark_boost_factor",
    "vm.watermark_scale_factor",
    "vm.zone_reclaim_mode",
];

pub(super) fn read(root: &Path) -> BTreeMap<String, String> {
    let base = root.join("proc/sys");
    let value = |name: &&str| {
        let value = text(&base, &name.replace('.', "/"))?;
        Some(((*name).to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    NAMES.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn numbers_are_separated_by_one_space() {
        let root = tree(&[
            ("proc/sys/kernel/sem", "32000\t1024000000\t500\t32000\n"),
            ("proc/sys/vm/page-cluster", "3\n"),
            ("proc/sys/kernel/core_pattern", "\n"),
            ("proc/sys/kernel/hostname", "x\n"),
        ]);
        let found = read(root.path());
        let pairs: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("kernel.core_pattern", ""),
                ("kernel.sem", "32000 1024000000 500 32000"),
                ("vm.page-cluster", "3")
            ]
        );
    }
}
