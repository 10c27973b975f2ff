//! Rules of kernel parameters.

mod fs_aio_max_nr;
mod fs_file_max;
mod fs_nr_open;
mod kernel_core_pattern;
mod kernel_numa_balancing;
mod kernel_perf_event_paranoid;
mod kernel_sched;
mod kernel_sem;
mod kernel_shm;
mod net_buffers;
mod net_conntrack;
mod net_ip_local_port_range;
mod net_netdev_max_backlog;
mod net_somaxconn;
mod net_tcp_closing;
mod net_tcp_handshake;
mod net_tcp_keepalive;
mod net_tcp_memory;
mod net_tcp_retries;
mod net_tcp_timestamps;
mod vm_dirty_limits;
mod vm_dirty_times;
mod vm_extra_free_kbytes;
mod vm_hugetlb_shm_group;
mod vm_lowmem_reserve_ratio;
mod vm_max_map_count;
mod vm_min_free_kbytes;
mod vm_mmap_min_addr;
mod vm_nr_hugepages;
mod vm_nr_overcommit_hugepages;
mod vm_overcommit_kbytes;
mod vm_overcommit_memory;
mod vm_overcommit_ratio;
mod vm_swappiness;
mod vm_vfs_cache_pressure;
mod vm_watermark_scale_factor;
mod vm_zone_reclaim_mode;

use super::Rule;

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[&Rule] = &[
    &vm_swappiness::RULE,
    &vm_overcommit_memory::RULE,
    &vm_overcommit_ratio::RULE,
    &vm_overcommit_kbytes::RULE,
    &vm_dirty_limits::BACKGROUND_BYTES,
    &vm_dirty_limits::BACKGROUND_RATIO,
    &vm_dirty_limits::BYTES,
    &vm_dirty_limits::RATIO,
    &vm_dirty_times::EXPIRE,
    &vm_dirty_times::WRITEBACK,
    &vm_nr_hugepages::RULE,
    &vm_nr_overcommit_hugepages::RULE,
    &vm_hugetlb_shm_group::RULE,
    &vm_zone_reclaim_mode::RULE,
    &vm_min_free_kbytes::RULE,
    &vm_extra_free_kbytes::RULE,
    &vm_watermark_scale_factor::RULE,
    &vm_vfs_cache_pressure::RULE,
    &vm_lowmem_reserve_ratio::RULE,
    &vm_mmap_min_addr::RULE,
    &vm_max_map_count::RULE,
    &kernel_numa_balancing::RULE,
    &kernel_sched::AUTOGROUP,
    &kernel_sched::MIGRATION,
    &kernel_sem::RULE,
    &kernel_shm::SHMMAX,
    &kernel_shm::SHMALL,
    &kernel_shm::SHMMNI,
    &kernel_core_pattern::RULE,
    &kernel_perf_event_paranoid::RULE,
    &fs_file_max::RULE,
    &fs_nr_open::RULE,
    &fs_aio_max_nr::RULE,
    &net_somaxconn::RULE,
    &net_netdev_max_backlog::RULE,
    &net_buffers::RMEM_DEFAULT,
    &net_buffers::RMEM_MAX,
    &net_buffers::WMEM_DEFAULT,
    &net_buffers::WMEM_MAX,
    &net_tcp_memory::TOTAL,
    &net_tcp_memory::RECEIVE,
    &net_tcp_memory::SEND,
    &net_tcp_keepalive::TIME,
    &net_tcp_keepalive::INTERVAL,
    &net_tcp_keepalive::PROBES,
    &net_tcp_retries::RULE,
    &net_tcp_handshake::BACKLOG,
    &net_tcp_handshake::RETRIES,
    &net_tcp_handshake::COOKIES,
    &net_tcp_timestamps::RULE,
    &net_tcp_closing::FIN_TIMEOUT,
    &net_tcp_closing::BUCKETS,
    &net_tcp_closing::REUSE,
    &net_tcp_closing::RECYCLE,
    &net_ip_local_port_range::RULE,
    &net_conntrack::NETFILTER,
    &net_conntrack::OLDER,
];
