//! What a plan brings of its own: tables, scripts, variables, sizes.

use std::{borrow::Cow, collections::BTreeMap};

use pgdyno_core::{span::Span, tpcc::Transaction};
use pgdyno_rows::scaleup::{log_size, test_size};
use pgdyno_script::{Builtin, Definition, Protocol, tpcc::script};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Scale, TpccPlan, TpccWork};

/// The data to load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DataPlan {
    /// TPC-B scale factor from 1 to 100,000,000: 100,000 accounts each, about 15 MiB. `auto` fits memory,
    /// disk and time, and is `none` where the plan has `scaleup` or sets up tables of its own, and drives no built-in
    /// script.
    pub scale: Scale,
    /// The tables `test` and `log` of `pgdyno load scaleup`, in place of TPC-B's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaleup: Option<ScaleupPlan>,
    /// The tables of TPC-C, in place of those of TPC-B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccPlan>,
    /// File of SQL that sets up tables of the plan's own, once, after those that are loaded. A path that does not begin
    /// with `/` is taken from the directory of the plan file.
    pub setup: Option<String>,
    /// The same as text, after the file.
    pub setup_text: Option<String>,
}

impl ScaleupPlan {
    /// Names of the variables that stand for its rows.
    pub(super) const VARIABLES: [&'static str; 2] = ["rows", "log_rows"];

    /// Bytes of both tables and their indexes, in pages of this size.
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
    /// Whether the plan brings tables of its own.
    pub fn is_own(&self) -> bool {
        self.setup.is_some() || self.setup_text.is_some()
    }
}

/// Rows of the tables `test` and `log` of `pgdyno load scaleup`. All SQL of the plan sees them as `:rows` and
/// `:log_rows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleupPlan {
    /// Rows of `test`, 1 to 10,000,000,000,000.
    #[schemars(range(min = 1, max = 10_000_000_000_000_u64))]
    pub rows: u64,
    /// Rows of `log`, up to as many.
    #[serde(default)]
    #[schemars(range(max = 10_000_000_000_000_u64))]
    pub log_rows: u64,
}

/// Where a script is: built in, or in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A built-in transaction.
    Builtin(Builtin),
    /// A file. A path that does not begin with `/` is taken from the directory of the plan file.
    File(String),
}

impl Source {
    /// What a word of a plan means: a built-in's name, or a path, which has a `/` or ends in `.sql`.
    pub fn of(word: &str) -> Option<Self> {
        let is_path = word.contains('/') || (word.len() > 4 && word.ends_with(".sql"));
        let builtin = Builtin::by_name(word).map(Self::Builtin);
        builtin.or_else(|| is_path.then(|| Self::File(word.to_owned())))
    }

    /// The built-in transaction, if it is one.
    pub fn builtin(&self) -> Option<Builtin> {
        match self {
            Self::Builtin(builtin) => Some(*builtin),
            Self::File(_) => None,
        }
    }

    /// As a plan writes it.
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
        Self::of(&word).ok_or_else(|| de::Error::custom("neither a built-in script nor a file"))
    }
}

impl JsonSchema for Source {
    fn schema_name() -> Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a built-in script by its name, or a file: a path with a `/` or the ending `.sql`",
            "type": "string",
            "pattern": "^(tpcb-like|simple-update|select-only|.*/.*|.+\\.sql)$",
        })
    }
}

/// The value of a variable, as `-D name=value` gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a variable has a number or a text in quotes")]
pub enum Given {
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// A text, not empty.
    Text(String),
}

impl Given {
    /// The text that stands for it in SQL.
    pub fn text(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Double(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Variables by their names.
pub type Variables = BTreeMap<String, Given>;

/// Variables as scripts get them.
pub fn definitions(variables: &Variables) -> impl Iterator<Item = Definition> {
    variables.iter().map(|(name, value)| Definition { name: name.clone(), value: value.text() })
}

/// One workload of a plan: a built-in transaction, a script of the plan's own, or several by weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    /// Its name in reports: 1 to 40 letters, digits, dots, dashes and underscores. Without one it is the built-in
    /// script's name or that of the file.
    #[serde(default)]
    #[schemars(length(min = 1, max = 40), regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: Option<String>,
    /// The transaction: a built-in one, or a file in pgbench's language.
    #[serde(default)]
    pub script: Option<Source>,
    /// The transaction itself, in pgbench's language.
    #[serde(default)]
    pub text: Option<String>,
    /// How statements are sent.
    #[serde(default = "prepared")]
    pub protocol: Protocol,
    /// SQL that puts the data back into its first state before every run; CHECKPOINT comes after it.
    #[serde(default)]
    pub reset: Option<String>,
    /// Client counts of this workload alone, instead of those of `measure.clients`.
    #[serde(default)]
    pub clients: Option<Vec<u32>>,
    /// The five transactions of TPC-C, on the tables of `tpcc` in `[data]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccWork>,
    /// Several transactions, of which every attempt draws one by weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub scripts: Vec<ScriptPlan>,
    /// Variables of this workload, as `pgbench -D` gives them; over those of `variables`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub define: Variables,
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
            clients: None,
            tpcc: None,
            scripts: Vec::new(),
            define: Variables::new(),
        }
    }

    /// The built-in transaction, where it is one alone.
    pub fn as_builtin(&self) -> Option<Builtin> {
        self.script.as_ref().and_then(Source::builtin)
    }

    /// Whether it may write: what the plan's own scripts do is not known.
    pub fn writes(&self) -> bool {
        self.as_builtin().is_none_or(Builtin::writes)
    }

    /// What reports call it.
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

    /// Its transactions with their weights.
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
    /// The transaction itself, in pgbench's language.
    #[serde(default)]
    pub text: Option<String>,
    /// Its weight among the others, 0 to 1,000,000.
    #[serde(default = "one")]
    #[schemars(range(max = 1_000_000))]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

/// A size of the experiment, chosen by `--size`: what it says goes over the rest of the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SizePlan {
    /// Instead of `measure.clients`.
    pub clients: Option<Vec<u32>>,
    /// Instead of `measure.duration`.
    pub duration: Option<Span>,
    /// Instead of `measure.warmup`.
    pub warmup: Option<Span>,
    /// Instead of `measure.blocks`.
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: Option<u32>,
    /// Instead of `data.scaleup`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaleup: Option<ScaleupPlan>,
    /// Instead of `data.tpcc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccPlan>,
    /// Over those of `variables`.
    pub variables: Variables,
}
