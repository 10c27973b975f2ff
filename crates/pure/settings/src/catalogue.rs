//! Which settings each major has, with kind, unit, limits and default.
//!
//! From what the servers say of themselves: `postgres --describe-config` of a minor of each major from 9.5 to 18, and
//! their `postgresql.conf.sample` for defaults, with those of Linux where the platform decides. Names that it leaves
//! out are from the manual, section "Developer Options"; units from its chapter "Server Configuration".

use pgdyno_core::facts::major_of;

/// A setting as a range of majors has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Name in lower case.
    pub name: &'static str,
    /// First `server_version_num` that has it so.
    pub since: u32,
    /// First `server_version_num` that no longer has it so; `u32::MAX` if 18 does.
    pub until: u32,
    /// What its values are.
    pub kind: Kind,
    /// Lowest number that the server accepts, in its unit; 0 where values are words.
    pub least: f64,
    /// Highest number that the server accepts, in its unit; 0 where values are words.
    pub most: f64,
    /// Its default where nothing sets it, as `postgresql.conf.sample` writes it.
    pub default: &'static str,
}

impl Entry {
    /// The majors of PostgreSQL that have it so: `9.5 to 14`, `13 and later`.
    pub fn majors(&self) -> String {
        let first = major_of(self.since);
        let last = match self.until {
            END => return format!("{first} and later"),
            100_000 => "9.6".to_owned(),
            until if until < 100_000 => major_of(until - 100),
            until => major_of(until - 10_000),
        };
        if first == last { first } else { format!("{first} to {last}") }
    }
}

/// What the values of a setting are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Bool,
    /// One of a few words.
    Enum,
    /// Text.
    Text,
    /// A whole number.
    Int(Unit),
    /// A number with a fraction.
    Real(Unit),
}

/// What a number without a unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// It has none.
    None,
    /// Bytes.
    Byte,
    /// Kibibytes.
    Kb,
    /// Mebibytes.
    Mb,
    /// Blocks, usually of 8 KiB.
    Block,
    /// Segments of WAL.
    Segment,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    Min,
}

use Kind::{Bool, Enum, Int, Real, Text};

const END: u32 = u32::MAX;

/// The newest major that these entries, and the rules of settings, are of.
pub const NEWEST_MAJOR: u32 = 18;

/// The present name of a setting by an old one that the server still accepts (`map_old_guc_names`); `None` for other
/// names.
pub fn alias(name: &str, version_num: u32) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "sort_mem" => Some("work_mem"),
        "vacuum_mem" => Some("maintenance_work_mem"),
        "ssl_ecdh_curve" if version_num >= 180_000 => Some("ssl_groups"),
        _ => None,
    }
}

/// The setting of this name, in any case, as a version has it; `None` if that version has none.
pub fn entry(name: &str, version_num: u32) -> Option<&'static Entry> {
    let here = |entry: &&Entry| (entry.since..entry.until).contains(&version_num);
    of_name(name).find(here)
}

/// Whether any version from 9.5 on has a setting of this name.
pub fn is_known(name: &str) -> bool {
    of_name(name).next().is_some()
}

/// First and last `server_version_num` bounds of a name: the first that has it, and the first that no longer does.
pub fn bounds(name: &str) -> Option<(u32, u32)> {
    Some((of_name(name).map(|entry| entry.since).min()?, of_name(name).map(|entry| entry.until).max()?))
}

fn of_name(name: &str) -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(move |entry| entry.name.eq_ignore_ascii_case(name))
}

const fn number(
    name: &'static str,
    since: u32,
    until: u32,
    kind: Kind,
    least: f64,
    most: f64,
    default: &'static str,
) -> Entry {
    Entry { name, since, until, kind, least, most, default }
}

const fn word(name: &'static str, since: u32, until: u32, kind: Kind, default: &'static str) -> Entry {
    number(name, since, until, kind, 0.0, 0.0, default)
}

