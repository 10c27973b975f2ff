//! The panels, each a few tables.

use std::collections::BTreeMap;

use pgdyno_core::{
    observe::{Place, Role, WaitSample, WaitsSample},
    units::{bytes, bytes_per_s, count, duration, latency, or_absent, part, percent, printable, rate},
};

use super::{
    cells::fitted,
    locks,
    table::{Cell, Column, Mark, Row, Table, number, text},
};
use crate::reading::{Progress, Reading, Subject, WalRates, WriteRates};

/// A panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    Overview,
    Sessions,
    Waits,
    Statements,
    Locks,
    Processes,
    Wal,
    Progress,
}

/// All panels, in the order of their keys.
pub(super) const PANELS: [Panel; 8] = [
    Panel::Overview,
    Panel::Sessions,
    Panel::Waits,
    Panel::Statements,
    Panel::Locks,
    Panel::Processes,
    Panel::Wal,
    Panel::Progress,
];

impl Panel {
    /// Its name, shown next to its key.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overview => "all",
            Self::Sessions => "sessions",
            Self::Waits => "waits",
            Self::Statements => "statements",
            Self::Locks => "locks",
            Self::Processes => "I/O",
            Self::Wal => "WAL",
            Self::Progress => "progress",
        }
    }

    /// Its tables; the first is the one that can be sorted. The overview is made of the first tables of the others.
    pub(super) fn tables(self, reading: &Reading) -> Vec<Table> {
        match self {
            Self::Overview => Vec::new(),
            Self::Sessions => vec![sessions(reading)],
            Self::Waits => vec![waits(reading)],
            Self::Statements => vec![statements(reading)],
            Self::Locks => vec![blocked(reading)],
            Self::Processes => vec![processes(reading), devices(reading)],
            Self::Wal => vec![wal(reading), standbys(reading)],
            Self::Progress => vec![progress(reading)],
        }
    }
}

/// Why something could not be read.
fn absent(reading: &Reading, what: Subject) -> Option<String> {
    let why: Vec<_> =
        reading.absent.iter().filter(|one| one.what == what).map(|one| printable(&one.why)).collect();
    (!why.is_empty()).then(|| why.join("; "))
}

fn titled(title: &str, more: Option<String>) -> String {
    more.map_or_else(|| title.to_owned(), |more| format!("{title} · {more}"))
}

const SESSIONS: [Column; 9] = [
    number("PID"),
    text("STATE", 8),
    number("TIME"),
    number("XACT"),
    text("WAIT", 18),
    text("ROLE", 10),
    text("DATABASE", 12).from(110),
    text("APPLICATION", 12).from(110),
    text("STATEMENT", 200),
];

/// Sessions that are active or in a transaction, the longest first.
fn sessions(reading: &Reading) -> Table {
    let busy = reading.sessions.iter().flat_map(|sessions| &sessions.busy);
    let rows = busy.map(|one| {
        let name = |name: &Option<String>| Cell::text(printable(name.as_deref().unwrap_or_default()));
        let mut row = Row::new([
            Cell::number(Some(f64::from(one.pid)), |pid| pid.to_string()),
            Cell::text(state(&one.state)),
            Cell::number(one.state_age_s, age),
            Cell::number(one.transaction_age_s, age),
            name(&one.event),
            name(&one.role),
            name(&one.database),
            name(&one.application),
            Cell::text(printable(&one.statement)),
        ]);
        if one.state.starts_with("idle in transaction") {
            row.mark = Mark::Warning;
        }
        row
    });
    let hidden = reading.sessions.as_ref().and_then(|sessions| sessions.by_state.get("not seen").copied());
    let hidden = hidden.map(|hidden| {
        let means =
            if reading.server.version_num < 100_000 { "a superuser" } else { "a member of pg_monitor" };
        format!("{} not visible to `{}`: {means} sees all", count(hidden), printable(&reading.server.role))
    });
    Table::new(
        titled("SESSIONS", Some("active or in a transaction, the longest first".into())),
        SESSIONS,
        rows.collect(),
    )
    .note(absent(reading, Subject::Sessions))
    .note(hidden)
    .if_empty("no session is active")
}

