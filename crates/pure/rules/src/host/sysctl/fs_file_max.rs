//! `fs.file-max`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule, known::DEFAULT_FILES},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
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
    },
    judge,
};

/// Processes of a large server.
const LARGE_PROCESSES: u64 = 2000;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return RULE.unread() };
    let default = facts.host.memory.total_bytes / 10_240;
    let Some((processes, each)) =
        facts.server_processes().zip(facts.setting_number("max_files_per_process", DEFAULT_FILES))
    else {
        return without_server(value, default);
    };
    let needed = processes.saturating_mul(each);
    let text = format!(
        "{} processes of the server × {} files are {}",
        units::count(processes),
        units::count(each),
        units::count(needed)
    );
    if needed <= value / 10 * 9 {
        return RULE.fine(value, format!("{text}, for which there is room."));
    }
    let best = needed.saturating_mul(2).max(default);
    let reason = format!("{text}, nearly all or more than the host may open.");
    vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(best)]
}

/// Without a server, it is compared with the kernel's own value, and with what a large server needs.
fn without_server(value: u64, default: u64) -> Vec<Finding> {
    if value >= default / 2 {
        return RULE.fine(value, "It is of the order that the kernel computes from the memory, or more.");
    }
    let text = format!("The kernel would allow {} for this memory", units::count(default));
    if value / 10 * 9 >= LARGE_PROCESSES * DEFAULT_FILES {
        let processes = units::count(value / DEFAULT_FILES);
        let reason = format!("{text}; this serves {processes} processes of 1,000 files.");
        return RULE.fine(value, reason);
    }
    vec![RULE.finding(Standing::Improve, format!("{text}.")).present(value).set_sysctl(default)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, findings, host, standings, with_server};

    #[test]
    fn without_a_server_the_memory_says_what_is_usual() {
        let table = [
            ("9223372036854775807", Standing::Fine),
            ("6710886", Standing::Fine),
            ("2400000", Standing::Fine),
            ("1000000", Standing::Improve),
            ("65536", Standing::Improve),
        ];
        check_values(&RULE, &table);
        // As article 001 has it: 256 GiB, of which the kernel would compute 26.8 million.
        let mut article = host(&[("fs.file-max", "7672460")]);
        article.memory.total_bytes *= 4;
        let found = findings(&RULE, &article);
        assert_eq!(found[0].standing, Standing::Fine);
        assert!(found[0].reason.contains("serves 7,672 processes"), "{}", found[0].reason);
    }

    #[test]
    fn a_server_may_need_all_its_files() {
        let host = with_server(host(&[("fs.file-max", "1000000")]), 17, &[("max_connections", "2000")]);
        assert_eq!(standings(&RULE, &host), [Standing::Improve]);
        // One for each 10 KiB of 64 GiB is more than twice the need.
        assert_eq!(changes(&RULE, &host), ["6710886"]);
        let small = with_server(host.clone(), 17, &[("max_connections", "200")]);
        assert_eq!(standings(&RULE, &small), [Standing::Fine]);
    }
}
