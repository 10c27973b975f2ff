//! `net.core.somaxconn`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "net.core.somaxconn",
        what: "Longest queue of connections that were made and that a server has not yet accepted; 4096 by default \
               since Linux 5.4, 128 before.",
        today: Today::Kept,
        why: "The server asks for a queue of about twice its connections, before 16 at most 10000, and the kernel \
              cuts that to this value. It matters when many clients connect at once, as after a failover. It holds \
              from the next start of the server on.",
        danger: "When the queue is full, connections over TCP wait a second or more for a retry, and those over a \
                 Unix socket fail at once (\"Resource temporarily unavailable\").",
        source: "PostgreSQL src/backend/libpq/pqcomm.c and pg_config_manual.h (PG_SOMAXCONN); Linux \
                 Documentation/networking/ip-sysctl.rst; listen(2).",
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel since 5.4.
const DEFAULT: u64 = 4096;
/// What servers before 16 ask for at most.
const CLAMP: u64 = 10_000;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return RULE.unread() };
    let Some(connections) = facts.setting_number("max_connections", 100) else {
        return without_server(value);
    };
    let asked = connections.saturating_mul(2);
    let asked = if facts.major() >= Some(16) { asked } else { asked.min(CLAMP) };
    // All clients at once are one queue of max_connections: the second half is for those that will be refused.
    if value >= connections.min(asked) {
        return RULE.fine(value, format!("All {connections} connections of the server may wait at once."));
    }
    let best = asked.clamp(DEFAULT, i32::MAX as u64);
    let reason = format!(
        "The server asks for a queue of {asked}, and gets {value}: clients that connect at once may fail."
    );
    vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(best)]
}

fn without_server(value: u64) -> Vec<Finding> {
    if value >= DEFAULT {
        return RULE.fine(value, "It is the default of current kernels or more.");
    }
    let reason =
        "It is below the default of current kernels, 4096: many clients that connect at once may fail.";
    vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(DEFAULT)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, standings, with_server};

    #[test]
    fn without_a_server_the_default_is_enough() {
        check_values(&RULE, &[("128", Standing::Improve), ("4096", Standing::Fine)]);
    }

    #[test]
    fn connections_say_how_long_a_queue_is_wanted() {
        let server = |value, major, connections| {
            with_server(host(&[("net.core.somaxconn", value)]), major, &[("max_connections", connections)])
        };
        assert_eq!(standings(&RULE, &server("128", 17, "100")), [Standing::Fine]);
        assert_eq!(changes(&RULE, &server("128", 17, "500")), ["4096"]);
        assert_eq!(changes(&RULE, &server("128", 15, "8000")), ["10000"]);
        assert_eq!(changes(&RULE, &server("128", 16, "8000")), ["16000"]);
    }
}
