//! The keys of a plan file: their tables, and the values they expect as worded in error messages.
//!
//! All of it is read from the JSON Schema, so that the field of a struct with its doc comment and its attributes is
//! the only place of a key. Rules word what a type expects; `x-expects` in the schema replaces them where they do not
//! suit, and `examples` follow both.

use std::{ops::RangeInclusive, sync::LazyLock};

use schemars::generate::SchemaSettings;
use serde_json::Value;
use strsim::jaro_winkler;

use super::Plan;

/// The plan as a table of keys.
pub(super) static PLAN: LazyLock<Table> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    table("", String::new(), settings.into_generator().into_root_schema_for::<Plan>().as_value())
});

/// A table of a plan file.
pub(super) struct Table {
    /// Its heading in a file, such as `[measure]`; empty at the top level.
    pub heading: String,
    /// Keys in the order of the struct.
    pub keys: Vec<Key>,
}

/// One key of a plan file.
pub(super) struct Key {
    /// Dotted path, with `NAME` for a name that the user chooses.
    pub path: String,
    /// Description, from the doc comment.
    description: String,
    /// Accepted values, worded to follow "must be"; accepted words are in quotes.
    accepted: Vec<String>,
    /// Allowed whole numbers, also of a list's items.
    pub range: Option<RangeInclusive<u64>>,
    /// What the value holds.
    pub holds: Holds,
}

/// What the value of a key holds.
pub(super) enum Holds {
    /// No further keys.
    Nothing,
    /// A table.
    Table(Table),
    /// A list of tables.
    List(Table),
    /// A table whose keys have any name and this value.
    Any(Box<Key>),
}

impl Table {
    /// The key with this name.
    pub(super) fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name() == name)
    }

    /// Names the table in a message.
    pub(super) fn place(&self) -> String {
        if self.heading.is_empty() { "at the top of the file".into() } else { format!("in {}", self.heading) }
    }

    /// The table with a key of this name, of this one and all below: the least deep one, since a table may be repeated
    /// inside of others.
    fn with_key(&self, name: &str) -> Option<&Self> {
        let mut level = vec![self];
        while !level.is_empty() {
            if let Some(table) = level.iter().find(|table| table.key(name).is_some()) {
                return Some(table);
            }
            let below = level.iter().flat_map(|table| &table.keys);
            level = below.filter_map(|key| key.holds.table()).collect();
        }
        None
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(Key::name)
    }
}

impl Key {
    /// Name in the file.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Expected value, worded to follow "must be".
    pub(super) fn expects(&self) -> String {
        listed(&self.accepted)
    }

    /// Accepted words, if there are only a few.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.accepted.iter().filter_map(|text| text.strip_prefix('"')?.strip_suffix('"'))
    }

    /// The first sentence of its description.
    pub(super) fn hint(&self) -> &str {
        self.description.split(". ").next().unwrap_or_default().trim_end_matches('.')
    }

    /// The key with this name below.
    fn below(&self, name: &str) -> Option<&Self> {
        match &self.holds {
            Holds::Nothing => None,
            Holds::Table(table) | Holds::List(table) => table.key(name),
            Holds::Any(each) => Some(each),
        }
    }
}

impl Holds {
    fn table(&self) -> Option<&Table> {
        match self {
            Self::Nothing => None,
            Self::Table(table) | Self::List(table) => Some(table),
            Self::Any(each) => each.holds.table(),
        }
    }
}

fn table(path: &str, heading: String, schema: &Value) -> Table {
    let dot = if path.is_empty() { "" } else { "." };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let keys = properties.map(|(name, value)| key(format!("{path}{dot}{name}"), &heading, value));
    Table { keys: keys.collect(), heading }
}

