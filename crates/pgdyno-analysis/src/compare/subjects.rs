//! Which reasons to distrust a plan with several subjects there are: those of each server, those of all runs, and that
//! builds differ.

use pgdyno_core::{
    facts::{ServerFacts, same_build},
    measure::{CellRun, CellSummary},
};

use super::super::{Doubt, DoubtKind, doubts as of_run};

/// All that is known of one subject.
#[derive(Debug, Clone, Copy)]
pub struct SubjectEvidence<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its server, once it is there.
    pub server: Option<&'a ServerFacts>,
    /// Whether its bundle is one of those tested; `None` where it is none.
    pub bundle_pinned: Option<bool>,
    /// The check of its data, where one was made.
    pub balance: Option<of_run::CheckEvidence<'a>>,
    /// The check of TPC-C's conditions, where one was made.
    pub consistency: Option<of_run::CheckEvidence<'a>>,
}

/// Every reason to distrust the run, worst things first. `whole` says what is known of the run as a whole; its server
/// and its balance check are asked of each subject instead.
pub fn judge(whole: &of_run::Evidence<'_>, subjects: &[SubjectEvidence<'_>]) -> Vec<Doubt> {
    let whole =
        of_run::Evidence { server: None, bundle_pinned: None, balance: None, consistency: None, ..*whole };
    let mut doubts: Vec<_> = subjects.iter().flat_map(|subject| of_one(&whole, subject)).collect();
    doubts.extend(of_run::of_runs(&whole));
    doubts.extend(
        [
            of_run::screening_run(&whole),
            of_run::too_few_blocks(&whole),
            of_run::unsteady_blocks(&whole),
            builds_differ(subjects),
        ]
        .into_iter()
        .flatten(),
    );
    doubts
}

/// What its own server and data give, with its name before it.
fn of_one(whole: &of_run::Evidence<'_>, subject: &SubjectEvidence<'_>) -> Vec<Doubt> {
    let own = |run: &&CellRun| run.workload.subject.as_deref() == Some(subject.name);
    let runs: Vec<_> = whole.runs.iter().filter(own).cloned().collect();
    let cells: Vec<CellSummary> = Vec::new();
    let evidence = of_run::Evidence {
        server: subject.server,
        bundle_pinned: subject.bundle_pinned,
        balance: subject.balance,
        consistency: subject.consistency,
        runs: &runs,
        cells: &cells,
        ..*whole
    };
    let named = |doubt: Doubt| Doubt { detail: format!("{}: {}", subject.name, doubt.detail), ..doubt };
    of_run::of_server(&evidence).into_iter().map(named).collect()
}

fn builds_differ(subjects: &[SubjectEvidence<'_>]) -> Option<Doubt> {
    let (first, others) = subjects.split_first()?;
    let reference = first.server?;
    let differs = |other: &&SubjectEvidence<'_>| {
        other.server.is_some_and(|server| same_build(&reference.build, &server.build) == Some(false))
    };
    let names: Vec<_> = others.iter().filter(differs).map(|other| other.name).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} and {} come from different compilers or flags: a difference between them is one of builds, too",
        first.name,
        names.join(", ")
    );
    let advice =
        "Build all with one compiler and one set of flags (`pgdyno build`) to see what PostgreSQL does.";
    Some(Doubt { kind: DoubtKind::BuildDiffers, detail, advice: advice.to_owned(), cells: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cells::summarise,
        doubts::samples::{run, server},
    };

    fn kinds(runs: &[CellRun], servers: [&ServerFacts; 2]) -> Vec<(DoubtKind, String)> {
        let cells = summarise(runs, &[]);
        let whole = of_run::Evidence {
            thorough: true,
            thorough_hint: None,
            complete: true,
            cores_shared: false,
            ceiling: None,
            scale: Some(4),
            server: None,
            bundle_pinned: None,
            runs,
            cells: &cells,
            balance: None,
            consistency: None,
        };
        let subject = |name, server| SubjectEvidence {
            name,
            server: Some(server),
            bundle_pinned: None,
            balance: None,
            consistency: None,
        };
        let doubts = judge(&whole, &[subject("old", servers[0]), subject("new", servers[1])]);
        doubts.into_iter().map(|doubt| (doubt.kind, doubt.detail)).collect()
    }

    fn runs() -> Vec<CellRun> {
        let of = |subject: &str, block| {
            let mut run = run("select-only", 4, 1_000.0);
            run.workload.subject = Some(subject.to_owned());
            CellRun { block, ..run }
        };
        (0..5).flat_map(|block| [of("old", block), of("new", block)]).collect()
    }

    #[test]
    fn a_careful_run_has_no_doubt() {
        assert_eq!(kinds(&runs(), [&server(), &server()]), []);
    }

    #[test]
    fn what_concerns_a_server_is_said_with_its_name() {
        let mut other = server();
        other.build.cflags = Some("-O0".into());
        let found = kinds(&runs(), [&server(), &other]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].0 == DoubtKind::BuildNotOptimised && found[0].1.starts_with("new: "));
        assert!(found[1].0 == DoubtKind::BuildDiffers && found[1].1.starts_with("old and new come"));
    }

    #[test]
    fn blocks_that_jump_are_seen_by_subject() {
        let mut runs = runs();
        runs.iter_mut().filter(|run| run.block > 2).for_each(|run| {
            run.tps *= if run.workload.subject.as_deref() == Some("new") { 3.0 } else { 1.0 };
        });
        let found = kinds(&runs, [&server(), &server()]);
        assert_eq!(found.len(), 1, "{found:?}");
        let detail = "TPS of new select-only/4 rose from 1,000 to 3,000 between its blocks 3 and 4";
        assert_eq!(found[0], (DoubtKind::UnsteadyBlocks, detail.to_owned()));
    }

    #[test]
    fn too_few_blocks_are_seen_by_subject() {
        let runs: Vec<_> = runs().into_iter().filter(|run| run.block < 4).collect();
        let found = kinds(&runs, [&server(), &server()]);
        assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [DoubtKind::TooFewBlocks]);
    }
}
