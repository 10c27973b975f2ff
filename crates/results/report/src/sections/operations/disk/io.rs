//! Reads and writes at depth.

use pgdyno_core::{
    disk::io::{IoCache, IoEnd, IoFiles, IoMethod, IoNote, IoReport, SteadyState},
    units,
};
use pgdyno_document::{
    block::{Block, Column, Fact, Row, Table, Tone},
    figure::Format::{Bytes, BytesEachSecond, Count, Latency, Number, Percent, Rate, Seconds, Text},
    phrase::{Phrase, phrase},
};

use crate::source::Place;

/// Rate and latency.
pub(super) fn sentence(at: &Place<'_>, of: &IoReport) -> Phrase {
    let kinds = [("reads", of.reads.is_some()), ("writes", of.writes.is_some())];
    let figures = kinds.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| {
        let own = at.at(kind);
        phrase![
            own.figure("rate_per_s", Rate),
            format!(" {kind}/s, "),
            own.figure("bytes_per_s", BytesEachSecond),
            "/s, p99 ",
            own.at("latency").figure("p99_ns", Latency)
        ]
    });
    let joined = figures.reduce(|all, more| phrase![all, "; ", more]);
    let nothing = || phrase!["no operation completed"];
    phrase![at.figure("pattern/name", Text), " ", joined.unwrap_or_else(nothing), "."]
}

pub(super) fn blocks(at: &Place<'_>, of: &IoReport) -> Vec<Block> {
    let warnings = notes(&of.notes).into_iter().chain(steadiness(at, of)).chain(end(&of.ended));
    let warnings = Block::prose(Tone::Warning, warnings.collect());
    let blocks = [Block::facts(facts(at, of)), Block::Table(figures(at, of))].into_iter().chain(warnings);
    blocks.chain(devices(at, of)).collect()
}

fn facts(at: &Place<'_>, of: &IoReport) -> Vec<Fact> {
    let pattern = at.at("pattern");
    let cache = match of.pattern.cache {
        IoCache::Direct => "bypassing the page cache (O_DIRECT)",
        IoCache::Cold => "through the page cache, which had no page of the file",
        IoCache::Cached => "from the page cache",
    };
    let method = match of.pattern.method {
        IoMethod::IoUring => "io_uring",
        IoMethod::Threads => "a thread for each operation in flight",
    };
    let files = match of.pattern.files {
        IoFiles::Shared => " in one file of ",
        IoFiles::OneEach => " each in a file of its own of ",
    };
    let what = phrase![
        pattern.figure("name", Text),
        ", ",
        pattern.figure("block_bytes", Bytes),
        ", ",
        pattern.figure("jobs", Count),
        if of.pattern.jobs == 1 { " job with " } else { " jobs with " },
        pattern.figure("depth", Count),
        " in flight,",
        files,
        pattern.figure("file_bytes", Bytes)
    ];
    let mut facts = vec![
        Fact::new("pattern", what),
        Fact::new("how", phrase![cache, ", by ", method]),
        Fact::new(
            "measured",
            phrase![at.figure("duration_s", Seconds), ", after a ramp of ", at.figure("ramp_s", Seconds)],
        ),
    ];
    if let Some(cpu) = &of.cpu {
        let used = [cpu.user_s_per_op, cpu.system_s_per_op].map(units::duration);
        let text = format!("{} in user mode and {} in the kernel for each operation", used[0], used[1]);
        facts.push(Fact::new("CPU time", text));
    }
    if of.sync_at_end_s.is_some() {
        facts.push(Fact::new("fdatasync at the end", at.figure("sync_at_end_s", Seconds)));
    }
    facts
}

fn figures(at: &Place<'_>, of: &IoReport) -> Table {
    let numbers = ["per second", "bytes/s", "p50", "p90", "p99", "p99.9", "longest"];
    let columns = [Column::words("operation")].into_iter().chain(numbers.map(Column::number)).collect();
    let kinds = [
        ("reads", "reads", of.reads.is_some()),
        ("writes", "writes", of.writes.is_some()),
        ("syncs", "fdatasync", of.syncs.is_some()),
        ("write_backs", "sync_file_range", of.write_backs.is_some()),
    ];
    let row = |(kind, name, _): (&'static str, &'static str, bool)| {
        let own = at.at(kind);
        let latency = own.at("latency");
        let percentiles = ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];
        let rates = [own.figure("rate_per_s", Rate), own.figure("bytes_per_s", BytesEachSecond)];
        let cells = rates.into_iter().chain(percentiles.map(|field| latency.figure(field, Latency)));
        Row::new(false, [Phrase::from(name).into()].into_iter().chain(cells.map(Into::into)))
    };
    Table::new(columns, kinds.into_iter().filter(|(.., is_there)| *is_there).map(row).collect())
}