/// The key with this path, in the table with this heading.
fn key(path: String, within: &str, schema: &Value) -> Key {
    let heading = |open: &str, close: &str| match path.rsplit_once('.') {
        Some((_, name)) if !within.is_empty() => format!("`{name}` of {within}"),
        _ => format!("{open}{path}{close}"),
    };
    let holds = if schema["properties"].is_object() {
        Holds::Table(table(&path, heading("[", "]"), schema))
    } else if schema["items"]["properties"].is_object() {
        Holds::List(table(&path, heading("[[", "]]"), &schema["items"]))
    } else if schema["additionalProperties"].is_object() {
        Holds::Any(Box::new(key(format!("{path}.NAME"), within, &schema["additionalProperties"])))
    } else {
        Holds::Nothing
    };
    let accepted = match &holds {
        _ if schema["x-expects"].is_string() => accepted(schema),
        Holds::Table(table) => vec![format!("a table: write {} and its keys below", table.heading)],
        Holds::List(table) => {
            vec![format!("a list of tables: write {} and its keys below, once for each", table.heading)]
        }
        Holds::Any(_) | Holds::Nothing => accepted(schema),
    };
    let description = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    Key { path, description, accepted, range: range(schema), holds }
}

/// The schemas of which a value has to match one, without `null`, which TOML does not have.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let all = ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array());
    all.flatten().filter(|one| one["type"] != "null")
}

/// The accepted values, worded to follow "must be".
fn accepted(schema: &Value) -> Vec<String> {
    let mut accepted: Vec<_> = alternatives(schema).flat_map(accepted).collect();
    if let Some(expects) = schema["x-expects"].as_str() {
        accepted = vec![expects.to_owned()];
    } else if let Some(words) = schema["enum"].as_array() {
        accepted = words.iter().map(Value::to_string).collect();
    } else if schema["const"].is_string() {
        accepted = vec![schema["const"].to_string()];
    } else if accepted.is_empty() {
        accepted = vec![of_type(schema)];
    }
    if let (Some(examples), Some(last)) = (schema["examples"].as_array(), accepted.last_mut()) {
        let examples: Vec<_> = examples.iter().map(|one| one.to_string().replace(',', ", ")).collect();
        *last += &format!(", such as {}", listed(&examples));
    }
    accepted
}

/// The accepted values of a type.
fn of_type(schema: &Value) -> String {
    let range = range(schema).map(|range| format!("from {} to {}", range.start(), range.end()));
    match range {
        Some(range) if schema["items"].is_object() => format!("a list of whole numbers {range}"),
        Some(range) => format!("a whole number {range}"),
        None if schema["type"] == "boolean" || schema["type"][0] == "boolean" => "true or false".to_owned(),
        None => "a text in quotes".to_owned(),
    }
}

/// The whole numbers that a value, or an item of a list, may be; `None` for other types.
fn range(schema: &Value) -> Option<RangeInclusive<u64>> {
    let most_of_type = match schema["format"].as_str() {
        Some("uint32") => Some(u32::MAX.into()),
        // TOML has no larger ones.
        Some("uint64") => Some(i64::MAX as u64),
        _ => None,
    };
    match (schema["minimum"].as_u64(), schema["maximum"].as_u64().or(most_of_type)) {
        (Some(least), Some(most)) => Some(least..=most),
        _ => alternatives(schema).chain(schema.get("items")).find_map(range),
    }
}

/// Lists alternatives in a sentence.
fn listed(all: &[String]) -> String {
    match all {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => all.concat(),
    }
}

/// Keys that people look for and that a plan deliberately lacks.
const ADDRESS: &[&str] =
    &["dsn", "uri", "url", "host", "port", "user", "username", "password", "dbname", "database", "admin_dsn"];

/// Names that people try for TPC-B's tables, which have no key of their own.
const TPCB: &[&str] = &["tpcb", "tpc_b", "pgbench"];

/// Least Jaro-Winkler similarity (0 to 1) of a name that is suggested.
const LIKENESS: f64 = 0.75;

/// The key of a dotted path such as `measure.clients`, without list positions.
pub(super) fn at(path: &str) -> Option<&'static Key> {
    let mut names = path.split('.');
    let first = PLAN.key(names.next()?)?;
    names.try_fold(first, |key, name| match key.holds {
        // The name of a setting, or of a storage option of one table, may have a dot.
        Holds::Nothing if key.path.ends_with(".settings.NAME") => Some(key),
        Holds::Nothing if key.path.ends_with(".table_options.NAME") => Some(key),
        _ => key.below(name),
    })
}

