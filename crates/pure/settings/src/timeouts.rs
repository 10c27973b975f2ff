//! What ends statements, transactions and sessions.

use pgdyno_core::units::duration;

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
    )
    .judges(of_idle),
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
    )
    .judges(of_idle),
];

/// Shorter than this, a timeout of all sessions is a number whose unit was forgotten.
const SHORTEST_MS: f64 = 1e3;

fn for_all(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(0.0) {
        ..=0.0 => given.fine("it is the default: sessions and roles set their own"),
        ms if ms < SHORTEST_MS => {
            given.improve("0", format!("{}, whatever it does: {}", of_every_session(ms), unit(given)))
        }
        ms => given.unjudged(format!(
            "{}, also of maintenance; the manual advises to set it for roles and sessions",
            of_every_session(ms)
        )),
    }
}

fn of_every_session(ms: f64) -> String {
    format!("after {} in every session", duration(ms / 1e3))
}

/// What a number without a unit means.
fn unit(given: &Given<'_>) -> &'static str {
    match given.value.trim().parse::<f64>() {
        Ok(_) => "a number without a unit is in milliseconds",
        Err(_) => "it is very short",
    }
}

fn of_idle(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(0.0) {
        ..=0.0 => given.fine("it is the default: no session is ended"),
        ms if ms < SHORTEST_MS => {
            let idle = duration(ms / 1e3);
            given.improve("0", format!("a session is ended once it idles for {idle}: {}", unit(given)))
        }
        _ if given.rule.page.name == "idle_session_timeout" => given.by_default(),
        ms => {
            given.fine(format!("a session that idles in a transaction for {} is ended", duration(ms / 1e3)))
        }
    }
}
