//! What observers saw of host, devices and processes.

use pgdyno_core::{
    measure::{CellRun, SyncCheck},
    observe::Digest,
};
use pgdyno_document::{
    block::{Block, Cell, Column, Group, Row, Section, Table},
    figure::Format::{Bytes, BytesEachSecond, Count, Number, Percent, Rate, Seconds, Text, Word},
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::{Found, LoadStageRecord, OperationRecord, SubjectRecord};

use crate::{run::Run, source::Place};

/// A time that was observed: a run of a cell, or a stage.
struct Time<'a> {
    name: Phrase,
    /// Whether it is of a cell that sums up its script.
    main: bool,
    at: Place<'a>,
    digest: &'a Digest,
}

/// What was observed, and what that cost; `None` if nothing was.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let (what, times) = match of_cells(run) {
        cells if cells.is_empty() => ("stage", of_stages(run)),
        cells => ("cell", cells),
    };
    let note = (what == "cell" && !times.is_empty())
        .then(|| Block::text(phrase!["Of each cell, the run with the median TPS."]));
    let booked = booked(run);
    let tables = [
        host(what, &times),
        devices(what, &times),
        processes(what, &times, booked.is_none()),
        servers(what, &times),
    ];
    let tables = tables.into_iter().filter(|table| !table.is_empty()).map(Block::Table);
    let joined = joined(run);
    let blocks: Vec<Block> =
        cost(run).into_iter().chain(joined).chain(note).chain(tables).chain(booked).collect();
    (!blocks.is_empty())
        .then(|| Section { anchor: Some("observed"), ..Section::new("Host, devices, processes", blocks) })
}

/// What observing cost.
fn cost(run: &Run<'_>) -> Option<Block> {
    let cost = run.record.observers.as_ref()?;
    let at = run.root().at("observers");
    let in_server = match cost.cost.server_cpus {
        Some(_) => phrase![", and ", at.figure("server_cpus", Percent), " of one in the server"],
        None => Phrase::default(),
    };
    let dropped = match cost.dropped_lines {
        0 => Phrase::default(),
        _ => phrase!["; ", at.figure("dropped_lines", Count), " lines could not be written fast enough"],
    };
    let whole = phrase!["Observers took ", at.figure("cpus", Percent), " of a CPU", in_server, dropped, "."];
    Some(Block::text(whole))
}

/// The machines that `pgdyno observe` saw, and how well its times are known.
fn joined(run: &Run<'_>) -> Vec<Block> {
    let of = |place: usize| {
        let at = run.root().at("joined").at(place);
        let clocks = at.at("clocks");
        Block::text(phrase![
            at.figure("machine", Text),
            " was observed there, by `pgdyno observe`, from ",
            at.figure("from_s", Seconds),
            " to ",
            at.figure("to_s", Seconds),
            " of the run. Its times are known to within ",
            clocks.figure("uncertainty_s", Seconds),
            ", by the server's clock",
            maybe("; observing took ", at.figure("cost/cpus", Percent), " of a CPU there"),
            ".",
        ])
    };
    (0..run.record.joined.len()).map(of).collect()
}

/// That what processes wrote to devices is not known, if the kernel charges them with more than they wrote.
fn booked(run: &Run<'_>) -> Option<Block> {
    let is_wrong = |of: &SubjectRecord| of.sync_check.as_ref().is_some_and(SyncCheck::books_too_much);
    let subject = run.record.subjects.iter().position(is_wrong)?;
    let at = run.subject(subject).at("sync_check");
    Some(Block::text(phrase![
        "What processes wrote to devices is not shown: for each byte written here the kernel charges ",
        at.figure("booked_per_byte", Number),
        " to the process, because a write to a clean folio of the page cache is charged with the whole folio.",
    ]))
}

