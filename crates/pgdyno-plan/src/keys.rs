//! The keys of a plan file and the values they expect, as worded in error messages.
//!
//! One table serves three purposes, so that they cannot drift apart: unknown keys get the nearest known one, a value
//! of the wrong type is answered with the expected one, and a test compares the table with the JSON Schema.

use strsim::jaro_winkler;

/// One key of a plan file.
pub(super) struct Key {
    /// Table that the key belongs to; empty at the top level.
    pub section: &'static str,
    /// Name of the key.
    pub name: &'static str,
    /// Expected value, worded to follow "must be".
    pub expects: &'static str,
    /// Accepted words, if there are only a few.
    pub words: &'static [&'static str],
}

const fn key(section: &'static str, name: &'static str, expects: &'static str) -> Key {
    Key { section, name, expects, words: &[] }
}

const fn choice(
    section: &'static str,
    name: &'static str,
    expects: &'static str,
    words: &'static [&'static str],
) -> Key {
    Key { section, name, expects, words }
}

/// Expected value of a script.
const SCRIPT: &str =
    "\"tpcb-like\", \"simple-update\", \"select-only\", or a file in quotes, such as \"mine.sql\"";
const SCRIPTS: &[&str] = &["tpcb-like", "simple-update", "select-only"];

/// Stands for every variable, since their names are the user's.
const VARIABLE: Key = key("variables", "", "a number or a text in quotes");

