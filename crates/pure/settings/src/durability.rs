//! What a commit waits for. No rule here recommends anything but the safe default.

use pgdyno_core::facts::major_of;

use super::rule::{Given, Rule, manual, page};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(
        page(
            "fsync",
            Today::Dangerous,
            "Whether the server makes sure that what it wrote has reached storage: at commits, at \
             checkpoints and when files change.",
            "Turning it off saves the waits for storage and gives up recovery: it is for clusters that \
             are thrown away. A commit that need not be durable is cheaper by synchronous_commit = off, \
             which keeps the data consistent.",
            manual::WAL,
        )
        .can(
            "After a crash of the operating system or a loss of power the cluster can be corrupt beyond \
         repair, and not only lack its last commits.",
        ),
    )
    .judges(fsync),
    Rule::of(
        page(
            "full_page_writes",
            Today::Dangerous,
            "Whether the first change of a page after a checkpoint writes the whole page to WAL, from \
             which recovery restores pages that were written in part.",
            "A page of 8 kB is written in several sectors, and a crash may leave some of them old. Safe \
             without it is only storage that writes whole pages or none: ZFS with records of the page \
             size or larger, or a device whose atomic write unit the server really uses. Fewer \
             checkpoints and wal_compression make the images cheaper without a risk.",
            "PostgreSQL manual, \"Write Ahead Log\" of Server Configuration, and \"Reliability\" of \
             Reliability and the Write-Ahead Log",
        )
        .can(
            "After a crash, torn pages that nothing repairs: wrong results or a server that does not \
         start, silently without checksums.",
        ),
    )
    .judges(full_page_writes),
    Rule::of(
        page(
            "synchronous_commit",
            Today::Depends,
            "What a commit waits for before it is acknowledged: nothing, the local disk, or a standby.",
            "Off is the one way to trade durability for speed that leaves the data consistent. It is a \
             decision for single transactions (SET LOCAL synchronous_commit = off), not for a server: \
             its throughput should be published with what a crash loses.",
            manual::WAL,
        )
        .can("A crash loses commits that were acknowledged up to three times wal_writer_delay before."),
    )
    .judges(synchronous_commit),
    Rule::of(page(
        "wal_sync_method",
        Today::DefaultIsRight,
        "The system call that brings WAL to storage; fdatasync by default on Linux.",
        "All methods are equally safe on Linux if the device keeps its promise. Which one is fastest \
         depends on file system and device: `pgdyno disk` or pg_test_fsync measures them; open_datasync \
         can be slower for commits of more than one write.",
        manual::WAL,
    )),
    Rule::of(page(
        "commit_delay",
        Today::Depends,
        "How long in microseconds a commit that leads a group waits for others before it flushes WAL.",
        "It helps only where flushes are slow and many sessions commit at once. Commits that arrive \
         during a flush are grouped in any case. The manual suggests half of the time of one flush as a \
         first value. The kernel may lengthen every such sleep by its timer slack, 50 µs by default.",
        "PostgreSQL manual, \"WAL Configuration\"; prctl(2), PR_SET_TIMERSLACK",
    ).brings(
        "100 instead of 0: no significant difference, -6.3 % [-15, 2.8] of the TPS of TPC-B with 16 clients",
    ))
    .judges(commit_delay),
    Rule::of(page(
        "commit_siblings",
        Today::NoEffect,
        "How many other transactions must be open for commit_delay to be applied.",
        "It does nothing while commit_delay is 0, its default.",
        manual::WAL,
    ))
    .judges(commit_siblings),
    Rule::of(
        page(
            "zero_damaged_pages",
            Today::Dangerous,
            "Whether a page with a damaged header is taken for an empty one.",
            "It is a tool to read what is left of a damaged table in one session, never a setting of a \
             server.",
            "PostgreSQL manual, Server Configuration, \"Developer Options\"",
        )
        .can("All rows of a damaged page are gone for good once the page is written."),
    ),
    Rule::of(
        page(
            "ignore_checksum_failure",
            Today::Dangerous,
            "Whether pages are used although their checksum is wrong.",
            "It is a tool to read what is left of a damaged table in one session, never a setting of a \
             server.",
            "PostgreSQL manual, Server Configuration, \"Developer Options\"",
        )
        .can("Corrupt rows are returned, and corruption spreads to copies and standbys."),
    ),
    Rule::of(
        page(
            "data_sync_retry",
            Today::Dangerous,
            "Whether a failed flush of data files is retried instead of stopping the server.",
            "After a failed fsync Linux marks the pages clean and may drop them, so that a second fsync \
             succeeds without the data. It came with the minor releases of February 2019 (9.5.16, 9.6.12, \
             10.7, 11.2): those before retry always.",
            "PostgreSQL manual, Server Configuration, \"Error Handling\"; release notes of 11.2; commit \
             9ccdd7f66e33",
        )
        .can("Changes that never reached storage are taken for durable."),
    )
    .judges(data_sync_retry),
];

