//! Reasons to distrust the result.

use pgdyno_analysis::DoubtKind;
use pgdyno_document::{
    block::{Block, Doubt, Section},
    figure::Format::{Length, Text},
    phrase::{Phrase, phrase},
};

use crate::{run::Run, words};

/// Doubts that the headline names.
const NAMED: usize = 3;

/// All doubts, the worst first.
pub fn doubts(run: &Run<'_>) -> Vec<Doubt> {
    (0..run.record.doubts.len()).map(|index| doubt(run, index)).collect()
}

fn doubt(run: &Run<'_>, index: usize) -> Doubt {
    let (doubt, at) = (&run.record.doubts[index], run.source.at(format!("/doubts/{index}")));
    let cells = run.record.cells.len();
    let concerned = match doubt.cells.len() {
        all if all == cells && cells > 1 => vec!["all cells".into()],
        some => at.texts("cells", some, some).into_iter().map(Phrase::from).collect(),
    };
    Doubt {
        title: words::doubt(doubt.kind),
        concerned,
        detail: at.figure("detail", Text).into(),
        advice: at.figure("advice", Text).into(),
        severe: matches!(
            doubt.kind,
            DoubtKind::BalanceViolated | DoubtKind::Inconsistent | DoubtKind::Implausible | DoubtKind::Edited
        ),
    }
}

/// The section with all doubts.
pub fn section(run: &Run<'_>) -> Section {
    let title = phrase!["Doubts (", run.root().figure("doubts", Length), ")"];
    Section::new(title, vec![Block::Doubts(doubts(run))])
}

/// The names of the worst doubts, for the head of the report; `None` without a doubt.
pub fn headline(run: &Run<'_>) -> Option<Phrase> {
    let kinds = || run.record.doubts.iter().map(|doubt| doubt.kind);
    let (edited, others): (Vec<_>, Vec<_>) = kinds().partition(|kind| *kind == DoubtKind::Edited);
    let mut names: Vec<String> = Vec::new();
    for kind in edited.into_iter().chain(others) {
        // Several servers may have the same doubt.
        let name = in_a_sentence(words::doubt(kind));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let unfit = kinds().any(|kind| matches!(kind, DoubtKind::ScreeningRun | DoubtKind::Edited));
    let beginning = if unfit { "Not publishable: " } else { "Caveats: " };
    let others = if names.len() > NAMED { " and other doubts" } else { "" };
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| format!("{beginning}{named}{others}.").into())
}

/// A heading in lower case, unless it begins with an abbreviation.
fn in_a_sentence(title: &str) -> String {
    match title.chars().nth(1) {
        Some(second) if second.is_lowercase() => title.to_lowercase(),
        _ => title.to_owned(),
    }
}
