//! Several servers that run at the same time, one of them under load.
//!
//! Stopping the idle ones would discard their caches and put a start into every run. An idle server costs memory and a
//! few wake-ups per second.

use pgdyno_core::{facts::Choice, problem::Problem, stop::Stop};
use pgdyno_provision::Request;

use super::{
    Job, Wanted,
    prepared::Prepared,
    recording::Recording,
    subject::{Subject, with_leftovers},
};
use crate::Events;

/// Settings that pgdyno derives from free disk space, which each new server reduces.
const BY_FREE_SPACE: [&str; 2] = ["max_wal_size", "min_wal_size"];

/// Starts or connects to the servers of a job, one after the other. `run` is the id of the run.
///
/// # Errors
/// The first server that could not be started or reached.
pub fn open(
    job: &Job,
    prepared: &Prepared,
    run: &str,
    stop: &Stop,
    events: &Events,
) -> Result<Vec<Subject>, Problem> {
    let mut subjects: Vec<Subject> = Vec::new();
    for wanted in &job.servers {
        let wanted = match wanted {
            Wanted::Own(request) => &Wanted::Own(Box::new(like(request, &made(&job.servers, &subjects)))),
            Wanted::External(_) => wanted,
        };
        subjects.push(Subject::open(wanted, prepared.existing(subjects.len()), prepared, run, stop, events)?);
    }
    let largest = subjects.iter().map(|subject| subject.facts.shared_buffers_bytes).max().unwrap_or(0);
    subjects.iter_mut().for_each(|subject| subject.largest_buffers_bytes = largest);
    Ok(subjects)
}

/// The request of an own server, and the choices for it.
type Made<'a> = (&'a Request, &'a [Choice]);

/// The own servers so far. Existing servers have no choices.
fn made<'a>(wanted: &'a [Wanted], subjects: &'a [Subject]) -> Vec<Made<'a>> {
    let of = |(wanted, subject): (&'a Wanted, &'a Subject)| match wanted {
        Wanted::Own(request) => Some((&**request, subject.choices.as_slice())),
        Wanted::External(_) => None,
    };
    wanted.iter().zip(subjects).filter_map(of).collect()
}

/// The request, extended by choices of an earlier own server that would differ for this one only by chance. Requested
/// values are not copied: they may be the question.
fn like(request: &Request, made: &[Made<'_>]) -> Request {
    let asks = |of: &Request, name: &str| of.settings.keys().any(|key| key.eq_ignore_ascii_case(name));
    let mut alike = request.clone();
    for name in BY_FREE_SPACE.into_iter().filter(|name| !asks(request, name)) {
        let chosen = made.iter().filter(|(of, _)| !asks(of, name));
        let value = chosen.flat_map(|(_, choices)| *choices).find(|choice| choice.name == name);
        if let Some(choice) = value {
            alike.settings.insert(name.to_owned(), choice.value.clone());
        }
    }
    alike
}

/// Keeps the log of each own server: `server.log`, or if there are several, `server-N.log`, counted from 1.
///
/// # Errors
/// The last log that could not be written.
pub fn keep_logs(servers: &[Subject], recording: &Recording) -> Result<(), Problem> {
    let keep = |(at, server): (usize, &Subject)| match server.log_path() {
        None => Ok(()),
        Some(log) if servers.len() == 1 => recording.dir.keep_server_log(log),
        Some(log) => recording.dir.keep_log(log, &format!("server-{}.log", at + 1)),
    };
    servers.iter().enumerate().map(keep).fold(Ok(()), Result::and)
}

/// Closes all servers, even after an error.
///
/// # Errors
/// The first error, with everything else that was left behind.
pub fn close<'a>(subjects: impl Iterator<Item = &'a mut Subject>, keep: bool) -> Result<(), Problem> {
    subjects.map(|subject| subject.close(keep)).fold(Ok(()), with_leftovers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(settings: &[(&str, &str)]) -> Request {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Request { settings: settings.iter().map(pair).collect(), ..Request::named("x") }
    }

    fn choice(name: &str, value: &str) -> Choice {
        Choice { name: name.into(), value: value.into(), reason: "free space".into() }
    }

    #[test]
    fn wal_sizes_are_copied_from_the_first_server_without_requested_ones() {
        let plain = request(&[("jit", "off")]);
        let asked = request(&[("Max_WAL_size", "2GB")]);
        let of_asked = [choice("Max_WAL_size", "2GB"), choice("min_wal_size", "320MB")];
        let of_plain =
            [choice("max_wal_size", "5GB"), choice("min_wal_size", "1280MB"), choice("jit", "off")];
        let sizes = |request: &Request, made: &[Made<'_>]| {
            let alike = like(request, made).settings;
            BY_FREE_SPACE.map(|name| alike.get(name).cloned())
        };
        let some = |value: &str| Some(value.to_owned());
        assert_eq!(sizes(&plain, &[]), [None, None], "the first that is made has its own");
        assert_eq!(sizes(&plain, &[(&plain, &of_plain)]), [some("5GB"), some("1280MB")]);
        // A requested value does not spread, and does not stop the other settings from being copied.
        let both: [Made<'_>; 2] = [(&asked, &of_asked), (&plain, &of_plain)];
        assert_eq!(sizes(&plain, &both), [some("5GB"), some("320MB")]);
        assert_eq!(sizes(&plain, &both[..1]), [None, some("320MB")]);
        assert_eq!(sizes(&asked, &[(&plain, &of_plain)]), [None, some("1280MB")]);
    }
}