/// Every key of a plan file.
pub(super) const KEYS: &[Key] = &[
    key("", "name", "a name in quotes, such as \"bench\""),
    key("", "description", "a sentence in quotes"),
    key("", "seed", "a whole number from 0 to 9223372036854775807"),
    key("", "server", "a table: write [server] and its keys below"),
    key("", "subject", "a list of tables: write [[subject]] and its keys below, once for each"),
    key("", "data", "a table: write [data] and its keys below"),
    key("", "load", "a table: write [load] and its keys below"),
    key("", "variables", "a table of variables, such as [variables] and pause = 10 below"),
    key("", "workload", "a list of tables: write [[workload]] and its keys below, once for each"),
    key("", "measure", "a table: write [measure] and its keys below"),
    key("", "size", "tables of sizes: write [size.small] and its keys below, once for each"),
    key("", "check", "a table: write [check] and its keys below"),
    key("server", "pg", "a version in quotes, such as \"18\" or \"9.6.24\""),
    key("server", "build", "the name of a build in quotes, as `pgdyno builds` lists them"),
    key("server", "bindir", "a directory in quotes"),
    key("server", "data", "a directory in quotes"),
    key("server", "waldir", "a directory in quotes"),
    key("server", "data_checksums", "true or false"),
    key(
        "server",
        "settings",
        "a table of settings with their values in quotes, such as { work_mem = \"64MB\" }",
    ),
    key("server", "cpus", "a list of processors in quotes, such as \"0-3,8\""),
    key("subject", "name", "a name in quotes, such as \"old\""),
    key("subject", "pg", "a version in quotes, such as \"18\" or \"9.6.24\""),
    key("subject", "build", "the name of a build in quotes, as `pgdyno builds` lists them"),
    key("subject", "bindir", "a directory in quotes"),
    key("subject", "bundle", "true or false"),
    key("subject", "data", "a directory in quotes"),
    key("subject", "waldir", "a directory in quotes"),
    key(
        "subject",
        "settings",
        "a table of settings with their values in quotes, such as { work_mem = \"64MB\" }",
    ),
    choice("data", "scale", "\"auto\", \"none\" or a whole number from 1 to 100000000", &["auto", "none"]),
    key("data", "scaleup", "a table of rows, such as { rows = 1000000 }"),
    key("data.scaleup", "rows", "a whole number from 1 to 10000000000000"),
    key("data.scaleup", "log_rows", "a whole number from 0 to 10000000000000"),
    key("data", "tpcc", "a table of warehouses, such as { warehouses = 10 }"),
    key("data.tpcc", "warehouses", "a whole number from 1 to 10000000"),
    key("data.tpcc", "loaded", "true or false"),
    key("data", "setup", "a file of SQL in quotes, such as \"setup.sql\""),
    key("data", "setup_text", "SQL in quotes, of several lines between \"\"\" and \"\"\""),
    key("load", "jobs", "a whole number from 1 to 1000"),
    key("load", "partitions", "a whole number from 0 to 100000"),
    choice("load", "partition_method", "\"range\" or \"hash\"", &["range", "hash"]),
    choice("load", "method", "\"stream\", \"chunks\" or \"server\"", &["stream", "chunks", "server"]),
    key("load", "tablespace", "the name of a tablespace in quotes"),
    key("load", "index_tablespace", "the name of a tablespace in quotes"),
    key("load", "fillfactor", "a whole number from 10 to 100"),
    key("load", "unlogged", "true or false"),
    key("load", "foreign_keys", "true or false"),
    key("workload", "name", "a name in quotes, such as \"insert-one\""),
    choice("workload", "script", SCRIPT, SCRIPTS),
    key("workload", "text", "a script in quotes, of several lines between \"\"\" and \"\"\""),
    key("workload", "scripts", "a list of tables, such as [{ script = \"a.sql\", weight = 3 }, …]"),
    choice("workload.scripts", "script", SCRIPT, SCRIPTS),
    key("workload.scripts", "text", "a script in quotes"),
    key("workload.scripts", "weight", "a whole number from 0 to 1000000"),
    key("workload", "tpcc", "a table, such as { shape = \"functions\" }"),
    choice(
        "workload.tpcc",
        "shape",
        "\"statements\", \"pipelined\" or \"functions\"",
        &["statements", "pipelined", "functions"],
    ),
    choice(
        "workload.tpcc",
        "isolation",
        "\"read-committed\", \"repeatable-read\" or \"serializable\"",
        &["read-committed", "repeatable-read", "serializable"],
    ),
    key(
        "workload.tpcc",
        "weights",
        "a list of five whole numbers that add up to 100, such as [45, 43, 4, 4, 4]",
    ),
    key("workload.tpcc", "max_tries", "a whole number from 0 to 4294967295"),
    key("workload.tpcc", "paced", "true or false"),
    key("workload", "define", "a table of variables, such as { n = 400 }"),
    key("workload", "reset", "SQL in quotes, such as \"TRUNCATE test\""),
    key("workload", "clients", "a list of whole numbers from 1 to 100000, such as [1, 8, 32]"),
    choice(
        "workload",
        "protocol",
        "\"simple\", \"extended\" or \"prepared\"",
        &["simple", "extended", "prepared"],
    ),
    choice(
        "measure",
        "clients",
        "\"auto\" or a list of whole numbers from 1 to 100000, such as [1, 8, 32]",
        &["auto"],
    ),
    choice("measure", "jobs", "\"auto\" or a whole number from 1 to 1024", &["auto"]),
    key("measure", "duration", "a length of time in quotes, such as \"500ms\", \"5s\", \"10min\" or \"1h\""),
    key("measure", "warmup", "a length of time in quotes, such as \"500ms\", \"5s\", \"10min\" or \"1h\""),
    key("measure", "blocks", "a whole number from 1 to 1000"),
    key("measure", "rate", "a number of transactions per second above 0, at most 1e12"),
    key("measure", "driver_cpus", "a list of processors in quotes, such as \"0-3,8\""),
    choice("measure", "waiting", "\"auto\", \"io_uring\" or \"epoll\"", &["auto", "io_uring", "epoll"]),
    key("measure", "thorough", "true or false"),
    key("size", "clients", "a list of whole numbers from 1 to 100000, such as [1, 8, 32]"),
    key("size", "duration", "a length of time in quotes, such as \"500ms\", \"5s\", \"10min\" or \"1h\""),
    key("size", "warmup", "a length of time in quotes, such as \"500ms\", \"5s\", \"10min\" or \"1h\""),
    key("size", "blocks", "a whole number from 1 to 1000"),
    key("size", "scaleup", "a table of rows, such as { rows = 1000000 }"),
    key("size.scaleup", "rows", "a whole number from 1 to 10000000000000"),
    key("size.scaleup", "log_rows", "a whole number from 0 to 10000000000000"),
    key("size", "tpcc", "a table of warehouses, such as { warehouses = 10 }"),
    key("size.tpcc", "warehouses", "a whole number from 1 to 10000000"),
    key("size.tpcc", "loaded", "true or false"),
    key("size", "variables", "a table of variables, such as { pause = 10 }"),
    choice(
        "check",
        "balance",
        "\"auto\", \"full\", \"touched\" or \"off\"",
        &["auto", "full", "touched", "off"],
    ),
    key("check", "consistency", "true or false"),
];

/// Keys that people look for and that a plan deliberately lacks.
const ADDRESS: &[&str] =
    &["dsn", "uri", "url", "host", "port", "user", "username", "password", "dbname", "database", "admin_dsn"];

/// Names that people try for TPC-B's tables, which have no key of their own.
const TPCB: &[&str] = &["tpcb", "tpc_b", "pgbench"];

