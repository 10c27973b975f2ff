//! Facts and results of a subject in `run.json`.

use pgdyno_core::{
    facts::{Choice, ConnectionFacts, PresetFacts, ServerFacts},
    host::Storage,
    measure::SyncCheck,
    results::{Comparable, Difference},
};
use pgdyno_rows::load::ExistingTables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BalanceRecord, ConsistencyRecord, FootprintRecord, LoadRecord, SetupDone};

/// A subject: a server with its data, or an external command that measures one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectRecord {
    /// Name of the subject; the value of `subject` in runs and cells if there are several.
    pub name: String,
    /// The requested subject in the syntax of the command line, without secrets; empty if the command has no such
    /// option.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Name of the script that only this subject runs; absent if all subjects run the same scripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The external command that measures the subject, without secrets; absent if pgdyno drives the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The server; absent before it was started or reached, and for commands that start their own.
    pub server: Option<ServerFacts>,
    /// Name of the own server in `pgdyno ps`; absent for an existing server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_server: Option<String>,
    /// Whether the server's bundle was tested with this version of pgdyno; absent if the server is not from a bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle_pinned: Option<bool>,
    /// The preset that the server was given, and what differs from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetFacts>,
    /// The connection to the server; absent for an own server that is reached by its socket.
    pub connection: Option<ConnectionFacts>,
    /// Storage of the data directory, if its file system differs from the run's `storage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Cost of a synchronous write on this storage; absent if the data is on the file system of the first subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_check: Option<SyncCheck>,
    /// Settings chosen for this server only.
    pub choices: Vec<Choice>,
    /// The load of the tables.
    pub load: Option<LoadRecord>,
    /// Later loads of the tables, if workloads have tables of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads_of_workloads: Vec<WorkloadLoad>,
    /// The tables that were there before, if the run uses those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<ExistingTables>,
    /// The setup of the plan's own tables.
    pub setup: Option<SetupDone>,
    /// Sizes of the data and their share in shared buffers, before and after the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<FootprintRecord>,
    /// The balance check.
    pub balance: Option<BalanceRecord>,
    /// The consistency check of the TPC-C tables; absent without such tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<ConsistencyRecord>,
    /// Whether the subject is comparable with the first; absent for the first.
    pub comparable: Option<Comparable>,
    /// Facts and settings that differ from the first subject, which is `a`.
    pub differences: Vec<Difference>,
}

/// Tables that took the place of those of the load before, for some workloads of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadLoad {
    /// Names of the workloads whose runs have these tables.
    pub workloads: Vec<String>,
    /// Index of the first run after the load.
    pub first_run: u64,
    /// Time of the end of the load, in seconds since the begin of the experiment.
    pub at_s: f64,
    /// The load.
    pub load: LoadRecord,
}

impl SubjectRecord {
    /// All loads of its tables.
    pub fn loads(&self) -> impl Iterator<Item = &LoadRecord> {
        self.load.iter().chain(self.loads_of_workloads.iter().map(|of| &of.load))
    }

    /// The connection to the server, existing or own; `None` if no server is known.
    pub fn connection_facts(&self) -> Option<ConnectionFacts> {
        self.server.as_ref()?;
        Some(self.connection.clone().unwrap_or_else(ConnectionFacts::of_own_server))
    }
}
