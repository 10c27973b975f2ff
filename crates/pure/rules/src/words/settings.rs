//! Settings of the server that are judged by their version alone: no current major has them, and no rule is about them.

use crate::{Page, Today};

const NOTES: &str = "PostgreSQL release notes, migration to the major that removed it.";

/// The settings, by name.
pub(crate) const SETTINGS: &[Page] = &[
    gone("db_user_namespace", Some(17), "Whether names of users belonged to a database (name@database)."),
    Page {
        why: "A server from 12 on starts with it only if it is off.",
        ..gone(
            "default_with_oids",
            Some(12),
            "Whether new tables had a hidden column with object identifiers.",
        )
    },
    gone(
        "force_parallel_mode",
        Some(16),
        "Whether parallel workers are used for tests; debug_parallel_query since 16.",
    ),
    gone(
        "min_parallel_relation_size",
        Some(10),
        "Size of a table from which on its scan is parallel; min_parallel_table_scan_size since 10.",
    ),
    gone(
        "operator_precedence_warning",
        Some(14),
        "Whether queries were reported whose meaning changed with the operators of 9.5.",
    ),
    gone(
        "promote_trigger_file",
        Some(16),
        "A file that promoted a standby when it appeared; pg_ctl promote does it.",
    ),
    gone("replacement_sort_tuples", Some(11), "Up to how many rows a sort began by replacement selection."),
    gone(
        "sql_inheritance",
        Some(10),
        "Whether tables that inherit were included in queries of their parent; they are.",
    ),
    Page {
        why: "A server from 18 on takes the old name for the new one.",
        ..gone(
            "ssl_ecdh_curve",
            Some(18),
            "The curve of keys that are exchanged; ssl_groups since 18, which takes several.",
        )
    },
    gone(
        "stats_temp_directory",
        Some(15),
        "Where statistics were kept as files while the server ran, often put into memory; they are in shared memory \
         since 15.",
    ),
    gone("trace_recovery_messages", Some(17), "Level of messages of recovery, for developers."),
    gone(
        "vacuum_cleanup_index_scale_factor",
        Some(14),
        "New rows after which a VACUUM without dead rows scanned B-trees; it decides by itself since 14.",
    ),
    gone(
        "vacuum_defer_cleanup_age",
        Some(16),
        "Transactions for which dead rows were kept for standbys; hot_standby_feedback and replication slots do it.",
    ),
];

/// A setting that a major removed; `None` for one that 9.5 no longer had.
const fn gone(name: &'static str, until_major: Option<u32>, what: &'static str) -> Page {
    let why = "A server of a major that does not have it does not start with it.";
    Page { name, what, why, until_major, source: NOTES, today: Today::Obsolete, ..Page::EMPTY }
}
