//! What limits throughput.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What limits the throughput of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BottleneckKind {
    /// The driver's threads use all of their CPU time.
    Driver,
    /// The driver's threads wait for a CPU.
    DriverStarved,
    /// Sessions wait for their clients, and the driver is not busy: round trips between both.
    ClientRoundTrips,
    /// There are too few clients to use the server: each waits for one thing at a time.
    FewClients,
    /// Fewer clients reach more.
    ManyClients,
    /// Clients wait for a connection: they reconnect, or a pooler or the server has none left.
    Connections,
    /// The server's processes use all CPUs that they may use.
    ServerCpu,
    /// Other programs take CPU time that the server needs.
    OtherPrograms,
    /// The hypervisor gives CPU time to other guests.
    Steal,
    /// CPUs are busy with interrupts, which are those of network and devices.
    Interrupts,
    /// Processes wait for memory: pages are reclaimed or swapped.
    Memory,
    /// Pages are read from below shared buffers.
    ReadIo,
    /// Pages are written by the sessions themselves.
    WriteIo,
    /// The kernel makes writers wait because too many pages are dirty.
    DirtyPages,
    /// Throughput falls while a checkpoint is in progress.
    Checkpoints,
    /// Commits wait for the device to flush WAL.
    WalFlush,
    /// Commits wait for another session's flush of WAL.
    GroupCommit,
    /// Temporary files are written and read.
    TemporaryFiles,
    /// Transactions wait for rows that others have changed.
    RowLock,
    /// Sessions wait for locks on tables.
    TableLock,
    /// Sessions wait to extend a table or an index.
    RelationExtension,
    /// Sessions wait to insert WAL into its buffers.
    WalInsertion,
    /// Sessions wait to take or change snapshots.
    Snapshots,
    /// Sessions wait for single pages in shared buffers.
    BufferContent,
    /// Sessions wait to find or replace pages in shared buffers.
    BufferMapping,
    /// Sessions wait for the table of locks.
    LockManager,
    /// Sessions wait for the status of transactions.
    TransactionStatus,
    /// Sessions wait for pins of others on a page.
    BufferPin,
    /// Sessions wait for another internal lock of the server.
    OtherLwLock,
    /// Sessions wait for other processes of the server.
    OtherProcesses,
}

/// How well the evidence supports a bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// One source shows it, for a part of the time.
    Weak,
    /// One source shows it for most of the time, or two for a part of it.
    Likely,
    /// Two independent sources show it for most of the time.
    Strong,
}

/// What limits throughput, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bottleneck {
    /// What it is.
    pub kind: BottleneckKind,
    /// Share of the clients' time that it explains, from 0 to 1: of samples of their sessions, or of the CPUs.
    pub share: f64,
    /// How well the evidence supports it.
    pub confidence: Confidence,
    /// What was seen, each in a clause with its figures.
    pub evidence: Vec<String>,
    /// What to try next, in one sentence.
    pub next: String,
    /// What to change to check it, as a part of a sentence: it is not the limit if throughput then stays the same.
    pub refuted_by: String,
}

/// What limits a cell, as far as was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellLimits {
    /// The cell.
    pub cell: String,
    /// What limits it, the largest share first; empty if nothing was found.
    pub found: Vec<Bottleneck>,
    /// What could not be observed: a bottleneck there would not be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}
