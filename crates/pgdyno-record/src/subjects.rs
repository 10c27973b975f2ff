//! What a plan with several subjects adds to `run.json`.

use pgdyno_analysis::compare::{Comparable, Difference, LevelResult};
use pgdyno_core::{
    facts::{Choice, ConnectionFacts, ServerFacts, StorageFacts},
    measure::SyncCheck,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BalanceRecord, ConsistencyRecord, HeldRecord, LoadRecord, SetupDone};

/// Several servers side by side, and what each came to beside the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectsRecord {
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// The subjects; the first is the reference that the others are held against.
    pub list: Vec<SubjectRecord>,
    /// Levels of which there is a verdict: so many chances of a false alarm at 5 % each.
    pub judged: u32,
    /// Every subject but the first beside the first, level by level.
    pub levels: Vec<LevelResult>,
}

/// One of several subjects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectRecord {
    /// Its name: what `subject` is in runs and cells.
    pub name: String,
    /// What was asked for, in the grammar of the command line, without secrets.
    pub said: String,
    /// Its server.
    pub server: Option<ServerFacts>,
    /// The way to its server; absent where that was made for the run.
    pub connection: Option<ConnectionFacts>,
    /// Storage under its data, where that is another file system than the run's `storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageFacts>,
    /// What a synchronous write costs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_check: Option<SyncCheck>,
    /// Settings that were chosen for its server.
    pub choices: Vec<Choice>,
    /// The load of its tables.
    pub load: Option<LoadRecord>,
    /// The setup of the plan's own tables.
    pub setup: Option<SetupDone>,
    /// Sizes, and what of them lay in shared buffers, before and after the runs; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldRecord>,
    /// The check of its data.
    pub balance: Option<BalanceRecord>,
    /// The check of TPC-C's tables; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<ConsistencyRecord>,
    /// Whether it can be compared with the first; absent of the first itself.
    pub comparable: Option<Comparable>,
    /// Facts and settings that it does not share with the first, which is `a`.
    pub differences: Vec<Difference>,
}

impl SubjectsRecord {
    /// The names in order.
    pub fn names(&self) -> Vec<&str> {
        self.list.iter().map(|subject| subject.name.as_str()).collect()
    }
}

impl SubjectRecord {
    /// The way to its server, also where that was made for the run; `None` where no server is known.
    pub fn way(&self) -> Option<ConnectionFacts> {
        self.server.as_ref()?;
        Some(self.connection.clone().unwrap_or_else(ConnectionFacts::of_own_server))
    }
}
