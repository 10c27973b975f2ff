//! Limits of System V shared memory and semaphores.

use pgdyno_core::units;

use super::{
    remedy::Remedy,
    rule::{Facts, Given, Rule},
};
use crate::{Finding, Page, Today};

const SHARED_MEMORY: &str = "PostgreSQL manual, \"Shared Memory and Semaphores\" and shared_memory_type; Linux commit \
                             060028bac94b (Linux 3.16).";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "kernel.sem",
        also: &["SEMMSL", "SEMMNS", "SEMOPM", "SEMMNI"],
        what: "Limits of System V semaphores: in a set, in all sets, operations in one call, sets (SEMMSL SEMMNS \
              SEMOPM SEMMNI); 32000 1024000000 500 32000 by default since Linux 3.19, 250 32000 32 128 before.",
        today: Today::Obsolete,
        why: "Builds for Linux use unnamed POSIX semaphores since PostgreSQL 10, which these limits do not concern. \
             9.5, 9.6 and builds with USE_SYSV_SEMAPHORES need SEMMNI sets of 17, one for each 16 processes: of \
             max_connections + autovacuum_max_workers + 4 in 9.5, + max_worker_processes + 5 from 9.6 on, + \
             max_wal_senders from 12 on, + 7 for 5 in 17; 18 says the number itself as num_os_semaphores. Recent \
             minor releases make sets of 19 and one.",
        danger: "Too low for such a build, the server does not start (\"No space left on device\" of semget). A \
                SEMMNI above 32768, as published, is refused by current kernels unless booted with ipcmni_extend.",
        source: "PostgreSQL manual, \"System V IPC Parameters\"; commit ecb0d20a9d2 (PostgreSQL 10); Linux \
                include/uapi/linux/sem.h.",
        ..Page::EMPTY
    })
    .judges(judge_semaphores),
    Rule::of(Page {
        name: "kernel.shmmax",
        what: "Largest System V shared memory segment in bytes; practically unlimited by default since Linux 3.16.",
        today: Today::Obsolete,
        why: "Since 9.3 the shared memory of a server is an anonymous mapping; of System V there is one segment of \
             some 50 bytes, by which a second server on the same data directory is noticed. Only shared_memory_type = \
             sysv (12 and later) puts all of it there again.",
        danger: "A small value set by hand keeps a server with shared_memory_type = sysv from starting.",
        source: SHARED_MEMORY,
        ..Page::EMPTY
    })
    .sysctl(|given, value| judge_size(given, value, 1)),
    Rule::of(Page {
        name: "kernel.shmall",
        what: "System V shared memory of all processes together, in pages; practically unlimited by default since \
              Linux 3.16.",
        today: Today::Obsolete,
        why: "Published values of 80 % of the memory date from before PostgreSQL 9.3, which keeps some 50 bytes \
             there, see kernel.shmmax. Mind the unit: pages of mostly 4 KiB, not bytes.",
        danger: "A small value set by hand keeps a server with shared_memory_type = sysv from starting.",
        source: SHARED_MEMORY,
        ..Page::EMPTY
    })
    .sysctl(|given, value| judge_size(given, value, given.host.memory.page_bytes)),
    Rule::of(Page {
        name: "kernel.shmmni",
        what: "System V shared memory segments that may exist, 4096 by default.",
        today: Today::DefaultIsRight,
        why: "A server has one, and some more with dynamic_shared_memory_type = sysv.",
        danger: "Values above 32768, such as the published 819200, are refused by current kernels unless booted with \
                ipcmni_extend.",
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst; ipc/ipc_sysctl.c; PostgreSQL manual, \"System V \
                IPC Parameters\".",
        ..Page::EMPTY
    })
    .sysctl(judge_segments),
];

/// Useful semaphores of a set, and the one that marks it.
const PER_SET: u64 = 16;

/// Sets that the server needs where it uses System V semaphores.
fn sets(facts: &Facts<'_>) -> Option<u64> {
    let version = facts.host.server.as_ref()?.version_num?;
    let setting = |from: u32, name: &str, default: u64| {
        if version >= from { facts.setting_number(name, default) } else { Some(0) }
    };
    let auxiliary = match version {
        170_000.. => 7,
        90_600.. => 5,
        _ => 4,
    };
    let parts = [
        setting(0, "max_connections", 100)?,
        setting(0, "autovacuum_max_workers", 3)?,
        setting(90_600, "max_worker_processes", 8)?,
        setting(120_000, "max_wal_senders", 10)?,
    ];
    let computed = parts.into_iter().fold(auxiliary, u64::saturating_add);
    let semaphores =
        facts.setting("num_os_semaphores").and_then(|value| value.parse().ok()).unwrap_or(computed);
    Some(semaphores.div_ceil(PER_SET))
}

