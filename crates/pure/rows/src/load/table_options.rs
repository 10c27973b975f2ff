//! Storage options of tables, such as `parallel_workers`, as users give them.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Set, Table};

/// Begins the names of pgbench's tables, and may be left out.
const PGBENCH: &str = "pgbench_";
/// Begins the options of a TOAST table.
const TOAST: &str = "toast";
/// Longest name or value in bytes.
const LONGEST: usize = 63;

/// A storage option of all tables of a load, or of one: `NAME=VALUE` or `TABLE.NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableOption {
    /// Name of the table without `pgbench_`; `None` for all tables, which comes first in their order.
    pub table: Option<String>,
    /// Name of the option in lower case, such as `parallel_workers` or `toast.autovacuum_enabled`.
    pub name: String,
    /// Its value: a word or a number.
    pub value: String,
}

impl TableOption {
    /// An option by its key, `NAME` or `TABLE.NAME`.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    fn new(key: &str, value: &str) -> Result<Self, String> {
        let parts: Vec<_> = key.split('.').collect();
        let (table, name) = match parts[..] {
            [_] | [TOAST, _] => (None, key),
            [table, _] | [table, TOAST, _] => (Some(table), &key[table.len() + 1..]),
            _ => return Err(format!("`{key}` is no option: write NAME or TABLE.NAME")),
        };
        let word = |text: &str, more: &[char]| {
            let fits =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || more.contains(&c);
            !text.is_empty() && text.len() <= LONGEST && text.chars().all(fits)
        };
        if !parts.iter().all(|part| word(part, &[])) {
            return Err(format!(
                "`{key}` is no option: write its name in lower case, such as parallel_workers"
            ));
        }
        if !word(&value.to_ascii_lowercase(), &['.', '-', '+']) {
            return Err(format!("`{value}` is no value of `{key}`: write a word or a number"));
        }
        let table = table.map(|table| table.strip_prefix(PGBENCH).unwrap_or(table).to_owned());
        Ok(Self { table, name: name.to_owned(), value: value.to_owned() })
    }

    /// The option without its value: `NAME` or `TABLE.NAME`.
    pub fn key(&self) -> String {
        let table = self.table.as_ref().map(|table| format!("{table}.")).unwrap_or_default();
        format!("{table}{}", self.name)
    }

    /// Whether the option is about a table.
    pub fn is_of(&self, table: Table) -> bool {
        let name = short_name(table);
        self.table.as_ref().is_none_or(|own| own == name)
    }

    /// Whether the option is about the TOAST table of its table.
    pub fn is_of_toast(&self) -> bool {
        self.name.starts_with("toast.")
    }

    /// What is wrong with the option for a set of tables, with a remedy; `None` if nothing is, as far as that is known
    /// without the server.
    pub(super) fn fault(&self, set: Set) -> Option<(String, &'static str)> {
        let key = self.key();
        if !set.tables().iter().any(|table| self.is_of(*table)) {
            let names: Vec<_> = set.tables().iter().map(|table| short_name(*table)).collect();
            let what =
                format!("the table option `{key}` is about no table of {}: {}", set.name(), names.join(", "));
            return Some((what, "name one of these, or leave the name out for all tables"));
        }
        if self.name != "fillfactor" {
            return None;
        }
        if self.table.is_none() {
            return Some((
                "the table option `fillfactor` has a key of its own".to_owned(),
                "use fillfactor (--fillfactor)",
            ));
        }
        let fits = self.fillfactor().is_some();
        (!fits).then(|| (format!("`{self}` is not between 10 and 100"), "write a percentage from 10 to 100"))
    }

    /// The fill factor in per cent; `None` if this is another option, or it is out of range.
    pub(super) fn fillfactor(&self) -> Option<u32> {
        let value = (self.name == "fillfactor").then(|| self.value.parse().ok()).flatten();
        value.filter(|percent| (10..=100).contains(percent))
    }
}

/// Name of a table without `pgbench_`.
fn short_name(table: Table) -> &'static str {
    let name = table.generator().table();
    name.strip_prefix(PGBENCH).unwrap_or(name)
}

impl FromStr for TableOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("a table option is written NAME=VALUE")?;
        Self::new(key.trim(), value.trim())
    }
}

impl fmt::Display for TableOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key(), self.value)
    }
}

