//! What the planner believes.

use pgdyno_core::{
    facts::{
        Choice,
        amount::{MB, format},
    },
    units::{self, count},
};

use super::{
    inputs::{
        Inputs, huge_pool_bytes, memory_outside, memory_words, outside_words, usable_memory_bytes, whole_mb,
    },
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Purpose, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "effective_cache_size",
        Today::Kept,
        "How much of the data the planner expects to find in memory, here and in the page cache.",
        "Three quarters of memory. It reserves nothing: a larger value makes index scans look cheaper.",
        manual::PLANNER,
    ))
    .recommends(effective_cache_size)
    .judges(judge_cache_size),
    Rule::of(page(
        "seq_page_cost",
        Today::DefaultIsRight,
        "What reading a page in sequence is estimated to cost: the unit of all other costs.",
        "Only ratios matter. If it is scaled, for example to milliseconds, all other costs must be scaled \
         by the same factor, also jit_above_cost, parallel_setup_cost and parallel_tuple_cost.",
        "PostgreSQL manual, Server Configuration, \"Planner Cost Constants\"",
    ))
    .judges(seq_page_cost),
    Rule::of(page(
        "random_page_cost",
        Today::Kept,
        "What reading a page out of sequence is estimated to cost, in units of seq_page_cost.",
        "The default of 4 is for rotating disks of which a part is cached. 1.1 where the kernel reports \
         storage without moving parts, or where nearly all is in memory; below 1 makes no sense. A guest does \
         not know what its disks are: they say that they rotate, whatever is behind them. If you know that \
         its storage is an SSD, set 1.1.",
        "PostgreSQL manual, Server Configuration, \"Planner Cost Constants\"",
    ))
    .recommends(random_page_cost)
    .judges(judge_random_page_cost),
    Rule::of(page(
        "cpu_tuple_cost",
        Today::DefaultIsRight,
        "What handling a row is estimated to cost, in units of seq_page_cost.",
        "A hundredth of a page. Values that were fitted to one machine and one query move plans \
         elsewhere.",
        "PostgreSQL manual, Server Configuration, \"Planner Cost Constants\"",
    ))
    .judges(cpu_cost),
    Rule::of(page(
        "cpu_index_tuple_cost",
        Today::DefaultIsRight,
        "What handling an index entry is estimated to cost, in units of seq_page_cost.",
        "A two-hundredth of a page. Values that were fitted to one machine and one query move plans \
         elsewhere.",
        "PostgreSQL manual, Server Configuration, \"Planner Cost Constants\"",
    ))
    .judges(cpu_cost),
    Rule::of(page(
        "cpu_operator_cost",
        Today::DefaultIsRight,
        "What an operator or a function is estimated to cost, in units of seq_page_cost.",
        "A four-hundredth of a page. Values that were fitted to one machine and one query move plans \
         elsewhere.",
        "PostgreSQL manual, Server Configuration, \"Planner Cost Constants\"",
    ))
    .judges(cpu_cost),
    Rule::of(page(
        "constraint_exclusion",
        Today::DefaultIsRight,
        "Whether the planner checks constraints to leave out tables: for partitions and inheritance, \
         always or never.",
        "on makes every query on every table pay for the check. Declarative partitions are pruned \
         without it from 11 on.",
        manual::PLANNER,
    )),
    Rule::of(page(
        "default_statistics_target",
        Today::Depends,
        "How detailed the statistics of a column are.",
        "100 is right for short transactions; 500 for few long queries, whose plans are worth a longer \
         ANALYZE and more time for planning. ANALYZE reads 300 times as many rows of a table. Single \
         columns can have more by ALTER TABLE ... SET STATISTICS. What it brings here: not measured.",
        manual::PLANNER,
    ))
    .recommends(statistics_target)
    .judges(judge_statistics_target),
    Rule::of(
        page(
            "jit",
            Today::Depends,
            "Whether expressions of queries above jit_above_cost are compiled.",
            "It pays for long queries with much computation. A short query whose cost is overestimated, as \
         over many partitions, is compiled for longer than it runs. Off by default in 11, on from 12 on, \
         without effect in a server built without LLVM. What it brings here: not measured.",
            "PostgreSQL manual, chapter \"Just-in-Time Compilation\"",
        )
        .since(11),
    )
    .recommends(jit)
    .judges(judge_jit),
    Rule::of(
        page(
            "jit_above_cost",
            Today::Depends,
            "From which estimated cost on a query is compiled; -1 never.",
            "Raising it keeps compilation for queries that run for seconds.",
            manual::PLANNER,
        )
        .since(11),
    ),
    Rule::of(
        page(
            "plan_cache_mode",
            Today::DefaultIsRight,
            "Whether a prepared statement has one plan for all values, one for each execution, or what \
         proves cheaper.",
            "auto plans the first five executions for themselves and then compares. Sessions that know \
         better can SET it.",
            manual::PLANNER,
        )
        .since(12),
    ),
    Rule::of(
        page(
            "enable_partitionwise_join",
            Today::Depends,
            "Whether tables that are partitioned alike are joined partition by partition.",
            "It helps long queries over partitions, and costs time and memory for planning, which is why it \
         is off.",
            manual::PLANNER,
        )
        .since(11),
    ),
    Rule::of(
        page(
            "enable_partitionwise_aggregate",
            Today::Depends,
            "Whether a partitioned table is grouped partition by partition.",
            "It helps long queries over partitions, and costs time and memory for planning, which is why it \
         is off.",
            manual::PLANNER,
        )
        .since(11),
    ),
    Rule::of(
        page(
            "gin_fuzzy_search_limit",
            Today::DefaultIsRight,
            "About how many rows a search by a GIN index returns at most; 0 is without a limit.",
            "With a limit it returns a random part of the result.",
            "PostgreSQL manual, GIN Indexes, \"GIN Tips and Tricks\"",
        )
        .can("Queries silently return a part of their rows."),
    ),
];