/// A state in a word that fits.
fn state(state: &str) -> String {
    match state {
        "idle in transaction" => "idle tx".to_owned(),
        "idle in transaction (aborted)" => "aborted".to_owned(),
        "fastpath function call" => "fastpath".to_owned(),
        other => printable(other).into_owned(),
    }
}

/// An age of at most seven cells.
fn age(seconds: f64) -> String {
    match seconds {
        v if v < 10.0 => format!("{v:.1} s"),
        v if v < 100.0 => format!("{v:.0} s"),
        v if v < 6_000.0 => format!("{:.0}m{:02.0}", (v / 60.0).floor(), (v % 60.0).floor()),
        v if v < 360_000.0 => format!("{:.0}h{:02.0}", (v / 3_600.0).floor(), (v % 3_600.0 / 60.0).floor()),
        v => format!("{:.0} d", v / 86_400.0),
    }
}

const WAITS: [Column; 5] =
    [number("SHARE"), number("SESSIONS"), text("EVENT", 30), text("BACKEND", 18), text("", 40)];
/// Cells of a full bar.
const BAR: usize = 14;

/// What active sessions and processes wait for. Idle processes are not counted.
pub(super) fn waits(reading: &Reading) -> Table {
    let Some(waits) = &reading.waits else {
        return Table::new("WAITS", WAITS, Vec::new())
            .note(absent(reading, Subject::Waits))
            .if_empty("no sample yet");
    };
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for one in waits.seen.iter().filter(|one| is_busy(one)) {
        *counts.entry((&one.event, &one.backend)).or_default() += one.count;
    }
    let total = counts.values().sum::<u64>().max(1) as f64;
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
    let rows = counts.into_iter().map(|((event, backend), seen)| {
        let share = seen as f64 / total;
        let bar = "█".repeat((share * BAR as f64).round() as usize);
        Row::new([
            Cell::number(Some(share), percent),
            Cell::number(Some(seen as f64 / waits.samples.max(1) as f64), |mean| format!("{mean:.1}")),
            Cell::text(printable(event)),
            Cell::text(printable(backend)),
            Cell::text(bar),
        ])
    });
    let samples = format!("{} samples, shares of active processes", count(waits.samples));
    Table::new(titled("WAITS", Some(samples)), WAITS, rows.collect())
        .if_empty(if waits.seen.iter().any(|one| one.event == "not seen") {
            "of the sessions that the role may see, none was active"
        } else {
            "no session was active"
        })
        .note(idle(waits))
        .note(absent(reading, Subject::Waits))
}

/// Whether a sample is of an active process: no session that waits for its client, no process without a task.
fn is_busy(one: &WaitSample) -> bool {
    !matches!(one.event.as_str(), "client" | "not seen") && !one.event.starts_with("Activity:")
}

