//! Which reasons to distrust a comparison there are. Like those of a run, and some of its own; spread is none of them,
//! since the interval tells it.

use pgdyno_core::{
    facts::{ServerFacts, same_build},
    measure::{Arm, CellRun, CellSummary},
};

use super::{
    super::{Doubt, DoubtKind, doubts as of_run, over_blocks::Change},
    Comparison, Floor, Look,
};

/// All that is known of one arm.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArmEvidence<'a> {
    /// Its server, where it has one.
    pub server: Option<&'a ServerFacts>,
    /// Whether its bundle is one of those tested; `None` where it is none.
    pub bundle_pinned: Option<bool>,
    /// The check of its data, where one was made.
    pub balance: Option<of_run::CheckEvidence<'a>>,
}

/// All that is known of a comparison when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// It reached its end.
    pub complete: bool,
    /// Driver and server may have run on the same processors.
    pub cores_shared: bool,
    /// What the driver can do at the most here, where it was measured.
    pub ceiling: Option<of_run::CeilingEvidence<'a>>,
    /// Scale of the TPC-B tables.
    pub scale: Option<u64>,
    /// Results of A and of B, block by block.
    pub rates: [&'a [f64]; 2],
    /// A and B.
    pub arms: [ArmEvidence<'a>; 2],
    /// Every run that pgdyno's own driver made.
    pub runs: &'a [CellRun],
    /// The same by arm.
    pub cells: &'a [CellSummary],
    /// What it came to.
    pub result: Option<&'a Comparison>,
    /// A against A.
    pub floor: Option<&'a Floor>,
}

/// Every reason to distrust the comparison, worst things first.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Doubt> {
    let mut doubts = of_arms(evidence);
    doubts.extend(of_run::of_runs(&whole(evidence)));
    let own: [fn(&Evidence<'_>) -> Option<Doubt>; 6] = [
        too_few_blocks,
        build_differs,
        same_differs,
        tests_disagree,
        unsteady_blocks,
        checkpoints_in_one_arm,
    ];
    doubts.extend(own.iter().filter_map(|rule| rule(evidence)));
    doubts
}

/// Both arms as one run; what concerns a server is asked of each arm.
fn whole<'a>(evidence: &Evidence<'a>) -> of_run::Evidence<'a> {
    of_run::Evidence {
        thorough: false,
        thorough_hint: None,
        complete: evidence.complete,
        cores_shared: evidence.cores_shared,
        ceiling: evidence.ceiling,
        scale: evidence.scale,
        server: None,
        bundle_pinned: None,
        runs: evidence.runs,
        cells: evidence.cells,
        balance: None,
        consistency: None,
    }
}

/// What each arm's own server and data give, with the arm's letter before it.
fn of_arms(evidence: &Evidence<'_>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for arm in Arm::BOTH {
        let own = evidence.arms[arm.index()];
        let runs: Vec<_> =
            evidence.runs.iter().filter(|run| run.workload.arm == Some(arm)).cloned().collect();
        let of_arm = of_run::Evidence {
            server: own.server,
            bundle_pinned: own.bundle_pinned,
            balance: own.balance,
            runs: &runs,
            ..whole(evidence)
        };
        let named = |doubt: Doubt| Doubt { detail: format!("{}: {}", arm.letter(), doubt.detail), ..doubt };
        doubts.extend(of_run::of_server(&of_arm).into_iter().map(named));
    }
    doubts
}

fn doubt(kind: DoubtKind, detail: String, advice: &str) -> Option<Doubt> {
    Some(Doubt { kind, detail, advice: advice.to_owned(), cells: Vec::new() })
}

fn too_few_blocks(evidence: &Evidence<'_>) -> Option<Doubt> {
    let [Look { blocks: least, .. }, _] = super::EARLY_LOOKS;
    let made = evidence.result.map_or(0, |result| result.blocks);
    if made >= least {
        return None;
    }
    let s = if made == 1 { "" } else { "s" };
    let detail = format!("{made} block{s} of A and B, {least} are the least for an answer to rely on");
    doubt(DoubtKind::TooFewBlocks, detail, "Measure more blocks (--blocks).")
}

