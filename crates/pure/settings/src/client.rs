//! Locale, formats and other defaults of sessions. None of them is a matter of performance: what is right follows from
//! who uses the server.

use super::rule::{Rule, any, manual, page};
use crate::Today;

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "datestyle",
        Today::Depends,
        "How dates are written, and in which order day, month and year are read.",
        "initdb writes that of lc_time; applications that read dates as text depend on it. No matter of \
         performance.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "timezone",
        Today::Depends,
        "The time zone of sessions that do not set one.",
        "initdb writes that of the system. No matter of performance.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "lc_messages",
        Today::Depends,
        "The language of messages.",
        "C or en_US keeps the log in English, which tools that read logs expect. No matter of \
         performance.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "lc_monetary",
        Today::Depends,
        "How amounts of money are written by to_char and the type money.",
        "initdb writes that of its environment. No matter of performance.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "lc_numeric",
        Today::Depends,
        "How numbers are written by to_char.",
        "initdb writes that of its environment. No matter of performance: sorting follows lc_collate, \
         which is fixed for each database.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "lc_time",
        Today::Depends,
        "How names of days and months are written by to_char.",
        "initdb writes that of its environment. No matter of performance.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "default_text_search_config",
        Today::Depends,
        "The configuration of text searches that do not name one.",
        "initdb chooses it by the language of the locale. Queries find an index only if they use its \
         configuration. No matter of performance.",
        manual::CLIENT,
    ))
    .judges(any),
    Rule::of(page(
        "check_function_bodies",
        Today::DefaultIsRight,
        "Whether the body of a function is checked when it is created.",
        "Restores turn it off for themselves, since a function may refer to what comes later.",
        manual::CLIENT,
    )),
    Rule::of(
        page(
            "default_table_access_method",
            Today::DefaultIsRight,
            "The access method of tables that do not name one.",
            "heap is the only one that PostgreSQL has; others come with extensions.",
            manual::CLIENT,
        )
        .since(12),
    ),
    Rule::of(
        page(
            "default_toast_compression",
            Today::Depends,
            "How large values are compressed: pglz or lz4.",
            "lz4 needs less CPU time for a similar size, and a server built with it. It concerns values that \
         are written from then on. What it brings here: not measured.",
            manual::CLIENT,
        )
        .since(14),
    ),
];
