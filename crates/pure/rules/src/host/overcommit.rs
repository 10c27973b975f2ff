//! How much memory the kernel promises, and whether a server fits.

use pgdyno_core::{
    facts::amount::{GB, KB, MB},
    units,
};

use super::{
    huge::HugeMemory,
    remedy::Remedy,
    rule::{Facts, Given, Rule},
};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "vm.overcommit_memory",
        what: "Whether the kernel promises more memory than it has: 0 by a rough estimate, 1 always, 2 never beyond \
              CommitLimit.",
        today: Today::Depends,
        why: "With 2, a session that wants too much memory gets an error and the server lives on; the manual \
             recommends it against the OOM killer. It asks for swap or a higher vm.overcommit_ratio, and for a host \
             where nothing else reserves much more than it uses (runtimes of Java and Go, browsers, fork of large \
             processes). With 0 it is the OOM score of the main process that protects the server.",
        danger: "1 promises everything to everybody, so that only the OOM killer is left; when it ends a process of \
                the server, all sessions are lost and the server goes through crash recovery.",
        source: "PostgreSQL manual, \"Linux Memory Overcommit\"; Linux Documentation/mm/overcommit-accounting.rst.",
        ..Page::EMPTY
    })
    .expected_sysctl(judge_mode),
    Rule::of(Page {
        name: "vm.overcommit_ratio",
        what: "Percentage of the memory without explicit huge pages that counts towards CommitLimit; read only where \
              vm.overcommit_memory is 2.",
        today: Today::NoEffect,
        why: "It is usually published beside vm.overcommit_memory = 0, where the kernel does not read it. In mode 2 \
             the default of 50 leaves half of the memory of a host without swap to the page cache: the recommended \
             value leaves 5 % of the memory, at least 1 GiB, to the kernel after what swap adds.",
        danger: "Too low in mode 2, the server or its sessions get \"out of memory\" while memory is free; above 100 \
                the mode promises more than there is.",
        source: "Linux Documentation/mm/overcommit-accounting.rst and admin-guide/sysctl/vm.rst.",
        ..Page::EMPTY
    })
    .judges(judge_ratio),
    Rule::of(Page {
        name: "vm.overcommit_kbytes",
        what: "Memory in KiB that counts towards CommitLimit in place of vm.overcommit_ratio; 0, the default, where \
              the ratio holds. Writing one of the two sets the other to 0.",
        today: Today::Depends,
        why: "It is read only where vm.overcommit_memory is 2, as the ratio is, and is finer than whole per cents on \
             hosts with much memory. Pools of huge pages are not taken off it, so that it has to be what is left \
             beside them.",
        danger: "Too low in mode 2, the server or its sessions get \"out of memory\" while memory is free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, overcommit_kbytes; mm/util.c, vm_commit_limit.",
        since_kernel: Some((3, 14)),
        ..Page::EMPTY
    })
    .sysctl(judge_kbytes),
    Rule::of(Page {
        name: "CommitLimit",
        also: &["Committed_AS", "commit_limit", "commit limit"],
        what: "Memory that the kernel promises to all processes together where vm.overcommit_memory is 2: (memory − \
              pools of huge pages) × vm.overcommit_ratio / 100 + swap, or vm.overcommit_kbytes + swap.",
        today: Today::Depends,
        why: "The shared memory of a server counts in full from its start on, unless it is in explicit huge pages, \
             and so does all private memory that sessions may write. Compared here are what the limit leaves and what \
             the server needs: its shared memory, and 8 MiB and one work_mem for each of max_connections.",
        danger: "Beyond the limit the server does not start, or sessions fail with \"out of memory\" while memory is \
                free.",
        source: "Linux Documentation/mm/overcommit-accounting.rst; proc_meminfo(5); PostgreSQL manual, \"Linux Memory \
                Overcommit\".",
        ..Page::EMPTY
    })
    .judges(judge_commit_limit),
];

fn judge_mode(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0 => given.fine("Obvious excess is refused; what is left to protect the server is its OOM score."),
        1 => {
            let reason = "Every request for memory is granted, so that the OOM killer decides who ends when memory \
                          runs out.";
            given.dangerous(reason).set_sysctl(0)
        }
        2 => given.fine(
            "Requests beyond CommitLimit get an error; the rule CommitLimit says whether it is enough.",
        ),
        _ => given.unknown("This is no mode that the kernel documents."),
    }
}

