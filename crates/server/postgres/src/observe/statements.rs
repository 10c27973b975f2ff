//! Statistics of statements on own servers.

use pgdyno_wire::Session;

/// Creates the extension `pg_stat_statements` in the session's database, if the server loads its library. Where its
/// programs lack the extension, nothing is created: observers report what is missing.
pub fn show_statements(session: &mut Session) {
    let loaded = session.value("SELECT 1 FROM pg_catalog.pg_settings WHERE name = 'pg_stat_statements.max'");
    if loaded.is_ok_and(|loaded| loaded.is_some()) {
        let _ = session.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    }
}
