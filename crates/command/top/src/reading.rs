//! What is known of a server at one time: the form of `--json`, and what the panels are made of.

use pgdyno_core::observe::{
    BlockedSession, DeviceSample, HostSample, ProcessSample, ProgressSample, SessionsSeen, StatementSample,
    WaitsSample, WalPosition,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

/// Version of the JSON form. Fields may be added to a version; one that is renamed or removed makes another version.
pub const FORMAT: u32 = 1;

/// What is known of a server at one time. What could not be read is absent, and `absent` says why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reading {
    /// Version of this form: 1.
    pub format: u32,
    /// When it was put together, in UTC.
    pub at: String,
    /// The server.
    pub server: ServerShown,
    /// Why there is no connection at present; absent as long as there is one. The other fields are then those of the
    /// last reading.
    pub lost: Option<Lost>,
    /// Seconds that the rates of the server cover.
    pub over_s: f64,
    /// Transactions and blocks of all databases.
    pub databases: Option<DatabaseRates>,
    /// Client sessions of all databases.
    pub sessions: Option<SessionsSeen>,
    /// What processes were doing, in ten samples a second.
    pub waits: Option<WaitsSample>,
    /// Statements by their time, from `pg_stat_statements`.
    pub statements: Option<Statements>,
    /// Sessions that wait for a heavyweight lock, and who blocks them; at most 20.
    pub blocked: Option<Vec<BlockedSession>>,
    /// The write-ahead log.
    pub wal: Option<WalRates>,
    /// Checkpoints, and who writes buffers.
    pub writes: Option<WriteRates>,
    /// Standbys that are connected.
    pub standbys: Vec<Standby>,
    /// Commands that report their progress.
    pub progress: Option<Vec<Progress>>,
    /// The host, its devices and the server's processes; absent if the server is not on this machine.
    pub machine: Option<Machine>,
    /// What could not be read, and why.
    pub absent: Vec<Absent>,
    /// What `pgdyno top` itself costs.
    pub cost: Cost,
}

/// A server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ServerShown {
    /// Where it is.
    pub address: String,
    /// Its version.
    pub version: String,
    /// Its version as a number: 180006.
    pub version_num: u32,
    /// The role that reads.
    pub role: String,
    /// The database that the reading session is in.
    pub database: String,
    /// Whether its processes can be seen on this machine.
    pub is_here: bool,
    /// Its setting `max_connections`.
    pub max_connections: Option<u64>,
    /// Its setting `max_wal_size` in bytes (9.5 and later).
    pub max_wal_size_bytes: Option<u64>,
    /// Its setting `checkpoint_timeout` in seconds.
    pub checkpoint_timeout_s: Option<u64>,
}

/// A connection that was lost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    /// Seconds since the last answer.
    pub since_s: f64,
    /// Why.
    pub why: String,
}

/// Rates of `pg_stat_database`, over all databases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct DatabaseRates {
    /// Commits per second.
    pub commits_per_s: f64,
    /// Rollbacks per second.
    pub rollbacks_per_s: f64,
    /// Blocks found in shared buffers per second.
    pub blocks_hit_per_s: f64,
    /// Blocks read per second.
    pub blocks_read_per_s: f64,
    /// Bytes per second written to temporary files.
    pub temp_bytes_per_s: f64,
    /// Deadlocks per second.
    pub deadlocks_per_s: f64,
}

/// Statements by their time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Statements {
    /// Seconds that their figures cover: they are read less often than the rest.
    pub over_s: f64,
    /// The statements that took most of the time, the slowest first; at most 50.
    pub slowest: Vec<StatementSample>,
}

/// The write-ahead log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct WalRates {
    /// Where it is.
    #[serde(flatten)]
    pub at: WalPosition,
    /// Bytes per second by which its position moved: of a standby, what it replayed.
    pub bytes_per_s: Option<f64>,
    /// Records per second (14 and later).
    pub records_per_s: Option<f64>,
    /// Full-page images per second (14 and later).
    pub full_page_images_per_s: Option<f64>,
    /// How often per second a backend had to write because the WAL buffers were full (14 and later).
    pub buffers_full_per_s: Option<f64>,
}

/// Checkpoints since the session began, and who writes buffers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct WriteRates {
    /// Seconds since the session began.
    pub since_s: f64,
    /// Checkpoints that were due by time.
    pub timed: f64,
    /// Checkpoints that were requested, or due by the amount of WAL.
    pub requested: f64,
    /// Seconds that they spent on writing.
    pub write_s: f64,
    /// Seconds that they spent on fsync.
    pub sync_s: f64,
    /// Buffers that the checkpointer wrote per second.
    pub checkpointer_per_s: f64,
    /// Buffers that the background writer wrote per second.
    pub background_writer_per_s: f64,
    /// Buffers that backends wrote themselves per second.
    pub backends_per_s: f64,
}

/// A standby.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Standby {
    /// Its `application_name`, and the process id of its WAL sender.
    pub name: String,
    /// Bytes of WAL that were not sent yet.
    pub sent_lag_bytes: Option<f64>,
    /// Bytes of WAL that it has not replayed yet.
    pub replay_lag_bytes: Option<f64>,
    /// Seconds that replaying lags (10 and later).
    pub replay_lag_s: Option<f64>,
}

/// A running command.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Progress {
    /// How far it is.
    #[serde(flatten)]
    pub command: ProgressSample,
    /// Units per second since the last reading; absent in the first one of a phase.
    pub done_per_s: Option<f64>,
}

/// The machine of the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Seconds that its rates cover.
    pub over_s: f64,
    /// The host.
    pub host: Option<HostSample>,
    /// The devices under the server's files.
    pub devices: Vec<DeviceSample>,
    /// The server's processes by their role.
    pub processes: Option<ProcessSample>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Absent {
    /// What is missing.
    pub what: Subject,
    /// Why, and what would help.
    pub why: String,
}

/// What a reading is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Counters of statistics views.
    Counters,
    /// Sessions.
    Sessions,
    /// Waits.
    Waits,
    /// Statements.
    Statements,
    /// Locks.
    Locks,
    /// The write-ahead log and checkpoints.
    Wal,
    /// Progress of commands.
    Progress,
    /// Host, devices and processes.
    Machine,
}

/// CPUs that `pgdyno top` takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// CPUs used by this program, on average; absent before the first reading of its clock.
    pub cpus: Option<f64>,
    /// CPUs used by the server process that answers; absent if it cannot be seen.
    pub server_cpus: Option<f64>,
}

/// The JSON Schema of a reading, with the name of its file.
pub fn schema() -> (&'static str, Value) {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    ("top.schema.json", generator.into_root_schema_for::<Reading>().to_value())
}
