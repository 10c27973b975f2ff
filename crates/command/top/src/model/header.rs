//! The lines above every panel.

use pgdyno_core::{
    observe::WalPosition,
    units::{bytes, bytes_per_s, count, duration, or_absent, part, percent, plural, printable, rate},
};

use super::{
    cells::{cut, end_of, fitted, joined, width},
    table::{Line, Mark},
};
use crate::reading::Reading;

/// Cells of an address.
const LONGEST_ADDRESS: usize = 30;

/// The lines: the server, its throughput, its sessions, its log, its machine.
pub(super) fn lines(reading: &Reading, room: usize) -> Vec<Line> {
    let mut lines = vec![
        Line::new(server(reading, room), Mark::Head),
        Line::new(throughput(reading, room), Mark::Plain),
        Line::new(sessions(reading, room), Mark::Plain),
        Line::new(log(reading, room), Mark::Plain),
        Line::new(machine(reading, room), Mark::Plain),
    ];
    if let Some(lost) = &reading.lost {
        let words = format!("no answer for {}: {}", duration(lost.since_s.round()), printable(&lost.why));
        lines[1] = Line::new(cut(&words, room), Mark::Warning);
    }
    lines
}

fn server(reading: &Reading, room: usize) -> String {
    let server = &reading.server;
    let up =
        reading.wal.as_ref().and_then(|wal| wal.at.up_s).map(|up_s| format!("up {}", duration(up_s.round())));
    let time = reading.at.split_once('T').map_or(reading.at.as_str(), |(_, time)| time);
    let time = format!("{} UTC", time.split(['.', 'Z']).next().unwrap_or_default());
    let is_standby = reading.wal.as_ref().is_some_and(|wal| wal.at.in_recovery);
    let left = joined(
        &[
            format!("PostgreSQL {}", printable(&server.version)),
            if is_standby { "standby".to_owned() } else { String::new() },
            end_of(&printable(&server.address), LONGEST_ADDRESS),
            up.unwrap_or_default(),
        ],
        room.saturating_sub(width(&time) + 2),
    );
    format!("{}{time}", fitted(&left, room.saturating_sub(width(&time)), false))
}

fn throughput(reading: &Reading, room: usize) -> String {
    let Some(rates) = &reading.databases else { return cut("TPS – (counters were not read yet)", room) };
    let blocks = rates.blocks_hit_per_s + rates.blocks_read_per_s;
    let hit = (blocks > 0.0).then(|| rates.blocks_hit_per_s / blocks);
    let deadlocks =
        (rates.deadlocks_per_s > 0.0).then(|| format!("deadlocks {}/s", rate(rates.deadlocks_per_s)));
    let parts = [
        format!("TPS {}", rate(rates.commits_per_s)),
        format!("rollbacks {}/s", rate(rates.rollbacks_per_s)),
        format!("hit {}", or_absent(hit, part)),
        format!("read {} blocks/s", rate(rates.blocks_read_per_s)),
        format!("temp {}", bytes_per_s(rates.temp_bytes_per_s)),
        deadlocks.unwrap_or_default(),
    ];
    joined(&parts, room)
}

fn sessions(reading: &Reading, room: usize) -> String {
    let Some(sessions) = &reading.sessions else { return cut("sessions –", room) };
    let all: u64 = sessions.by_state.values().sum();
    let most = reading.server.max_connections.map_or_else(String::new, |most| format!(" of {}", count(most)));
    let mut states: Vec<_> = sessions.by_state.iter().collect();
    states.sort_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
    let states: Vec<_> =
        states.into_iter().map(|(state, n)| format!("{} {}", count(*n), printable(state))).collect();
    cut(&format!("sessions {}{most}: {}", count(all), states.join(", ")), room)
}

fn log(reading: &Reading, room: usize) -> String {
    let Some(wal) = &reading.wal else { return cut("WAL –", room) };
    let WalPosition { checkpoint_age_s, since_checkpoint_bytes, .. } = wal.at;
    let checkpoint = checkpoint_age_s.map(|age_s| {
        let since =
            since_checkpoint_bytes.map_or_else(String::new, |since| format!(", {} since", bytes(since)));
        format!("checkpoint {} ago{since}", duration(age_s.round()))
    });
    let lag = reading.standbys.iter().filter_map(|standby| standby.replay_lag_bytes).reduce(f64::max);
    let parts = [
        format!("WAL {}", or_absent(wal.bytes_per_s, bytes_per_s)),
        checkpoint.unwrap_or_default(),
        lag.map_or_else(String::new, |lag| format!("standby lags {}", bytes(lag.max(0.0) as u64))),
    ];
    joined(&parts, room)
}

fn machine(reading: &Reading, room: usize) -> String {
    let mut parts = Vec::new();
    if let Some(machine) = &reading.machine {
        if let Some(host) = &machine.host {
            let steal = if host.all.steal >= 0.005 {
                format!(", steal {}", percent(host.all.steal))
            } else {
                String::new()
            };
            let cpus = plural(host.cpus.len() as u64, "CPU");
            parts.push(format!(
                "{cpus} {} busy, iowait {}{steal}",
                percent(host.all.busy()),
                percent(host.all.iowait)
            ));
        }
        if let Some(device) = machine.devices.iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation)) {
            parts.push(format!("{} {} busy", printable(&device.device), percent(device.utilisation)));
        }
    } else {
        parts.push("the server is not on this machine".to_owned());
    }
    parts.push(cost(reading));
    joined(&parts, room)
}

/// CPU that `pgdyno top` and its session take.
pub(super) fn cost(reading: &Reading) -> String {
    let percent = |cpus: f64| format!("{:.1} %", cpus * 100.0);
    match (reading.cost.cpus, reading.cost.server_cpus) {
        (None, None) => String::new(),
        (own, server) => format!("top itself {} + {}", or_absent(own, percent), or_absent(server, percent)),
    }
}
