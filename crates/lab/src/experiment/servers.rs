//! The servers of an experiment, opened and recorded. They run at the same time, one of them under load.
//!
//! Stopping the idle ones would discard their caches and put a start into every run. An idle server costs memory and a
//! few wake-ups per second.

use pgdyno_core::{
    facts::{Choice, ConnectionFacts, Transport, is_private_setting},
    problem::Problem,
};
use pgdyno_provision::Request;
use pgdyno_record::RunRecord;

use crate::{
    Wanted, comparable::judge, context::Context, host::host_of, host_states::HostStates, subject::Subject,
};

/// Settings that pgdyno derives from free disk space, which each new server reduces.
const BY_FREE_SPACE: [&str; 2] = ["max_wal_size", "min_wal_size"];

/// Starts or connects to the servers of a job, one after the other, and records them.
///
/// # Errors
/// The first server that could not be started or reached.
pub fn open(
    context: Context<'_>,
    recorded: &mut RunRecord,
    host: &mut HostStates,
) -> Result<Vec<Subject>, Problem> {
    let wanted = &context.job.servers;
    let mut servers: Vec<Subject> = Vec::new();
    for (at, one) in wanted.iter().enumerate() {
        let one = match one {
            Wanted::Own(request) => &Wanted::Own(Box::new(like(request, &made(wanted, &servers)))),
            Wanted::External(_) => one,
        };
        let existing = context.prepared.existing[at].as_ref();
        if let Some((place, _)) = context.job.subjects_at(at).next() {
            host.enter(place, context.stop, context.events)?;
        }
        servers.push(Subject::open(context, one, existing, &recorded.id)?);
    }
    let largest = servers.iter().map(|server| server.facts.shared_buffers_bytes).max().unwrap_or(0);
    servers.iter_mut().for_each(|server| server.largest_buffers_bytes = largest);
    record(context, &servers, recorded);
    Ok(servers)
}

/// Records the servers, and how they differ from the server of the first subject.
fn record(context: Context<'_>, servers: &[Subject], record: &mut RunRecord) {
    let Context { job, prepared, .. } = context;
    for (at, server) in servers.iter().enumerate() {
        let public = server.choices.iter().filter(|choice| !is_private_setting(&choice.name));
        let choices: Vec<_> = public.cloned().collect();
        let known = prepared.storage.as_ref();
        let is_known = |own: &_| known.is_some_and(|known| known.is_of_file_system(own));
        let elsewhere = server.storage().filter(|own| !is_known(own));
        let listens = matches!(&job.servers[at], Wanted::Own(request) if request.listen.is_some());
        let by_tcp =
            || ConnectionFacts { transport: Some(Transport::Tcp), ..ConnectionFacts::of_own_server() };
        for (place, record) in job.records_at(record, at) {
            let seen = prepared.existing[at].as_ref().and_then(|reached| reached.seen_by.get(&place));
            record.server = Some(seen.unwrap_or(&server.facts).clone());
            record.bundle_pinned = server.bundle_pinned;
            record.own_server = server.own_server().map(|own| own.name.clone());
            record.choices.clone_from(&choices);
            let reached = prepared.existing[at].as_ref();
            record.connection =
                reached.map(|reached| reached.connection.clone()).or_else(|| listens.then(by_tcp));
            record.preset.clone_from(&server.preset);
            record.storage.clone_from(&elsewhere);
            record.existing =
                prepared.existing[at].as_ref().and_then(|reached| reached.tables.measured.clone());
        }
    }
    share_choices(record);
    record.host = host_of(record);
    judge(job, prepared, record);
}

/// Moves choices that are identical for all subjects to the choices of the run.
fn share_choices(record: &mut RunRecord) {
    let same = |one: &Choice, other: &Choice| (&one.name, &one.value) == (&other.name, &other.value);
    for subject in &mut record.subjects {
        subject.choices.retain(|choice| !record.choices.iter().any(|known| same(known, choice)));
    }
    let Some((first, others)) = record.subjects.split_first() else { return };
    let everywhere = |choice: &&Choice| {
        others.iter().all(|subject| subject.choices.iter().any(|other| same(other, choice)))
    };
    let shared: Vec<_> = first.choices.iter().filter(everywhere).cloned().collect();
    for subject in &mut record.subjects {
        subject.choices.retain(|choice| !shared.iter().any(|known| same(known, choice)));
    }
    record.choices.extend(shared);
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
        // A preset says how much at most, free space how much of that.
        let chosen = made.iter().filter(|(of, _)| !asks(of, name) && of.preset == request.preset);
        let value = chosen.flat_map(|(_, choices)| *choices).find(|choice| choice.name == name);
        if let Some(choice) = value {
            alike.settings.insert(name.to_owned(), choice.value.clone());
        }
    }
    alike
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
