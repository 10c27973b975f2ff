//! Texts as SQL.

/// Begins every query of an observer, so that it is known again among the statements of a server.
pub(crate) const OWN: &str = "/* pgdyno */";

/// A string literal. Backslashes are doubled, so that it means the same whatever `standard_conforming_strings` is.
pub(crate) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// An array of names; `null` if there are none.
pub(crate) fn names(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| literal(name)).collect();
    format!("ARRAY[{}]::pg_catalog.name[]", names.join(", "))
}

/// The names of databases: the current one, if none is given.
pub(crate) fn databases(given: &[String]) -> String {
    match given {
        [] => "ARRAY[pg_catalog.current_database()]".to_owned(),
        given => names(given),
    }
}

/// Numbers as a list for `NOT IN`, with the asking session among them.
pub(crate) fn own_pids(except: &[i32]) -> String {
    let except: String = except.iter().map(|pid| format!(", {pid}")).collect();
    format!("(pg_catalog.pg_backend_pid(){except})")
}

/// A name as SQL.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_inside_their_quotes() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'b"), "E'a\\\\''b'");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(names(&["a".to_owned(), "b'".to_owned()]), "ARRAY['a', 'b''']::pg_catalog.name[]");
        assert_eq!(own_pids(&[7, 9]), "(pg_catalog.pg_backend_pid(), 7, 9)");
    }
}
