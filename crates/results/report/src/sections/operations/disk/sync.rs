//! Synchronous writes, and whether a flush can be believed.

use pgdyno_core::{
    disk::sync::{
        BookedWork, BulkSync, ChoiceOutcome, MethodChoice, SyncAction, SyncEvidence, SyncReport, SyncTest,
        SyncVerdict,
    },
    units,
};
use pgdyno_document::{
    block::{Block, Column, Group, Row, Table, Tone},
    figure::Format::{Latency, Number, Rate, Text},
    phrase::{Phrase, maybe, phrase},
};

use crate::source::Place;

/// The method to choose, its rate, and whether a flush can be believed.
pub(super) fn sentence(at: &Place<'_>, of: &SyncReport) -> Phrase {
    let choice = of.choice.as_ref().map_or_else(Phrase::default, |choice| {
        let rate = one_write(of, choice).map(|index| at.at("tests").at(index).at("timing"));
        let rate = rate.and_then(|timing| timing.figure("rate_per_s", Rate));
        phrase![
            at.at("choice").figure("method", Text),
            maybe(" with ", rate, " writes of 8 KiB per second"),
            ", ",
            outcome(choice),
            "; "
        ]
    });
    phrase![choice, verdict(of.judgement.verdict), "."]
}

/// The test of the chosen method with one write.
fn one_write(of: &SyncReport, choice: &MethodChoice) -> Option<usize> {
    of.tests.iter().position(
        |test| matches!(test.action, SyncAction::Method { method, writes: 1 } if method == choice.method),
    )
}

fn outcome(choice: &MethodChoice) -> &'static str {
    match choice.outcome {
        ChoiceOutcome::Faster => "faster than the others",
        ChoiceOutcome::NoDifference => "the default, and no other is faster",
        ChoiceOutcome::CannotTell => "the default: not yet known whether another is faster",
    }
}

fn verdict(verdict: SyncVerdict) -> &'static str {
    match verdict {
        SyncVerdict::Plausible => "synced data is plausibly durable",
        SyncVerdict::Suspicious => "SYNCED DATA MAY NOT BE DURABLE",
        SyncVerdict::CannotTell => "it cannot be determined from here whether synced data is durable",
    }
}

pub(super) fn blocks(at: &Place<'_>, of: &SyncReport) -> Vec<Block> {
    let tone = match of.judgement.verdict {
        SyncVerdict::Suspicious => Tone::Warning,
        SyncVerdict::Plausible | SyncVerdict::CannotTell => Tone::Plain,
    };
    let ended = of.incomplete.as_ref().map(|why| {
        let how = if why.stopped { "stopped" } else { "failed" };
        phrase![format!("! It {how} during {}: {}", why.during, why.why)]
    });
    let choice = of.choice.as_ref().map(|choice| Block::text(chosen(at, choice)));
    let not_measured = Block::prose(Tone::Plain, not_measured(of));
    let blocks = [Block::Table(table(at, of))].into_iter().chain(not_measured).chain(choice);
    let blocks = blocks.chain(Block::prose(tone, judgement(of)));
    blocks.chain(Block::prose(Tone::Warning, ended.into_iter().collect())).collect()
}

fn table(at: &Place<'_>, of: &SyncReport) -> Table {
    let numbers = ["per second", "p50", "p90", "p99", "p99.9", "longest"].map(Column::number);
    let columns = [Column::words("test")].into_iter().chain(numbers).collect();
    let mut groups: Vec<Group> = Vec::new();
    for (index, test) in of.tests.iter().enumerate() {
        let name = group(test);
        if groups.last().is_none_or(|last| last.name.plain() != name) {
            groups.push(Group { name: name.into(), note: Phrase::default(), rows: Vec::new() });
        }
        let is_chosen = of.choice.as_ref().and_then(|choice| one_write(of, choice)) == Some(index);
        let row = row(&at.at("tests").at(index), test, is_chosen);
        groups.last_mut().into_iter().for_each(|group| group.rows.push(row.clone()));
    }
    Table { group_name: "write", columns, groups, summary_in_head: false }
}

