//! What is known of a subject: of what is measured, its server and its data.

use pgdyno_core::{
    facts::{Choice, ConnectionFacts, ServerFacts, StorageFacts},
    measure::SyncCheck,
    results::{Comparable, Difference},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BalanceRecord, ConsistencyRecord, HeldRecord, LoadRecord, SetupDone};

/// What is measured: a server with its data, or a command that measures one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectRecord {
    /// Its name: what `subject` is in runs and cells, where there are several.
    pub name: String,
    /// What was asked for, in the grammar of the command line, without secrets; empty where the whole command says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Name of the script that it alone runs; absent where all subjects run the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The command that measures it, without secrets; absent where pgdyno drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its server; absent until it is there, and of a command that brings its own.
    pub server: Option<ServerFacts>,
    /// Name under which `pgdyno ps` lists the server; absent of one that was not made for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_server: Option<String>,
    /// Whether the bundle of its server is one of those tested with this version; absent where the server is no bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle_pinned: Option<bool>,
    /// The way to its server; absent where that was made for the run.
    pub connection: Option<ConnectionFacts>,
    /// Storage under its data, where that is another file system than the run's `storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageFacts>,
    /// What a synchronous write costs there; absent where its data is on the file system of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_check: Option<SyncCheck>,
    /// Settings that were chosen for its server and not for all.
    pub choices: Vec<Choice>,
    /// The load of its tables.
    pub load: Option<LoadRecord>,
    /// The setup of the plan's own tables.
    pub setup: Option<SetupDone>,
    /// Sizes, and what of them lay in shared buffers, before and after the runs.
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

impl SubjectRecord {
    /// The way to its server, also where that was made for the run; `None` where no server is known.
    pub fn way(&self) -> Option<ConnectionFacts> {
        self.server.as_ref()?;
        Some(self.connection.clone().unwrap_or_else(ConnectionFacts::of_own_server))
    }
}
