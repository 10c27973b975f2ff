//! CommitLimit: how much memory may be promised, and whether a server fits.

use pgdyno_core::{
    facts::amount::{KB, MB},
    units,
};

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule, huge::HugeMemory},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "CommitLimit",
        also: &["Committed_AS", "commit_limit", "commit limit"],
        what: "Memory that the kernel promises to all processes together where vm.overcommit_memory is 2: (memory − \
               pools of huge pages) × vm.overcommit_ratio / 100 + swap, or vm.overcommit_kbytes + swap.",
        today: Today::Depends,
        why: "The shared memory of a server counts in full from its start on, unless it is in explicit huge pages, \
              and so does all private memory that sessions may write. Compared here are what the limit leaves and \
              what the server needs: its shared memory, and 8 MiB and one work_mem for each of max_connections.",
        danger: "Beyond the limit the server does not start, or sessions fail with \"out of memory\" while memory is \
                 free.",
        source: "Linux Documentation/mm/overcommit-accounting.rst; proc_meminfo(5); PostgreSQL manual, \"Linux Memory \
                 Overcommit\".",
        ..Page::EMPTY
    },
    judge,
};

/// Private memory of a session beside work_mem, in bytes.
const SESSION_BYTES: u64 = 8 * MB;

/// The limit as the kernel computes it, with the figures of this host; `None` in place of a limit if one of them is
/// unknown.
fn formula(facts: &Facts<'_>) -> Option<(Option<u64>, String)> {
    let swap = facts.host.memory.swap_bytes();
    let number = |name: &str| facts.host.sysctl_number(name).and_then(|value| u64::try_from(value).ok());
    if let Some(kbytes @ 1..) = number("vm.overcommit_kbytes") {
        let bytes = kbytes.saturating_mul(KB);
        let limit = swap.map(|swap| bytes.saturating_add(swap));
        let swap = swap.map_or_else(|| "swap".to_owned(), |swap| format!("swap ({})", units::bytes(swap)));
        let text = format!("CommitLimit = vm.overcommit_kbytes ({}) + {swap}", units::bytes(bytes));
        return Some((limit, text + &result(limit)));
    }
    let ratio = number("vm.overcommit_ratio")?;
    let total = (facts.host.memory.total_bytes > 0).then_some(facts.host.memory.total_bytes)?;
    let huge = facts.huge_memory();
    let limit = huge.zip(swap).map(|(huge, swap)| {
        let part = total.saturating_sub(huge.bytes) as f64 * ratio as f64 / 100.0;
        (part as u64).saturating_add(swap)
    });
    let huge = huge.map_or_else(|| "huge pages".to_owned(), HugeMemory::words);
    let swap = swap.map_or_else(|| "swap".to_owned(), |swap| format!("{} of swap", units::bytes(swap)));
    let text = format!("CommitLimit = ({} − {huge}) × {ratio} % + {swap}", units::bytes(total));
    Some((limit, text + &result(limit)))
}

/// How a formula ends.
fn result(limit: Option<u64>) -> String {
    limit.map_or_else(
        || " (not all of these are known)".to_owned(),
        |limit| format!(" = {}", units::bytes(limit)),
    )
}

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some((computed, text)) = formula(facts) else { return Vec::new() };
    let limit = facts.host.memory.commit_limit_bytes.or(computed);
    let (standing, reason) = match (facts.host.sysctl_number("vm.overcommit_memory"), limit) {
        (Some(2), Some(limit)) => return strict(facts, limit, &text),
        (Some(2), None) => (Standing::Unknown, format!("{text}.")),
        (Some(mode), _) => {
            (Standing::Fine, format!("{text}; it is not enforced, since vm.overcommit_memory is {mode}."))
        }
        (None, _) => (Standing::Unknown, format!("{text}; whether it is enforced could not be read.")),
    };
    let finding = RULE.finding(standing, reason);
    vec![match limit {
        Some(limit) => finding.present(units::bytes(limit)),
        None => finding,
    }]
}

/// Judges a limit that is enforced.
fn strict(facts: &Facts<'_>, limit: u64, text: &str) -> Vec<Finding> {
    let present = units::bytes(limit);
    let Some((shared, sessions)) = demand(facts) else {
        return RULE.fine(present, format!("{text}; no server was named that would have to fit."));
    };
    let running = facts.host.server.as_ref().is_some_and(|server| server.pid > 0);
    // A running server's shared memory is promised already.
    let shared_left = if running { 0 } else { shared };
    let promised = facts.host.memory.committed_bytes.unwrap_or(0);
    let left = limit.saturating_sub(promised);
    let text = format!(
        "{text}; {} are promised, and the server needs {} of shared memory and {} for its sessions",
        units::bytes(promised),
        units::bytes(shared),
        units::bytes(sessions)
    );
    match () {
        () if shared > limit || shared_left > left => {
            let reason = format!("{text}: it would not start.");
            vec![
                RULE.finding(Standing::Improve, reason)
                    .present(present)
                    .recommend(remedy(shared.saturating_add(sessions))),
            ]
        }
        () if shared_left.saturating_add(sessions) > left => {
            let reason =
                format!("{text}: sessions may fail with \"out of memory\" before all are connected.");
            vec![
                RULE.finding(Standing::Improve, reason)
                    .present(present)
                    .recommend(remedy(shared.saturating_add(sessions))),
            ]
        }
        () => RULE.fine(present, format!("{text}: it fits.")),
    }
}

