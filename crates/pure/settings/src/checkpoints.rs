//! When checkpoints come, and how they write.

use pgdyno_core::{
    facts::{
        Choice,
        amount::{GB, format},
    },
    units::{bytes, bytes_per_s},
};

use super::{
    inputs::{Inputs, wal_room_bytes, whole_mb},
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Page, Purpose, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        also: &["checkpoint_segments"],
        ..page(
            "max_wal_size",
            Today::Kept,
            "How much WAL may be written until the next checkpoint is due, whatever the time: a soft \
             limit.",
            "Checkpoints that come by volume come in bursts, and each makes the first change of every \
             page write a full-page image. A twentieth of the free space where WAL lies, from 1 GB to 16 \
             GB (64 GB for loads), lets time start most of them; where there is little room, volume \
             starts them. More makes recovery after a crash longer. 9.5 replaced checkpoint_segments by \
             it: 3 times as many segments of 16 MB are about the same.",
            manual::WAL,
        )
        .can("Above the free space of its file system WAL can fill it, and the server stops.")
    })
    .recommends(max_wal_size)
    .judges(judge_max_wal_size),
    Rule::of(page(
        "min_wal_size",
        Today::Kept,
        "How much WAL is kept as recycled segments after a checkpoint.",
        "Below it, segments are renamed for new use and not deleted, so that a burst need not create \
         files. A quarter of max_wal_size.",
        manual::WAL,
    ))
    .recommends(min_wal_size)
    .judges(judge_min_wal_size),
    Rule::of(page(
        "checkpoint_timeout",
        Today::Kept,
        "The time between two checkpoints.",
        "After each checkpoint the first change of a page logs all of it, so fewer checkpoints mean less \
         WAL; recovery after a crash has at most about two intervals of WAL to replay. 15 min, for loads \
         30 min, instead of the default of 5 min.",
        manual::WAL,
    ))
    .recommends(checkpoint_timeout)
    .judges(judge_checkpoint_timeout),
    Rule::of(page(
        "checkpoint_completion_target",
        Today::Kept,
        "The part of the interval over which a checkpoint spreads its writes.",
        "0.9 is the default from 14 on; before it was 0.5. A small value writes everything in a burst \
         and leaves storage idle afterwards; 0.99 leaves no time for the flushes at the end.",
        "PostgreSQL manual, \"Write Ahead Log\" of Server Configuration; release notes of 14",
    ))
    .recommends(checkpoint_completion_target)
    .judges(judge_completion_target),
    Rule::of(
        page(
            "checkpoint_flush_after",
            Today::DefaultIsRight,
            "After how many written pages a checkpoint asks the kernel to begin writing them to storage.",
            "256 kB on Linux keeps dirty pages from piling up in the page cache until the flush at the end \
         of the checkpoint. 0 leaves that to vm.dirty_background_bytes.",
            manual::WAL,
        )
        .since(9),
    ),
    Rule::of(page(
        "checkpoint_warning",
        Today::DefaultIsRight,
        "Checkpoints by volume that follow each other faster than this are logged.",
        "The message says that max_wal_size is too small; 0 silences it.",
        manual::WAL,
    )),
];

/// Bytes for `max_wal_size`: a twentieth of the free space of its storage, between 1 GB and 16 GB and never
/// less than 8 segments. A multiple of 64 MB, so that a quarter (`min_wal_size`) is a multiple of 16 MB:
/// servers before 10 round to segments and would otherwise differ from newer ones.
fn max_wal_bytes(inputs: &Inputs<'_>) -> u64 {
    wal_room_bytes(inputs).min(most_wal(inputs.purpose) * GB).max(8 * inputs.wal_segment_bytes)
}

/// Most gigabytes of WAL between two checkpoints that a rule asks for.
fn most_wal(purpose: Purpose) -> u64 {
    if purpose == Purpose::BulkLoad { 64 } else { 16 }
}

/// The largest `max_wal_size` that is recommended.
pub(super) fn most_wal_size(inputs: &Inputs<'_>) -> String {
    format!("{}GB", most_wal(inputs.purpose))
}

fn max_wal_size(inputs: &Inputs<'_>) -> Option<Choice> {
    let (chosen, free) = (max_wal_bytes(inputs), inputs.wal_free_bytes()?);
    let most = most_wal(inputs.purpose);
    let rate = rate_by_time(chosen, inputs.version_num, TARGET, minutes_between(inputs) * 60.0);
    let little = if free / 20 < 2 * GB { "there is little room: " } else { "" };
    let what =
        format!("{little}about a twentieth of the {} free where WAL lies, from 1GB to {most}GB", bytes(free));
    let reason = match chosen < most * GB {
        true => format!("{what}; volume, not time, starts checkpoints from {rate} of WAL on"),
        false => format!(
            "{what}: time starts checkpoints up to {rate} of WAL; where more is written for long, a larger one keeps \
             it so"
        ),
    };
    choice("max_wal_size", format(chosen), reason)
}

/// `checkpoint_completion_target` that these rules recommend.
const TARGET: f64 = 0.9;

/// WAL per second, in words, from which on volume and not time starts checkpoints: the server starts one when so much
/// has been written that `max_wal_size` will not be exceeded until it ends (`CalculateCheckpointSegments`, which before
/// 11 assumed one checkpoint more). It counts whole segments, by which the rate may be lower.
fn rate_by_time(max_wal_bytes: u64, version_num: u32, target: f64, timeout_s: f64) -> String {
    let kept = if version_num < 110_000 { 2.0 } else { 1.0 };
    format!("about {}", bytes_per_s(max_wal_bytes as f64 / (kept + target) / timeout_s.max(1.0)))
}

