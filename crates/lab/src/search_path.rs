//! Where sessions look for tables that a script does not find.

use pgdyno_wire::ConnectOptions;

use crate::subject::SCHEMA;

/// SQLSTATE of a table that does not exist.
const UNDEFINED_TABLE: &str = "42P01";

/// Where sessions with these options looked for a table, and how to name others, if an error is about that.
pub fn where_was_looked(options: &ConnectOptions, error: &str) -> Option<String> {
    if !error.contains(UNDEFINED_TABLE) {
        return None;
    }
    let path = options.startup.iter().rev().find(|(name, _)| name == "search_path");
    Some(match path.map(|(_, path)| path.as_str()) {
        Some(SCHEMA) => format!(
            "the sessions look only in schema {SCHEMA}, where the run has tables of its own: --tables existing \
             measures those that are there"
        ),
        Some(path) => format!(
            "the sessions look in {path}: name the schema in the script, or by options=-csearch_path=SCHEMA in -d or \
             --dsn, in `pgdyno ab` by --set search_path=SCHEMA"
        ),
        None => "the sessions look in the search_path of their role: load or set up the tables first, or name their \
                 schema in the script"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_wire::Address;

    use super::*;

    #[test]
    fn a_missing_table_is_reported_with_the_path() {
        let mut options = ConnectOptions::local(Address::Unix("/tmp".into(), 5432), "me");
        let error = "relation \"t\" does not exist (SQLSTATE 42P01)";
        assert_eq!(where_was_looked(&options, "division by zero (SQLSTATE 22012)"), None);
        assert!(where_was_looked(&options, error).is_some_and(|hint| hint.contains("of their role")));
        options.startup.push(("search_path".into(), "pgdyno".into()));
        assert!(where_was_looked(&options, error).is_some_and(|hint| hint.contains("--tables existing")));
        options.startup.push(("search_path".into(), "public, pgdyno".into()));
        assert!(
            where_was_looked(&options, error).is_some_and(|hint| hint.contains("look in public, pgdyno:"))
        );
    }
}
