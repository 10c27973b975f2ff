//! Failed or missing checks of the data after the runs.

use pgdyno_core::{measure::Workload, units};
use pgdyno_script::Builtin;

use super::{keys::Key, subject::SubjectRuns, wording::doubt};
use crate::{Doubt, DoubtKind};

pub(super) fn balance_violated(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let balance = of.subject.balance.as_ref()?;
    let detail = match (balance.violations, balance.examples.first()) {
        (0, _) if balance.rows_examined > 0 => return None,
        (0, _) => "the balance check examined no row".into(),
        (count, Some(example)) => format!("the balance check found {count} violations, the first: {example}"),
        (count, None) => format!("the balance check found {count} violations"),
    };
    let advice = "Keep the data directory and the server's log: the server lost or fabricated rows.";
    doubt(DoubtKind::BalanceViolated, detail, advice, Vec::new())
}

pub(super) fn inconsistent(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let checked = of.subject.consistency.as_ref()?;
    let conditions = units::plural(checked.violations, "condition");
    let detail = match (checked.violations, checked.examples.first()) {
        (0, _) if checked.rows_examined > 0 => return None,
        (0, _) => "the TPC-C consistency check examined no row".into(),
        (_, Some(example)) => format!("the TPC-C tables violate {conditions}, the first: {example}"),
        (_, None) => format!("the TPC-C tables violate {conditions}"),
    };
    let advice = "Do not use its numbers. Unless the tables were inconsistent before (`pgdyno tpcc check`), keep the \
                  data directory and the server's log: the server lost or fabricated rows.";
    doubt(DoubtKind::Inconsistent, detail, advice, Vec::new())
}

/// Raised if built-in scripts wrote and the data was not checked. The writes of custom scripts are unknown; then the
/// plan gives the reason for the missing check, and there is no doubt.
pub(super) fn not_checked(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let known = |workload: &Workload| Builtin::by_name(workload.script_name()).is_some_and(Builtin::writes);
    let unchecked = of.subject.balance.is_none() && of.runs.iter().any(|run| known(&run.workload));
    let (check, key) = match unchecked {
        true => ("balance", Key::Balance),
        false if of.subject.consistency.is_some() => return None,
        false if of.runs.iter().all(|run| run.tpcc.is_none()) => return None,
        false => ("TPC-C consistency", Key::Consistency),
    };
    let detail = "the data was not checked after runs that write".into();
    let advice = format!("Enable the {check} check ({}).", key.named(of.by));
    doubt(DoubtKind::NotChecked, detail, &advice, Vec::new())
}
