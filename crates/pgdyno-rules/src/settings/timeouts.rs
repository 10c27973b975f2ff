//! What ends statements, transactions and sessions.

use super::rule::{Given, Rule, manual, page};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "deadlock_timeout",
        Today::DefaultIsRight,
        "How long a session waits for a lock before it looks for a deadlock.",
        "1 s: the check is expensive, and deadlocks are rare. log_lock_waits logs waits of this length.",
        manual::LOCKS,
    )),
    Rule::of(page(
        "statement_timeout",
        Today::Depends,
        "After which time a statement is cancelled; 0 never.",
        "In postgresql.conf it concerns every session, also maintenance: the manual advises to set it \
         for roles and sessions.",
        manual::CLIENT,
    ))
    .judges(for_all),
    Rule::of(page(
        "lock_timeout",
        Today::Depends,
        "After which time a statement that waits for a lock is cancelled; 0 never.",
        "In postgresql.conf it concerns every session, also maintenance: the manual advises to set it \
         for roles and sessions. For changes of tables in a busy database a short one is a good habit.",
        manual::CLIENT,
    ))
    .judges(for_all),
    Rule::of(
        page(
            "idle_in_transaction_session_timeout",
            Today::Depends,
            "After which time of idleness in an open transaction a session is ended; 0 never.",
            "Such sessions keep locks and hold back vacuum. A few minutes find forgotten ones; applications \
         must be ready to connect again.",
            manual::CLIENT,
        )
        .since(9),
    ),
    Rule::of(
        page(
            "transaction_timeout",
            Today::Depends,
            "After which time a session whose transaction is still open is ended; 0 never.",
            "It bounds how long vacuum can be held back. In postgresql.conf it concerns every session, also \
         maintenance.",
            manual::CLIENT,
        )
        .since(17),
    )
    .judges(for_all),
    Rule::of(
        page(
            "idle_session_timeout",
            Today::Depends,
            "After which idleness outside of a transaction a session is ended; 0 never.",
            "Poolers do not expect it.",
            manual::CLIENT,
        )
        .since(14),
    ),
];

fn for_all(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(0.0) {
        ..=0.0 => given.fine("it is the default: sessions and roles set their own"),
        ms => given.fine(format!("after {} s in every session, also of maintenance", ms / 1e3)),
    }
}