/// Of every cell, its run with the median TPS.
fn of_cells<'a>(run: &'a Run<'_>) -> Vec<Time<'a>> {
    let best = run.best_cells();
    let of_cell = |(index, cell): (usize, &pgdyno_core::measure::CellSummary)| {
        let all = run.record.runs.iter().enumerate().filter(|(_, of)| of.workload == cell.workload);
        let mut observed: Vec<(usize, &CellRun)> = all.filter(|(_, of)| of.observed.is_some()).collect();
        observed.sort_by(|(_, a), (_, b)| a.tps.total_cmp(&b.tps));
        let (place, of) = *observed.get(observed.len().saturating_sub(1) / 2)?;
        let at = run.source.at(format!("/runs/{place}/observed"));
        Some(Time {
            name: run.name_of(index),
            main: best.contains(&index),
            at,
            digest: of.observed.as_deref()?,
        })
    };
    run.cells().into_iter().filter_map(of_cell).collect()
}

fn of_stages<'a>(run: &'a Run<'_>) -> Vec<Time<'a>> {
    let of_stage = |(index, stage): (usize, &'a pgdyno_record::StageRecord)| {
        let at = run.source.at(format!("/stages/{index}"));
        let name = at.figure("name", Text).into();
        Some(Time { name, main: false, at: at.at("observed"), digest: stage.observed.as_deref()? })
    };
    let stages = run.record.stages.iter().enumerate().filter_map(of_stage);
    stages.chain(of_loads(run)).collect()
}

/// The stages of recorded loads, one by one.
fn of_loads<'a>(run: &'a Run<'_>) -> impl Iterator<Item = Time<'a>> {
    let of_load = |(operation, record): (usize, &'a OperationRecord)| {
        let Found::Load(load) = &record.found else { return Vec::new() };
        let of_stage = |(index, stage): (usize, &'a LoadStageRecord)| {
            let at = run.source.at(format!("/operations/{operation}/found/load/stages/{index}"));
            let name = phrase!["load: ", at.figure("name", Text)];
            Some(Time { name, main: false, at: at.at("observed"), digest: stage.observed.as_deref()? })
        };
        load.stages.iter().enumerate().filter_map(of_stage).collect()
    };
    run.record.operations.iter().enumerate().flat_map(of_load)
}

fn host(what: &'static str, times: &[Time<'_>]) -> Table {
    let has_others = times.iter().any(|time| !time.digest.server_hosts.is_empty());
    let rows = |time: &Time<'_>| {
        let row = |at: Place<'_>, name: Phrase| {
            let cells: [Cell; 9] = [
                at.figure("all/user", Percent).into(),
                at.figure("all/system", Percent).into(),
                at.figure("all/iowait", Percent).into(),
                at.figure("all/steal", Percent).into(),
                at.figure("busiest/busy", Percent).into(),
                at.figure("context_switches_per_s", Rate).into(),
                at.figure("pressure/cpu_some", Percent).into(),
                at.figure("pressure/io_some", Percent).into(),
                at.figure("peak_dirty_bytes", Bytes).into(),
            ];
            let name = has_others.then(|| name.into());
            Row::new(time.main, name.into_iter().chain(cells))
        };
        let own = time.digest.host.iter().map(|_| row(time.at.at("host"), "pgdyno's".into()));
        let others = (0..time.digest.server_hosts.len()).map(|other| {
            let at = time.at.at("server_hosts").at(other);
            let name = at.figure("machine", Text);
            row(at, name.into())
        });
        own.chain(others).collect()
    };
    let name = has_others.then(|| Column::words("machine"));
    let cpus = ["user", "system", "iowait", "steal", "busiest"].map(|name| Column::number(name).under("CPU"));
    let pressure = ["CPU", "I/O"].map(|name| Column::number(name).under("pressure"));
    let columns = cpus.into_iter().chain([Column::number("switches/s")]).chain(pressure);
    let columns = name.into_iter().chain(columns).chain([Column::number("most dirty")]);
    grouped(what, times, columns.collect(), rows)
}