/// All settings, by name and major.
#[rustfmt::skip]
pub const ENTRIES: &[Entry] = &[
    word("allow_alter_system", 170_000, END, Bool, "on"),
    word("allow_in_place_tablespaces", 150_000, END, Bool, "off"),
    word("allow_system_table_mods", 90_500, END, Bool, "off"),
    word("archive_cleanup_command", 120_000, END, Text, ""),
    word("archive_command", 90_500, END, Text, ""),
    word("archive_library", 150_000, END, Text, ""),
    word("archive_mode", 90_500, END, Enum, "off"),
    number("archive_timeout", 90_500, END, Int(Unit::S), 0.0, 1_073_741_823.0, "0"),
    word("array_nulls", 90_500, END, Bool, "on"),
    number("authentication_timeout", 90_500, END, Int(Unit::S), 1.0, 600.0, "1min"),
    word("autovacuum", 90_500, END, Bool, "on"),
    number("autovacuum_analyze_scale_factor", 90_500, END, Real(Unit::None), 0.0, 100.0, "0.1"),
    number("autovacuum_analyze_threshold", 90_500, END, Int(Unit::None), 0.0, 2_147_483_647.0, "50"),
    number("autovacuum_freeze_max_age", 90_500, END, Int(Unit::None), 100_000.0, 2_000_000_000.0, "200000000"),
    number("autovacuum_max_workers", 90_500, 90_600, Int(Unit::None), 1.0, 8_388_607.0, "3"),
    number("autovacuum_max_workers", 90_600, END, Int(Unit::None), 1.0, 262_143.0, "3"),
    number("autovacuum_multixact_freeze_max_age", 90_500, END, Int(Unit::None), 10_000.0, 2_000_000_000.0, "400000000"),
    number("autovacuum_naptime", 90_500, END, Int(Unit::S), 1.0, 2_147_483.0, "1min"),
    number("autovacuum_vacuum_cost_delay", 90_500, 120_000, Int(Unit::Ms), -1.0, 100.0, "20ms"),
    number("autovacuum_vacuum_cost_delay", 120_000, END, Real(Unit::Ms), -1.0, 100.0, "2ms"),
    number("autovacuum_vacuum_cost_limit", 90_500, END, Int(Unit::None), -1.0, 10_000.0, "-1"),
    number("autovacuum_vacuum_insert_scale_factor", 130_000, END, Real(Unit::None), 0.0, 100.0, "0.2"),
    number("autovacuum_vacuum_insert_threshold", 130_000, END, Int(Unit::None), -1.0, 2_147_483_647.0, "1000"),
    number("autovacuum_vacuum_max_threshold", 180_000, END, Int(Unit::None), -1.0, 2_147_483_647.0, "100000000"),
    number("autovacuum_vacuum_scale_factor", 90_500, END, Real(Unit::None), 0.0, 100.0, "0.2"),
    number("autovacuum_vacuum_threshold", 90_500, END, Int(Unit::None), 0.0, 2_147_483_647.0, "50"),
    number("autovacuum_work_mem", 90_500, END, Int(Unit::Kb), -1.0, 2_147_483_647.0, "-1"),
    number("autovacuum_worker_slots", 180_000, END, Int(Unit::None), 1.0, 262_143.0, "16"),
    number("backend_flush_after", 90_600, END, Int(Unit::Block), 0.0, 256.0, "0"),
    word("backslash_quote", 90_500, END, Enum, "safe_encoding"),
    word("backtrace_functions", 130_000, END, Text, ""),
    number("bgwriter_delay", 90_500, END, Int(Unit::Ms), 10.0, 10_000.0, "200ms"),
    number("bgwriter_flush_after", 90_600, END, Int(Unit::Block), 0.0, 256.0, "512kB"),
    number("bgwriter_lru_maxpages", 90_500, 100_000, Int(Unit::None), 0.0, 1_000.0, "100"),
    number("bgwriter_lru_maxpages", 100_000, END, Int(Unit::None), 0.0, 1_073_741_823.0, "100"),
    number("bgwriter_lru_multiplier", 90_500, END, Real(Unit::None), 0.0, 10.0, "2.0"),
    word("bonjour", 90_500, END, Bool, "off"),
    word("bonjour_name", 90_500, END, Text, ""),
    word("bytea_output", 90_500, END, Enum, "hex"),
    word("check_function_bodies", 90_500, END, Bool, "on"),
    number("checkpoint_completion_target", 90_500, 140_000, Real(Unit::None), 0.0, 1.0, "0.5"),
    number("checkpoint_completion_target", 140_000, END, Real(Unit::None), 0.0, 1.0, "0.9"),
    number("checkpoint_flush_after", 90_600, END, Int(Unit::Block), 0.0, 256.0, "256kB"),
    number("checkpoint_timeout", 90_500, 90_600, Int(Unit::S), 30.0, 3_600.0, "5min"),
    number("checkpoint_timeout", 90_600, END, Int(Unit::S), 30.0, 86_400.0, "5min"),
    number("checkpoint_warning", 90_500, END, Int(Unit::S), 0.0, 2_147_483_647.0, "30s"),
    number("client_connection_check_interval", 140_000, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    word("client_encoding", 90_500, END, Text, "sql_ascii"),
    word("client_min_messages", 90_500, END, Enum, "notice"),
    word("cluster_name", 90_500, END, Text, ""),
    number("commit_delay", 90_500, END, Int(Unit::None), 0.0, 100_000.0, "0"),
    number("commit_siblings", 90_500, END, Int(Unit::None), 0.0, 1_000.0, "5"),
    number("commit_timestamp_buffers", 170_000, END, Int(Unit::Block), 0.0, 131_072.0, "0"),
    word("compute_query_id", 140_000, END, Enum, "auto"),
    word("constraint_exclusion", 90_500, END, Enum, "partition"),
    number("cpu_index_tuple_cost", 90_500, END, Real(Unit::None), 0.0, f64::MAX, "0.005"),
    number("cpu_operator_cost", 90_500, END, Real(Unit::None), 0.0, f64::MAX, "0.0025"),
    number("cpu_tuple_cost", 90_500, END, Real(Unit::None), 0.0, f64::MAX, "0.01"),
    word("createrole_self_grant", 160_000, END, Text, ""),
    number("cursor_tuple_fraction", 90_500, END, Real(Unit::None), 0.0, 1.0, "0.1"),
    word("data_directory", 90_500, END, Text, "ConfigDir"),
    word("data_sync_retry", 90_500, END, Bool, "off"),
    word("datestyle", 90_500, END, Text, "iso, mdy"),
    word("db_user_namespace", 90_500, 170_000, Bool, "off"),
    number("deadlock_timeout", 90_500, END, Int(Unit::Ms), 1.0, 2_147_483_647.0, "1s"),
    number("debug_discard_caches", 140_000, END, Int(Unit::None), 0.0, 5.0, "0"),
    word("debug_io_direct", 160_000, END, Text, ""),
    word("debug_parallel_query", 160_000, END, Enum, "off"),
    word("debug_pretty_print", 90_500, END, Bool, "on"),
    word("debug_print_parse", 90_500, END, Bool, "off"),
    word("debug_print_plan", 90_500, END, Bool, "off"),
    word("debug_print_rewritten", 90_500, END, Bool, "off"),
    number("default_statistics_target", 90_500, END, Int(Unit::None), 1.0, 10_000.0, "100"),
    word("default_table_access_method", 120_000, END, Text, "heap"),
    word("default_tablespace", 90_500, END, Text, ""),
    word("default_text_search_config", 90_500, END, Text, "pg_catalog.simple"),
    word("default_toast_compression", 140_000, END, Enum, "pglz"),
    word("default_transaction_deferrable", 90_500, END, Bool, "off"),
    word("default_transaction_isolation", 90_500, END, Enum, "read committed"),
    word("default_transaction_read_only", 90_500, END, Bool, "off"),
    word("default_with_oids", 90_500, 120_000, Bool, "off"),
    word("dynamic_library_path", 90_500, END, Text, "$libdir"),
    word("dynamic_shared_memory_type", 90_500, END, Enum, "posix"),
    number("effective_cache_size", 90_500, END, Int(Unit::Block), 1.0, 2_147_483_647.0, "4GB"),
    number("effective_io_concurrency", 90_500, 180_000, Int(Unit::None), 0.0, 1_000.0, "1"),
    number("effective_io_concurrency", 180_000, END, Int(Unit::None), 0.0, 1_000.0, "16"),
    word("enable_async_append", 140_000, END, Bool, "on"),
    word("enable_bitmapscan", 90_500, END, Bool, "on"),
    word("enable_distinct_reordering", 180_000, END, Bool, "on"),
    word("enable_gathermerge", 100_000, END, Bool, "on"),
    word("enable_group_by_reordering", 170_000, END, Bool, "on"),
    word("enable_hashagg", 90_500, END, Bool, "on"),
    word("enable_hashjoin", 90_500, END, Bool, "on"),
    word("enable_incremental_sort", 130_000, END, Bool, "on"),
    word("enable_indexonlyscan", 90_500, END, Bool, "on"),
    word("enable_indexscan", 90_500, END, Bool, "on"),
    word("enable_material", 90_500, END, Bool, "on"),
    word("enable_memoize", 140_000, END, Bool, "on"),
    word("enable_mergejoin", 90_500, END, Bool, "on"),
    word("enable_nestloop", 90_500, END, Bool, "on"),
    word("enable_parallel_append", 110_000, END, Bool, "on"),
    word("enable_parallel_hash", 110_000, END, Bool, "on"),
    word("enable_partition_pruning", 110_000, END, Bool, "on"),
    word("enable_partitionwise_aggregate", 110_000, END, Bool, "off"),
    word("enable_partitionwise_join", 110_000, END, Bool, "off"),
    word("enable_presorted_aggregate", 160_000, END, Bool, "on"),
    word("enable_self_join_elimination", 180_000, END, Bool, "on"),
    word("enable_seqscan", 90_500, END, Bool, "on"),
    word("enable_sort", 90_500, END, Bool, "on"),
    word("enable_tidscan", 90_500, END, Bool, "on"),
    word("escape_string_warning", 90_500, END, Bool, "on"),
    word("event_source", 90_500, END, Text, "PostgreSQL"),
    word("event_triggers", 170_000, END, Bool, "on"),
    word("exit_on_error", 90_500, END, Bool, "off"),
    word("extension_control_path", 180_000, END, Text, "$system"),
    word("external_pid_file", 90_500, END, Text, ""),
    number("extra_float_digits", 90_500, 120_000, Int(Unit::None), -15.0, 3.0, "0"),
    number("extra_float_digits", 120_000, END, Int(Unit::None), -15.0, 3.0, "1"),
    word("file_copy_method", 180_000, END, Enum, "copy"),
    word("file_extend_method", 160_000, END, Enum, "posix_fallocate"),
    word("force_parallel_mode", 90_600, 160_000, Enum, "off"),
    number("from_collapse_limit", 90_500, END, Int(Unit::None), 1.0, 2_147_483_647.0, "8"),
    word("fsync", 90_500, END, Bool, "on"),
    word("full_page_writes", 90_500, END, Bool, "on"),
    word("geqo", 90_500, END, Bool, "on"),
    number("geqo_effort", 90_500, END, Int(Unit::None), 1.0, 10.0, "5"),
    number("geqo_generations", 90_500, END, Int(Unit::None), 0.0, 2_147_483_647.0, "0"),
    number("geqo_pool_size", 90_500, END, Int(Unit::None), 0.0, 2_147_483_647.0, "0"),
    number("geqo_seed", 90_500, END, Real(Unit::None), 0.0, 1.0, "0.0"),
    number("geqo_selection_bias", 90_500, END, Real(Unit::None), 1.5, 2.0, "2.0"),
    number("geqo_threshold", 90_500, END, Int(Unit::None), 2.0, 2_147_483_647.0, "12"),
    number("gin_fuzzy_search_limit", 90_500, END, Int(Unit::None), 0.0, 2_147_483_647.0, "0"),
    number("gin_pending_list_limit", 90_500, END, Int(Unit::Kb), 64.0, 2_147_483_647.0, "4MB"),
    word("gss_accept_delegation", 160_000, END, Bool, "off"),
    number("hash_mem_multiplier", 130_000, 150_000, Real(Unit::None), 1.0, 1_000.0, "1.0"),
    number("hash_mem_multiplier", 150_000, END, Real(Unit::None), 1.0, 1_000.0, "2.0"),
    word("hba_file", 90_500, END, Text, "ConfigDir/pg_hba.conf"),
    word("hot_standby", 90_500, 100_000, Bool, "off"),
    word("hot_standby", 100_000, END, Bool, "on"),
    word("hot_standby_feedback", 90_500, END, Bool, "off"),
    number("huge_page_size", 140_000, END, Int(Unit::Kb), 0.0, 2_147_483_647.0, "0"),
    word("huge_pages", 90_500, END, Enum, "try"),
    word("icu_validation_level", 160_000, END, Enum, "warning"),
    word("ident_file", 90_500, END, Text, "ConfigDir/pg_ident.conf"),
    number("idle_in_transaction_session_timeout", 90_600, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    number("idle_replication_slot_timeout", 180_000, END, Int(Unit::S), 0.0, 2_147_483_647.0, "0"),
    number("idle_session_timeout", 140_000, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    word("ignore_checksum_failure", 90_500, END, Bool, "off"),
    word("ignore_invalid_pages", 130_000, END, Bool, "off"),
    word("ignore_system_indexes", 90_500, END, Bool, "off"),
    word("intervalstyle", 90_500, END, Enum, "postgres"),
    number("io_combine_limit", 170_000, 180_000, Int(Unit::Block), 1.0, 32.0, "128kB"),
    number("io_combine_limit", 180_000, END, Int(Unit::Block), 1.0, 128.0, "128kB"),
    number("io_max_combine_limit", 180_000, END, Int(Unit::Block), 1.0, 128.0, "128kB"),
    number("io_max_concurrency", 180_000, END, Int(Unit::None), -1.0, 1_024.0, "-1"),
    word("io_method", 180_000, END, Enum, "worker"),
    number("io_workers", 180_000, END, Int(Unit::None), 1.0, 32.0, "3"),
    word("jit", 110_000, 120_000, Bool, "off"),
    word("jit", 120_000, END, Bool, "on"),
    number("jit_above_cost", 110_000, END, Real(Unit::None), -1.0, f64::MAX, "100000"),
    word("jit_debugging_support", 110_000, END, Bool, "off"),
    word("jit_dump_bitcode", 110_000, END, Bool, "off"),
    word("jit_expressions", 110_000, END, Bool, "on"),
    number("jit_inline_above_cost", 110_000, END, Real(Unit::None), -1.0, f64::MAX, "500000"),
    number("jit_optimize_above_cost", 110_000, END, Real(Unit::None), -1.0, f64::MAX, "500000"),
    word("jit_profiling_support", 110_000, END, Bool, "off"),
    word("jit_provider", 110_000, END, Text, "llvmjit"),
    word("jit_tuple_deforming", 110_000, END, Bool, "on"),
    number("join_collapse_limit", 90_500, END, Int(Unit::None), 1.0, 2_147_483_647.0, "8"),
    word("krb_caseins_users", 90_500, END, Bool, "off"),
    word("krb_server_keyfile", 90_500, END, Text, ""),
    word("lc_messages", 90_500, 160_000, Text, "C"),
    word("lc_messages", 160_000, END, Text, ""),
    word("lc_monetary", 90_500, END, Text, "C"),
    word("lc_numeric", 90_500, END, Text, "C"),
    word("lc_time", 90_500, END, Text, "C"),
    word("listen_addresses", 90_500, END, Text, "localhost"),
    word("lo_compat_privileges", 90_500, END, Bool, "off"),
    word("local_preload_libraries", 90_500, END, Text, ""),
    number("lock_timeout", 90_500, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    number("log_autovacuum_min_duration", 90_500, 150_000, Int(Unit::Ms), -1.0, 2_147_483_647.0, "-1"),
    number("log_autovacuum_min_duration", 150_000, END, Int(Unit::Ms), -1.0, 2_147_483_647.0, "10min"),
    word("log_checkpoints", 90_500, 150_000, Bool, "off"),
    word("log_checkpoints", 150_000, END, Bool, "on"),
    word("log_connections", 90_500, 180_000, Bool, "off"),
    word("log_connections", 180_000, END, Text, ""),
    word("log_destination", 90_500, END, Text, "stderr"),
    word("log_directory", 90_500, 100_000, Text, "pg_log"),
    word("log_directory", 100_000, END, Text, "log"),
    word("log_disconnections", 90_500, END, Bool, "off"),
    word("log_duration", 90_500, END, Bool, "off"),
    word("log_error_verbosity", 90_500, END, Enum, "default"),
    word("log_executor_stats", 90_500, END, Bool, "off"),
    number("log_file_mode", 90_500, END, Int(Unit::None), 0.0, 511.0, "0600"),
    word("log_filename", 90_500, END, Text, "postgresql-%Y-%m-%d_%H%M%S.log"),
    word("log_hostname", 90_500, END, Bool, "off"),
    word("log_line_prefix", 90_500, 100_000, Text, ""),
    word("log_line_prefix", 100_000, END, Text, "%m [%p] "),
    word("log_lock_failures", 180_000, END, Bool, "off"),
    word("log_lock_waits", 90_500, END, Bool, "off"),
    number("log_min_duration_sample", 130_000, END, Int(Unit::Ms), -1.0, 2_147_483_647.0, "-1"),
    number("log_min_duration_statement", 90_500, END, Int(Unit::Ms), -1.0, 2_147_483_647.0, "-1"),
    word("log_min_error_statement", 90_500, END, Enum, "error"),
    word("log_min_messages", 90_500, END, Enum, "warning"),
    number("log_parameter_max_length", 130_000, END, Int(Unit::Byte), -1.0, 1_073_741_823.0, "-1"),
    number("log_parameter_max_length_on_error", 130_000, END, Int(Unit::Byte), -1.0, 1_073_741_823.0, "0"),
    word("log_parser_stats", 90_500, END, Bool, "off"),
    word("log_planner_stats", 90_500, END, Bool, "off"),
    word("log_recovery_conflict_waits", 140_000, END, Bool, "off"),
    word("log_replication_commands", 90_500, END, Bool, "off"),
    number("log_rotation_age", 90_500, END, Int(Unit::Min), 0.0, 35_791_394.0, "1d"),
    number("log_rotation_size", 90_500, 180_000, Int(Unit::Kb), 0.0, 2_097_151.0, "10MB"),
    number("log_rotation_size", 180_000, END, Int(Unit::Kb), 0.0, 2_147_483_647.0, "10MB"),
    number("log_startup_progress_interval", 150_000, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "10s"),
    word("log_statement", 90_500, END, Enum, "none"),
    number("log_statement_sample_rate", 130_000, END, Real(Unit::None), 0.0, 1.0, "1.0"),
    word("log_statement_stats", 90_500, END, Bool, "off"),
    number("log_temp_files", 90_500, END, Int(Unit::Kb), -1.0, 2_147_483_647.0, "-1"),
    word("log_timezone", 90_500, END, Text, "GMT"),
    number("log_transaction_sample_rate", 120_000, END, Real(Unit::None), 0.0, 1.0, "0.0"),
    word("log_truncate_on_rotation", 90_500, END, Bool, "off"),
    word("logging_collector", 90_500, END, Bool, "off"),
    number("logical_decoding_work_mem", 130_000, END, Int(Unit::Kb), 64.0, 2_147_483_647.0, "64MB"),
    number("maintenance_io_concurrency", 130_000, 180_000, Int(Unit::None), 0.0, 1_000.0, "10"),
    number("maintenance_io_concurrency", 180_000, END, Int(Unit::None), 0.0, 1_000.0, "16"),
    number("maintenance_work_mem", 90_500, 170_000, Int(Unit::Kb), 1_024.0, 2_147_483_647.0, "64MB"),
    number("maintenance_work_mem", 170_000, END, Int(Unit::Kb), 64.0, 2_147_483_647.0, "64MB"),
    number("max_active_replication_origins", 180_000, END, Int(Unit::None), 0.0, 262_143.0, "10"),
    number("max_connections", 90_500, 90_600, Int(Unit::None), 1.0, 8_388_607.0, "100"),
    number("max_connections", 90_600, END, Int(Unit::None), 1.0, 262_143.0, "100"),
    number("max_files_per_process", 90_500, 130_000, Int(Unit::None), 25.0, 2_147_483_647.0, "1000"),
    number("max_files_per_process", 130_000, END, Int(Unit::None), 64.0, 2_147_483_647.0, "1000"),
    number("max_locks_per_transaction", 90_500, END, Int(Unit::None), 10.0, 2_147_483_647.0, "64"),
    number("max_logical_replication_workers", 100_000, END, Int(Unit::None), 0.0, 262_143.0, "4"),
    number("max_notify_queue_pages", 170_000, END, Int(Unit::None), 64.0, 2_147_483_647.0, "1048576"),
    number("max_parallel_apply_workers_per_subscription", 160_000, END, Int(Unit::None), 0.0, 1_024.0, "2"),
    number("max_parallel_maintenance_workers", 110_000, END, Int(Unit::None), 0.0, 1_024.0, "2"),
    number("max_parallel_workers", 100_000, END, Int(Unit::None), 0.0, 1_024.0, "8"),
    number("max_parallel_workers_per_gather", 90_600, 100_000, Int(Unit::None), 0.0, 1_024.0, "0"),
    number("max_parallel_workers_per_gather", 100_000, END, Int(Unit::None), 0.0, 1_024.0, "2"),
    number("max_pred_locks_per_page", 100_000, END, Int(Unit::None), 0.0, 2_147_483_647.0, "2"),
    number("max_pred_locks_per_relation", 100_000, END, Int(Unit::None), -2_147_483_648.0, 2_147_483_647.0, "-2"),
    number("max_pred_locks_per_transaction", 90_500, END, Int(Unit::None), 10.0, 2_147_483_647.0, "64"),
    number("max_prepared_transactions", 90_500, 90_600, Int(Unit::None), 0.0, 8_388_607.0, "0"),
    number("max_prepared_transactions", 90_600, END, Int(Unit::None), 0.0, 262_143.0, "0"),
    number("max_replication_slots", 90_500, 90_600, Int(Unit::None), 0.0, 8_388_607.0, "0"),
    number("max_replication_slots", 90_600, 100_000, Int(Unit::None), 0.0, 262_143.0, "0"),
    number("max_replication_slots", 100_000, END, Int(Unit::None), 0.0, 262_143.0, "10"),
    number("max_slot_wal_keep_size", 130_000, END, Int(Unit::Mb), -1.0, 2_147_483_647.0, "-1"),
    number("max_stack_depth", 90_500, END, Int(Unit::Kb), 100.0, 2_147_483_647.0, "2MB"),
    number("max_standby_archive_delay", 90_500, END, Int(Unit::Ms), -1.0, 2_147_483_647.0, "30s"),
    number("max_standby_streaming_delay", 90_500, END, Int(Unit::Ms), -1.0, 2_147_483_647.0, "30s"),
    number("max_sync_workers_per_subscription", 100_000, END, Int(Unit::None), 0.0, 262_143.0, "2"),
    number("max_wal_senders", 90_500, 90_600, Int(Unit::None), 0.0, 8_388_607.0, "0"),
    number("max_wal_senders", 90_600, 100_000, Int(Unit::None), 0.0, 262_143.0, "0"),
    number("max_wal_senders", 100_000, END, Int(Unit::None), 0.0, 262_143.0, "10"),
    number("max_wal_size", 90_500, 100_000, Int(Unit::Segment), 2.0, 2_147_483_647.0, "1GB"),
    number("max_wal_size", 100_000, END, Int(Unit::Mb), 2.0, 2_147_483_647.0, "1GB"),
    number("max_worker_processes", 90_500, 90_600, Int(Unit::None), 1.0, 8_388_607.0, "8"),
    number("max_worker_processes", 90_600, END, Int(Unit::None), 0.0, 262_143.0, "8"),
    word("md5_password_warnings", 180_000, END, Bool, "on"),
    number("min_dynamic_shared_memory", 140_000, END, Int(Unit::Mb), 0.0, 2_147_483_647.0, "0MB"),
    number("min_parallel_index_scan_size", 100_000, END, Int(Unit::Block), 0.0, 715_827_882.0, "512kB"),
    number("min_parallel_relation_size", 90_600, 100_000, Int(Unit::Block), 0.0, 715_827_882.0, "8MB"),
    number("min_parallel_table_scan_size", 100_000, END, Int(Unit::Block), 0.0, 715_827_882.0, "8MB"),
    number("min_wal_size", 90_500, 100_000, Int(Unit::Segment), 2.0, 2_147_483_647.0, "80MB"),
    number("min_wal_size", 100_000, END, Int(Unit::Mb), 2.0, 2_147_483_647.0, "80MB"),
    number("multixact_member_buffers", 170_000, END, Int(Unit::Block), 16.0, 131_072.0, "32"),
    number("multixact_offset_buffers", 170_000, END, Int(Unit::Block), 16.0, 131_072.0, "16"),
    number("notify_buffers", 170_000, END, Int(Unit::Block), 16.0, 131_072.0, "16"),
    word("oauth_validator_libraries", 180_000, END, Text, ""),
    number("old_snapshot_threshold", 90_600, 170_000, Int(Unit::Min), -1.0, 86_400.0, "-1"),
    word("operator_precedence_warning", 90_500, 140_000, Bool, "off"),
    word("output_plugin_libraries", 140_000, END, Text, "pgoutput, test_decoding"),
    word("parallel_leader_participation", 110_000, END, Bool, "on"),
    number("parallel_setup_cost", 90_600, END, Real(Unit::None), 0.0, f64::MAX, "1000.0"),
    number("parallel_tuple_cost", 90_600, END, Real(Unit::None), 0.0, f64::MAX, "0.1"),
    word("password_encryption", 90_500, 100_000, Bool, "on"),
    word("password_encryption", 100_000, 140_000, Enum, "md5"),
    word("password_encryption", 140_000, END, Enum, "scram-sha-256"),
    word("plan_cache_mode", 120_000, END, Enum, "auto"),
    number("port", 90_500, END, Int(Unit::None), 1.0, 65_535.0, "5432"),
    number("post_auth_delay", 90_500, END, Int(Unit::S), 0.0, 2_147.0, "0"),
    number("pre_auth_delay", 90_500, END, Int(Unit::S), 0.0, 60.0, "0"),
    word("primary_conninfo", 120_000, END, Text, ""),
    word("primary_slot_name", 120_000, END, Text, ""),
    word("promote_trigger_file", 120_000, 160_000, Text, ""),
    word("quote_all_identifiers", 90_500, END, Bool, "off"),
    number("random_page_cost", 90_500, END, Real(Unit::None), 0.0, f64::MAX, "4.0"),
    word("recovery_end_command", 120_000, END, Text, ""),
    word("recovery_init_sync_method", 140_000, END, Enum, "fsync"),
    number("recovery_min_apply_delay", 120_000, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    word("recovery_prefetch", 150_000, END, Enum, "try"),
    word("recovery_target", 120_000, END, Text, ""),
    word("recovery_target_action", 120_000, END, Enum, "pause"),
    word("recovery_target_inclusive", 120_000, END, Bool, "on"),
    word("recovery_target_lsn", 120_000, END, Text, ""),
    word("recovery_target_name", 120_000, END, Text, ""),
    word("recovery_target_time", 120_000, END, Text, ""),
    word("recovery_target_timeline", 120_000, END, Text, "latest"),
    word("recovery_target_xid", 120_000, END, Text, ""),
    number("recursive_worktable_factor", 150_000, END, Real(Unit::None), 0.001, 1_000_000.0, "10.0"),
    word("remove_temp_files_after_crash", 140_000, END, Bool, "on"),
    number("replacement_sort_tuples", 90_600, 110_000, Int(Unit::None), 0.0, 2_147_483_647.0, "150000"),
    number("reserved_connections", 160_000, END, Int(Unit::None), 0.0, 262_143.0, "0"),
    word("restart_after_crash", 90_500, END, Bool, "on"),
    word("restore_command", 120_000, END, Text, ""),
    word("restrict_nonsystem_relation_kind", 120_000, END, Text, ""),
    word("row_security", 90_500, END, Bool, "on"),
    number("scram_iterations", 160_000, END, Int(Unit::None), 1.0, 2_147_483_647.0, "4096"),
    word("search_path", 90_500, END, Text, "\"$user\", public"),
    word("send_abort_for_crash", 160_000, END, Bool, "off"),
    word("send_abort_for_kill", 160_000, END, Bool, "off"),
    number("seq_page_cost", 90_500, END, Real(Unit::None), 0.0, f64::MAX, "1.0"),
    number("serializable_buffers", 170_000, END, Int(Unit::Block), 16.0, 131_072.0, "32"),
    word("session_preload_libraries", 90_500, END, Text, ""),
    word("session_replication_role", 90_500, END, Enum, "origin"),
    number("shared_buffers", 90_500, END, Int(Unit::Block), 16.0, 1_073_741_823.0, "128MB"),
    word("shared_memory_type", 120_000, END, Enum, "mmap"),
    word("shared_preload_libraries", 90_500, END, Text, ""),
    word("sql_inheritance", 90_500, 100_000, Bool, "on"),
    word("ssl", 90_500, END, Bool, "off"),
    word("ssl_ca_file", 90_500, END, Text, ""),
    word("ssl_cert_file", 90_500, END, Text, "server.crt"),
    word("ssl_ciphers", 90_500, END, Text, "HIGH:MEDIUM:+3DES:!aNULL"),
    word("ssl_crl_dir", 140_000, END, Text, ""),
    word("ssl_crl_file", 90_500, END, Text, ""),
    word("ssl_dh_params_file", 100_000, END, Text, ""),
    word("ssl_ecdh_curve", 90_500, 180_000, Text, "prime256v1"),
    word("ssl_groups", 180_000, END, Text, "X25519:prime256v1"),
    word("ssl_key_file", 90_500, END, Text, "server.key"),
    word("ssl_max_protocol_version", 120_000, END, Enum, ""),
    word("ssl_min_protocol_version", 120_000, 130_000, Enum, "TLSv1"),
    word("ssl_min_protocol_version", 130_000, END, Enum, "TLSv1.2"),
    word("ssl_passphrase_command", 110_000, END, Text, ""),
    word("ssl_passphrase_command_supports_reload", 110_000, END, Bool, "off"),
    word("ssl_prefer_server_ciphers", 90_500, END, Bool, "on"),
    word("ssl_tls13_ciphers", 180_000, END, Text, ""),
    word("standard_conforming_strings", 90_500, END, Bool, "on"),
    number("statement_timeout", 90_500, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    word("stats_fetch_consistency", 150_000, END, Enum, "cache"),
    word("stats_temp_directory", 90_500, 150_000, Text, "pg_stat_tmp"),
    number("subtransaction_buffers", 170_000, END, Int(Unit::Block), 0.0, 131_072.0, "0"),
    word("summarize_wal", 170_000, END, Bool, "off"),
    number("superuser_reserved_connections", 90_500, 90_600, Int(Unit::None), 0.0, 8_388_607.0, "3"),
    number("superuser_reserved_connections", 90_600, END, Int(Unit::None), 0.0, 262_143.0, "3"),
    word("sync_replication_slots", 170_000, END, Bool, "off"),
    word("synchronize_seqscans", 90_500, END, Bool, "on"),
    word("synchronized_standby_slots", 170_000, END, Text, ""),
    word("synchronous_commit", 90_500, END, Enum, "on"),
    word("synchronous_standby_names", 90_500, END, Text, ""),
    word("syslog_facility", 90_500, END, Enum, "LOCAL0"),
    word("syslog_ident", 90_500, END, Text, "postgres"),
    word("syslog_sequence_numbers", 90_600, END, Bool, "on"),
    word("syslog_split_messages", 90_600, END, Bool, "on"),
    number("tcp_keepalives_count", 90_500, END, Int(Unit::None), 0.0, 2_147_483_647.0, "0"),
    number("tcp_keepalives_idle", 90_500, END, Int(Unit::S), 0.0, 2_147_483_647.0, "0"),
    number("tcp_keepalives_interval", 90_500, END, Int(Unit::S), 0.0, 2_147_483_647.0, "0"),
    number("tcp_user_timeout", 120_000, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    number("temp_buffers", 90_500, END, Int(Unit::Block), 100.0, 1_073_741_823.0, "8MB"),
    number("temp_file_limit", 90_500, END, Int(Unit::Kb), -1.0, 2_147_483_647.0, "-1"),
    word("temp_tablespaces", 90_500, END, Text, ""),
    word("timezone", 90_500, END, Text, "GMT"),
    word("timezone_abbreviations", 90_500, END, Text, "Default"),
    word("trace_notify", 90_500, END, Bool, "off"),
    word("trace_recovery_messages", 90_500, 170_000, Enum, "log"),
    word("trace_sort", 90_500, END, Bool, "off"),
    word("track_activities", 90_500, END, Bool, "on"),
    number("track_activity_query_size", 90_500, 130_000, Int(Unit::Byte), 100.0, 102_400.0, "1024"),
    number("track_activity_query_size", 130_000, END, Int(Unit::Byte), 100.0, 1_048_576.0, "1024"),
    word("track_commit_timestamp", 90_500, END, Bool, "off"),
    word("track_cost_delay_timing", 180_000, END, Bool, "off"),
    word("track_counts", 90_500, END, Bool, "on"),
    word("track_functions", 90_500, END, Enum, "none"),
    word("track_io_timing", 90_500, END, Bool, "off"),
    word("track_wal_io_timing", 140_000, END, Bool, "off"),
    number("transaction_buffers", 170_000, END, Int(Unit::Block), 0.0, 131_072.0, "0"),
    number("transaction_timeout", 170_000, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "0"),
    word("transform_null_equals", 90_500, END, Bool, "off"),
    word("unix_socket_directories", 90_500, END, Text, "/tmp"),
    word("unix_socket_group", 90_500, END, Text, ""),
    number("unix_socket_permissions", 90_500, END, Int(Unit::None), 0.0, 511.0, "0777"),
    word("update_process_title", 90_500, END, Bool, "on"),
    number("vacuum_buffer_usage_limit", 160_000, 170_000, Int(Unit::Kb), 0.0, 16_777_216.0, "256kB"),
    number("vacuum_buffer_usage_limit", 170_000, END, Int(Unit::Kb), 0.0, 16_777_216.0, "2MB"),
    number("vacuum_cleanup_index_scale_factor", 110_000, 140_000, Real(Unit::None), 0.0, 10_000_000_000.0, "0.1"),
    number("vacuum_cost_delay", 90_500, 120_000, Int(Unit::Ms), 0.0, 100.0, "0"),
    number("vacuum_cost_delay", 120_000, END, Real(Unit::Ms), 0.0, 100.0, "0"),
    number("vacuum_cost_limit", 90_500, END, Int(Unit::None), 1.0, 10_000.0, "200"),
    number("vacuum_cost_page_dirty", 90_500, END, Int(Unit::None), 0.0, 10_000.0, "20"),
    number("vacuum_cost_page_hit", 90_500, END, Int(Unit::None), 0.0, 10_000.0, "1"),
    number("vacuum_cost_page_miss", 90_500, 140_000, Int(Unit::None), 0.0, 10_000.0, "10"),
    number("vacuum_cost_page_miss", 140_000, END, Int(Unit::None), 0.0, 10_000.0, "2"),
    number("vacuum_defer_cleanup_age", 90_500, 160_000, Int(Unit::None), 0.0, 1_000_000.0, "0"),
    number("vacuum_failsafe_age", 140_000, END, Int(Unit::None), 0.0, 2_100_000_000.0, "1600000000"),
    number("vacuum_freeze_min_age", 90_500, END, Int(Unit::None), 0.0, 1_000_000_000.0, "50000000"),
    number("vacuum_freeze_table_age", 90_500, END, Int(Unit::None), 0.0, 2_000_000_000.0, "150000000"),
    number("vacuum_max_eager_freeze_failure_rate", 180_000, END, Real(Unit::None), 0.0, 1.0, "0.03"),
    number("vacuum_multixact_failsafe_age", 140_000, END, Int(Unit::None), 0.0, 2_100_000_000.0, "1600000000"),
    number("vacuum_multixact_freeze_min_age", 90_500, END, Int(Unit::None), 0.0, 1_000_000_000.0, "5000000"),
    number("vacuum_multixact_freeze_table_age", 90_500, END, Int(Unit::None), 0.0, 2_000_000_000.0, "150000000"),
    word("vacuum_truncate", 180_000, END, Bool, "on"),
    number("wal_buffers", 90_500, END, Int(Unit::Block), -1.0, 262_143.0, "-1"),
    word("wal_compression", 90_500, 150_000, Bool, "off"),
    word("wal_compression", 150_000, END, Enum, "off"),
    word("wal_consistency_checking", 100_000, END, Text, ""),
    number("wal_decode_buffer_size", 150_000, END, Int(Unit::Byte), 65_536.0, 1_073_741_823.0, "512kB"),
    word("wal_init_zero", 120_000, END, Bool, "on"),
    number("wal_keep_segments", 90_500, 130_000, Int(Unit::None), 0.0, 2_147_483_647.0, "0"),
    number("wal_keep_size", 130_000, END, Int(Unit::Mb), 0.0, 2_147_483_647.0, "0"),
    word("wal_level", 90_500, 100_000, Enum, "minimal"),
    word("wal_level", 100_000, END, Enum, "replica"),
    word("wal_log_hints", 90_500, END, Bool, "off"),
    word("wal_receiver_create_temp_slot", 130_000, END, Bool, "off"),
    number("wal_receiver_status_interval", 90_500, END, Int(Unit::S), 0.0, 2_147_483.0, "10s"),
    number("wal_receiver_timeout", 90_500, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "60s"),
    word("wal_recycle", 120_000, END, Bool, "on"),
    number("wal_retrieve_retry_interval", 90_500, END, Int(Unit::Ms), 1.0, 2_147_483_647.0, "5s"),
    number("wal_sender_timeout", 90_500, END, Int(Unit::Ms), 0.0, 2_147_483_647.0, "60s"),
    number("wal_skip_threshold", 130_000, END, Int(Unit::Kb), 0.0, 2_147_483_647.0, "2MB"),
    number("wal_summary_keep_time", 170_000, END, Int(Unit::Min), 0.0, 35_791_394.0, "10d"),
    word("wal_sync_method", 90_500, END, Enum, "fdatasync"),
    number("wal_writer_delay", 90_500, END, Int(Unit::Ms), 1.0, 10_000.0, "200ms"),
    number("wal_writer_flush_after", 90_600, END, Int(Unit::Block), 0.0, 2_147_483_647.0, "1MB"),
    number("work_mem", 90_500, END, Int(Unit::Kb), 64.0, 2_147_483_647.0, "4MB"),
    word("xmlbinary", 90_500, END, Enum, "base64"),
    word("xmloption", 90_500, END, Enum, "content"),
    word("zero_damaged_pages", 90_500, END, Bool, "off"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_and_go_with_majors() {
        for (name, since, until) in [
            ("wal_keep_segments", 90_500, 130_000),
            ("wal_keep_size", 130_000, END),
            ("old_snapshot_threshold", 90_600, 170_000),
            ("max_parallel_workers_per_gather", 90_600, END),
            ("max_parallel_workers", 100_000, END),
            ("max_parallel_maintenance_workers", 110_000, END),
            ("jit", 110_000, END),
            ("wal_recycle", 120_000, END),
            ("shared_memory_type", 120_000, END),
            ("autovacuum_vacuum_insert_threshold", 130_000, END),
            ("huge_page_size", 140_000, END),
            ("recovery_prefetch", 150_000, END),
            ("vacuum_buffer_usage_limit", 160_000, END),
            ("io_combine_limit", 170_000, END),
            ("io_method", 180_000, END),
            ("io_workers", 180_000, END),
            ("io_max_concurrency", 180_000, END),
            ("autovacuum_worker_slots", 180_000, END),
            ("autovacuum_vacuum_max_threshold", 180_000, END),
            ("shared_buffers", 90_500, END),
        ] {
            assert_eq!(bounds(name), Some((since, until)), "{name}");
        }
        assert!(!is_known("checkpoint_segments") && is_known("DateStyle"));
        let newest = ENTRIES.iter().map(|entry| entry.since).max().expect("there are some");
        assert_eq!(newest / 10_000, NEWEST_MAJOR);
    }

    #[test]
    fn defaults_are_those_of_the_major() {
        for (name, version, default) in [
            ("checkpoint_completion_target", 130_023, "0.5"),
            ("checkpoint_completion_target", 140_000, "0.9"),
            ("effective_io_concurrency", 170_011, "1"),
            ("effective_io_concurrency", 180_000, "16"),
            ("autovacuum_vacuum_cost_delay", 110_022, "20ms"),
            ("autovacuum_vacuum_cost_delay", 120_000, "2ms"),
            ("wal_level", 90_624, "minimal"),
            ("wal_level", 100_000, "replica"),
            ("jit", 110_022, "off"),
            ("jit", 120_000, "on"),
        ] {
            assert_eq!(entry(name, version).map(|entry| entry.default), Some(default), "{name}");
        }
    }

    #[test]
    fn majors_are_named() {
        let of = |name: &str, version| entry(name, version).expect("it has it").majors();
        for (name, version, majors) in [
            ("stats_temp_directory", 140_000, "9.5 to 14"),
            ("io_method", 180_000, "18 and later"),
            ("log_line_prefix", 90_600, "9.5 to 9.6"),
            ("max_worker_processes", 90_503, "9.5"),
            ("io_combine_limit", 170_000, "17"),
        ] {
            assert_eq!(of(name, version), majors, "{name}");
        }
    }

    #[test]
    fn the_ranges_of_a_name_do_not_overlap() {
        for pair in ENTRIES.windows(2) {
            assert!(pair[0].name <= pair[1].name, "{}", pair[1].name);
            assert!(pair[0].name != pair[1].name || pair[0].until <= pair[1].since, "{}", pair[0].name);
        }
    }
}