/// What the kernel saw at the devices below.
fn devices(at: &Place<'_>, of: &IoReport) -> Option<Block> {
    let words = ["device", "operation"].map(Column::words);
    let numbers = ["per second", "bytes/s", "merged/s", "request", "queue", "in use"].map(Column::number);
    let rows: Vec<Row> =
        (0..of.devices.len()).flat_map(|index| device(&at.at("devices").at(index))).collect();
    let columns = words.into_iter().chain(numbers).collect();
    (!rows.is_empty()).then(|| Block::Table(Table::new(columns, rows)))
}

/// Reads of a device with what belongs to both, and its writes.
fn device(at: &Place<'_>) -> [Row; 2] {
    let both = [
        at.figure("request_bytes", BytesEachSecond),
        at.figure("queue", Number),
        at.figure("utilisation", Percent),
    ];
    let row = |name: Phrase, operation: &'static str, [rate, bytes, merged]: [&str; 3], more: [Phrase; 3]| {
        let figures = [at.figure(rate, Rate), at.figure(bytes, BytesEachSecond), at.figure(merged, Rate)];
        let cells = [name, operation.into()].into_iter().chain(figures.map(Phrase::from)).chain(more);
        Row::new(false, cells.map(Into::into))
    };
    let reads = ["reads_per_s", "read_bytes_per_s", "read_merges_per_s"];
    let writes = ["writes_per_s", "written_bytes_per_s", "write_merges_per_s"];
    [
        row(at.figure("device", Text).into(), "reads", reads, both.map(Phrase::from)),
        row(Phrase::default(), "writes", writes, [(); 3].map(|()| Phrase::default())),
    ]
}

/// That the rate was not steady.
fn steadiness(at: &Place<'_>, of: &IoReport) -> Option<Phrase> {
    let steady = at.at("steady");
    match &of.steady {
        SteadyState::Steady { .. } => None,
        SteadyState::NotSteady { .. } => Some(phrase![
            "! The rate was not steady: over the last five rounds it ranged over ",
            steady.figure("range", Percent),
            " of its mean (20 % are allowed), and changed by ",
            steady.figure("slope", Percent),
            " (10 %)"
        ]),
        SteadyState::TooShort => {
            Some("! Too short to judge whether the rate was steady: at least five seconds are needed".into())
        }
    }
}

/// What was not as requested.
pub(super) fn notes(notes: &[IoNote]) -> Vec<Phrase> {
    let words = |note: &IoNote| -> Phrase {
        match note {
            IoNote::ThreadsInstead { why } => {
                format!("! io_uring cannot be used ({why}): each operation in flight had a thread").into()
            }
            IoNote::BufferedInstead { why } => {
                format!("! O_DIRECT is refused ({why}): what was read may come from memory").into()
            }
            IoNote::PreconditionSkipped => {
                "The file was not written twice before: an SSD may get slower than this".into()
            }
            IoNote::InMemory => "! The file is in memory: no device was measured".into(),
            IoNote::CachedBelow { file } => format!(
                "! The loop device keeps its file {file} in the page cache: what was read may come from memory, and \
                 writes may end there (losetup --direct-io=on bypasses it)"
            )
            .into(),
            IoNote::FewerCpus { cpus } => {
                let cpus: Vec<_> = cpus.iter().map(u32::to_string).collect();
                format!("Fewer CPUs than requested: the jobs share {}", cpus.join(", ")).into()
            }
        }
    };
    notes.iter().map(words).collect()
}

/// Why it ended early.
pub(super) fn end(ended: &IoEnd) -> Option<Phrase> {
    match ended {
        IoEnd::Complete => None,
        IoEnd::Stopped => Some("! It was stopped: these are the figures until then".into()),
        IoEnd::Failed { why } => Some(format!("! It failed: {why}").into()),
    }
}
