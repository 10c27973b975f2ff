//! Throughput, latency and cost of every cell.

use pgdyno_core::measure::{CellSummary, MovedPerTransaction};
use pgdyno_document::{
    block::{Block, Cell, Column, Group, Row, Section, Table},
    figure::Figure,
    figure::Format::{Bytes, Count, Milliseconds, Number, Rate, Text, Word},
    phrase::{Phrase, maybe, phrase},
};

use crate::{run::Run, source::Place};

/// Throughput and latency, then the cost; nothing if there is no cell.
pub fn sections(run: &Run<'_>) -> Vec<Section> {
    if run.record.cells.is_empty() {
        return Vec::new();
    }
    let cost = table(run, cost_columns(), cost, |_| Phrase::default());
    let sections = [
        Section::new("Throughput and latency", vec![Block::Table(speed(run))]),
        Section::new("CPU cost, and where pages came from", vec![Block::Table(cost)]),
    ];
    sections.into_iter().chain(moved_section(run)).collect()
}

/// What a transaction moved, if that was observed.
fn moved_section(run: &Run<'_>) -> Option<Section> {
    run.record.cells.iter().find(|cell| cell.moved != MovedPerTransaction::default())?;
    let columns = vec![
        Column::number("clients"),
        Column::number("rows"),
        Column::number("blocks read"),
        Column::number("read").under("device"),
        Column::number("written").under("device"),
        Column::number("WAL"),
    ];
    let cells = |run: &Run<'_>, index: usize| {
        let (at, moved) = (run.cell(index), run.cell(index).at("moved"));
        vec![
            at.figure("workload/clients", Count).into(),
            moved.figure("rows", Number).into(),
            moved.figure("blocks_read", Number).into(),
            moved.figure("device_read_bytes", Bytes).into(),
            moved.figure("device_written_bytes", Bytes).into(),
            moved.figure("wal_bytes", Bytes).into(),
        ]
    };
    let table = table(run, columns, cells, |_| Phrase::default());
    Some(Section::new("Moved by a transaction", vec![Block::Table(table)]))
}

/// Rows per second that differ by more than this share from statements per second are shown.
const OTHER_ROWS: f64 = 0.01;

/// Whether statements of any cell are not about one row each.
fn shows_rows(run: &Run<'_>) -> bool {
    run.record.cells.iter().any(|cell| {
        let rows = cell.rows_per_s.as_ref().map(|rows| rows.value);
        let qps = cell.qps.as_ref().map(|qps| qps.value);
        rows.zip(qps).is_some_and(|(rows, qps)| (rows - qps).abs() > qps * OTHER_ROWS)
            || (rows.is_some() && qps.is_none())
    })
}

/// Throughput and latency of every cell.
fn speed(run: &Run<'_>) -> Table {
    let names = ["clients", "TPS", "±", "QPS", "p50 ms", "p95 ms", "p99 ms", "max ms", "silence ms"];
    let columns = names.map(Column::number);
    let retried = run.record.cells.iter().any(|cell| cell.retries.is_some());
    let retries = retried.then(|| Column::number("retries"));
    let has_rows = shows_rows(run);
    let rows = has_rows.then(|| Column::number("rows/s"));
    table(
        run,
        columns.into_iter().chain(rows).chain(retries).collect(),
        |run, index| {
            let ms = |field: &str| latency_ms(run, index, field);
            let [clients, tps, spread] = reached(run, index);
            let qps = run.cell(index).rate("qps").into();
            let longest = run.cell(index).figure("latency/max_ns", Milliseconds).into();
            let retries = retried.then(|| run.cell(index).figure("retries/retries", Count).into());
            let silence = run.cell(index).figure("longest_silence_ns", Milliseconds).into();
            let all = [clients, tps, spread, qps, ms("p50_ns"), ms("p95_ns"), ms("p99_ns"), longest, silence];
            let rows = has_rows.then(|| run.cell(index).rate("rows_per_s").into());
            all.into_iter().chain(rows).chain(retries).collect()
        },
        |first| note(run, first),
    )
}

/// The figures of every cell for the short report.
pub fn short(run: &Run<'_>) -> Table {
    let columns = ["clients", "TPS", "±", "p50 ms", "p99 ms", "max ms"].map(Column::number);
    let columns = columns.into_iter().chain([Column::words("served from")]).collect();
    let cells = |run: &Run<'_>, index: usize| {
        let at = run.cell(index);
        let ms = ["p50_ns", "p99_ns", "max_ns"]
            .map(|field| at.figure(format!("latency/{field}"), Milliseconds).into());
        let served_from = at.figure("served_from", Word).into();
        reached(run, index).into_iter().chain(ms).chain([served_from]).collect()
    };
    table(run, columns, cells, |_| Phrase::default())
}