/// What is said of a limit of mode 2 in another mode, and where the mode could not be read.
fn outside_mode_2(given: &Given<'_>, mode: Option<i64>) -> Finding {
    match mode {
        Some(mode) => given.no_effect(format!(
            "The kernel reads it only where vm.overcommit_memory is 2; here that is {mode}."
        )),
        None => given.unknown("Whether it is read depends on vm.overcommit_memory, which could not be read."),
    }
}

/// The mode of overcommit.
fn mode(given: &Given<'_>) -> Option<i64> {
    given.host.sysctl_number("vm.overcommit_memory")
}

/// The kernel's default of `vm.overcommit_ratio`, in percent.
const DEFAULT_RATIO: u64 = 50;

fn judge_ratio(given: &Given<'_>) -> Option<Finding> {
    let mode = mode(given);
    let Some(value) = given.number() else { return (mode == Some(2)).then(|| given.unread()) };
    let finding = match (value, mode) {
        (_, Some(2)) => strict_ratio(given, value),
        (DEFAULT_RATIO, Some(_)) => given.fine("It is the default, and not read outside mode 2."),
        _ => outside_mode_2(given, mode),
    };
    Some(finding.present(value))
}

/// Judges the ratio where it is read.
fn strict_ratio(given: &Given<'_>, value: u64) -> Finding {
    if given.host.sysctl_number("vm.overcommit_kbytes").is_some_and(|kbytes| kbytes > 0) {
        return given.no_effect("vm.overcommit_kbytes is set, which replaces the ratio.");
    }
    let memory = given.bytes_without_huge_pages();
    let Some(swap) = given.host.memory.swap_bytes().filter(|_| memory > 0) else {
        return given.unknown("The size of the memory or of swap is unknown.");
    };
    let limit = memory as f64 * value as f64 / 100.0 + swap as f64;
    let kept = (given.host.memory.total_bytes / 20).max(GB);
    let best = percent_of(memory.saturating_sub(kept).saturating_sub(swap), memory);
    let text = format!(
        "{} of memory without huge pages × {value} % and {} of swap are a CommitLimit of {}",
        units::bytes(memory),
        units::bytes(swap),
        units::bytes(limit as u64)
    );
    match () {
        () if value > 100 => {
            given.dangerous(format!("{text}, more than there is.")).set_sysctl(best.max(DEFAULT_RATIO))
        }
        () if limit < 0.75 * memory as f64 && best > value => {
            let reason =
                format!("{text}, so that more than a quarter of the memory can be nothing but page cache.");
            given.improve(reason).set_sysctl(best)
        }
        () => given.fine(format!("{text}.")),
    }
}

/// A part of a whole in percent, rounded down.
fn percent_of(part: u64, whole: u64) -> u64 {
    (part as f64 / whole as f64 * 100.0) as u64
}

fn judge_kbytes(given: &Given<'_>, value: u64) -> Finding {
    match (value, mode(given)) {
        (0, _) => given.fine("vm.overcommit_ratio holds in its place."),
        (_, Some(2)) => {
            given.fine("CommitLimit is computed from it; the rule CommitLimit says whether it is enough.")
        }
        (_, mode) => outside_mode_2(given, mode),
    }
}

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

fn judge_commit_limit(given: &Given<'_>) -> Option<Finding> {
    let (computed, text) = formula(given)?;
    let limit = given.host.memory.commit_limit_bytes.or(computed);
    let finding = match (mode(given), limit) {
        (Some(2), Some(limit)) => strict_limit(given, limit, &text),
        (Some(2), None) => given.unknown(format!("{text}.")),
        (Some(mode), _) => {
            given.fine(format!("{text}; it is not enforced, since vm.overcommit_memory is {mode}."))
        }
        (None, _) => given.unknown(format!("{text}; whether it is enforced could not be read.")),
    };
    Some(match limit {
        Some(limit) => finding.present(units::bytes(limit)),
        None => finding,
    })
}