/// What kind of test it is, in words.
fn group(test: &SyncTest) -> String {
    let size = units::bytes(test.write_bytes);
    match &test.action {
        SyncAction::Method { writes: 1, .. } => format!("one write of {size}"),
        SyncAction::Method { writes, .. } => format!("{writes} writes of {size}"),
        SyncAction::Pieces { .. } => "16 KiB in pieces, open_sync".to_owned(),
        SyncAction::WriteFsyncClose | SyncAction::WriteCloseFsync => "fsync on another descriptor".to_owned(),
        SyncAction::Write => format!("write of {size} without a sync"),
        SyncAction::Writers { .. } => format!("{size} with fdatasync by several threads"),
        SyncAction::Next { .. } => format!("{size} after {size} with fdatasync, by state of the file"),
    }
}

fn name(test: &SyncTest) -> String {
    match &test.action {
        SyncAction::Method { method, .. } => {
            let buffered = if test.direct == Some(false) { " (without O_DIRECT)" } else { "" };
            format!("{}{buffered}", method.name())
        }
        SyncAction::Pieces { writes: 1 } => format!("1 write of {}", units::bytes(test.write_bytes)),
        SyncAction::Pieces { writes } => format!("{writes} writes of {}", units::bytes(test.write_bytes)),
        SyncAction::WriteFsyncClose => "write, fsync, close".to_owned(),
        SyncAction::WriteCloseFsync => "write, close, fsync".to_owned(),
        SyncAction::Write => "write".to_owned(),
        SyncAction::Writers { writers } => units::plural(u64::from(*writers), "writer"),
        SyncAction::Next { state } => state.name().to_owned(),
    }
}

fn row(at: &Place<'_>, test: &SyncTest, is_chosen: bool) -> Row {
    let timing = at.at("timing");
    let latency = timing.at("latency");
    let cells = [
        timing.figure("rate_per_s", Rate),
        latency.figure("p50_ns", Latency),
        timing.figure("p90_ns", Latency),
        latency.figure("p99_ns", Latency),
        latency.figure("p999_ns", Latency),
        latency.figure("max_ns", Latency),
    ];
    Row::new(is_chosen, [Phrase::from(name(test)).into()].into_iter().chain(cells.map(Into::into)))
}

/// The tests that could not be executed, and why.
fn not_measured(of: &SyncReport) -> Vec<Phrase> {
    let mut reasons: Vec<String> = Vec::new();
    for test in &of.tests {
        let reason = test.unavailable.as_ref().map(|why| format!("{} was not measured: {why}.", name(test)));
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
    }
    reasons.into_iter().map(Phrase::from).collect()
}

fn chosen(at: &Place<'_>, choice: &MethodChoice) -> Phrase {
    let at = at.at("choice");
    let ratio = |field: &str, of: &Option<pgdyno_core::disk::sync::RateRatio>| {
        let Some(of) = of else { return Phrase::default() };
        let own = at.at(field);
        let interval = of.interval.map_or_else(Phrase::default, |_| {
            phrase![" [", own.figure("interval/0", Number), ", ", own.figure("interval/1", Number), "]"]
        });
        phrase![
            "; ",
            at.figure("fastest", Text),
            " is ",
            own.figure("ratio", Number),
            interval,
            " times as fast as ",
            own.figure("of", Text)
        ]
    };
    let more = choice.blocks_needed.map_or_else(String::new, |blocks| {
        format!("; about {} would decide it (--blocks {blocks})", units::plural(blocks, "block"))
    });
    phrase![
        "wal_sync_method = ",
        at.figure("method", Text),
        ": ",
        outcome(choice),
        ratio("to_second", &choice.to_second),
        ratio("to_default", &choice.to_default.clone().filter(|_| choice.to_second != choice.to_default)),
        more,
        "."
    ]
}