fn effective_cache_size(inputs: &Inputs<'_>) -> Option<Choice> {
    let (bytes, host) = (cache_bytes(inputs), inputs.host);
    let of_what = match bytes == share_of_memory(inputs) {
        true => format!("three quarters of {}", memory_words(host)),
        false => format!(
            "shared_buffers, and three quarters of what is outside {}",
            outside_words(host, inputs.shared_buffers_bytes())
        ),
    };
    choice("effective_cache_size", format(bytes), format!("{of_what}: a hint to the planner, not reserved"))
}

fn share_of_memory(inputs: &Inputs<'_>) -> u64 {
    whole_mb(usable_memory_bytes(inputs.host) / 4 * 3, MB)
}

/// Three quarters of memory; with a pool of huge pages, which no page cache can use, shared buffers and three
/// quarters of the rest.
fn cache_bytes(inputs: &Inputs<'_>) -> u64 {
    let (host, buffers) = (inputs.host, inputs.shared_buffers_bytes());
    match huge_pool_bytes(host) {
        0 => share_of_memory(inputs),
        _ => share_of_memory(inputs).min(whole_mb(buffers + memory_outside(host, buffers) / 4 * 3, MB)),
    }
}

fn judge_cache_size(given: &Given<'_>) -> Finding {
    let memory = usable_memory_bytes(given.inputs.host);
    let bytes = given.bytes().unwrap_or(0);
    let shared = given.other_number("shared_buffers").unwrap_or(0.0);
    let recommended = cache_bytes(given.inputs);
    if bytes > memory {
        let reason = format!("more than the {} cannot be cached", memory_words(given.inputs.host));
        return given.improve(format(recommended), reason);
    }
    match (bytes as f64) < shared {
        true => given.improve(
            format(recommended.max(shared as u64 / MB * MB)),
            format!("less than shared_buffers, {}, which are a part of it", units::bytes(shared as u64)),
        ),
        false => given.by_size(),
    }
}

fn seq_page_cost(given: &Given<'_>) -> Finding {
    let cost = given.number().unwrap_or(1.0);
    match cost {
        _ if given.is("1") => given.fine("the unit of all costs"),
        0.1..=10.0 => given.fine("only its ratio to the other costs matters"),
        _ => given.improve(
            "1.0",
            format!(
                "costs are in another unit ({cost} for a page), in which jit_above_cost = {} and parallel_setup_cost \
                 = {} are {:.0} times as much as intended, unless they are scaled too",
                given.other("jit_above_cost"),
                given.other("parallel_setup_cost"),
                1.0 / cost.max(1e-9)
            ),
        ),
    }
}

