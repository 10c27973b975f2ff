//! Limits of the host, of the running server, and of a login that would start it.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::{
    facts::amount::{KB, MB},
    host::{Inventory, Knob, Limit, LimitLine, SysctlLine},
    units::{self, plural},
};

use super::{
    known::{DEFAULT_FILES, UNCOUNTED_FILES},
    login,
    remedy::Remedy,
    rule::{Facts, Given, Rule},
};
use crate::{Finding, Page, Standing, Today};

const PROCESS_LIMITS: &str =
    "getrlimit(2); limits.conf(5); systemd.exec(5); PostgreSQL manual, \"Resource Limits\".";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "fs.file-max",
        what: "Open files of all unprivileged processes together.",
        today: Today::DefaultIsRight,
        why: "The kernel computes it as one for each 10 KiB of memory, and systemd since 240 lifts it to the largest \
             number. Only a value set by hand can be too low: the server may need max_files_per_process for each of \
             its processes, which is compared here.",
        danger: "When it is reached, no process of the host can open a file or a socket (\"Too many open files in \
                system\").",
        source: "Linux Documentation/admin-guide/sysctl/fs.rst; fs/file_table.c; systemd NEWS for 240; PostgreSQL \
                manual, max_files_per_process.",
        ..Page::EMPTY
    })
    .expected_sysctl(judge_files_of_all),
    Rule::of(Page {
        name: "fs.nr_open",
        what: "Highest limit of open files (nofile) that a process can be given, 1048576 by default; systemd since \
              240 raises it where it was built to.",
        today: Today::DefaultIsRight,
        why: "A process of the server opens up to max_files_per_process files, 1000 by default, so the default is a \
             thousandfold. It has to be raised only before a nofile above it, which a server does not need.",
        danger: "A nofile above it is refused: depending on the version of PAM the login fails altogether.",
        source: "Linux Documentation/admin-guide/sysctl/fs.rst; getrlimit(2); pam_limits(8).",
        ..Page::EMPTY
    })
    .sysctl(judge_highest_nofile),
    Rule::of(Page {
        name: "fs.aio-max-nr",
        what: "Events of Linux's older asynchronous I/O (io_setup, libaio) that all processes together may have, \
              65536 by default.",
        today: Today::NoEffect,
        why: "No version of PostgreSQL uses this interface: io_method = io_uring of 18 has its own, which is not \
             counted here. It matters to fio with libaio and to some other servers on the host.",
        danger: "Too low, programs that use libaio fail with EAGAIN.",
        source: "Linux Documentation/admin-guide/sysctl/fs.rst; PostgreSQL manual, io_method.",
        ..Page::EMPTY
    })
    .sysctl(judge_events),
    Rule::of(Page {
        name: "kernel.core_pattern",
        what: "Where the kernel writes the memory of a process that crashed: a file, or a program after a pipe \
              character.",
        today: Today::Depends,
        why: "The dump of a session holds shared_buffers too, as far as they are not in huge pages, unless \
             /proc/PID/coredump_filter says otherwise. A pattern without a directory puts it into the working \
             directory, which is the data directory. A program such as systemd-coredump compresses dumps and limits \
             them.",
        danger: "A few dumps of the size of shared_buffers fill the volume of the data. They contain rows: the \
                published mode 777 of their directory lets everybody replace them, 0700 of the server's user is \
                enough.",
        source: "core(5); systemd-coredump(8).",
        ..Page::EMPTY
    })
    .judges(judge_core_pattern),
    Rule::of(Page {
        name: "nofile",
        also: &["LimitNOFILE", "Max open files"],
        what: "Files that a process may have open.",
        today: Today::Kept,
        why: "Each process of the server opens at most max_files_per_process files, 1000 by default, and takes less \
             if the limit is lower. 1024 are enough for the default. With io_method = io_uring (18 and later) there \
             is one more for each possible process. Published values such as 655360 bring nothing.",
        danger: "Too low, sessions open and close files all the time; with io_uring the server does not start.",
        source: PROCESS_LIMITS,
        ..Page::EMPTY
    })
    .finds(|given| NOFILE.judge(given)),
    Rule::of(Page {
        name: "nproc",
        also: &["LimitNPROC", "Max processes"],
        what: "Processes and threads that the user of a process may have, on the whole host.",
        today: Today::Kept,
        why: "The server is a process for each connection and worker. All processes of its user count, also those of \
             a second server.",
        danger: "Too low, connections fail (\"could not fork new process for connection: Resource temporarily \
                unavailable\").",
        source: PROCESS_LIMITS,
        ..Page::EMPTY
    })
    .finds(|given| NPROC.judge(given)),
    Rule::of(Page {
        name: "core",
        also: &["LimitCORE", "Max core file size"],
        what: "Largest file of memory that is written when a process crashes, in KiB in limits.conf.",
        today: Today::Depends,
        why: "Without a dump a crash of the server can hardly be explained; with one, kernel.core_pattern says where \
             it goes. It holds shared_buffers unless they are in huge pages.",
        danger: "unlimited with a pattern inside the data directory can fill the volume of the data.",
        source: PROCESS_LIMITS,
        ..Page::EMPTY
    })
    .finds(|given| CORE.judge(given)),
    Rule::of(Page {
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
    })
    .finds(|given| MEMLOCK.judge(given)),
    Rule::of(Page {
        name: "stack",
        also: &["LimitSTACK", "Max stack size"],
        what: "Size to which the stack of a process may grow, in KiB in limits.conf; 8192 by default.",
        today: Today::DefaultIsRight,
        why: "max_stack_depth, 2 MB by default, has to be 512 kB below it; 8 MiB are enough for that and for its \
             largest sensible values. Only then has it to be raised.",
        danger: "unlimited makes the kernel lay out memory from the bottom up on arm64 and others.",
        source: "PostgreSQL manual, max_stack_depth; Linux mm/util.c, mmap_is_legacy.",
        ..Page::EMPTY
    })
    .finds(|given| STACK.judge(given)),
    Rule::of(Page {
        name: "limits.d",
        also: &["limits.conf", "20-nproc.conf"],
        what: "Files in /etc/security/limits.d, read after limits.conf in the order of their names; the last line of \
              an item holds, but a line of a user overrides one of a group, and that one of everybody (*).",
        today: Today::Kept,
        why: "Distributions put lines there, such as 20-nproc.conf with 4096 processes for everybody, which override \
             what limits.conf says. A server that systemd starts reads none of them: its unit has LimitNOFILE= \
             and others. Deleting the directory's files, as published, also takes guards from other users; a file of \
             one's own that is read last, with the user's name, is enough.",
        danger: "A limit that one believes to have set is not in force.",
        source: "limits.conf(5), pam_limits(8), systemd.exec(5).",
        ..Page::EMPTY
    })
    .finds(judge_lines),
    Rule::of(Page {
        name: "repeated-settings",
        also: &["sysctl.conf", "sysctl.d"],
        what: "A kernel parameter that several lines of sysctl.conf and sysctl.d set, or a line of limits.conf that \
              is there twice.",
        today: Today::NoEffect,
        why: "The last line that is read holds, and the others only mislead: who changes one of them changes nothing. \
             systemd-sysctl reads all files in the order of their names whatever their directory, sysctl --system \
             reads /etc/sysctl.conf last.",
        danger: "After the next boot another value may hold than the one that was set by hand.",
        source: "sysctl.d(5), systemd-sysctl.service(8), sysctl(8).",
        ..Page::EMPTY
    })
    .finds(judge_repeated),
];

