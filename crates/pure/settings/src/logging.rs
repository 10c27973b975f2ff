//! What the server logs, and where.

use pgdyno_core::{facts::Choice, units::duration};

use super::{
    inputs::Inputs,
    rule::{Given, Rule, any, choice, manual, page},
};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "log_autovacuum_min_duration",
        Today::Kept,
        "From which duration on an automatic VACUUM or ANALYZE is logged; 0 each, -1 none.",
        "These lines show whether vacuum keeps up. The default is 10 min from 15 on and none before.",
        manual::LOGGING,
    ))
    .recommends(autovacuum_lines)
    .judges(autovacuum_duration),
    Rule::of(page(
        "log_lock_waits",
        Today::Kept,
        "Whether a wait for a lock that is longer than deadlock_timeout is logged.",
        "A line names who waits and who holds the lock; without it such waits leave no trace.",
        manual::LOGGING,
    ))
    .recommends(|_| choice("log_lock_waits", "on", "a line for a wait longer than deadlock_timeout")),
    Rule::of(page(
        "log_temp_files",
        Today::Kept,
        "From which size on a temporary file is logged; 0 each, -1 none.",
        "Large ones show which queries need more work_mem.",
        manual::LOGGING,
    ))
    .recommends(|_| choice("log_temp_files", "10MB", "a line for a large temporary file"))
    .judges(temporary_files),
    Rule::of(page(
        "log_checkpoints",
        Today::Kept,
        "Whether checkpoints are logged, with buffers, files and times.",
        "Two lines for a checkpoint explain many a dip of throughput. On by default from 15 on.",
        manual::LOGGING,
    ))
    .recommends(checkpoints)
    .judges(judge_checkpoints),
    Rule::of(page(
        "log_line_prefix",
        Today::Kept,
        "What each line of the log begins with.",
        "Time with milliseconds and process, `%m [%p] `, are the default from 10 on; user, database and \
         application (%u, %d, %a) help where many share a server. csvlog and jsonlog do not use it.",
        manual::LOGGING,
    ))
    .recommends(line_prefix)
    .judges(judge_line_prefix),
    Rule::of(page(
        "log_connections",
        Today::Depends,
        "Whether new connections are logged; from 18 on which of their steps.",
        "A line for each connection costs little behind a pooler and much where clients connect for \
         every transaction.",
        manual::LOGGING,
    )),
    Rule::of(page(
        "log_disconnections",
        Today::Depends,
        "Whether the end of a session is logged, with its duration.",
        "A line for each session costs little behind a pooler and much where clients connect for every \
         transaction.",
        manual::LOGGING,
    )),
    Rule::of(page(
        "log_destination",
        Today::Depends,
        "Where and in which form the log is written: stderr, csvlog, jsonlog from 15 on, syslog.",
        "csvlog and jsonlog are easy to load, are about twice as long, and need logging_collector.",
        manual::LOGGING,
    ))
    .judges(destination),
    Rule::of(page(
        "logging_collector",
        Today::Depends,
        "Whether a process of the server writes the log to files.",
        "It loses no line and rotates; under systemd the journal does that as well. When much is logged \
         sessions wait for this one process.",
        manual::LOGGING,
    ))
    .judges(any),
    Rule::of(page(
        "log_directory",
        Today::Depends,
        "The directory of log files, by default in the data directory.",
        "On another file system than data and WAL a full log cannot stop the server. It is for \
         logging_collector only.",
        manual::LOGGING,
    ))
    .judges(of_collector),
    Rule::of(page(
        "log_filename",
        Today::Depends,
        "The names of log files, as strftime fills them in.",
        "With log_truncate_on_rotation and a name that comes again, such as postgresql-%a.log, a week of \
         logs is kept.",
        manual::LOGGING,
    ))
    .judges(of_collector),
    Rule::of(page(
        "log_rotation_age",
        Today::Depends,
        "After which time a new log file begins; 0 never.",
        "A day suits names by day.",
        manual::LOGGING,
    ))
    .judges(of_collector),
    Rule::of(page(
        "log_rotation_size",
        Today::Depends,
        "At which size a new log file begins; 0 at none.",
        "With names by day a second file of the day would have the same name, so 0 belongs to them, and \
         a limit elsewhere.",
        manual::LOGGING,
    ))
    .judges(of_collector),
    Rule::of(page(
        "log_truncate_on_rotation",
        Today::Depends,
        "Whether a log file whose name comes again is emptied, when time and not size has begun it.",
        "On with names by weekday keeps a week; off appends.",
        manual::LOGGING,
    ))
    .judges(of_collector),
    Rule::of(page(
        "log_error_verbosity",
        Today::Depends,
        "How much of an error is logged: terse, default or verbose.",
        "verbose adds the SQLSTATE and the place in the source of the server, which logs of errors \
         profit from; it costs only when something is logged.",
        manual::LOGGING,
    ))
    .judges(any),
    Rule::of(
        page(
            "log_statement",
            Today::Depends,
            "Which statements are logged before they run: none, ddl, mod or all.",
            "ddl is a cheap history of changes. mod and all write a line for each statement, with its \
             values: use log_min_duration_statement or pg_stat_statements for performance.",
            manual::LOGGING,
        )
        .can("Passwords and personal data in statements reach the log."),
    )
    .judges(statements),
    Rule::of(page(
        "log_min_duration_statement",
        Today::Depends,
        "From which duration on a statement is logged; 0 each, -1 none.",
        "A second or so finds slow ones. 0 writes a line for each statement, and sessions then wait for \
         the log.",
        manual::LOGGING,
    ))
    .judges(slow_statements),
    Rule::of(page(
        "log_timezone",
        Today::Depends,
        "The time zone of the times in the log.",
        "initdb writes that of the system. GMT has no hour twice and none missing; servers of pgdyno use \
         it, as its records do.",
        manual::LOGGING,
    ))
    .judges(any),
];

