//! What a server is, and where.

use std::{collections::BTreeSet, fs, path::PathBuf};

use pgdyno_host::observe::WatchedServer;
use pgdyno_postgres::observe::{places_in, postmaster_of};
use pgdyno_wire::{ConnectOptions, Session, WireError};

use crate::reading::ServerShown;

/// What does not change as long as a session lasts.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub shown: ServerShown,
    /// Names of all databases.
    pub databases: Vec<String>,
}

/// Asks the server.
pub(crate) fn facts(session: &mut Session, options: &ConnectOptions) -> Result<Facts, WireError> {
    let rows = session.query(
        "SELECT name, setting, unit FROM pg_catalog.pg_settings WHERE name IN \
         ('server_version_num', 'max_connections', 'max_wal_size', 'checkpoint_timeout')",
    )?;
    let setting = |name: &str| rows.iter().find(|row| row.get(0) == Some(name));
    let number = |name: &str| setting(name).and_then(|row| row.parse::<u64>(1));
    // In segments of 16 MB before 10, in MB since.
    let unit_bytes = match setting("max_wal_size").and_then(|row| row.get(2)) {
        Some("MB") | None => 1 << 20,
        Some(_) => 16 << 20,
    };
    let version = session.parameter("server_version").unwrap_or_default();
    let shown = ServerShown {
        address: session.address().to_string(),
        version: version.split(' ').next().unwrap_or_default().to_owned(),
        version_num: number("server_version_num").and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        role: options.user.clone(),
        database: options.database.clone(),
        is_here: postmaster_of(session).is_some(),
        max_connections: number("max_connections"),
        max_wal_size_bytes: number("max_wal_size").map(|size| size.saturating_mul(unit_bytes)),
        checkpoint_timeout_s: number("checkpoint_timeout"),
    };
    Ok(Facts { shown, databases: databases(session)? })
}

/// Names of all databases.
pub(crate) fn databases(session: &mut Session) -> Result<Vec<String>, WireError> {
    let rows = session.query("SELECT datname FROM pg_catalog.pg_database ORDER BY 1")?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// The server's processes and files on this machine; `None` if it is elsewhere, or its processes are hidden.
pub(crate) fn watched(session: &mut Session) -> Option<WatchedServer> {
    let postmaster = postmaster_of(session)?;
    let setting = session.value("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'");
    // Without the right to see the setting: the postmaster works in its data directory.
    let data = setting
        .ok()
        .flatten()
        .map(PathBuf::from)
        .or_else(|| fs::read_link(format!("/proc/{postmaster}/cwd")).ok());
    let places = places_in(session, data);
    let own: BTreeSet<u32> = u32::try_from(session.backend_pid()).into_iter().collect();
    Some(WatchedServer { postmaster: Some(postmaster), places, own, ..WatchedServer::default() })
}
