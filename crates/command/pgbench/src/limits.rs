//! The limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::say::{ExitResult, Say};

/// Open files besides one per client: pgbench's number, which its messages include.
const OTHERS: u64 = 3;

/// Raises the limit of open files if the clients need it.
///
/// # Errors
/// The limit cannot be raised far enough; already printed.
pub fn raise_open_files(say: &Say, clients: u32) -> ExitResult<()> {
    let needed = u64::from(clients) + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    if let Some(maximum) = limit.maximum.filter(|&maximum| maximum < needed) {
        say.error(format!("need at least {needed} open files, but system limit is {maximum}"));
        return hint(say);
    }
    if limit.current.is_some_and(|current| current < needed) {
        let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            let why = super::say::strerror(&error.into());
            say.error(format!("need at least {needed} open files, but couldn't raise the limit: {why}"));
            return hint(say);
        }
    }
    Ok(())
}

fn hint<T>(say: &Say) -> ExitResult<T> {
    say.hint("Reduce number of clients, or use limit/ulimit to increase the system limit.");
    Err(1)
}
