//! Directories and sizes of a load on the server's machine.

use std::path::PathBuf;

use pgdyno_rows::load::{LoadPlan, Set};
use pgdyno_wire::{Session, WireError};

use super::ledger::{DATABASE, literal};

/// Bytes of tables on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::load) struct Sizes {
    /// Tables with their free space and visibility maps and TOAST.
    pub heap_bytes: u64,
    /// Indexes of the tables.
    pub index_bytes: u64,
}

impl Sizes {
    /// Sizes of a set's tables in some schemas.
    ///
    /// # Errors
    /// The query fails.
    pub fn find(session: &mut Session, schemas: &[String], set: Set) -> Result<Self, WireError> {
        let schemas: Vec<_> = schemas.iter().map(|name| literal(name)).collect();
        // A size query waits for an exclusive lock, such as that of an index build, so a locked table counts as empty.
        let sql = format!(
            "SELECT pg_catalog.sum(pg_catalog.pg_table_size(c.oid)), \
             pg_catalog.sum(pg_catalog.pg_indexes_size(c.oid)) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname IN ({}) AND c.relkind = 'r' AND c.relname ~ '{}' \
             AND c.oid NOT IN (SELECT relation FROM pg_catalog.pg_locks \
             WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock' AND database = {DATABASE})",
            schemas.join(", "),
            set.names()
        );
        let row = session.query(&sql)?.into_iter().next();
        let bytes = |column| row.as_ref().and_then(|row| row.parse(column)).unwrap_or(0);
        Ok(Self { heap_bytes: bytes(0), index_bytes: bytes(1) })
    }

    /// Size of tables and indexes.
    pub fn total_bytes(self) -> u64 {
        self.heap_bytes + self.index_bytes
    }
}

/// Directories that a load writes to on the server's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::load) struct LoadDirs {
    /// Directory of the tables.
    pub tables: PathBuf,
    /// Directory of their keys.
    pub keys: PathBuf,
    /// Directory of WAL.
    pub wal: PathBuf,
    /// Directories of temporary files, at least one.
    pub temp: Vec<PathBuf>,
}

impl LoadDirs {
    /// Directories for a plan; `None` if the role may not see them.
    ///
    /// # Errors
    /// A query fails.
    pub fn find(session: &mut Session, plan: &LoadPlan) -> Result<Option<Self>, WireError> {
        let data =
            session.value("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'")?;
        let Some(data) = data.map(PathBuf::from) else { return Ok(None) };
        let of_database = session.value(
            "SELECT spcname FROM pg_catalog.pg_tablespace t \
             JOIN pg_catalog.pg_database d ON d.dattablespace = t.oid \
             WHERE datname = pg_catalog.current_database()",
        )?;
        let of_database = of_database.unwrap_or_default();
        let setting = |name: &str| format!("SELECT pg_catalog.current_setting('{name}')");
        let default = session.value(&setting("default_tablespace"))?.filter(|name| !name.is_empty());
        let default = default.unwrap_or_else(|| of_database.clone());
        let for_temp = names(&session.value(&setting("temp_tablespaces"))?.unwrap_or_default());
        let mut place = |name: &str| -> Result<PathBuf, WireError> {
            let sql = format!(
                "SELECT pg_catalog.pg_tablespace_location(oid) FROM pg_catalog.pg_tablespace WHERE spcname = {}",
                literal(name)
            );
            let dir = session.value(&sql)?.filter(|dir| !dir.is_empty());
            Ok(dir.map_or_else(|| data.clone(), PathBuf::from))
        };
        let tables = place(plan.tablespace.as_ref().unwrap_or(&default))?;
        let keys = place(plan.index_tablespace.as_ref().unwrap_or(&default))?;
        let mut temp = Vec::new();
        for name in for_temp.iter().filter(|name| !name.is_empty()) {
            temp.push(place(name)?);
        }
        if temp.is_empty() {
            temp.push(place(&of_database)?);
        }
        let wal = ["pg_wal", "pg_xlog"].map(|name| data.join(name)).into_iter().find(|dir| dir.is_dir());
        Ok(Some(Self { tables, keys, wal: wal.unwrap_or(data), temp }))
    }
}

/// Names in a list-valued setting as the server parses them: lower case unless quoted.
fn names(list: &str) -> Vec<String> {
    let (mut names, mut rest) = (Vec::new(), list.trim_start());
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('"') {
            Some(inner) => quoted_name(inner),
            None => {
                let (name, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (name.trim_end().to_lowercase(), after)
            }
        };
        names.push(name);
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    names
}

/// A quoted name, given the text after its opening quote, and the rest after its closing quote. A doubled quote is read
/// as one.
fn quoted_name(text: &str) -> (String, &str) {
    let (mut name, mut rest) = (String::new(), text);
    while let Some((part, after)) = rest.split_once('"') {
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => rest = more,
            None => return (name, after),
        }
        name.push('"');
    }
    (name + rest, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_list_are_read_as_the_server_does() {
        assert_eq!(names(""), [""; 0]);
        assert_eq!(names("Fast, slow"), ["fast", "slow"]);
        assert_eq!(names(r#""Fast, er" , "a""b", c"#), ["Fast, er", "a\"b", "c"]);
    }
}
