//! What limits a login would get from `limits.conf` and `limits.d`, as pam_limits puts them together.

use pgdyno_core::host::{Inventory, Limit, LimitLine};

/// The limit that a login of the server's user would get for an item; `None` if no line names it.
///
/// Sizes (core, memlock, stack) are in bytes. A line of the user goes before one of a group, that before one of
/// everybody; among equals the last one read holds (pam_limits(8), limits.conf(5)).
pub(super) fn limit(host: &Inventory, item: &str) -> Option<Limit> {
    let of = |kind: &str| holding(host, item, kind).and_then(value);
    let (soft, hard) = (of("soft"), of("hard"));
    if soft.is_none() && hard.is_none() {
        return None;
    }
    let soft = soft.or(hard)?;
    let hard = hard.unwrap_or(soft);
    // A soft limit above the hard one is cut.
    let lower = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
    Some(Limit { soft: lower(soft, hard), hard })
}

/// The line that holds for an item and a kind.
pub(super) fn holding<'a>(host: &'a Inventory, item: &str, kind: &str) -> Option<&'a LimitLine> {
    let mut lines =
        host.login.lines.iter().filter(|line| line.item == item && (line.kind == kind || line.kind == "-"));
    let best = lines.clone().map(|line| rank(&line.domain)).min()?;
    lines.rfind(|line| rank(&line.domain) == best)
}

/// How general a domain is: a user, a group, everybody.
pub(super) fn rank(domain: &str) -> u8 {
    match domain {
        "*" => 2,
        group if group.starts_with(['@', '%']) => 1,
        _ => 0,
    }
}

/// The value of a line: `Some(None)` is unlimited, `None` no value.
fn value(line: &LimitLine) -> Option<Option<u64>> {
    let unit = if matches!(line.item.as_str(), "core" | "memlock" | "stack") { 1024 } else { 1 };
    match line.value.as_str() {
        "unlimited" | "infinity" | "-1" => Some(None),
        number => Some(Some(number.parse::<u64>().ok()?.saturating_mul(unit))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::host;

    fn line(domain: &str, kind: &str, item: &str, value: &str) -> LimitLine {
        let [domain, kind, item, value] = [domain, kind, item, value].map(str::to_owned);
        LimitLine { file: "/etc/security/limits.conf".to_owned(), domain, kind, item, value }
    }

    #[test]
    fn the_nearest_and_last_line_holds() {
        let mut host = host(&[]);
        host.login.lines = vec![
            line("postgres", "soft", "nofile", "1024"),
            line("*", "-", "nofile", "65536"),
            line("@dba", "hard", "nofile", "4096"),
            line("*", "soft", "nproc", "100"),
            line("*", "soft", "nproc", "200"),
            line("*", "-", "memlock", "unlimited"),
            line("*", "hard", "stack", "8192"),
            line("*", "hard", "core", "much"),
        ];
        for (item, expected) in [
            ("nofile", Some((Some(1024), Some(4096)))),
            ("nproc", Some((Some(200), Some(200)))),
            ("memlock", Some((None, None))),
            ("stack", Some((Some(8 << 20), Some(8 << 20)))),
            ("core", None),
            ("rtprio", None),
        ] {
            let found = limit(&host, item).map(|limit| (limit.soft, limit.hard));
            assert_eq!(found, expected, "{item}");
        }
    }
}
