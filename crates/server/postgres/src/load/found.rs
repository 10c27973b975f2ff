//! Finds the TPC-B tables of a database as pgbench does before a run.

use std::collections::BTreeSet;

use pgdyno_rows::load::AccountsState;
use pgdyno_wire::{Session, WireError};

use super::PartitionMethod;

/// TPC-B tables found in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Scale factor: rows of `pgbench_branches`.
    pub scale: i64,
    /// Partition method and number of partitions of accounts; `None` for a plain table.
    pub partitions: Option<(PartitionMethod, u64)>,
}

/// Why tables cannot be used; messages are pgbench's.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// Branches cannot be counted.
    #[error("could not count number of branches: {0}")]
    Branches(WireError),
    /// There is no table of accounts.
    #[error("no pgbench_accounts table found in \"search_path\"")]
    Accounts,
    /// Accounts have an unknown partition method.
    #[error("unexpected partition method: \"{0}\"")]
    Method(String),
}

/// The first table of accounts in the search path: position in the path, strategy, number of partitions.
const ACCOUNTS: &str = "SELECT path.place, p.partstrat, pg_catalog.count(i.inhparent) \
     FROM pg_catalog.pg_class AS c \
     JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
     CROSS JOIN LATERAL \
       (SELECT pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)) AS path(place) \
     LEFT JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = c.oid \
     LEFT JOIN pg_catalog.pg_inherits AS i ON i.inhparent = c.oid \
     WHERE c.relname = 'pgbench_accounts' AND path.place IS NOT NULL \
     GROUP BY 1, 2 ORDER BY 1 LIMIT 1";

/// Finds the tables in the search path.
///
/// # Errors
/// The tables are missing or cannot be used.
pub fn find_tables(session: &mut Session) -> Result<Found, NotFound> {
    let branches = session.value("SELECT pg_catalog.count(*) FROM pgbench_branches");
    let scale = branches.map_err(NotFound::Branches)?.and_then(|count| count.parse().ok()).unwrap_or(0);
    // Servers without partitions lack these catalogs.
    let Ok(rows) = session.query(ACCOUNTS) else { return Ok(Found { scale, partitions: None }) };
    let row = rows.first().ok_or(NotFound::Accounts)?;
    let method = match row.get(1) {
        None => return Ok(Found { scale, partitions: None }),
        Some("r") => PartitionMethod::Range,
        Some("h") => PartitionMethod::Hash,
        Some(other) => return Err(NotFound::Method(other.to_owned())),
    };
    Ok(Found { scale, partitions: Some((method, row.parse(2).unwrap_or(0))) })
}

/// Counts pgbench's tables in the session's search path that are unlogged.
const UNLOGGED: &str = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c WHERE c.relkind = 'r' \
     AND c.relpersistence = 'u' AND pg_catalog.pg_table_is_visible(c.oid) \
     AND c.relname ~ '^pgbench_(branches|tellers|history|accounts(_[0-9]+)?)$'";

/// Whether any TPC-B table in the search path is unlogged.
///
/// # Errors
/// The query fails.
pub fn finds_unlogged(session: &mut Session) -> Result<bool, WireError> {
    Ok(session.value(UNLOGGED)?.is_some_and(|count| count != "0"))
}

/// Storage options and access methods of the accounts table in the search path and its partitions on all
/// levels. Before version 12 tables had no access method, and partitioned ones still have none.
const LAYOUT: &str = "WITH RECURSIVE tree(oid) AS \
     (SELECT 'pgbench_accounts'::pg_catalog.regclass::pg_catalog.oid \
      UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN tree ON i.inhparent = tree.oid) \
     SELECT pg_catalog.array_to_string(c.reloptions, ' '), a.amname, c.relpersistence = 'u' FROM tree \
     JOIN pg_catalog.pg_class AS c ON c.oid = tree.oid \
     LEFT JOIN pg_catalog.pg_am AS a ON a.oid = c.relam";

/// Counts foreign keys between the tables, without those of partitions.
const FOREIGN_KEYS: &str = "WITH t(oids) AS (SELECT '{pgbench_branches, pgbench_tellers, pgbench_accounts, \
     pgbench_history}'::pg_catalog.regclass[]::pg_catalog.oid[]) \
     SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint, t \
     WHERE contype = 'f' AND conrelid = ANY (oids) AND confrelid = ANY (oids)";

/// Storage of `pgbench_accounts` as found in the server.
///
/// # Errors
/// The query fails, also if there is no such table.
pub fn accounts_state(session: &mut Session) -> Result<AccountsState, WireError> {
    let rows = session.query(LAYOUT)?;
    let words = |column| -> BTreeSet<String> {
        let texts = rows.iter().filter_map(|row| row.get(column));
        texts.flat_map(str::split_whitespace).map(str::to_owned).collect()
    };
    let options = words(0).into_iter().filter(|option| option != "fillfactor=100").collect();
    let methods: Vec<_> = words(1).into_iter().collect();
    let access_method = if methods.is_empty() { "heap".to_owned() } else { methods.join(" ") };
    let foreign_keys = session.value(FOREIGN_KEYS)?.and_then(|count| count.parse().ok()).unwrap_or(0);
    Ok(AccountsState {
        partitions: rows.len().saturating_sub(1) as u64,
        options,
        access_method,
        unlogged: rows.iter().any(|row| row.get(2) == Some("t")),
        foreign_keys,
    })
}