/// The figures of every cell for a terminal. Of a table that is cut, the best of each group stay, and of these the
/// best of all.
pub fn of_a_terminal(run: &Run<'_>) -> Table {
    let names = ["clients", "TPS", "±", "p50 ms", "p95 ms", "p99 ms", "max ms"];
    // Many scripts at one level each have a line each, if their names take the place of where pages came from.
    let of_lines = run.groups().len() > 3 && run.groups().iter().all(|group| group.len() == 1);
    let source = (!of_lines).then(|| Column::words("served from"));
    let columns = names.map(Column::number).into_iter().chain(source).collect();
    let all: Vec<usize> = (0..run.record.cells.len()).collect();
    let best = run.best(&all);
    let cells = |run: &Run<'_>, index: usize| {
        let ms = ["p50_ns", "p95_ns", "p99_ns", "max_ns"];
        let ms = ms.map(|field| run.cell(index).figure(format!("latency/{field}"), Milliseconds).into());
        let served_from = (!of_lines).then(|| run.cell(index).figure("served_from", Word).into());
        reached(run, index).into_iter().chain(ms).chain(served_from).collect()
    };
    let weight = |index: usize, is_main: bool| u8::from(is_main) + u8::from(best == Some(index));
    weighed(table(run, columns, cells, |_| Phrase::default()), &run.groups(), weight)
}

/// A table of cells with the weight of each row, by its cell and whether it is the best of its group.
fn weighed(mut table: Table, groups: &[Vec<usize>], weight: impl Fn(usize, bool) -> u8) -> Table {
    let rows = table.groups.iter_mut().flat_map(|group| &mut group.rows);
    for (row, index) in rows.zip(groups.iter().flatten()) {
        row.weight = weight(*index, row.main);
    }
    table
}

/// A percentile of a cell's latency with its range over the blocks.
fn latency_ms(run: &Run<'_>, index: usize, field: &str) -> Cell {
    let at = run.cell(index);
    let end = |end: &str| at.figure(format!("latency_ranges/{field}/{end}"), Milliseconds);
    let range = end("min_ns").zip(end("max_ns")).map(|(min, max)| phrase![Some(min), " – ", Some(max)]);
    Cell::from(at.figure(format!("latency/{field}"), Milliseconds)).with(range)
}

/// Clients, TPS and its spread.
fn reached(run: &Run<'_>, index: usize) -> [Cell; 3] {
    let at = run.cell(index);
    let range = phrase![at.figure("tps/min", Rate), " – ", at.figure("tps/max", Rate)];
    let several = run.record.cells[index].tps.count > 1;
    [
        at.figure("workload/clients", Count).into(),
        Cell::from(at.rate("tps")).with(several.then_some(range)),
        at.share("tps/half_width", "tps/value").into(),
    ]
}

fn cost_columns() -> Vec<Column> {
    vec![
        Column::number("clients"),
        Column::number("CPUs").under("driver"),
        Column::number("µs/txn").under("driver"),
        Column::number("CPUs").under("server"),
        Column::number("µs/txn").under("server"),
        Column::words("served from"),
        Column::words("durability"),
        Column::number("blocks"),
    ]
}

fn cost(run: &Run<'_>, index: usize) -> Vec<Cell> {
    let at = run.cell(index);
    vec![
        at.figure("workload/clients", Count).into(),
        at.figure("driver_cpus", Number).into(),
        at.figure("driver_cpu_us_per_transaction", Number).into(),
        at.figure("server_cpus", Number).into(),
        at.figure("server_cpu_us_per_transaction", Number).into(),
        at.figure("served_from", Word).into(),
        durability(run, index).into(),
        at.figure("tps/count", Count).into(),
    ]
}

/// Durability tier of a cell, from its transactions or else from the server.
fn durability(run: &Run<'_>, index: usize) -> Option<Figure> {
    let subject = run.place_of(&run.record.cells[index].workload);
    let own = run.cell(index).figure("durability", Word);
    own.or_else(|| run.subject(subject).figure("server/durability", Word))
}

/// A row for every cell; the best of each group is its summary.
fn table(
    run: &Run<'_>,
    columns: Vec<Column>,
    cells: impl Fn(&Run<'_>, usize) -> Vec<Cell>,
    note: impl Fn(usize) -> Phrase,
) -> Table {
    let of_group = |group: Vec<usize>| {
        let best = run.best(&group);
        let row = |index: &usize| Row::new(best == Some(*index), cells(run, *index));
        let rows = group.iter().map(row).collect();
        Group { name: run.work_of(group[0]), note: note(group[0]), rows }
    };
    let groups = run.groups().into_iter().map(of_group).collect();
    Table { group_name: "script", columns, groups, ..Table::default() }
}

/// Protocol, loop and the factor from TPS to QPS.
fn note(run: &Run<'_>, index: usize) -> Phrase {
    let at = run.cell(index);
    let factor = at.figure("statements_per_transaction", Count);
    let protocol = at.figure("workload/protocol", Text);
    let how = load(&run.record.cells[index], &at);
    phrase![
        protocol,
        " protocol, ",
        how,
        maybe(", QPS = TPS × ", factor, ""),
        tries(&at, &run.record.cells[index])
    ]
}

/// How often a transaction is tried, if more than once.
fn tries(at: &Place<'_>, cell: &CellSummary) -> Phrase {
    match cell.retries.map(|retries| retries.max_tries) {
        None => Phrase::default(),
        Some(0) => ", any number of tries".into(),
        Some(_) => phrase![", at most ", at.figure("retries/max_tries", Count), " tries"],
    }
}

fn load(cell: &CellSummary, at: &Place<'_>) -> Phrase {
    match at.figure("workload/rate_per_s", Rate) {
        Some(rate) => phrase!["open loop at ", Some(rate), "/s"],
        None if cell.tpcc.as_ref().is_some_and(|tpcc| tpcc.run.paced) => "keying and think times".into(),
        None => "closed loop".into(),
    }
}
