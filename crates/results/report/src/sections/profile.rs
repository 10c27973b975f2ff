//! Where the processes of the servers spent their CPU time, and what their clients' sessions waited for besides.

use std::sync::Arc;

use pgdyno_core::profile::{KernelSide, Profile, StackKind, Symbols};
use pgdyno_document::{
    block::{Block, Cell, Column, Group, Row, Section, Table, Tone},
    figure::Format::{Count, Number, Percent, Seconds, Text},
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::ProfileRecord;

use crate::{run::Run, source::Place};

/// Most functions of a cell, and in the short report.
const FUNCTIONS: usize = 12;
const MOST_TELLING: usize = 5;
/// Most wait events of a cell.
const EVENTS: usize = 6;

/// One profile with its place in the record.
struct One<'a> {
    index: usize,
    name: Phrase,
    /// Its cell.
    cell: Option<usize>,
    at: Place<'a>,
    record: &'a ProfileRecord,
    profile: Option<&'a Profile>,
}

/// The profiles of all cells or stages; `None` if none were wanted.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let all = all(run);
    if all.is_empty() {
        return None;
    }
    let tables = [shares(&all), functions(&all), activities(run, &all)];
    let tables = tables.into_iter().filter(|table| !table.is_empty()).map(Block::Table);
    let missing = Block::prose(Tone::Plain, unique(all.iter().flat_map(missing)));
    let known = Block::prose(Tone::Notes, unique(all.iter().flat_map(notes)));
    let flames = all.iter().flat_map(|one| flame(run, one));
    let blocks = missing.into_iter().chain(tables).chain(flames).chain(known).collect();
    Some(Section::new("Profile: where the server spent CPU time", blocks))
}

/// The functions that took most, for the short report: of the best cells, or of all stages.
pub fn most_telling(run: &Run<'_>) -> Option<Section> {
    let best = run.best_cells();
    let wanted = |one: &One<'_>| one.cell.is_none_or(|cell| best.contains(&cell));
    let all: Vec<_> = all(run).into_iter().filter(wanted).collect();
    let whole = functions(&all);
    let few = |group: &Group| Group {
        rows: group.rows.iter().take(MOST_TELLING).cloned().collect(),
        ..group.clone()
    };
    let table = Table { groups: whole.groups.iter().map(few).collect(), ..whole };
    (!table.is_empty()).then(|| Section::new("CPU time by function", vec![Block::Table(table)]))
}

fn all<'a>(run: &'a Run<'_>) -> Vec<One<'a>> {
    let one = |(index, record): (usize, &'a ProfileRecord)| {
        let at = run.source.at(format!("/profiles/{index}"));
        let same = |workload| run.record.cells.iter().position(|cell| Some(&cell.workload) == workload);
        let cell = record.workload.as_ref().and_then(|workload| same(Some(workload)));
        let name = match (cell, &record.workload) {
            (Some(cell), _) => run.name_of(cell),
            (None, Some(_)) => {
                phrase![at.figure("workload/script", Text), "/", at.figure("workload/clients", Count)]
            }
            (None, None) => at.figure("stage", Text).into(),
        };
        One { index, name, cell, at, record, profile: record.profile.as_ref() }
    };
    run.record.profiles.iter().enumerate().map(one).collect()
}

/// How many samples there are, and whose code they are in.
fn shares(all: &[One<'_>]) -> Table {
    let row = |one: &One<'_>| {
        let at = one.at.at("profile");
        let part = |field: &str| at.share(field, "samples");
        let cells: [Cell; 8] = [
            one.name.clone().into(),
            at.figure("samples", Count).into(),
            at.figure("over_s", Seconds).into(),
            at.figure("cpus", Number).into(),
            part("server_samples").into(),
            part("kernel_samples").into(),
            part("library_samples").into(),
            part("unknown_samples").into(),
        ];
        one.profile.map(|_| Row::new(false, cells))
    };
    let first = [Column::text("profile of")].into_iter();
    let counts = ["samples", "over", "CPUs"].map(Column::number);
    let sides =
        ["server", "kernel", "libraries", "no name"].map(|name| Column::number(name).under("CPU time in"));
    Table::new(first.chain(counts).chain(sides).collect(), all.iter().filter_map(row).collect())
}

fn functions(all: &[One<'_>]) -> Table {
    let row = |one: &One<'_>, index: usize| {
        let at = one.at.at("profile");
        let symbol = at.at("symbols").at(index);
        let share = |field: &str| at.share(format!("symbols/{index}/{field}"), "samples");
        let cells: [Cell; 5] = [
            share("self_samples").into(),
            share("total_samples").into(),
            symbol.figure("side", Text).into(),
            symbol.figure("symbol", Text).into(),
            symbol.figure("module", Text).into(),
        ];
        Row::new(false, cells)
    };
    let group = |one: &One<'_>| {
        let count = one.profile.map_or(0, |of| of.symbols.len().min(FUNCTIONS));
        let rows = (0..count).map(|index| row(one, index)).collect();
        Group { name: one.name.clone(), rows, ..Group::default() }
    };
    let shares = ["self", "total"].map(Column::number);
    let words = [Column::words("in"), Column::text("function"), Column::words("file")];
    let groups = all.iter().map(group).filter(|group| !group.rows.is_empty()).collect();
    Table {
        group_name: "profile of",
        columns: shares.into_iter().chain(words).collect(),
        groups,
        ..Table::default()
    }
}

