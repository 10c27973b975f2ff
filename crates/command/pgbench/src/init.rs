//! `pgbench -i`.

use std::io::{self, IsTerminal};

use pgdyno_core::stop::Stop;
use pgdyno_postgres::load::{InitError, InitEvent, Initialization, initialize};
use pgdyno_wire::{Session, libpq};

use super::{
    format::initialization::{Filling, done},
    say::{ExitResult, Say},
};

/// Runs an initialization.
///
/// # Errors
/// It failed or was interrupted; already printed.
pub fn run(
    say: &Say,
    session: &mut Session,
    initialization: &Initialization,
    quiet: bool,
    stop: &Stop,
) -> ExitResult<()> {
    session.heed(stop);
    let terminal = io::stderr().is_terminal();
    let mut filling: Option<Filling> = None;
    let mut report = |event| match event {
        InitEvent::Begins(what) => say.raw(format!("{what}\n")),
        InitEvent::Partitions(number) => say.raw(format!("creating {number} partitions...\n")),
        InitEvent::Rows { table, rows, total, elapsed_s } => {
            let filling = filling.get_or_insert_with(|| Filling::new(table, total, quiet, terminal));
            if let Some(line) = filling.line(rows, elapsed_s) {
                say.raw(line);
            }
        }
        InitEvent::Filled => {
            if let Some(clear) = filling.take().and_then(|filling| filling.clear()) {
                say.raw(clear);
            }
        }
    };
    match initialize(session, initialization, stop, &mut report) {
        Ok(steps) => {
            let steps: Vec<_> = steps.iter().map(|(step, seconds)| (step.name(), *seconds)).collect();
            say.raw(done(&steps));
            Ok(())
        }
        Err(error) => failed(say, &error),
    }
}

fn failed(say: &Say, error: &InitError) -> ExitResult<()> {
    match error {
        InitError::Statement { sql, error } => {
            say.error(format!("query failed: {}", libpq::message(error)));
            say.detail(format!("Query was: {sql}"));
            Err(1)
        }
        InitError::Copy(error) => say.fatal(format!("PQendcopy failed: {}", libpq::message(error))),
        InitError::Stopped => say.fatal("initialization was interrupted; what was committed before is kept"),
    }
}
