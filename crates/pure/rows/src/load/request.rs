//! Requests and plans of loads.

use std::collections::BTreeMap;

use pgdyno_core::{problem::Problem, units};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Cost, Set, Table, TableOption, Way, table_options};
use crate::{Population, tpcb::SizeEstimate};

/// Partitioning method of the main table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
pub enum PartitionMethod {
    /// Ranges of the key.
    Range,
    /// Hashes of the key.
    Hash,
}

impl PartitionMethod {
    /// The method's keyword in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Hash => "hash",
        }
    }
}

/// Partitioning of the main table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// How rows are assigned to partitions.
    pub method: PartitionMethod,
    /// Number of partitions, at least 1.
    pub count: u64,
}

/// A complete load, stored in the database with its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// Set of tables.
    #[serde(default, skip_serializing_if = "is_default")]
    pub set: Set,
    /// Scale factor; for [`Set::Scaleup`] the rows of `test`, for [`Set::Tpcc`] the number of warehouses.
    pub scale: u64,
    /// Rows of the table `log`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub log_rows: u64,
    /// Seed of random columns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub seed: u64,
    /// Timestamp of TPC-C's date columns, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_us: i64,
    /// Partitioning of those tables that support it; `None` for plain tables.
    pub partitions: Option<Partitions>,
    /// Fill factor in per cent, unless a table has its own.
    pub fillfactor: u32,
    /// Storage options of the tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "table_options")]
    pub table_options: Vec<TableOption>,
    /// Whether the tables are unlogged.
    pub unlogged: bool,
    /// Whether the tables have foreign keys.
    pub foreign_keys: bool,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// How rows are written.
    pub way: Way,
    /// Whether `log`, which is never partitioned, is filled in chunks although [`Way::Stream`] fills the partitions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub log_chunks: bool,
    /// Rows of one task, unless a table is one stream or partitioned by range.
    pub chunk_rows: u64,
    /// Schema from which rows are copied; `None` if rows are generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Database of the same server with that schema; `None` if it is the same database, where the server copies rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_database: Option<String>,
    /// Parallel workers requested for each key; `None` to choose them from facts. A resumed load may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_workers: Option<u64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl LoadPlan {
    /// Short description of the load.
    pub fn title(&self) -> String {
        let scale = units::count(self.scale);
        match self.set {
            Set::Tpcb => format!("tpcb at scale {scale}"),
            Set::Scaleup => {
                format!("scaleup with {scale} rows of test and {} of log", units::count(self.log_rows))
            }
            Set::Tpcc => format!("tpcc with {}", units::plural(self.scale, "warehouse")),
        }
    }

    /// Rows of all tables; for TPC-C's `order_line` an average.
    pub fn rows_total(&self) -> u64 {
        self.set.tables().iter().map(|table| table.rows_of(self.units(*table))).sum()
    }

    /// Number of units of a table, in which its parts are counted.
    pub fn units(&self, table: Table) -> u64 {
        table.generator().units_at(if table == Table::Log { self.log_rows } else { self.scale })
    }

    /// Storage options of a table: those that it has by default, and the requested ones over them.
    pub fn options_of(&self, table: Table, usual: &[(&str, String)]) -> Vec<(String, String)> {
        table_options::of_table(&self.table_options, table, usual)
    }

    /// Fill factor of a table in per cent.
    pub fn fillfactor_of(&self, table: Table) -> u32 {
        let own = self.table_options.iter().filter(|option| option.is_of(table));
        own.filter_map(TableOption::fillfactor).next_back().unwrap_or(self.fillfactor)
    }

    /// Seed and timestamp that determine the rows.
    pub fn population(&self) -> Population {
        Population { seed: self.seed, at_us: self.at_us }
    }

    /// Whether the server routes rows to partitions, so that these are not filled one by one.
    pub fn routed(&self) -> bool {
        self.partitions.is_some_and(|partitions| partitions.method == PartitionMethod::Hash)
    }

    /// Text for users on what an interrupted load keeps, and what a resumed one repeats.
    pub fn kept(&self) -> &'static str {
        match (self.whole(), self.partitions) {
            (true, None) => "filled tables are kept, a partly filled table is filled again",
            (true, Some(_)) => "filled partitions are kept, partly filled ones are filled again",
            (false, _) => "everything is kept except at most one chunk of each stream",
        }
    }

    /// How so many connections load; defaults are left out, except for the method.
    pub fn words(&self, streams: u64) -> String {
        let method = match self.way {
            Way::Stream if self.partitions.is_some() => "one COPY per table or partition",
            Way::Stream => "one COPY per table",
            Way::Chunks => "COPY in chunks",
            Way::Server => "rows generated by the server",
        };
        let mut words = vec![match streams {
            1 => method.to_owned(),
            streams => format!("{method} by {}", units::plural(streams, "connection")),
        }];
        if let Some(Partitions { method, count }) = self.partitions {
            words.push(format!("{} by {}", units::plural(count, "partition"), method.name()));
        }
        words.extend((self.fillfactor != 100).then(|| format!("fill factor {} %", self.fillfactor)));
        words.extend(self.table_options.iter().map(ToString::to_string));
        words.extend(self.unlogged.then(|| "unlogged".to_owned()));
        words.extend(self.foreign_keys.then(|| "foreign keys".to_owned()));
        words.extend(self.tablespace.as_ref().map(|name| format!("tablespace {name}")));
        words.extend(self.index_tablespace.as_ref().map(|name| format!("keys in tablespace {name}")));
        let for_key = |workers| format!("{} for each key", units::plural(workers, "parallel worker"));
        words.extend(self.key_workers.map(for_key));
        words.join(", ")
    }

    /// Keys of large tables or partitions that so many streams build at the same time.
    pub fn keys_at_once(&self, streams: u64) -> u64 {
        let parts = self.partitions.map_or(1, |partitions| partitions.count);
        (parts * self.set.spread().len() as u64).min(streams)
    }

    /// Whether the main table, or each of its partitions, is written by a single task.
    pub fn whole(&self) -> bool {
        self.partitions.map_or(self.way == Way::Stream, |_| !self.routed())
    }
}

