//! The tables of a server, as operations see them.

use pgdyno_core::problem::Problem;

use crate::{
    context::Context,
    operation::{self, Tables},
    subject::Subject,
};

/// Repeats what the plan's stages read into the shared buffers of a server before the runs.
///
/// # Errors
/// The tables could not be read.
pub fn prewarm_again(context: Context<'_>, server: &Subject, at: usize) -> Result<(), Problem> {
    context.prepared.plan.prewarms().try_for_each(|stage| {
        on_tables(context, server, at, |tables| {
            operation::prewarm_again(stage, tables, context.stop, context.events)
        })
    })
}

/// Does something with the tables of a server.
///
/// # Errors
/// The error of the work.
pub fn on_tables<T>(
    Context { prepared, .. }: Context<'_>,
    server: &Subject,
    at: usize,
    work: impl FnOnce(&Tables<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    work(&Tables {
        options: &server.table_options(),
        load: prepared.load_for(at, server.loaded_for),
        are_ours: !prepared.uses_existing,
        in_own_database: server.own_server().is_some(),
        cpus: prepared.host.allowed_cpus().len() as u64,
    })
}