/// The most similar word, if any is similar enough.
pub(super) fn nearest<'a>(word: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let rated = among.map(|known| (jaro_winkler(&word, known), known));
    rated
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Whether a key is an address or a secret, whose value must not be printed.
pub(super) fn is_address(name: &str) -> bool {
    ADDRESS.contains(&name.to_ascii_lowercase().as_str())
}

/// Hint for a key that this table does not have.
pub(super) fn advice(table: &Table, name: &str) -> String {
    if is_address(name) {
        return "a plan holds no address, user or password: give them with -h, -p, -U, -d or PG* variables"
            .into();
    }
    if matches!(&*table.heading, "[data]" | "[size.NAME]") && TPCB.contains(&&*name.to_ascii_lowercase()) {
        return "TPC-B's tables have no key of their own: `scale` requests them, such as scale = 100".into();
    }
    if let Some(elsewhere) = PLAN.with_key(name) {
        return format!("`{name}` belongs {}", elsewhere.place());
    }
    if let Some(known) = nearest(name, table.names()) {
        return format!("did you mean `{known}`?");
    }
    format!("known here: {}", table.names().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(path: &str) -> &'static Table {
        if path.is_empty() {
            &PLAN
        } else {
            at(path).and_then(|key| key.holds.table()).expect("it is a table")
        }
    }

    #[test]
    fn what_a_type_expects_is_worded_by_rule() {
        for (path, expects) in [
            ("seed", "a whole number from 0 to 9223372036854775807"),
            ("server", "a table: write [server] and its keys below"),
            ("subject", "a list of tables: write [[subject]] and its keys below, once for each"),
            ("server.pg", "a text in quotes, such as \"18\" or \"9.6.24\""),
            ("data.scale", "\"auto\", \"none\" or a whole number from 1 to 100000000"),
            ("load.partition_method", "\"range\" or \"hash\""),
            ("load.unlogged", "true or false"),
            ("subject.load.partitions", "a whole number from 0 to 100000"),
            ("server.preset", "a text in quotes, such as \"tpcc-9.5\" or \"./postgresql.conf\""),
            ("load.fillfactor", "a whole number from 10 to 100"),
            ("workload.clients", "a list of whole numbers from 1 to 100000, such as [1, 8, 32]"),
            ("measure.clients", "\"auto\" or a list of whole numbers from 1 to 100000, such as [1, 8, 32]"),
            ("measure.jobs", "\"auto\" or a whole number from 1 to 1024"),
            ("size.small.variables.pause", "a number or a text in quotes"),
        ] {
            assert_eq!(at(path).expect(path).expects(), expects, "{path}");
        }
    }

    #[test]
    fn every_table_has_its_place() {
        for (path, place) in [
            ("", "at the top of the file"),
            ("measure", "in [measure]"),
            ("subject", "in [[subject]]"),
            ("workload.scripts", "in `scripts` of [[workload]]"),
            ("data.tpcc", "in `tpcc` of [data]"),
            ("size", "in [size.NAME]"),
            ("size.small.scaleup", "in `scaleup` of [size.NAME]"),
        ] {
            assert_eq!(table(path).place(), place);
        }
    }

    #[test]
    fn advice_names_the_nearest_key_or_its_place() {
        let advice = |path, name| advice(table(path), name);
        assert_eq!(advice("measure", "client"), "did you mean `clients`?");
        assert_eq!(advice("measure", "WarmUp"), "did you mean `warmup`?");
        assert_eq!(advice("", "scale"), "`scale` belongs in [data]");
        assert_eq!(advice("data", "partitions"), "`partitions` belongs in [load]");
        assert!(advice("", "password").starts_with("a plan holds no address"));
        // `tpcc` is only a letter away but means other tables.
        for table in ["data", "size"] {
            let said = advice(table, "tpcb");
            assert!(said.contains("`scale`") && !said.contains("tpcc"), "{said}");
        }
        assert_eq!(advice("data", "tpc"), "did you mean `tpcc`?");
        assert_eq!(advice("check", "zzz"), "known here: balance, consistency");
    }
}