/// A request for a load. What it leaves open is chosen, or taken from the load to be continued.
///
/// It is the table `[load]` of a plan, and with the feature `flags` the flags about tables. What is loaded is said
/// elsewhere in a plan, and by flags of each command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "flags", derive(clap::Args), group(skip))]
pub struct LoadRequest {
    /// Set of tables.
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub set: Set,
    /// Scale factor; for [`Set::Scaleup`] the rows of `test`, for [`Set::Tpcc`] the number of warehouses.
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub scale: Option<u64>,
    /// Rows of the table `log`.
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub log_rows: Option<u64>,
    /// Seed of random columns.
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub seed: Option<u64>,
    /// Timestamp of TPC-C's date columns, in microseconds since 1970.
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub at_us: Option<i64>,
    /// Schema from which rows are copied.
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub source: Option<String>,
    /// Database with that schema. Without it the server copies rows within a database, which implies [`Way::Server`].
    #[serde(skip)]
    #[cfg_attr(feature = "flags", arg(skip))]
    pub source_database: Option<String>,
    /// Partitions of the largest table, of TPC-C's of all but item (PostgreSQL 11 and newer); 0: none
    #[schemars(range(max = MAX_PARTITIONS))]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    #[cfg_attr(feature = "flags", arg(value_parser = clap::value_parser!(u64).range(..=MAX_PARTITIONS)))]
    pub partitions: Option<u64>,
    /// Partitioning method [default: range]
    #[cfg_attr(feature = "flags", arg(long, value_name = "METHOD"))]
    pub partition_method: Option<PartitionMethod>,
    /// Fill factor of the tables in per cent [default: 100]
    #[schemars(range(min = 10, max = 100))]
    #[cfg_attr(feature = "flags", arg(long, value_name = "PERCENT"))]
    #[cfg_attr(feature = "flags", arg(value_parser = clap::value_parser!(u32).range(10..=100)))]
    pub fillfactor: Option<u32>,
    /// Storage option of all tables, or of one (TABLE.NAME=VALUE), such as accounts.parallel_workers=8; may be repeated
    #[schemars(with = "BTreeMap<String, String>", extend("x-expects" = TABLE_OPTIONS))]
    #[serde(skip_serializing_if = "Vec::is_empty", with = "table_options")]
    #[cfg_attr(feature = "flags", arg(long = "table-option", value_name = "NAME=VALUE"))]
    pub table_options: Vec<TableOption>,
    /// Unlogged tables, which a crash of the server empties; reports state it with every number
    #[cfg_attr(feature = "flags", arg(long))]
    pub unlogged: bool,
    /// Foreign keys between the tables
    #[cfg_attr(feature = "flags", arg(long))]
    pub foreign_keys: bool,
    /// Tablespace of the tables, on an existing server
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME"))]
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME"))]
    pub index_tablespace: Option<String>,
    /// How rows are written [default: one COPY for each table or partition; for hash partitions, chunks]
    #[cfg_attr(feature = "flags", arg(id = "load_method", long = "load-method", value_name = "METHOD"))]
    pub method: Option<Way>,
    /// Connections that load in parallel, 1 to 1,000 [default: 1, with which every load writes identical pages]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    #[cfg_attr(feature = "flags", arg(id = "load_jobs", long = "load-jobs", value_name = "J"))]
    #[cfg_attr(feature = "flags", arg(value_parser = clap::value_parser!(u64).range(1..=1_000)))]
    pub jobs: Option<u64>,
    /// Parallel workers for each key of a large table (PostgreSQL 11 and newer) [default: from CPUs and memory]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_KEY_WORKERS))]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    #[cfg_attr(feature = "flags", arg(value_parser = clap::value_parser!(u64).range(1..=MAX_KEY_WORKERS)))]
    pub key_workers: Option<u64>,
}

