//! How connections are made: `tcp_max_syn_backlog`, `tcp_synack_retries`, `tcp_syncookies`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const SOURCE: &str = "Linux Documentation/networking/ip-sysctl.rst; net/ipv4/tcp_input.c, tcp_conn_request.";

/// The rule of half-open connections.
pub static BACKLOG: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_max_syn_backlog",
        what: "Half-open connections that a listening socket remembers, sized by the memory by default.",
        today: Today::NoEffect,
        why: "The kernel looks at it only where SYN cookies are off; else the queue is bounded by net.core.somaxconn \
              and by what the server asks for. Before Linux 4.4 it bounded the queue in any case.",
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_backlog,
};

/// The rule of answers that are repeated.
pub static RETRIES: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_synack_retries",
        what: "How often the answer to a connection attempt is repeated if the client is silent, 5 by default.",
        today: Today::DefaultIsRight,
        why: "5 retries last about a minute, 2 about 7 s. Clients that are there answer at once; it matters in \
              attacks and on networks that lose packets.",
        danger: "0 makes one lost packet a failed connection.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_retries,
};

/// The rule of cookies.
pub static COOKIES: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_syncookies",
        what: "Whether connections are still answered when the queue of half-open ones is full: 0 no, 1 yes (the \
               default), 2 always by cookie, for tests.",
        today: Today::DefaultIsRight,
        why: "It costs nothing until the queue is full, and then saves the connections. Without timestamps, \
              connections made by a cookie lose window scaling.",
        danger: "0 drops connections in a burst of them or an attack.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_cookies,
};

fn judge_backlog(facts: &Facts<'_>) -> Vec<Finding> {
    let cookies = facts.host.sysctl_number(COOKIES.page.name);
    match (BACKLOG.number(facts), cookies) {
        (None, _) => Vec::new(),
        (Some(value @ 0..128), Some(0)) => {
            let reason = "SYN cookies are off, so that more half-open connections than this are dropped.";
            vec![BACKLOG.finding(Standing::Improve, reason).present(value).set_sysctl(1024)]
        }
        (Some(value), Some(0)) => {
            BACKLOG.fine(value, "SYN cookies are off, so it bounds the half-open connections.")
        }
        (Some(value), Some(_)) if facts.kernel_is_at_least(4, 4) == Some(false) => BACKLOG.fine(
            value,
            "Before Linux 4.4 it bounds the half-open connections, beside what the server asks \
            for.",
        ),
        (Some(value), Some(_)) => {
            BACKLOG.fine(value, "SYN cookies are on, so the kernel does not look at it.")
        }
        (Some(value), None) => {
            let reason =
                "Whether the kernel looks at it depends on net.ipv4.tcp_syncookies, which could not be read.";
            vec![BACKLOG.finding(Standing::Unknown, reason).present(value)]
        }
    }
}

fn judge_retries(facts: &Facts<'_>) -> Vec<Finding> {
    match RETRIES.number(facts) {
        None => Vec::new(),
        Some(0) => {
            let reason = "One lost packet makes a connection fail.";
            vec![RETRIES.finding(Standing::Improve, reason).present(0).set_sysctl(5)]
        }
        Some(value) => RETRIES.fine(value, "Clients that are there answer the first time."),
    }
}

fn judge_cookies(facts: &Facts<'_>) -> Vec<Finding> {
    match COOKIES.number(facts) {
        None => Vec::new(),
        Some(1) => COOKIES.fine(1, "Connections are answered also when the queue is full."),
        Some(0) => {
            let reason = "When many clients connect at once and the queue is full, connections are dropped.";
            vec![COOKIES.finding(Standing::Improve, reason).present(0).set_sysctl(1)]
        }
        Some(value) => {
            let reason =
                "Every connection is made by a cookie, which is meant for tests and loses options of TCP.";
            vec![COOKIES.finding(Standing::Improve, reason).present(value).set_sysctl(1)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, standings};

    #[test]
    fn the_backlog_counts_without_cookies_only() {
        for (backlog, cookies, expected) in
            [("64", "0", Standing::Improve), ("64", "1", Standing::Fine), ("4096", "0", Standing::Fine)]
        {
            let host = host(&[(BACKLOG.page.name, backlog), (COOKIES.page.name, cookies)]);
            assert_eq!(standings(&BACKLOG, &host), [expected], "{backlog} {cookies}");
        }
        check_values(&BACKLOG, &[("64", Standing::Unknown)]);
    }

    #[test]
    fn connections_are_answered() {
        check_values(&COOKIES, &[("1", Standing::Fine), ("0", Standing::Improve), ("2", Standing::Improve)]);
        check_values(&RETRIES, &[("5", Standing::Fine), ("2", Standing::Fine), ("0", Standing::Improve)]);
    }
}
