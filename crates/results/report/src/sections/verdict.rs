//! Results of a single subject, one sentence per workload.

use pgdyno_analysis::MAX_HALF_WIDTH;
use pgdyno_core::measure::CellSummary;
use pgdyno_document::{
    figure::Format::{Count, Latency, PercentUpTo100, Rate},
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::{NoiseRecord, ScriptNoise};

use crate::{
    run::{Run, clients},
    source::Place,
};

/// A sentence for each workload, or one that nothing was measured.
pub fn sentences(run: &Run<'_>) -> Vec<Phrase> {
    let mut works: Vec<Vec<usize>> = Vec::new();
    for (index, cell) in run.record.cells.iter().enumerate() {
        let work = |of: &CellSummary| (of.workload.script.clone(), of.workload.protocol.clone());
        match works.iter_mut().find(|own| work(&run.record.cells[own[0]]) == work(cell)) {
            Some(own) => own.push(index),
            None => works.push(vec![index]),
        }
    }
    if works.is_empty() {
        return vec!["Nothing was measured.".into()];
    }
    works.iter().filter_map(|cells| sentence(run, cells)).collect()
}

fn sentence(run: &Run<'_>, cells: &[usize]) -> Option<Phrase> {
    let index = run.best(cells)?;
    let (best, at) = (&run.record.cells[index], run.cell(index));
    let tps = phrase![at.rate("tps"), " TPS", spread(best, &at)];
    let count = phrase![at.figure("workload/clients", Count), clients(best.workload.clients)];
    let found = match Reach::of(run, cells, best) {
        Reach::Offered => phrase![" executed ", tps, " at ", count],
        Reach::Open => phrase![" reaches ", tps, " at ", count],
        Reach::FastestTried => {
            phrase![" is fastest at ", count, " of the ", tried(run, cells), " tried: ", tps]
        }
    };
    let p99 = if best.workload.rate_per_s.is_some() { ", p99 latency " } else { ", p99 service time " };
    Some(phrase![
        run.script_of(index),
        found,
        maybe(p99, at.figure("latency/p99_ns", Latency), ""),
        p99_range(&at),
        if is_offered(best) { Phrase::default() } else { as_good(run, cells, best) },
        ".",
    ])
}

/// The range of p99 over the blocks, if that says more than p99 itself.
fn p99_range(at: &Place<'_>) -> Phrase {
    let end = |end: &str| at.figure(format!("latency_ranges/p99_ns/{end}"), Latency);
    match (end("min_ns"), end("max_ns")) {
        (Some(min), Some(max)) => phrase![" (blocks ", Some(min), " to ", Some(max), ")"],
        _ => Phrase::default(),
    }
}

/// The client counts that were tried: `1, 4 and 16`.
fn tried(run: &Run<'_>, cells: &[usize]) -> Phrase {
    let mut counts = cells.to_vec();
    counts.sort_by_key(|cell| run.record.cells[*cell].workload.clients);
    let mut counts: Vec<Phrase> =
        counts.iter().map(|cell| run.cell(*cell).figure("workload/clients", Count).into()).collect();
    let last = counts.pop().unwrap_or_default();
    phrase![joined(counts, ", "), " and ", last]
}

fn spread(cell: &CellSummary, at: &Place<'_>) -> Phrase {
    match at.share("tps/half_width", "tps/value") {
        Some(spread) => phrase![" (±\u{a0}", Some(spread), " in this session)"],
        None if cell.tps.count > 1 => {
            phrase![" (blocks from ", at.figure("tps/min", Rate), " to ", at.figure("tps/max", Rate), ")"]
        }
        None => " (a single block: spread unknown)".into(),
    }
}

/// Whether the load was limited by a rate or by keying and think times, so that the throughput is not a peak.
fn is_offered(cell: &CellSummary) -> bool {
    cell.workload.rate_per_s.is_some() || cell.tpcc.as_ref().is_some_and(|tpcc| tpcc.run.paced)
}

/// What the largest throughput of a workload says.
enum Reach {
    /// The load was limited: it says nothing about the largest possible.
    Offered,
    /// The maximum may lie beyond the tested client counts, or within the noise.
    Open,
    /// TPS is significantly lower with more clients. Between the counts that were tried it may be higher still.
    FastestTried,
}

impl Reach {
    fn of(run: &Run<'_>, cells: &[usize], best: &CellSummary) -> Self {
        let cells = cells.iter().map(|cell| &run.record.cells[*cell]);
        let mut more = cells.filter(|cell| cell.workload.clients > best.workload.clients).peekable();
        let falls = more.peek().is_some() && more.all(|cell| !is_as_good(run, cell, best));
        match () {
            () if is_offered(best) => Self::Offered,
            () if falls => Self::FastestTried,
            () => Self::Open,
        }
    }
}

/// The noise floor for the cells of a script, with its place in the record.
fn noise_of<'a>(run: &'a Run<'_>, best: &CellSummary) -> Option<(Place<'a>, &'a NoiseRecord)> {
    let record = run.record;
    let of = |name: &str| {
        let same = |of: &ScriptNoise| (of.script.as_str(), &of.subject) == (name, &best.workload.subject);
        let at = record.noise_by_script.iter().position(same)?;
        Some((run.root().at(format!("noise_by_script/{at}/noise")), &record.noise_by_script[at].noise))
    };
    // Older records do not distinguish protocols.
    let own = of(&best.workload.title()).or_else(|| of(&best.workload.script));
    let all = || Some((run.root().at("noise"), record.noise.as_ref()?));
    own.or_else(|| all().filter(|_| record.noise_by_script.is_empty()))
}

