//! Words of the report for kinds of doubt and for values of the record.

use pgdyno_analysis::DoubtKind;

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

/// The report's word for a value of the record; other values are unchanged.
pub fn plain(word: &str) -> String {
    match word {
        "shared-buffers" => "shared buffers",
        "page-cache" => "page cache",
        "below-buffers-unknown" => "unknown",
        "async-commit" => "async",
        "no-sync" => "none",
        "second_read" => "a second read",
        "stream" => "one COPY per table",
        "chunks" => "COPY in chunks",
        "server" => "INSERT by the server",
        "unix" => "unix socket",
        "tcp" => "TCP",
        "own" => "own server",
        "external" => "existing server",
        "installed" => "installed on this machine",
        "built" => "built by pgdyno",
        "bundle" => "embedded bundle",
        "asked" => "requested",
        "besides" => "not requested",
        "default-of-version" => "default of this version",
        "chosen-for-version" => "chosen by pgdyno for the version",
        "follows-from-sizes" => "follows from block or segment size",
        other => other,
    }
    .to_owned()
}
