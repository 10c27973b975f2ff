//! `net.ipv4.tcp_retries2`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_retries2",
        what: "How often data of a connection is sent again without an answer before the connection counts as \
               broken; 15 by default.",
        today: Today::Depends,
        why: "15 last at least 15 minutes, since each wait is twice as long as the one before, up to 2 minutes. So \
              long a session whose client vanished while an answer was on its way keeps its locks: keepalive probes \
              only idle connections. tcp_user_timeout of the server (12 and later) bounds it for the server alone, and \
              client_connection_check_interval (14 and later) looks while a query runs. RFC 1122 wants at least 100 \
              seconds, which are 8.",
        danger: "Below 8, outages of the network of some ten seconds cut connections of all programs.",
        source: "Linux Documentation/networking/ip-sysctl.rst, tcp_retries2; PostgreSQL manual, tcp_user_timeout.",
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel.
const DEFAULT: u64 = 15;
/// What lasts as long as RFC 1122 wants.
const LEAST: u64 = 8;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let own = facts.setting("tcp_user_timeout").filter(|value| !value.starts_with('0'));
    match (RULE.number(facts), own) {
        (None, _) => Vec::new(),
        (Some(value), Some(own)) => {
            RULE.fine(value, format!("The server has tcp_user_timeout = {own}, which overrides it."))
        }
        (Some(DEFAULT), None) => RULE.fine(
            DEFAULT,
            "It is the default: an answer that nobody takes is given up after 15 minutes or more.",
        ),
        (Some(value), None) if value < LEAST => {
            let reason = "Connections are cut in less than the 100 s that RFC 1122 wants.";
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(LEAST)]
        }
        (Some(value), None) => RULE.fine(value, "It lasts 100 s or longer, as RFC 1122 wants."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, standings, with_server};

    #[test]
    fn short_outages_are_survived() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        check_values(&RULE, &[("15", fine), ("8", fine), ("3", improve)]);
        let low = host(&[("net.ipv4.tcp_retries2", "3")]);
        assert_eq!(changes(&RULE, &low), ["8"]);
        let own = with_server(low, 17, &[("tcp_user_timeout", "60s")]);
        assert_eq!(standings(&RULE, &own), [fine], "the server has its own");
    }
}