/// What the clients' sessions did meanwhile, on a CPU and off it, by samples of the observers.
fn activities(run: &Run<'_>, all: &[One<'_>]) -> Table {
    let group = |one: &One<'_>| {
        let cell = one.cell.filter(|_| one.profile.is_some())?;
        let waits = run.record.cells[cell].waits.as_ref().filter(|waits| waits.sessions > 0)?;
        let at = run.cell(cell).at("waits");
        let row = |event: usize| {
            let share = waits.events[event].count as f64 / waits.sessions as f64;
            let cells = [
                at.figure(format!("events/{event}/event"), Text).into(),
                at.share(format!("events/{event}/count"), "sessions").into(),
                Cell::bar(share),
            ];
            Row::new(false, cells)
        };
        let rows = (0..waits.events.len().min(EVENTS)).map(row).collect();
        Some(Group { name: one.name.clone(), rows, ..Group::default() })
    };
    let columns = vec![Column::words("client sessions"), Column::number("share"), Column::words("")];
    let groups = all.iter().filter_map(group).collect();
    Table { group_name: "profile of", columns, groups, ..Table::default() }
}

fn flame(run: &Run<'_>, one: &One<'_>) -> Vec<Block> {
    let found = run.details.flames.iter().find(|flame| flame.profile == one.index);
    let title = |of: &Arc<_>| {
        [Block::text(phrase!["Stacks of ", one.name.clone(), ":"]), Block::Flame(Arc::clone(of))]
    };
    found.map(title).into_iter().flatten().collect()
}

/// Why a profile is missing, or not complete.
fn missing(one: &One<'_>) -> Option<Phrase> {
    let why = one.at.figure("missing", Text);
    one.record.missing.as_ref()?;
    Some(match one.profile {
        None => phrase!["No profile of ", one.name.clone(), ": ", why, "."],
        Some(_) => phrase![
            "The profile of ",
            one.name.clone(),
            " is not complete (recordings that failed: ",
            one.at.figure("failed", Count),
            "): ",
            why,
            "."
        ],
    })
}

/// How it was sampled, and what its numbers do not say.
fn notes(one: &One<'_>) -> Vec<Phrase> {
    let Some(profile) = one.profile else { return Vec::new() };
    let at = one.at.at("profile");
    [
        Some(sampled(&at, profile)),
        Some(phrase![
            "\"self\" is time in a function itself, \"total\" with all that it called. pgdyno's own sessions are left \
             out."
        ]),
        (profile.event == "cpu-clock").then(|| {
            phrase![
                "cpu-clock is a timer: it sees kernel code that disables interrupts only where that enables them \
                 again."
            ]
        }),
        program(&at, profile),
        kernel(&at, profile),
        (profile.lost > 0).then(|| {
            phrase![at.figure("lost", Count), " events of perf were lost in ", one.name.clone(), "."]
        }),
        Some(phrase![
            "In ",
            one.name.clone(),
            maybe(", perf took ", at.figure("perf_cpus", Percent), " of a CPU while it sampled, and"),
            " reading the samples took ",
            at.figure("reading_s", Seconds),
            " afterwards. The figures of observers do not include it. What sampling costs within the server's \
             processes is not known."
        ]),
        maybe_some(maybe("All stacks are in ", at.figure("file", Text), ", in the format of tools for flame graphs.")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn sampled(at: &Place<'_>, profile: &Profile) -> Phrase {
    let stacks = match profile.stacks {
        StackKind::Fp
            if profile.program.as_ref().is_some_and(|of| of.keeps_frame_pointers == Some(false)) =>
        {
            "by frame pointers, which this program does not keep: only \"self\" is right"
        }
        StackKind::Fp => "by frame pointers",
        StackKind::Dwarf => "by DWARF, from a copy of a part of the stack in each sample",
    };
    phrase![
        "perf ",
        at.figure("perf", Text),
        " sampled ",
        at.figure("event", Text),
        " at ",
        at.figure("frequency_hz", Count),
        " Hz of CPU time; call stacks ",
        stacks,
        "."
    ]
}

fn program(at: &Place<'_>, profile: &Profile) -> Option<Phrase> {
    let known = profile.program.as_ref()?;
    let of = at.at("program");
    let symbols = match known.symbols {
        Symbols::All => "has the names of all its functions",
        Symbols::Separate => "has the names of all its functions in a file of debug symbols",
        Symbols::Exported => {
            "is stripped: functions that it does not export have no name. Install the debug symbols of its build \
             (Debian and Ubuntu: postgresql-NN-dbgsym; Red Hat and SUSE: its debuginfo package)"
        }
        Symbols::None => "has no names of functions: build or install it with symbols",
    };
    let build_id = maybe(" (build id ", of.figure("build_id", Text), ")");
    Some(phrase![of.figure("path", Text), build_id, " ", symbols, "."])
}

fn kernel(at: &Place<'_>, profile: &Profile) -> Option<Phrase> {
    match profile.kernel {
        KernelSide::Named => None,
        KernelSide::Unnamed => Some(phrase![
            "Functions of the kernel have no names here: kernel.kptr_restrict is ",
            at.figure("kptr_restrict", Count),
            "."
        ]),
        KernelSide::NotSampled => Some(phrase![
            "Time in the kernel is missing from all shares: kernel.perf_event_paranoid is ",
            at.figure("perf_event_paranoid", Count),
            ". Run pgdyno as root to see it, or set that to a smaller value."
        ]),
    }
}

fn maybe_some(phrase: Phrase) -> Option<Phrase> {
    (!phrase.is_empty()).then_some(phrase)
}

/// Sentences that say something new.
fn unique(all: impl Iterator<Item = Phrase>) -> Vec<Phrase> {
    let mut kept: Vec<Phrase> = Vec::new();
    for phrase in all {
        if !kept.iter().any(|known| known.plain() == phrase.plain()) {
            kept.push(phrase);
        }
    }
    kept
}
