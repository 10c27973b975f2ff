//! `pgdyno load … --calibrate`: the time of every stage of a small load of the same kind.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, stop::Stop, units};
use pgdyno_lab::{
    Events,
    operation::{self, LoadTask, Operations},
};
use pgdyno_plan::advice::config::KeyDemand;
use pgdyno_postgres::load::{BulkLoad, Entry, Scratch, Survey};
use pgdyno_provision::{Lifetime, Request, Wanted, up};
use pgdyno_rows::load::{LoadPlan, LoadRequest, Stage, calibration};
use pgdyno_wire::{Address, ConnectOptions};

use super::{
    flags::Flags,
    foretell::foretell,
    times::{self, Kept},
};
use crate::{interrupt, progress::Progress, servers::print_event};

/// Schema of the small load. It must not exist, and is dropped at the end.
const SCHEMA: &str = "pgdyno_calibration";

/// Measures a small load, keeps its times, and says what the requested one would be.
///
/// # Errors
/// What the user should read. The times of a load that did not finish are not kept.
pub(super) fn run(flags: &Flags, request: &LoadRequest) -> Result<ExitCode, Problem> {
    let plan = request.plan(flags.streams())?;
    let stop = interrupt::on_interrupt_saying(
        "stopping; what was loaded is dropped (Ctrl-C again to exit immediately)",
        "exited immediately; DROP SCHEMA pgdyno_calibration CASCADE removes what is left",
    );
    if flags.names_server() {
        return on(&flags.resolve()?, flags, request, &stop);
    }
    let server = up(&temporary(flags, &plan)?, &pgdyno_lab::dirs()?, &mut print_event)?;
    let address = Address::Unix(server.socket_dir.clone(), server.port);
    let done = on(&ConnectOptions::local(address, server.superuser), flags, request, &stop);
    let removed = server.remove();
    done.and_then(|done| removed.map(|()| done))
}

/// The request for a temporary server with room for the load.
fn temporary(flags: &Flags, plan: &LoadPlan) -> Result<Request, Problem> {
    let version = flags.server_version().map(str::parse::<Wanted>).transpose();
    let version = version
        .map_err(|error| Problem::wrong_request(format!("could not start a server to calibrate: {error}")))?;
    let streams = flags.streams();
    let keys = plan.keys_at_once(streams);
    let mut request = Request::named(format!("calibration-{}", std::process::id()));
    request.pg = version;
    request.search_path = std::env::var_os("PATH");
    request.lifetime = Lifetime::DiesWithUs;
    request.clients = request.clients.max(u32::try_from(streams).unwrap_or(u32::MAX));
    request.relations = plan.partitions.map_or(0, |partitions| 2 * partitions.count);
    request.key_workers = plan.key_workers.map(|each| KeyDemand { each, keys }).unwrap_or_default();
    Ok(request)
}

/// Calibrates on a server.
fn on(
    options: &ConnectOptions,
    flags: &Flags,
    request: &LoadRequest,
    stop: &Stop,
) -> Result<ExitCode, Problem> {
    let streams = flags.streams();
    let (plan, survey) = {
        let mut bulk = BulkLoad::new(options, streams, stop)?;
        bulk.with_room(flags.room_bytes());
        bulk.survey(request)?
    };
    let small = calibration(&plan, streams);
    eprintln!("calibrating with {}: {} rows", small.title(), units::count(small.rows_total()));
    let scratch = Scratch::new(options, SCHEMA, stop)?;
    let loaded = load(scratch.options(), (&small, &survey), streams, stop);
    let dropped = scratch.remove();
    loaded.and(dropped)?;
    foretell(&plan, &survey, streams)
}

/// Carries the small load out and keeps its times.
fn load(
    options: &ConnectOptions,
    (small, survey): (&LoadPlan, &Survey),
    streams: u64,
    stop: &Stop,
) -> Result<(), Problem> {
    let mut bulk = BulkLoad::new(options, streams, stop)?;
    let its_survey = bulk.survey_for(small)?;
    let job = bulk.begin(small, &its_survey)?;
    let progress = Progress::new();
    let mut operations = Operations::unrecorded(Events::new(progress.clone()));
    let entered = (job, its_survey);
    let until = Stage::ForeignKeys;
    let task =
        LoadTask { entered: &entered, entry: Entry::New, streams, until, wants_proof: false, expected: &[] };
    let outcome = operation::load(&mut operations, &mut bulk, &task);
    progress.finish();
    times::keep(Kept::Calibration, (small, survey), streams, &outcome?);
    Ok(())
}
