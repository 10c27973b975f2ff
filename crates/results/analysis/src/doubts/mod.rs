//! Rules that find reasons to distrust a run (invariant 11: a careful run must be able to have none).
//!
//! [`RULES`] lists all rules; each file here has one family of them. Every threshold is a constant with its reason. An
//! unknown fact raises no doubt, unless the doubt is about the missing fact.

mod attempts;
mod blocks;
mod checks;
mod comparison;
mod data;
mod disk;
mod driver;
mod key_workers;
mod keys;
mod levels;
mod machine;
mod pgbench;
#[cfg(test)]
pub(crate) mod samples;
mod server;
mod subject;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_comparisons;
#[cfg(test)]
mod tests_of_subjects;
mod wording;

use std::borrow::Cow;

use pgdyno_core::measure::CellRun;

use pgdyno_record::{ComparisonRecord, RunRecord, SubjectRecord};

use super::Doubt;

pub use driver::{Ceiling, MAX_DRIVER_BUSY};
pub use keys::{Key, Measuring};
pub use machine::server_cpus;
use subject::SubjectRuns;

/// A rule that finds one reason to distrust a result, by its input.
enum Rule {
    /// Each subject, with its server, its data and its runs.
    Subject(fn(&SubjectRuns<'_>) -> Option<Doubt>),
    /// The whole record.
    Runs(fn(&RunRecord) -> Option<Doubt>),
    /// The whole record, unless it is a comparison in blocks, for which there is another rule.
    Levels(fn(&RunRecord) -> Option<Doubt>),
    /// A comparison in blocks.
    Blocks(fn(&ComparisonRecord) -> Option<Doubt>),
}

/// All rules, the most serious doubts first.
const RULES: [Rule; 40] = [
    Rule::Subject(checks::balance_violated),
    Rule::Subject(checks::inconsistent),
    Rule::Runs(attempts::partial),
    Rule::Runs(attempts::connections_lost),
    Rule::Runs(attempts::implausible),
    Rule::Runs(attempts::misses),
    Rule::Subject(checks::not_checked),
    Rule::Subject(server::weak_durability),
    Rule::Runs(driver::driver_saturated),
    Rule::Runs(driver::near_ceiling),
    Rule::Runs(machine::other_load),
    Rule::Runs(machine::idle_servers_busy),
    Rule::Runs(machine::cpu_steal),
    Rule::Levels(blocks::screening_run),
    Rule::Levels(blocks::too_few_blocks),
    Rule::Blocks(comparison::too_few_blocks),
    Rule::Runs(attempts::few_commits),
    Rule::Runs(attempts::resumed),
    Rule::Runs(comparison::one_start),
    Rule::Runs(levels::baseline_alone),
    Rule::Runs(server::builds_differ),
    Rule::Blocks(comparison::dependent_blocks),
    Rule::Blocks(comparison::tests_disagree),
    Rule::Runs(blocks::not_steady),
    Rule::Levels(blocks::unsteady_blocks),
    Rule::Blocks(comparison::unsteady_blocks),
    Rule::Runs(blocks::trend_over_blocks),
    Rule::Levels(blocks::noisy),
    Rule::Runs(data::few_branches),
    Rule::Runs(driver::cores_shared),
    Rule::Runs(data::uneven_checkpoints),
    Rule::Runs(comparison::checkpoints_in_one_arm),
    Rule::Runs(data::mixed_cache),
    Rule::Runs(disk::served_from_memory),
    Rule::Subject(data::foreign_tables),
    Rule::Runs(key_workers::few_workers),
    Rule::Subject(server::build_not_optimised),
    Rule::Subject(server::build_unknown),
    Rule::Runs(machine::server_not_observed),
    Rule::Subject(server::unpinned_bundle),
];

/// Finds all reasons to distrust a record, the most serious first.
pub fn judge(record: &RunRecord) -> Vec<Doubt> {
    let found = RULES.iter().flat_map(|rule| rule.find(record));
    match &record.pgbench {
        Some(pgbench) => found.filter_map(|doubt| pgbench::adapted(doubt, pgbench)).collect(),
        None => found.collect(),
    }
}

impl Rule {
    fn find(&self, record: &RunRecord) -> Vec<Doubt> {
        let comparison = record.comparison.as_ref();
        let found = match self {
            Self::Subject(rule) => return of_subjects(*rule, record),
            Self::Runs(rule) => rule(record),
            Self::Levels(rule) => comparison.is_none().then(|| rule(record)).flatten(),
            Self::Blocks(rule) => comparison.and_then(rule),
        };
        found.into_iter().collect()
    }
}

/// Applies a rule to each subject; details begin with the subject's name if there are several.
fn of_subjects(rule: fn(&SubjectRuns<'_>) -> Option<Doubt>, record: &RunRecord) -> Vec<Doubt> {
    let several = record.subjects.len() > 1;
    let of = |subject: &SubjectRecord| {
        let own = |run: &&CellRun| run.workload.subject.as_deref() == Some(&subject.name);
        let runs = match several {
            true => Cow::Owned(record.measured_runs().iter().filter(own).cloned().collect()),
            false => Cow::Borrowed(record.measured_runs()),
        };
        let found = rule(&SubjectRuns { subject, runs: &runs, by: Measuring::of(record) })?;
        let detail = if several { format!("{}: {}", subject.name, found.detail) } else { found.detail };
        Some(Doubt { detail, ..found })
    };
    record.subjects.iter().filter_map(of).collect()
}