fn judge_files_of_all(given: &Given<'_>, value: u64) -> Finding {
    let default = given.host.memory.total_bytes / 10_240;
    let Some((processes, each)) =
        given.server_processes().zip(given.setting_number("max_files_per_process", DEFAULT_FILES))
    else {
        return files_without_server(given, value, default);
    };
    let needed = processes.saturating_mul(each);
    let text = format!(
        "{} processes of the server × {} files are {}",
        units::count(processes),
        units::count(each),
        units::count(needed)
    );
    if needed <= value / 10 * 9 {
        return given.fine(format!("{text}, for which there is room."));
    }
    let best = needed.saturating_mul(2).max(default);
    given.improve(format!("{text}, nearly all or more than the host may open.")).set_sysctl(best)
}

/// Without a server, it is compared with the kernel's own value, and with what a large server needs.
fn files_without_server(given: &Given<'_>, value: u64, default: u64) -> Finding {
    /// Processes of a large server.
    const LARGE_PROCESSES: u64 = 2000;
    if value >= default / 2 {
        return given.fine("It is of the order that the kernel computes from the memory, or more.");
    }
    let text = format!("The kernel would allow {} for this memory", units::count(default));
    if value / 10 * 9 >= LARGE_PROCESSES * DEFAULT_FILES {
        let processes = units::count(value / DEFAULT_FILES);
        return given.fine(format!("{text}; this serves {processes} processes of 1,000 files."));
    }
    given.improve(format!("{text}.")).set_sysctl(default)
}

