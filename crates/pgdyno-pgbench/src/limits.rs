//! How many files may be open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::say::{ExitResult, Say};

/// Files that are open beside one for each client: pgbench's number, which its messages name.
const OTHERS: u64 = 3;

/// Raises the limit of open files where the clients need it.
///
/// # Errors
/// It cannot be raised so far; said already.
pub fn raise_open_files(say: &Say, clients: u32) -> ExitResult<()> {
    let wanted = u64::from(clients) + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    if let Some(maximum) = limit.maximum.filter(|&maximum| maximum < wanted) {
        say.error(format!("need at least {wanted} open files, but system limit is {maximum}"));
        return hint(say);
    }
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            let why = super::say::strerror(&error.into());
            say.error(format!("need at least {wanted} open files, but couldn't raise the limit: {why}"));
            return hint(say);
        }
    }
    Ok(())
}

fn hint<T>(say: &Say) -> ExitResult<T> {
    say.hint("Reduce number of clients, or use limit/ulimit to increase the system limit.");
    Err(1)
}