/// Least Jaro-Winkler similarity (0 to 1) of a name that is suggested.
const LIKENESS: f64 = 0.75;

/// The key with this section and name.
pub(super) fn find(section: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.section == section && key.name == name)
}

/// The key of a dotted path such as `measure.clients`, without list positions.
pub(super) fn at(path: &str) -> Option<&'static Key> {
    match path.split('.').collect::<Vec<_>>()[..] {
        ["variables", _] | ["workload", "define", _] | ["size", _, "variables", _] => Some(&VARIABLE),
        ["size", _, "scaleup", name] => find("size.scaleup", name),
        ["size", _, "tpcc", name] => find("size.tpcc", name),
        ["size", _, name] => find("size", name),
        _ => {
            let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
            find(section, name)
        }
    }
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

/// Hint for a key that this section does not have.
pub(super) fn advice(section: &str, name: &str) -> String {
    if is_address(name) {
        return "a plan holds no address, user or password: give them with -h, -p, -U, -d or PG* variables"
            .into();
    }
    if matches!(section, "data" | "size") && TPCB.contains(&name.to_ascii_lowercase().as_str()) {
        return "TPC-B's tables have no key of their own: `scale` requests them, such as scale = 100".into();
    }
    if let Some(known) = nearest(name, names(section)) {
        return format!("did you mean `{known}`?");
    }
    if let Some(elsewhere) = KEYS.iter().find(|key| key.name == name) {
        return format!("`{name}` belongs {}", place(elsewhere.section));
    }
    format!("known here: {}", names(section).collect::<Vec<_>>().join(", "))
}

/// Names the section in a message.
pub(super) fn place(section: &str) -> String {
    match section {
        "" => "at the top of the file".into(),
        "workload" => "in [[workload]]".into(),
        "subject" => "in [[subject]]".into(),
        "workload.scripts" => "in `scripts` of [[workload]]".into(),
        "data.scaleup" => "in `scaleup` of [data]".into(),
        "data.tpcc" => "in `tpcc` of [data]".into(),
        "size.tpcc" => "in `tpcc` of [size.NAME]".into(),
        "workload.tpcc" => "in `tpcc` of [[workload]]".into(),
        "size.scaleup" => "in `scaleup` of [size.NAME]".into(),
        "size" => "in [size.NAME]".into(),
        _ => format!("in [{section}]"),
    }
}

fn names(section: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(move |key| key.section == section).map(|key| key.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Names of a table's keys in the schema.
    fn in_schema(definition: &serde_json::Value) -> BTreeSet<&str> {
        let properties = definition["properties"].as_object().expect("it is a table");
        properties.keys().map(String::as_str).collect()
    }

    #[test]
    fn the_table_of_keys_is_that_of_the_schema() {
        let schema = crate::schema();
        let definitions = &schema["$defs"];
        for (section, definition) in [
            ("", &schema),
            ("server", &definitions["ServerPlan"]),
            ("subject", &definitions["SubjectPlan"]),
            ("data", &definitions["DataPlan"]),
            ("data.scaleup", &definitions["ScaleupPlan"]),
            ("size.scaleup", &definitions["ScaleupPlan"]),
            ("data.tpcc", &definitions["TpccPlan"]),
            ("size.tpcc", &definitions["TpccPlan"]),
            ("workload.tpcc", &definitions["TpccWork"]),
            ("load", &definitions["LoadingPlan"]),
            ("workload", &definitions["WorkloadPlan"]),
            ("workload.scripts", &definitions["ScriptPlan"]),
            ("size", &definitions["SizePlan"]),
            ("measure", &definitions["MeasurePlan"]),
            ("check", &definitions["CheckPlan"]),
        ] {
            assert_eq!(names(section).collect::<BTreeSet<_>>(), in_schema(definition), "[{section}]");
        }
    }

    #[test]
    fn advice_names_the_nearest_key_or_its_place() {
        assert_eq!(advice("measure", "client"), "did you mean `clients`?");
        assert_eq!(advice("measure", "WarmUp"), "did you mean `warmup`?");
        assert_eq!(advice("", "scale"), "`scale` belongs in [data]");
        assert!(advice("", "password").starts_with("a plan holds no address"));
        // `tpcc` is only a letter away but means other tables.
        for section in ["data", "size"] {
            let said = advice(section, "tpcb");
            assert!(said.contains("`scale`") && !said.contains("tpcc"), "{said}");
        }
        assert_eq!(advice("data", "tpc"), "did you mean `tpcc`?");
        assert_eq!(advice("check", "zzz"), "known here: balance, consistency");
    }
}
