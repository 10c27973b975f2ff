//! In what the settings of two servers differ.

use std::collections::BTreeSet;

use super::differences::{Asked, Difference, Side, Why, majors_differ};
use crate::facts::ServerFacts;

/// Settings that two servers side by side cannot share, and those that only repeat a fact.
const ALWAYS_OWN: [&str; 16] = [
    "block_size",
    "cluster_name",
    "config_file",
    "data_checksums",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "log_directory",
    "log_filename",
    "port",
    "segment_size",
    "shared_buffers",
    "unix_socket_directories",
    "wal_block_size",
    "wal_segment_size",
];

/// Settings whose defaults bear on speed: of the others a different default says nothing.
pub(super) const BEARING: [&str; 42] = [
    "autovacuum",
    "autovacuum_naptime",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_insert_threshold",
    "autovacuum_vacuum_scale_factor",
    "backend_flush_after",
    "bgwriter_flush_after",
    "bgwriter_lru_maxpages",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "checkpoint_timeout",
    "compute_query_id",
    "debug_assertions",
    "default_toast_compression",
    "dynamic_shared_memory_type",
    "effective_io_concurrency",
    "hash_mem_multiplier",
    "huge_pages",
    "io_combine_limit",
    "io_max_concurrency",
    "io_method",
    "io_workers",
    "jit",
    "log_autovacuum_min_duration",
    "log_checkpoints",
    "maintenance_io_concurrency",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_wal_senders",
    "max_wal_size",
    "random_page_cost",
    "shared_memory_type",
    "track_io_timing",
    "vacuum_buffer_usage_limit",
    "vacuum_cost_page_miss",
    "wal_compression",
    "wal_init_zero",
    "wal_level",
    "wal_recycle",
    "wal_sync_method",
    "wal_writer_flush_after",
    "work_mem",
];

/// Settings that differ: those that somebody set, and those of [`BEARING`] by their defaults.
pub(super) fn differences(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Vec<Difference> {
    let Some((of_a, of_b)) = a.server.zip(b.server) else { return Vec::new() };
    let set = of_a.settings.iter().chain(&of_b.settings).map(|setting| setting.name.as_str());
    let names: BTreeSet<&str> = set.chain(BEARING).filter(|name| !ALWAYS_OWN.contains(name)).collect();
    let differs = |name: &str| {
        let (value_a, value_b) = (of_a.in_force(name), of_b.in_force(name));
        (value_a != value_b && is_known(of_a, of_b, name)).then(|| Difference {
            what: name.to_owned(),
            a: value_a.map(str::to_owned),
            b: value_b.map(str::to_owned),
            why: Some(why(a, b, asked, name)),
        })
    };
    names.into_iter().filter_map(differs).collect()
}

/// Whether an absent value says something: where defaults were not read, a setting that nobody set may be the same.
/// Where somebody set it, it differs as far as can be seen.
fn is_known(a: &ServerFacts, b: &ServerFacts, name: &str) -> bool {
    is_set(a, name) || is_set(b, name) || (a.defaults.is_some() && b.defaults.is_some())
}

fn is_set(server: &ServerFacts, name: &str) -> bool {
    server.settings.iter().any(|setting| setting.name == name)
}

/// Whether a server's version has no such setting.
fn lacks(server: &ServerFacts, name: &str) -> bool {
    server.defaults.is_some() && server.in_force(name).is_none()
}

fn why(a: &Side<'_>, b: &Side<'_>, asked: &Asked, name: &str) -> Why {
    let Some((of_a, of_b)) = a.server.zip(b.server) else { return Why::Besides };
    let chosen = |side: &Side<'_>| side.chosen.iter().any(|choice| choice.name == name);
    if asked.settings.contains(&name.to_ascii_lowercase()) {
        return Why::Asked;
    }
    if !majors_differ(of_a, of_b) {
        return Why::Besides;
    }
    let by_default = !is_set(of_a, name) && !is_set(of_b, name);
    if by_default || lacks(of_a, name) || lacks(of_b, name) {
        Why::DefaultOfVersion
    } else if (chosen(a) || !is_set(of_a, name)) && (chosen(b) || !is_set(of_b, name)) {
        Why::ChosenForVersion
    } else {
        Why::Besides
    }
}
