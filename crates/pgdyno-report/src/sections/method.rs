//! What the numbers of a report mean.

use crate::{
    block::{Block, Section, Tone},
    phrase::Piece,
    run::Run,
    sections::tpcc,
};

/// The remarks for this kind of run.
pub fn section(run: &Run<'_>) -> Section {
    let of = |remarks: &'static [&'static str], is: bool| if is { remarks } else { &[] };
    let compared = of(&COMPARISON, run.record.comparison.is_some());
    let several = of(&LEVELS, run.record.levels.is_some());
    let tpcc = of(&TPCC, tpcc::was_driven(run));
    let all = compared.iter().chain(several).chain(tpcc).chain(&ALWAYS);
    let remarks = all.map(|remark| Piece::Fixed(remark).into()).collect();
    Section::new("What a number means", Block::prose(Tone::Notes, remarks).into_iter().collect())
}

const ALWAYS: [&str; 5] = [
    "A cell is one script at one number of clients. It ran once in every block; TPS is the mean over its \
     blocks and ± the half-width of the 95 % interval of that mean (Student's t). A transaction counts \
     when its commit was acknowledged within the measured interval; the warm-up is left out.",
    "Latency runs from the instant an attempt was due to its answer. Percentiles come from the added \
     histograms of all blocks, never from averaged percentiles; one with fewer than 100 samples beyond it \
     is not shown.",
    "QPS counts SQL statements without BEGIN and END: TPS times the factor in the table. CPU is processor \
     time measured over the interval: processors used on average, and microseconds per transaction.",
    "Served from follows from measured reads: shared buffers, the operating system's page cache, or the \
     disk. The durability tier says what a crash may take of what was acknowledged.",
    "A dash is a value that could not be measured; it is never a zero. The doubts above are part of the \
     result.",
];

const COMPARISON: [&str; 5] = [
    "A block is one run of A and one of B, side by side in time; which goes first changes in the order AB BA BA AB. \
     Its observation is the logarithm of B over A. The effect is the mean of the observations, turned back into a \
     share, with the interval of Student's t.",
    "The looks at the result were fixed beforehand, and so was the confidence of each. All looks together say faster \
     or slower of two equal things at most one time in twenty. An interval within the margin means: no difference \
     that matters.",
    "The sign-flip test counts in how many of all patterns of signs the mean would be as far from zero; \
     Hodges-Lehmann is an estimate robust to outliers. Outliers are marked and never left out.",
    "Blocks of two runs of A show what the machine does by itself. An effect smaller than the smallest that so many \
     blocks can show is found only by luck. The table of cells has the blocks of A and B that the answer rests on, \
     without these.",
    "A and B are comparable if nothing differs but what was requested, and what a version brings by itself: defaults \
     that it changed. Whatever else differs may be the reason just as well. If compilers or flags differ, the \
     question is one of two builds and not of two versions.",
];

const LEVELS: [&str; 4] = [
    "At every level the subjects ran one after the other within each block, in an order that changes from block to \
     block and begins where the seed says, all with the same rows. Each has a server and data of its own; the others \
     are idle meanwhile.",
    "A level is judged by the logarithms of the ratios within its blocks: their mean turned back into a share, and the \
     interval of Student's t at 95 %. An interval above zero is faster, below zero slower, within the margin no \
     difference that matters, else it cannot tell. There is no verdict in an open loop, where TPS is the schedule's, \
     and none if a run committed fewer than 100.",
    "Every level is judged by itself: of twenty levels without any difference about one is called faster or slower all \
     the same. A star marks those that stay significant if all levels together may be wrong one time in twenty \
     (Bonferroni).",
    "The waits of sessions were sampled ten times a second from pg_stat_activity, by a session of pgdyno's own: \
     `running` waited for nothing that its version tells of (9.6 tells of no I/O), `client` for its client, or, \
     once that had spoken, for a processor: a session tells nothing else before it runs. \
     Of what is `not seen` the server tells nothing. Versions name wait events differently.",
];

const TPCC: [&str; 2] = [
    "NOPM are New-Orders a minute that were carried out and not rolled back, TPM all transactions a minute, with \
     those that were rolled back as they must; `done` counts these too. They are no tpmC: that word is for results \
     that were audited by the rules of the TPC.",
    "Each transaction is timed from the moment at which its terminal sends it, waiting for a free connection included. \
     Clauses are those of the TPC Benchmark C Standard Specification, revision 5.11; shares hold within four standard \
     deviations.",
];
