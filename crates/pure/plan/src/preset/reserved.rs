//! Settings of a preset that a server of pgdyno does not take over, or only as published.

/// Why a setting is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    /// pgdyno decides it, for every server.
    Always(&'static str),
    /// It would act outside of the server, or hold on to another machine; a published preset can have it, if asked for.
    Outside(&'static str),
    /// Only as published.
    Unpublished(&'static str),
}

const PLACE: Reserved = Reserved::Always("pgdyno decides where a server is and how it is reached");
const LOG: Reserved =
    Reserved::Unpublished("pgdyno keeps the server's log itself (--as-published applies it)");
const ARCHIVE: Reserved = Reserved::Outside("it would run a program, or send WAL to an archive");
const STANDBY: Reserved =
    Reserved::Outside("it is about other servers, such as standbys, which are not there");
const FILES: Reserved = Reserved::Outside("it names files or directories of another machine");
const WEAK: Reserved = Reserved::Unpublished("it weakens durability (--as-published applies it)");

/// Names with the reason why they are left out.
const NAMES: [(&str, Reserved); 49] = [
    ("listen_addresses", PLACE),
    ("port", PLACE),
    ("data_directory", PLACE),
    ("unix_socket_directories", PLACE),
    ("unix_socket_group", PLACE),
    ("hba_file", PLACE),
    ("config_file", PLACE),
    ("ident_file", PLACE),
    ("external_pid_file", PLACE),
    ("cluster_name", PLACE),
    ("lc_messages", Reserved::Always("pgdyno reads the server's messages in English")),
    ("restart_after_crash", Reserved::Always("pgdyno decides what follows a crash")),
    ("logging_collector", LOG),
    ("log_destination", LOG),
    ("log_directory", LOG),
    ("log_filename", LOG),
    ("log_file_mode", LOG),
    ("log_rotation_age", LOG),
    ("log_rotation_size", LOG),
    ("log_truncate_on_rotation", LOG),
    ("archive_mode", ARCHIVE),
    ("archive_command", ARCHIVE),
    ("archive_library", ARCHIVE),
    ("archive_timeout", ARCHIVE),
    ("archive_cleanup_command", ARCHIVE),
    ("restore_command", ARCHIVE),
    ("recovery_end_command", ARCHIVE),
    ("primary_conninfo", STANDBY),
    ("primary_slot_name", STANDBY),
    ("synchronous_standby_names", STANDBY),
    ("synchronized_standby_slots", STANDBY),
    ("standby_slot_names", STANDBY),
    ("promote_trigger_file", STANDBY),
    ("ssl", FILES),
    ("ssl_cert_file", FILES),
    ("ssl_key_file", FILES),
    ("ssl_ca_file", FILES),
    ("ssl_crl_file", FILES),
    ("ssl_crl_dir", FILES),
    ("ssl_dh_params_file", FILES),
    ("ssl_passphrase_command", FILES),
    ("krb_server_keyfile", FILES),
    ("stats_temp_directory", FILES),
    ("default_tablespace", FILES),
    ("temp_tablespaces", FILES),
    ("oauth_validator_libraries", FILES),
    ("zero_damaged_pages", WEAK),
    ("ignore_checksum_failure", WEAK),
    ("data_sync_retry", WEAK),
];

/// Settings that promise durability while they are on.
const PROMISES: [&str; 3] = ["fsync", "full_page_writes", "synchronous_commit"];

/// Why a setting, named in lower case, is left out; `None` if a server can have it.
pub(super) fn reserved(name: &str, value: &str) -> Option<Reserved> {
    if PROMISES.contains(&name) {
        return is_off(value).then_some(WEAK);
    }
    let found = NAMES.iter().find(|(reserved, _)| *reserved == name).map(|(_, why)| *why);
    // Turned off, a setting does nothing.
    found.filter(|why| *why != WEAK || !is_off(value))
}

/// Whether a value turns a setting off, as the server reads it: any beginning of `off`, `false` or `no`, and 0.
pub fn is_off(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    !value.is_empty()
        && (value == "0"
            || "no".starts_with(&value)
            || "false".starts_with(&value)
            || (value.len() > 1 && "off".starts_with(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_weakens_durability_is_found_by_its_value() {
        for value in ["off", "OFF", "of", "no", "false", "f", "0"] {
            assert_eq!(reserved("fsync", value), Some(WEAK), "{value}");
        }
        for (name, value) in [
            ("fsync", "on"),
            ("synchronous_commit", "local"),
            ("synchronous_commit", "on"),
            ("zero_damaged_pages", "off"),
            ("jit", "off"),
        ] {
            assert_eq!(reserved(name, value), None, "{name}");
        }
        assert_eq!(reserved("zero_damaged_pages", "on"), Some(WEAK));
        assert_eq!(reserved("port", "1"), Some(PLACE));
    }
}
