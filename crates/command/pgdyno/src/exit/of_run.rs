//! The exit status of a run: `bench`, `run`, `ab`, `tpcc run`, `resume`.

use std::process::ExitCode;

use pgdyno_analysis::compare::Verdict;
use pgdyno_core::{problem::Problem, units};
use pgdyno_lab::Job;
use pgdyno_record::{BalanceRecord, ConsistencyRecord, RunRecord};

use super::Exit;
use crate::problem;

/// Exit status of a run, after printing its problems. The error is what stopped the run, else the first file that
/// could not be written: a run whose results did not reach the disk is not completed. All others are warnings.
pub fn exit_code(
    job: &Job,
    record: &RunRecord,
    result: Result<(), Problem>,
    unwritten: Vec<Problem>,
) -> ExitCode {
    let verdict = result.is_ok().then(|| verdict(job, record));
    let mut problems = result.err().into_iter().chain(unwritten);
    let first = problems.next();
    problems.for_each(|problem| eprintln!("warning: {}", problem.what));
    match first {
        Some(problem) => problem::print(&problem),
        None => verdict.unwrap_or(ExitCode::SUCCESS),
    }
}

/// Exit status of a completed run. Failed checks are printed on stderr, since a program may read stdout.
fn verdict(job: &Job, record: &RunRecord) -> ExitCode {
    let mut balances = record.subjects.iter().filter_map(|subject| subject.balance.as_ref());
    if let Some(balance) = balances.find(|balance| balance.violations > 0) {
        return violated(balance);
    }
    let mut checked = record.subjects.iter().filter_map(|subject| subject.consistency.as_ref());
    if let Some(broken) = checked.find(|checked| checked.violations > 0) {
        return inconsistent(broken);
    }
    if let Some(failed) = record.operations.iter().find(|operation| operation.passed == Some(false)) {
        let _ = problem::print(
            &Problem::could_not(format!("the stage `{}` found differences", failed.name))
                .hint("its section in the report names them"),
        );
        return Exit::Failed.into();
    }
    let slower = record.comparison.as_ref().and_then(|comparison| comparison.result.as_ref());
    let slower = slower.is_some_and(|result| result.verdict == Verdict::Slower);
    match job.comparison() {
        Some(compare) if compare.fail_if_slower && slower => {
            eprintln!("B is slower than A: exit status 1 (--fail-if-slower)");
            Exit::Failed.into()
        }
        _ => ExitCode::SUCCESS,
    }
}

fn violated(balance: &BalanceRecord) -> ExitCode {
    let s = if balance.violations == 1 { "" } else { "s" };
    let problem = Problem::could_not(format!("the balance check found {} violation{s}", balance.violations))
        .hint("the server lost or fabricated rows, or another session wrote to these tables during the run");
    let _ = problem::print(&match balance.examples.first() {
        Some(example) => problem.detail(example.clone()),
        None => problem,
    });
    Exit::Failed.into()
}

fn inconsistent(broken: &ConsistencyRecord) -> ExitCode {
    let conditions = units::plural(broken.violations, "condition");
    let problem = Problem::could_not(format!("TPC-C's tables are not consistent: {conditions} not met"))
        .hint("the server lost or fabricated rows, or another session wrote to these tables; see `pgdyno tpcc check`");
    let _ = problem::print(&match broken.examples.first() {
        Some(example) => problem.detail(example.clone()),
        None => problem,
    });
    Exit::Failed.into()
}