/// Most workers of one utility command (`MAX_PARALLEL_WORKER_LIMIT` of `bgworker_internals.h`).
const MAX_KEY_WORKERS: u64 = 1_024;

/// What a plan expects of storage options.
const TABLE_OPTIONS: &str = "a table of storage options with their values in quotes, such as \
                             { autovacuum_enabled = \"off\", \"accounts.parallel_workers\" = \"8\" }";

/// Fewest and most rows of a task: overhead stays negligible, and a lost task costs only seconds.
const CHUNK_ROWS: std::ops::RangeInclusive<u64> = 50_000..=10_000_000;
/// Tasks for each stream, enough for all streams to end at about the same time.
const TASKS_A_STREAM: u64 = 16;
/// Name of a term and of a flag for a storage option, and the key of a plan for all of them.
const TABLE_OPTION: &str = "table-option";
const OPTIONS_OF_TABLES: &str = "table_options";
/// Default fill factor in per cent.
const FULL: u32 = 100;
/// Most partitions: more are probably a mistake, and a server would need days to create them.
const MAX_PARTITIONS: u64 = 100_000;

/// An option of a request that contradicts the rest of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadConflict {
    /// Name of the option in a plan.
    pub key: &'static str,
    /// Description in one sentence without a full stop.
    pub what: String,
    /// Remedy for the user.
    pub hint: &'static str,
}

impl LoadRequest {
    /// Plans a new load with this many streams.
    ///
    /// # Errors
    /// The request has no scale, or contradicts itself.
    pub fn plan(&self, streams: u64) -> Result<LoadPlan, Problem> {
        let Some(scale) = self.scale else {
            return Err(Problem::wrong_request("could not load without a scale").hint(self.scale_hint()));
        };
        if let Some(conflict) = self.conflict() {
            let what = format!("could not load: {}", conflict.what);
            return Err(Problem::wrong_request(what).hint(conflict.hint));
        }
        let main = self.set.main();
        let rows = main.rows_of(main.generator().units_at(scale));
        let (partitions, log_rows) = (self.parts(), self.log_rows.unwrap_or(0));
        let chunk = rows.max(log_rows).div_ceil(streams.max(1).saturating_mul(TASKS_A_STREAM));
        Ok(LoadPlan {
            set: self.set,
            scale,
            log_rows,
            seed: self.seed.unwrap_or(0),
            at_us: self.at_us.unwrap_or(0),
            way: self.way(partitions, self.written(scale).saturating_add(log_rows), streams),
            log_chunks: self.log_chunks(partitions, log_rows, streams),
            partitions,
            fillfactor: self.fillfactor.unwrap_or(FULL),
            table_options: table_options::merged(&self.table_options, &[]),
            unlogged: self.unlogged,
            foreign_keys: self.foreign_keys,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            chunk_rows: chunk.clamp(*CHUNK_ROWS.start(), *CHUNK_ROWS.end()),
            source: self.source.clone(),
            source_database: self.source_database.clone(),
            key_workers: self.key_workers,
        })
    }

    /// Rows of the tables that take time to fill, except `log`.
    fn written(&self, scale: u64) -> u64 {
        self.set.spread().iter().map(|table| table.rows_of(table.generator().units_at(scale))).sum()
    }

