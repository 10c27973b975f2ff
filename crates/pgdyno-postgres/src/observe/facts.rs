//! The facts of a server, by plain SQL that any role may run.

use pgdyno_core::facts::{BuildFacts, DurabilityTier, ServerFacts, ServerSource, Setting};

use crate::wire::{Session, WireError};

/// Settings whose values may hold an address, a path of a key or a secret: they stay out of the record.
const PRIVATE: [&str; 9] = [
    "primary_conninfo",
    "ssl_passphrase_command",
    "ssl_key_file",
    "krb_server_keyfile",
    "archive_command",
    "restore_command",
    "recovery_end_command",
    "archive_cleanup_command",
    "listen_addresses",
];

/// Whether a setting may hold an address, a path of a key or a secret, and stays out of the record.
pub fn is_private_setting(name: &str) -> bool {
    PRIVATE.iter().any(|private| private.eq_ignore_ascii_case(name))
}

/// Reads the facts of the server that a session is connected to.
///
/// # Errors
/// Where the session broke, or a setting that every server has cannot be read.
pub fn server_facts(
    session: &mut Session,
    source: ServerSource,
    bindir: Option<String>,
) -> Result<ServerFacts, WireError> {
    let version_num = parsed(session, "SELECT pg_catalog.current_setting('server_version_num')")?;
    let version_text = text(session, "SELECT pg_catalog.version()")?;
    let on = |session: &mut Session, name: &str| -> Result<bool, WireError> {
        Ok(text(session, &format!("SELECT pg_catalog.current_setting('{name}')"))? == "on")
    };
    let synchronous_commit = text(session, "SELECT pg_catalog.current_setting('synchronous_commit')")?;
    let durability =
        DurabilityTier::of(on(session, "fsync")?, &synchronous_commit, on(session, "full_page_writes")?);
    Ok(ServerFacts {
        version_num,
        // Packagers append their own version: it is part of the whole text.
        version: first_word(&text(session, "SELECT pg_catalog.current_setting('server_version')")?),
        source,
        bindir,
        build: build_facts(session, &version_text),
        block_bytes: parsed(session, "SELECT pg_catalog.current_setting('block_size')")?,
        wal_segment_bytes: parsed(
            session,
            "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('wal_segment_size'))",
        )?,
        data_checksums: on(session, "data_checksums")?,
        durability,
        max_connections: parsed(session, "SELECT pg_catalog.current_setting('max_connections')")?,
        shared_buffers_bytes: parsed(
            session,
            "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers'))",
        )?,
        // Both need rights that a plain role lacks: absent then.
        data_directory: session.value("SELECT pg_catalog.current_setting('data_directory')").ok().flatten(),
        settings: settings(session)?,
        version_text,
    })
}

/// Compiler from `version()`, the flags from `pg_config` (9.6 and later; superusers only before 11).
fn build_facts(session: &mut Session, version_text: &str) -> BuildFacts {
    let mut config = |name: &str| {
        session
            .value(&format!("SELECT setting FROM pg_catalog.pg_config WHERE name = '{name}'"))
            .ok()
            .flatten()
    };
    BuildFacts {
        compiler: compiler_of(version_text),
        cflags: config("CFLAGS"),
        configure: config("CONFIGURE"),
    }
}

/// `PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit` names its compiler.
fn compiler_of(version_text: &str) -> Option<String> {
    let (_, after) = version_text.split_once("compiled by ")?;
    Some(after.rsplit_once(", ").map_or(after, |(compiler, _)| compiler).to_owned())
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or(text).to_owned()
}

fn settings(session: &mut Session) -> Result<Vec<Setting>, WireError> {
    let rows = session.query(
        "SELECT name, pg_catalog.current_setting(name, true), source FROM pg_catalog.pg_settings \
         WHERE source NOT IN ('default', 'override', 'client', 'session', 'environment variable') ORDER BY name",
    )?;
    let setting = |column: usize, row: &crate::wire::Row| row.get(column).unwrap_or_default().to_owned();
    let public = rows.iter().filter(|row| row.get(0).is_some_and(|name| !is_private_setting(name)));
    Ok(public
        .map(|row| Setting { name: setting(0, row), value: setting(1, row), source: setting(2, row) })
        .collect())
}

fn text(session: &mut Session, sql: &str) -> Result<String, WireError> {
    session.value(sql)?.ok_or_else(|| WireError::Protocol(format!("no answer to {sql}")))
}

fn parsed<T: std::str::FromStr>(session: &mut Session, sql: &str) -> Result<T, WireError> {
    let text = text(session, sql)?;
    text.parse().map_err(|_| WireError::Protocol(format!("{text:?} is not a number, in answer to {sql}")))
}

#[cfg(test)]
mod tests {
    use super::compiler_of;

    #[test]
    fn the_compiler_stands_in_the_version() {
        let text = "PostgreSQL 15.4 (Debian 15.4-1) on x86_64-pc-linux-gnu, \
                    compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit";
        assert_eq!(compiler_of(text).as_deref(), Some("gcc (Debian 12.2.0-14) 12.2.0"));
        assert_eq!(compiler_of("PostgreSQL 99"), None);
    }
}
