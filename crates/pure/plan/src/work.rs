//! The plan's own data, scripts, variables and sizes.

use std::{borrow::Cow, collections::BTreeMap};

use pgdyno_core::{span::Span, tpcc::Transaction};
use pgdyno_rows::{
    load::LoadRequest,
    scaleup::{log_size, test_size},
};
use pgdyno_script::{Builtin, Definition, Protocol, tpcc::script};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Scale, TpccPlan, TpccWork, auto::Whole, measure::MAX_CLIENTS};

/// Most workloads of a plan.
pub(super) const MAX_WORKLOADS: usize = 32;
/// Most scripts of a workload, as in pgbench.
pub(super) const MAX_SCRIPTS: usize = 128;

/// The data to load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DataPlan {
    /// Whether the tables exist already: those that sessions find by their `search_path`. They are checked, used as
    /// they are, and neither loaded nor reset nor dropped; numbers of rows are then those that they must have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loaded: bool,
    /// TPC-B scale factor from 1 to 100,000,000: 100,000 accounts each, about 15 MiB. `auto` fits memory, disk
    /// and time; it means `none` if the plan has `scaleup` or a setup and runs no built-in script.
    pub scale: Scale,
    /// The tables `test` and `log` of `pgdyno load scaleup`, instead of TPC-B's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaleup: Option<ScaleupPlan>,
    /// The tables of TPC-C, instead of TPC-B's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccPlan>,
    /// File with SQL that sets up the plan's own tables, once, after other tables are loaded. A path that does
    /// not begin with `/` is relative to the directory of the plan file.
    #[schemars(extend("examples" = ["setup.sql"]))]
    pub setup: Option<String>,
    /// SQL that sets up the plan's own tables, as text; runs after `setup`.
    pub setup_text: Option<String>,
}

impl ScaleupPlan {
    /// Names of the variables that hold the numbers of rows.
    pub(super) const VARIABLES: [&'static str; 2] = ["rows", "log_rows"];

    /// Bytes of both tables and their indexes, for a page size in bytes and a fill factor in per cent.
    pub fn bytes(self, page_bytes: u64, fillfactor: u32) -> u64 {
        let test = test_size(self.rows, self.rows, page_bytes, fillfactor);
        let log = log_size(self.log_rows, page_bytes, fillfactor);
        [test, log].iter().map(|table| table.heap.bytes + table.index.bytes).sum()
    }

    pub(super) fn variables(self) -> impl Iterator<Item = Definition> {
        let pairs = Self::VARIABLES.into_iter().zip([self.rows, self.log_rows]);
        pairs.map(|(name, value)| Definition { name: name.to_owned(), value: value.to_string() })
    }
}

impl DataPlan {
    /// Whether the plan sets up tables of its own.
    pub fn is_own(&self) -> bool {
        self.setup.is_some() || self.setup_text.is_some()
    }
}

/// Numbers of rows of the tables `test` and `log` of `pgdyno load scaleup`. The plan's SQL reads them as
/// `:rows` and `:log_rows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-expects" = "a table of rows, such as { rows = 1000000 }"))]
pub struct ScaleupPlan {
    /// Rows of `test`, 1 to 10,000,000,000,000.
    #[schemars(range(min = 1, max = 10_000_000_000_000_u64))]
    pub rows: u64,
    /// Rows of `log`, 0 to 10,000,000,000,000.
    #[serde(default)]
    #[schemars(range(max = 10_000_000_000_000_u64))]
    pub log_rows: u64,
}

/// Source of a script: built in, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A built-in transaction.
    Builtin(Builtin),
    /// A file. A path that does not begin with `/` is relative to the directory of the plan file.
    File(String),
}

impl Source {
    /// Interprets a word of a plan: the name of a built-in script, or a path, which contains `/` or ends in `.sql`.
    pub fn from_word(word: &str) -> Option<Self> {
        let is_path = word.contains('/') || (word.len() > 4 && word.ends_with(".sql"));
        let builtin = Builtin::by_name(word).map(Self::Builtin);
        builtin.or_else(|| is_path.then(|| Self::File(word.to_owned())))
    }

