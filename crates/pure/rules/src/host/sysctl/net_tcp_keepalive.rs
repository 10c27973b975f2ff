//! `net.ipv4.tcp_keepalive_time`, `_intvl` and `_probes`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule, known::seconds},
};

const WHY: &str = "The server turns keepalive on for each connection, so a client whose host vanished is noticed \
                   after time + intvl × probes: 2 h 11 min by default. Until then its locks and its snapshot stay. \
                   The same can be set for one server by tcp_keepalives_idle, _interval and _count, which override \
                   these values and spare all other programs of the host.";
const DANGER: &str = "Some seconds in all cut connections in every short outage of the network.";
const SOURCE: &str =
    "PostgreSQL manual, \"TCP Settings\"; Linux Documentation/networking/ip-sysctl.rst; tcp(7).";

/// The rule of the time before the first probe; it judges the three together.
pub static TIME: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_keepalive_time",
        what: "Seconds without traffic after which an idle connection is probed, 7200 by default.",
        today: Today::Depends,
        why: WHY,
        danger: DANGER,
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_time,
};

/// The rule of the interval.
pub static INTERVAL: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_keepalive_intvl",
        what: "Seconds between probes that are not answered, 75 by default.",
        today: Today::Depends,
        why: WHY,
        danger: DANGER,
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge_own(&INTERVAL, facts, "tcp_keepalives_interval", 5),
};

/// The rule of the number of probes.
pub static PROBES: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_keepalive_probes",
        what: "Probes without answer after which a connection counts as broken, 9 by default.",
        today: Today::Depends,
        why: WHY,
        danger: DANGER,
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge_own(&PROBES, facts, "tcp_keepalives_count", 2),
};

/// Whether the server accepts connections over TCP from its own host only, as by default.
fn listens_here_only(facts: &Facts<'_>) -> bool {
    let listed = facts.setting("listen_addresses").unwrap_or("localhost");
    let mut addresses = listed.split(',').map(str::trim).filter(|address| !address.is_empty());
    addresses.all(|address| ["localhost", "127.0.0.1", "::1"].contains(&address))
}

/// A client that vanished may hold its locks so long, in seconds.
const TOLERABLE_S: u64 = 30 * 60;

/// A value that the server sets itself; 0 and nothing are the kernel's.
fn own(facts: &Facts<'_>, name: &str) -> Option<u64> {
    facts.setting(name).and_then(seconds).filter(|value| *value > 0)
}

fn judge_time(facts: &Facts<'_>) -> Vec<Finding> {
    let number = |name: &str| facts.host.sysctl_number(name).and_then(|value| u64::try_from(value).ok());
    let (Some(time), Some(interval), Some(probes)) =
        (TIME.number(facts), number(INTERVAL.page.name), number(PROBES.page.name))
    else {
        return Vec::new();
    };
    let idle = own(facts, "tcp_keepalives_idle").unwrap_or(time);
    let every = own(facts, "tcp_keepalives_interval").unwrap_or(interval);
    let count = own(facts, "tcp_keepalives_count").unwrap_or(probes);
    let total = idle.saturating_add(every.saturating_mul(count));
    let text = format!(
        "A client that vanishes is noticed after {idle} s + {every} s × {count} = {}",
        units::duration(total as f64)
    );
    match (facts.server(), total) {
        (Some(_), TOLERABLE_S..) if listens_here_only(facts) => TIME
            .fine(time, format!("{text}; the server listens on this host only, from where none vanishes.")),
        (Some(_), TOLERABLE_S..) => {
            let reason = format!(
                "{text}, and keeps its locks and its snapshot so long; tcp_keepalives_idle = 60 of the server \
                                  shortens that without touching other programs."
            );
            vec![
                TIME.finding(Standing::Improve, reason)
                    .present(time)
                    .recommend("tcp_keepalives_idle = 60 of the server"),
            ]
        }
        (_, 0..20) => {
            let reason = format!("{text}, so that short outages of the network cut connections.");
            let finding = TIME.finding(Standing::Improve, reason).present(time);
            vec![match own(facts, "tcp_keepalives_idle") {
                None => finding.set_sysctl(60),
                Some(_) => finding.recommend("tcp_keepalives_idle = 60 of the server"),
            }]
        }
        (None, TOLERABLE_S..) => TIME.fine(
            time,
            format!(
                "{text}; how long a server waits, its own tcp_keepalives_idle decides, and none was named."
            ),
        ),
        _ => TIME.fine(time, format!("{text}.")),
    }
}

fn judge_own(rule: &Rule, facts: &Facts<'_>, setting: &str, least: u64) -> Vec<Finding> {
    match (rule.number(facts), own(facts, setting)) {
        (None, _) => Vec::new(),
        (Some(value), Some(own)) => {
            rule.fine(value, format!("The server has {setting} = {own}, which overrides it."))
        }
        (Some(value), None) if value < least => {
            let reason = format!("Below {least}, a short outage of the network cuts connections.");
            vec![rule.finding(Standing::Improve, reason).present(value).recommend(least)]
        }
        (Some(value), None) => rule.fine(value, "net.ipv4.tcp_keepalive_time is judged with it."),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Inventory;

    use super::*;
    use crate::host::testing::{changes, check_values, findings, host, standings, with_server};

    fn planned(time: &str, interval: &str, probes: &str) -> Inventory {
        host(&[(TIME.page.name, time), (INTERVAL.page.name, interval), (PROBES.page.name, probes)])
    }

    #[test]
    fn the_three_are_one_time() {
        let default = planned("7200", "75", "9");
        assert!(
            findings(&TIME, &default)[0].reason.contains("2 h 11 min"),
            "{:?}",
            findings(&TIME, &default)
        );
        assert_eq!(standings(&TIME, &default), [Standing::Fine], "no server waits");
        assert!(findings(&TIME, &default)[0].reason.contains("none was named"), "and that is said");
        let everywhere = ("listen_addresses", "*");
        for (listens, expected) in [
            (everywhere, Standing::Improve),
            (("listen_addresses", "localhost, 10.0.0.1"), Standing::Improve),
            (("listen_addresses", "localhost, ::1"), Standing::Fine),
            (("listen_addresses", ""), Standing::Fine),
            (("port", "5432"), Standing::Fine),
        ] {
            let server = with_server(default.clone(), 17, &[listens]);
            assert_eq!(standings(&TIME, &server), [expected], "{listens:?}");
        }
        let own = [everywhere, ("tcp_keepalives_idle", "1min"), ("tcp_keepalives_count", "0")];
        let own = with_server(default, 17, &own);
        assert_eq!(standings(&TIME, &own), [Standing::Fine]);
        assert_eq!(standings(&TIME, &planned("60", "20", "3")), [Standing::Fine], "as published");
        assert_eq!(changes(&TIME, &planned("5", "1", "3")), ["60"]);
        assert!(standings(&TIME, &host(&[(TIME.page.name, "60")])).is_empty(), "the others are not known");
    }

    #[test]
    fn a_single_probe_is_few() {
        check_values(&PROBES, &[("9", Standing::Fine), ("1", Standing::Improve)]);
        check_values(&INTERVAL, &[("75", Standing::Fine), ("1", Standing::Improve)]);
        let own = with_server(planned("7200", "75", "1"), 17, &[("tcp_keepalives_count", "6")]);
        assert_eq!(standings(&PROBES, &own), [Standing::Fine]);
    }
}
