//! Which reasons to distrust a result a run gives (invariant 11: a careful run must be able to give none).
//!
//! [`RULES`] is the list of all of them, a file here has those of one family. Every threshold is a constant with its
//! reason. A fact that is not known raises no doubt, unless not knowing it is the doubt.

mod attempts;
mod blocks;
mod checks;
mod comparison;
mod data;
mod driver;
mod evidence;
mod machine;
#[cfg(test)]
pub(crate) mod samples;
mod server;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_comparisons;
#[cfg(test)]
mod tests_of_subjects;
mod wording;

use std::borrow::Cow;

use pgdyno_core::measure::CellRun;

use super::Doubt;

pub use driver::MAX_DRIVER_BUSY;
pub use evidence::{CeilingEvidence, CheckEvidence, ComparisonEvidence, Evidence, SubjectEvidence};
use evidence::{InBlocks, OfSubject};

/// A reason to distrust a result, by what it is looked for in.
enum Rule {
    /// In each subject: its server, its data and its own runs.
    Subject(fn(&OfSubject<'_>) -> Option<Doubt>),
    /// In all runs together.
    Runs(fn(&Evidence<'_>) -> Option<Doubt>),
    /// The same where no comparison in blocks is asked for, which has rules of its own for it.
    Levels(fn(&Evidence<'_>) -> Option<Doubt>),
    /// In a comparison in blocks.
    Blocks(fn(&InBlocks<'_>) -> Option<Doubt>),
}

/// Every rule, the worst first.
const RULES: [Rule; 32] = [
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
    Rule::Runs(attempts::resumed),
    Rule::Runs(server::builds_differ),
    Rule::Blocks(comparison::same_differs),
    Rule::Blocks(comparison::tests_disagree),
    Rule::Runs(blocks::not_steady),
    Rule::Levels(blocks::unsteady_blocks),
    Rule::Blocks(comparison::unsteady_blocks),
    Rule::Levels(blocks::noisy),
    Rule::Runs(data::few_branches),
    Rule::Runs(driver::cores_shared),
    Rule::Runs(data::uneven_checkpoints),
    Rule::Blocks(comparison::checkpoints_in_one_arm),
    Rule::Runs(data::mixed_cache),
    Rule::Subject(server::build_not_optimised),
    Rule::Runs(machine::server_not_observed),
    Rule::Subject(server::unpinned_bundle),
];

/// Every reason to distrust the run, worst things first.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Doubt> {
    RULES.iter().flat_map(|rule| rule.found(evidence)).collect()
}

impl Rule {
    fn found(&self, evidence: &Evidence<'_>) -> Vec<Doubt> {
        let comparison = evidence.comparison.as_ref();
        let found = match self {
            Self::Subject(rule) => return of_subjects(*rule, evidence),
            Self::Runs(rule) => rule(evidence),
            Self::Levels(rule) => comparison.is_none().then(|| rule(evidence)).flatten(),
            Self::Blocks(rule) => {
                comparison.and_then(|comparison| rule(&InBlocks { whole: evidence, comparison }))
            }
        };
        found.into_iter().collect()
    }
}

/// What a rule finds in each subject, with its name before it where there are several.
fn of_subjects(rule: fn(&OfSubject<'_>) -> Option<Doubt>, evidence: &Evidence<'_>) -> Vec<Doubt> {
    let several = evidence.subjects.len() > 1;
    let of = |subject: &SubjectEvidence<'_>| {
        let own = |run: &&CellRun| run.workload.subject.as_deref() == Some(subject.name);
        let runs = match several {
            true => Cow::Owned(evidence.runs.iter().filter(own).cloned().collect()),
            false => Cow::Borrowed(evidence.runs),
        };
        let found = rule(&OfSubject { subject, runs: &runs })?;
        let detail = if several { format!("{}: {}", subject.name, found.detail) } else { found.detail };
        Some(Doubt { detail, ..found })
    };
    evidence.subjects.iter().filter_map(of).collect()
}