    /// The built-in transaction; `None` for a file.
    pub fn builtin(&self) -> Option<Builtin> {
        match self {
            Self::Builtin(builtin) => Some(*builtin),
            Self::File(_) => None,
        }
    }

    /// The word that a plan uses for this source.
    pub fn word(&self) -> &str {
        match self {
            Self::Builtin(builtin) => builtin.name(),
            Self::File(path) => path,
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'_, str>::deserialize(deserializer)?;
        Self::from_word(&word).ok_or_else(|| de::Error::custom("neither a built-in script nor a file"))
    }
}

impl JsonSchema for Source {
    fn schema_name() -> Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a built-in script by its name, or a file: a path with a `/` or the ending `.sql`",
            "anyOf": [
                { "enum": Builtin::ALL.map(Builtin::name) },
                {
                    "type": "string",
                    "pattern": "^(.*/.*|.+\\.sql)$",
                    "x-expects": "a file in quotes",
                    "examples": ["mine.sql"],
                },
            ],
        })
    }
}

/// Value of a variable, as in `-D name=value`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a variable has a number or a text in quotes")]
#[schemars(extend("x-expects" = "a number or a text in quotes"))]
pub enum VariableValue {
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A text, not empty.
    Text(String),
}

impl VariableValue {
    /// The text substituted in SQL.
    pub fn text(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Double(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// What a plan expects of variables.
pub(super) const VARIABLES: &str = "a table of variables, such as { pause = 10 }";

/// Variables by name.
pub type Variables = BTreeMap<String, VariableValue>;

/// Variables in the form that scripts take.
pub fn definitions(variables: &Variables) -> impl Iterator<Item = Definition> {
    variables.iter().map(|(name, value)| Definition { name: name.clone(), value: value.text() })
}

/// One workload of a plan: a built-in transaction, a script of the plan's own, or several chosen by weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    /// Name in reports: 1 to 40 letters, digits, dots, dashes and underscores. Default: the name of the
    /// built-in script or of the file.
    #[serde(default)]
    #[schemars(length(min = 1, max = 40), regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    #[schemars(extend("examples" = ["insert-one"]))]
    pub name: Option<String>,
    /// The transaction: a built-in one, or a file in pgbench's language.
    #[serde(default)]
    pub script: Option<Source>,
    /// The transaction as text in pgbench's language.
    #[serde(default)]
    pub text: Option<String>,
    /// Protocol that statements are sent with.
    #[serde(default = "prepared")]
    pub protocol: Protocol,
    /// SQL that restores the initial data before every run; CHECKPOINT follows.
    #[serde(default)]
    pub reset: Option<String>,
    /// How the tables are loaded for this workload; its options override those of `[load]`. Before the first run of a
    /// workload whose tables differ from those there, they are dropped and loaded again.
    #[serde(default, skip_serializing_if = "LoadRequest::is_default")]
    pub load: LoadRequest,
    /// Client counts of this workload, such as [1, 8, 32], instead of `measure.clients`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Whole<1, MAX_CLIENTS>>>", extend("examples" = [[1, 8, 32]]))]
    pub clients: Option<Vec<u32>>,
    /// Tries of a transaction that ends in a serialization failure or a deadlock (SQLSTATE 40001, 40P01), as with
    /// `pgbench --max-tries`: 1 does not try again, 0 tries until it succeeds or the run ends.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    #[schemars(extend("examples" = [10]))]
    pub max_tries: u32,
    /// The five transactions of TPC-C, on the tables of `tpcc` in `[data]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccWork>,
    /// Several transactions; every attempt draws one by weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_SCRIPTS))]
    #[schemars(extend("x-expects" = "a list of tables, such as [{ script = \"a.sql\", weight = 3 }, …]"))]
    pub scripts: Vec<ScriptPlan>,
    /// Variables of this workload, as with `pgbench -D`; they override `variables`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-expects" = VARIABLES))]
    pub define: Variables,
    /// The workload of the plan file of which this is a level, as an index; `None` without factors. The levels of one
    /// workload alternate.
    #[serde(skip)]
    pub of: Option<usize>,
}

/// Default of `max_tries`.
fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn is_once(tries: &u32) -> bool {
    *tries == 1
}

impl WorkloadPlan {
    /// A workload of a built-in transaction.
    pub fn builtin(script: Builtin, protocol: Protocol) -> Self {
        Self {
            name: None,
            script: Some(Source::Builtin(script)),
            text: None,
            protocol,
            reset: None,
            load: LoadRequest::default(),
            clients: None,
            max_tries: 1,
            tpcc: None,
            scripts: Vec::new(),
            define: Variables::new(),
            of: None,
        }
    }

    /// The built-in transaction, if it is the only script.
    pub fn as_builtin(&self) -> Option<Builtin> {
        self.script.as_ref().and_then(Source::builtin)
    }

    /// Whether the workload may write; true for the plan's own scripts, whose effects are not known.
    pub fn writes(&self) -> bool {
        self.as_builtin().is_none_or(Builtin::writes)
    }

    /// Name in reports.
    pub fn title(&self) -> &str {
        match (&self.name, &self.script) {
            (Some(name), _) => name,
            (None, Some(source)) => source.word().rsplit('/').next().unwrap_or_default(),
            (None, None) if self.tpcc.is_some() => "tpcc",
            (None, None) => "text",
        }
    }

    /// A workload of TPC-C.
    pub fn tpcc(work: TpccWork) -> Self {
        Self { script: None, tpcc: Some(work), ..Self::builtin(Builtin::SelectOnly, Protocol::Prepared) }
    }

    /// Transactions of the workload with their weights.
    pub fn parts(&self) -> Vec<ScriptPlan> {
        if !self.scripts.is_empty() {
            return self.scripts.clone();
        }
        if let Some(tpcc) = &self.tpcc {
            let part = |(transaction, weight): (Transaction, u32)| ScriptPlan {
                script: None,
                text: Some(script(tpcc.shape, transaction).to_owned()),
                weight,
            };
            return Transaction::ALL.into_iter().zip(tpcc.weights).map(part).collect();
        }
        vec![ScriptPlan { script: self.script.clone(), text: self.text.clone(), weight: 1 }]
    }
}

fn prepared() -> Protocol {
    Protocol::Prepared
}

/// One of several transactions of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptPlan {
    /// A built-in transaction, or a file in pgbench's language.
    #[serde(default)]
    pub script: Option<Source>,
    /// The transaction as text in pgbench's language.
    #[serde(default)]
    pub text: Option<String>,
    /// Weight relative to the other transactions, 0 to 1,000,000.
    #[serde(default = "one")]
    #[schemars(range(max = 1_000_000))]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

/// A size of the experiment, chosen by `--size`; its keys override the rest of the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SizePlan {
    /// Client counts, such as [1, 8, 32], instead of `measure.clients`.
    #[schemars(with = "Option<Vec<Whole<1, MAX_CLIENTS>>>", extend("examples" = [[1, 8, 32]]))]
    pub clients: Option<Vec<u32>>,
    /// Measured interval, instead of `measure.duration`.
    pub duration: Option<Span>,
    /// Warm-up, instead of `measure.warmup`.
    pub warmup: Option<Span>,
    /// Number of blocks, instead of `measure.blocks`.
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: Option<u32>,
    /// TPC-B scale factor from 1 to 100,000,000, instead of `data.scale`.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<u64>,
    /// Rows of `test` and `log`, instead of `data.scaleup`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaleup: Option<ScaleupPlan>,
    /// TPC-C tables, instead of `data.tpcc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccPlan>,
    /// Values that override those of `variables`.
    #[schemars(extend("x-expects" = VARIABLES))]
    pub variables: Variables,
    /// Levels of factors by the factor's name, instead of those in `[[factor]]`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-expects" = "a table of factors with their levels, such as { rows = [10, 100] }"))]
    pub levels: BTreeMap<String, Vec<serde_json::Value>>,
}
