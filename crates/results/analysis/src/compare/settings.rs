//! Differences between the settings of two servers.

use std::collections::BTreeSet;

use pgdyno_core::{
    facts::{ServerFacts, amount},
    results::{Difference, Why},
};

use super::difference::{Asked, Side, majors_differ};

/// Ignored settings: those that two servers on one machine cannot share, and those that only repeat a fact.
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

/// Settings whose defaults affect performance; different defaults of others are ignored.
pub(super) const AFFECTS_SPEED: [&str; 42] = [
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

/// Settings in blocks (`GUC_UNIT_BLOCKS` in `guc_tables.c`, 9.6 to 18). Most of their defaults are a number of blocks,
/// so the bytes depend on the block size; the defaults of `io_combine_limit` and of parallel scans are a number of
/// bytes.
const COUNT_BLOCKS: [&str; 8] = [
    "backend_flush_after",
    "bgwriter_flush_after",
    "checkpoint_flush_after",
    "effective_cache_size",
    "io_combine_limit",
    "min_parallel_index_scan_size",
    "min_parallel_table_scan_size",
    "temp_buffers",
];
/// Settings in WAL blocks (`GUC_UNIT_XBLOCKS`).
const COUNT_WAL_BLOCKS: [&str; 2] = ["wal_buffers", "wal_writer_flush_after"];
/// Settings whose default is a number of WAL segments.
const COUNT_WAL_SEGMENTS: [&str; 2] = ["max_wal_size", "min_wal_size"];

/// The settings from which the default of a setting follows within a major.
fn follows(name: &str) -> &'static [&'static str] {
    match name {
        // `AioChooseMaxConcurrency` in `aio_init.c`, 18: buffers for each process that may be there.
        "io_max_concurrency" => &[
            "shared_buffers",
            "max_connections",
            "autovacuum_worker_slots",
            "max_worker_processes",
            "max_wal_senders",
        ],
        _ => &[],
    }
}