    fn scale_hint(&self) -> &'static str {
        match self.set {
            Set::Tpcb => "use --scale N: a scale of 1 is 100,000 accounts, about 15 MiB",
            Set::Scaleup => "use --rows N",
            Set::Tpcc => "use --warehouses N: one takes about 100 MB",
        }
    }

    /// The request that a plan with this many streams answers, with nothing left open.
    pub fn of(plan: &LoadPlan, streams: u64) -> Self {
        Self {
            set: plan.set,
            scale: Some(plan.scale),
            log_rows: Some(plan.log_rows),
            seed: Some(plan.seed),
            at_us: Some(plan.at_us),
            source: plan.source.clone(),
            source_database: plan.source_database.clone(),
            jobs: Some(streams),
            partitions: Some(plan.partitions.map_or(0, |partitions| partitions.count)),
            partition_method: plan.partitions.map(|partitions| partitions.method),
            method: Some(plan.way),
            tablespace: plan.tablespace.clone(),
            index_tablespace: plan.index_tablespace.clone(),
            fillfactor: Some(plan.fillfactor),
            table_options: plan.table_options.clone(),
            unlogged: plan.unlogged,
            foreign_keys: plan.foreign_keys,
            key_workers: plan.key_workers,
        }
    }

    /// A request for a copy of a plan's tables from the schema that contains them.
    pub fn copying(plan: &LoadPlan, schema: &str) -> Self {
        let source = Some(schema.to_owned());
        Self { method: Some(Way::Server), source, source_database: None, ..Self::of(plan, 1) }
    }

    /// A request for a copy of a plan's tables from another database of the server, with the faster load method.
    pub fn copying_from(plan: &LoadPlan, database: &str, schema: &str) -> Self {
        let (source, source_database) = (Some(schema.to_owned()), Some(database.to_owned()));
        Self { method: None, source, source_database, ..Self::of(plan, 1) }
    }

    /// These options over others, which apply where these leave them open.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let mut options = other.options();
        if self.partitions == Some(0) {
            options.remove("partition_method");
        }
        options.extend(self.options());
        let both: Self =
            serde_json::from_value(Value::Object(options)).expect("what was written can be read");
        Self { table_options: table_options::merged(&self.table_options, &other.table_options), ..both }
    }

    /// The options that are given, named as in a plan but with dashes, with their values as flags have them; `None` for
    /// one that has no value.
    pub fn terms(&self) -> Vec<(String, Option<String>)> {
        let all = self.options().into_iter().flat_map(|(name, value)| match name.as_str() {
            OPTIONS_OF_TABLES => {
                let each = self.table_options.iter().map(ToString::to_string);
                each.map(|option| (TABLE_OPTION.to_owned(), Some(option))).collect::<Vec<_>>()
            }
            _ => vec![(name.replace('_', "-"), value_of(&value))],
        });
        all.collect()
    }

    /// The options that are given, each under a name of its own, with their values: of a storage option, its key is
    /// part of the name.
    pub fn by_name(&self) -> Vec<(String, Option<String>)> {
        let named = |(name, value): (String, Option<String>)| match value
            .as_ref()
            .and_then(|text| text.split_once('='))
        {
            Some((key, value)) if name == TABLE_OPTION => (format!("{name} {key}"), Some(value.to_owned())),
            _ => (name, value),
        };
        self.terms().into_iter().map(named).collect()
    }

    /// Whether nothing is requested.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Number of connections that load in parallel.
    pub fn streams(&self) -> u64 {
        self.jobs.unwrap_or(1)
    }

    /// Sizes of the TPC-B tables at a scale, for a page size in bytes.
    pub fn sizes(&self, scale: u64, page_bytes: u64) -> SizeEstimate {
        SizeEstimate::filled(scale, page_bytes, self.fillfactor())
    }

    /// Lowest fill factor of the tables in per cent.
    pub fn fillfactor(&self) -> u32 {
        let own = self.table_options.iter().filter_map(TableOption::fillfactor);
        own.chain([self.fillfactor.unwrap_or(FULL)]).min().unwrap_or(FULL)
    }

    /// Plans a load that writes identical pages every time, even if that is slower.
    ///
    /// # Errors
    /// As [`LoadRequest::plan`].
    pub fn plan_alike(&self) -> Result<LoadPlan, Problem> {
        let plain = self.partitions.unwrap_or(0) == 0;
        let method = self.method.or(plain.then_some(Way::Stream));
        Self { method, ..self.clone() }.plan(self.streams())
    }

    /// The first contradiction; without a scale, of those that do not depend on it.
    pub fn conflict(&self) -> Option<LoadConflict> {
        let conflict = |key, what: &str, hint| Some(LoadConflict { key, what: what.to_owned(), hint });
        let parts = self.parts();
        if self.partition_method.is_some() && parts.is_none() {
            let hint = "give the number of partitions too, or leave the method out";
            return conflict(
                "partition_method",
                "a partition method is given, but there are no partitions",
                hint,
            );
        }
        if let Some((what, hint)) = self.table_options.iter().find_map(|option| option.fault(self.set)) {
            return conflict("table_options", &what, hint);
        }
        let is_given_twice = |at: usize| {
            self.table_options[..at].iter().any(|before| before.key() == self.table_options[at].key())
        };
        if let Some(at) = (0..self.table_options.len()).find(|at| is_given_twice(*at)) {
            let what = format!("the table option `{}` is given twice", self.table_options[at].key());
            return conflict("table_options", &what, "keep one of them");
        }
        if self.foreign_keys && self.set.foreign_keys() == 0 {
            let what = "the tables test and log have no foreign keys between them";
            return conflict("foreign_keys", what, "leave it out");
        }
        if self.set == Set::Tpcc && self.method == Some(Way::Server) && self.source.is_none() {
            let what = "the rows of TPC-C can only be generated by pgdyno";
            return conflict("method", what, "leave the load method out");
        }
        let Partitions { method, count } = parts?;
        let (cannot, why) = match method {
            PartitionMethod::Range => (Way::Chunks, "each is filled as a whole"),
            PartitionMethod::Hash => (Way::Stream, "the server routes rows to them"),
        };
        if self.method == Some(cannot) {
            let (cannot, method) = (cannot.name(), method.name());
            let what = format!("the method {cannot} is not for partitions by {method}: {why}");
            return conflict("method", &what, "leave the load method out");
        }
        let main = self.set.main();
        let most = main.generator().units_at(self.scale?) / main.grain();
        let unit = if self.set == Set::Tpcc { "warehouse" } else { "row" };
        let what = format!("{count} partitions are more than {}", units::plural(most, unit));
        if count > most { conflict("partitions", &what, "use no more than that") } else { None }
    }

    fn parts(&self) -> Option<Partitions> {
        let method = self.partition_method.unwrap_or(PartitionMethod::Range);
        self.partitions.filter(|count| *count > 0).map(|count| Partitions { method, count })
    }

    /// The requested load method, or else the faster one.
    fn way(&self, partitions: Option<Partitions>, rows: u64, streams: u64) -> Way {
        let best = || match partitions.map(|partitions| partitions.method) {
            None => Cost::of_set(self.set, rows, streams).way(),
            Some(PartitionMethod::Range) => Way::Stream,
            Some(PartitionMethod::Hash) => Way::Chunks,
        };
        self.method.unwrap_or_else(best)
    }

    /// Whether filling `log` in chunks while partitions are filled as a whole is faster, if no method was requested.
    fn log_chunks(&self, partitions: Option<Partitions>, rows: u64, streams: u64) -> bool {
        let ranges = partitions.is_some_and(|partitions| partitions.method == PartitionMethod::Range);
        ranges
            && self.set == Set::Scaleup
            && self.method.is_none()
            && Cost::new(rows, streams).way() != Way::Stream
    }

    /// Flags in which this request differs from a load begun earlier, with both values.
    pub fn differences(&self, begun: &LoadPlan) -> Vec<String> {
        if self.set != begun.set {
            let (asked, begun) = (self.set.name(), begun.set.name());
            return vec![format!("`load {asked}` was requested, but the load was begun by `load {begun}`")];
        }
        let amounts = [
            differs(self.set.scale_word(), self.scale, begun.scale),
            differs("log-rows", self.log_rows, begun.log_rows),
            differs("seed", self.seed, begun.seed),
            differs("at", self.at_us.map(seconds), seconds(begun.at_us)),
        ];
        let options = Self { jobs: None, key_workers: None, ..self.clone() }.options();
        let begun = Self::of(begun, 1).options();
        let differing = options.into_iter().map(|(name, asked)| {
            let begun =
                begun.get(&name).unwrap_or(if asked == true { &Value::Bool(false) } else { &Value::Null });
            let flag =
                if name == OPTIONS_OF_TABLES { TABLE_OPTION.to_owned() } else { name.replace('_', "-") };
            differs(&flag, Some(shown(&asked)), shown(begun))
        });
        amounts.into_iter().chain(differing).flatten().collect()
    }

    /// The options that are given, by their names in a plan.
    fn options(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut options)) = serde_json::to_value(self) else { return Map::new() };
        options.retain(|_, value| *value != Value::Null && *value != false);
        options
    }
}