/// Writes options as a table of their keys and values.
pub(super) fn serialize<S: Serializer>(options: &[TableOption], to: S) -> Result<S::Ok, S::Error> {
    let all: BTreeMap<_, _> = options.iter().map(|option| (option.key(), &option.value)).collect();
    all.serialize(to)
}

/// Reads options from a table of their keys and values.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<TableOption>, D::Error> {
    let all = BTreeMap::<String, String>::deserialize(from)?;
    let each = all.iter().map(|(key, value)| TableOption::new(key, value));
    each.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

/// Options over others: an option takes the place of the one with the same key. Sorted, those of all tables first. One
/// that is given twice is kept twice, to be refused.
pub(super) fn merged(over: &[TableOption], other: &[TableOption]) -> Vec<TableOption> {
    let is_given = |option: &&TableOption| over.iter().any(|own| own.key() == option.key());
    let mut all: Vec<_> = other.iter().filter(|option| !is_given(option)).chain(over).cloned().collect();
    all.sort();
    all
}

/// Storage options of a table: those that it has by default, with the options of all tables over them, and over those
/// the table's own. They keep their places; new ones follow.
pub(super) fn of_table(
    options: &[TableOption],
    table: Table,
    usual: &[(&str, String)],
) -> Vec<(String, String)> {
    let mut all: Vec<_> = usual.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut own: Vec<_> = options.iter().filter(|option| option.is_of(table)).collect();
    own.sort();
    for TableOption { name, value, .. } in own {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(value),
            None => all.push((name.clone(), value.clone())),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(text: &str) -> TableOption {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn options_are_read_with_and_without_a_table() {
        for (text, table, name, value) in [
            ("parallel_workers=8", None, "parallel_workers", "8"),
            ("accounts.parallel_workers = 8", Some("accounts"), "parallel_workers", "8"),
            ("pgbench_accounts.fillfactor=70", Some("accounts"), "fillfactor", "70"),
            ("toast.autovacuum_enabled=off", None, "toast.autovacuum_enabled", "off"),
            ("log.toast.autovacuum_enabled=off", Some("log"), "toast.autovacuum_enabled", "off"),
            ("autovacuum_vacuum_scale_factor=0.05", None, "autovacuum_vacuum_scale_factor", "0.05"),
            ("log_autovacuum_min_duration=-1", None, "log_autovacuum_min_duration", "-1"),
        ] {
            let read = option(text);
            assert_eq!((read.table.as_deref(), &*read.name, &*read.value), (table, name, value), "{text}");
            assert_eq!(option(&read.to_string()), read);
        }
        for wrong in
            ["", "a", "=1", "a=", "a.b.c=1", "a b=1", "a=1)", "a='1'", "A=1", "a=1;", ".a=1", "a.b.c.d=1"]
        {
            assert!(wrong.parse::<TableOption>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_set_knows_its_tables() {
        let fault = |text: &str, set| option(text).fault(set).map(|(what, _)| what);
        for text in ["parallel_workers=2", "accounts.parallel_workers=2", "history.fillfactor=90"] {
            assert_eq!(fault(text, Set::Tpcb), None, "{text}");
        }
        assert_eq!(
            fault("accounts.parallel_workers=2", Set::Scaleup).as_deref(),
            Some("the table option `accounts.parallel_workers` is about no table of scaleup: test, log")
        );
        assert!(fault("order_line.fillfactor=90", Set::Tpcc).is_none());
        assert!(fault("fillfactor=90", Set::Tpcb).expect("it is").contains("a key of its own"));
        for wrong in ["9", "101", "x"] {
            assert!(fault(&format!("accounts.fillfactor={wrong}"), Set::Tpcb).is_some(), "{wrong}");
        }
    }

    #[test]
    fn options_of_a_table_go_over_those_of_all() {
        let options =
            ["accounts.parallel_workers=8", "parallel_workers=2", "accounts.fillfactor=70"].map(option);
        let of = |table| {
            let all = of_table(&options, table, &[("fillfactor", "100".to_owned())]);
            all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(of(Table::Accounts), "fillfactor=70, parallel_workers=8");
        assert_eq!(of(Table::Tellers), "fillfactor=100, parallel_workers=2");
        let over = [option("parallel_workers=4"), option("tellers.fillfactor=50")];
        let words: Vec<_> = merged(&over, &options).iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "parallel_workers=4",
                "accounts.fillfactor=70",
                "accounts.parallel_workers=8",
                "tellers.fillfactor=50"
            ]
        );
    }
}