/// The kernel's default of `fs.nr_open`.
const DEFAULT_NR_OPEN: u64 = 1_048_576;

fn judge_highest_nofile(given: &Given<'_>, value: u64) -> Finding {
    /// The highest value that the kernel takes: the largest `int` that is a multiple of 64.
    const MOST: u64 = 2_147_483_584;
    let files = given.files_of_process().unwrap_or(DEFAULT_FILES + UNCOUNTED_FILES);
    let logins = given.host.login.lines.iter().filter(|line| line.item == "nofile");
    let held = given.host.server.as_ref().and_then(|server| server.limits.get("Max open files"));
    let held = held.and_then(|limit| limit.hard.max(limit.soft));
    let highest = logins.filter_map(|line| line.value.parse::<u64>().ok()).chain(held).max().unwrap_or(0);
    let wanted = highest.max(files);
    let count = units::count(wanted);
    if wanted > MOST {
        let reason = format!("A nofile of {count} is requested, which no kernel can give.");
        given.improve(reason).recommend("a lower nofile")
    } else if wanted > value {
        let reason = format!("A process would be given {count} files, which the kernel refuses.");
        given.improve(reason).set_sysctl(wanted.max(DEFAULT_NR_OPEN))
    } else {
        given.fine(format!("It is above every limit that is needed or set ({count})."))
    }
}

fn judge_events(given: &Given<'_>, value: u64) -> Finding {
    /// The default of the kernel.
    const DEFAULT: u64 = 65_536;
    match value {
        0..DEFAULT => given
            .improve("Programs that use libaio, such as fio, may fail below the default of 65536.")
            .set_sysctl(DEFAULT),
        DEFAULT => given.fine("It is the default, and PostgreSQL does not use libaio."),
        _ => given.no_effect("PostgreSQL does not use libaio; other programs may want it."),
    }
}

fn judge_core_pattern(given: &Given<'_>) -> Option<Finding> {
    let pattern = given.host.sysctl(given.page.name)?.trim();
    let core = given.host.server.as_ref().and_then(|server| server.limits.get("Max core file size"));
    let off = core.is_some_and(|limit| limit.soft == Some(0));
    let data = given.host.directories.iter().find(|directory| {
        let inside = pattern.strip_prefix(directory.path.as_str());
        !directory.path.is_empty() && inside.is_some_and(|rest| rest.starts_with('/'))
    });
    let elsewhere = "a directory on another volume";
    let finding = match pattern {
        "" => given.fine("No dumps are written without a pattern, unless kernel.core_uses_pid is set."),
        program if program.starts_with('|') => {
            given.fine("A program receives dumps and can limit them; see its own configuration.")
        }
        _ if off => {
            given.fine("The server may not dump (its limit of core is 0), so the pattern is not used.")
        }
        _ if data.is_some() => given
            .improve("Dumps go into a directory of the server and may fill its volume.")
            .recommend(elsewhere),
        file if !file.starts_with('/') && core.is_some() => given
            .improve(
                "Without a directory dumps go into the working directory of the server, its data directory.",
            )
            .recommend(elsewhere),
        _ => given.fine("Nothing is known that would make dumps fill the volume of the data."),
    };
    Some(finding.present(if pattern.is_empty() { "\"\"" } else { pattern }))
}

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
    /// Its name in `/proc/PID/limits`.
    of_process: &'static str,
    /// Least value that a server needs; `None` if it is unknown or there is no such value.
    needed: fn(&Facts<'_>) -> Option<u64>,
    /// The unit of `limits.conf` in bytes, for sizes.
    unit_bytes: Option<u64>,
}

