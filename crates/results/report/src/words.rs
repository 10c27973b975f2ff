//! Words of the report for kinds of doubt and bottlenecks.

use pgdyno_analysis::DoubtKind;
use pgdyno_core::results::BottleneckKind;

/// The heading of a doubt.
pub fn doubt(kind: DoubtKind) -> &'static str {
    match kind {
        DoubtKind::ScreeningRun => "Screening run",
        DoubtKind::Partial => "Partial run",
        DoubtKind::Resumed => "Resumed run",
        DoubtKind::TooFewBlocks => "Too few blocks",
        DoubtKind::NotSteady => "Not steady",
        DoubtKind::Noisy => "Noisy",
        DoubtKind::UnsteadyBlocks => "Unsteady from block to block",
        DoubtKind::FewBranches => "More clients than branches",
        DoubtKind::DriverSaturated => "Driver saturated",
        DoubtKind::NearCeiling => "Near the driver's ceiling",
        DoubtKind::CoresShared => "Cores shared",
        DoubtKind::CpuSteal => "CPU steal",
        DoubtKind::OtherLoad => "Other load on the machine",
        DoubtKind::IdleServersBusy => "Idle subjects were busy",
        DoubtKind::UnevenCheckpoints => "Uneven checkpoints",
        DoubtKind::BuildNotOptimised => "Server build not optimised",
        DoubtKind::FewKeyWorkers => "Fewer workers for keys than requested",
        DoubtKind::BuildUnknown => "Server build not known",
        DoubtKind::MixedCache => "Mixed cache state",
        DoubtKind::WeakDurability => "Weak durability",
        DoubtKind::ConnectionsLost => "Connections lost",
        DoubtKind::Implausible => "Implausible numbers",
        DoubtKind::Misses => "Attempts missed",
        DoubtKind::BalanceViolated => "Balance violated",
        DoubtKind::Inconsistent => "Tables not consistent",
        DoubtKind::NotChecked => "Not checked",
        DoubtKind::ServerNotObserved => "Server not observed",
        DoubtKind::ForeignTables => "Tables of unknown origin",
        DoubtKind::DiskFromMemory => "Disk served from memory",
        DoubtKind::UnpinnedBundle => "Untested server program",
        DoubtKind::BuildDiffers => "Builds differ",
        DoubtKind::TestsDisagree => "Tests disagree",
        DoubtKind::FewCommits => "Few transactions per client",
        DoubtKind::DependentBlocks => "Blocks not independent",
        DoubtKind::TrendOverBlocks => "Trend over blocks",
        DoubtKind::BaselineAlone => "The baseline is alone",
        DoubtKind::OneStart => "One start of each server",
        DoubtKind::Edited => "Edited after it was recorded",
    }
}

/// A bottleneck in a sentence.
pub fn bottleneck(kind: BottleneckKind) -> &'static str {
    match kind {
        BottleneckKind::Driver => "the driver",
        BottleneckKind::DriverStarved => "a driver without CPU time",
        BottleneckKind::ClientRoundTrips => "round trips between client and server",
        BottleneckKind::FewClients => "too few clients",
        BottleneckKind::ManyClients => "too many clients",
        BottleneckKind::Connections => "too few connections",
        BottleneckKind::ServerCpu => "CPU of the server",
        BottleneckKind::OtherPrograms => "CPU taken by other programs",
        BottleneckKind::Steal => "CPU taken by other guests",
        BottleneckKind::Interrupts => "interrupts",
        BottleneckKind::Memory => "memory",
        BottleneckKind::ReadIo => "reading pages",
        BottleneckKind::WriteIo => "writing pages",
        BottleneckKind::DirtyPages => "dirty pages of the kernel",
        BottleneckKind::Checkpoints => "checkpoints",
        BottleneckKind::WalFlush => "flushing WAL",
        BottleneckKind::GroupCommit => "the queue for flushing WAL",
        BottleneckKind::TemporaryFiles => "temporary files",
        BottleneckKind::RowLock => "row locks",
        BottleneckKind::TableLock => "table locks",
        BottleneckKind::RelationExtension => "extending tables",
        BottleneckKind::WalInsertion => "inserting WAL",
        BottleneckKind::Snapshots => "snapshots",
        BottleneckKind::BufferContent => "locks of single pages",
        BottleneckKind::BufferMapping => "the table of buffers",
        BottleneckKind::LockManager => "the table of locks",
        BottleneckKind::TransactionStatus => "the status of transactions",
        BottleneckKind::BufferPin => "pins on pages",
        BottleneckKind::OtherLwLock => "a lock inside the server",
        BottleneckKind::OtherProcesses => "other processes of the server",
    }
}
