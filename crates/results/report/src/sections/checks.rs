//! Checks of the data, the noise floor, and whether the driver was the limit.

use pgdyno_analysis::doubts::MAX_DRIVER_BUSY;
use pgdyno_core::{
    measure::{CellSummary, Workload},
    results::BottleneckKind,
    units,
};
use pgdyno_document::{
    block::{Block, Column, Fact, Row, Section, Table},
    figure::{
        Figure,
        Format::{Count, Length, Percent, PercentUpTo100, Text},
    },
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::BalanceRecord;

use crate::{
    run::Run,
    sections::{comparison, tpcc},
    source::Place,
};

/// The checks of data, noise and driver.
pub fn section(run: &Run<'_>) -> Section {
    let facts = vec![
        Fact::new(data_check(run), data(run)),
        Fact::new("noise floor", noise(run)),
        Fact::new("driver", driver(run)),
    ];
    Section::new("Checks", [Block::facts(facts)].into_iter().chain(noise_by_script(run)).collect())
}

/// Name of the data check: consistency for TPC-C, balance for TPC-B.
fn data_check(run: &Run<'_>) -> &'static str {
    if tpcc::was_driven(run) { "consistency" } else { "balance" }
}

/// Result of the data check.
fn data(run: &Run<'_>) -> Phrase {
    tpcc::consistency(run).unwrap_or_else(|| balances(run))
}

/// The noise floor and the result of the data check in a few words. Of compared loads the last tables are verified,
/// which is an operation.
pub fn in_short(run: &Run<'_>) -> Vec<Fact> {
    let has_data = !run.compares_loads() && !run.compares_storage();
    let data = has_data.then(|| data_in_short(run));
    [noise_in_short(run)].into_iter().chain(data).collect()
}

/// Result of the data check in a few words.
fn data_in_short(run: &Run<'_>) -> Fact {
    let label = if tpcc::was_driven(run) { "consistency" } else { "balance check" };
    let only = match run.record.subjects.as_slice() {
        [only] if !tpcc::was_driven(run) => only.balance.as_ref(),
        _ => None,
    };
    let Some(balance) = only else {
        let found = several_in_short(run).or_else(|| tpcc::consistency(run));
        return Fact::new(label, found.unwrap_or_else(|| not_made(run)));
    };
    let at = run.subject(0).at("balance");
    let rows = count(&at, "rows_examined", balance.rows_examined, "row");
    let violations = count(&at, "violations", balance.violations, "violation");
    Fact::new(label, phrase![at.figure("mode", Text), ", ", rows, " examined, ", violations])
}

/// The subjects whose balances hold, and those whose do not; `None` unless several were checked.
fn several_in_short(run: &Run<'_>) -> Option<Phrase> {
    let subjects = || run.record.subjects.iter().enumerate();
    let of = |holds: bool| {
        let own = |of: &BalanceRecord| (of.violations == 0) == holds;
        let own: Vec<_> = subjects().filter(|(_, of)| of.balance.as_ref().is_some_and(own)).collect();
        let names = joined(own.iter().take(NAMED).map(|(index, _)| run.name(*index)), ", ");
        phrase![names, others(run, own.len())]
    };
    let parts = [("passed: ", of(true)), ("VIOLATED: ", of(false))];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let said = joined(parts.map(|(word, names)| phrase![word, names]), "; ");
    (!said.is_empty() && !tpcc::was_driven(run)).then_some(said)
}

fn count(at: &Place<'_>, field: &str, value: u64, noun: &str) -> Phrase {
    phrase![at.figure(field, Count), " ", noun, if value == 1 { "" } else { "s" }]
}

/// A sentence for each subject whose data was checked, or why none was.
fn balances(run: &Run<'_>) -> Phrase {
    let subjects = run.record.subjects.iter().enumerate();
    let checked = subjects.filter_map(|(index, subject)| Some((index, subject.balance.as_ref()?)));
    let several = run.record.subjects.len() > 1;
    let found = checked.map(|(index, balance)| {
        let name = if several { phrase![run.name(index), ": "] } else { Phrase::default() };
        phrase![name, balanced(&run.subject(index).at("balance"), balance)]
    });
    let found = joined(found, " ");
    if found.is_empty() { unbalanced(run) } else { found }
}

fn balanced(at: &Place<'_>, balance: &BalanceRecord) -> Phrase {
    let examples = (0..balance.examples.len()).map(|i| at.figure(format!("examples/{i}"), Text));
    phrase![
        if balance.violations == 0 { "passed" } else { "VIOLATED" },
        " (",
        at.figure("mode", Text),
        "): ",
        count(at, "rows_examined", balance.rows_examined, "row"),
        " examined, ",
        count(at, "violations", balance.violations, "violation"),
        "; history has ",
        count(at, "history_rows", balance.history_rows, "row"),
        " for ",
        count(at, "committed", balance.committed, "commit"),
        ", ",
        at.figure("in_doubt", Count),
        " in doubt.",
        joined(examples.map(|example| maybe(" Example: ", example, ".")), ""),
    ]
}

fn unbalanced(run: &Run<'_>) -> Phrase {
    let check = run.root().figure("plan/balance_check", Text);
    phrase!["not checked (balance check: ", check, ").", maybe(" Why: ", why_off(run), ".")]
}

/// Why the balance check was turned off, if pgdyno chose that.
fn why_off(run: &Run<'_>) -> Option<Figure> {
    let at =
        run.record.choices.iter().position(|choice| choice.name == "balance" && choice.value == "off")?;
    run.root().figure(format!("choices/{at}/reason"), Text)
}

/// Why there is no result of the balance check, in a few words.
fn not_made(run: &Run<'_>) -> Phrase {
    let mode = run.root().figure("plan/balance_check", Text);
    match run.record.plan.balance_check.as_str() {
        "off" => phrase!["off", maybe(": ", why_off(run), "")],
        _ => phrase!["not made (", mode, ")"],
    }
}

/// Most subjects that a sentence about a check names.
const NAMED: usize = 5;

/// That more subjects are meant than are named, and of how many; empty if all are named.
fn others(run: &Run<'_>, meant: usize) -> Phrase {
    match meant > NAMED {
        true => phrase![", and others of ", run.root().figure("subjects", Length), " subjects"],
        false => Phrase::default(),
    }
}

/// Sentence about a failed balance check, which precedes all numbers.
pub fn violated(run: &Run<'_>) -> Option<Phrase> {
    let subjects = run.record.subjects.iter().enumerate();
    let failed = subjects.filter(|(_, of)| of.balance.as_ref().is_some_and(|found| found.violations > 0));
    let failed: Vec<_> = failed.collect();
    let several = run.record.subjects.len() > 1;
    let others = others(run, failed.len());
    let found = failed.iter().take(NAMED).map(|&(index, _)| {
        let violations = run.subject(index).figure("balance/violations", Count);
        let name = if several { phrase![run.name(index), " "] } else { Phrase::default() };
        phrase![name, "violations: ", violations]
    });
    let found = joined(found, ", ");
    (!found.is_empty())
        .then(|| phrase!["The balance check failed (", found, others, "): do not use these numbers."])
}

const NOT_KNOWN: &str = "Unknown: needs at least two blocks of a cell.";

/// Noise floor of the run.
fn noise(run: &Run<'_>) -> Phrase {
    match run.record.noise_by_script.len() {
        _ if run.record.comparison.is_some() => comparison::floor(run),
        _ if run.record.noise.is_none() => NOT_KNOWN.into(),
        _ if hides_everything(run) => phrase![
            undecidable(run),
            ": even differences of ",
            worst(run).figure("smallest_difference", PercentUpTo100),
            " may be noise.",
        ],
        0 | 1 => floor(&worst(run)),
        _ => phrase![
            "differences between two cells below ",
            worst(run).figure("smallest_difference", PercentUpTo100),
            " are within the noise of the noisiest script; see the table below.",
        ],
    }
}

/// Whether even a cell twice as fast as another may be so by chance.
fn hides_everything(run: &Run<'_>) -> bool {
    let of_scripts = run.record.noise_by_script.iter().map(|of| of.noise.smallest_difference);
    let of_all = run.record.noise.as_ref().map(|noise| noise.smallest_difference);
    of_scripts.reduce(f64::max).or(of_all).is_some_and(|smallest| smallest >= 1.0)
}

/// Whether that holds of every script.
fn hides_all_of_each(run: &Run<'_>) -> bool {
    let of_scripts = run.record.noise_by_script.iter().map(|of| of.noise.smallest_difference);
    let of_all = run.record.noise.as_ref().map(|noise| noise.smallest_difference);
    of_scripts.reduce(f64::min).or(of_all).is_some_and(|smallest| smallest >= 1.0)
}

/// That there are too few cells and blocks for their scatter.
fn undecidable(run: &Run<'_>) -> Phrase {
    let cells = &run.record.cells;
    let script = |of: &Workload| (of.subject.clone(), of.script.clone());
    let alike = |cell: &CellSummary| {
        cells.iter().filter(|other| script(&other.workload) == script(&cell.workload)).count()
    };
    let most = cells.iter().map(alike).max().unwrap_or_default() as u64;
    let longest = (0..cells.len()).max_by_key(|cell| cells[*cell].tps.count);
    let blocks = longest.and_then(|cell| run.cell(cell).figure("tps/count", Count));
    let words = format!("with {} per script and ", units::plural(most, "cell"));
    phrase![words, blocks, " blocks, differences cannot be judged"]
}

fn floor(at: &Place<'_>) -> Phrase {
    phrase![
        "blocks of one cell scatter by ",
        at.figure("between_blocks", Percent),
        " (standard deviation, ",
        at.figure("degrees_of_freedom", Count),
        if at.figure("degrees_of_freedom", Count).is_some_and(|of| of.value == 1) {
            " degree"
        } else {
            " degrees"
        },
        " of freedom); differences between two cells below ",
        at.figure("smallest_difference", PercentUpTo100),
        " are within the noise.",
    ]
}

/// Noise floor of the noisiest script.
pub fn worst<'a>(run: &'a Run<'_>) -> Place<'a> {
    let smallest = |index: &usize| run.record.noise_by_script[*index].noise.smallest_difference;
    let scripts = 0..run.record.noise_by_script.len();
    match scripts.max_by(|a, b| smallest(a).total_cmp(&smallest(b))) {
        Some(index) => run.root().at(format!("noise_by_script/{index}/noise")),
        None => run.root().at("noise"),
    }
}

/// Table of the noise floors of several scripts.
fn noise_by_script(run: &Run<'_>) -> Option<Block> {
    let scripts = run.record.noise_by_script.len();
    if scripts < 2 || run.record.comparison.is_some() {
        return None;
    }
    let columns = vec![
        Column::text("script"),
        Column::number("std. deviation").under("between blocks"),
        Column::number("degrees of freedom").under("between blocks"),
        Column::number("smallest difference"),
    ];
    let row = |index: usize| {
        let at = run.root().at(format!("noise_by_script/{index}"));
        let name = phrase![maybe("", at.figure("subject", Text), " "), at.figure("script", Text)];
        let at = at.at("noise");
        let freedom = at.figure("degrees_of_freedom", Count).into();
        Row::new(
            false,
            [
                name.into(),
                at.figure("between_blocks", Percent).into(),
                freedom,
                at.figure("smallest_difference", PercentUpTo100).into(),
            ],
        )
    };
    Some(Block::Table(Table::new(columns, (0..scripts).map(row).collect())))
}

/// The noise floor in a few words.
fn noise_in_short(run: &Run<'_>) -> Fact {
    let said = |text: Phrase| Fact::new("noise floor", text);
    let scripts = run.record.noise_by_script.len();
    let under = |difference: Phrase, verb: &str| phrase!["differences below ", difference, verb];
    let of = |at: &Place<'_>| Phrase::from(at.figure("smallest_difference", PercentUpTo100));
    if run.record.comparison.is_some() {
        let smallest = run.root().figure("comparison/floor/smallest_effect", Percent);
        return said(
            smallest.map_or("unknown".into(), |of| {
                phrase![Some(of), " is the smallest effect that can be shown"]
            }),
        );
    }
    said(match () {
        () if run.record.noise.is_none() => "unknown".into(),
        () if hides_all_of_each(run) => undecidable(run),
        // Several subjects are too many for one line, so only the worst is shown.
        () if run.record.levels.is_some() => match hides_everything(run) {
            true => phrase!["even differences of ", of(&worst(run)), " may be noise"],
            false => under(of(&worst(run)), " may be noise"),
        },
        () if scripts < 2 => under(of(&run.root().at("noise")), " are noise"),
        () => {
            let each = (0..scripts).map(|index| {
                let at = run.root().at(format!("noise_by_script/{index}"));
                let script = at.figure("script", Text);
                let smallest = &run.record.noise_by_script[index].noise.smallest_difference;
                match *smallest >= 1.0 {
                    true => (true, phrase![script]),
                    false => (false, phrase![of(&at.at("noise")), " (", script, ")"]),
                }
            });
            let (hidden, shown): (Vec<_>, Vec<_>) = each.partition(|(hides_all, _)| *hides_all);
            let [hidden, shown] =
                [hidden, shown].map(|list| joined(list.into_iter().map(|(_, of)| of), ", "));
            // If each hides everything, that was said above.
            let all = if hidden.is_empty() { hidden } else { phrase![", of ", hidden, " all are"] };
            phrase![under(shown, " are noise"), all]
        }
    })
}

/// Whether the driver was the limit, by the run with the busiest worker.
fn driver(run: &Run<'_>) -> Phrase {
    let runs = run.record.runs.iter().enumerate();
    let busiest = runs.max_by(|(_, a), (_, b)| a.cpu.busiest_worker.total_cmp(&b.cpu.busiest_worker));
    let Some((index, busiest)) = busiest else {
        let by_commands = run.record.subjects.iter().any(|subject| subject.command.is_some());
        let why = if by_commands { "pgdyno did not drive the load." } else { "no run was recorded." };
        return format!("Unknown: {why}").into();
    };
    let mut found = run.record.limits.iter().flat_map(|limits| &limits.found);
    let verdict = match found.any(|one| one.kind == BottleneckKind::DriverStarved) {
        true => " of a CPU, and had to wait for it: it was a limit.",
        false if busiest.cpu.busiest_worker > MAX_DRIVER_BUSY => " of a CPU: it may have been the limit.",
        false => " of a CPU: it was not the limit.",
    };
    phrase![
        "the driver's busiest thread used at most ",
        run.root().figure(format!("runs/{index}/cpu/busiest_worker"), Percent),
        verdict,
    ]
}
