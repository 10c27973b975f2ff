//! The write-ahead log: level, buffers, compression, files.

use pgdyno_core::facts::{
    Choice,
    amount::{MB, format},
};

use super::{
    inputs::Inputs,
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Purpose, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(
        page(
            "wal_level",
            Today::Depends,
            "How much WAL contains: enough for recovery after a crash, for archives and standbys, or for \
             logical decoding.",
            "minimal writes no WAL for what a transaction creates or rewrites, and flushes the new files at \
             commit instead: CREATE INDEX, REINDEX, CLUSTER and CREATE TABLE AS on any table, and loads into a \
             table that the same transaction created or truncated (before 13 COPY only). It excludes base \
             backups, archives and standbys, and from 10 on asks for max_wal_senders = 0. For a load that can \
             be repeated it may be worth a restart; pgdyno shows it as a comment and never sets it.",
            "PostgreSQL manual, Server Configuration, \"Write Ahead Log\", and Populating a Database, \"Disable \
             WAL Archival and Streaming Replication\"",
        )
        .can(
            "A base backup or an archive from before a time with minimal cannot be recovered beyond \
         it.",
        ),
    )
    .judges(wal_level),
    Rule::of(page(
        "wal_buffers",
        Today::DefaultIsRight,
        "Shared memory for WAL that is not yet written.",
        "The automatic value (-1) is a 32nd of shared_buffers, at most one segment. WAL is written at \
         every commit, every wal_writer_flush_after and at the latest at the end of a segment, so that \
         more than a segment can hardly fill. What more brings: not measured.",
        manual::WAL,
    ))
    .judges(wal_buffers),
    Rule::of(page(
        "wal_compression",
        Today::Depends,
        "Whether the full-page images in WAL are compressed: from 15 on by pglz, lz4 or zstd.",
        "It spends CPU time to write less WAL, so it helps where the bandwidth of WAL, of its archive or \
         of standbys is the limit. lz4 and zstd cost less than pglz for about the same, and need a \
         server that was built with them.",
        manual::WAL,
    ).brings(
        "on, which is pglz, instead of off: 41 % fewer TPS [38, 44] of TPC-B with 8 clients in the 5 s after a \
         checkpoint, when nearly every change writes a whole page, on a CPU that was the limit",
    ))
    .judges(wal_compression),
    Rule::of(page(
        "wal_writer_delay",
        Today::NoEffect,
        "How often the WAL writer flushes WAL.",
        "Ordinary commits flush their WAL themselves. It matters for asynchronous commits: a crash loses \
         at most three times this.",
        manual::WAL,
    ))
    .judges(wal_writer_delay),
    Rule::of(
        page(
            "wal_writer_flush_after",
            Today::DefaultIsRight,
            "How much WAL the WAL writer writes before it flushes it, between two delays.",
            "It matters for asynchronous commits and large transactions only.",
            manual::WAL,
        )
        .since(9),
    ),
    Rule::of(
        page(
            "wal_keep_segments",
            Today::Depends,
            "Segments of WAL that stay for standbys that lag; from 13 on wal_keep_size.",
            "It keeps as many whether a standby needs them or not, and none beyond: a replication slot keeps \
         exactly what is needed.",
            manual::REPLICATION,
        )
        .until(13),
    ),
    Rule::of(
        page(
            "wal_keep_size",
            Today::Depends,
            "Amount of WAL that stays for standbys that lag; before 13 wal_keep_segments.",
            "It keeps as much whether a standby needs it or not, and none beyond: a replication slot keeps \
         exactly what is needed.",
            manual::REPLICATION,
        )
        .since(13),
    ),
    Rule::of(
        page(
            "wal_recycle",
            Today::Kept,
            "Whether old segments of WAL are renamed for new use instead of being deleted.",
            "Overwriting is cheap where blocks stay in place. A copy-on-write file system (ZFS, btrfs) \
         writes new blocks in any case, and has to look up the old ones first.",
            manual::WAL,
        )
        .since(12),
    )
    .recommends(wal_recycle)
    .judges(judge_wal_recycle),
    Rule::of(
        page(
            "wal_init_zero",
            Today::Kept,
            "Whether new segments of WAL are filled with zeros.",
            "Filling allocates blocks before a commit waits for them. On a copy-on-write file system (ZFS, \
         btrfs) those blocks are not the ones that are written later.",
            manual::WAL,
        )
        .since(12),
    )
    .recommends(wal_init_zero)
    .judges(judge_wal_init_zero),
    Rule::of(page(
        "wal_log_hints",
        Today::Depends,
        "Whether the first change of hint bits of a page after a checkpoint writes the whole page to \
         WAL.",
        "pg_rewind needs it, or data checksums, which imply it; it makes WAL larger.",
        manual::WAL,
    )),
    Rule::of(
        page(
            "wal_skip_threshold",
            Today::DefaultIsRight,
            "With wal_level = minimal, from which size on a new table is flushed at commit instead of \
         written to WAL.",
            "It does nothing at any other wal_level.",
            manual::WAL,
        )
        .since(13),
    ),
    Rule::of(
        page(
            "recovery_prefetch",
            Today::DefaultIsRight,
            "Whether recovery and standbys prefetch the pages that coming WAL refers to.",
            "try, the default, does so where the platform can.",
            manual::WAL,
        )
        .since(15),
    ),
    Rule::of(
        page(
            "summarize_wal",
            Today::Depends,
            "Whether a process notes which blocks WAL changed, for incremental base backups.",
            "Incremental backups need it, and nothing else does.",
            manual::WAL,
        )
        .since(17),
    ),
];

