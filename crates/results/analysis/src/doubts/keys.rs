//! The words by which advice names a key of a plan: a flag of the command that was used, if it has one.

use pgdyno_record::RunRecord;

/// The commands whose runs are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measuring {
    /// `pgdyno bench`.
    Bench,
    /// `pgdyno ab`.
    Ab,
    /// `pgdyno run`, which has a plan file.
    Run,
    /// `pgdyno tpcc run`.
    TpccRun,
    /// `pgdyno pgbench`.
    Pgbench,
}

impl Measuring {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Bench, Self::Ab, Self::Run, Self::TpccRun, Self::Pgbench];

    /// The command that made a record.
    pub fn of(record: &RunRecord) -> Self {
        match (&record.pgbench, &record.comparison) {
            (Some(_), _) => Self::Pgbench,
            (None, Some(_)) => Self::Ab,
            (None, None) => Self::of_command(&record.command),
        }
    }

    /// The command of a recorded command line, which names the sub-command first.
    pub fn of_command(command: &str) -> Self {
        match command.split_whitespace().skip(1).take(2).collect::<Vec<_>>().as_slice() {
            ["run", ..] => Self::Run,
            ["tpcc", "run"] => Self::TpccRun,
            ["ab", ..] => Self::Ab,
            ["pgbench", ..] => Self::Pgbench,
            _ => Self::Bench,
        }
    }

    /// Names of the sub-command and of its own.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bench => &["bench"],
            Self::Ab => &["ab"],
            Self::Run => &["run"],
            Self::TpccRun => &["tpcc", "run"],
            Self::Pgbench => &["pgbench"],
        }
    }
}

/// A key of a plan that advice names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A run for publication.
    Thorough,
    /// Number of blocks.
    Blocks,
    /// Measured interval.
    Duration,
    /// Warm-up before the measured interval.
    Warmup,
    /// Client counts.
    Clients,
    /// Rate of an open loop.
    Rate,
    /// Driver threads.
    Jobs,
    /// CPUs of the driver.
    DriverCpus,
    /// CPUs of the server.
    ServerCpus,
    /// When servers are restarted.
    Restart,
    /// Tries of a transaction.
    MaxTries,
    /// TPC-B scale factor.
    Scale,
    /// Directories of data and WAL.
    Directories,
    /// Check of TPC-B's balances.
    Balance,
    /// Check of TPC-C's conditions.
    Consistency,
    /// Schemas of sets of TPC-C tables.
    Schemas,
    /// Databases of sets of TPC-C tables.
    Databases,
}

impl Key {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Thorough,
        Self::Blocks,
        Self::Duration,
        Self::Warmup,
        Self::Clients,
        Self::Rate,
        Self::Jobs,
        Self::DriverCpus,
        Self::ServerCpus,
        Self::Restart,
        Self::MaxTries,
        Self::Scale,
        Self::Directories,
        Self::Balance,
        Self::Consistency,
        Self::Schemas,
        Self::Databases,
    ];

    /// The flag of a command, or the key in a plan.
    pub fn named(self, by: Measuring) -> &'static str {
        use Measuring::{Ab, Bench, Pgbench, Run, TpccRun};
        match (self, by) {
            (Self::Thorough, Bench | TpccRun) => "--thorough",
            (Self::Thorough, _) => "thorough = true in [measure]",
            (Self::Blocks, Bench | Ab | TpccRun) => "--blocks",
            (Self::Blocks, _) => "blocks in [measure]",
            (Self::Duration, Bench | Ab | TpccRun) => "--duration",
            (Self::Duration, Pgbench) => "-T",
            (Self::Duration, Run) => "duration in [measure]",
            (Self::Warmup, Bench | Ab | TpccRun) => "--warmup",
            (Self::Warmup, _) => "warmup in [measure]",
            (Self::Clients, Bench | Ab | TpccRun) => "--clients",
            (Self::Clients, Pgbench) => "-c",
            (Self::Clients, Run) => "clients in [measure]",
            (Self::Rate, Bench | TpccRun) => "--rate",
            (Self::Rate, Pgbench) => "-R",
            (Self::Rate, _) => "rate in [measure]",
            (Self::Jobs, Bench | Ab | TpccRun) => "--jobs",
            (Self::Jobs, Pgbench) => "-j",
            (Self::Jobs, Run) => "jobs in [measure]",
            (Self::DriverCpus, Bench | Ab | TpccRun) => "--driver-cpus",
            (Self::DriverCpus, Pgbench) => "taskset",
            (Self::DriverCpus, Run) => "driver_cpus in [measure]",
            (Self::ServerCpus, Bench | Ab | TpccRun) => "--server-cpus",
            (Self::ServerCpus, Pgbench) => "taskset",
            (Self::ServerCpus, Run) => "cpus in [server]",
            (Self::Restart, Ab | Run) => "--restart always",
            (Self::Restart, _) => "restart in [measure]",
            (Self::MaxTries, Ab | TpccRun | Pgbench) => "--max-tries",
            (Self::MaxTries, _) => "max_tries of the workload",
            (Self::Scale, Bench | Ab) => "--scale",
            (Self::Scale, TpccRun) => "--warehouses",
            (Self::Scale, Pgbench) => "pgbench -i -s",
            (Self::Scale, _) => "scale in [data]",
            (Self::Directories, Bench | Run | TpccRun) => "--data, --waldir",
            (Self::Directories, Ab) => "data= and waldir= of an arm",
            (Self::Directories, Pgbench) => "data_directory",
            (Self::Balance, Bench) => "--check",
            (Self::Balance, _) => "balance in [check]",
            (Self::Consistency, TpccRun) => "without --no-check",
            (Self::Consistency, _) => "consistency in [check]",
            (Self::Schemas, TpccRun) => "--schemas",
            (Self::Schemas, _) => "tpcc = { schemas = … } in [data]",
            (Self::Databases, TpccRun) => "--databases",
            (Self::Databases, _) => "tpcc = { databases = … } in [data]",
        }
    }
}
