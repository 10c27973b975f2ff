//! What a server's files lie on, where they are on this machine.

use std::path::Path;

use pgdyno_core::facts::{ServerFacts, StorageFacts};
use pgdyno_postgres::observe::tablespace_dirs;
use pgdyno_wire::{Session, WireError};

/// The directory of WAL in a data directory, by another name since 10.
const PG_WAL: &str = "pg_wal";
const PG_XLOG: &str = "pg_xlog";

/// Facts of a server with what its data and its WAL lie on; one that is elsewhere names no directory and stays as it
/// is. Whoever may not look into the data directory does not see where WAL is.
pub fn located(mut facts: ServerFacts) -> ServerFacts {
    let Some(data) = facts.data_directory.as_deref().map(Path::new) else { return facts };
    let wal = data.join(if facts.version_num < 100_000 { PG_XLOG } else { PG_WAL });
    let (of_data, of_wal) = (storage(data), storage(&wal));
    let in_memory = [&of_data, &of_wal].into_iter().flatten().any(StorageFacts::is_in_memory);
    facts.durability = facts.durability.of_tables(false, in_memory);
    let is_data = |wal: &StorageFacts| of_data.as_ref().is_none_or(|data| data.is_of_file_system(wal));
    facts.wal_storage = of_wal.filter(|wal| !is_data(wal));
    facts
}

/// Whether tables or indexes of this database lie in a tablespace that is in memory.
///
/// # Errors
/// The server's.
pub fn are_in_memory(session: &mut Session, facts: &ServerFacts) -> Result<bool, WireError> {
    if facts.data_directory.is_none() {
        return Ok(false);
    }
    let dirs = tablespace_dirs(session)?;
    Ok(dirs.iter().filter_map(|dir| storage(Path::new(dir))).any(|of| of.is_in_memory()))
}

fn storage(path: &Path) -> Option<StorageFacts> {
    pgdyno_host::facts::storage(path).ok()
}