const NOFILE: Item =
    Item { of_process: "Max open files", needed: |facts| facts.files_of_process(), unit_bytes: None };
const NPROC: Item =
    Item { of_process: "Max processes", needed: |facts| facts.server_processes(), unit_bytes: None };
const CORE: Item = Item { of_process: "Max core file size", needed: |_| None, unit_bytes: Some(KB) };
const MEMLOCK: Item = Item { of_process: "Max locked memory", needed: locked, unit_bytes: Some(KB) };
const STACK: Item = Item { of_process: "Max stack size", needed: stack, unit_bytes: Some(KB) };

fn locked(facts: &Facts<'_>) -> Option<u64> {
    // Two pages: entries of both queues, and 64 requests (io_max_concurrency at most, unless it is set).
    const RING_BYTES: u64 = 8 * KB;
    let has_rings = facts.setting("io_method") == Some("io_uring");
    let is_counted = has_rings && facts.kernel_is_at_least(5, 12) == Some(false);
    is_counted.then(|| facts.server_processes())?.map(|processes| processes.saturating_mul(RING_BYTES))
}

fn stack(facts: &Facts<'_>) -> Option<u64> {
    facts.setting_bytes("max_stack_depth", KB, 2 * MB)?.checked_add(512 * KB)
}

impl Item {
    /// Judges the limit of the running server, else that of a login of its user.
    fn judge(&self, given: &Given<'_>) -> Vec<Finding> {
        let host = given.host;
        let running = host.server.as_ref().and_then(|server| server.limits.get(self.of_process).copied());
        let login = login::limit(host, given.page.name);
        let (limit, whose) = match (running, login) {
            (Some(limit), _) => (limit, "The running server"),
            (None, Some(limit)) => (limit, "A login of the server's user"),
            (None, None) => return Vec::new(),
        };
        let found = self.judge_limit(given, limit, whose);
        let mut found = vec![if running.is_none() { unless_unread(host, found) } else { found }];
        found.extend(self.next_start(given, running, login));
        found
    }

    fn judge_limit(&self, given: &Given<'_>, limit: Limit, whose: &str) -> Finding {
        let present = self.text(limit.soft);
        let needed = (self.needed)(given);
        let compared = format!("{whose} has {present}, and the server needs");
        let finding = match (limit.soft, needed) {
            (Some(soft), Some(needed)) if soft < needed => {
                let (text, value) =
                    (format!("{compared} {}", self.text(Some(needed))), self.written(needed));
                match given.host.server.as_ref().and_then(|server| server.unit.as_deref()) {
                    Some(unit) => given
                        .improve(format!("{text}; its unit {unit} sets limits, not limits.conf."))
                        .recommend(value),
                    None => with_change(given, given.improve(format!("{text}.")), &value),
                }
            }
            (None, _) if self.of_process == "Max stack size" => given
                .no_effect(format!(
                    "{whose} has no limit of the stack, which brings a server nothing above some MiB; 8 are the \
                     default."
                ))
                .recommend(8192),
            (_, Some(needed)) => given.fine(format!("{compared} {}.", self.text(Some(needed)))),
            (_, None) => {
                given.fine(format!("{whose} has {present}, and nothing is known that would need more."))
            }
        };
        finding.present(present)
    }

