//! Locations of a database's files.

use std::path::PathBuf;

use pgdyno_host::observe::Places;
use pgdyno_wire::{Session, WireError};

/// Directories of the tablespaces with permanent tables or indexes of this database, except the data directory
/// itself. Tablespaces with temporary files only do not count.
///
/// # Errors
/// The query fails.
pub fn tablespace_dirs(session: &mut Session) -> Result<Vec<String>, WireError> {
    let rows = session.query(
        "SELECT pg_catalog.pg_tablespace_location(t.oid) FROM pg_catalog.pg_tablespace t \
         WHERE pg_catalog.pg_tablespace_location(t.oid) <> '' AND (EXISTS (SELECT FROM pg_catalog.pg_class c \
         WHERE c.reltablespace = t.oid AND c.relpersistence <> 't') OR EXISTS (SELECT FROM pg_catalog.pg_database d \
         WHERE d.dattablespace = t.oid AND d.datname = pg_catalog.current_database()))",
    )?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// Names and directories of all tablespaces outside the data directory.
///
/// # Errors
/// The query fails.
fn tablespaces(session: &mut Session) -> Result<Vec<(String, String)>, WireError> {
    let rows = session.query(
        "SELECT spcname, pg_catalog.pg_tablespace_location(oid) FROM pg_catalog.pg_tablespace \
         WHERE pg_catalog.pg_tablespace_location(oid) <> ''",
    )?;
    Ok(rows.iter().filter_map(|row| Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()))).collect())
}

/// Where a server of this machine keeps its files, with this data directory. Tablespaces that cannot be read are
/// missing: observers find them in the data directory if they may read it.
pub fn places_in(session: &mut Session, data: Option<PathBuf>) -> Places {
    let known = tablespaces(session).unwrap_or_default();
    Places { data, tablespaces: known.into_iter().map(|(name, dir)| (name, PathBuf::from(dir))).collect() }
}
