//! Storage of a server's files, if they are on this machine.

use std::path::Path;

use pgdyno_core::{facts::ServerFacts, host::Storage};
use pgdyno_postgres::observe::tablespace_dirs;
use pgdyno_wire::{Session, WireError};

/// The WAL directory in a data directory; `pg_xlog` before 10.
const PG_WAL: &str = "pg_wal";
const PG_XLOG: &str = "pg_xlog";

/// Adds the file systems of data and WAL to the facts of a server. A server on another machine has no data directory in
/// its facts, which then stay as they are. Without permission to read the data directory, the place of WAL remains
/// unknown.
pub fn with_storage(mut facts: ServerFacts) -> ServerFacts {
    let Some(data) = facts.data_directory.as_deref().map(Path::new) else { return facts };
    let wal = data.join(if facts.version_num < 100_000 { PG_XLOG } else { PG_WAL });
    let (of_data, of_wal) = (storage(data), storage(&wal));
    let in_memory = [&of_data, &of_wal].into_iter().flatten().any(Storage::is_in_memory);
    facts.durability = facts.durability.of_tables(false, in_memory);
    let is_data = |wal: &Storage| of_data.as_ref().is_none_or(|data| data.is_of_file_system(wal));
    facts.wal_storage = of_wal.filter(|wal| !is_data(wal));
    facts
}

/// Whether tables or indexes of this database are in a tablespace in memory.
///
/// # Errors
/// An error of the server.
pub fn has_tables_in_memory(session: &mut Session, facts: &ServerFacts) -> Result<bool, WireError> {
    if facts.data_directory.is_none() {
        return Ok(false);
    }
    let dirs = tablespace_dirs(session)?;
    Ok(dirs.iter().filter_map(|dir| storage(Path::new(dir))).any(|of| of.is_in_memory()))
}

fn storage(path: &Path) -> Option<Storage> {
    pgdyno_host::facts::storage(path).ok()
}