fn fsync(given: &Given<'_>) -> Finding {
    match given.is_off() {
        true => given.dangerous(
            "on",
            "a crash of the operating system or a loss of power can leave this cluster corrupt beyond \
             repair",
        ),
        false => given.fine("commits and checkpoints wait for storage"),
    }
}

fn full_page_writes(given: &Given<'_>) -> Finding {
    if !given.is_off() {
        return given.fine("recovery can restore pages that a crash left written in part");
    }
    match given.inputs.data.filesystem.as_deref() {
        Some("zfs") => given.fine(
            "the data is on ZFS, which never overwrites a record in place: safe if its recordsize is the block size \
             of the server or a multiple of it, and only as long as the data stays there",
        ),
        other => given.dangerous(
            "on",
            format!(
                "a crash can leave pages half written, and on {} nothing restores them",
                other.unwrap_or("this file system")
            ),
        ),
    }
}

fn synchronous_commit(given: &Given<'_>) -> Finding {
    let standbys = !given.other("synchronous_standby_names").trim().is_empty();
    match given.value.trim().to_ascii_lowercase().as_str() {
        "local" if standbys => given.improve(
            "on",
            "standbys are named in synchronous_standby_names, and commits do not \
             wait for them",
        ),
        _ if given.is_off() => {
            let delay = given.other_number("wal_writer_delay").unwrap_or(200.0);
            given.dangerous(
                "on",
                format!(
                    "a crash loses commits that were acknowledged in about the last {} ms (three times \
                     wal_writer_delay); the data stays consistent. Turn it off in the transactions that can be \
                     repeated, not for the server",
                    3.0 * delay
                ),
            )
        }
        _ if standbys => given.fine("commits wait for the standbys in synchronous_standby_names"),
        _ => given.fine("commits wait for the local disk: no synchronous standby is named"),
    }
}

/// Whether commits flush WAL themselves: otherwise nothing that delays or groups them matters.
fn flushes(given: &Given<'_>) -> Result<(), &'static str> {
    if given.is_other_off("synchronous_commit") {
        Err("with synchronous_commit = off no commit flushes WAL, so none waits for others")
    } else if given.is_other_off("fsync") {
        Err("with fsync = off the delay is never applied")
    } else {
        Ok(())
    }
}

fn commit_delay(given: &Given<'_>) -> Finding {
    let delay = given.number().unwrap_or(0.0);
    match flushes(given) {
        _ if delay <= 0.0 => given.fine("the default: commits that come during a flush are grouped anyway"),
        Err(why) => given.no_effect(why),
        Ok(()) if delay < 50.0 => given.improve(
            "0",
            format!(
                "a sleep of {delay} µs takes 50 µs longer with the kernel's default timer slack, on the path of \
                 every commit that leads a group; measure before you keep it"
            ),
        ),
        Ok(()) => given.fine(format!(
            "each group of commits is delayed by {delay} µs while {} other transactions are open; half of the time \
             of one flush is the manual's first value",
            given.other("commit_siblings")
        )),
    }
}

fn commit_siblings(given: &Given<'_>) -> Finding {
    let delay = given.other_number("commit_delay").unwrap_or(0.0);
    match flushes(given) {
        _ if given.is(given.default()) => given.fine("it is the default"),
        _ if delay <= 0.0 => given.no_effect("commit_delay is 0, so nothing asks for it"),
        Err(why) => given.no_effect(why),
        Ok(()) => given.fine(format!("commit_delay = {} applies while so many transactions are open", delay)),
    }
}

/// First minor releases with `data_sync_retry`, as `server_version_num`, of the majors that had begun without it.
const FIRST_WITH_RETRY: [u32; 4] = [90_516, 90_612, 100_007, 110_002];

fn data_sync_retry(given: &Given<'_>) -> Finding {
    let version = given.inputs.version_num;
    let first = FIRST_WITH_RETRY.into_iter().find(|first| first / 100 == version / 100);
    // A version without a minor, such as 110000, is that of a major: which minor it is is not known.
    let words = |version: u32| format!("{}.{}", major_of(version), version % 100);
    match first.filter(|first| !version.is_multiple_of(100) && version < *first) {
        Some(first) => given.refused(format!(
            "PostgreSQL {} brought it; {} does not have it, and the server does not start with it",
            words(first),
            words(version)
        )),
        None => given.by_default(),
    }
}