fn idle(waits: &WaitsSample) -> Option<String> {
    let mean = |is: &dyn Fn(&WaitSample) -> bool| {
        let seen: u64 = waits.seen.iter().filter(|one| is(one)).map(|one| one.count).sum();
        (seen > 0).then(|| format!("{:.1}", seen as f64 / waits.samples.max(1) as f64))
    };
    let parts = [
        mean(&|one| one.event == "client").map(|mean| format!("{mean} sessions wait for their client")),
        mean(&|one| one.event.starts_with("Activity:")).map(|mean| format!("{mean} processes are idle")),
        mean(&|one| one.event == "not seen").map(|mean| format!("{mean} are not visible")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("besides: {}", parts.join(", ")))
}

const STATEMENTS: [Column; 8] = [
    number("ms/s"),
    number("CALLS/s"),
    number("MEAN"),
    number("ROWS/s"),
    number("HIT"),
    number("WAL/s").from(100),
    number("QUERY ID").from(130),
    text("STATEMENT", 200),
];

/// Statements by the time that they took.
fn statements(reading: &Reading) -> Table {
    let found = reading.statements.as_ref().filter(|found| found.over_s > 0.0);
    let over_s = found.map_or(1.0, |found| found.over_s);
    let per_s = |amount: f64| Some(amount / over_s);
    let rows = found.into_iter().flat_map(|found| &found.slowest).map(|one| {
        let blocks = one.blocks_hit + one.blocks_read;
        let hit = (blocks > 0).then(|| one.blocks_hit as f64 / blocks as f64);
        let mean = (one.calls > 0).then(|| one.total_ms / one.calls as f64);
        Row::new([
            Cell::number(per_s(one.total_ms), rate),
            Cell::number(per_s(one.calls as f64), rate),
            Cell::number(mean, |ms| latency(ms * 1e6)),
            Cell::number(per_s(one.rows as f64), rate),
            Cell::number(hit, part),
            Cell::number(one.wal_bytes.and_then(|bytes| per_s(bytes as f64)), bytes_per_s),
            Cell::number(Some(one.query_id as f64), |_| one.query_id.to_string()),
            Cell::text(printable(one.text.as_deref().unwrap_or("(text not known)"))),
        ])
    });
    let over = found.map(|found| format!("pg_stat_statements over {}", duration(found.over_s.round())));
    Table::new(titled("STATEMENTS BY TIME", over), STATEMENTS, rows.collect())
        .note(absent(reading, Subject::Statements))
        .if_empty(if found.is_some() { "no statement ended meanwhile" } else { "no reading yet" })
}

/// Who blocks whom.
fn blocked(reading: &Reading) -> Table {
    let blocked = reading.blocked.as_deref().unwrap_or_default();
    let mut table = locks::tree(blocked);
    table.title = match blocked.len() {
        0 => "LOCKS".to_owned(),
        waiting => titled("LOCKS", Some(format!("{waiting} waiting, each below its blocker"))),
    };
    let many = (blocked.len() >= pgdyno_core::observe::MOST_BLOCKED)
        .then(|| "only those that wait longest are shown".into());
    table
        .note(many)
        .note(absent(reading, Subject::Locks))
        .if_empty("no session waits for a lock of another one")
}

const PROCESSES: [Column; 8] = [
    text("ROLE", 18),
    number("N"),
    number("CPU"),
    number("BUSIEST"),
    number("READ/s"),
    number("WRITE/s"),
    number("DISK RD/s"),
    number("DISK WR/s"),
];

/// Processes of the server by their role.
fn processes(reading: &Reading) -> Table {
    let found = reading.machine.as_ref().and_then(|machine| machine.processes.as_ref());
    let rows = found.into_iter().flat_map(|found| &found.roles).map(|one| {
        let cpus = |cpus| Cell::number(Some(cpus), |cpus: f64| format!("{:.1} %", cpus * 100.0));
        let moved = |rate| Cell::number(rate, short_bytes);
        Row::new([
            Cell::text(role(one.role)),
            Cell::number(Some(one.processes as f64), |n| count(n as u64)),
            cpus(one.cpus),
            cpus(one.busiest_cpus),
            moved(one.asked_read_bytes_per_s),
            moved(one.asked_written_bytes_per_s),
            moved(one.device_read_bytes_per_s),
            moved(one.device_written_bytes_per_s),
        ])
    });
    let rows: Vec<Row> = rows.collect();
    let bytes_are_hidden = found.is_some_and(|found| {
        found.roles.iter().all(|role| role.asked_read_bytes_per_s.is_none()) && !found.roles.is_empty()
    });
    let hidden = bytes_are_hidden.then(|| "bytes of another user's processes are for root to see".to_owned());
    let stuck = found.map(|found| found.stuck.as_slice()).unwrap_or_default();
    let stuck = (!stuck.is_empty()).then(|| {
        let one = |of: &pgdyno_core::observe::StuckProcess| match &of.wchan {
            Some(wchan) => format!("{} ({} in {})", of.pid, role(of.role), printable(wchan)),
            None => format!("{} ({})", of.pid, role(of.role)),
        };
        format!("in uninterruptible sleep: {}", stuck.iter().map(one).collect::<Vec<_>>().join(", "))
    });
    let what = (!rows.is_empty()).then(|| "100 % is one CPU; disk is what reached a device".to_owned());
    Table::new(titled("PROCESSES BY ROLE", what), PROCESSES, rows)
        .note(absent(reading, Subject::Machine))
        .note(stuck)
        .note(hidden)
        .if_empty("no reading yet")
}

/// Bytes without their unit of time, which the head of the column has.
fn short_bytes(rate: f64) -> String {
    bytes(rate.max(0.0).round() as u64)
}

fn role(role: Role) -> &'static str {
    if role == Role::Observer { "pgdyno top's own" } else { role.words() }
}

