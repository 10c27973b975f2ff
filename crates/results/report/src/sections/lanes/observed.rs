//! What observers saw over time: waits, CPUs, devices, WAL and checkpoints.

use std::collections::BTreeMap;

use pgdyno_core::units;

use super::{
    build::{Shown, Tracks, by_subject, entry, series, times},
    driven::{bytes_from_zero, from_zero},
};
use pgdyno_document::{
    chart::Axis,
    lanes::{Lane, Series, Unit, Value},
};

use crate::{
    over_time::{BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Track, Whose},
    run::Run,
    sections::charts::scales::{linear, short_rate},
};

/// Most wait events with a colour of their own.
const EVENTS: usize = 5;
/// Their colours, and that of the others.
const EVENT_COLOURS: [usize; EVENTS] = [BLUE, RED, ORANGE, PURPLE, 6];
const OTHER_COLOUR: usize = 7;
/// Most devices that are shown.
const DEVICES: usize = 3;
/// Parts of CPU time with their fields and colours, from bottom to top.
const CPU_PARTS: [(&str, &str, usize); 5] = [
    ("user", "user", BLUE),
    ("system", "system", GREEN),
    ("irq", "irq+softirq", PURPLE),
    ("iowait", "iowait", ORANGE),
    ("steal", "steal", RED),
];

/// The lanes from top to bottom, as far as there are lines for them.
pub fn lanes(run: &Run<'_>, tracks: &Tracks) -> Vec<Lane> {
    let cpus = tracks.cpus.iter().filter_map(|(machine, track)| cpus(machine.as_deref(), track));
    let devices = tracks.devices.iter().flat_map(|(machine, track)| {
        let shown = busiest_devices(track);
        let machine = machine.as_deref();
        [device_bytes(machine, track, &shown), device_use(machine, track, &shown)]
    });
    let last = [wal(run, tracks), checkpointer(run, tracks)].into_iter().flatten();
    waits(run, tracks).into_iter().chain(cpus).chain(devices.flatten()).chain(last).collect()
}

/// The source of lines of a kind about a machine, and words that name it: nothing for that which pgdyno ran on.
fn of_machine(kind: &str, machine: Option<&str>) -> (String, String) {
    match machine {
        None => (kind.to_owned(), String::new()),
        Some(machine) => (format!("{kind}@{machine}"), format!(" of {machine}")),
    }
}

fn shares() -> Axis {
    linear(0.0, 1.0, vec![0.0, 0.5, 1.0], |share| format!("{:.0} %", share * 100.0))
}

/// Shares of the samples of clients' sessions: running at the bottom, waiting for the client at the top.
fn waits(run: &Run<'_>, tracks: &Tracks) -> Option<Lane> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for track in tracks.waits.values() {
        for name in track.names() {
            *totals.entry(name).or_default() += track.total(name);
        }
    }
    let mut events: Vec<(&str, f64)> = totals.into_iter().filter(|(name, _)| !is_fixed(name)).collect();
    events.sort_by(|a, b| b.1.total_cmp(&a.1));
    let others: Vec<&str> = events.iter().skip(EVENTS).map(|(name, _)| *name).collect();
    let named = events.iter().take(EVENTS).map(|(name, _)| *name);
    let mut legend = vec![(GREEN, "running".to_owned())];
    legend.extend(EVENT_COLOURS.into_iter().zip(named).map(|(colour, name)| (colour, name.to_owned())));
    let named = legend.len();
    legend.extend((!others.is_empty()).then(|| (OTHER_COLOUR, "other waits".to_owned())));
    legend.push((GREY, "client".to_owned()));
    let mut all = Vec::new();
    for (place, track) in by_subject(run.record, &tracks.waits) {
        let times = times(track);
        for (key, (_, name)) in legend.iter().enumerate() {
            let src = format!("observations#/waits/{name}");
            let mut one = series(track, &times, name, Shown::MeanOfAll, key, src);
            if key == named && !others.is_empty() {
                one.values = sum(track, &others);
                one.src = "observations#/waits".to_owned();
            }
            all.push(Series { subject: place, stacked: true, ..one });
        }
    }
    let note = "shares of the samples of client sessions; client: it had not sent anything yet".to_owned();
    let lane = || Lane { title: "Waits", note, unit: Unit::Share, y: shares(), legend, series: all };
    (!tracks.waits.is_empty()).then(lane)
}

/// Whether a wait event has a fixed place in the legend.
fn is_fixed(event: &str) -> bool {
    matches!(event, "running" | "client")
}

/// The sum of several values, of which extremes of single lines are not known.
fn sum(track: &Track, names: &[&str]) -> Vec<Option<Value>> {
    let mut shown = vec![0.0; track.times().len()];
    for name in names {
        for (at, (sum, time)) in track.values(name).into_iter().zip(track.times()).enumerate() {
            shown[at] += sum.map_or(0.0, |sum| sum.mean_of_all(time));
        }
    }
    shown.into_iter().map(|shown| Some(Value { shown, range: None })).collect()
}