/// The same of a configuration.
fn rate_of(given: &Given<'_>, max_wal_bytes: u64) -> String {
    let target = given.other_number("checkpoint_completion_target").unwrap_or(0.5);
    let timeout_s = given.other_number("checkpoint_timeout").unwrap_or(300e3) / 1e3;
    rate_by_time(max_wal_bytes, given.inputs.version_num, target, timeout_s)
}

fn judge_max_wal_size(given: &Given<'_>) -> Finding {
    let Some(size) = given.bytes() else { return given.by_default() };
    let rate = rate_of(given, size);
    let Some(free) = given.inputs.wal_free_bytes() else {
        return given.unjudged(format!(
            "time starts checkpoints up to {rate} of WAL; how much is free where WAL lies is not known"
        ));
    };
    let recommended = max_wal_bytes(given.inputs);
    match size {
        _ if size > free => {
            let finding =
                given.danger(format!("more than the {} free where WAL lies, which it can fill", bytes(free)));
            if size > recommended { finding.recommend(format(recommended)) } else { finding }
        }
        _ if size > free / 2 && size > recommended => given.improve(
            format(recommended),
            format!(
                "more than half of the {} free where WAL lies, which data and others need too",
                bytes(free)
            ),
        ),
        _ if size < recommended / 2 => given.by_size(),
        _ if size > recommended => given.fine(format!(
            "time starts checkpoints up to {rate} of WAL; after a crash up to about {} are replayed",
            bytes(size)
        )),
        _ => given.by_size(),
    }
}

fn min_wal_size(inputs: &Inputs<'_>) -> Option<Choice> {
    inputs.wal_free_bytes()?;
    let least = whole_mb(max_wal_bytes(inputs) / 4, 2 * inputs.wal_segment_bytes);
    let most = format(max_wal_bytes(inputs));
    let reason = format!("a quarter of max_wal_size ({most}): segments are recycled, not created");
    choice("min_wal_size", format(least), reason)
}

fn judge_min_wal_size(given: &Given<'_>) -> Finding {
    let most = given.other_number("max_wal_size").unwrap_or(GB as f64);
    let least = given.number().unwrap_or(0.0);
    if let Some(free) = given.inputs.wal_free_bytes().filter(|free| least > *free as f64) {
        let recommended = min_wal_size(given.inputs).map(|choice| choice.value).unwrap_or_default();
        return given.dangerous(&recommended, format!("more than the {} free where WAL lies", bytes(free)));
    }
    match least > most {
        true => given.no_effect("it is above max_wal_size: checkpoints keep WAL below that"),
        false => given.fine("segments up to this size are recycled, not created"),
    }
}

/// Minutes between checkpoints.
fn minutes_between(inputs: &Inputs<'_>) -> f64 {
    if inputs.purpose == Purpose::BulkLoad { 30.0 } else { 15.0 }
}

fn checkpoint_timeout(inputs: &Inputs<'_>) -> Option<Choice> {
    let minutes = minutes_between(inputs);
    let most = max_wal_bytes(inputs);
    let until = match inputs.wal_free_bytes() {
        None => ", if max_wal_size (see below) is large enough that time starts checkpoints".to_owned(),
        // The default is left out of a configuration, and with it what it means.
        Some(_) if most <= GB => {
            let rate = rate_by_time(most, inputs.version_num, TARGET, minutes * 60.0);
            format!("; from {rate} of WAL on max_wal_size ({}) starts checkpoints", format(most))
        }
        Some(_) => String::new(),
    };
    let reason = format!("fewer full-page images than the default of 5min{until}");
    choice("checkpoint_timeout", format!("{minutes}min"), reason)
}

fn judge_checkpoint_timeout(given: &Given<'_>) -> Finding {
    let minutes = given.number().unwrap_or(0.0) / 60e3;
    match minutes {
        ..10.0 => given.improve(
            format!("{}min", minutes_between(given.inputs)),
            "every checkpoint begins a new round of full-page images",
        ),
        ..=60.0 => given.fine(format!(
            "few full-page images; after a crash up to about {} min of WAL are replayed",
            2.0 * minutes
        )),
        _ => given
            .improve("15min", format!("after a crash up to about {} min of WAL are replayed", 2.0 * minutes)),
    }
}

fn checkpoint_completion_target(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "spreads the writes of a checkpoint; the default from version 14 on";
    (inputs.version_num < 140_000).then(|| choice("checkpoint_completion_target", "0.9", reason))?
}

fn judge_completion_target(given: &Given<'_>) -> Finding {
    let target = given.number().unwrap_or(0.5);
    let minutes = given.other_number("checkpoint_timeout").unwrap_or(300e3) / 60e3;
    match target {
        ..0.7 => given.improve(
            "0.9",
            format!(
                "a checkpoint writes everything in {:.1} of {minutes} min: a burst that transactions \
                 wait behind",
                target * minutes
            ),
        ),
        ..=0.95 => given
            .fine(format!("a checkpoint spreads its writes over {:.1} of {minutes} min", target * minutes)),
        _ => given.improve(
            "0.9",
            format!(
                "leaves {:.0} s of {minutes} min for the flushes of all files",
                (1.0 - target) * minutes * 60.0
            ),
        ),
    }
}
