//! Settings of the server that keep nothing or do nothing in their combination.

use pgdyno_core::host::TableOption;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of an archive that keeps nothing.
pub static ARCHIVE: Rule = Rule {
    page: Page {
        name: "archive-keeps-nothing",
        also: &["/bin/true", "/bin/date"],
        what: "archive_mode with an archive_command that succeeds without keeping the WAL, such as /bin/true, \
               /bin/date, : or exit 0.",
        today: Today::Dangerous,
        why: "It is published so that archiving can be turned on later without a restart. The server takes each \
              segment for archived and removes it. An empty archive_command keeps segments until a real one is set, \
              at the price of disk space.",
        danger: "A backup of the data directory cannot be brought to a consistent state, and a standby that lags \
                 cannot catch up, without the WAL that was thrown away; nothing reports it.",
        source: "PostgreSQL manual, \"Continuous Archiving and Point-in-Time Recovery\" and archive_command.",
        ..Page::EMPTY
    },
    judge: judge_archive,
};

/// The rule of a delay that nobody waits.
pub static DELAY: Rule = Rule {
    page: Page {
        name: "commit-delay-without-effect",
        what: "commit_delay together with synchronous_commit = off or fsync = off.",
        today: Today::NoEffect,
        why: "The delay lets several commits share one flush of the WAL. A commit that does not wait for its flush \
              (synchronous_commit = off) does not come to it, and with fsync = off the server skips it; the WAL \
              writer flushes without it.",
        danger: "",
        source: "PostgreSQL manual, commit_delay; src/backend/access/transam/xlog.c, XLogFlush.",
        ..Page::EMPTY
    },
    judge: judge_delay,
};

/// The rule of limits of tables.
pub static FREEZE: Rule = Rule {
    page: Page {
        name: "freeze-limits-of-tables",
        what: "autovacuum_freeze_max_age and its like as storage parameters of a table, above those of the server.",
        today: Today::NoEffect,
        why: "Autovacuum takes the smaller one of the table and the server, and cuts autovacuum_freeze_table_age to \
              95 % of the server's autovacuum_freeze_max_age: a table can only ask for earlier freezing.",
        danger: "Who counts on later freezing is surprised by it during the run.",
        source: "PostgreSQL manual, \"Storage Parameters\"; src/backend/postmaster/autovacuum.c and \
                 commands/vacuum.c.",
        ..Page::EMPTY
    },
    judge: judge_freeze,
};

/// Whether a command succeeds without looking at its file.
fn keeps_nothing(command: &str) -> bool {
    let command = command.trim().trim_matches('\'').trim();
    let program = command.rsplit('/').next().unwrap_or(command);
    let named = command.contains("%p");
    !named && matches!(program, "true" | "date" | ":" | "exit 0" | "cd ." | "echo" | "test 1" | "sleep 0")
}

fn judge_archive(facts: &Facts<'_>) -> Vec<Finding> {
    let on = facts.setting("archive_mode").is_some_and(|mode| !matches!(mode, "off" | "false" | "no" | "0"));
    let library = facts.setting("archive_library").is_some_and(|library| !library.is_empty());
    let Some(command) = facts.setting("archive_command") else { return Vec::new() };
    match (on, library, command) {
        (false, _, _) | (_, true, _) => Vec::new(),
        (true, false, command) if keeps_nothing(command) => {
            let reason = "The command succeeds without keeping the WAL, which the server then removes.";
            let finding = ARCHIVE.finding(Standing::Dangerous, reason).present(command);
            vec![finding.recommend("a command that keeps it, or archive_mode = off")]
        }
        (true, false, "" | "''") => {
            let reason =
                "Segments of the WAL are kept until a command is set, and fill the volume meanwhile.";
            vec![
                ARCHIVE
                    .finding(Standing::Improve, reason)
                    .present("\"\"")
                    .recommend("a command that keeps it"),
            ]
        }
        (true, false, command) => {
            ARCHIVE.fine(command, "It is none of the commands that are known to keep nothing.")
        }
    }
}

