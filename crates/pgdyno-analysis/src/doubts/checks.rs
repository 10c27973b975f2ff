//! What was checked of the data after the runs.

use pgdyno_core::{measure::Workload, units};
use pgdyno_script::Builtin;

use super::{of_subject::OfSubject, wording::doubt};
use crate::{Doubt, DoubtKind};

pub(super) fn balance_violated(of: &OfSubject<'_>) -> Option<Doubt> {
    let balance = of.subject.balance.as_ref()?;
    let detail = match (balance.violations, balance.examples.first()) {
        (0, _) if balance.rows_examined > 0 => return None,
        (0, _) => "the balance check examined no row".into(),
        (count, Some(example)) => format!("the balance check found {count} violations, the first: {example}"),
        (count, None) => format!("the balance check found {count} violations"),
    };
    let advice = "Keep the data directory and the server's log: the server lost or invented something.";
    doubt(DoubtKind::BalanceViolated, detail, advice, Vec::new())
}

pub(super) fn inconsistent(of: &OfSubject<'_>) -> Option<Doubt> {
    let checked = of.subject.consistency.as_ref()?;
    let conditions = units::plural(checked.violations, "condition");
    let detail = match (checked.violations, checked.examples.first()) {
        (0, _) if checked.rows_examined > 0 => return None,
        (0, _) => "the check of TPC-C's conditions examined no row".into(),
        (_, Some(example)) => format!("TPC-C's tables break {conditions}, the first: {example}"),
        (_, None) => format!("TPC-C's tables break {conditions}"),
    };
    let advice = "Do not use its numbers. Were the tables consistent before (`pgdyno tpcc check`)? Else keep the data \
                  directory and the server's log: the server lost or invented something.";
    doubt(DoubtKind::Inconsistent, detail, advice, Vec::new())
}

/// Transactions that are known wrote, and nobody looked. What a script of one's own writes is not known: then the plan
/// says why nothing was checked, and it is no reason for a doubt.
pub(super) fn not_checked(of: &OfSubject<'_>) -> Option<Doubt> {
    let known = |workload: &Workload| Builtin::by_name(&workload.script).is_some_and(Builtin::writes);
    let unseen = of.subject.balance.is_none() && of.runs.iter().any(|run| known(&run.workload));
    let advice = match unseen {
        true => "Let the balance check run (balance in [check]).",
        false if of.subject.consistency.is_some() => return None,
        false if of.runs.iter().all(|run| run.tpcc.is_none()) => return None,
        false => "Let TPC-C's conditions be checked (without --no-check; consistency in [check]).",
    };
    let detail = "the data was not checked after runs that write".into();
    doubt(DoubtKind::NotChecked, detail, advice, Vec::new())
}
