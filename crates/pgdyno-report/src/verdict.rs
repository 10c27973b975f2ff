//! The opening sentences: what was found, in plain English, with its spread.

use pgdyno_analysis::MAX_HALF_WIDTH;
use pgdyno_core::measure::{CellSummary, Workload};
use pgdyno_record::{NoiseRecord, RunRecord, ScriptNoise};

use crate::{
    figure::{Format, Phrase, Source},
    subjects::name_of_work,
};

/// A sentence for each workload; one that says why there is none where nothing was measured.
pub fn verdict(record: &RunRecord, source: &Source) -> Vec<Phrase> {
    let mut works: Vec<Work<'_>> = Vec::new();
    for cell in &record.cells {
        let work = work(&cell.workload);
        if !works.contains(&work) {
            works.push(work);
        }
    }
    if works.is_empty() {
        return vec![Phrase::of("Nothing was measured.")];
    }
    let sentences = works.into_iter().filter_map(|work| sentence(record, source, work));
    violated(record, source).into_iter().chain(sentences).collect()
}

/// Numbers of a server that loses data come after that news.
fn violated(record: &RunRecord, source: &Source) -> Option<Phrase> {
    let balance = record.subjects.first()?.balance.as_ref();
    balance.filter(|balance| balance.violations > 0)?;
    let violations = source.figure("/subjects/0/balance/violations", Format::Count);
    Some(
        Phrase::of("The balance check failed (violations: ")
            .figure(violations)
            .text("): do not use these numbers."),
    )
}

/// A script and how its statements were sent.
type Work<'a> = (&'a str, &'a str);

fn work(of: &Workload) -> Work<'_> {
    (&of.script, &of.protocol)
}

fn sentence(record: &RunRecord, source: &Source, of: Work<'_>) -> Option<Phrase> {
    let own = |(_, cell): &(usize, &CellSummary)| work(&cell.workload) == of;
    let cells: Vec<_> = record.cells.iter().enumerate().filter(own).collect();
    let best = *cells.iter().max_by(|a, b| a.1.tps.value.total_cmp(&b.1.tps.value))?;
    let at = |field: &str, format| source.figure(format!("/cells/{}/{field}", best.0), format);
    let spread =
        source.share(format!("/cells/{}/tps/half_width", best.0), format!("/cells/{}/tps/value", best.0));
    let phrase = name_of_work(record, source, &format!("/cells/{}/workload", best.0), of.0)
        .text(verb(record, &cells, best.1))
        .figure(at("tps/value", Format::Rate))
        .text(" TPS");
    let phrase = match spread {
        Some(_) => phrase.maybe(" (±\u{a0}", spread, ")"),
        None if best.1.tps.count > 1 => phrase
            .text(" (blocks from ")
            .figure(at("tps/min", Format::Rate))
            .text(" to ")
            .figure(at("tps/max", Format::Rate))
            .text(")"),
        None => phrase.text(" (a single block: spread unknown)"),
    };
    let clients = if best.1.workload.clients == 1 { " client" } else { " clients" };
    Some(
        phrase
            .text(" at ")
            .figure(at("workload/clients", Format::Count))
            .text(clients)
            .maybe(", p99 ", at("latency/p99_ns", Format::Latency), "")
            .then(if is_offered(best.1) {
                Phrase::default()
            } else {
                as_good(record, source, &cells, best.1)
            })
            .text("."),
    )
}

/// Whether what is carried out is set by a rate or a pace, and not by what the server can do.
fn is_offered(cell: &CellSummary) -> bool {
    cell.workload.rate_per_s.is_some() || cell.tpcc.as_ref().is_some_and(|tpcc| tpcc.run.paced)
}

/// A peak has something lower on its right: a maximum at the end of what was tried is none, nor is one that more
/// clients come as near to as this run can tell.
fn verb(record: &RunRecord, cells: &[(usize, &CellSummary)], best: &CellSummary) -> &'static str {
    let mut more = cells.iter().filter(|(_, cell)| cell.workload.clients > best.workload.clients).peekable();
    let falls = more.peek().is_some() && more.all(|(_, cell)| !is_as_good(record, cell, best));
    match () {
        () if is_offered(best) => " carried out ",
        () if falls => " peaks at ",
        () => " reaches ",
    }
}