fn build_differs(evidence: &Evidence<'_>) -> Option<Doubt> {
    let [a, b] = evidence.arms;
    let (a, b) = (a.server?, b.server?);
    if same_build(&a.build, &b.build) != Some(false) {
        return None;
    }
    let detail = format!(
        "A ({}) and B ({}) come from different compilers or flags: the difference is one of two builds",
        a.version, b.version
    );
    let advice =
        "Build both with one compiler and one set of flags (`pgdyno build`) to see what PostgreSQL does.";
    doubt(DoubtKind::BuildDiffers, detail, advice)
}

fn same_differs(evidence: &Evidence<'_>) -> Option<Doubt> {
    let floor = evidence.floor.filter(|floor| floor.differs)?;
    let detail = format!(
        "A seems to differ from A in {} blocks: this method finds more here than there is",
        floor.blocks
    );
    let advice =
        "Lengthen warm-up and interval; look for what changes from run to run, such as a cache that fills.";
    doubt(DoubtKind::SameDiffers, detail, advice)
}

fn tests_disagree(evidence: &Evidence<'_>) -> Option<Doubt> {
    let result = evidence.result.filter(|result| result.tests_disagree && result.look > 0)?;
    let p = result.sign_flip_p.map_or("not known".to_owned(), |p| format!("{p:.4}"));
    let detail = format!(
        "the interval and what assumes no distribution disagree: sign-flip p {p} against {:.3}, \
         Hodges-Lehmann {:+.1} %",
        result.alpha,
        result.hodges_lehmann * 100.0
    );
    doubt(DoubtKind::TestsDisagree, detail, "Look at the blocks for outliers, and measure more of them.")
}

/// What both arms do alike cancels in their ratio, as far as it is a ratio of one state to one state.
fn unsteady_blocks(evidence: &Evidence<'_>) -> Option<Doubt> {
    let of = |arm: Arm| Some((arm.letter().to_owned(), Change::of(evidence.rates[arm.index()])?));
    let changed: Vec<_> = Arm::BOTH.into_iter().filter_map(of).collect();
    of_run::blocks_changed(&changed).map(|doubt| Doubt { cells: Vec::new(), ..doubt })
}

