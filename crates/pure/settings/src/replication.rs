//! Archives, standbys and slots.

use super::rule::{Given, Rule, manual, page};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "archive_mode",
        Today::Depends,
        "Whether finished segments of WAL are handed to archive_command or archive_library.",
        "An archive is what point-in-time recovery is made from. Changing it takes a restart, which is \
         why it is often switched on with a command that keeps nothing.",
        manual::WAL,
    ))
    .judges(archive_mode),
    Rule::of(
        page(
            "archive_command",
            Today::Depends,
            "The shell command that stores a finished segment of WAL.",
            "The server takes a segment for archived as soon as the command returns 0, and then removes \
             it. A command such as /bin/date or /bin/true returns 0 and stores nothing.",
            "PostgreSQL manual, Continuous Archiving and Point-in-Time Recovery, \"Setting Up WAL \
             Archiving\"",
        )
        .can(
            "With a command that keeps nothing there is no point-in-time recovery, although the server \
         reports segments as archived; with one that always fails WAL fills its file system.",
        ),
    )
    .judges(archive_command),
    Rule::of(
        page(
            "archive_library",
            Today::Depends,
            "A library that stores finished segments of WAL, instead of archive_command.",
            "It spares a process for each segment.",
            manual::WAL,
        )
        .since(15),
    ),
    Rule::of(page(
        "max_wal_senders",
        Today::Depends,
        "How many standbys and base backups may be connected at a time.",
        "The default of 10 (0 before 10) is enough for most; each costs a slot in shared memory. 0 \
         excludes base backups over a connection.",
        manual::REPLICATION,
    ))
    .judges(max_wal_senders),
    Rule::of(page(
        "max_replication_slots",
        Today::Depends,
        "How many replication slots there may be.",
        "The default of 10 (0 before 10) is enough for most. A slot without a reader keeps WAL, without \
         a limit unless max_slot_wal_keep_size sets one.",
        manual::REPLICATION,
    )),
    Rule::of(page(
        "wal_sender_timeout",
        Today::Depends,
        "After which silence of a standby its connection is ended; 0 never.",
        "The default of 60 s is a good start. Shorter finds a lost standby sooner, and loses one that is \
         only busy, such as in a base backup over a slow network.",
        manual::REPLICATION,
    )),
    Rule::of(
        page(
            "max_slot_wal_keep_size",
            Today::Depends,
            "How much WAL replication slots may keep; -1 is without a limit.",
            "Where slots are used, a limit below the free space of the file system of WAL loses a \
             standby that lags instead of the primary.",
            manual::REPLICATION,
        )
        .since(13)
        .can(
            "Without a limit, a slot without a reader fills the file system of WAL, and the server \
         stops.",
        ),
    ),
    Rule::of(
        page(
            "idle_replication_slot_timeout",
            Today::Depends,
            "After which time without a connection a replication slot is invalidated; 0 never.",
            "It ends slots that were forgotten, at the next checkpoint, so that they no longer keep WAL.",
            manual::REPLICATION,
        )
        .since(18),
    ),
];

/// What a command that archives is worth.
enum Archive {
    /// There is none.
    Nothing,
    /// It returns 0 and stores nothing.
    KeepsNothing,
    /// It always fails.
    Fails,
    /// It may store something.
    Something,
}

fn archive(command: &str) -> Archive {
    let first = command.split_whitespace().next().unwrap_or("");
    let stores = command.contains(['%', '>', '|', ';', '&']);
    match first.rsplit('/').next().unwrap_or("") {
        "" => Archive::Nothing,
        "false" => Archive::Fails,
        "date" | "true" | ":" | "echo" | "exit" | "sleep" if !stores => Archive::KeepsNothing,
        _ => Archive::Something,
    }
}

fn archive_command(given: &Given<'_>) -> Finding {
    if given.is_other_off("archive_mode") {
        return match archive(given.value) {
            Archive::Nothing => given.fine("it is the default"),
            _ => given.no_effect("archive_mode is off"),
        };
    }
    match archive(given.value) {
        Archive::KeepsNothing => given.danger(
            "it returns 0 and stores nothing: the server removes WAL as archived, and there is no point-in-time \
             recovery. Set archive_mode = off, or a command that stores %p",
        ),
        Archive::Nothing if given.other("archive_library").is_empty() => given.danger(
            "archive_mode is on and nothing archives: WAL stays until it fills its file system. Set a command, or \
             archive_mode = off",
        ),
        Archive::Fails => given.danger("it always fails: WAL fills its file system"),
        Archive::Nothing => given.fine("archive_library stores WAL"),
        Archive::Something => given.fine("only a test of recovery says whether its archive is usable"),
    }
}

fn archive_mode(given: &Given<'_>) -> Finding {
    let minimal = given.other("wal_level").eq_ignore_ascii_case("minimal");
    let keeps = matches!(archive(given.other("archive_command")), Archive::Something)
        || !given.other("archive_library").is_empty();
    match given.is_off() {
        true => given.fine("no archive: no point-in-time recovery from one"),
        // The finding of wal_level says what to change: doing both would go too far.
        false if minimal => {
            given.refused("the server does not start: wal_level = minimal allows no archive; raise that")
        }
        false if !keeps => given.improve("off", "archive_command stores nothing, so there is no archive"),
        false => given.fine("finished segments of WAL are archived"),
    }
}

fn max_wal_senders(given: &Given<'_>) -> Finding {
    let senders = given.number().unwrap_or(0.0);
    let minimal = given.other("wal_level").eq_ignore_ascii_case("minimal");
    let connections = given.other_number("max_connections").unwrap_or(100.0);
    if given.inputs.version_num < 120_000 && senders >= connections {
        return given.refused(format!(
            "the server does not start: before 12 it takes WAL senders from max_connections, which is {connections}"
        ));
    }
    match (senders > 0.0, minimal) {
        // As of archive_mode.
        (true, true) => {
            given.refused("the server does not start: wal_level = minimal allows none; raise that")
        }
        (false, true) => given.fine("wal_level = minimal asks for it"),
        (false, false) => given.fine("no base backup over a connection and no standby is possible"),
        (true, false) => given.fine(format!("room for {senders} base backups and standbys")),
    }
}