fn judge_delay(facts: &Facts<'_>) -> Vec<Finding> {
    let delay = facts.setting("commit_delay").filter(|delay| !delay.starts_with('0'));
    let asynchronous =
        facts.setting("synchronous_commit").is_some_and(|mode| matches!(mode, "off" | "false" | "no" | "0"));
    let unsynced = facts.setting_is_on("fsync", true) == Some(false);
    match (delay, asynchronous, unsynced) {
        (None, ..) => Vec::new(),
        (Some(delay), false, false) => DELAY.fine(delay, "Commits wait for their flush, and may share it."),
        (Some(delay), _, true) => {
            let reason = "With fsync = off the server skips the delay.";
            vec![DELAY.finding(Standing::NoEffect, reason).present(delay)]
        }
        (Some(delay), true, false) => {
            let reason = "With synchronous_commit = off commits do not wait for a flush, and so not for the delay \
                          before it.";
            vec![DELAY.finding(Standing::NoEffect, reason).present(delay)]
        }
    }
}

/// What the server allows a table at most; `None` for other parameters.
fn allowed(facts: &Facts<'_>, option: &str) -> Option<u64> {
    let xids = || facts.setting_number("autovacuum_freeze_max_age", 200_000_000);
    let multixacts = || facts.setting_number("autovacuum_multixact_freeze_max_age", 400_000_000);
    let part = |age: u64| (age as f64 * 0.95) as u64;
    match option.trim_start_matches("toast.") {
        "autovacuum_freeze_max_age" => xids(),
        "autovacuum_freeze_table_age" => xids().map(part),
        "autovacuum_multixact_freeze_max_age" => multixacts(),
        "autovacuum_multixact_freeze_table_age" => multixacts().map(part),
        _ => None,
    }
}

fn judge_freeze(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(server) = facts.server() else { return Vec::new() };
    let judged = |option: &TableOption| {
        let allowed = allowed(facts, &option.name)?;
        let value: u64 = option.value.trim().parse().ok()?;
        let object = format!("{}: {}", option.table, option.name);
        Some(if value > allowed {
            let reason = format!("The server allows {allowed} at most, which holds in its place.");
            FREEZE.finding(Standing::NoEffect, reason).present(value).on(object)
        } else {
            let reason = format!("It is below {allowed}, the most that the server allows.");
            FREEZE.finding(Standing::Fine, reason).present(value).on(object)
        })
    };
    server.table_options.iter().filter_map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{host, standings, with_server};

    #[test]
    fn commands_that_keep_nothing_are_known() {
        for (mode, command, expected) in [
            ("on", "/bin/true", vec![Standing::Dangerous]),
            ("on", "/bin/date", vec![Standing::Dangerous]),
            ("always", "exit 0", vec![Standing::Dangerous]),
            ("on", " : ", vec![Standing::Dangerous]),
            ("on", "", vec![Standing::Improve]),
            ("on", "cp %p /archive/%f", vec![Standing::Fine]),
            ("off", "/bin/true", vec![]),
        ] {
            let host = with_server(host(&[]), 17, &[("archive_mode", mode), ("archive_command", command)]);
            assert_eq!(standings(&ARCHIVE, &host), expected, "{mode} {command}");
        }
        assert!(standings(&ARCHIVE, &host(&[])).is_empty());
    }

    #[test]
    fn a_delay_needs_a_flush_to_wait_for() {
        for (settings, expected) in [
            (vec![("commit_delay", "10"), ("synchronous_commit", "off")], vec![Standing::NoEffect]),
            (vec![("commit_delay", "10"), ("fsync", "off")], vec![Standing::NoEffect]),
            (vec![("commit_delay", "10"), ("synchronous_commit", "on")], vec![Standing::Fine]),
            (vec![("commit_delay", "0"), ("synchronous_commit", "off")], vec![]),
            (vec![("synchronous_commit", "off")], vec![]),
        ] {
            assert_eq!(standings(&DELAY, &with_server(host(&[]), 17, &settings)), expected, "{settings:?}");
        }
    }

    #[test]
    fn tables_freeze_earlier_not_later() {
        let option = |name: &str, value: &str| {
            let [table, name, value] = ["test", name, value].map(str::to_owned);
            TableOption { table, name, value }
        };
        let mut host = with_server(host(&[]), 9, &[("autovacuum_freeze_max_age", "1000000000")]);
        host.server.as_mut().expect("it was put there").table_options = vec![
            option("autovacuum_freeze_max_age", "1500000000"),
            option("autovacuum_freeze_table_age", "960000000"),
            option("autovacuum_freeze_table_age", "940000000"),
            option("toast.autovacuum_multixact_freeze_max_age", "1500000000"),
            option("fillfactor", "90"),
        ];
        let (nothing, fine) = (Standing::NoEffect, Standing::Fine);
        assert_eq!(standings(&FREEZE, &host), [nothing, nothing, fine, nothing]);
        host.server = None;
        assert!(standings(&FREEZE, &host).is_empty());
    }
}
