//! Limits of the running server, and those of a login that would start it: nofile, nproc, core, memlock, stack.

use pgdyno_core::host::{Inventory, Knob, Limit};
use pgdyno_core::{
    facts::amount::{KB, MB},
    units,
};

use super::login;
use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const SOURCE: &str = "getrlimit(2); limits.conf(5); systemd.exec(5); PostgreSQL manual, \"Resource Limits\".";

/// The rule of open files.
pub static NOFILE: Rule = Rule {
    page: Page {
        name: "nofile",
        also: &["LimitNOFILE", "Max open files"],
        what: "Files that a process may have open.",
        today: Today::Kept,
        why: "Each process of the server opens at most max_files_per_process files, 1000 by default, and takes less \
              if the limit is lower. 1024 are enough for the default. With io_method = io_uring (18 and later) there \
              is one more for each possible process. Published values such as 655360 bring nothing.",
        danger: "Too low, sessions open and close files all the time; with io_uring the server does not start.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| ITEMS[0].judge(facts),
};

/// The rule of processes.
pub static NPROC: Rule = Rule {
    page: Page {
        name: "nproc",
        also: &["LimitNPROC", "Max processes"],
        what: "Processes and threads that the user of a process may have, on the whole host.",
        today: Today::Kept,
        why: "The server is a process for each connection and worker. All processes of its user count, also those of \
              a second server.",
        danger: "Too low, connections fail (\"could not fork new process for connection: Resource temporarily \
                 unavailable\").",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| ITEMS[1].judge(facts),
};

/// The rule of core files.
pub static CORE: Rule = Rule {
    page: Page {
        name: "core",
        also: &["LimitCORE", "Max core file size"],
        what: "Largest file of memory that is written when a process crashes, in KiB in limits.conf.",
        today: Today::Depends,
        why: "Without a dump a crash of the server can hardly be explained; with one, kernel.core_pattern says where \
              it goes. It holds shared_buffers unless they are in huge pages.",
        danger: "unlimited with a pattern inside the data directory can fill the volume of the data.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| ITEMS[2].judge(facts),
};

/// The rule of locked memory.
pub static MEMLOCK: Rule = Rule {
    page: Page {
        name: "memlock",
        also: &["LimitMEMLOCK", "Max locked memory"],
        what: "Memory that a process may lock, in KiB in limits.conf.",
        today: Today::NoEffect,
        why: "The server locks nothing, and huge pages that are mapped, its only way to them on Linux, are not \
              counted as locked: memlock above the pool, as published for huge pages, is not needed, nor is \
              vm.hugetlb_shm_group, since shared memory of System V (shared_memory_type = sysv) has no huge pages. \
              Only io_method = io_uring on kernels before 5.12 needs it: there a ring of 8 KiB for each possible \
              process counts as locked.",
        danger: "Too low for these rings, the server does not start.",
        source: "PostgreSQL src/backend/port/sysv_shmem.c; io_uring_setup(2); liburing README, \"ulimit settings\".",
        ..Page::EMPTY
    },
    judge: |facts| ITEMS[3].judge(facts),
};

/// The rule of the stack.
pub static STACK: Rule = Rule {
    page: Page {
        name: "stack",
        also: &["LimitSTACK", "Max stack size"],
        what: "Size to which the stack of a process may grow, in KiB in limits.conf; 8192 by default.",
        today: Today::DefaultIsRight,
        why: "max_stack_depth, 2 MB by default, has to be 512 kB below it; 8 MiB are enough for that and for its \
              largest sensible values. Only then has it to be raised.",
        danger: "unlimited makes the kernel lay out memory from the bottom up on arm64 and others.",
        source: "PostgreSQL manual, max_stack_depth; Linux mm/util.c, mmap_is_legacy.",
        ..Page::EMPTY
    },
    judge: |facts| ITEMS[4].judge(facts),
};

/// What is fine by the files that are known is not known to be fine while others may say otherwise.
fn unless_unread(host: &Inventory, found: Finding) -> Finding {
    match &host.login.unread[..] {
        unread if unread.is_empty() || found.standing != Standing::Fine => found,
        unread => Finding {
            standing: Standing::Unknown,
            reason: format!("{} What {} says is not known.", found.reason, unread.join(", ")),
            ..found
        },
    }
}

/// An item of `limits.conf`, and what a server needs of it.
struct Item {
    rule: &'static Rule,
    /// Its name in `/proc/PID/limits`.
    of_process: &'static str,
    /// Least value that a server needs; `None` if it is unknown or there is no such value.
    needed: fn(&Facts<'_>) -> Option<u64>,
    /// The unit of `limits.conf` in bytes, for sizes.
    unit_bytes: Option<u64>,
}

static ITEMS: [Item; 5] = [
    Item { rule: &NOFILE, of_process: "Max open files", needed: files, unit_bytes: None },
    Item { rule: &NPROC, of_process: "Max processes", needed: processes, unit_bytes: None },
    Item { rule: &CORE, of_process: "Max core file size", needed: |_| None, unit_bytes: Some(KB) },
    Item { rule: &MEMLOCK, of_process: "Max locked memory", needed: locked, unit_bytes: Some(KB) },
    Item { rule: &STACK, of_process: "Max stack size", needed: stack, unit_bytes: Some(KB) },
];

fn files(facts: &Facts<'_>) -> Option<u64> {
    facts.files_of_process()
}

/// Whether the server has a ring of io_uring for each possible process.
fn has_rings(facts: &Facts<'_>) -> bool {
    facts.setting("io_method").is_some_and(|method| method == "io_uring")
}

fn processes(facts: &Facts<'_>) -> Option<u64> {
    facts.server_processes()
}

fn locked(facts: &Facts<'_>) -> Option<u64> {
    // Two pages: entries of both queues, and 64 requests (io_max_concurrency at most, unless it is set).
    const RING_BYTES: u64 = 8 * KB;
    let is_counted = has_rings(facts) && facts.kernel_is_at_least(5, 12) == Some(false);
    is_counted.then(|| facts.server_processes())?.map(|processes| processes.saturating_mul(RING_BYTES))
}

fn stack(facts: &Facts<'_>) -> Option<u64> {
    facts.setting_bytes("max_stack_depth", KB, 2 * MB)?.checked_add(512 * KB)
}

impl Item {
    /// Judges the limit of the running server, else that of a login of its user.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let host = facts.host;
        let running = host.server.as_ref().and_then(|server| server.limits.get(self.of_process).copied());
        let login = login::limit(host, self.rule.page.name);
        let (limit, whose) = match (running, login) {
            (Some(limit), _) => (limit, "The running server"),
            (None, Some(limit)) => (limit, "A login of the server's user"),
            (None, None) => return Vec::new(),
        };
        let found = self.judge_limit(facts, limit, whose);
        let mut found = vec![if running.is_none() { unless_unread(host, found) } else { found }];
        found.extend(self.next_start(running, login));
        found
    }

    fn judge_limit(&self, facts: &Facts<'_>, limit: Limit, whose: &str) -> Finding {
        let present = self.text(limit.soft);
        let needed = (self.needed)(facts);
        match (limit.soft, needed) {
            (Some(soft), Some(needed)) if soft < needed => {
                let text = format!("{whose} has {present}, and the server needs {}", self.text(Some(needed)));
                let recommended = self.written(needed);
                match facts.host.server.as_ref().and_then(|server| server.unit.as_deref()) {
                    Some(unit) => {
                        let reason = format!("{text}; its unit {unit} sets limits, not limits.conf.");
                        self.rule.finding(Standing::Improve, reason).present(present).recommend(recommended)
                    }
                    None => {
                        let finding =
                            self.rule.finding(Standing::Improve, format!("{text}.")).present(present);
                        self.with_change(facts, finding, &recommended)
                    }
                }
            }
            (None, _) if self.of_process == "Max stack size" => {
                let reason = format!(
                    "{whose} has no limit of the stack, which brings a server nothing above some MiB; 8 are the \
                     default."
                );
                self.rule.finding(Standing::NoEffect, reason).present(present).recommend("8192")
            }
            (_, Some(needed)) => {
                let reason =
                    format!("{whose} has {present}, and the server needs {}.", self.text(Some(needed)));
                self.rule.finding(Standing::Fine, reason).present(present)
            }
            (_, None) => {
                let reason = format!("{whose} has {present}, and nothing is known that would need more.");
                self.rule.finding(Standing::Fine, reason).present(present)
            }
        }
    }

    /// A finding with the line of `limits.d` that a login would need, where the user is known.
    fn with_change(&self, facts: &Facts<'_>, finding: Finding, value: &str) -> Finding {
        let user = facts.host.server.as_ref().and_then(|server| server.user.clone());
        let login = Some(facts.host.login.user.clone()).filter(|user| !user.is_empty());
        match user.or(login) {
            Some(domain) => {
                finding.set(Knob::LoginLimit { domain, item: self.rule.page.name.to_owned() }, value)
            }
            None => finding.recommend(value),
        }
    }

    /// That the next start from a login would have another limit than the server has now.
    fn next_start(&self, running: Option<Limit>, login: Option<Limit>) -> Option<Finding> {
        let (running, login) = running.zip(login)?;
        (running.soft != login.soft).then(|| {
            let reason = format!(
                "The server has {}, and started from a login of its user it would have {}.",
                self.text(running.soft),
                self.text(login.soft)
            );
            self.rule.finding(Standing::Fine, reason).present(self.text(running.soft)).on("login")
        })
    }

    fn text(&self, value: Option<u64>) -> String {
        match (value, self.unit_bytes) {
            (None, _) => "unlimited".to_owned(),
            (Some(bytes), Some(_)) => units::bytes(bytes),
            (Some(count), None) => units::count(count),
        }
    }

    /// A value as `limits.conf` writes it.
    fn written(&self, value: u64) -> String {
        value.div_ceil(self.unit_bytes.unwrap_or(1)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Inventory, LimitLine};

    use super::*;
    use crate::host::testing::{changes, findings, host, on_kernel, standings, with_server};

    fn limited(of_process: &str, soft: Option<u64>, settings: &[(&str, &str)]) -> Inventory {
        let mut host = with_server(host(&[]), 18, settings);
        let server = host.server.as_mut().expect("it was put there");
        server.limits.insert(of_process.to_owned(), Limit { soft, hard: soft });
        host
    }

    #[test]
    fn the_running_server_has_what_it_needs() {
        let plain = vec![("max_connections", "500")];
        // Shared memory of System V has no huge pages on Linux.
        let sysv = vec![("shared_memory_type", "sysv"), ("shared_buffers", "1GB"), ("huge_pages", "try")];
        let rings = vec![("io_method", "io_uring")];
        for (rule, name, soft, settings, expected) in [
            (&NOFILE, "Max open files", Some(1024), &plain, Standing::Fine),
            (&NOFILE, "Max open files", Some(1024), &rings, Standing::Improve),
            (&NOFILE, "Max open files", Some(256), &plain, Standing::Improve),
            (&NPROC, "Max processes", Some(400), &plain, Standing::Improve),
            (&NPROC, "Max processes", None, &plain, Standing::Fine),
            (&CORE, "Max core file size", Some(0), &plain, Standing::Fine),
            (&MEMLOCK, "Max locked memory", Some(64 * KB), &plain, Standing::Fine),
            (&MEMLOCK, "Max locked memory", Some(64 * KB), &sysv, Standing::Fine),
            (&MEMLOCK, "Max locked memory", Some(64 * KB), &rings, Standing::Fine),
            (&STACK, "Max stack size", Some(8 * MB), &plain, Standing::Fine),
            (&STACK, "Max stack size", Some(2 * MB), &plain, Standing::Improve),
            (&STACK, "Max stack size", None, &plain, Standing::NoEffect),
        ] {
            assert_eq!(
                standings(rule, &limited(name, soft, settings)),
                [expected],
                "{name} {soft:?} {settings:?}"
            );
        }
    }

    #[test]
    fn rings_are_locked_memory_on_old_kernels() {
        let rings = [("io_method", "io_uring")];
        for (soft, expected) in [(Some(64 * KB), Standing::Improve), (Some(8 * MB), Standing::Fine)] {
            let host = on_kernel(limited("Max locked memory", soft, &rings), "5.4.0-100-generic");
            assert_eq!(standings(&MEMLOCK, &host), [expected], "{soft:?}");
        }
        let host = limited("Max locked memory", Some(64 * KB), &rings);
        assert_eq!(standings(&MEMLOCK, &on_kernel(host, "5.15.0-1")), [Standing::Fine]);
    }

    #[test]
    fn a_login_may_be_limited_by_files_that_are_not_known() {
        let mut host = host(&[]);
        let [file, domain, kind, item, value] =
            ["limits.conf", "*", "-", "core", "unlimited"].map(str::to_owned);
        host.login.lines.push(LimitLine { file, domain, kind, item, value });
        assert_eq!(standings(&CORE, &host), [Standing::Fine]);
        host.login.unread.push("limits.d".to_owned());
        let found = findings(&CORE, &host).remove(0);
        assert_eq!(found.standing, Standing::Unknown);
        assert!(found.reason.ends_with("What limits.d says is not known."), "{}", found.reason);
    }

    #[test]
    fn a_login_is_changed_and_a_unit_is_not() {
        let mut host = limited("Max open files", Some(256), &[("port", "5432")]);
        assert_eq!(changes(&NOFILE, &host), ["1024"]);
        host.server.as_mut().expect("it was put there").unit = Some("postgresql.service".to_owned());
        assert!(changes(&NOFILE, &host).is_empty());
        assert!(findings(&NOFILE, &host)[0].reason.contains("postgresql.service"));
    }

    #[test]
    fn the_next_start_may_differ() {
        let mut host = limited("Max open files", Some(65_536), &[("port", "5432")]);
        let [file, domain, kind, item, value] =
            ["limits.conf", "*", "-", "nofile", "1024"].map(str::to_owned);
        host.login.lines = vec![LimitLine { file, domain, kind, item, value }];
        assert_eq!(findings(&NOFILE, &host).len(), 2);
        host.server = None;
        assert_eq!(standings(&NOFILE, &host), [Standing::Fine], "a login without a server");
        host.login.lines.clear();
        assert!(standings(&NOFILE, &host).is_empty(), "nothing is known");
    }
}