/// What this run can tell apart among the cells of one script, with its place in the record.
fn noise_of<'a>(record: &'a RunRecord, best: &CellSummary) -> Option<(String, &'a NoiseRecord)> {
    let of = |name: &str| {
        let same = |of: &ScriptNoise| (of.script.as_str(), &of.subject) == (name, &best.workload.subject);
        let at = record.noise_by_script.iter().position(same)?;
        Some((format!("/noise_by_script/{at}/noise"), &record.noise_by_script[at].noise))
    };
    // Older records do not tell protocols apart.
    let own = of(&best.workload.title()).or_else(|| of(&best.workload.script));
    let all = || Some(("/noise".to_owned(), record.noise.as_ref()?));
    own.or_else(|| all().filter(|_| record.noise_by_script.is_empty()))
}

/// Whether this run cannot tell a cell from the best one.
fn is_as_good(record: &RunRecord, cell: &CellSummary, best: &CellSummary) -> bool {
    let noise = noise_of(record, best);
    noise.is_some_and(|(_, noise)| cell.tps.value >= best.tps.value / (1.0 + noise.smallest_difference))
}

/// The fewest clients that this run cannot tell from the best; or that more clients were not tried.
fn as_good(
    record: &RunRecord,
    source: &Source,
    cells: &[(usize, &CellSummary)],
    best: &CellSummary,
) -> Phrase {
    let most = cells.iter().map(|(_, cell)| cell.workload.clients).max();
    let fewer = cells.iter().filter(|(_, cell)| cell.workload.clients < best.workload.clients);
    let near = fewer
        .filter(|(_, cell)| is_as_good(record, cell, best))
        .min_by_key(|(_, cell)| cell.workload.clients);
    match near {
        Some((index, cell)) => near_words(record, source, *index, cell, best),
        None if cells.len() > 1 && most == Some(best.workload.clients) => {
            Phrase::of("; it may rise further, more clients were not tried")
        }
        None => Phrase::default(),
    }
}

/// What is said of fewer clients that do not stand out from the best: where hardly anything would, that is no likeness.
fn near_words(
    record: &RunRecord,
    source: &Source,
    index: usize,
    cell: &CellSummary,
    best: &CellSummary,
) -> Phrase {
    let at = |field: &str, format| source.figure(format!("/cells/{index}/{field}"), format);
    let one = cell.workload.clients == 1;
    let clients = Phrase::default().figure(at("workload/clients", Format::Count)).text(if one {
        " client"
    } else {
        " clients"
    });
    match noise_of(record, best).filter(|(_, noise)| noise.smallest_difference > MAX_HALF_WIDTH) {
        Some((place, _)) => Phrase::of("; this run is too noisy to tell whether ")
            .then(clients)
            .text(" (")
            .figure(at("tps/value", Format::Rate))
            .text(if one { " TPS) gives less" } else { " TPS) give less" })
            .maybe(
                ", since differences up to ",
                source.figure(format!("{place}/smallest_difference"), Format::Percent),
                " do not stand out",
            ),
        None => Phrase::of("; ")
            .then(clients)
            .text(if one { " gives" } else { " give" })
            .text(" the same within what this run can tell apart"),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_record::fixtures::complete;

    use super::*;

    #[test]
    fn what_a_noisy_run_cannot_tell_is_not_called_the_same() {
        let told = |smallest_difference: f64| {
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
            let source = Source(serde_json::to_value(&record).expect("plain data"));
            verdict(&record, &source)[0].plain()
        };
        let noisy = told(0.72);
        let words = "this run is too noisy to tell whether 2 clients (15,361 TPS) give less, since differences up to \
                     72.0 % do not stand out.";
        assert!(noisy.ends_with(words) && !noisy.contains("the same"), "{noisy}");
        let quiet = told(0.05);
        assert!(!quiet.contains("noisy") && !quiet.contains("2 clients"), "{quiet}");
    }

    #[test]
    fn one_script_over_two_protocols_has_a_sentence_for_each() {
        let mut record = complete().record;
        let mut simple: Vec<_> =
            record.cells.iter().filter(|cell| cell.workload.script == "select-only").cloned().collect();
        simple.iter_mut().for_each(|cell| cell.workload.protocol = "simple".into());
        record.cells.extend(simple);
        let source = Source(serde_json::to_value(&record).expect("plain data"));
        let found: Vec<_> = verdict(&record, &source).iter().map(|sentence| sentence.plain()).collect();
        let begins = |words: &str| found.iter().filter(|sentence| sentence.starts_with(words)).count();
        assert_eq!((begins("select-only (prepared) "), begins("select-only (simple) ")), (1, 1), "{found:?}");
        assert_eq!(begins("tpcb-like "), 1, "only one protocol: {found:?}");
    }
}
