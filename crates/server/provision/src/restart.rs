//! Restarts servers, each on its own data or on that of another.

use pgdyno_core::problem::Problem;

use super::{
    Event, Request, RunningServer,
    registry::{Record, Slot},
    running::stop_locked,
    stop::FAST_LIMIT,
    up::launch,
};

/// Stops servers by a fast shutdown and starts each with the data of the next one, the last with that of the first.
/// Programs and settings stay with their server; the name of a server is that of its data. `requests` are those that
/// the servers were made by.
///
/// The caller knows that each program can read the data of all.
///
/// # Errors
/// A server could not be stopped or started; some may be stopped then.
pub fn restart_on_next(
    servers: &[&RunningServer],
    requests: &[&Request],
) -> Result<Vec<RunningServer>, Problem> {
    let mut slots = servers.iter().map(|server| stopped(server)).collect::<Result<Vec<_>, _>>()?;
    slots.rotate_left(1.min(servers.len()));
    let programs: Vec<Record> = slots.iter().map(|(_, record)| record.clone()).collect();
    let count = servers.len();
    let on_data = |(at, (slot, of_data)): (usize, (Slot, Record))| {
        // Before the rotation, the server's own record was at `at`; now it is one place before.
        let program = &programs[(at + count - 1) % count];
        launch(slot, with_program(of_data, program), requests[at], &servers[at].dirs)
    };
    slots.into_iter().enumerate().map(on_data).collect()
}

impl RunningServer {
    /// Stops the server by a fast shutdown and starts it again, with the same program, settings and data.
    ///
    /// # Errors
    /// The server could not be stopped or started.
    pub fn restart(&self, request: &Request) -> Result<Self, Problem> {
        let (slot, record) = stopped(self)?;
        launch(slot, record, request, &self.dirs)
    }
}

/// Stops a server; returns its directory, locked, and its record.
fn stopped(server: &RunningServer) -> Result<(Slot, Record), Problem> {
    let slot = Slot::lock(&server.dirs, &server.name, &mut |_: Event| ())?;
    stop_locked(&slot, Some(FAST_LIMIT), &mut |_| ())?;
    let record = slot.read()?;
    let record = record.ok_or_else(|| Problem::could_not(format!("server `{}` was removed", server.name)))?;
    Ok((slot, record))
}

/// The record of a server with this data and the program and settings of another.
fn with_program(of_data: Record, program: &Record) -> Record {
    let program = program.clone();
    Record {
        version_num: program.version_num,
        version: program.version,
        source: program.source,
        pinned: program.pinned,
        build: program.build,
        bindir: program.bindir,
        cpus: program.cpus,
        given: program.given,
        settings: program.settings,
        preset: program.preset,
        preset_used: program.preset_used,
        ..of_data
    }
}

/// Whether two requests, judged by themselves, make clusters that either program could use: neither names a directory,
/// and both set the same options of the cluster.
pub fn asks_for_like_data(one: &Request, other: &Request) -> bool {
    let places = |of: &Request| of.data.is_none() && of.waldir.is_none() && of.tablespaces.is_empty();
    let cluster = |of: &Request| {
        let locale = (of.locale.clone(), of.collate.clone(), of.ctype.clone());
        // Addresses stay with the data.
        let network = (of.listen.clone(), of.allow.clone());
        (of.wal_segsize_mb, of.encoding.clone(), locale, of.data_checksums, of.run_as.clone(), network)
    };
    places(one) && places(other) && cluster(one) == cluster(other)
}