/// The settings of the log that these rules recommend for a version, in the order in which they are printed.
pub const LOGGED: [&str; 5] =
    ["log_autovacuum_min_duration", "log_lock_waits", "log_temp_files", "log_checkpoints", "log_line_prefix"];

fn autovacuum_lines(_: &Inputs<'_>) -> Option<Choice> {
    choice(
        "log_autovacuum_min_duration",
        "100ms",
        "a line for each automatic VACUUM or ANALYZE but those of small tables: few, and each shows what it took",
    )
}

fn checkpoints(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "two lines for a checkpoint; the default from version 15 on";
    (inputs.version_num < 150_000).then(|| choice("log_checkpoints", "on", reason))?
}

fn line_prefix(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "time and process of every line; the default from version 10 on";
    (inputs.version_num < 100_000).then(|| choice("log_line_prefix", "%m [%p] ", reason))?
}

fn autovacuum_duration(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(-1.0) {
        ..0.0 => given.by_recommendation(),
        0.0 => given.fine("every automatic VACUUM and ANALYZE is logged"),
        ms => given
            .fine(format!("every automatic VACUUM and ANALYZE of {} or more is logged", duration(ms / 1e3))),
    }
}

fn temporary_files(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(-1.0) {
        ..0.0 => given.by_recommendation(),
        _ => given.fine("large temporary files show which queries need more work_mem"),
    }
}

fn judge_checkpoints(given: &Given<'_>) -> Finding {
    match given.is_off() {
        true => given.improve("on", "no line says when a checkpoint came, why, and how long it took"),
        false => given.fine("two lines for a checkpoint"),
    }
}

fn judge_line_prefix(given: &Given<'_>) -> Finding {
    let has = |letters: &[&str]| letters.iter().any(|letter| given.value.contains(letter));
    match (has(&["%m", "%t", "%n"]), has(&["%p", "%c"])) {
        (true, true) => given.fine("every line has its time and its process"),
        _ => given.improve("%m [%p] ", "lines lack their time or their process"),
    }
}

fn destination(given: &Given<'_>) -> Finding {
    let value = given.value.to_ascii_lowercase();
    let needs = value.contains("csvlog") || value.contains("jsonlog");
    match needs && given.is_other_off("logging_collector") {
        true => given.improve("stderr", "csvlog and jsonlog need logging_collector, which is off"),
        false => given.fine(given.rule.page.why),
    }
}

fn of_collector(given: &Given<'_>) -> Finding {
    match given.is_other_off("logging_collector") {
        true if !given.is(given.default()) => given.no_effect("logging_collector is off"),
        _ => any(given),
    }
}

fn statements(given: &Given<'_>) -> Finding {
    match given.value.trim().to_ascii_lowercase().as_str() {
        "none" => given.fine("it is the default"),
        "ddl" => given.fine("a cheap history of changes of tables and roles"),
        _ => given.improve(
            "ddl",
            "a line for each statement: sessions wait for the log, and values are \
         in it",
        ),
    }
}

fn slow_statements(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(-1.0) {
        ..0.0 => given.fine("slow statements leave no trace in the log"),
        0.0..10.0 => given.improve("1s", "a line for nearly each statement: sessions wait for the log"),
        ms => given.fine(format!("statements of {} or more are logged", duration(ms / 1e3))),
    }
}
