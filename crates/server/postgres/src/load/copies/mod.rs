//! Copies a load to schemas of the same database, or to databases.

mod databases;
mod dump;
mod schemas;

use pgdyno_core::{problem::Problem, units};

pub use databases::{CopyStrategy, copy_database};
pub use dump::copy_by_dump;
pub use schemas::copy_schema;

use super::Proof;

/// A copy and its proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Copied {
    /// Name of the schema or the database.
    pub name: String,
    /// Duration of copying in seconds, without the proof; `None` if it was made earlier.
    pub duration_s: Option<f64>,
    /// Bytes of the copy's tables and indexes, or of the whole database if that was copied; `None` as above.
    pub size_bytes: Option<u64>,
    /// Proof that the copy equals the source; `None` if it was verified earlier.
    pub proof: Option<Proof>,
}

impl Copied {
    /// Bytes of the copy per second of copying.
    pub fn bytes_per_s(&self) -> Option<u64> {
        let duration_s = self.duration_s.filter(|duration_s| *duration_s > 0.0)?;
        Some((self.size_bytes? as f64 / duration_s) as u64)
    }
}

/// Why an object with the name of a copy cannot be resumed.
fn no_copy(what: &str, source: &str) -> Problem {
    Problem::wrong_request(format!("could not continue with {what}: it is not a copy of {source}"))
        .hint("drop it yourself, or choose other names by --prefix")
}

/// Most bytes of a name (`NAMEDATALEN` less its terminator); the server truncates longer ones, so that copies
/// would collide.
const NAME_BYTES: usize = 63;

/// Refuses names that the server would truncate.
fn check_lengths(names: &[String]) -> Result<(), Problem> {
    let Some(name) = names.iter().find(|name| name.len() > NAME_BYTES) else { return Ok(()) };
    Err(Problem::wrong_request(format!("could not copy to {name}: the name is too long"))
        .detail(format!("it has {} bytes, PostgreSQL takes {NAME_BYTES}", name.len()))
        .hint("choose shorter names by --prefix"))
}

/// Checks that there is room for copies.
fn enough(need_bytes: u64, free_bytes: u64, dir: &str) -> Result<(), Problem> {
    if need_bytes <= free_bytes {
        return Ok(());
    }
    let (need, free) = (units::bytes(need_bytes), units::bytes(free_bytes));
    Err(Problem::could_not(format!("could not copy: {need} are needed under {dir}"))
        .detail(format!("{free} are free there"))
        .hint("free space, or make fewer copies. Nothing was begun."))
}

/// A quoted identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Texts as a list of SQL literals, for sessions with standard_conforming_strings.
fn literals(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_is_just_enough_is_enough() {
        assert_eq!(enough(5, 5, "/d"), Ok(()));
        let problem = enough(6 << 30, 5 << 30, "/d").expect_err("it is not");
        assert_eq!(problem.what, "could not copy: 6 GiB are needed under /d");
    }

    #[test]
    fn a_name_has_bytes_not_letters() {
        let names = |last: &str| vec!["a".to_owned(), "ä".repeat(30) + last];
        assert_eq!(check_lengths(&names("abc")), Ok(()));
        let problem = check_lengths(&names("abcd")).expect_err("it would be cut");
        assert_eq!(problem.detail.as_deref(), Some("it has 64 bytes, PostgreSQL takes 63"));
    }

    #[test]
    fn sql_takes_any_name() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(literals(&["a'b".to_owned(), "c".to_owned()]), "'a''b', 'c'");
    }
}