const DEVICES: [Column; 8] = [
    text("DEVICE", 12),
    text("HAS", 16),
    number("r/s"),
    number("w/s"),
    number("READ/s"),
    number("WRITE/s"),
    number("QUEUE"),
    number("BUSY"),
];

fn devices(reading: &Reading) -> Table {
    let found = reading.machine.iter().flat_map(|machine| &machine.devices).map(|one| {
        let places: Vec<_> = one.places.iter().map(place).collect();
        Row::new([
            Cell::text(printable(&one.device)),
            Cell::text(places.join(", ")),
            Cell::number(Some(one.reads_per_s), rate),
            Cell::number(Some(one.writes_per_s), rate),
            Cell::number(Some(one.read_bytes_per_s), short_bytes),
            Cell::number(Some(one.written_bytes_per_s), short_bytes),
            Cell::number(Some(one.queue), |queue| format!("{queue:.1}")),
            Cell::number(Some(one.utilisation), part),
        ])
    });
    let rows: Vec<Row> = found.collect();
    let title = if rows.is_empty() { "" } else { "DEVICES BELOW THE SERVER'S FILES" };
    let none = reading.machine.as_ref().filter(|_| rows.is_empty());
    let none = none.map(|_| "no device is known below the server's files".to_owned());
    Table::new(title, DEVICES, rows).note(none)
}

fn place(place: &Place) -> String {
    match place {
        Place::Data => "data".to_owned(),
        Place::Wal => "WAL".to_owned(),
        Place::Tablespace(name) => printable(name).into_owned(),
    }
}

const FACTS: [Column; 2] = [text("", 30), text("", 200)];

/// The write-ahead log and checkpoints, a line each.
fn wal(reading: &Reading) -> Table {
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(wal) = &reading.wal {
        let what = if wal.at.in_recovery { "WAL replayed" } else { "WAL written" };
        facts.push((what, or_absent(wal.bytes_per_s, bytes_per_s)));
        facts.extend(log_counters(wal));
        facts.extend(last_checkpoint(reading, wal));
    }
    facts.extend(reading.writes.iter().flat_map(checkpoints));
    let rows = facts.into_iter().map(|(name, value)| Row::new([Cell::text(name), Cell::text(value)]));
    let mut table = Table::new("WAL AND CHECKPOINTS", FACTS, rows.collect())
        .note(absent(reading, Subject::Wal))
        .note(absent(reading, Subject::Counters))
        .if_empty("no reading yet");
    table.is_tree = true;
    table
}

fn log_counters(wal: &WalRates) -> Vec<(&'static str, String)> {
    let per_s = |name, value: Option<f64>| value.map(|value| (name, format!("{}/s", rate(value))));
    let all = [
        per_s("records", wal.records_per_s),
        per_s("full-page images", wal.full_page_images_per_s),
        per_s("waits for full WAL buffers", wal.buffers_full_per_s),
    ];
    all.into_iter().flatten().collect()
}

fn last_checkpoint(reading: &Reading, wal: &WalRates) -> Vec<(&'static str, String)> {
    let Some(age_s) = wal.at.checkpoint_age_s else { return Vec::new() };
    let timeout = reading.server.checkpoint_timeout_s;
    let timeout =
        timeout.map_or_else(String::new, |s| format!(" (checkpoint_timeout {})", duration(s as f64)));
    let most = reading.server.max_wal_size_bytes;
    let most = most.map_or_else(String::new, |most| format!(" (max_wal_size {})", bytes(most)));
    let since = wal.at.since_checkpoint_bytes;
    let begun = ("last checkpoint began", format!("{} ago{timeout}", duration(age_s.round())));
    [begun]
        .into_iter()
        .chain(since.map(|since| ("WAL since then", format!("{}{most}", bytes(since)))))
        .collect()
}