/// What would make the server fit.
fn remedy(needed: u64) -> String {
    format!("at least {}, or smaller shared_buffers, work_mem or max_connections", units::bytes(needed))
}

/// Shared memory that counts, and memory of all sessions.
fn demand(facts: &Facts<'_>) -> Option<(u64, u64)> {
    let in_huge_pages = facts.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0);
    let shared = facts.shared_memory_bytes()?.saturating_sub(in_huge_pages);
    let work = facts.setting_bytes("work_mem", KB, 4 * MB)?;
    let connections = facts.setting_number("max_connections", 100)?;
    Some((shared, connections.saturating_mul(work.saturating_add(SESSION_BYTES))))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::GB;
    use pgdyno_core::host::{Inventory, Swap};

    use super::*;
    use crate::host::testing::{findings, host, standings, with_server};

    fn strict_host() -> Inventory {
        host(&[("vm.overcommit_memory", "2"), ("vm.overcommit_ratio", "50")])
    }

    #[test]
    fn the_formula_is_shown_with_figures() {
        let mut host = strict_host();
        host.memory.huge_pages[0].total = 8192;
        host.memory.swaps = Some(vec![Swap { size_bytes: 8 * GB, ..Swap::default() }]);
        let reason = &findings(&RULE, &host)[0].reason;
        let expected = "CommitLimit = (64 GiB − 16 GiB in huge pages) × 50 % + 8 GiB of swap = 32 GiB";
        assert!(reason.starts_with(expected), "{reason}");
        // The example of the kernel's documentation: 1 GiB, 7 GiB of swap, 30 % are 7.3 GiB.
        host.memory.total_bytes = GB;
        host.memory.huge_pages[0].total = 0;
        host.memory.swaps = Some(vec![Swap { size_bytes: 7 * GB, ..Swap::default() }]);
        host.kernel.sysctls.insert("vm.overcommit_ratio".to_owned(), "30".to_owned());
        assert!(findings(&RULE, &host)[0].reason.contains("= 7.30 GiB"), "{:?}", findings(&RULE, &host));
    }

    #[test]
    fn what_is_unknown_is_no_figure() {
        let mut host = host(&[
            ("vm.overcommit_memory", "0"),
            ("vm.overcommit_ratio", "50"),
            ("vm.nr_hugepages", "8192"),
        ]);
        host.memory.huge_pages.clear();
        let reason = |host: &Inventory| findings(&RULE, host)[0].reason.clone();
        let expected = "CommitLimit = (64 GiB − 16 GiB in huge pages) × 50 % + 0 B of swap = 24 GiB";
        assert!(reason(&host).starts_with(expected), "{}", reason(&host));
        host.kernel.sysctls.remove("vm.nr_hugepages");
        host.memory.swaps = None;
        let expected = "CommitLimit = (64 GiB − huge pages) × 50 % + swap (not all of these are known);";
        assert!(reason(&host).starts_with(expected), "{}", reason(&host));
        assert_eq!(
            (standings(&RULE, &host), &findings(&RULE, &host)[0].present),
            (vec![Standing::Fine], &None)
        );
        host.kernel.sysctls.insert("vm.overcommit_memory".to_owned(), "2".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::Unknown]);
        host.memory.commit_limit_bytes = Some(GB);
        assert_eq!(findings(&RULE, &host)[0].present.as_deref(), Some("1 GiB"), "the kernel says it itself");
    }

    #[test]
    fn a_server_has_to_fit() {
        for (buffers, connections, expected, says) in [
            ("8GB", "100", Standing::Fine, "it fits"),
            ("24GB", "1000", Standing::Improve, "sessions may fail"),
            ("40GB", "100", Standing::Improve, "would not start"),
        ] {
            let settings = [("shared_buffers", buffers), ("max_connections", connections)];
            let mut host = with_server(strict_host(), 17, &settings);
            host.server.as_mut().expect("it was put there").pid = 0;
            let found = findings(&RULE, &host);
            assert_eq!(found[0].standing, expected, "{buffers}: {}", found[0].reason);
            assert!(found[0].reason.contains(says), "{buffers}: {}", found[0].reason);
        }
    }

    #[test]
    fn a_limit_that_is_not_enforced_is_told_only() {
        let lax = host(&[("vm.overcommit_memory", "0"), ("vm.overcommit_ratio", "50")]);
        assert_eq!(standings(&RULE, &with_server(lax, 17, &[("shared_buffers", "60GB")])), [Standing::Fine]);
        assert_eq!(standings(&RULE, &host(&[("vm.overcommit_ratio", "50")])), [Standing::Unknown]);
        assert!(standings(&RULE, &host(&[])).is_empty());
    }

    #[test]
    fn kilobytes_replace_the_ratio() {
        let mut host = strict_host();
        host.kernel.sysctls.insert("vm.overcommit_kbytes".to_owned(), "1048576".to_owned());
        assert!(findings(&RULE, &host)[0].reason.contains("= 1 GiB"), "{:?}", findings(&RULE, &host));
    }
}