/// The CPUs of a machine: that which pgdyno ran on, or one that `pgdyno observe` saw.
fn cpus(machine: Option<&str>, track: &Track) -> Option<Lane> {
    let (source, of) = of_machine("host", machine);
    let times = times(track);
    let mut legend: Vec<_> =
        CPU_PARTS.iter().map(|(name, _, colour)| (*colour, (*name).to_owned())).collect();
    let part = |(key, (name, field, _)): (usize, &(&str, &str, usize))| {
        let src = format!("observations#/{source}/all/{field}");
        Series { stacked: true, ..series(track, &times, name, Shown::Mean, key, src) }
    };
    let mut all: Vec<Series> = CPU_PARTS.iter().enumerate().map(part).collect();
    if track.is_merged() {
        legend.push((GREY, "busiest line".to_owned()));
        let src = format!("observations#/{source}/all");
        all.push(series(track, &times, "busy", Shown::Most, legend.len() - 1, src));
    }
    let note = format!("shares of the time of all CPUs{of}; the rest is idle");
    let lane = || Lane { title: "CPU", note, unit: Unit::Share, y: shares(), legend, series: all };
    (!times.is_empty()).then(lane)
}

/// The devices that moved most bytes, and how many others there are.
fn busiest_devices(track: &Track) -> (Vec<String>, usize) {
    let mut all: Vec<(f64, String)> = Vec::new();
    for device in track.names().filter_map(|name| name.strip_suffix("/busy")) {
        let moved = ["read", "written"].map(|what| track.total(&format!("{device}/{what}")));
        all.push((moved.iter().sum(), device.to_owned()));
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let others = all.len().saturating_sub(DEVICES);
    (all.into_iter().take(DEVICES).map(|(_, device)| device).collect(), others)
}

fn device_bytes(
    machine: Option<&str>,
    track: &Track,
    (devices, others): &(Vec<String>, usize),
) -> Option<Lane> {
    let (source, of) = of_machine("devices", machine);
    let (times, mut legend, mut all) = (times(track), Vec::new(), Vec::new());
    for (at, device) in devices.iter().enumerate() {
        for (what, field) in [("read", "read_bytes_per_s"), ("written", "written_bytes_per_s")] {
            let colour = 2 * at + usize::from(what == "written");
            legend.push((colour, format!("{device} {what}")));
            let src = format!("observations#/{source}/{device}/{field}");
            let name = format!("{device}/{what}");
            all.push(series(track, &times, &name, Shown::Mean, legend.len() - 1, src));
        }
    }
    let y = bytes_from_zero(&all)?;
    let note = format!("bytes per second{of}{}", others_in_words(*others));
    Some(Lane { title: "Devices", note, unit: Unit::BytesEachSecond, y, legend, series: all })
}

fn others_in_words(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!("; {} with less traffic not shown", units::plural(others as u64, "device")),
    }
}

fn device_use(machine: Option<&str>, track: &Track, (devices, _): &(Vec<String>, usize)) -> Option<Lane> {
    let (source, words) = of_machine("devices", machine);
    let times = times(track);
    let legend: Vec<_> =
        devices.iter().enumerate().map(|(at, device)| (2 * at + 1, device.clone())).collect();
    let of = |(key, device): (usize, &String)| {
        let src = format!("observations#/{source}/{device}/utilisation");
        series(track, &times, &format!("{device}/busy"), Shown::Mean, key, src)
    };
    let all = devices.iter().enumerate().map(of).collect();
    let note = format!("share of the time with a request in flight{words}");
    let lane = || Lane { title: "Device use", note, unit: Unit::Share, y: shares(), legend, series: all };
    (!devices.is_empty()).then(lane)
}

/// WAL by the server's counters; of loads without those, as the load read it.
fn wal(run: &Run<'_>, tracks: &Tracks) -> Option<Lane> {
    let (mut legend, mut all) = of_counters(run, &tracks.wal, "WAL");
    if all.is_empty() {
        let of = |(operation, track): (&usize, &Track)| {
            let src = format!("run.json#/operations/{operation}/found/load/progress/wal_bytes");
            series(track, &times(track), "wal", Shown::Mean, 0, src)
        };
        (legend, all) = (vec![(BLUE, "WAL".to_owned())], tracks.loaded.iter().map(of).collect());
    }
    let y = bytes_from_zero(&all)?;
    let note = "bytes of WAL per second".to_owned();
    Some(Lane { title: "WAL", note, unit: Unit::BytesEachSecond, y, legend, series: all })
}

fn checkpointer(run: &Run<'_>, tracks: &Tracks) -> Option<Lane> {
    let (legend, all) = of_counters(run, &tracks.checkpointer, "buffers/s");
    let y = from_zero(&all, short_rate)?;
    let note = "buffers per second that checkpoints wrote".to_owned();
    Some(Lane { title: "Checkpoints", note, unit: Unit::Rate, y, legend, series: all })
}

/// A counter of every subject; lines without it mean that it did not change.
fn of_counters(
    run: &Run<'_>,
    tracks: &BTreeMap<Whose, Track>,
    word: &str,
) -> (Vec<(usize, String)>, Vec<Series>) {
    let (mut legend, mut all) = (Vec::new(), Vec::new());
    for (place, track) in by_subject(run.record, tracks) {
        let times = times(track);
        for counter in track.names() {
            legend.push(entry(run.record, place, word));
            let src = format!("observations#/counters/{counter}");
            let series = series(track, &times, counter, Shown::MeanOfAll, legend.len() - 1, src);
            all.push(Series { subject: place, ..series });
        }
    }
    (legend, all)
}