/// Judges a limit that is enforced.
fn strict_limit(given: &Given<'_>, limit: u64, text: &str) -> Finding {
    let Some((shared, sessions)) = demand(given) else {
        return given.fine(format!("{text}; no server was named that would have to fit."));
    };
    let running = given.host.server.as_ref().is_some_and(|server| server.pid > 0);
    // A running server's shared memory is promised already.
    let shared_left = if running { 0 } else { shared };
    let promised = given.host.memory.committed_bytes.unwrap_or(0);
    let left = limit.saturating_sub(promised);
    let text = format!(
        "{text}; {} are promised, and the server needs {} of shared memory and {} for its sessions",
        units::bytes(promised),
        units::bytes(shared),
        units::bytes(sessions)
    );
    let wanted = units::bytes(shared.saturating_add(sessions));
    let remedy = format!("at least {wanted}, or smaller shared_buffers, work_mem or max_connections");
    if shared > limit || shared_left > left {
        given.improve(format!("{text}: it would not start.")).recommend(remedy)
    } else if shared_left.saturating_add(sessions) > left {
        let reason = format!("{text}: sessions may fail with \"out of memory\" before all are connected.");
        given.improve(reason).recommend(remedy)
    } else {
        given.fine(format!("{text}: it fits."))
    }
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
    use pgdyno_inventory::{Inventory, Swap};

    use super::*;
    use crate::{
        Standing,
        host::testing::{changes, check_hosts, check_values, findings, host, standings, with_server},
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Dangerous, Fine, Unknown};
        check_values(&[
            ("vm.overcommit_memory", &[("0", Fine), ("1", Dangerous), ("2", Fine), ("7", Unknown)]),
            ("vm.overcommit_kbytes", &[("0", Fine), ("1048576", Unknown)]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Dangerous, Fine, Improve, NoEffect};
        let with_kbytes = |mode| host(&[("vm.overcommit_kbytes", "1048576"), ("vm.overcommit_memory", mode)]);
        check_hosts(&[
            ("vm.overcommit_ratio", planned("0", "90"), &[NoEffect]),
            ("vm.overcommit_ratio", planned("1", "90"), &[NoEffect]),
            ("vm.overcommit_ratio", planned("0", "50"), &[Fine]),
            ("vm.overcommit_ratio", planned("2", "50"), &[Improve]),
            ("vm.overcommit_ratio", planned("2", "90"), &[Fine]),
            ("vm.overcommit_ratio", planned("2", "150"), &[Dangerous]),
            ("vm.overcommit_kbytes", with_kbytes("0"), &[NoEffect]),
            ("vm.overcommit_kbytes", with_kbytes("2"), &[Fine]),
        ]);
    }

    #[test]
    fn only_promising_everything_is_dangerous() {
        assert_eq!(changes("vm.overcommit_memory", &host(&[("vm.overcommit_memory", "1")])), ["0"]);
    }

    fn planned(mode: &str, ratio: &str) -> Inventory {
        host(&[("vm.overcommit_memory", mode), ("vm.overcommit_ratio", ratio)])
    }

    #[test]
    fn the_ratio_is_read_in_mode_2_only() {
        assert_eq!(
            standings("vm.overcommit_ratio", &host(&[("vm.overcommit_memory", "2")])),
            [Standing::Unknown]
        );
        assert!(standings("vm.overcommit_ratio", &host(&[])).is_empty());
    }

    #[test]
    fn the_kernel_keeps_a_part() {
        // 64 GiB, of which 5 % are kept, no swap.
        assert_eq!(changes("vm.overcommit_ratio", &planned("2", "50")), ["95"]);
        let mut host = planned("2", "50");
        host.memory.swaps = Some(vec![Swap { size_bytes: 32 * GB, ..Swap::default() }]);
        assert!(changes("vm.overcommit_ratio", &host).is_empty(), "32 + 32 GiB are enough");
        host.memory.swaps = None;
        assert_eq!(standings("vm.overcommit_ratio", &host), [Standing::Unknown], "there may be swap");
    }

    #[test]
    fn kilobytes_replace_the_ratio() {
        let mut host = planned("2", "90");
        host.kernel.sysctls.insert("vm.overcommit_kbytes".to_owned(), "1000".to_owned());
        assert_eq!(standings("vm.overcommit_ratio", &host), [Standing::NoEffect]);
    }

    fn strict_host() -> Inventory {
        host(&[("vm.overcommit_memory", "2"), ("vm.overcommit_ratio", "50")])
    }

    #[test]
    fn the_formula_is_shown_with_figures() {
        let mut host = strict_host();
        host.memory.huge_pages[0].total = 8192;
        host.memory.swaps = Some(vec![Swap { size_bytes: 8 * GB, ..Swap::default() }]);
        let reason = &findings("CommitLimit", &host)[0].reason;
        let expected = "CommitLimit = (64 GiB − 16 GiB in huge pages) × 50 % + 8 GiB of swap = 32 GiB";
        assert!(reason.starts_with(expected), "{reason}");
        // The example of the kernel's documentation: 1 GiB, 7 GiB of swap, 30 % are 7.3 GiB.
        host.memory.total_bytes = GB;
        host.memory.huge_pages[0].total = 0;
        host.memory.swaps = Some(vec![Swap { size_bytes: 7 * GB, ..Swap::default() }]);
        host.kernel.sysctls.insert("vm.overcommit_ratio".to_owned(), "30".to_owned());
        assert!(
            findings("CommitLimit", &host)[0].reason.contains("= 7.30 GiB"),
            "{:?}",
            findings("CommitLimit", &host)
        );
    }

    #[test]
    fn what_is_unknown_is_no_figure() {
        let mut host = host(&[
            ("vm.overcommit_memory", "0"),
            ("vm.overcommit_ratio", "50"),
            ("vm.nr_hugepages", "8192"),
        ]);
        host.memory.huge_pages.clear();
        let reason = |host: &Inventory| findings("CommitLimit", host)[0].reason.clone();
        let expected = "CommitLimit = (64 GiB − 16 GiB in huge pages) × 50 % + 0 B of swap = 24 GiB";
        assert!(reason(&host).starts_with(expected), "{}", reason(&host));
        host.kernel.sysctls.remove("vm.nr_hugepages");
        host.memory.swaps = None;
        let expected = "CommitLimit = (64 GiB − huge pages) × 50 % + swap (not all of these are known);";
        assert!(reason(&host).starts_with(expected), "{}", reason(&host));
        assert_eq!(
            (standings("CommitLimit", &host), &findings("CommitLimit", &host)[0].present),
            (vec![Standing::Fine], &None)
        );
        host.kernel.sysctls.insert("vm.overcommit_memory".to_owned(), "2".to_owned());
        assert_eq!(standings("CommitLimit", &host), [Standing::Unknown]);
        host.memory.commit_limit_bytes = Some(GB);
        assert_eq!(
            findings("CommitLimit", &host)[0].present.as_deref(),
            Some("1 GiB"),
            "the kernel says it itself"
        );
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
            let found = findings("CommitLimit", &host);
            assert_eq!(found[0].standing, expected, "{buffers}: {}", found[0].reason);
            assert!(found[0].reason.contains(says), "{buffers}: {}", found[0].reason);
        }
    }

    #[test]
    fn a_limit_that_is_not_enforced_is_told_only() {
        let lax = host(&[("vm.overcommit_memory", "0"), ("vm.overcommit_ratio", "50")]);
        assert_eq!(
            standings("CommitLimit", &with_server(lax, 17, &[("shared_buffers", "60GB")])),
            [Standing::Fine]
        );
        assert_eq!(standings("CommitLimit", &host(&[("vm.overcommit_ratio", "50")])), [Standing::Unknown]);
        assert!(standings("CommitLimit", &host(&[])).is_empty());
    }

    #[test]
    fn limit_kilobytes_replace_the_ratio() {
        let mut host = strict_host();
        host.kernel.sysctls.insert("vm.overcommit_kbytes".to_owned(), "1048576".to_owned());
        assert!(
            findings("CommitLimit", &host)[0].reason.contains("= 1 GiB"),
            "{:?}",
            findings("CommitLimit", &host)
        );
    }
}