fn wal_level(given: &Given<'_>) -> Finding {
    let version = given.inputs.version_num;
    let level = given.value.trim().to_ascii_lowercase();
    let enough = if version < 90_600 { "hot_standby" } else { "replica" };
    match level.as_str() {
        "minimal" => match needs_more(given) {
            Some(why) => given.refused(format!("the server does not start: {why}")).recommend(enough),
            None if given.inputs.purpose == Purpose::BulkLoad => given.fine(
                "index builds and loads into new tables write no WAL; there is no base backup, archive or standby \
                 until it is raised",
            ),
            None => given.improve(
                enough,
                "no base backup, archive or standby is possible, and only index builds and loads into new tables \
                 write less WAL",
            ),
        },
        "archive" | "hot_standby" if version >= 90_600 => {
            given.fine("the server reads it as replica, its name from 9.6 on")
        }
        "logical" => given.fine(
            "needed for logical decoding; updates and deletes log the old key as \
         well",
        ),
        _ => given.fine("enough for base backups, archives and standbys"),
    }
}

/// Which setting needs more than `wal_level = minimal`, so that a server with both does not start.
fn needs_more(given: &Given<'_>) -> Option<String> {
    let senders = given.other_number("max_wal_senders").unwrap_or(0.0);
    if senders > 0.0 {
        return Some(format!("minimal allows no WAL senders, and max_wal_senders is {senders}"));
    }
    if !given.is_other_off("archive_mode") {
        return Some("archive_mode is on, which needs more than minimal".to_owned());
    }
    let summarizes = given.inputs.version_num >= 170_000 && !given.is_other_off("summarize_wal");
    summarizes.then(|| "summarize_wal is on, which needs more than minimal".to_owned())
}

fn wal_buffers(given: &Given<'_>) -> Finding {
    let segment = given.inputs.wal_segment_bytes;
    let shared = given.other_number("shared_buffers").unwrap_or(128.0 * MB as f64);
    let automatic = ((shared / 32.0) as u64).min(segment).max(64 << 10);
    let words = format(automatic);
    match given.bytes() {
        None => given.fine(format!("automatic: {words}")),
        Some(bytes) if bytes > segment => given.improve(
            "-1",
            format!(
                "more than a segment of {}, after which WAL is flushed in any case; the automatic value is {words}. \
                 What more brings: not measured",
                format(segment)
            ),
        ),
        Some(bytes) if bytes < automatic / 2 => given.improve("-1", format!("the automatic value is {words}")),
        Some(_) => given.fine(format!("near the automatic value, {words}")),
    }
}

fn wal_compression(given: &Given<'_>) -> Finding {
    if given.is_off() {
        return given.fine("full-page images are written as they are, without CPU time for compression");
    }
    if given.is_other_off("full_page_writes") {
        return given.no_effect(
            "full_page_writes is off: only the images that index builds and the like write are left to \
             compress",
        );
    }
    let needs_build = ["lz4", "zstd"].contains(&given.value.trim().to_ascii_lowercase().as_str());
    match (needs_build, given.inputs.version_num) {
        (true, ..150_000) => {
            given.refused("the server does not start: before 15 there is on and off only").recommend("on")
        }
        (true, _) => given.fine("less WAL for some CPU time; the server must be built with this method"),
        (false, 150_000..) => given.fine(
            "less WAL for CPU time by pglz; lz4, where the server has it, costs less. Not \
             measured here",
        ),
        (false, _) => given.fine("less WAL for CPU time by pglz. What it brings here: not measured"),
    }
}

fn wal_writer_delay(given: &Given<'_>) -> Finding {
    let delay = given.number().unwrap_or(200.0);
    if given.is_other_off("synchronous_commit") {
        return given.fine(format!("a crash loses at most about {} ms of asynchronous commits", 3.0 * delay));
    }
    match given.is(given.default()) {
        true => given.fine("it is the default"),
        false => given.no_effect(
            "commits flush their WAL themselves (synchronous_commit is not off); only large transactions \
             notice it",
        ),
    }
}

fn judge_wal_recycle(given: &Given<'_>) -> Finding {
    where_blocks_stay(given, "it is cheaper to rename an old segment than to make a new one")
}

fn judge_wal_init_zero(given: &Given<'_>) -> Finding {
    where_blocks_stay(given, "zeros allocate its blocks before a commit waits for them")
}

/// Judges what is right to turn off only on file systems that never overwrite a block in place.
fn where_blocks_stay(given: &Given<'_>, why: &str) -> Finding {
    match given.inputs.wal_storage().filesystem.as_deref() {
        Some(name @ ("ext2" | "ext3" | "ext4" | "xfs")) if given.is_off() => {
            given.improve("on", format!("WAL is on {name}, which overwrites blocks in place: {why}"))
        }
        _ => given.by_recommendation(),
    }
}

/// File systems that never overwrite a block in place.
fn is_copy_on_write(inputs: &Inputs<'_>) -> Option<&'static str> {
    match inputs.wal_storage().filesystem.as_deref() {
        Some("zfs") => Some("WAL is on ZFS, which writes new blocks in any case"),
        Some("btrfs") => Some("WAL is on btrfs, which writes new blocks in any case"),
        _ => None,
    }
}

fn wal_recycle(inputs: &Inputs<'_>) -> Option<Choice> {
    choice("wal_recycle", "off", is_copy_on_write(inputs)?)
}

fn wal_init_zero(inputs: &Inputs<'_>) -> Option<Choice> {
    choice("wal_init_zero", "off", is_copy_on_write(inputs)?)
}