/// Within an arm a checkpoint in some of its blocks is seen by [`of_run`]; here in all of one and none of the other.
fn checkpoints_in_one_arm(evidence: &Evidence<'_>) -> Option<Doubt> {
    let seen = |arm: Arm| {
        let runs = evidence.runs.iter().filter(|run| run.workload.arm == Some(arm));
        let mut known = runs.filter_map(|run| Some(run.io.as_ref()?.checkpoints? > 0)).peekable();
        let first = *known.peek()?;
        known.all(|any| any == first).then_some(first)
    };
    let (a, b) = (seen(Arm::A)?, seen(Arm::B)?);
    if a == b {
        return None;
    }
    let arm = if a { Arm::A } else { Arm::B };
    let detail = format!(
        "a checkpoint fell into every run of {} and into none of {}",
        arm.letter(),
        arm.other().letter()
    );
    let advice = "Give both the same max_wal_size and checkpoint_timeout, unless these are the question.";
    doubt(DoubtKind::UnevenCheckpoints, detail, advice)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{
        super::{judge as compare, looks},
        *,
    };
    use crate::{
        cells::summarise,
        doubts::samples::{run, server},
    };

    /// Kinds that only a comparison has.
    pub const OWN: [DoubtKind; 3] =
        [DoubtKind::BuildDiffers, DoubtKind::TestsDisagree, DoubtKind::SameDiffers];

    /// What a test may break.
    struct Case {
        a: ServerFacts,
        b: ServerFacts,
        runs: Vec<CellRun>,
        differences: Vec<f64>,
        floor: Vec<f64>,
        cores_shared: bool,
        complete: bool,
        balance: Option<u64>,
    }

    fn clean() -> Case {
        let differences = vec![0.05, 0.06, 0.05, 0.04, 0.05, 0.06, 0.04, 0.05];
        let both = differences.iter().flat_map(|d: &f64| [(Arm::A, 1_000.0), (Arm::B, 1_000.0 * d.exp())]);
        let runs = both.map(|(arm, tps)| {
            let mut run = run("tpcb-like", 8, tps);
            run.workload.arm = Some(arm);
            run
        });
        Case {
            a: server(),
            b: server(),
            runs: runs.collect(),
            differences: differences.clone(),
            floor: vec![0.01, -0.01, 0.005, -0.004],
            cores_shared: false,
            complete: true,
            balance: Some(0),
        }
    }

    fn doubts(case: &Case) -> Vec<Doubt> {
        let looks = looks(8);
        let result = compare(&case.differences, &looks, 0.02);
        let floor = Floor::of(&case.floor, looks[0]);
        let balance = case.balance.map(|violations| of_run::CheckEvidence {
            rows_examined: 1_000,
            violations,
            examples: &[],
        });
        let arm = |server| ArmEvidence { server: Some(server), bundle_pinned: None, balance };
        let [a, b] = Arm::BOTH.map(|arm| {
            let own = case.runs.iter().filter(|run| run.workload.arm == Some(arm));
            own.map(|run| run.tps).collect::<Vec<_>>()
        });
        judge(&Evidence {
            complete: case.complete,
            cores_shared: case.cores_shared,
            ceiling: None,
            scale: Some(8),
            rates: [&a, &b],
            arms: [arm(&case.a), arm(&case.b)],
            runs: &case.runs,
            cells: &summarise(&case.runs, &[]),
            result: result.as_ref(),
            floor: floor.as_ref(),
        })
    }

    fn kinds(case: &Case) -> Vec<DoubtKind> {
        doubts(case).iter().map(|doubt| doubt.kind).collect()
    }

    #[test]
    fn a_careful_comparison_has_no_doubt() {
        assert_eq!(doubts(&clean()), []);
    }

    type Fault = (DoubtKind, fn(&mut Case));

    #[test]
    fn every_fault_gives_its_doubt_and_no_other() {
        let faults: [Fault; 10] = [
            (DoubtKind::BuildDiffers, |case| case.b.build.compiler = Some("clang 19".into())),
            (DoubtKind::TooFewBlocks, |case| case.differences.truncate(5)),
            (DoubtKind::TestsDisagree, |case| case.differences[3] = 0.9),
            (DoubtKind::SameDiffers, |case| case.floor = vec![0.05, 0.051, 0.049, 0.05]),
            (DoubtKind::CoresShared, |case| case.cores_shared = true),
            (DoubtKind::Partial, |case| case.complete = false),
            (DoubtKind::UnsteadyBlocks, |case| case.runs[1].tps /= 17.0),
            (DoubtKind::NotChecked, |case| case.balance = None),
            (DoubtKind::BalanceViolated, |case| case.balance = Some(1)),
            (DoubtKind::UnevenCheckpoints, |case| {
                let of_b = case.runs.iter_mut().filter(|run| run.workload.arm == Some(Arm::B));
                of_b.for_each(|run| run.io.as_mut().expect("a sample has it").checkpoints = Some(1));
            }),
        ];
        for (kind, fault) in faults {
            let mut case = clean();
            fault(&mut case);
            let mut found = kinds(&case);
            found.dedup();
            assert_eq!(found, [kind], "{:#?}", doubts(&case));
            assert!(doubts(&case).iter().all(|doubt| doubt.detail.len() > 20 && doubt.advice.ends_with('.')));
        }
    }

    #[test]
    fn what_concerns_one_server_names_its_arm() {
        let mut case = clean();
        case.b.build.cflags = Some("-Os".into());
        let found = doubts(&case);
        let small = found.iter().find(|doubt| doubt.kind == DoubtKind::BuildNotOptimised).expect("it is -Os");
        assert!(small.detail.starts_with("B: PostgreSQL 18.4 was compiled with -Os"), "{small:?}");
        let differs = found.iter().find(|doubt| doubt.kind == DoubtKind::BuildDiffers).expect("it does");
        assert!(!differs.detail.contains("version"), "{differs:?}");
    }

    #[test]
    fn a_script_of_ones_own_needs_no_check() {
        let mut case = Case { balance: None, ..clean() };
        case.runs.iter_mut().for_each(|run| run.workload.script = "my.sql".into());
        assert_eq!(kinds(&case), []);
    }

    #[test]
    fn an_external_command_leaves_nothing_to_see() {
        let case = Case { runs: Vec::new(), balance: None, ..clean() };
        assert_eq!(kinds(&case), []);
    }
}
