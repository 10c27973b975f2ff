//! `kernel.sem`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
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
    },
    judge,
};

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

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some([in_set, in_all, operations, sets_allowed]) =
        RULE.numbers(facts).and_then(|numbers| <[u64; 4]>::try_from(numbers).ok())
    else {
        return Vec::new();
    };
    let present = format!("{in_set} {in_all} {operations} {sets_allowed}");
    let default = matches!(present.as_str(), "32000 1024000000 500 32000" | "250 32000 32 128");
    match (facts.major(), sets(facts)) {
        (Some(10..), _) if default => {
            RULE.fine(present, "It is the default, and the server uses POSIX semaphores.")
        }
        (Some(10..), _) => {
            let reason = "The server uses unnamed POSIX semaphores unless it was built otherwise, so the limits do \
                          nothing.";
            vec![RULE.finding(Standing::Obsolete, reason).present(present)]
        }
        (Some(_), Some(sets)) => {
            let all = sets.saturating_mul(PER_SET + 1);
            let text = format!("The server needs {sets} sets of {}, {all} semaphores in all", PER_SET + 1);
            // A server that runs has its sets already; another one and other programs want some as well.
            if in_set > PER_SET && in_all >= all.saturating_mul(2) && sets_allowed >= sets.saturating_mul(2) {
                return RULE.fine(present, format!("{text}, less than half of what is allowed."));
            }
            let in_set = in_set.max(PER_SET + 1);
            let in_all = in_all.max(all.saturating_mul(2));
            let best = format!("{in_set} {in_all} {operations} {}", sets_allowed.max(sets.saturating_mul(2)));
            let reason = format!("{text}, and other programs need some too.");
            vec![RULE.finding(Standing::Improve, reason).present(present).set_sysctl(best)]
        }
        _ if default => RULE.fine(present, "It is the default of the kernel."),
        _ => {
            let reason = "PostgreSQL 10 and later need none of it; no older server is known here.";
            vec![RULE.finding(Standing::Obsolete, reason).present(present)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, standings, with_server};

    const ARTICLE: &str = "4096 2147483647 2147483646 512000";
    const DEFAULT: &str = "32000 1024000000 500 32000";

    #[test]
    fn posix_semaphores_have_no_such_limits() {
        let server =
            |value, major| with_server(host(&[("kernel.sem", value)]), major, &[("max_connections", "1000")]);
        assert_eq!(standings(&RULE, &server(ARTICLE, 12)), [Standing::Obsolete]);
        assert_eq!(standings(&RULE, &server(DEFAULT, 12)), [Standing::Fine]);
        assert_eq!(standings(&RULE, &server(ARTICLE, 9)), [Standing::Fine]);
        check_values(&RULE, &[(DEFAULT, Standing::Fine), (ARTICLE, Standing::Obsolete)]);
        assert!(standings(&RULE, &host(&[("kernel.sem", "1 2")])).is_empty());
    }

    #[test]
    fn the_manual_counts_the_sets() {
        // (2000 + 3 + 8 + 5) / 16 = 126 sets.
        let old = with_server(host(&[("kernel.sem", "250 32000 32 128")]), 9, &[("max_connections", "2000")]);
        assert_eq!(changes(&RULE, &old), ["250 32000 32 252"]);
        let mut older = old.clone();
        older.server.as_mut().expect("it was put there").version_num = Some(90_500);
        // (2000 + 3 + 4) / 16 = 126 as well.
        assert_eq!(changes(&RULE, &older), ["250 32000 32 252"]);
    }
}
