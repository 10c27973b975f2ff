//! Explanations of the numbers in a report.

use pgdyno_document::{
    block::{Block, Section, Tone},
    phrase::Piece,
};

use crate::{run::Run, sections::tpcc};

/// The explanations for this kind of run.
pub fn section(run: &Run<'_>) -> Section {
    let of = |remarks: &'static [&'static str], is: bool| if is { remarks } else { &[] };
    let compared = of(&COMPARISON, run.record.comparison.is_some());
    let starts = of(&STARTS, run.record.plan.blocks_per_start.is_some());
    let given = of(&GIVEN_ORDER, run.record.plan.given_order);
    let slots = of(&SLOTS, run.record.plan.slots);
    let several = of(&LEVELS, run.record.levels.is_some());
    let waits = of(&WAITS, run.record.cells.iter().any(|cell| cell.waits.is_some()));
    let tpcc = of(&TPCC, tpcc::was_driven(run));
    let all = compared
        .iter()
        .chain(starts)
        .chain(given)
        .chain(slots)
        .chain(several)
        .chain(waits)
        .chain(tpcc)
        .chain(&ALWAYS);
    let remarks = all.map(|remark| Piece::Fixed(remark).into()).collect();
    Section::new("How to read the numbers", Block::prose(Tone::Notes, remarks).into_iter().collect())
}

const ALWAYS: [&str; 5] = [
    "A cell is one script at one client count, run once in every block. TPS is the mean over its blocks, and \
     ± the half-width of the 95 % confidence interval of that mean (Student's t, with a variance moderated over the \
     cells of a script). It is about this session: another hour may differ by more. A transaction counts if its commit \
     was acknowledged within the measured interval; the warm-up is not counted.",
    "Latency is the time from the due time of an attempt to its answer. Percentiles are computed from the added \
     histograms of all blocks, never averaged; a percentile is shown with 100 samples beyond it, in three \
     blocks (all, if there are fewer) and ten different seconds (half of them, if there are fewer than twenty). \
     Silence is the longest time in which no client committed.",
    "QPS counts SQL statements without BEGIN and END: TPS times the factor in the table. CPU is the CPU \
     time of the measured interval: CPUs used on average, and microseconds per transaction.",
    "Served from is derived from measured reads: shared buffers, the operating system's page cache, or disk. The \
     durability tier shows which acknowledged commits a crash may lose.",
    "A dash is a value that could not be measured, never a zero. The doubts above are part of the result.",
];

const COMPARISON: [&str; 5] = [
    "A block is one run of A and one of B in succession, in the order AB BA BA AB. Its observation is the logarithm of \
     B over A. The effect is their mean as a share, without one block in eight at each end, with a confidence interval \
     by Student's t.",
    "The looks at the result and their confidence levels were fixed in advance. If A and B are equal, all looks \
     together report faster or slower one time in twenty; those of a comparison that was continued by --more-blocks \
     (see the doubts), in at most 7.5 of 100. An interval within the equivalence margin means no difference that \
     matters.",
    "The sign-flip test counts the share of all sign patterns with a mean as far from zero; Hodges-Lehmann is an \
     estimate robust to outliers. Outliers are marked and never removed.",
    "The noise floor is the scatter of the observations between blocks. An effect below the smallest one that this \
     number of blocks can show is found only by chance.",
    "A and B are comparable if only the requested differences exist, and defaults changed by the version. Any other \
     difference may be the cause of the effect. If compilers or flags differ, two builds are compared, not two \
     versions.",
];

const STARTS: [&str; 1] = [
    "The servers were restarted between blocks, because effects of a start, such as memory placement, last until the \
     next one. The mean of the blocks of a start is one observation. After a start each subject made a practice run \
     that is not counted, and servers with data of the same format passed the data on to each other.",
];

const SLOTS: [&str; 1] = [
    "A and B alternated in slots: their clients kept their connections, and between slots pgdyno ran no CHECKPOINT, \
     VACUUM or restore. The warm-up before each slot excludes the cost of the change itself. Tables of both arms aged \
     alike; they were restored after each start.",
];

const GIVEN_ORDER: [&str; 1] = [
    "Runs had the order of the plan: one workload after the other, and client counts as listed. A drift of the \
     machine, and what a run leaves in caches for the next, are part of the differences between workloads and between \
     client counts.",
];

const LEVELS: [&str; 3] = [
    "At every level the subjects ran one after the other within each block, with the same rows, in an order that \
     changes from block to block and depends on the seed. Each subject has its own server and data; the other servers \
     are idle.",
    "The verdict on a level is computed from the logarithms of the ratios within its blocks, with a 95 % confidence \
     interval by Student's t. An interval above zero means faster, below zero slower, within the equivalence margin no \
     difference that matters; otherwise the result is cannot tell. There is no verdict in an open loop, where TPS \
     follows the schedule, and none if a run committed fewer than 100 transactions, or 50 per client.",
    "In the table of levels each is judged separately: of twenty levels without a difference, about one is called \
     faster or slower there by chance. A star marks those that are significant after Holm correction over all levels \
     and scripts, and only these count as differences in the table at the head. Its comparison is the mean over all \
     levels of a script. Variances are moderated over the levels of a script.",
];

const WAITS: [&str; 1] = [
    "Wait events were sampled from pg_stat_activity ten times per second. `running` means no wait event (9.6 has none \
     for I/O, 9.5 only locks). `client` means waiting for the client, or, after its message arrived, for a CPU, \
     because the session clears the event only when it runs. `not seen` means that the server reported nothing. \
     Names of wait events differ between versions.",
];

const TPCC: [&str; 2] = [
    "NOPM are New-Orders per minute that were not rolled back, TPM all transactions per minute, including intended \
     rollbacks; `done` includes these, too, and so does the throughput of clause 5.4. None of them is tpmC, a term \
     reserved for results audited by the rules of the TPC.",
    "Response times begin when the terminal sends the transaction, and include the wait for a free connection. Clauses \
     refer to the TPC Benchmark C Standard Specification, revision 5.11; shares may deviate by four standard \
     deviations.",
];
