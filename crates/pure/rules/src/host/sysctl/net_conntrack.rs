//! `net.netfilter.nf_conntrack_max` and `net.nf_conntrack_max`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const WHY: &str = "It exists only where the module nf_conntrack is loaded, as by a firewall with states or by \
                   containers. Each connection takes an entry of about 320 bytes, also a while after it was closed. \
                   The default is sized by the memory, up to 262144. Without the module the line in sysctl.conf is \
                   an error message at boot. Raising the limit alone makes the chains of the hash table longer; \
                   nf_conntrack_buckets goes with it.";
const DANGER: &str = "When the table is full, new connections are dropped (\"nf_conntrack: table full, dropping \
                      packet\" in the log of the kernel).";
const SOURCE: &str = "Linux Documentation/networking/nf_conntrack-sysctl.rst.";

/// The rule of the table of connections.
pub static NETFILTER: Rule = Rule {
    page: Page {
        name: "net.netfilter.nf_conntrack_max",
        what: "Connections that the firewall of the kernel keeps in mind.",
        today: Today::NoEffect,
        why: WHY,
        danger: DANGER,
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge(&NETFILTER, facts),
};

/// The rule of its older name.
pub static OLDER: Rule = Rule {
    page: Page {
        name: "net.nf_conntrack_max",
        what: "The same as net.netfilter.nf_conntrack_max under an older name.",
        today: Today::NoEffect,
        why: WHY,
        danger: DANGER,
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_older,
};

fn judge_older(facts: &Facts<'_>) -> Vec<Finding> {
    match (OLDER.number(facts), NETFILTER.number(facts)) {
        (Some(value), Some(_)) => {
            OLDER.fine(value, "net.netfilter.nf_conntrack_max is the same and is judged.")
        }
        _ => judge(&OLDER, facts),
    }
}

/// Entries for connections that are open, and for those that were closed within the last two minutes.
fn needed(facts: &Facts<'_>) -> u64 {
    facts.setting_number("max_connections", 100).unwrap_or(0).saturating_mul(4).max(16_384)
}

fn judge(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let loaded = facts.host.kernel.modules.iter().any(|module| module == "nf_conntrack");
    let needed = needed(facts);
    match (rule.number(facts), facts.sysctl_line(rule.page.name)) {
        (Some(value), _) if value < needed => {
            let reason = format!("The server alone may need {} entries.", units::count(needed));
            vec![rule.finding(Standing::Improve, reason).present(value).set_sysctl(needed.max(65_536))]
        }
        (Some(value), _) => rule.fine(
            value,
            format!("{} connections can be tracked, enough for the server.", units::count(value)),
        ),
        (None, Some(line)) if !loaded && !facts.host.kernel.sysctls.is_empty() => {
            let reason = format!("{} sets it to {}, but nf_conntrack is not loaded.", line.file, line.value);
            vec![rule.finding(Standing::NoEffect, reason)]
        }
        (None, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, standings, with_line, with_server};

    #[test]
    fn the_table_holds_the_connections() {
        for rule in [&NETFILTER, &OLDER] {
            check_values(rule, &[("262144", Standing::Fine), ("1000", Standing::Improve)]);
            let set = with_line(host(&[("vm.swappiness", "1")]), rule.page.name, "1200000");
            assert_eq!(standings(rule, &set), [Standing::NoEffect], "no module");
            let mut loaded = set;
            loaded.kernel.modules.push("nf_conntrack".to_owned());
            assert!(standings(rule, &loaded).is_empty(), "it was only not read");
        }
    }

    #[test]
    fn one_of_two_names_is_judged() {
        let both = host(&[(NETFILTER.page.name, "1000"), (OLDER.page.name, "1000")]);
        assert_eq!(standings(&OLDER, &both), [Standing::Fine]);
        let server = with_server(both, 17, &[("max_connections", "50000")]);
        assert_eq!(changes(&NETFILTER, &server), ["200000"]);
    }
}
