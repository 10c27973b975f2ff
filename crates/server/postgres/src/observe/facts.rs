//! Reads the facts of a server with SQL that any role may run.

use std::collections::BTreeMap;

use pgdyno_core::facts::{
    BuildFacts, DatabaseFacts, DurabilityTier, FEATURES, SESSION, ServerFacts, ServerSource, Setting,
    compiler, features_of_configure, is_private_setting,
};

use pgdyno_wire::{Session, WireError};

use crate::settings::size_bytes;

/// Reads the facts of the server that a session is connected to.
///
/// # Errors
/// The session is lost, or a setting that every server has cannot be read.
pub fn server_facts(
    session: &mut Session,
    source: ServerSource,
    bindir: Option<String>,
) -> Result<ServerFacts, WireError> {
    let version_num = setting(session, "server_version_num")?;
    let version_text = text(session, "SELECT pg_catalog.version()")?;
    let on = |session: &mut Session, name: &str| -> Result<bool, WireError> {
        Ok(setting::<String>(session, name)? == "on")
    };
    let synchronous_commit: String = setting(session, "synchronous_commit")?;
    let durability =
        DurabilityTier::of(on(session, "fsync")?, &synchronous_commit, on(session, "full_page_writes")?);
    Ok(ServerFacts {
        version_num,
        // Packagers append their own version, which the full text keeps.
        version: first_word(&setting::<String>(session, "server_version")?),
        source,
        bindir,
        build: build_facts(session, version_num, &version_text),
        block_bytes: setting(session, "block_size")?,
        wal_block_bytes: setting(session, "wal_block_size").ok(),
        segment_bytes: size_bytes(session, "segment_size").ok(),
        wal_segment_bytes: size_bytes(session, "wal_segment_size")?,
        data_checksums: on(session, "data_checksums")?,
        durability,
        max_connections: setting(session, "max_connections")?,
        shared_buffers_bytes: size_bytes(session, "shared_buffers")?,
        // Absent for plain roles, which may not read them.
        data_directory: setting(session, "data_directory").ok(),
        wal_storage: None,
        database: database_facts(session, version_num),
        settings: settings(session, version_num)?,
        defaults: defaults(session, version_num).ok(),
        version_text,
    })
}

/// First version with the view `pg_config`.
const CONFIG_SINCE: u32 = 90_600;

/// The compiler from `version()`, the flags from `pg_config` (absent in 9.5, superusers only before version 11).
fn build_facts(session: &mut Session, version_num: u32, version_text: &str) -> BuildFacts {
    let mut config = |name: &str| {
        let sql = format!("SELECT setting FROM pg_catalog.pg_config WHERE name = '{name}'");
        (version_num >= CONFIG_SINCE).then(|| seen(session, &sql)).flatten()
    };
    let (cflags, configure) = (config("CFLAGS"), config("CONFIGURE"));
    let features = features(session, version_num, configure.as_deref());
    BuildFacts {
        compiler: compiler(version_text).map(str::to_owned),
        cflags,
        configure,
        features: Some(features),
        made: None,
    }
}

/// Signs of compiled-in features that any role can see, with the first version that has them: a query that returns `t`,
/// `f`, or null if it is unknown. `CONFIGURE` is empty in Meson builds, and hidden from plain roles.
const SIGNS: [(&str, u32, &str); 8] = [
    ("cassert", 0, "SELECT pg_catalog.current_setting('debug_assertions') = 'on'"),
    (
        "icu",
        100_000,
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_collation WHERE collprovider = 'i' AND collname = 'und-x-icu')",
    ),
    (
        "liburing",
        180_000,
        "SELECT 'io_uring' = ANY(enumvals) FROM pg_catalog.pg_settings WHERE name = 'io_method'",
    ),
    (
        "llvm",
        110_000,
        "SELECT CASE WHEN pg_catalog.set_config('jit', 'on', true) = 'on' THEN pg_catalog.pg_jit_available() END",
    ),
    (
        "lz4",
        140_000,
        "SELECT 'lz4' = ANY(enumvals) FROM pg_catalog.pg_settings WHERE name = 'default_toast_compression'",
    ),
    ("openssl", 120_000, "SELECT pg_catalog.current_setting('ssl_library') = 'OpenSSL'"),
    ("openssl", 0, "SELECT boot_val <> 'none' FROM pg_catalog.pg_settings WHERE name = 'ssl_ciphers'"),
    (
        "zstd",
        150_000,
        "SELECT 'zstd' = ANY(enumvals) FROM pg_catalog.pg_settings WHERE name = 'wal_compression'",
    ),
];

/// Compiled-in features, from `CONFIGURE` if it is available, else from their signs.
fn features(session: &mut Session, version_num: u32, configure: Option<&str>) -> Vec<String> {
    let configure = configure.filter(|line| !line.trim().is_empty());
    let asked = configure.map(features_of_configure);
    let shows = |session: &mut Session, feature: &str| {
        let sign = SIGNS.iter().find(|(name, since, _)| *name == feature && version_num >= *since);
        sign.and_then(|(.., query)| seen::<String>(session, query)).is_some_and(|answer| answer == "t")
    };
    let is_in = |(feature, _): &&(&str, &[&str])| match &asked {
        Some(asked) => asked.contains(feature),
        None => shows(&mut *session, feature),
    };
    FEATURES.iter().filter(is_in).map(|(feature, _)| (*feature).to_owned()).collect()
}

