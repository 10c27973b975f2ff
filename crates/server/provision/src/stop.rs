//! Stops a server: by a fast shutdown, then if needed by an immediate one.

use std::{path::Path, time::Duration};

use pgdyno_core::problem::Problem;
use rustix::process::Signal;

use super::{Event, process::find_postmaster, wait::ProcessHandle};

/// How a server was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The server did not run.
    WasNotRunning,
    /// Fast shutdown (SIGINT): sessions were terminated, everything is on disk.
    Fast,
    /// Immediate shutdown (SIGQUIT): the next start recovers from WAL.
    Immediate,
}

/// Longest fast shutdown before an immediate one.
pub const FAST_LIMIT: Duration = Duration::from_secs(60);
/// Longest immediate shutdown: the postmaster kills its children after 5 s.
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(15);

/// Stops the server of a data directory: by a fast shutdown within the limit, or immediately if there is no limit. The
/// server is found by its directory, never by its name.
///
/// # Errors
/// If this user may not stop it, or it does not end.
pub fn stop(
    data_dir: &Path,
    fast_limit: Option<Duration>,
    progress: &mut dyn FnMut(Event),
) -> Result<Stopped, Problem> {
    let Some(process) = find_postmaster(data_dir) else {
        return Ok(Stopped::WasNotRunning);
    };
    let Some(held) = ProcessHandle::open(process) else {
        return Ok(Stopped::WasNotRunning);
    };
    let fast = fast_limit.map(|limit| (Signal::INT, limit, Stopped::Fast));
    for (signal, limit, how) in fast.into_iter().chain([(Signal::QUIT, IMMEDIATE_LIMIT, Stopped::Immediate)])
    {
        held.signal(signal).map_err(|error| {
            Problem::could_not(format!("could not stop process {}: {error}", process.pid))
                .hint("stop it as the user who started it")
        })?;
        if held.wait(limit) {
            return Ok(how);
        }
        if how == Stopped::Fast {
            progress(Event::StoppingAtOnce { seconds: limit.as_secs() });
        }
    }
    Err(Problem::could_not(format!("process {} does not end", process.pid))
        .hint("its log shows what it waits for; often it is storage that does not respond"))
}
