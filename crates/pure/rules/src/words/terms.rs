//! Words of the output of `host facts` and `host check`.

use super::term;
use crate::Page;

const EXT4: &str = "Linux Documentation/admin-guide/ext4.rst; ext4(5).";
const MEMINFO: &str = "proc_meminfo(5).";

/// The words, in the order in which the facts show them.
pub(crate) const TERMS: &[Page] = &[
    term(
        "hypervisor",
        &["kvm", "guest", "virtual machine"],
        "The program that runs this host as a virtual machine. A guest does not see the disks behind its own: what \
         they say of rotation, caches and alignment may not hold.",
        "virt-what(1).",
    ),
    term(
        "boot line",
        &["kernel command line", "/proc/cmdline"],
        "Words that the boot loader passes to the kernel, which hold until the next boot.",
        "Linux Documentation/admin-guide/kernel-parameters.rst.",
    ),
    term(
        "control group",
        &["cgroup", "control groups"],
        "A group of processes that share limits of memory, CPU time and numbers of processes: of a service of \
         systemd, of a container. The rules memory.max, cpu.max and pids.max judge its limits.",
        "cgroups(7).",
    ),
    term(
        "tsc",
        &["time stamp counter"],
        "The time stamp counter of x86 processors: the clock source that is read fastest, without entering the \
         kernel. The rule clocksource judges it, and tsc= is the word of the boot line.",
        "Linux Documentation/timers/timekeeping.rst.",
    ),
    term(
        "kvm-clock",
        &["pvclock"],
        "A clock source that a hypervisor offers its guests: the time stamp counter with a correction, read without \
         entering the kernel where the hypervisor calls it stable. Where tsc is stable in the guest, both are alike.",
        "Linux Documentation/virt/kvm/x86/timekeeping.rst.",
    ),
    term(
        "NUMA",
        &["NUMA node", "NUMA nodes"],
        "Memory that belongs to processors: each socket, or a part of it, has its own (a node), and takes longer to \
         reach that of another. With one node there is nothing to consider. The rules vm.zone_reclaim_mode, \
         kernel.numa_balancing, numactl --interleave and numa=off are about it.",
        "numa(7).",
    ),
    term(
        "microcode",
        &[],
        "Corrections of the processor that the firmware or the kernel loads at boot; mitigations depend on it.",
        "Linux Documentation/arch/x86/microcode.rst.",
    ),
    term(
        "vulnerabilities",
        &[
            "gather_data_sampling",
            "ghostwrite",
            "indirect_target_selection",
            "itlb_multihit",
            "l1tf",
            "mds",
            "meltdown",
            "mmio_stale_data",
            "old_microcode",
            "reg_file_data_sampling",
            "retbleed",
            "spec_rstack_overflow",
            "spec_store_bypass",
            "spectre_v1",
            "spectre_v2",
            "srbds",
            "tsa",
            "tsx_async_abort",
            "vmscape",
        ],
        "Weaknesses of processors by which a program can learn what is in memory that is not its own, each with what \
         this kernel does about it. The workarounds cost time in system calls and context switches; the rule \
         mitigations= judges whether they are off.",
        "Linux Documentation/admin-guide/hw-vuln/index.rst; Documentation/ABI/testing/sysfs-devices-system-cpu, \
         vulnerabilities.",
    ),
    term(
        "dirty",
        &["dirty pages"],
        "Page cache that was changed and not yet written to its disk. The rules vm.dirty_background_bytes and \
         vm.dirty_bytes judge how much there may be.",
        MEMINFO,
    ),
    term(
        "page tables",
        &["page table"],
        "Memory in which the kernel keeps which page of a process is where. Each session has its own for the shared \
         memory that it touched, up to 2 MiB for each GiB; huge pages make them 512 times smaller.",
        MEMINFO,
    ),
    term(
        "TLB",
        &["translation lookaside buffer"],
        "The cache of a processor for page tables. With huge pages an entry covers 2 MiB instead of 4 KiB, so that \
         fewer accesses miss it.",
        "Linux Documentation/admin-guide/mm/concepts.rst.",
    ),
    term(
        "committed",
        &["overcommit"],
        "Memory that was promised to all processes together, whether or not they touched it (Committed_AS). More than \
         CommitLimit is refused only where vm.overcommit_memory is 2.",
        "Linux Documentation/mm/overcommit-accounting.rst.",
    ),
    term(
        "OOM killer",
        &["OOM", "out of memory"],
        "What the kernel does when no memory can be freed any more: it ends the process with the highest score. If \
         that belongs to a server, all its sessions are lost and it goes through crash recovery. The rules \
         oom_score_adj and vm.overcommit_memory are about it.",
        "Linux Documentation/admin-guide/mm/concepts.rst; PostgreSQL manual, \"Linux Memory Overcommit\".",
    ),
    term(
        "madvise",
        &[],
        "A mode of transparent huge pages: only programs that request them for a part of their memory (by the system \
         call of this name) get them. PostgreSQL does not.",
        "madvise(2), MADV_HUGEPAGE; Linux Documentation/admin-guide/mm/transhuge.rst.",
    ),
    term(
        "shared memory of /dev/shm",
        &["shm"],
        "A file system in memory in which parallel queries keep what their workers share (dynamic_shared_memory_type \
         = posix). Its size bounds them; containers of Docker have 64 MiB unless --shm-size says otherwise.",
        "shm_overview(7); PostgreSQL manual, dynamic_shared_memory_type.",
    ),
    term(
        "said to rotate",
        &["rotational", "does not rotate"],
        "What the kernel takes the disk for. Hypervisors show all their disks as rotating unless configured \
         otherwise, so that the rules do not believe it in a virtual machine; that a disk does not rotate is \
         believed.",
        "Linux Documentation/ABI/stable/sysfs-block, rotational.",
    ),
    term(
        "write back",
        &["write through", "writeback"],
        "Of a disk: it has a volatile cache, which the kernel makes it flush at fsync (write back), or none (write \
         through). Of the kernel: writing dirty pages to their disks.",
        "Linux Documentation/block/writeback_cache_control.rst.",
    ),
    term(
        "FUA",
        &["force unit access"],
        "A disk can write a single request through its volatile cache, which saves a flush of all of it.",
        "Linux Documentation/block/writeback_cache_control.rst.",
    ),
    term(
        "physical block",
        &["preferred request", "optimal_io_size", "minimum_io_size"],
        "The smallest unit that a disk writes without reading before, and the size of request that it prefers: for \
         arrays the full stripe.",
        "Linux Documentation/ABI/stable/sysfs-block.",
    ),
    term(
        "dioread_nolock",
        &["dioread_lock"],
        "ext4 writes new blocks as unwritten first and marks them as written when the data is on disk, so that \
         readers past the page cache need no lock; the default since Linux 5.6.",
        EXT4,
    ),
    term(
        "auto_da_alloc",
        &["noauto_da_alloc"],
        "ext4 writes the data of a file at once when it replaces another by rename or after truncating it, so that \
         programs that do not call fsync find one of both after a crash; the default. PostgreSQL calls fsync.",
        EXT4,
    ),
    term(
        "resuid",
        &["resgid"],
        "The user and the group who may use the reserved blocks of ext4 besides root; 0, root, by default. See \
         mkfs.ext4 -m.",
        EXT4,
    ),
    term(
        "commit",
        &["commit=5", "commit="],
        "Seconds after which ext4 at the latest commits its journal, 5 by default. fsync does not wait for it.",
        EXT4,
    ),
    term(
        "errors=",
        &["errors", "errors=remount-ro", "errors=continue", "errors=panic"],
        "What ext4 does when it finds its metadata damaged: continue, become read-only, or stop the host.",
        EXT4,
    ),
    term(
        "options of ext4",
        &[
            "acl",
            "block_validity",
            "bsddf",
            "i_version",
            "inode_readahead_blks",
            "max_batch_time",
            "max_dir_size_kb",
            "min_batch_time",
            "nogrpid",
            "nojournal_checksum",
            "noquota",
            "nowarn_on_error",
            "prefetch_block_bitmaps",
            "user_xattr",
        ],
        "The kernel lists all options that are in effect, also defaults that were not set; these have no effect on \
         a server that is worth a rule.",
        EXT4,
    ),
    term(
        "modules",
        &["kernel modules"],
        "Parts of the kernel that some rules are about and that are there, loaded or built in, such as nf_conntrack, \
         which keeps track of connections.",
        "lsmod(8).",
    ),
    term(
        "offloads",
        &["offload", "tso", "gro", "gso"],
        "Work of TCP that the network interface or its driver does for the kernel, such as cutting data into packets.",
        "ethtool(8), -K; Linux Documentation/networking/segmentation-offloads.rst.",
    ),
    term(
        "affinity",
        &["disks and networks", "smp_affinity"],
        "The processors that an interrupt may be sent to. The rule irqbalance judges whether all go to one.",
        "Linux Documentation/core-api/irq/irq-affinity.rst.",
    ),
];
