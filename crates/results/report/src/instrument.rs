//! Floor and ceiling of the instrument, as text.

use std::fmt::Write;

use pgdyno_core::{facts::Instrument, units};
use pgdyno_document::{WIDTH, layout::grid, wrap};

/// Result of `pgdyno selftest`.
pub fn instrument(found: &Instrument) -> String {
    let machine = &found.machine;
    let head = [
        "selftest".to_owned(),
        format!("pgdyno {}", found.tool),
        units::plural(u64::from(machine.cpus), "CPU"),
        machine.cpu_model.clone().unwrap_or_else(|| "unknown CPU model".to_owned()),
        format!("Linux {}", machine.kernel),
    ];
    let clocksource = machine.clocksource.as_deref().unwrap_or("unknown source");
    // CPU models can be long; the line breaks only between parts.
    let head = head.map(|part| part.replace(' ', "\u{a0}")).join(" · ");
    let mut text = wrap::prose(&head, WIDTH, "", "  ").join("\n") + "\n\n";
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "{label:<13}{value}"); // a String takes everything
    };
    let cost = units::significant(found.clock.cost_ns);
    let resolution = units::count(found.clock.resolution_ns);
    line("clock", format!("{cost} ns per reading, resolution {resolution} ns ({clocksource})"));
    line("recorder", format!("{} ns per attempt", units::significant(found.recording_ns)));
    line("null target", format!("{} attempts/s on one core", units::rate(found.null_attempts_per_s)));
    text + &ceilings(found) + &timers(found)
}

fn ceilings(found: &Instrument) -> String {
    let rows = found.ceilings.iter().map(|ceiling| {
        [
            ceiling.waiting.clone(),
            units::count(u64::from(ceiling.clients)),
            units::rate(ceiling.round_trips_per_cpu_s),
            units::rate(ceiling.round_trips_per_s),
        ]
    });
    let table = grid(["<waiting", "clients", "at most", "measured"], &rows.collect::<Vec<_>>());
    format!(
        "\nCEILING: round trips/s of one driver thread, at a server that only answers\n{table}\
         \"at most\" is the rate of a thread that never waits, computed from its CPU time.\n"
    )
}

fn timers(found: &Instrument) -> String {
    let latency = |ns: u64| units::latency(ns as f64);
    let rows = found.timers.iter().map(|timer| {
        [
            timer.waiting.clone(),
            units::count(timer.waits),
            units::or_absent(timer.p50_ns, latency),
            units::or_absent(timer.p99_ns, latency),
            latency(timer.max_ns),
        ]
    });
    let wait =
        found.timers.first().map_or_else(String::new, |timer| format!(" of {}", latency(timer.wait_ns)));
    let table = grid(["<waiting", "waits", "p50", "p99", "max"], &rows.collect::<Vec<_>>());
    format!("\nFLOOR: how late a wait{wait} ends\n{table}")
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::{Ceiling, ClockFacts, Machine, TimerLag};

    use super::*;

    #[test]
    fn every_figure_is_there_with_its_unit() {
        let ceiling = |waiting: &str, clients, round_trips_per_cpu_s| Ceiling {
            waiting: waiting.into(),
            clients,
            round_trips_per_cpu_s,
            round_trips_per_s: 31_234.0,
        };
        let timer = |waiting: &str, p99_ns| TimerLag {
            waiting: waiting.into(),
            wait_ns: 100_000,
            waits: 7_412,
            p50_ns: Some(9_230),
            p99_ns,
            max_ns: 1_210_000,
        };
        let found = Instrument {
            tool: "0.1.0 (abc)".into(),
            optimised: true,
            measured_at: "2026-11-21T10:00:00Z".into(),
            machine: Machine {
                cpu_model: Some("Some CPU".into()),
                cpus: 2,
                kernel: "6.18.1".into(),
                arch: "x86_64".into(),
                clocksource: Some("tsc".into()),
            },
            clock: ClockFacts { cost_ns: 24.91, resolution_ns: 1 },
            recording_ns: 11.3,
            null_attempts_per_s: 6_120_455.0,
            timers: vec![timer("epoll", None), timer("io_uring", Some(60_100))],
            ceilings: vec![ceiling("epoll", 8, 61_200.0), ceiling("io_uring", 128, 148_000.0)],
        };
        let expected = "\
selftest · pgdyno 0.1.0 (abc) · 2 CPUs · Some CPU · Linux 6.18.1

clock        24.9 ns per reading, resolution 1 ns (tsc)
recorder     11.3 ns per attempt
null target  6,120,455 attempts/s on one core

CEILING: round trips/s of one driver thread, at a server that only answers
waiting   clients  at most  measured
epoll           8   61,200    31,234
io_uring      128  148,000    31,234
\"at most\" is the rate of a thread that never waits, computed from its CPU time.

FLOOR: how late a wait of 100 µs ends
waiting   waits      p50      p99      max
epoll     7,412  9.23 µs        –  1.21 ms
io_uring  7,412  9.23 µs  60.1 µs  1.21 ms
";
        assert_eq!(instrument(&found), expected);
    }
}
