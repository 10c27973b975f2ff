//! Kernel parameters that `host facts` shows and no rule judges.

use super::shown;
use crate::Page;

const FS: &str = "Linux Documentation/admin-guide/sysctl/fs.rst.";
const KERNEL: &str = "Linux Documentation/admin-guide/sysctl/kernel.rst.";
const NET: &str = "Linux Documentation/admin-guide/sysctl/net.rst.";
const IP: &str = "Linux Documentation/networking/ip-sysctl.rst.";
const VM: &str = "Linux Documentation/admin-guide/sysctl/vm.rst.";
const SCHED: &str = "Linux kernel/sched/fair.c.";

/// The parameters, by name.
pub(crate) const PARAMETERS: &[Page] = &[
    shown(
        "fs.aio-nr",
        "Events of the older asynchronous I/O that are in use; fs.aio-max-nr is their limit.",
        FS,
    ),
    shown("fs.file-nr", "Open files: in use, allocated and unused, and the limit, which is fs.file-max.", FS),
    shown(
        "kernel.core_uses_pid",
        "Whether names of dumps end with the process id; see kernel.core_pattern.",
        KERNEL,
    ),
    shown(
        "kernel.hung_task_timeout_secs",
        "After how many seconds in state D a process is reported in the log of the kernel; 0 never.",
        KERNEL,
    ),
    shown(
        "kernel.io_uring_disabled",
        "Who may use io_uring: 0 all, 1 the group of kernel.io_uring_group, 2 nobody. io_method = io_uring of the \
         server needs it.",
        KERNEL,
    ),
    shown(
        "kernel.io_uring_group",
        "The group that may use io_uring where kernel.io_uring_disabled is 1.",
        KERNEL,
    ),
    shown(
        "kernel.kptr_restrict",
        "Who sees addresses of the kernel, which profiles of the kernel need.",
        KERNEL,
    ),
    shown(
        "kernel.nmi_watchdog",
        "Whether a counter of each processor watches for lockups of the kernel.",
        KERNEL,
    ),
    shown("kernel.panic_on_oops", "Whether the host stops at an error of the kernel, or continues.", KERNEL),
    shown(
        "kernel.perf_event_mlock_kb",
        "Memory of a profile that an ordinary user may lock, in KiB.",
        KERNEL,
    ),
    shown(
        "kernel.pid_max",
        "From which number on process ids begin again; it bounds the processes of the host.",
        KERNEL,
    ),
    shown(
        "kernel.randomize_va_space",
        "Whether programs are placed at random addresses, a guard against attacks.",
        KERNEL,
    ),
    shown(
        "kernel.sched_latency_ns",
        "In which time each process should run once; gone since Linux 5.13.",
        SCHED,
    ),
    shown(
        "kernel.sched_min_granularity_ns",
        "How long a process runs at least before another one does; gone since Linux 5.13.",
        SCHED,
    ),
    shown(
        "kernel.sched_wakeup_granularity_ns",
        "How much a process must be behind to interrupt another when it wakes; gone since Linux 5.13.",
        SCHED,
    ),
    shown(
        "kernel.shm_rmid_forced",
        "Whether System V shared memory is removed when no process uses it, which a server that starts could meet.",
        KERNEL,
    ),
    shown(
        "kernel.threads-max",
        "Threads of the whole host; the rules nproc and pids.max judge nearer limits.",
        KERNEL,
    ),
    shown(
        "kernel.yama.ptrace_scope",
        "Who may trace the processes of the same user, as debuggers do.",
        "Linux Documentation/admin-guide/LSM/Yama.rst.",
    ),
    shown(
        "net.core.default_qdisc",
        "How packets wait to be sent by a network interface, unless it is set for it.",
        NET,
    ),
    shown(
        "net.core.netdev_budget",
        "Packets that are received in one go before other work has its turn.",
        NET,
    ),
    shown("net.core.optmem_max", "Memory of a socket for control messages and options, in bytes.", NET),
    shown(
        "net.core.rps_sock_flow_entries",
        "Connections of which the kernel remembers the processor that reads them, to process packets there; 0 for \
         none.",
        "Linux Documentation/networking/scaling.rst.",
    ),
    shown(
        "net.ipv4.tcp_abort_on_overflow",
        "Whether connections that find a full queue are refused at once instead of retried; see net.core.somaxconn.",
        IP,
    ),
    shown(
        "net.ipv4.tcp_congestion_control",
        "How fast TCP sends on a network that is shared, such as cubic or bbr.",
        IP,
    ),
    shown(
        "net.ipv4.tcp_moderate_rcvbuf",
        "Whether receive buffers grow by themselves; see net.ipv4.tcp_rmem.",
        IP,
    ),
    shown(
        "net.ipv4.tcp_no_metrics_save",
        "Whether what was learnt of the path to a host is forgotten when its connection ends.",
        IP,
    ),
    shown(
        "net.ipv4.tcp_sack",
        "Whether a receiver reports which packets arrived after a loss, so that only lost ones are sent again.",
        IP,
    ),
    shown(
        "net.ipv4.tcp_slow_start_after_idle",
        "Whether a connection that was idle begins slowly again; 0 helps connections over distances that pause.",
        IP,
    ),
    shown("net.ipv4.tcp_window_scaling", "Whether more than 64 KiB may be on their way.", IP),
    shown(
        "vm.admin_reserve_kbytes",
        "Memory in KiB that is kept for root to log in where promises are strict.",
        VM,
    ),
    shown(
        "vm.compaction_proactiveness",
        "How much the kernel compacts memory ahead of requests for huge pages.",
        VM,
    ),
    shown("vm.defrag_mode", "Whether the kernel rather frees memory than break up large free blocks.", VM),
    shown(
        "vm.dirtytime_expire_seconds",
        "After which time changed times of files are written, with lazytime.",
        VM,
    ),
    shown(
        "vm.hugetlb_optimize_vmemmap",
        "Whether the kernel gives back most of its own bookkeeping of explicit huge pages, 7 of 8 pages for 2 MiB.",
        VM,
    ),
    shown(
        "vm.laptop_mode",
        "Whether writes wait for a disk that runs anyway, to save power; 0 on servers.",
        VM,
    ),
    shown("vm.oom_dump_tasks", "Whether the OOM killer lists all processes in the log of the kernel.", VM),
    shown(
        "vm.oom_kill_allocating_task",
        "Whether the OOM killer ends the process that requested memory instead of the one with the highest score.",
        VM,
    ),
    shown("vm.page-cluster", "How many pages are read from swap at a time, as a power of two.", VM),
    shown("vm.panic_on_oom", "Whether the host stops when memory runs out, in place of the OOM killer.", VM),
    shown(
        "vm.percpu_pagelist_fraction",
        "Share of free pages that processors keep to themselves, before Linux 5.14.",
        VM,
    ),
    shown("vm.percpu_pagelist_high_fraction", "Share of free pages that processors keep to themselves.", VM),
    shown("vm.stat_interval", "How often counters of memory are added up, in seconds.", VM),
    shown(
        "vm.user_reserve_kbytes",
        "Memory in KiB that is kept for users to recover where promises are strict.",
        VM,
    ),
    shown(
        "vm.watermark_boost_factor",
        "How much more is freed after memory was found fragmented, in ten-thousandths.",
        VM,
    ),
];
