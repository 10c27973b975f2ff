//! Measures the ceiling of a driver thread: round trips with a server that does no work.

use std::sync::Arc;

use pgdyno_core::{facts::Ceiling, problem::Problem, stop::Stop};
use pgdyno_engine::{Report, Settings, SocketDriver, run};
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::fake::{FakeServer, usual};

use crate::targets::SqlClients;

/// Measures the ceiling of one driver thread with this many clients: `select-only` over the prepared protocol,
/// against a [`FakeServer`] on a Unix-domain socket.
///
/// # Errors
/// The fake server cannot listen, a client cannot connect, the engine fails, or a round trip fails.
pub fn ceiling(
    driver: SocketDriver,
    clients: u32,
    duration_ns: u64,
    stop: &Stop,
) -> Result<Ceiling, Problem> {
    let server = FakeServer::start(usual)
        .map_err(|error| Problem::could_not(format!("could not start the fake server: {error}")))?;
    server.keep_nothing();
    let script = Arc::new(Builtin::SelectOnly.scripts());
    let settings = Settings::closed(duration_ns, script.statements().count());
    let settings = Settings { warmup_ns: duration_ns / 5, ..settings };
    let sql = SqlClients::new(script, Protocol::Prepared);
    let (workers, _) = sql.connect(&server.options(None), clients, 1, stop)?;
    let report = run(driver, workers, &settings, stop, |_| (), |_| ())
        .map_err(|error| Problem::could_not(format!("the driver failed: {error}")))?;
    of(driver, clients, &report)
}

/// The ceiling found in a report; an error if there were no round trips, or failed ones.
fn of(driver: SocketDriver, clients: u32, report: &Report) -> Result<Ceiling, Problem> {
    let counts = &report.counts;
    if counts.committed == 0 || report.clients_lost > 0 || counts.failed > 0 {
        let what = format!("{} of {} round trips failed by {driver}", counts.failed, counts.ended());
        return Err(Problem::could_not(what).detail(report.stopped.clone().unwrap_or_default()));
    }
    Ok(Ceiling {
        waiting: driver.name().to_owned(),
        clients,
        round_trips_per_cpu_s: counts.committed as f64 * 1e9 / report.cpu_ns.max(1) as f64,
        round_trips_per_s: counts.committed as f64 * 1e9 / report.duration_ns.max(1) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_does_more_in_a_second_of_its_own_than_in_one_of_the_wall() {
        for driver in SocketDriver::usable() {
            let found = ceiling(driver, 4, 300_000_000, &Stop::default()).expect("it runs");
            assert_eq!((found.waiting.as_str(), found.clients), (driver.name(), 4));
            // A thread uses at most one processor; the two clocks may differ a little.
            assert!(found.round_trips_per_cpu_s > 0.9 * found.round_trips_per_s, "{found:?}");
            assert!(found.round_trips_per_s > 10.0, "{found:?}");
        }
    }

    #[test]
    fn a_request_to_stop_leaves_no_figure() {
        let stop = Stop::default();
        stop.request("interrupted");
        let problem =
            ceiling(SocketDriver::Epoll, 2, 1_000_000_000, &stop).expect_err("nothing was measured");
        assert!(problem.what.contains("interrupted"), "{problem:?}");
    }
}
