//! `kernel.shmmax`, `kernel.shmall` and `kernel.shmmni`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const SOURCE: &str = "PostgreSQL manual, \"Shared Memory and Semaphores\" and shared_memory_type; Linux commit \
                      060028bac94b (Linux 3.16).";

/// The rule of the largest segment.
pub static SHMMAX: Rule = Rule {
    page: Page {
        name: "kernel.shmmax",
        what: "Largest System V shared memory segment in bytes; practically unlimited by default since Linux 3.16.",
        today: Today::Obsolete,
        why: "Since 9.3 the shared memory of a server is an anonymous mapping; of System V there is one segment of \
              some 50 bytes, by which a second server on the same data directory is noticed. Only shared_memory_type \
              = sysv (12 and later) puts all of it there again.",
        danger: "A small value set by hand keeps a server with shared_memory_type = sysv from starting.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge_size(&SHMMAX, facts, 1),
};

/// The rule of all segments together.
pub static SHMALL: Rule = Rule {
    page: Page {
        name: "kernel.shmall",
        what: "System V shared memory of all processes together, in pages; practically unlimited by default since \
               Linux 3.16.",
        today: Today::Obsolete,
        why: "Published values of 80 % of the memory date from before PostgreSQL 9.3, which keeps some 50 bytes there, \
              see kernel.shmmax. Mind the unit: pages of mostly 4 KiB, not bytes.",
        danger: "A small value set by hand keeps a server with shared_memory_type = sysv from starting.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge_size(&SHMALL, facts, facts.host.memory.page_bytes),
};

/// The rule of the number of segments.
pub static SHMMNI: Rule = Rule {
    page: Page {
        name: "kernel.shmmni",
        what: "System V shared memory segments that may exist, 4096 by default.",
        today: Today::DefaultIsRight,
        why: "A server has one, and some more with dynamic_shared_memory_type = sysv.",
        danger: "Values above 32768, such as the published 819200, are refused by current kernels unless booted with \
                 ipcmni_extend.",
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst; ipc/ipc_sysctl.c; PostgreSQL manual, \"System V \
                 IPC Parameters\".",
        ..Page::EMPTY
    },
    judge: judge_count,
};

/// The default since Linux 3.16, of both.
const UNLIMITED: u64 = u64::MAX - (1 << 24);

fn judge_size(rule: &Rule, facts: &Facts<'_>, unit_bytes: u64) -> Vec<Finding> {
    let Some(value) = rule.number(facts) else { return Vec::new() };
    let sysv = facts.setting("shared_memory_type").is_some_and(|kind| kind.eq_ignore_ascii_case("sysv"));
    let allowed = value.saturating_mul(unit_bytes);
    match (sysv, facts.shared_memory_bytes()) {
        _ if value >= UNLIMITED => {
            rule.fine(value, "It is the default since Linux 3.16, which limits nothing.")
        }
        (true, Some(needed)) if unit_bytes > 0 && allowed < needed => {
            let reason = format!(
                "With shared_memory_type = sysv the server needs {}, and {} are allowed.",
                units::bytes(needed),
                units::bytes(allowed)
            );
            vec![rule.finding(Standing::Improve, reason).present(value).set_sysctl(UNLIMITED)]
        }
        (true, _) => rule
            .fine(value, "It limits the server, which has shared_memory_type = sysv, and is large enough."),
        (false, _) => {
            let reason = "PostgreSQL keeps some 50 bytes there since 9.3, which any value allows.";
            vec![rule.finding(Standing::Obsolete, reason).present(value)]
        }
    }
}

fn judge_count(facts: &Facts<'_>) -> Vec<Finding> {
    match SHMMNI.number(facts) {
        None => Vec::new(),
        Some(value @ 0..16) => {
            let reason = "A server needs a segment to start, and other programs want theirs.";
            vec![SHMMNI.finding(Standing::Improve, reason).present(value).set_sysctl(4096)]
        }
        Some(value @ 16..=4096) => SHMMNI.fine(value, "A server has one segment."),
        Some(value) => {
            let reason = "More than the default of 4096 does nothing for a server that has one segment.";
            vec![SHMMNI.finding(Standing::NoEffect, reason).present(value)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, standings, with_server};

    #[test]
    fn large_defaults_limit_nothing() {
        for rule in [&SHMMAX, &SHMALL] {
            check_values(
                rule,
                &[("18446744073692774399", Standing::Fine), ("274877906944", Standing::Obsolete)],
            );
        }
        check_values(
            &SHMMNI,
            &[("4096", Standing::Fine), ("819200", Standing::NoEffect), ("1", Standing::Improve)],
        );
    }

    #[test]
    fn system_v_memory_is_limited() {
        let settings = [("shared_memory_type", "sysv"), ("shared_buffers", "8GB")];
        for (rule, small, large) in [(&SHMMAX, "1000000", "10000000000"), (&SHMALL, "1000", "10000000")] {
            let server = |value| with_server(host(&[(rule.page.name, value)]), 17, &settings);
            assert_eq!(changes(rule, &server(small)), [UNLIMITED.to_string()], "{}", rule.page.name);
            assert_eq!(standings(rule, &server(large)), [Standing::Fine], "{}", rule.page.name);
        }
    }
}
