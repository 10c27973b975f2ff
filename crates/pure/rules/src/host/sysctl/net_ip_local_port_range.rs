//! `net.ipv4.ip_local_port_range`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "net.ipv4.ip_local_port_range",
        what: "Ports that outgoing connections take by themselves, 32768 to 60999 by default.",
        today: Today::DefaultIsRight,
        why: "A server does not use it for connections that it accepts. The host of clients or of a pooler does: \
              28232 ports allow so many connections to one address and port at a time, including those closed within \
              the last minute.",
        danger: "A range that includes the port of a server lets an outgoing connection take it while the server is \
                 down, which then cannot start; net.ipv4.ip_local_reserved_ports excludes ports.",
        source: "Linux Documentation/networking/ip-sysctl.rst, ip_local_port_range; ip(7).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some([first, last]) = RULE.numbers(facts).and_then(|numbers| <[u64; 2]>::try_from(numbers).ok())
    else {
        return Vec::new();
    };
    let present = format!("{first} {last}");
    let count = last.saturating_add(1).saturating_sub(first);
    let port = facts.setting_number("port", 5432);
    match port {
        Some(port) if (first..=last).contains(&port) && !reserved(facts, port) => {
            let reason = format!(
                "Port {port} of the server is in the range: an outgoing connection may take it while it is down."
            );
            let best = format!("net.ipv4.ip_local_reserved_ports = {port}");
            vec![RULE.finding(Standing::Improve, reason).present(present).recommend(best)]
        }
        _ if count < 10_000 => {
            let reason = format!(
                "Only {} outgoing connections to one address and port are possible.",
                units::count(count)
            );
            vec![RULE.finding(Standing::Improve, reason).present(present).set_sysctl("32768 60999")]
        }
        _ => RULE.fine(
            present,
            format!("{} outgoing connections to one address and port are possible.", units::count(count)),
        ),
    }
}

/// Whether a port is excluded from the range.
fn reserved(facts: &Facts<'_>, port: u64) -> bool {
    let ranges = facts.host.sysctl("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
    ranges.split(',').any(|range| {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        first.parse().is_ok_and(|first: u64| first <= port)
            && last.parse().is_ok_and(|last: u64| port <= last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, standings, with_server};

    #[test]
    fn clients_need_ports() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        let table =
            [("32768 60999", fine), ("40000 65535", fine), ("60000 61000", improve), ("9 1", improve)];
        check_values(&RULE, &table);
    }

    #[test]
    fn the_servers_port_is_not_among_them() {
        let host = host(&[("net.ipv4.ip_local_port_range", "1024 65535")]);
        let mut server = with_server(host, 17, &[("max_connections", "100")]);
        assert_eq!(standings(&RULE, &server), [Standing::Improve]);
        let reserved = ("net.ipv4.ip_local_reserved_ports".to_owned(), "80,5430-5440".to_owned());
        server.kernel.sysctls.extend([reserved]);
        assert_eq!(standings(&RULE, &server), [Standing::Fine]);
    }
}
