//! Options of tables, sequences, sessions and roles: what no host tells.

mod session;
mod storage;

use super::Rule;

/// Rules of options of tables, sessions and roles, in the order in which they are printed.
pub const RULES: &[&Rule] = &[
    &storage::WORKERS,
    &storage::FILLFACTOR,
    &storage::AUTOVACUUM,
    &storage::FREEZE_MAX,
    &storage::FREEZE_TABLE,
    &storage::MULTIXACT_MAX,
    &storage::MULTIXACT_TABLE,
    &storage::CACHE,
    &session::INDEX_SCAN,
    &session::INDEX_ONLY_SCAN,
    &session::BITMAP_SCAN,
    &session::SEQ_SCAN,
    &session::WORKERS,
    &session::MEMORY,
    &session::SEARCH_PATH,
];