fn checkpoints(writes: &WriteRates) -> Vec<(&'static str, String)> {
    let buffers = |name, per_s: f64| (name, format!("{}/s", rate(per_s)));
    let since = duration(writes.since_s.round());
    let ended = format!("{:.0} timed, {:.0} requested in {since}", writes.timed, writes.requested);
    let took = format!("{} writing, {} syncing", duration(writes.write_s), duration(writes.sync_s));
    vec![
        ("checkpoints", ended),
        ("they took", took),
        buffers("buffers by the checkpointer", writes.checkpointer_per_s),
        buffers("by the background writer", writes.background_writer_per_s),
        buffers("by backends themselves", writes.backends_per_s),
    ]
}

const STANDBYS: [Column; 4] =
    [text("STANDBY, PID", 40), number("NOT SENT"), number("NOT REPLAYED"), number("REPLAY LAG")];

fn standbys(reading: &Reading) -> Table {
    let rows: Vec<Row> = reading
        .standbys
        .iter()
        .map(|one| {
            Row::new([
                Cell::text(printable(&one.name)),
                Cell::number(one.sent_lag_bytes, short_bytes),
                Cell::number(one.replay_lag_bytes, short_bytes),
                Cell::number(one.replay_lag_s, duration),
            ])
        })
        .collect();
    Table::new(if rows.is_empty() { "" } else { "STANDBYS" }, STANDBYS, rows)
}

const PROGRESS: [Column; 7] = [
    number("PID"),
    text("COMMAND", 14),
    number("DONE"),
    number("LEFT"),
    text("RELATION", 22),
    text("PHASE", 34),
    text("", 20).from(100),
];

fn progress(reading: &Reading) -> Table {
    let rows = reading.progress.iter().flatten().map(|one| {
        let command = &one.command;
        let done = command.done.zip(command.total.filter(|total| *total > 0));
        let share = done.map(|(done, total)| done as f64 / total as f64);
        let units = command.unit.as_deref().unwrap_or_default();
        let amount = match (command.done, command.total) {
            (Some(done), Some(total)) => format!("{} of {} {units}", count(done), count(total)),
            (Some(done), None) => format!("{} {units}", count(done)),
            _ => String::new(),
        };
        let speed = one.done_per_s.map_or_else(String::new, |speed| format!(", {}/s", rate(speed)));
        Row::new([
            Cell::number(Some(f64::from(command.pid)), |pid| pid.to_string()),
            Cell::text(printable(&command.command)),
            Cell::number(share, part),
            Cell::number(left_s(one), age),
            Cell::text(printable(command.relation.as_deref().unwrap_or_default())),
            Cell::text(printable(&command.phase)),
            Cell::text(format!("{amount}{speed}")),
        ])
    });
    Table::new("PROGRESS OF COMMANDS", PROGRESS, rows.collect())
        .note(absent(reading, Subject::Progress))
        .if_empty("no command reports its progress: COPY, CREATE INDEX, VACUUM and the like")
}

/// Seconds that the present phase still takes at its present pace.
fn left_s(one: &Progress) -> Option<f64> {
    let (done, total) = one.command.done.zip(one.command.total)?;
    let per_s = one.done_per_s.filter(|per_s| *per_s > 0.0)?;
    Some(total.saturating_sub(done) as f64 / per_s)
}

/// The keys of all panels, the present one in brackets.
pub(super) fn tabs(present: Panel, room: usize) -> String {
    let tab = |(at, panel): (usize, &Panel)| match *panel == present {
        true => format!("[{} {}]", at + 1, panel.name()),
        false => format!(" {} {} ", at + 1, panel.name()),
    };
    fitted(&PANELS.iter().enumerate().map(tab).collect::<String>(), room, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let cases = [
            (0.04, "0.0 s"),
            (9.96, "10.0 s"),
            (59.0, "59 s"),
            (125.0, "2m05"),
            (7_260.0, "2h01"),
            (1e6, "12 d"),
        ];
        for (seconds, want) in cases {
            assert_eq!(age(seconds), want);
        }
    }

    #[test]
    fn all_tabs_fit_on_a_line_of_80() {
        for panel in PANELS {
            let tabs = tabs(panel, 200);
            assert!(tabs.trim_end().chars().count() <= 80, "{tabs}");
        }
    }
}
