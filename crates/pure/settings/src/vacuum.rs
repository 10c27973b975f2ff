//! Vacuum, automatic and not, and freezing.

use pgdyno_core::{
    facts::{Choice, amount::BLOCK},
    units::{bytes_per_s, count, duration},
};

use super::{
    inputs::Inputs,
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(
        page(
            "autovacuum",
            Today::Dangerous,
            "Whether tables are vacuumed and analysed automatically.",
            "It can be turned off for single tables during a load. A server without it bloats, plans \
             with old statistics, and still starts workers against wraparound, when they are least \
             welcome.",
            manual::VACUUM,
        )
        .can(
            "Tables grow without bound, and all of them need freezing at once when \
         autovacuum_freeze_max_age is reached.",
        ),
    )
    .judges(autovacuum),
    Rule::of(page(
        "autovacuum_max_workers",
        Today::Depends,
        "How many tables autovacuum works on at a time.",
        "All workers share one cost limit, so that more of them do not vacuum faster while a delay \
         applies: raise autovacuum_vacuum_cost_limit first. More help where many tables wait behind a \
         few large ones.",
        manual::VACUUM,
    ))
    .judges(workers),
    Rule::of(
        page(
            "autovacuum_worker_slots",
            Today::DefaultIsRight,
            "Up to how many workers autovacuum_max_workers may be raised without a restart.",
            "16 is enough room for most.",
            manual::VACUUM,
        )
        .since(18),
    ),
    Rule::of(page(
        "autovacuum_naptime",
        Today::Depends,
        "How often each database is checked for tables to vacuum.",
        "1 min is soon enough unless small tables are updated so often that they bloat meanwhile. With \
         many databases a short time makes the launcher busy.",
        manual::VACUUM,
    )),
    Rule::of(page(
        "autovacuum_vacuum_scale_factor",
        Today::Depends,
        "Which part of a table must be dead rows for a vacuum, in addition to autovacuum_vacuum_threshold.",
        "0.2 is right for small tables and late for large ones, for which it can be set table by table. \
         From 18 on autovacuum_vacuum_max_threshold bounds it.",
        manual::VACUUM,
    ))
    .judges(scale_factor),
    Rule::of(page(
        "autovacuum_analyze_scale_factor",
        Today::Depends,
        "Which part of a table must have changed for an analyze, in addition to autovacuum_analyze_threshold.",
        "0.1 is right for most; large tables whose newest rows are queried most want less, table by \
         table.",
        manual::VACUUM,
    ))
    .judges(scale_factor),
    Rule::of(
        page(
            "autovacuum_vacuum_insert_threshold",
            Today::DefaultIsRight,
            "From how many inserted rows on a table is vacuumed although no row is dead; -1 never.",
            "Tables that only grow get their visibility map, for index-only scans, and are frozen in time.",
            manual::VACUUM,
        )
        .since(13),
    ),
    Rule::of(
        page(
            "autovacuum_vacuum_insert_scale_factor",
            Today::DefaultIsRight,
            "Which part of a table must be new rows for a vacuum, in addition to \
         autovacuum_vacuum_insert_threshold.",
            "Tables that only grow get their visibility map, for index-only scans, and are frozen in time.",
            manual::VACUUM,
        )
        .since(13),
    ),
    Rule::of(
        page(
            "autovacuum_vacuum_max_threshold",
            Today::DefaultIsRight,
            "From how many dead rows on a table is vacuumed, whatever its size; -1 is without this bound.",
            "It takes the place of small scale factors for very large tables.",
            manual::VACUUM,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "autovacuum_freeze_max_age",
            Today::Depends,
            "At which age of its oldest row version, in transactions, a table is vacuumed even if \
             autovacuum is off.",
            "Transaction ids are 32 bits: some three million transactions before 2^31 the server assigns \
             no more (a million before 14). A high value saves vacuums of tables that do not change, and \
             leaves less time for the last one; the commit log keeps two bits for each transaction of \
             that age, 50 MB by default.",
            manual::WRAPAROUND,
        )
        .can(
            "Near 2^31 too few transactions are left to vacuum a large table, and the server accepts no \
         more commands that need one.",
        ),
    )
    .judges(freeze_max_age),
    Rule::of(
        page(
            "autovacuum_multixact_freeze_max_age",
            Today::Depends,
            "At which age of its oldest multixact a table is vacuumed even if autovacuum is off.",
            "Multixacts represent several transactions that lock a row, as foreign keys do. Their ids \
             are 32 bits as well, and up to 18 their members share a space of 2^32, near whose end \
             vacuum becomes aggressive whatever this says.",
            manual::WRAPAROUND,
        )
        .can(
            "Near 2^31 too few multixacts are left to vacuum a large table, and the server accepts no \
         more commands that need one.",
        ),
    )
    .judges(freeze_max_age),
    Rule::of(page(
        "autovacuum_vacuum_cost_delay",
        Today::Kept,
        "How long a worker of autovacuum sleeps whenever its cost limit is used up; 0 never.",
        "2 ms is the default from 12 on; 20 ms before let it read at most 8 MB/s from beyond \
         shared_buffers, too slow for today's tables and storage. With 0, workers take what storage \
         gives.",
        "PostgreSQL manual, \"Cost-based Vacuum Delay\"; release notes of 12",
    ))
    .recommends(cost_delay)
    .judges(judge_cost_delay),
    Rule::of(page(
        "autovacuum_vacuum_cost_limit",
        Today::Depends,
        "The cost that all workers of autovacuum together may use between two delays; -1 is \
         vacuum_cost_limit.",
        "Raise it where autovacuum does not keep up and storage has room; it does nothing with a delay \
         of 0.",
        manual::VACUUM,
    ))
    .judges(autovacuum_cost_limit),
    Rule::of(page(
        "vacuum_cost_delay",
        Today::DefaultIsRight,
        "How long a manual VACUUM sleeps whenever its cost limit is used up.",
        "0, the default, lets it run at full speed. It concerns autovacuum only where \
         autovacuum_vacuum_cost_delay is -1.",
        manual::VACUUM,
    ))
    .judges(judge_manual_delay),
    Rule::of(page(
        "vacuum_cost_limit",
        Today::Depends,
        "The cost that a vacuum may use between two delays.",
        "autovacuum has it too while autovacuum_vacuum_cost_limit is -1, its default: it then is shared \
         by all workers.",
        manual::VACUUM,
    ))
    .judges(cost_limit),
    Rule::of(page(
        "vacuum_freeze_table_age",
        Today::Depends,
        "From which age on a vacuum reads all pages that are not yet frozen.",
        "It is limited without a message to 95 % of autovacuum_freeze_max_age, so that a vacuum that is \
         due in any case comes before the forced one.",
        manual::VACUUM,
    ))
    .judges(freeze_table_age),
    Rule::of(page(
        "vacuum_multixact_freeze_table_age",
        Today::Depends,
        "From which age in multixacts on a vacuum reads all pages that are not yet frozen.",
        "It is limited without a message to 95 % of autovacuum_multixact_freeze_max_age.",
        manual::VACUUM,
    ))
    .judges(freeze_table_age),
    Rule::of(
        page(
            "vacuum_failsafe_age",
            Today::DefaultIsRight,
            "From which age on a vacuum drops delays and indexes to freeze in time.",
            "A last resort, at 1.6 billion transactions; it is limited to at least 105 % of \
         autovacuum_freeze_max_age.",
            manual::VACUUM,
        )
        .since(14),
    ),
    Rule::of(
        page(
            "vacuum_max_eager_freeze_failure_rate",
            Today::DefaultIsRight,
            "Which part of the pages that a vacuum scans eagerly may turn out not to be freezable.",
            "Scanning some pages early spreads the work of freezing.",
            manual::VACUUM,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "vacuum_truncate",
            Today::Depends,
            "Whether a vacuum gives empty pages at the end of a table back to the file system.",
            "It takes an exclusive lock for a moment, which standbys replay: queries there can be \
         cancelled.",
            manual::VACUUM,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "old_snapshot_threshold",
            Today::Obsolete,
            "After which time row versions that an old snapshot still needs may be removed; -1 never.",
            "Removed in 17: it made statements fail with \"snapshot too old\", cost throughput, and had \
         known errors. idle_in_transaction_session_timeout, and transaction_timeout from 17 on, end what \
         keeps old snapshots.",
            "Release notes of 17; PostgreSQL manual of 16, \"Asynchronous Behavior\"",
        )
        .since(9)
        .until(17),
    ),
];

