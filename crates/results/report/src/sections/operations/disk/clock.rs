//! The cost of a timer call.

use pgdyno_core::{
    disk::clock::{AnsweredIn, ClockReport, ClockVerdict, explain_timing_s, io_timing_share},
    units,
};
use pgdyno_document::{
    block::{Block, Column, Fact, Row, Table, Tone},
    figure::Format::{Count, Latency, Nanoseconds, Percent, Text},
    phrase::{Phrase, maybe, phrase},
};

use crate::source::Place;

/// Most rows of the histogram.
const MOST_ROWS: usize = 12;
/// The plan for which the cost of EXPLAIN is reported.
const ROWS: u64 = 1_000_000;
const NODES: u32 = 2;
/// A read from the page cache and one from a fast device, in nanoseconds.
const IO_NS: [(&str, f64); 2] =
    [("a read of 2 µs (page cache)", 2_000.0), ("a read of 100 µs (SSD)", 100_000.0)];

/// Cost and verdict.
pub(super) fn sentence(at: &Place<'_>, of: &ClockReport) -> Phrase {
    phrase![
        "A timer call takes ",
        at.figure("per_call_ns", Latency),
        maybe(" (clock source ", at.figure("source", Text), ")"),
        ": ",
        words(of.verdict()),
        "."
    ]
}

fn words(verdict: ClockVerdict) -> &'static str {
    match verdict {
        ClockVerdict::Good => "good enough for EXPLAIN ANALYZE and track_io_timing",
        ClockVerdict::Slow => "slow, so that EXPLAIN ANALYZE and track_io_timing are expensive",
        ClockVerdict::Coarse => "coarse, so that short times are not measured",
        ClockVerdict::Backwards => "it went backwards, so that no duration can be trusted",
    }
}

pub(super) fn blocks(at: &Place<'_>, of: &ClockReport) -> Vec<Block> {
    let warnings = Block::prose(Tone::Warning, warnings(at, of));
    let facts = Block::facts(facts(at, of));
    [facts].into_iter().chain(warnings).chain([Block::Table(histogram(at, of))]).collect()
}

fn facts(at: &Place<'_>, of: &ClockReport) -> Vec<Fact> {
    let answered = match of.answered_in {
        Some(AnsweredIn::UserSpace) => ", answered in user space (vDSO)",
        Some(AnsweredIn::Kernel) => ", answered by the kernel (system call)",
        None => "",
    };
    let loops = phrase![
        at.figure("per_call_ns", Latency),
        answered,
        "; ",
        at.figure("per_loop_ns", Latency),
        " with the counting of pg_test_timing"
    ];
    let available = of.available.join(", ");
    let mut facts = vec![
        Fact::new("timer call", loops),
        Fact::new("clock source", phrase![at.figure("source", Text), maybe_list(&available)]),
        Fact::new("resolution seen", at.figure("resolution_ns", Nanoseconds)),
        Fact::new("verdict", words(of.verdict())),
    ];
    let cost_s = explain_timing_s(of.per_call_ns, ROWS, NODES);
    facts.push(Fact::new(
        "EXPLAIN ANALYZE",
        format!("adds {} to a plan whose two nodes return a million rows each", units::duration(cost_s)),
    ));
    let shares = IO_NS.iter().filter_map(|(what, io_ns)| {
        Some(format!("{} to {what}", units::percent(io_timing_share(of.per_call_ns, *io_ns)?)))
    });
    let shares: Vec<_> = shares.collect();
    facts.push(Fact::new("track_io_timing", format!("adds {}", shares.join(", "))));
    facts
}

fn maybe_list(available: &str) -> String {
    if available.is_empty() { String::new() } else { format!(" (available: {available})") }
}

fn warnings(at: &Place<'_>, of: &ClockReport) -> Vec<Phrase> {
    let backwards = (of.backwards > 0).then(|| {
        phrase![
            "! The clock went backwards ",
            at.figure("backwards", Count),
            " times, at most by ",
            at.figure("max_backwards_ns", Nanoseconds)
        ]
    });
    let better = of.better_source().map(|source| {
        phrase![format!("! The kernel could use the clock source {source}, which is read in user space")]
    });
    backwards.into_iter().chain(better).collect()
}

/// The most frequent differences, and the longest.
fn histogram(at: &Place<'_>, of: &ClockReport) -> Table {
    let mut kept: Vec<usize> = (0..of.histogram.len()).collect();
    kept.sort_by_key(|index| std::cmp::Reverse(of.histogram[*index].count));
    kept.truncate(MOST_ROWS);
    kept.sort_unstable();
    let row = |index: usize| {
        let own = at.at("histogram").at(index);
        let bucket = &of.histogram[index];
        let to = (bucket.to_ns > bucket.from_ns).then(|| phrase![" to ", own.figure("to_ns", Nanoseconds)]);
        let from = phrase![own.figure("from_ns", Nanoseconds), to.unwrap_or_default()];
        let share = bucket.count as f64 / of.calls.max(1) as f64;
        Row::new(false, [from.into(), own.figure("count", Count).into(), units::percent(share).into()])
    };
    let columns = vec![Column::words("difference"), Column::number("count"), Column::number("share")];
    let all = Row::new(
        true,
        ["below 1 µs".into(), "".into(), phrase![at.figure("below_1us_share", Percent)].into()],
    );
    Table::new(columns, kept.into_iter().map(row).chain([all]).collect())
}
