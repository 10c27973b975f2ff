//! Settings of the server that keep nothing or do nothing in their combination.

use pgdyno_core::host::TableOption;

use super::rule::{Given, Rule};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "archive-keeps-nothing",
        also: &["/bin/true", "/bin/date"],
        what: "archive_mode with an archive_command that succeeds without keeping the WAL, such as /bin/true, \
              /bin/date, : or exit 0.",
        today: Today::Dangerous,
        why: "It is published so that archiving can be turned on later without a restart. The server takes each \
             segment for archived and removes it. An empty archive_command keeps segments until a real one is set, at \
             the price of disk space.",
        danger: "A backup of the data directory cannot be brought to a consistent state, and a standby that lags \
                cannot catch up, without the WAL that was thrown away; nothing reports it.",
        source: "PostgreSQL manual, \"Continuous Archiving and Point-in-Time Recovery\" and archive_command.",
        ..Page::EMPTY
    })
    .judges(judge_archive),
    Rule::of(Page {
        name: "commit-delay-without-effect",
        what: "commit_delay together with synchronous_commit = off or fsync = off.",
        today: Today::NoEffect,
        why: "The delay lets several commits share one flush of the WAL. A commit that does not wait for its flush \
             (synchronous_commit = off) does not come to it, and with fsync = off the server skips it; the WAL writer \
             flushes without it.",
        source: "PostgreSQL manual, commit_delay; src/backend/access/transam/xlog.c, XLogFlush.",
        ..Page::EMPTY
    })
    .judges(judge_delay),
    Rule::of(Page {
        name: "freeze-limits-of-tables",
        what: "autovacuum_freeze_max_age and its like as storage parameters of a table, above those of the server.",
        today: Today::NoEffect,
        why: "Autovacuum takes the smaller one of the table and the server, and cuts autovacuum_freeze_table_age to \
             95 % of the server's autovacuum_freeze_max_age: a table can only ask for earlier freezing.",
        danger: "Who counts on later freezing is surprised by it during the run.",
        source: "PostgreSQL manual, \"Storage Parameters\"; src/backend/postmaster/autovacuum.c and \
                commands/vacuum.c.",
        ..Page::EMPTY
    })
    .finds(judge_freeze),
];

/// Whether a command succeeds without looking at its file.
fn keeps_nothing(command: &str) -> bool {
    let command = command.trim().trim_matches('\'').trim();
    let program = command.rsplit('/').next().unwrap_or(command);
    let named = command.contains("%p");
    !named && matches!(program, "true" | "date" | ":" | "exit 0" | "cd ." | "echo" | "test 1" | "sleep 0")
}

fn judge_archive(given: &Given<'_>) -> Option<Finding> {
    let on = given.setting("archive_mode").is_some_and(|mode| !matches!(mode, "off" | "false" | "no" | "0"));
    let library = given.setting("archive_library").is_some_and(|library| !library.is_empty());
    let command = given.setting("archive_command").filter(|_| on && !library)?;
    Some(match command {
        command if keeps_nothing(command) => given
            .dangerous("The command succeeds without keeping the WAL, which the server then removes.")
            .present(command)
            .recommend("a command that keeps it, or archive_mode = off"),
        "" | "''" => given
            .improve("Segments of the WAL are kept until a command is set, and fill the volume meanwhile.")
            .present("\"\"")
            .recommend("a command that keeps it"),
        command => given.fine("It is none of the commands that are known to keep nothing.").present(command),
    })
}

fn judge_delay(given: &Given<'_>) -> Option<Finding> {
    let delay = given.setting("commit_delay").filter(|delay| !delay.starts_with('0'))?;
    let asynchronous =
        given.setting("synchronous_commit").is_some_and(|mode| matches!(mode, "off" | "false" | "no" | "0"));
    let unsynced = given.setting_is_on("fsync", true) == Some(false);
    let finding = match (asynchronous, unsynced) {
        (false, false) => given.fine("Commits wait for their flush, and may share it."),
        (_, true) => given.no_effect("With fsync = off the server skips the delay."),
        (true, false) => {
            let reason = "With synchronous_commit = off commits do not wait for a flush, and so not for the delay \
                          before it.";
            given.no_effect(reason)
        }
    };
    Some(finding.present(delay))
}

/// What the server allows a table at most; `None` for other parameters.
fn allowed(given: &Given<'_>, option: &str) -> Option<u64> {
    let xids = || given.setting_number("autovacuum_freeze_max_age", 200_000_000);
    let multixacts = || given.setting_number("autovacuum_multixact_freeze_max_age", 400_000_000);
    let part = |age: u64| (age as f64 * 0.95) as u64;
    match option.trim_start_matches("toast.") {
        "autovacuum_freeze_max_age" => xids(),
        "autovacuum_freeze_table_age" => xids().map(part),
        "autovacuum_multixact_freeze_max_age" => multixacts(),
        "autovacuum_multixact_freeze_table_age" => multixacts().map(part),
        _ => None,
    }
}

fn judge_freeze(given: &Given<'_>) -> Vec<Finding> {
    let Some(server) = given.server() else { return Vec::new() };
    let judged = |option: &TableOption| {
        let allowed = allowed(given, &option.name)?;
        let value: u64 = option.value.trim().parse().ok()?;
        let finding = match value > allowed {
            true => {
                given.no_effect(format!("The server allows {allowed} at most, which holds in its place."))
            }
            false => given.fine(format!("It is below {allowed}, the most that the server allows.")),
        };
        Some(finding.present(value).on(format!("{}: {}", option.table, option.name)))
    };
    server.table_options.iter().filter_map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Standing,
        host::testing::{check_hosts, host, standings, with_server},
    };

    #[test]
    fn hosts_are_judged() {
        use Standing::{Dangerous, Fine, Improve, NoEffect};
        let archiving = |mode, command| {
            with_server(host(&[]), 17, &[("archive_mode", mode), ("archive_command", command)])
        };
        let server = |settings: &[(&str, &str)]| with_server(host(&[]), 17, settings);
        check_hosts(&[
            ("archive-keeps-nothing", archiving("on", "/bin/true"), &[Dangerous]),
            ("archive-keeps-nothing", archiving("on", "/bin/date"), &[Dangerous]),
            ("archive-keeps-nothing", archiving("always", "exit 0"), &[Dangerous]),
            ("archive-keeps-nothing", archiving("on", " : "), &[Dangerous]),
            ("archive-keeps-nothing", archiving("on", ""), &[Improve]),
            ("archive-keeps-nothing", archiving("on", "cp %p /archive/%f"), &[Fine]),
            ("archive-keeps-nothing", archiving("off", "/bin/true"), &[]),
            ("archive-keeps-nothing", host(&[]), &[]),
            (
                "commit-delay-without-effect",
                server(&[("commit_delay", "10"), ("synchronous_commit", "off")]),
                &[NoEffect],
            ),
            ("commit-delay-without-effect", server(&[("commit_delay", "10"), ("fsync", "off")]), &[NoEffect]),
            (
                "commit-delay-without-effect",
                server(&[("commit_delay", "10"), ("synchronous_commit", "on")]),
                &[Fine],
            ),
            (
                "commit-delay-without-effect",
                server(&[("commit_delay", "0"), ("synchronous_commit", "off")]),
                &[],
            ),
            ("commit-delay-without-effect", server(&[("synchronous_commit", "off")]), &[]),
        ]);
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
        assert_eq!(standings("freeze-limits-of-tables", &host), [nothing, nothing, fine, nothing]);
        host.server = None;
        assert!(standings("freeze-limits-of-tables", &host).is_empty());
    }
}