fn autovacuum(given: &Given<'_>) -> Finding {
    match given.is_off() {
        true => given.dangerous(
            "on",
            "dead rows stay, statistics grow old, and every table is frozen at once when its age forces \
             it",
        ),
        false if given.is_other_off("track_counts") => given.no_effect(
            "track_counts is off: autovacuum does not know what changed, and only \
             freezes",
        ),
        false => given.fine("tables are vacuumed and analysed as they change"),
    }
}

fn workers(given: &Given<'_>) -> Finding {
    let workers = given.number().unwrap_or(3.0);
    let cpus = f64::from(given.inputs.cpus()).max(3.0);
    if let Some(slots) = given.other_number("autovacuum_worker_slots").filter(|slots| workers > *slots) {
        return given.no_effect(format!("autovacuum_worker_slots allows {slots}"));
    }
    if workers > cpus {
        let reason =
            format!("more workers than the {} processors here can run next to sessions", given.inputs.cpus());
        return given.improve(cpus, reason);
    }
    match autovacuum_delay(given) {
        delay if workers > 3.0 && delay > 0.0 => given.fine(format!(
            "{workers} workers share one cost limit ({}), so that each is slower: it suits many tables, \
             not large ones",
            cost_limit_in_force(given)
        )),
        _ if workers > 3.0 => given.fine(format!("up to {workers} tables at a time, without a delay")),
        _ => given.fine(format!("up to {workers} tables at a time")),
    }
}

/// Delay of autovacuum in milliseconds: that of vacuum where it is -1.
fn autovacuum_delay(given: &Given<'_>) -> f64 {
    let of = |name| given.other_number(name).unwrap_or(0.0);
    match of("autovacuum_vacuum_cost_delay") {
        ..0.0 => of("vacuum_cost_delay"),
        delay => delay,
    }
}