/// `random_page_cost` of storage without moving parts.
pub(super) const COST_OF_FAST_STORAGE: &str = "1.1";

fn random_page_cost(inputs: &Inputs<'_>) -> Option<Choice> {
    inputs.is_fast().then(|| {
        choice(
            "random_page_cost",
            COST_OF_FAST_STORAGE,
            "the kernel reports non-rotational storage for the data",
        )
    })?
}

fn judge_random_page_cost(given: &Given<'_>) -> Finding {
    let page = given.other_number("seq_page_cost").unwrap_or(1.0);
    let ratio = given.number().unwrap_or(4.0) / page.max(1e-9);
    let words = format!("{ratio:.2} times seq_page_cost = {page}");
    let scaled = |times: f64| format!("{}", times * page);
    match given.inputs.rotates() {
        _ if ratio < 1.0 - 1e-9 => {
            given.improve(scaled(1.0), format!("{words}: no page is cheaper out of sequence"))
        }
        Some(false) if ratio > 2.0 => given.improve(
            scaled(1.1),
            format!(
                "{words}, and the kernel reports non-rotational storage: index scans look too \
             expensive"
            ),
        ),
        Some(true) if ratio < 2.0 => given.improve(
            scaled(4.0),
            format!(
                "{words}, and the kernel reports a rotating disk: right only if nearly all data is \
             in memory"
            ),
        ),
        _ => given.fine(words),
    }
}

fn cpu_cost(given: &Given<'_>) -> Finding {
    let page = given.other_number("seq_page_cost").unwrap_or(1.0).max(1e-9);
    let usual: f64 = given.default().parse().unwrap_or(1.0);
    let ratio = given.number().unwrap_or(usual) / page;
    let factor = ratio / usual;
    match factor {
        0.999..=1.001 => given.fine("its usual ratio to seq_page_cost"),
        0.2..=5.0 => given.fine(format!(
            "{ratio:.4} of seq_page_cost = {page}, {factor:.1} times the \
         usual {usual}"
        )),
        _ => given.improve(
            format!("{:.3e}", usual * page).parse::<f64>().unwrap_or(usual),
            format!(
                "{ratio:.4} of seq_page_cost = {page}, {factor:.1} times the usual {usual}: it moves \
             plans"
            ),
        ),
    }
}

fn statistics_target(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "few long queries: better estimates are worth a longer ANALYZE";
    (inputs.purpose == Purpose::Olap).then(|| choice("default_statistics_target", "500", reason))?
}

fn judge_statistics_target(given: &Given<'_>) -> Finding {
    let target = given.number().unwrap_or(100.0);
    let better = statistics_target(given.inputs).map_or_else(|| "100".to_owned(), |choice| choice.value);
    let words = format!("ANALYZE reads {} rows of a table", count((300.0 * target) as u64));
    match target {
        ..100.0 => given.improve(better, format!("{words}, too few to know the values of most columns")),
        _ if given.is("100") => given.by_recommendation(),
        ..=1_000.0 => given.fine(words),
        _ => given.improve(
            better,
            format!("{words}, and planning reads up to {target} values of every column that a query names"),
        ),
    }
}

fn jit(inputs: &Inputs<'_>) -> Option<Choice> {
    let is_on = inputs.version_num >= 120_000;
    let reason = "short transactions do not earn back what compiling takes";
    (is_on && inputs.purpose == Purpose::Oltp).then(|| choice("jit", "off", reason))?
}

fn judge_jit(given: &Given<'_>) -> Finding {
    match (given.is_off(), given.inputs.purpose) {
        (true, Purpose::Olap) => given.fine(
            "long queries do without compiled expressions; what that \
         costs: not measured",
        ),
        (true, _) => given.fine("no query is compiled"),
        (false, Purpose::Oltp) => given.improve(
            "off",
            format!(
                "a query estimated above {} is compiled, however short it is",
                given.other("jit_above_cost")
            ),
        ),
        (false, _) => {
            given.fine(format!("queries estimated above {} are compiled", given.other("jit_above_cost")))
        }
    }
}