fn judge_semaphores(given: &Given<'_>) -> Option<Finding> {
    let [in_set, in_all, operations, sets_allowed] = given.numbers_of()?;
    let present = format!("{in_set} {in_all} {operations} {sets_allowed}");
    let is_default = matches!(present.as_str(), "32000 1024000000 500 32000" | "250 32000 32 128");
    let finding = match (given.major(), sets(given)) {
        (Some(10..), _) if is_default => {
            given.fine("It is the default, and the server uses POSIX semaphores.")
        }
        (Some(10..), _) => given.obsolete(
            "The server uses unnamed POSIX semaphores unless it was built otherwise, so the limits do nothing.",
        ),
        (Some(_), Some(sets)) => {
            let all = sets.saturating_mul(PER_SET + 1);
            let text = format!("The server needs {sets} sets of {}, {all} semaphores in all", PER_SET + 1);
            // A server that runs has its sets already; another one and other programs want some as well.
            let (least_all, least_sets) = (all.saturating_mul(2), sets.saturating_mul(2));
            if in_set > PER_SET && in_all >= least_all && sets_allowed >= least_sets {
                given.fine(format!("{text}, less than half of what is allowed."))
            } else {
                let (in_set, in_all) = (in_set.max(PER_SET + 1), in_all.max(least_all));
                let best = format!("{in_set} {in_all} {operations} {}", sets_allowed.max(least_sets));
                given.improve(format!("{text}, and other programs need some too.")).set_sysctl(best)
            }
        }
        _ if is_default => given.fine("It is the default of the kernel."),
        _ => given.obsolete("PostgreSQL 10 and later need none of it; no older server is known here."),
    };
    Some(finding.present(present))
}

/// The default since Linux 3.16, of both.
const UNLIMITED: u64 = u64::MAX - (1 << 24);

fn judge_size(given: &Given<'_>, value: u64, unit_bytes: u64) -> Finding {
    let sysv = given.setting("shared_memory_type").is_some_and(|kind| kind.eq_ignore_ascii_case("sysv"));
    let allowed = value.saturating_mul(unit_bytes);
    match (sysv, given.shared_memory_bytes()) {
        _ if value >= UNLIMITED => given.fine("It is the default since Linux 3.16, which limits nothing."),
        (true, Some(needed)) if unit_bytes > 0 && allowed < needed => {
            let reason = format!(
                "With shared_memory_type = sysv the server needs {}, and {} are allowed.",
                units::bytes(needed),
                units::bytes(allowed)
            );
            given.improve(reason).set_sysctl(UNLIMITED)
        }
        (true, _) => {
            given.fine("It limits the server, which has shared_memory_type = sysv, and is large enough.")
        }
        (false, _) => {
            given.obsolete("PostgreSQL keeps some 50 bytes there since 9.3, which any value allows.")
        }
    }
}

fn judge_segments(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0..16 => given
            .improve("A server needs a segment to start, and other programs want theirs.")
            .set_sysctl(4096),
        16..=4096 => given.fine("A server has one segment."),
        _ => given.no_effect("More than the default of 4096 does nothing for a server that has one segment."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Standing,
        host::testing::{changes, check_values, host, standings, with_server},
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Fine, Improve, NoEffect, Obsolete};
        let unlimited: &[_] = &[("18446744073692774399", Fine), ("274877906944", Obsolete)];
        check_values(&[
            ("kernel.shmmax", unlimited),
            ("kernel.shmall", unlimited),
            ("kernel.sem", &[(DEFAULT, Fine), (ARTICLE, Obsolete)]),
            ("kernel.shmmni", &[("4096", Fine), ("819200", NoEffect), ("1", Improve)]),
        ]);
    }

    const ARTICLE: &str = "4096 2147483647 2147483646 512000";
    const DEFAULT: &str = "32000 1024000000 500 32000";

    #[test]
    fn posix_semaphores_have_no_such_limits() {
        let server =
            |value, major| with_server(host(&[("kernel.sem", value)]), major, &[("max_connections", "1000")]);
        assert_eq!(standings("kernel.sem", &server(ARTICLE, 12)), [Standing::Obsolete]);
        assert_eq!(standings("kernel.sem", &server(DEFAULT, 12)), [Standing::Fine]);
        assert_eq!(standings("kernel.sem", &server(ARTICLE, 9)), [Standing::Fine]);
        assert!(standings("kernel.sem", &host(&[("kernel.sem", "1 2")])).is_empty());
    }

    #[test]
    fn the_manual_counts_the_sets() {
        // (2000 + 3 + 8 + 5) / 16 = 126 sets.
        let old = with_server(host(&[("kernel.sem", "250 32000 32 128")]), 9, &[("max_connections", "2000")]);
        assert_eq!(changes("kernel.sem", &old), ["250 32000 32 252"]);
        let mut older = old.clone();
        older.server.as_mut().expect("it was put there").version_num = Some(90_500);
        // (2000 + 3 + 4) / 16 = 126 as well.
        assert_eq!(changes("kernel.sem", &older), ["250 32000 32 252"]);
    }

    #[test]
    fn system_v_memory_is_limited() {
        let settings = [("shared_memory_type", "sysv"), ("shared_buffers", "8GB")];
        for (rule, small, large) in
            [("kernel.shmmax", "1000000", "10000000000"), ("kernel.shmall", "1000", "10000000")]
        {
            let server = |value| with_server(host(&[(rule, value)]), 17, &settings);
            assert_eq!(changes(rule, &server(small)), [UNLIMITED.to_string()], "{rule}");
            assert_eq!(standings(rule, &server(large)), [Standing::Fine], "{rule}");
        }
    }
}