/// Differences between settings: those that were set explicitly, and the defaults of those in [`AFFECTS_SPEED`].
pub(super) fn differences(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Vec<Difference> {
    let Some((of_a, of_b)) = a.server.zip(b.server) else { return Vec::new() };
    let set = of_a.settings.iter().chain(&of_b.settings).map(|setting| setting.name.as_str());
    let names: BTreeSet<&str> = set.chain(AFFECTS_SPEED).filter(|name| !ALWAYS_OWN.contains(name)).collect();
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

/// Whether an absent value is known to be the default. If defaults were not read, an unset setting may have the same
/// value; one that was set explicitly counts as different.
fn is_known(a: &ServerFacts, b: &ServerFacts, name: &str) -> bool {
    is_set(a, name) || is_set(b, name) || (a.defaults.is_some() && b.defaults.is_some())
}

fn is_set(server: &ServerFacts, name: &str) -> bool {
    server.settings.iter().any(|setting| setting.name == name)
}

/// Whether the server's version lacks a setting.
fn lacks(server: &ServerFacts, name: &str) -> bool {
    server.defaults.is_some() && server.in_force(name).is_none()
}

fn why(a: &Side<'_>, b: &Side<'_>, asked: &Asked, name: &str) -> Why {
    let Some((of_a, of_b)) = a.server.zip(b.server) else { return Why::Besides };
    let chosen = |side: &Side<'_>| side.chosen.iter().any(|choice| choice.name.eq_ignore_ascii_case(name));
    if asked.settings.contains(&name.to_ascii_lowercase()) || asked.preset && (chosen(a) || chosen(b)) {
        return Why::Asked;
    }
    if counts_alike(of_a, of_b, name) {
        return Why::FollowsFromSizes;
    }
    let by_default = !is_set(of_a, name) && !is_set(of_b, name);
    if !majors_differ(of_a, of_b) {
        // Within a major a default differs only if it follows from other settings.
        let asks = asked.preset || follows(name).iter().any(|of| asked.settings.contains(*of));
        return if asks && by_default { Why::Asked } else { Why::Besides };
    }
    if by_default || lacks(of_a, name) || lacks(of_b, name) {
        Why::DefaultOfVersion
    } else if (chosen(a) || !is_set(of_a, name)) && (chosen(b) || !is_set(of_b, name)) {
        Why::ChosenForVersion
    } else {
        Why::Besides
    }
}

/// Whether a setting is the same number of blocks or segments in both servers, whose block or segment sizes differ.
fn counts_alike(a: &ServerFacts, b: &ServerFacts, name: &str) -> bool {
    let count = |server: &ServerFacts, unit_bytes: u64| {
        let bytes = amount::parse(server.in_force(name)?, unit_bytes)?;
        (unit_bytes > 0 && bytes.is_multiple_of(unit_bytes)).then(|| bytes / unit_bytes)
    };
    let units = unit_bytes(a, name).zip(unit_bytes(b, name)).filter(|(of_a, of_b)| of_a != of_b);
    units.is_some_and(|(of_a, of_b)| count(a, of_a).is_some_and(|blocks| count(b, of_b) == Some(blocks)))
}

/// The unit of a setting in bytes.
fn unit_bytes(server: &ServerFacts, name: &str) -> Option<u64> {
    match () {
        () if COUNT_BLOCKS.contains(&name) => Some(server.block_bytes.into()),
        () if COUNT_WAL_BLOCKS.contains(&name) => server.wal_block_bytes.map(u64::from),
        () if COUNT_WAL_SEGMENTS.contains(&name) => Some(server.wal_segment_bytes),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::{Choice, Setting, major_of};

    use super::*;
    use crate::doubts::samples::server;

    fn found(a: &ServerFacts, b: &ServerFacts) -> Vec<(String, Why)> {
        let side = |server| Side { server: Some(server), ..Side::default() };
        let rows = differences(&side(a), &side(b), &Asked::default());
        rows.into_iter().map(|row| (row.what, row.why.expect("it is said"))).collect()
    }

    fn with_defaults(block_bytes: u32, defaults: &[(&str, &str)]) -> ServerFacts {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ServerFacts { block_bytes, defaults: Some(defaults.iter().map(pair).collect()), ..server() }
    }

    /// Defaults reported by 18.6, built with block sizes of 8 and 32 KiB: 64, 32 and 0 blocks; the last one is divided
    /// by the block size.
    #[test]
    fn what_counts_blocks_follows_from_their_size() {
        let small = with_defaults(
            8_192,
            &[
                ("bgwriter_flush_after", "512kB"),
                ("checkpoint_flush_after", "256kB"),
                ("backend_flush_after", "0"),
                ("io_combine_limit", "128kB"),
                ("wal_writer_flush_after", "1MB"),
            ],
        );
        let mut large = with_defaults(
            32_768,
            &[
                ("bgwriter_flush_after", "2MB"),
                ("checkpoint_flush_after", "1MB"),
                ("backend_flush_after", "0"),
                ("io_combine_limit", "128kB"),
                ("wal_writer_flush_after", "1MB"),
            ],
        );
        let follow = |name: &str| (name.to_owned(), Why::FollowsFromSizes);
        let expected = [follow("bgwriter_flush_after"), follow("checkpoint_flush_after")];
        assert_eq!((found(&small, &large), found(&large, &small)), (expected.to_vec(), expected.to_vec()));
        let set = |value: &str| Setting {
            name: "checkpoint_flush_after".into(),
            value: value.into(),
            source: "configuration file".into(),
        };
        large.settings = vec![set("512kB")];
        assert_eq!(found(&small, &large)[1], ("checkpoint_flush_after".into(), Why::Besides), "16 blocks");
        large.block_bytes = 8_192;
        assert!(
            found(&small, &large).iter().all(|(_, why)| *why == Why::Besides),
            "one size explains nothing"
        );
    }

    #[test]
    fn segments_of_wal_are_counted_too_and_versions_still_differ() {
        let mut a = with_defaults(8_192, &[("max_wal_size", "1GB"), ("work_mem", "4MB")]);
        let mut b = with_defaults(8_192, &[("max_wal_size", "4GB"), ("work_mem", "8MB")]);
        b.wal_segment_bytes = 4 * a.wal_segment_bytes;
        let why = |a: &ServerFacts, b: &ServerFacts| {
            found(a, b).into_iter().map(|(_, why)| why).collect::<Vec<_>>()
        };
        assert_eq!(why(&a, &b), [Why::FollowsFromSizes, Why::Besides]);
        a.version_num = 170_006;
        assert_ne!(major_of(a.version_num), major_of(b.version_num));
        assert_eq!(why(&a, &b), [Why::FollowsFromSizes, Why::DefaultOfVersion]);
    }

    /// A preset explains what either configuration sets, and nothing else.
    #[test]
    fn a_preset_explains_the_settings_of_both_configurations() {
        let [mut a, mut b] = ["64", "56"].map(|value| with_defaults(8_192, &[("io_max_concurrency", value)]));
        let set = |name: &str, value: &str| Setting {
            name: name.into(),
            value: value.into(),
            source: "configuration file".into(),
        };
        a.settings = vec![set("DateStyle", "ISO, MDY"), set("search_path", "x")];
        b.settings = vec![set("DateStyle", "ISO, DMY"), set("search_path", "y")];
        let choice = Choice { name: "datestyle".into(), value: "iso, dmy".into(), reason: "preset x".into() };
        let chosen = [choice];
        let side = |server, chosen| Side { server: Some(server), chosen, ..Side::default() };
        let found = |asked: &Asked| {
            let rows = differences(&side(&a, &[]), &side(&b, &chosen), asked);
            rows.into_iter().map(|row| (row.what, row.why.expect("it is said"))).collect::<Vec<_>>()
        };
        let names = ["DateStyle", "io_max_concurrency", "search_path"].map(str::to_owned);
        let expected = |why| names.clone().into_iter().zip([why, why, Why::Besides]).collect::<Vec<_>>();
        assert_eq!(found(&Asked { preset: true, ..Asked::default() }), expected(Why::Asked));
        assert_eq!(found(&Asked::default()), expected(Why::Besides));
        // A default follows from what was requested, but not from everything.
        let of = |name: &str| found(&Asked { settings: [name.to_owned()].into(), ..Asked::default() })[1].1;
        assert_eq!((of("shared_buffers"), of("jit")), (Why::Asked, Why::Besides));
    }
}