/// The value of an option as a flag has it; `None` for a flag without one.
fn value_of(value: &Value) -> Option<String> {
    (*value != true).then(|| shown(value))
}

/// The value of an option as a flag has it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Object(all) => {
            all.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The timestamp in the unit of the flag.
fn seconds(at_us: i64) -> i64 {
    at_us / 1_000_000
}

fn differs<T: PartialEq + std::fmt::Display>(flag: &str, asked: Option<T>, begun: T) -> Option<String> {
    let asked = asked.filter(|asked| *asked != begun)?;
    Some(format!("--{flag}: {asked} was requested, but the load was begun with {begun}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_neither_dust_nor_days() {
        let chunk = |scale, streams| {
            let request = LoadRequest { scale: Some(scale), ..LoadRequest::default() };
            request.plan(streams).expect("it can be").chunk_rows
        };
        assert_eq!((chunk(1, 4), chunk(100, 2), chunk(10_000_000, 64)), (50_000, 312_500, 10_000_000));
    }

    /// The message on an interrupted load depends on the method: a table in one stream is filled again.
    #[test]
    fn what_stays_depends_on_the_way() {
        let kept = |partitions, method, streams| {
            let request = LoadRequest {
                scale: Some(1),
                partitions: Some(partitions),
                partition_method: method,
                ..LoadRequest::default()
            };
            request.plan(streams).expect("it can be").kept()
        };
        assert!(kept(0, None, 1).contains("a partly filled table is filled again"));
        assert!(kept(2, None, 1).contains("filled partitions are kept"));
        assert!(kept(0, None, 8).contains("one chunk of each stream"));
        assert!(kept(2, Some(PartitionMethod::Hash), 1).contains("one chunk of each stream"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |request: LoadRequest| request.plan(1).expect_err("it cannot be").what;
        let at = LoadRequest { scale: Some(1), ..LoadRequest::default() };
        assert!(refused(LoadRequest::default()).contains("without a scale"));
        let method = Some(PartitionMethod::Hash);
        assert!(
            refused(LoadRequest { partition_method: method, ..at.clone() })
                .contains("a partition method is given, but there are no")
        );
        let few =
            LoadRequest { set: Set::Scaleup, scale: Some(3), partitions: Some(5), ..LoadRequest::default() };
        assert_eq!(refused(few), "could not load: 5 partitions are more than 3 rows");
        let ranges = LoadRequest { partitions: Some(2), method: Some(Way::Chunks), ..at.clone() };
        assert!(refused(ranges).contains("the method chunks is not for partitions by range"));
        let keys = LoadRequest { set: Set::Scaleup, foreign_keys: true, ..at.clone() };
        assert!(refused(keys).contains("test and log have no foreign keys"));
        let hashes =
            LoadRequest { partitions: Some(2), partition_method: method, method: Some(Way::Stream), ..at };
        assert!(refused(hashes).contains("the method stream is not for partitions by hash"));
    }

    #[test]
    fn ways_follow_from_partitions_and_cost() {
        let way = |partitions, method, way, streams| {
            let request = LoadRequest {
                scale: Some(1),
                partitions: Some(partitions),
                partition_method: method,
                method: way,
                ..LoadRequest::default()
            };
            request.plan(streams).map(|plan| (plan.way, plan.whole())).expect("it can be")
        };
        let hash = Some(PartitionMethod::Hash);
        assert_eq!(way(0, None, None, 1), (Way::Stream, true));
        assert_eq!(way(0, None, None, 8), (Way::Chunks, false));
        assert_eq!(way(3, None, None, 8), (Way::Stream, true));
        assert_eq!(way(3, hash, None, 1), (Way::Chunks, false));
        let server = Some(Way::Server);
        assert_eq!(way(0, None, server, 1), (Way::Server, false));
        assert_eq!(way(3, None, server, 1), (Way::Server, true));
        assert_eq!(way(3, hash, server, 1), (Way::Server, false));
    }

    #[test]
    fn a_plain_table_is_loaded_alike_whatever_it_costs() {
        let way = |load: LoadRequest| {
            LoadRequest { scale: Some(10_000), ..load }.plan_alike().expect("it can be").way
        };
        assert_eq!(way(LoadRequest { jobs: Some(8), ..LoadRequest::default() }), Way::Stream);
        assert_eq!(way(LoadRequest { partitions: Some(8), ..LoadRequest::default() }), Way::Stream);
        let partition_method = Some(PartitionMethod::Hash);
        assert_eq!(
            way(LoadRequest { partitions: Some(8), partition_method, ..LoadRequest::default() }),
            Way::Chunks
        );
        assert_eq!(way(LoadRequest { method: Some(Way::Server), ..LoadRequest::default() }), Way::Server);
    }

    #[test]
    fn a_lower_fill_factor_takes_more_room() {
        let bytes =
            |fillfactor| LoadRequest { fillfactor, ..LoadRequest::default() }.sizes(10, 8_192).total_bytes();
        assert_eq!(bytes(None), bytes(Some(100)));
        assert!(bytes(Some(50)) > bytes(None) * 3 / 2);
        let own = LoadRequest {
            scale: Some(10),
            table_options: vec!["accounts.fillfactor=50".parse().expect("it is one")],
            ..LoadRequest::default()
        };
        assert_eq!(own.sizes(10, 8_192).total_bytes(), bytes(Some(50)));
        let plan = own.plan(1).expect("it can be");
        assert_eq!((plan.fillfactor_of(Table::Accounts), plan.fillfactor_of(Table::Tellers)), (50, 100));
    }

    /// A resumed load may use more workers than the machine had when the load began.
    #[test]
    fn workers_of_keys_do_not_make_another_load() {
        let begun = LoadRequest { scale: Some(1), key_workers: Some(2), ..LoadRequest::default() };
        let plan = begun.plan(1).expect("it can be");
        assert_eq!(LoadRequest { key_workers: Some(4), ..begun }.differences(&plan), Vec::<String>::new());
        assert!(plan.words(1).ends_with(", 2 parallel workers for each key"), "{}", plan.words(1));
        assert_eq!(LoadRequest::of(&plan, 1).terms().pop(), Some(("key-workers".into(), Some("2".into()))));
    }

    #[test]
    fn what_is_requested_goes_over_what_another_requests() {
        let none = LoadRequest { scale: None, ..LoadRequest::default() };
        let all = LoadRequest { jobs: Some(2), method: Some(Way::Chunks), scale: None, ..everything(4) };
        assert_eq!((none.over(&all), all.over(&none)), (all.clone(), all.clone()));
        let fewer = LoadRequest { partitions: Some(2), ..LoadRequest::default() };
        assert_eq!(fewer.over(&all), LoadRequest { partitions: Some(2), ..all.clone() });
        let option = |text: &str| LoadRequest {
            table_options: vec![text.parse().expect("it is one")],
            ..LoadRequest::default()
        };
        let over = option("autovacuum_enabled=on").over(&all);
        let words: Vec<_> =
            over.by_name().into_iter().filter(|(name, _)| name.starts_with("table-option ")).collect();
        let word = |name: &str, value: &str| (format!("table-option {name}"), Some(value.to_owned()));
        assert_eq!(words, [word("autovacuum_enabled", "on"), word("accounts.parallel_workers", "8")]);
        let twice = LoadRequest {
            table_options: ["a=1", "a=2"].map(|text| text.parse().expect("it is one")).into(),
            ..LoadRequest::default()
        };
        assert!(twice.conflict().expect("it is given twice").what.contains("`a` is given twice"));
        let none = LoadRequest { partitions: Some(0), ..LoadRequest::default() };
        let over = none.over(&all);
        assert_eq!((over.partitions, over.partition_method), (Some(0), None), "no partitions, no method");
    }

    #[test]
    fn options_are_named_with_their_values() {
        let terms = LoadRequest { jobs: Some(2), method: Some(Way::Chunks), ..everything(4) }.terms();
        let words: Vec<_> = terms
            .iter()
            .map(|(name, value)| {
                value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"))
            })
            .collect();
        assert_eq!(
            words.join(" "),
            "partitions=4 partition-method=hash fillfactor=90 table-option=autovacuum_enabled=off \
             table-option=accounts.parallel_workers=8 unlogged foreign-keys tablespace=t index-tablespace=i \
             method=chunks jobs=2"
        );
        assert_eq!(LoadRequest::default().terms(), []);
    }

    /// A request for every table option, with the load method left open.
    fn everything(partitions: u64) -> LoadRequest {
        LoadRequest {
            scale: Some(3),
            partitions: Some(partitions),
            partition_method: Some(PartitionMethod::Hash),
            fillfactor: Some(90),
            table_options: ["autovacuum_enabled=off", "accounts.parallel_workers=8"]
                .map(|text| text.parse().expect("it is one"))
                .into(),
            unlogged: true,
            foreign_keys: true,
            tablespace: Some("t".to_owned()),
            index_tablespace: Some("i".to_owned()),
            ..LoadRequest::default()
        }
    }

    #[test]
    fn a_copy_is_planned_as_its_source_but_for_where_rows_come_from() {
        for source in
            [everything(4).plan(2), LoadRequest { scale: Some(3), ..LoadRequest::default() }.plan(2)]
        {
            let source = source.expect("it can be");
            let copy = LoadRequest::copying(&source, "public").plan(2).expect("it can be");
            assert_eq!((copy.way, copy.source.as_deref()), (Way::Server, Some("public")));
            assert_eq!(LoadPlan { way: source.way, source: None, ..copy }, source);
            let by_server = LoadPlan { way: Way::Server, ..source.clone() };
            let copy = LoadRequest::copying_from(&by_server, "src", "public").plan(2).expect("it can be");
            assert!(copy.way != Way::Server && copy.source_database.as_deref() == Some("src"), "{copy:?}");
            let plan = LoadPlan { way: source.way, source: None, source_database: None, ..copy };
            assert_eq!(plan, source);
        }
    }

    #[test]
    fn every_difference_is_named() {
        let begun = LoadRequest { scale: Some(2), partitions: Some(4), ..LoadRequest::default() };
        let plan = begun.plan(1).expect("it can be");
        assert_eq!(LoadRequest::default().differences(&plan), Vec::<String>::new());
        assert_eq!(begun.differences(&plan), Vec::<String>::new());
        let other = LoadRequest { method: Some(Way::Server), ..everything(0) };
        let differences = other.differences(&plan);
        assert_eq!(differences.len(), 10, "{differences:?}");
        assert_eq!(
            differences[4],
            "--table-option: accounts.parallel_workers=8, autovacuum_enabled=off was requested, but the load was begun \
             with none"
        );
        assert_eq!(differences[9], "--method: server was requested, but the load was begun with stream");
        assert_eq!(differences[0], "--scale: 3 was requested, but the load was begun with 2");
        assert_eq!(
            differences[2],
            "--partition-method: hash was requested, but the load was begun with range"
        );
        assert_eq!(differences[7], "--tablespace: t was requested, but the load was begun with none");
        let rows = LoadRequest {
            set: Set::Scaleup,
            scale: Some(9),
            log_rows: Some(8),
            seed: Some(7),
            ..LoadRequest::default()
        };
        let tables = "`load scaleup` was requested, but the load was begun by `load tpcb`";
        assert_eq!(rows.differences(&plan), [tables]);
        let none = LoadRequest { scale: Some(1), log_rows: None, seed: None, ..rows.clone() };
        let said = rows.differences(&none.plan(1).expect("it can be")).join("; ");
        for flag in
            ["--rows: 9 was", "--log-rows: 8 was", "--seed: 7 was requested, but the load was begun with 0"]
        {
            assert!(said.contains(flag), "{said}");
        }
    }

    /// Older versions' plans can still be read, and older versions can read new plans of their kinds.
    #[test]
    fn a_plan_of_tpcb_is_written_as_it_was() {
        let plan = LoadRequest { scale: Some(1), ..LoadRequest::default() }.plan(1).expect("it can be");
        let text = serde_json::to_string(&plan).expect("it can be written");
        assert!(text.starts_with("{\"scale\":1,\"partitions\":null,\"fillfactor\":100,"), "{text}");
        let rows = LoadRequest {
            set: Set::Scaleup,
            log_rows: Some(5),
            seed: Some(3),
            ..LoadRequest::copying(&plan, "s")
        };
        for plan in [plan, rows.plan(1).expect("it can be")] {
            let text = serde_json::to_string(&plan).expect("it can be written");
            assert_eq!(serde_json::from_str::<LoadPlan>(&text).expect("it can be read"), plan);
        }
    }
}