/// Whether the difference between a cell and the best one is within the noise.
fn is_as_good(run: &Run<'_>, cell: &CellSummary, best: &CellSummary) -> bool {
    let noise = noise_of(run, best);
    noise.is_some_and(|(_, noise)| cell.tps.value >= best.tps.value / (1.0 + noise.smallest_difference))
}

/// The smallest client count within the noise of the best; or that more clients were not tested.
fn as_good(run: &Run<'_>, cells: &[usize], best: &CellSummary) -> Phrase {
    let of = |cell: &usize| &run.record.cells[*cell];
    let most = cells.iter().map(|cell| of(cell).workload.clients).max();
    let fewer = cells.iter().filter(|cell| of(cell).workload.clients < best.workload.clients);
    let near =
        fewer.filter(|cell| is_as_good(run, of(cell), best)).min_by_key(|cell| of(cell).workload.clients);
    match near {
        Some(cell) => near_words(run, *cell, best),
        None if cells.len() > 1 && most == Some(best.workload.clients) => {
            "; it may rise further, more clients were not tested".into()
        }
        None => Phrase::default(),
    }
}

/// Remark on fewer clients within the noise of the best. A large noise floor means unknown rather than equal.
fn near_words(run: &Run<'_>, cell: usize, best: &CellSummary) -> Phrase {
    let (at, count) = (run.cell(cell), run.record.cells[cell].workload.clients);
    let verb = if count == 1 { " gives" } else { " give" };
    let who = phrase![at.figure("workload/clients", Count), clients(count)];
    let noise = noise_of(run, best).filter(|(_, noise)| noise.smallest_difference > MAX_HALF_WIDTH);
    match noise {
        Some((_, noise)) if noise.smallest_difference >= 1.0 => {
            "; this run is too noisy to compare client counts".into()
        }
        Some((place, _)) => phrase![
            "; this run is too noisy to tell whether ",
            who,
            " (",
            at.rate("tps"),
            " TPS)",
            verb,
            " less, since differences up to ",
            place.figure("smallest_difference", PercentUpTo100),
            " are within the noise",
        ],
        None => phrase!["; ", who, verb, " the same within the noise"],
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_record::RunRecord;
    use testkit::fixtures::complete;

    use super::*;

    fn said(record: &RunRecord) -> Vec<String> {
        sentences(&Run::new(record, &[])).iter().map(Phrase::plain).collect()
    }

    #[test]
    fn what_a_noisy_run_cannot_tell_is_not_called_the_same() {
        let sentence = |smallest_difference: f64| {
            let mut record = complete().record;
            record.cells.retain(|cell| cell.workload.script == "select-only");
            for (cell, (clients, tps)) in
                record.cells.iter_mut().zip([(2, 15_361.0), (4, 25_060.0), (8, 24_000.0)])
            {
                (cell.workload.clients, cell.tps.value) = (clients, tps);
            }
            for of in &mut record.noise_by_script {
                of.noise.smallest_difference = smallest_difference;
            }
            said(&record).remove(0)
        };
        let noisy = sentence(0.72);
        let words = "this run is too noisy to tell whether 2 clients (15,360 TPS) give less, since differences up to \
                     72.0 % are within the noise.";
        assert!(noisy.ends_with(words) && !noisy.contains("the same"), "{noisy}");
        let quiet = sentence(0.05);
        assert!(!quiet.contains("noisy") && !quiet.contains("2 clients"), "{quiet}");
    }

    #[test]
    fn one_script_over_two_protocols_has_a_sentence_for_each() {
        let mut record = complete().record;
        let mut simple: Vec<_> =
            record.cells.iter().filter(|cell| cell.workload.script == "select-only").cloned().collect();
        simple.iter_mut().for_each(|cell| cell.workload.protocol = "simple".into());
        record.cells.extend(simple);
        let found = said(&record);
        let begins = |words: &str| found.iter().filter(|sentence| sentence.starts_with(words)).count();
        assert_eq!((begins("select-only (prepared) "), begins("select-only (simple) ")), (1, 1), "{found:?}");
        assert_eq!(begins("tpcb-like "), 1, "only one protocol: {found:?}");
    }
}
