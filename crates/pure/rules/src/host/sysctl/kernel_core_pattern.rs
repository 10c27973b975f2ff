//! `kernel.core_pattern`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
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
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(pattern) = facts.host.sysctl(RULE.page.name).map(str::trim) else { return Vec::new() };
    let core = facts.host.server.as_ref().and_then(|server| server.limits.get("Max core file size"));
    let off = core.is_some_and(|limit| limit.soft == Some(0));
    let data = facts.host.directories.iter().find(|directory| {
        let inside = pattern.strip_prefix(directory.path.as_str());
        !directory.path.is_empty() && inside.is_some_and(|rest| rest.starts_with('/'))
    });
    match pattern {
        "" => {
            RULE.fine("\"\"", "No dumps are written without a pattern, unless kernel.core_uses_pid is set.")
        }
        program if program.starts_with('|') => {
            RULE.fine(program, "A program receives dumps and can limit them; see its own configuration.")
        }
        file if off => {
            RULE.fine(file, "The server may not dump (its limit of core is 0), so the pattern is not used.")
        }
        file if data.is_some() => {
            let reason = "Dumps go into a directory of the server and may fill its volume.";
            vec![
                RULE.finding(Standing::Improve, reason)
                    .present(file)
                    .recommend("a directory on another volume"),
            ]
        }
        file if !file.starts_with('/') && core.is_some() => {
            let reason =
                "Without a directory dumps go into the working directory of the server, its data directory.";
            vec![
                RULE.finding(Standing::Improve, reason)
                    .present(file)
                    .recommend("a directory on another volume"),
            ]
        }
        file => RULE.fine(file, "Nothing is known that would make dumps fill the volume of the data."),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Inventory, Limit, PgDirectory};

    use super::*;
    use crate::host::testing::{host, standings, with_server};

    fn dumping(pattern: &str, soft: Option<u64>) -> Inventory {
        let mut host = with_server(host(&[("kernel.core_pattern", pattern)]), 17, &[]);
        let server = host.server.as_mut().expect("it was put there");
        server.limits.insert("Max core file size".to_owned(), Limit { soft, hard: None });
        host.directories = vec![PgDirectory { path: "/data".to_owned(), ..PgDirectory::default() }];
        host
    }

    #[test]
    fn dumps_stay_off_the_data() {
        for (pattern, soft, expected) in [
            ("core", None, Standing::Improve),
            ("core", Some(0), Standing::Fine),
            ("/data/cores/core.%p", None, Standing::Improve),
            ("/data2/core.%p", None, Standing::Fine),
            ("|/usr/lib/systemd/systemd-coredump %P", None, Standing::Fine),
            ("", None, Standing::Fine),
        ] {
            assert_eq!(standings(&RULE, &dumping(pattern, soft)), [expected], "{pattern}");
        }
        assert_eq!(
            standings(&RULE, &host(&[("kernel.core_pattern", "core")])),
            [Standing::Fine],
            "no server"
        );
        assert!(standings(&RULE, &host(&[])).is_empty());
    }
}