/// Encoding and locale of the session's database.
fn database_facts(session: &mut Session, version_num: u32) -> Option<DatabaseFacts> {
    let provider = match version_num {
        150_000.. => "CASE datlocprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END",
        _ => "'libc'",
    };
    let query = format!(
        "SELECT pg_catalog.pg_encoding_to_char(encoding), datcollate, datctype, {provider} \
         FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
    );
    let rows = session.query(&query).ok()?;
    let word = |column: usize| rows.first()?.get(column).map(str::to_owned);
    Some(DatabaseFacts { encoding: word(0)?, collate: word(1)?, ctype: word(2)?, provider: word(3)? })
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or(text).to_owned()
}

/// The value of a listed setting as SHOW formats it. Before 9.6 nothing keeps a setting that vanished meanwhile from
/// being an error.
fn shown(version_num: u32) -> &'static str {
    match version_num {
        0..90_600 => "pg_catalog.current_setting(name)",
        _ => "pg_catalog.current_setting(name, true)",
    }
}

fn settings(session: &mut Session, version_num: u32) -> Result<Vec<Setting>, WireError> {
    let rows = session.query(&format!(
        "SELECT name, {}, source FROM pg_catalog.pg_settings \
         WHERE source NOT IN ('default', 'override', 'client', 'session', 'environment variable') ORDER BY name",
        shown(version_num)
    ))?;
    let setting = |column: usize, row: &pgdyno_wire::Row| row.get(column).unwrap_or_default().to_owned();
    let public = rows.iter().filter(|row| row.get(0).is_some_and(|name| !is_private_setting(name)));
    Ok(public
        .map(|row| Setting { name: setting(0, row), value: setting(1, row), source: setting(2, row) })
        .collect())
}

/// Settings that every session of pgdyno has of its own, whatever was requested for it.
const OF_EVERY_CLIENT: &str = "'application_name', 'client_encoding', 'search_path'";

/// Settings that this session was given when it connected, by its connection string or otherwise.
///
/// # Errors
/// The session is lost.
pub fn session_settings(session: &mut Session, version_num: u32) -> Result<Vec<Setting>, WireError> {
    let rows = session.query(&format!(
        "SELECT name, {} FROM pg_catalog.pg_settings \
         WHERE source = 'client' AND name NOT IN ({OF_EVERY_CLIENT}) ORDER BY name",
        shown(version_num)
    ))?;
    let of = |row: &pgdyno_wire::Row| {
        let (name, value) = (row.get(0)?.to_owned(), row.get(1)?.to_owned());
        Some(Setting { name, value, source: SESSION.to_owned() })
    };
    Ok(rows.iter().filter_map(of).filter(|setting| !is_private_setting(&setting.name)).collect())
}

/// When a setting can be set (`pg_settings.context`), such as `postmaster`; `None` if the server has no such setting.
///
/// # Errors
/// The session is lost.
pub fn context_of(session: &mut Session, name: &str) -> Result<Option<String>, WireError> {
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')) {
        return Ok(None);
    }
    let name = name.to_ascii_lowercase();
    session
        .value(&format!("SELECT context FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) = '{name}'"))
}

/// Settings that were not changed: defaults of this version, and values that the server derived itself, without file
/// locations.
fn defaults(session: &mut Session, version_num: u32) -> Result<BTreeMap<String, String>, WireError> {
    let rows = session.query(&format!(
        "SELECT name, {} FROM pg_catalog.pg_settings \
         WHERE source IN ('default', 'override') AND name !~ '_(file|directory|directories)$'",
        shown(version_num)
    ))?;
    let pair = |row: &pgdyno_wire::Row| Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()));
    Ok(rows.iter().filter_map(pair).filter(|(name, _)| !is_private_setting(name)).collect())
}

/// The result of a query that not every role or version can run; `None` if it fails.
fn seen<T: std::str::FromStr>(session: &mut Session, sql: &str) -> Option<T> {
    session.value(sql).ok().flatten()?.parse().ok()
}

fn setting<T: std::str::FromStr>(session: &mut Session, name: &str) -> Result<T, WireError> {
    parsed(session, &format!("SELECT pg_catalog.current_setting('{name}')"))
}

fn text(session: &mut Session, sql: &str) -> Result<String, WireError> {
    session.value(sql)?.ok_or_else(|| WireError::Protocol(format!("no answer to {sql}")))
}

fn parsed<T: std::str::FromStr>(session: &mut Session, sql: &str) -> Result<T, WireError> {
    let text = text(session, sql)?;
    text.parse().map_err(|_| WireError::Protocol(format!("{text:?} is not a number, in answer to {sql}")))
}