fn devices(what: &'static str, times: &[Time<'_>]) -> Table {
    let row = |time: &Time<'_>, device: usize| {
        let at = time.at.at("devices").at(device);
        let device = match at.figure("machine", Text) {
            None => at.figure("device", Text).into(),
            machine => phrase![machine, " ", at.figure("device", Text)],
        };
        let cells: [Cell; 9] = [
            device.into(),
            at.figure("reads_per_s", Rate).into(),
            at.figure("writes_per_s", Rate).into(),
            at.figure("read_bytes_per_s", BytesEachSecond).into(),
            at.figure("written_bytes_per_s", BytesEachSecond).into(),
            at.figure("read_await_ms", Number).into(),
            at.figure("write_await_ms", Number).into(),
            at.figure("queue", Number).into(),
            at.figure("utilisation", Percent).into(),
        ];
        Row::new(time.main, cells)
    };
    let each_second =
        ["reads", "writes", "read", "written"].map(|name| Column::number(name).under("per second"));
    let awaits = ["read", "write"].map(|name| Column::number(name).under("await ms"));
    let last = ["queue", "busy"].map(Column::number);
    let columns = [Column::words("device")].into_iter().chain(each_second).chain(awaits).chain(last);
    let rows = |time: &Time<'_>| (0..time.digest.devices.len()).map(|device| row(time, device)).collect();
    grouped(what, times, columns.collect(), rows)
}

fn processes(what: &'static str, times: &[Time<'_>], writes_are_known: bool) -> Table {
    let row = |time: &Time<'_>, role: usize| {
        let at = time.at.at("roles").at(role);
        let whose = at.figure("subject", Text);
        let name = match whose {
            Some(_) => phrase![whose, " ", at.figure("role", Word)],
            None => at.figure("role", Word).into(),
        };
        let cells: [Cell; 7] = [
            name.into(),
            at.figure("processes", Count).into(),
            at.figure("cpus", Number).into(),
            at.figure("asked_read_bytes_per_s", BytesEachSecond).into(),
            at.figure("device_read_bytes_per_s", BytesEachSecond).into(),
            at.figure("asked_written_bytes_per_s", BytesEachSecond).into(),
            at.figure("device_written_bytes_per_s", BytesEachSecond).filter(|_| writes_are_known).into(),
        ];
        Row::new(time.main, cells)
    };
    let first = [Column::words("processes"), Column::number("count"), Column::number("CPUs")];
    let read = ["asked", "device"].map(|name| Column::number(name).under("read per second"));
    let written = ["asked", "device"].map(|name| Column::number(name).under("written per second"));
    let columns = first.into_iter().chain(read).chain(written);
    let rows = |time: &Time<'_>| (0..time.digest.roles.len()).map(|role| row(time, role)).collect();
    grouped(what, times, columns.collect(), rows)
}

/// What servers did in the background, by their logs and counters.
fn servers(what: &'static str, times: &[Time<'_>]) -> Table {
    let is_named = times.iter().flat_map(|time| &time.digest.servers).any(|server| server.subject.is_some());
    let row = |time: &Time<'_>, server: usize| {
        let at = time.at.at("servers").at(server);
        let name = is_named.then(|| at.figure("subject", Text).into());
        let cells: [Cell; 6] = [
            at.figure("checkpoints", Count).into(),
            at.figure("checkpoint_s", Seconds).into(),
            at.figure("autovacuums", Count).into(),
            at.figure("lock_waits", Count).into(),
            at.figure("temp_bytes", Bytes).into(),
            at.figure("wal_bytes", Bytes).into(),
        ];
        Row::new(time.main, name.into_iter().chain(cells))
    };
    let checkpoints = ["ended", "active"].map(|name| Column::number(name).under("checkpoints"));
    let last = ["autovacuums", "lock waits", "temp files", "WAL"].map(Column::number);
    let name = is_named.then(|| Column::words("server"));
    let columns = name.into_iter().chain(checkpoints).chain(last);
    let rows = |time: &Time<'_>| (0..time.digest.servers.len()).map(|server| row(time, server)).collect();
    grouped(what, times, columns.collect(), rows)
}

/// A table with a group for every time of which something is known.
fn grouped(
    what: &'static str,
    times: &[Time<'_>],
    columns: Vec<Column>,
    rows: impl Fn(&Time<'_>) -> Vec<Row>,
) -> Table {
    let group = |time: &Time<'_>| Group { name: time.name.clone(), rows: rows(time), ..Group::default() };
    let groups = times.iter().map(group).filter(|group| !group.rows.is_empty()).collect();
    Table { group_name: what, columns, groups, ..Table::default() }
}
