//! What observers saw of host, processes and server during a run: the lines of `observations.ndjson`.
//!
//! Rates are those of the time that a line covers. What could not be observed is absent, never zero.

mod clock;
mod digest;
mod host;
mod live;
mod locks;
mod log;
mod processes;
mod server;
mod sessions;
mod sum;

pub use clock::{Clock, ClockSample, Moment, ServerClock, ServerIdentity};
pub use digest::{
    BusiestCpu, ByCheckpoint, DeviceDigest, Digest, HostDigest, ObserverCost, RoleDigest, ServerDigest,
    ServerHostDigest,
};
pub use host::{
    CpuSample, CpuShares, DeviceSample, FileSystemSample, HostSample, MemorySample, NetworkSample, Place,
    Pressure,
};
pub use live::{Live, ServerNow};
pub use locks::root_blockers;
pub use log::{LogEvent, LogSample};
pub use processes::{ProcessSample, Role, RoleSample, StuckProcess};
pub use server::{
    BlockedSession, BlockingSession, CounterSample, MOST_BLOCKED, ProgressSample, SessionSample,
    StatementSample, WaitSample, WaitsSample,
};
pub use sessions::{BusySession, SessionsSeen, WalPosition};
pub use sum::{LineSums, Origin};

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of `observations.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// End of the time it covers, in seconds since the start of pgdyno's run.
    pub at_s: f64,
    /// Seconds that it covers; 0 for what was seen at one instant.
    pub over_s: f64,
    /// The subject whose server it is about; `None` for the host, and where there is one server only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The machine that it is about, if `pgdyno observe` saw it there; `None` for the one that pgdyno ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// What was seen.
    #[serde(flatten)]
    pub what: What,
}

/// Content of one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum What {
    /// The whole host.
    Host(Box<HostSample>),
    /// The devices under a server's data, WAL and tablespaces, and the disks below them.
    Devices {
        /// One sample a device.
        devices: Vec<DeviceSample>,
    },
    /// The processes of a server.
    Processes(ProcessSample),
    /// What a server's sessions waited for.
    Waits(WaitsSample),
    /// The client sessions that had been in their transactions for the longest time at one sample.
    Sessions {
        /// Sessions that were in a transaction.
        in_transaction: u64,
        /// The oldest of them, the oldest first.
        oldest: Vec<SessionSample>,
    },
    /// Sessions that waited for a lock of another one.
    Blocked {
        /// The sessions that waited.
        blocked: Vec<BlockedSession>,
    },
    /// Counters of a server's statistics views.
    Counters(CounterSample),
    /// Statements by their time, from `pg_stat_statements`.
    Statements {
        /// The statements that took most of the time, the slowest first.
        statements: Vec<StatementSample>,
    },
    /// Running commands that report their progress.
    Progress {
        /// One sample a command.
        commands: Vec<ProgressSample>,
    },
    /// An event in a server's log.
    Log(LogSample),
    /// The server's clock.
    Clock(ClockSample),
    /// What observing cost: the last line of a file of `pgdyno observe` that was not killed.
    Cost(ObserverCost),
    /// Something could not be observed for this time.
    Gap {
        /// What: `waits`, `counters`, `log` …
        missing: String,
        /// Why.
        why: String,
    },
}

/// What is observed during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObserveLevel {
    /// Nothing.
    None,
    /// The host, the devices and the server's processes, without a session at the server.
    Host,
    /// Also the server, by a session of its own.
    #[default]
    All,
}

/// A text that is no [`ObserveLevel`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotALevel;

impl fmt::Display for NotALevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is none, host or all")
    }
}

impl std::error::Error for NotALevel {}

impl FromStr for ObserveLevel {
    type Err = NotALevel;

    fn from_str(text: &str) -> Result<Self, NotALevel> {
        let all = [Self::None, Self::Host, Self::All];
        all.into_iter().find(|level| level.name() == text).ok_or(NotALevel)
    }
}

impl ObserveLevel {
    /// As it is written in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Host => "host",
            Self::All => "all",
        }
    }
}
