//! The head of a report: what ran, the results, and the caveats.

use std::{cmp::Reverse, collections::BTreeMap};

use pgdyno_core::{cpus::cpus_in_words, facts::DurabilityTier};
use pgdyno_document::{
    block::{Block, Fact, Tone},
    figure::Format::{Count, Instant, Latency, Length, Percent, PercentUpTo100, Text, Word},
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::{Status, SubjectRecord};

use crate::{
    run::{Run, clients},
    sections::{checks, comparison, differences, doubts, levels, operations, tpcc, verdict},
};

/// Most subjects named in a heading.
const HEADED: usize = 5;

/// Name of the experiment, servers, scale, time and status.
pub fn heading(run: &Run<'_>) -> Phrase {
    let root = run.root();
    let version = |index: usize| run.subject(index).figure("server/version", Text);
    let servers = match (&run.record.comparison, run.record.subjects.len()) {
        (Some(_), _) => phrase![maybe(" · A ", version(0), ""), maybe(" · B ", version(1), "")],
        (None, 0 | 1) => maybe(" · PostgreSQL ", version(0), ""),
        (None, subjects) => {
            phrase![" · ", joined((0..subjects.min(HEADED)).map(|index| run.name(index)), ", ")]
        }
    };
    phrase![
        root.figure("plan/name", Text),
        servers,
        maybe(" · scale ", root.figure("plan/scale", Count), ""),
        maybe(" · ", root.figure("started_at", Instant), ""),
        maybe(" · ", root.figure("status", Word), ""),
    ]
}

/// Warning above an incomplete run.
pub fn warning(run: &Run<'_>) -> Option<Phrase> {
    let status = match run.record.status {
        Status::Complete => return None,
        Status::Partial => "PARTIAL: the run is in progress, or was killed.".into(),
        Status::Stopped => {
            phrase!["STOPPED before the end", maybe(": ", run.root().figure("error", Text), ""), "."]
        }
    };
    let made = run.root().figure("runs", Length).filter(|_| !run.record.runs.is_empty());
    let gone = match run.record.runs.last() {
        Some(last) if last.ended_by_outage => " The last one does not count: the server was gone at its end.",
        _ => "",
    };
    Some(phrase![status, maybe(" Runs so far: ", made, "."), gone])
}

/// The results: sentences, or a table if there are several subjects.
pub fn blocks(run: &Run<'_>) -> Vec<Block> {
    let mut found: Vec<Phrase> = tpcc::violated(run).into_iter().chain(checks::violated(run)).collect();
    found.extend(tpcc::sentences(run));
    let mut table = None;
    match (&run.record.comparison, &run.record.levels) {
        (Some(of), _) => found.extend(compared(run, of)),
        (None, Some(of)) => table = Some(Block::Table(levels::summary(run, of))),
        (None, None) if run.is_of_operations() => found.extend(operations::sentences(run)),
        (None, None) => found.extend(verdict::sentences(run)),
    }
    let mut below = Vec::new();
    if table.is_some() {
        below.extend(levels::subjects(run));
    }
    below.push(phrase!["Durability ", durability(run), "."]);
    below.extend(placed(run).map(|placed| format!("CPUs: {placed}.").into()));
    if table.is_none() {
        found.append(&mut below);
    }
    let caveats = Block::prose(Tone::Warning, doubts::headline(run).into_iter().collect());
    let prose = |sentences| Block::prose(Tone::Lead, sentences);
    prose(found).into_iter().chain(caveats).chain(table).chain(prose(below)).collect()
}

/// The answer, the arms, and whether they are comparable.
pub fn compared(run: &Run<'_>, of: &pgdyno_record::ComparisonRecord) -> Vec<Phrase> {
    let mut found = comparison::sentences(run, of);
    found.splice(1..1, comparison::contradiction(run, of));
    // Of directories no fact of a server is missing.
    found.extend((!run.compares_storage()).then(|| differences::of_two(run)));
    found.into_iter().map(|sentence| phrase![sentence, "."]).collect()
}

/// Durability of commits.
pub fn durability(run: &Run<'_>) -> Phrase {
    if run.record.subjects.len() > 1 {
        return of_several(run);
    }
    match (run.only_server(), tiers_of_cells(run)) {
        (Some(_), tiers) if tiers.len() > 1 => {
            let one = |(Reverse(tier), cells): (&Reverse<DurabilityTier>, &Vec<usize>)| {
                let names = joined(cells.iter().map(|cell| run.name_of(*cell)), ", ");
                phrase![names, " ", tier.label()]
            };
            phrase!["differs: ", joined(tiers.iter().map(one), "; ")]
        }
        (Some(server), _) => server.durability.label().into(),
        (None, _) => "unknown: there was no server".into(),
    }
}

/// The cells by their tiers, the weakest first; empty if one is unknown.
fn tiers_of_cells(run: &Run<'_>) -> BTreeMap<Reverse<DurabilityTier>, Vec<usize>> {
    let mut tiers: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, cell) in run.record.cells.iter().enumerate() {
        let Some(tier) = cell.durability else { return BTreeMap::new() };
        tiers.entry(Reverse(tier)).or_default().push(index);
    }
    tiers
}

