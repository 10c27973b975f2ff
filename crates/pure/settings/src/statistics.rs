//! What the server counts and shows of itself.

use pgdyno_core::facts::Choice;

use super::{
    inputs::Inputs,
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(
        page(
            "track_activities",
            Today::DefaultIsRight,
            "Whether each session shows its state and its statement in pg_stat_activity.",
            "Off saves two stores in shared memory for each statement, and blinds every tool that \
             watches the server: state, statement and times are gone, before 14 the wait events too.",
            manual::STATISTICS,
        )
        .can("Nobody sees what sessions do, or who is idle in a transaction."),
    )
    .judges(activities),
    Rule::of(
        page(
            "track_counts",
            Today::Dangerous,
            "Whether accesses to tables and changes of them are counted.",
            "autovacuum decides by these counts.",
            manual::STATISTICS,
        )
        .can("Without them autovacuum does nothing but prevent wraparound."),
    ),
    Rule::of(page(
        "track_functions",
        Today::Depends,
        "Whether calls of functions are counted and timed: none, pl (procedural languages only) or all.",
        "Each call then reads the clock twice.",
        manual::STATISTICS,
    )),
    Rule::of(page(
        "track_io_timing",
        Today::Kept,
        "Whether reads and writes of data are timed.",
        "EXPLAIN (ANALYZE, BUFFERS), pg_stat_database and pg_stat_io then show what storage costs. It \
         reads the clock twice for each call, some 50 ns with the clock source tsc, and microseconds \
         with hpet or acpi_pm: pg_test_timing, or pgdyno disk clock, measure it.",
        manual::STATISTICS,
    ))
    .recommends(track_io_timing)
    .judges(judge_io_timing),
    Rule::of(
        page(
            "track_wal_io_timing",
            Today::Depends,
            "Whether writes and flushes of WAL are timed.",
            "pg_stat_wal, from 18 on pg_stat_io, then shows what they cost; it reads the clock twice for \
         each call.",
            manual::STATISTICS,
        )
        .since(14),
    )
    .judges(judge_wal_timing),
    Rule::of(
        page(
            "track_cost_delay_timing",
            Today::Depends,
            "Whether the sleeps of vacuum for its cost limit are timed.",
            "It shows whether vacuum is slow because of its cost limit.",
            manual::STATISTICS,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "compute_query_id",
            Today::DefaultIsRight,
            "Whether statements get an identifier, which is the same for all values.",
            "auto does so where an extension such as pg_stat_statements asks for it.",
            manual::STATISTICS,
        )
        .since(14),
    ),
    Rule::of(page(
        "update_process_title",
        Today::DefaultIsRight,
        "Whether the titles of processes, as in ps, show what each does.",
        "On Linux it costs some stores for each statement. Off, ps and top no longer distinguish sessions \
         while the server does not answer. What it saves here: not measured.",
        manual::LOGGING,
    ))
    .judges(process_title),
];

fn activities(given: &Given<'_>) -> Finding {
    match (given.is_off(), given.inputs.version_num) {
        (true, ..140_000) => given.improve(
            "on",
            "pg_stat_activity shows neither state nor statement nor wait events: \
             observers are blind",
        ),
        (true, _) => given.improve(
            "on",
            "pg_stat_activity shows neither state nor statement: observers \
         are blind",
        ),
        (false, _) => given.fine("pg_stat_activity shows what sessions do"),
    }
}

fn track_io_timing(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "EXPLAIN (ANALYZE, BUFFERS) and pg_stat_database then show what reads and writes take";
    match inputs.host.kernel.clocks.current.as_deref() {
        Some("hpet" | "acpi_pm") => None,
        Some(_) => choice("track_io_timing", "on", reason),
        None => {
            let unless =
                "unless reading the clock is slow, which is not known here (`pgdyno disk clock` measures it)";
            choice("track_io_timing", "on", format!("{reason}, {unless}"))
        }
    }
}

fn judge_io_timing(given: &Given<'_>) -> Finding {
    match (given.is_off(), given.inputs.host.kernel.clocks.current.as_deref()) {
        (false, Some(slow @ ("hpet" | "acpi_pm"))) => given.improve(
            "off",
            format!(
                "reading the clock source {slow} takes about a microsecond or more, twice for each \
             call"
            ),
        ),
        (true, Some("hpet" | "acpi_pm")) => given.fine("the clock source is slow to read"),
        (true, _) => given.improve("on", "nothing shows how long reads and writes take"),
        (false, _) => given.fine("reads and writes are timed"),
    }
}

fn judge_wal_timing(given: &Given<'_>) -> Finding {
    match (given.is_off(), given.inputs.host.kernel.clocks.current.as_deref()) {
        (true, _) => given.fine("it is the default"),
        (false, Some("hpet" | "acpi_pm")) => judge_io_timing(given),
        (false, _) => given.fine("writes and flushes of WAL are timed"),
    }
}

fn process_title(given: &Given<'_>) -> Finding {
    match given.is_off() {
        true => given.improve(
            "on",
            "ps and top do not distinguish sessions; what it saves here: not \
         measured",
        ),
        false => given.fine("ps and top show what each process does"),
    }
}