fn judgement(of: &SyncReport) -> Vec<Phrase> {
    let judgement = &of.judgement;
    let mark = if judgement.verdict == SyncVerdict::Suspicious { "! " } else { "" };
    let head = phrase![mark, capital(verdict(judgement.verdict)), ":"];
    let evidence = judgement.evidence.iter().map(|of| Phrase::from(format!("{}.", evidence(of))));
    let unknown = judgement.unknown.iter().map(|of| Phrase::from(of.clone()));
    let proof = Phrase::from(format!("What would prove it: {}", judgement.what_would_prove));
    [head].into_iter().chain(evidence).chain(unknown).chain([proof]).collect()
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn booked(of: &BookedWork) -> String {
    let flushes =
        of.disk_flushes.map_or_else(String::new, |flushes| format!(" and {} flushes", units::count(flushes)));
    format!(
        "of {} that wrote {}, disks booked {}{flushes}, {}",
        units::plural(of.operations, "sync"),
        units::bytes(of.written_bytes),
        units::plural(of.disk_writes, "write"),
        units::bytes(of.disk_written_bytes)
    )
}

fn bulk(of: &BulkSync) -> String {
    format!(
        "{} were written in {} and synced in {}, of which disks booked {}",
        units::bytes(of.booked.written_bytes),
        units::duration(of.write_ns as f64 / 1e9),
        units::duration(of.sync_ns as f64 / 1e9),
        units::bytes(of.booked.disk_written_bytes)
    )
}

/// A finding in words.
fn evidence(of: &SyncEvidence) -> String {
    let rate = |rate: &f64| units::rate(*rate);
    match of {
        SyncEvidence::Booked(work) => format!("For it: {}", booked(work)),
        SyncEvidence::BulkReachedDisks(of) => format!("For it: {}", bulk(of)),
        SyncEvidence::InMemory => "Against it: the file system is in memory".to_owned(),
        SyncEvidence::NoWrites(work) => format!("Against it: {}", booked(work)),
        SyncEvidence::NoFlushes(work) => {
            format!("Against it: caches are write back, and {}", booked(work))
        }
        SyncEvidence::StaysDirty(of) => {
            let dirty = of.dirty_after_sync_bytes.unwrap_or(0).max(0) as u64;
            format!(
                "Against it: after the sync {} more were dirty in memory; {}",
                units::bytes(dirty),
                bulk(of)
            )
        }
        SyncEvidence::InstantBulk(of) => format!("Against it: {}", bulk(of)),
        SyncEvidence::FreeSync { rate_per_s, unsynced_rate_per_s } => format!(
            "Against it: {} writes/s with fdatasync and {} without: the sync costs hardly anything",
            rate(rate_per_s),
            rate(unsynced_rate_per_s)
        ),
        SyncEvidence::ImplausibleLatency { latency_ns, least_ns } => format!(
            "Against it: a write with fdatasync takes {}, and a request needs {} at least",
            units::latency(*latency_ns),
            units::latency(*least_ns)
        ),
        SyncEvidence::FasterThanRotation { rate_per_s, most_per_s } => format!(
            "Against it: {} syncs/s on a rotating disk, which can do {} without a protected cache",
            rate(rate_per_s),
            rate(most_per_s)
        ),
        SyncEvidence::FlushesWithheld(device) => format!(
            "Against it: the kernel sends {} no flushes (write_cache is {}), and the disk reports a cache: {}",
            device.name,
            device.write_cache.as_deref().unwrap_or("unknown"),
            device.reported_cache.as_deref().unwrap_or("unknown")
        ),
    }
}

/// A test in words.
pub(super) fn words(test: &SyncTest) -> String {
    format!("{}: {}", group(test), name(test))
}

/// Whether two tests do the same.
pub(super) fn is_same(one: &SyncTest, other: &SyncTest) -> bool {
    (&one.action, one.write_bytes) == (&other.action, other.write_bytes)
}