    /// That the next start from a login would have another limit than the server has now.
    fn next_start(&self, given: &Given<'_>, running: Option<Limit>, login: Option<Limit>) -> Option<Finding> {
        let (running, login) = running.zip(login)?;
        (running.soft != login.soft).then(|| {
            let reason = format!(
                "The server has {}, and started from a login of its user it would have {}.",
                self.text(running.soft),
                self.text(login.soft)
            );
            given.fine(reason).present(self.text(running.soft)).on("login")
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

/// A finding with the line of `limits.d` that a login would need, where the user is known.
fn with_change(given: &Given<'_>, finding: Finding, value: &str) -> Finding {
    let host = given.host;
    let user = host.server.as_ref().and_then(|server| server.user.clone());
    let login = Some(host.login.user.clone()).filter(|user| !user.is_empty());
    match user.or(login) {
        Some(domain) => finding.set(Knob::LoginLimit { domain, item: given.page.name.to_owned() }, value),
        None => finding.recommend(value),
    }
}

fn judge_lines(given: &Given<'_>) -> Vec<Finding> {
    let lines = &given.host.login.lines;
    let mut found: Vec<Finding> =
        lines.iter().enumerate().filter_map(|(at, line)| overridden(given, at, line)).collect();
    let unit = given.host.server.as_ref().and_then(|server| server.unit.as_deref());
    if let Some(unit) = unit.filter(|_| !lines.is_empty()) {
        let reason = format!(
            "The server is started by {unit}, which does not read limits.conf; Limit…= in the unit counts."
        );
        found.push(given.no_effect(reason).on(unit));
    }
    found.extend(given.host.login.unread.iter().map(|file| unread_file(given, file)));
    if found.is_empty() && !lines.is_empty() {
        let files: BTreeSet<&str> = lines.iter().map(|line| line.file.as_str()).collect();
        let present =
            format!("{} in {}", plural(lines.len() as u64, "line"), plural(files.len() as u64, "file"));
        found.push(given.fine("No line for the server's user is overridden by another.").present(present));
    }
    found
}

/// That it is not known what a file or directory says.
fn unread_file(given: &Given<'_>, file: &str) -> Finding {
    let reason = "What it says is not known. It may override limits.conf, as 20-nproc.conf of some distributions does \
                  with 4096 processes.";
    given.unknown(reason).on(file)
}

/// That a line does not hold, because another one of another value does.
fn overridden(given: &Given<'_>, at: usize, line: &LimitLine) -> Option<Finding> {
    let kinds: &[&str] = if line.kind == "-" { &["soft", "hard"] } else { &[line.kind.as_str()] };
    let winners = kinds.iter().map(|kind| login::holding(given.host, &line.item, kind));
    let mut others = winners.flatten().filter(|winner| !std::ptr::eq(*winner, &given.host.login.lines[at]));
    let winner = others.next()?;
    if others.next().is_none() && kinds.len() > 1 || winner.value == line.value {
        return None;
    }
    let because = if login::rank(&winner.domain) < login::rank(&line.domain) {
        "names the user more closely"
    } else {
        "is read later"
    };
    let reason = format!(
        "{} {} {} {} of {} does not hold: {} {} {} {} of {} {because}.",
        line.domain,
        line.kind,
        line.item,
        line.value,
        line.file,
        winner.domain,
        winner.kind,
        winner.item,
        winner.value,
        winner.file
    );
    Some(given.no_effect(reason).on(format!("{}: {}", line.file, line.item)).present(&line.value))
}

fn judge_repeated(given: &Given<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, Vec<&SysctlLine>> = BTreeMap::new();
    for line in &given.host.kernel.sysctl_lines {
        by_name.entry(&line.name).or_default().push(line);
    }
    let mut found: Vec<Finding> =
        by_name.into_iter().filter_map(|(name, lines)| repeated(given, name, &lines)).collect();
    let limits = &given.host.login.lines;
    found.extend(limits.iter().enumerate().filter(|(at, line)| limits[..*at].contains(line)).map(
        |(_, line)| {
            let text = format!("{} {} {} {}", line.domain, line.kind, line.item, line.value);
            given.no_effect(format!("{} has the line {text} more than once.", line.file)).on(text)
        },
    ));
    found
}

fn repeated(given: &Given<'_>, name: &str, lines: &[&SysctlLine]) -> Option<Finding> {
    let (last, earlier) = lines.split_last()?;
    let first = earlier.last()?;
    let values = if earlier.iter().all(|line| line.value == last.value) {
        "to the same value"
    } else {
        "to different values"
    };
    let reason = format!(
        "{} lines set {name} {values}; {} = {} in {} holds, not {} in {}.",
        lines.len(),
        last.name,
        last.value,
        last.file,
        first.value,
        first.file
    );
    Some(given.no_effect(reason).on(name).present(&last.value))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::PgDirectory;

    use super::*;
    use crate::host::testing::{
        changes, check_hosts, check_values, findings, host, on_kernel, standings, with_line, with_server,
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        check_values(&[
            (
                "fs.file-max",
                &[
                    ("9223372036854775807", Fine),
                    ("6710886", Fine),
                    ("2400000", Fine),
                    ("1000000", Improve),
                    ("65536", Improve),
                ],
            ),
            ("fs.nr_open", &[("1048576", Fine), ("20480000", Fine), ("1000", Improve)]),
            ("fs.aio-max-nr", &[("65536", Fine), ("1048576", NoEffect), ("10", Improve)]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        let plain = [("max_connections", "500")];
        // Shared memory of System V has no huge pages on Linux.
        let sysv = [("shared_memory_type", "sysv"), ("shared_buffers", "1GB"), ("huge_pages", "try")];
        let rings = [("io_method", "io_uring")];
        let locked = |settings: &[(&str, &str)]| limited("Max locked memory", Some(64 * KB), settings);
        let with_rings = |soft| on_kernel(limited("Max locked memory", soft, &rings), "5.4.0-100-generic");
        check_hosts(&[
            ("kernel.core_pattern", dumping("core", None), &[Improve]),
            ("kernel.core_pattern", dumping("core", Some(0)), &[Fine]),
            ("kernel.core_pattern", dumping("/data/cores/core.%p", None), &[Improve]),
            ("kernel.core_pattern", dumping("/data2/core.%p", None), &[Fine]),
            ("kernel.core_pattern", dumping("|/usr/lib/systemd/systemd-coredump %P", None), &[Fine]),
            ("kernel.core_pattern", dumping("", None), &[Fine]),
            ("memlock", with_rings(Some(64 * KB)), &[Improve]),
            ("memlock", with_rings(Some(8 * MB)), &[Fine]),
            ("memlock", on_kernel(locked(&rings), "5.15.0-1"), &[Fine]),
            ("memlock", locked(&plain), &[Fine]),
            ("memlock", locked(&sysv), &[Fine]),
            ("memlock", locked(&rings), &[Fine]),
            ("nofile", limited("Max open files", Some(1024), &plain), &[Fine]),
            ("nofile", limited("Max open files", Some(1024), &rings), &[Improve]),
            ("nofile", limited("Max open files", Some(256), &plain), &[Improve]),
            ("nproc", limited("Max processes", Some(400), &plain), &[Improve]),
            ("nproc", limited("Max processes", None, &plain), &[Fine]),
            ("core", limited("Max core file size", Some(0), &plain), &[Fine]),
            ("stack", limited("Max stack size", Some(8 * MB), &plain), &[Fine]),
            ("stack", limited("Max stack size", Some(2 * MB), &plain), &[Improve]),
            ("stack", limited("Max stack size", None, &plain), &[NoEffect]),
        ]);
    }

    #[test]
    fn without_a_server_the_memory_says_what_is_usual() {
        // As article 001 has it: 256 GiB, of which the kernel would compute 26.8 million.
        let mut article = host(&[("fs.file-max", "7672460")]);
        article.memory.total_bytes *= 4;
        let found = findings("fs.file-max", &article);
        assert_eq!(found[0].standing, Standing::Fine);
        assert!(found[0].reason.contains("serves 7,672 processes"), "{}", found[0].reason);
    }

    #[test]
    fn a_server_may_need_all_its_files() {
        let host = with_server(host(&[("fs.file-max", "1000000")]), 17, &[("max_connections", "2000")]);
        assert_eq!(standings("fs.file-max", &host), [Standing::Improve]);
        // One for each 10 KiB of 64 GiB is more than twice the need.
        assert_eq!(changes("fs.file-max", &host), ["6710886"]);
        let small = with_server(host.clone(), 17, &[("max_connections", "200")]);
        assert_eq!(standings("fs.file-max", &small), [Standing::Fine]);
    }

    #[test]
    fn a_server_needs_what_its_nofile_is_compared_with() {
        let sysctls = [("fs.nr_open", "1048576")];
        for (settings, files) in [
            (vec![("port", "5432")], "(1,024)"),
            (vec![("max_files_per_process", "2000")], "(2,024)"),
            // 16 + 100 + 16 + 8 + 10 rings.
            (vec![("io_method", "io_uring")], "(1,174)"),
        ] {
            let host = with_server(host(&sysctls), 18, &settings);
            let reason = &findings("fs.nr_open", &host)[0].reason;
            assert!(reason.contains(files), "{settings:?}: {reason}");
        }
        assert!(findings("fs.nr_open", &host(&sysctls))[0].reason.contains("(1,024)"), "no server");
    }

    #[test]
    fn what_a_server_may_raise_its_limit_to_counts() {
        let mut host = with_server(host(&[("fs.nr_open", "1048576")]), 18, &[("port", "5432")]);
        let server = host.server.as_mut().expect("it was put there");
        server.limits.insert("Max open files".to_owned(), Limit { soft: Some(1_024), hard: Some(524_288) });
        assert!(
            findings("fs.nr_open", &host)[0].reason.contains("(524,288)"),
            "{:?}",
            findings("fs.nr_open", &host)
        );
    }

    #[test]
    fn limits_of_logins_have_to_be_below() {
        let mut host = host(&[("fs.nr_open", "1048576")]);
        let line = |value: &str| LimitLine {
            item: "nofile".to_owned(),
            value: value.to_owned(),
            ..LimitLine::default()
        };
        host.login.lines = vec![line("2000000"), line("unlimited")];
        assert_eq!(changes("fs.nr_open", &host), ["2000000"]);
        host.login.lines = vec![line("99999999999")];
        assert!(changes("fs.nr_open", &host).is_empty(), "no kernel takes it");
    }

    fn dumping(pattern: &str, soft: Option<u64>) -> Inventory {
        let mut host = with_server(host(&[("kernel.core_pattern", pattern)]), 17, &[]);
        let server = host.server.as_mut().expect("it was put there");
        server.limits.insert("Max core file size".to_owned(), Limit { soft, hard: None });
        host.directories = vec![PgDirectory { path: "/data".to_owned(), ..PgDirectory::default() }];
        host
    }

    #[test]
    fn dumps_stay_off_the_data() {
        assert_eq!(
            standings("kernel.core_pattern", &host(&[("kernel.core_pattern", "core")])),
            [Standing::Fine],
            "no server"
        );
        assert!(standings("kernel.core_pattern", &host(&[])).is_empty());
    }

    fn limited(of_process: &str, soft: Option<u64>, settings: &[(&str, &str)]) -> Inventory {
        let mut host = with_server(host(&[]), 18, settings);
        let server = host.server.as_mut().expect("it was put there");
        server.limits.insert(of_process.to_owned(), Limit { soft, hard: soft });
        host
    }

    #[test]
    fn a_login_may_be_limited_by_files_that_are_not_known() {
        let mut host = host(&[]);
        let [file, domain, kind, item, value] =
            ["limits.conf", "*", "-", "core", "unlimited"].map(str::to_owned);
        host.login.lines.push(LimitLine { file, domain, kind, item, value });
        assert_eq!(standings("core", &host), [Standing::Fine]);
        host.login.unread.push("limits.d".to_owned());
        let found = findings("core", &host).remove(0);
        assert_eq!(found.standing, Standing::Unknown);
        assert!(found.reason.ends_with("What limits.d says is not known."), "{}", found.reason);
    }

    #[test]
    fn a_login_is_changed_and_a_unit_is_not() {
        let mut host = limited("Max open files", Some(256), &[("port", "5432")]);
        assert_eq!(changes("nofile", &host), ["1024"]);
        host.server.as_mut().expect("it was put there").unit = Some("postgresql.service".to_owned());
        assert!(changes("nofile", &host).is_empty());
        assert!(findings("nofile", &host)[0].reason.contains("postgresql.service"));
    }

    #[test]
    fn the_next_start_may_differ() {
        let mut host = limited("Max open files", Some(65_536), &[("port", "5432")]);
        let [file, domain, kind, item, value] =
            ["limits.conf", "*", "-", "nofile", "1024"].map(str::to_owned);
        host.login.lines = vec![LimitLine { file, domain, kind, item, value }];
        assert_eq!(findings("nofile", &host).len(), 2);
        host.server = None;
        assert_eq!(standings("nofile", &host), [Standing::Fine], "a login without a server");
        host.login.lines.clear();
        assert!(standings("nofile", &host).is_empty(), "nothing is known");
    }

    fn line(file: &str, domain: &str, kind: &str, item: &str, value: &str) -> LimitLine {
        let [file, domain, kind, item, value] = [file, domain, kind, item, value].map(str::to_owned);
        LimitLine { file, domain, kind, item, value }
    }

    #[test]
    fn later_files_override() {
        let mut host = host(&[]);
        host.login.lines = vec![
            line("limits.conf", "*", "soft", "nproc", "unlimited"),
            line("limits.conf", "*", "hard", "nproc", "unlimited"),
            line("limits.d/20-nproc.conf", "*", "soft", "nproc", "4096"),
        ];
        let found = findings("limits.d", &host);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].reason.contains("20-nproc.conf is read later"), "{}", found[0].reason);
        host.login.lines.push(line("limits.d/99.conf", "postgres", "-", "nproc", "9000"));
        assert_eq!(standings("limits.d", &host), [Standing::NoEffect; 3], "the user goes before everybody");
    }

    #[test]
    fn units_read_no_limits() {
        let mut host = with_server(host(&[]), 17, &[]);
        host.login.lines = vec![line("limits.conf", "*", "-", "nofile", "65536")];
        assert_eq!(standings("limits.d", &host), [Standing::Fine]);
        assert_eq!(findings("limits.d", &host)[0].present.as_deref(), Some("1 line in 1 file"));
        host.login.unread.push("/etc/security/limits.d".to_owned());
        assert_eq!(standings("limits.d", &host), [Standing::Unknown]);
        host.login.unread.clear();
        host.server.as_mut().expect("it was put there").unit = Some("postgresql.service".to_owned());
        assert_eq!(standings("limits.d", &host), [Standing::NoEffect]);
        host.login.lines.clear();
        assert!(standings("limits.d", &host).is_empty());
    }

    #[test]
    fn the_last_line_holds() {
        let once = with_line(host(&[]), "vm.swappiness", "0");
        assert!(standings("repeated-settings", &once).is_empty());
        let twice = with_line(with_line(once, "vm.dirty_ratio", "80"), "vm.swappiness", "1");
        let found = findings("repeated-settings", &twice);
        assert_eq!((found.len(), found[0].object.as_str()), (1, "vm.swappiness"));
        assert!(found[0].reason.contains("to different values"), "{}", found[0].reason);
        let same = with_line(twice, "vm.dirty_ratio", "80");
        assert!(findings("repeated-settings", &same)[0].reason.contains("to the same value"));
    }

    #[test]
    fn equal_lines_of_limits_are_one_too_many() {
        let mut host = host(&[]);
        host.login.lines = vec![LimitLine { item: "nofile".to_owned(), ..LimitLine::default() }; 2];
        assert_eq!(standings("repeated-settings", &host), [Standing::NoEffect]);
    }
}