/// Cost limit of autovacuum: that of vacuum where it is -1.
fn cost_limit_in_force(given: &Given<'_>) -> f64 {
    let of = |name| given.other_number(name).unwrap_or(200.0);
    match of("autovacuum_vacuum_cost_limit") {
        ..1.0 => of("vacuum_cost_limit"),
        limit => limit,
    }
}

fn scale_factor(given: &Given<'_>) -> Finding {
    let part = given.number().unwrap_or(0.0);
    match part {
        ..=0.0 => given.fine(
            "only the threshold counts: small tables are vacuumed as rarely as large \
         ones",
        ),
        ..=0.5 => given.fine(format!(
            "a table of 100 million rows is due after {} changed rows",
            count((part * 1e8) as u64)
        )),
        _ => given.improve(given.default(), "more than half of a table changes before it is due"),
    }
}

/// Ages that 32 bits can distinguish.
const HALF: f64 = 2_147_483_648.0;

fn freeze_max_age(given: &Given<'_>) -> Finding {
    let age = given.number().unwrap_or(0.0);
    let left = HALF - age;
    let words = format!(
        "{} of 2^31 ids are left for the forced vacuum of the largest table ({} at 10,000 per second)",
        count(left.max(0.0) as u64),
        duration((left / 1e4).max(0.0).round())
    );
    match age {
        1.6e9.. => given.dangerous(
            "1000000000",
            format!(
                "{words}; vacuum_failsafe_age, from 14 on, is \
         1.6 billion"
            ),
        ),
        1.0e9.. => given.improve("1000000000", words),
        _ => given.fine(words),
    }
}

fn cost_delay(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "20ms lets autovacuum read 7.81 MiB/s at most; 2ms is the default from version 12 on";
    (inputs.version_num < 120_000).then(|| choice("autovacuum_vacuum_cost_delay", "2ms", reason))?
}

/// What autovacuum may read from beyond shared buffers, in words.
fn read_rate(given: &Given<'_>, delay_ms: f64) -> String {
    let miss = given.other_number("vacuum_cost_page_miss").unwrap_or(2.0).max(1.0);
    bytes_per_s(cost_limit_in_force(given) / miss * BLOCK as f64 * 1000.0 / delay_ms)
}

fn judge_cost_delay(given: &Given<'_>) -> Finding {
    match autovacuum_delay(given) {
        delay if delay > 10.0 => {
            given.improve("2ms", format!("all workers together read at most {}", read_rate(given, delay)))
        }
        delay if delay > 0.0 => {
            given.fine(format!("all workers together read at most {}", read_rate(given, delay)))
        }
        _ if given.inputs.rotates() == Some(true) => given.improve(
            "2ms",
            format!(
                "{} workers without a delay take the heads of a rotating disk from the sessions",
                given.other("autovacuum_max_workers")
            ),
        ),
        _ => given.fine(format!(
            "{} workers read and write as fast as storage allows, next to the sessions",
            given.other("autovacuum_max_workers")
        )),
    }
}

fn autovacuum_cost_limit(given: &Given<'_>) -> Finding {
    match autovacuum_delay(given) {
        _ if given.is(given.default()) => given.fine("it is the default: vacuum_cost_limit applies"),
        delay if delay > 0.0 => {
            given.fine(format!("all workers together read at most {}", read_rate(given, delay)))
        }
        _ => given.no_effect("autovacuum_vacuum_cost_delay is 0, so nothing is limited"),
    }
}

fn judge_manual_delay(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(0.0) {
        ..=0.0 => given.fine("it is the default: a manual VACUUM runs at full speed"),
        delay => given.improve("0", format!("a manual VACUUM sleeps {delay} ms again and again")),
    }
}

fn cost_limit(given: &Given<'_>) -> Finding {
    let manual = given.other_number("vacuum_cost_delay").unwrap_or(0.0);
    let automatic = autovacuum_delay(given);
    let is_shared = given.other_number("autovacuum_vacuum_cost_limit").is_none_or(|limit| limit < 1.0);
    match (is_shared && automatic > 0.0, manual > 0.0) {
        _ if given.is(given.default()) => given.fine("it is the default"),
        (true, _) => given.fine(format!(
            "autovacuum has it too: all workers together read at most {}",
            read_rate(given, automatic)
        )),
        (false, true) => given.fine("for a manual VACUUM"),
        (false, false) => given.no_effect("vacuum_cost_delay is 0, so nothing is limited"),
    }
}

fn freeze_table_age(given: &Given<'_>) -> Finding {
    let multixacts = given.rule.page.name.contains("multixact");
    let name = if multixacts { "autovacuum_multixact_freeze_max_age" } else { "autovacuum_freeze_max_age" };
    let most = 0.95 * given.other_number(name).unwrap_or(200e6);
    let age = given.number().unwrap_or(0.0);
    match age > most {
        true => given.no_effect(format!("limited to {}, 95 % of {name}", count(most as u64))),
        false => given.fine(format!("below {}, 95 % of {name}", count(most as u64))),
    }
}
