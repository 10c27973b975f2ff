//! Durability and build of the server.

use pgdyno_core::{
    facts::{DurabilityTier, ServerSource, same_build},
    measure::{CellRun, runs_by_cell},
};
use pgdyno_record::{RunRecord, SubjectRecord};

use super::{
    keys::Key,
    subject::SubjectRuns,
    wording::{cell_name, doubt, writes},
};
use crate::{Doubt, DoubtKind};

/// Names the cells whose runs were weak; if only the server was, for example at the end, all cells that write.
pub(super) fn weak_durability(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let of_server = of.subject.server.as_ref().map(|server| server.durability);
    let tier_of = |run: &&CellRun| run.durability.as_ref().map(|own| own.tier).or(of_server);
    let writing = runs_by_cell(of.runs).into_iter().filter(|(workload, _)| writes(workload));
    let tiers: Vec<_> = writing
        .map(|(workload, runs)| (cell_name(workload), runs.iter().filter_map(tier_of).max()))
        .collect();
    let of_runs = tiers.iter().filter_map(|(_, tier)| *tier).max();
    let tier = of_runs.max(of_server).filter(|tier| *tier != DurabilityTier::Full)?;
    let is_weak =
        |own: Option<DurabilityTier>| of_runs.max(of_server) > of_runs || own > Some(DurabilityTier::Full);
    let names: Vec<_> = tiers.into_iter().filter(|(_, own)| is_weak(*own)).map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    let because = because(of.runs);
    let detail = format!("durability is {}{because}", tier.label());
    let on_a_disk = format!("Put data and WAL on a disk ({})", Key::Directories.named(of.by));
    let remedy = match tier {
        DurabilityTier::InMemory => on_a_disk.as_str(),
        DurabilityTier::Unlogged => "Load logged tables",
        DurabilityTier::Uncertain => "Remove the named causes",
        _ if !because.is_empty() => "Remove the named causes",
        _ => "Turn fsync, synchronous_commit and full_page_writes on",
    };
    let advice = format!("{remedy}, or state the tier with every number.");
    doubt(DoubtKind::WeakDurability, detail, &advice, names)
}

/// The distinct causes of weak durability, after a colon.
fn because(runs: &[CellRun]) -> String {
    const NAMED: usize = 3;
    let mut all: Vec<&str> = Vec::new();
    for what in runs.iter().filter_map(|run| run.durability.as_ref()).flat_map(|of| &of.because) {
        if !all.contains(&what.as_str()) {
            all.push(what);
        }
    }
    match all.len() {
        0 => String::new(),
        1..=NAMED => format!(": {}", all.join("; ")),
        number => format!(": {}; {} more in the record", all[..NAMED].join("; "), number - NAMED),
    }
}

/// A build optimised for size, for debugging or with assertions.
pub(super) fn build_not_optimised(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let server = of.subject.server.as_ref()?;
    let reason = server.build.slow_because()?;
    let seen = match server.build.has_assertions() {
        Some(true) => "such a build is meant for tests",
        _ if server.build.level().as_deref() != Some("-Os") => "PostgreSQL's default level is -O2",
        _ => "builds for size measured 9 to 21 % slower than -O2",
    };
    let detail = format!("PostgreSQL {} was compiled {reason}: {seen}", server.version);
    let advice = "Measure an installed server, or an optimised build from source (`pgdyno build`).";
    doubt(DoubtKind::BuildNotOptimised, detail, advice, Vec::new())
}

/// A bundle whose programs do not report their flags, as those of 9.5.
pub(super) fn build_unknown(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let server = of.subject.server.as_ref()?;
    if server.source != ServerSource::Bundle || server.build.telling_flags().is_some() {
        return None;
    }
    let compiler = server.build.compiler.as_ref().map_or(String::new(), |by| format!(" by {by}"));
    let detail = format!(
        "the bundle of PostgreSQL {} was compiled{compiler}, with flags that are no longer known{}",
        server.version,
        old_minor(server.version_num)
    );
    let advice =
        "Build this version from its source (`pgdyno build`), like the one that it is compared with.";
    doubt(DoubtKind::BuildUnknown, detail, advice, Vec::new())
}

/// The last of 9.5: 9.5.25.
const LAST_OF_9_5: u32 = 90_525;

fn old_minor(version_num: u32) -> &'static str {
    if (90_500..LAST_OF_9_5).contains(&version_num) { "; it lacks the fixes up to 9.5.25" } else { "" }
}

pub(super) fn unpinned_bundle(of: &SubjectRuns<'_>) -> Option<Doubt> {
    if of.subject.bundle_pinned != Some(false) {
        return None;
    }
    let version = of.subject.server.as_ref().map_or("of this version", |server| server.version.as_str());
    let detail = format!("the bundle of PostgreSQL {version} was not tested with this version of pgdyno");
    doubt(
        DoubtKind::UnpinnedBundle,
        detail,
        "Use a version that `pgdyno versions` lists as tested.",
        Vec::new(),
    )
}

pub(super) fn builds_differ(record: &RunRecord) -> Option<Doubt> {
    let (first, others) = record.subjects.split_first()?;
    let reference = first.server.as_ref()?;
    let differs = |other: &&SubjectRecord| {
        other.server.as_ref().is_some_and(|server| same_build(&reference.build, &server.build) == Some(false))
    };
    let names: Vec<_> = others.iter().filter(differs).map(|other| other.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} and {} were built with different compilers or flags, which may cause a difference between them",
        first.name,
        names.join(", ")
    );
    let advice = "Build all with the same compiler and flags (`pgdyno build`) to compare PostgreSQL itself.";
    doubt(DoubtKind::BuildDiffers, detail, advice, Vec::new())
}