fn of_several(run: &Run<'_>) -> Phrase {
    let tiers: Vec<_> = run.record.subjects.iter().map(tier).collect();
    if run.compares_storage() {
        return "unknown: there was no server".into();
    }
    if tiers.iter().all(|tier| *tier == tiers[0]) {
        return tiers[0].unwrap_or("unknown: the commands start their own servers").into();
    }
    let one = |(index, tier): (usize, &Option<&'static str>)| {
        phrase![run.name(index), " ", tier.unwrap_or("unknown")]
    };
    phrase!["differs: ", joined(tiers.iter().enumerate().map(one), "; ")]
}

/// The tier of a subject; `None` for commands that start their own server.
fn tier(subject: &SubjectRecord) -> Option<&'static str> {
    let tier = subject.server.as_ref()?.durability;
    Some(match (&subject.command, tier) {
        (Some(_), DurabilityTier::Full) => {
            "full by the server's settings; settings of the command's sessions are unknown"
        }
        _ => tier.label(),
    })
}

/// CPUs of server and driver; `None` if the server was not pinned, and for existing servers.
pub fn placed(run: &Run<'_>) -> Option<String> {
    let (plan, cpus) = (&run.record.plan, run.record.host.allowed_cpus().len());
    if plan.server != "own" { None } else { cpus_in_words(&plan.server_cpus, &plan.driver_cpus, cpus) }
}

/// The most important figures, shown large on a page.
pub fn cards(run: &Run<'_>) -> Vec<Fact> {
    let mut cards = Vec::new();
    if run.record.levels.is_none() {
        cards.extend(run.best_cells().into_iter().map(|cell| peak(run, cell)));
    }
    cards.extend(match run.record.comparison {
        Some(_) => Some(card(
            "Can show",
            run.root().figure("comparison/floor/smallest_effect", Percent),
            vec!["the smallest effect, by the scatter of the blocks".into()],
        )),
        None => (!run.is_of_operations()).then(|| noise(run)),
    });
    cards.extend(operations::cards(run));
    let doubts = if run.record.doubts.is_empty() { "none known" } else { "each with advice below" };
    cards.push(card("Doubts", run.root().figure("doubts", Length), vec![doubts.into()]));
    cards
}

fn card(label: impl Into<Phrase>, text: impl Into<Phrase>, remarks: Vec<Phrase>) -> Fact {
    Fact { remarks, ..Fact::new(label, text) }
}

/// The best cell of a workload, with NOPM for TPC-C.
fn peak(run: &Run<'_>, cell: usize) -> Fact {
    let at = run.cell(cell);
    let nopm = at.rate("tpcc/nopm");
    let tps = phrase![at.rate("tps"), " TPS"];
    let (large, tps) = match nopm {
        Some(nopm) => (phrase![Some(nopm), " NOPM"], Some(tps)),
        None => (tps, None),
    };
    let spread = match at.share("tps/half_width", "tps/value") {
        Some(spread) => phrase!["± ", Some(spread), " in this session"],
        None => "spread unknown".into(),
    };
    let count = run.record.cells[cell].workload.clients;
    let clients = phrase![at.figure("workload/clients", Count), clients(count)];
    let p99 = at.figure("latency/p99_ns", Latency).map(|p99| phrase!["p99 ", Some(p99)]);
    let remarks = tps.into_iter().chain([spread, clients]).chain(p99).collect();
    card(run.work_of(cell), large, remarks)
}

/// The scatter between blocks, by the noisiest script.
fn noise(run: &Run<'_>) -> Fact {
    let remark = match run.record.noise_by_script.len() {
        _ if run.record.noise.is_none() => "unknown: needs two blocks of a cell",
        0 | 1 => "smaller differences are noise",
        _ => "of the noisiest script; smaller differences may be noise",
    };
    card("Noise floor", checks::worst(run).figure("smallest_difference", PercentUpTo100), vec![remark.into()])
}
