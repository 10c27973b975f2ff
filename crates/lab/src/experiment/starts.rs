//! Starts of the servers between rounds. They may pass on their data, so that no server has the better copy throughout.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_postgres::observe::data_format;
use pgdyno_provision::{Request, asks_for_like_data};
use pgdyno_wire::WireError;

use super::tables::prewarm_again;
use crate::{
    Job, SubjectWork, Wanted, context::Context, fill, host_states::HostStates, recording::Recording,
    subject::Subject,
};

/// Whether every server may run on the data of every other: pgdyno made and loaded all clusters alike, all programs
/// write the same format, and all subjects do the same to it.
///
/// # Errors
/// The format of a server's data could not be read.
pub fn can_pass_on_data(job: &Job, servers: &mut [Subject]) -> Result<bool, Problem> {
    let requests: Option<Vec<&Request>> = job.servers.iter().map(request).collect();
    let Some([first, others @ ..]) = requests.as_deref() else { return Ok(false) };
    let are_asked = others.iter().all(|other| asks_for_like_data(first, other));
    let work_alike = job.subjects.windows(2).all(|two| alike(&two[0].work, &two[1].work));
    let has_own = |(at, subject): (usize, &crate::SubjectJob)| subject.server == Some(at);
    let are_alike = are_asked && work_alike && job.loads_alike();
    if others.is_empty() || !are_alike || !job.subjects.iter().enumerate().all(has_own) {
        return Ok(false);
    }
    let formats: Result<Vec<String>, WireError> =
        servers.iter_mut().map(|server| data_format(&mut server.admin, server.facts.version_num)).collect();
    let formats = formats.map_err(|error| error.into_problem("could not read the format of the data"))?;
    Ok(formats.windows(2).all(|two| two[0] == two[1]))
}

fn request(wanted: &Wanted) -> Option<&Request> {
    match wanted {
        Wanted::Own(request) => Some(request),
        Wanted::External(_) => None,
    }
}

/// Whether two subjects change their data alike. Built-in scripts work on tables that are restored after each run.
fn alike(one: &SubjectWork, other: &SubjectWork) -> bool {
    match (one, other) {
        (SubjectWork::Plan, SubjectWork::Plan) => true,
        (SubjectWork::Script { work: one, .. }, SubjectWork::Script { work: other, .. }) => {
            (one.builtin.is_some() && other.builtin.is_some()) || one == other
        }
        _ => false,
    }
}

/// Restarts all servers and reads their tables into shared buffers, if the load did so. With `pass_on`, each gets the
/// data of the next; else each is started on the host in its subject's state. Returns the duration in seconds.
///
/// # Errors
/// A server could not be stopped, started or read from.
pub fn restart(
    context: Context<'_>,
    (servers, host): (&mut [Subject], &mut HostStates),
    recording: &Recording,
    pass_on: bool,
) -> Result<f64, Problem> {
    let begin = Instant::now();
    context.events.doing("restarting the servers");
    let requests: Vec<&Request> = context.job.servers.iter().filter_map(request).collect();
    if pass_on {
        Subject::restart_on_next(servers, &requests)?;
    } else {
        for (at, (server, request)) in servers.iter_mut().zip(requests).enumerate() {
            if let Some((place, _)) = context.job.subjects_at(at).next() {
                host.enter(place, context.stop, context.events)?;
            }
            server.restart(request)?;
        }
    }
    for (at, server) in servers.iter_mut().enumerate() {
        let subject = context.job.subjects.iter().position(|subject| subject.server == Some(at));
        let record = subject.and_then(|subject| recording.record.subjects.get(subject));
        record.map_or(Ok(()), |record| fill::prewarm_again(context, server, record))?;
        prewarm_again(context, server, at)?;
    }
    Ok(begin.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::Work;
    use pgdyno_script::{Builtin, Protocol, Scripts};

    use super::*;

    #[test]
    fn data_is_passed_on_only_between_subjects_that_change_it_alike() {
        let builtin = |builtin| SubjectWork::Script {
            work: Box::new(Work::builtin(builtin)),
            protocol: Protocol::Prepared,
        };
        let own = |text: &str| SubjectWork::Script {
            work: Box::new(Work::script("own", Scripts::one("own", text).expect("it parses"))),
            protocol: Protocol::Simple,
        };
        assert!(alike(&SubjectWork::Plan, &SubjectWork::Plan));
        assert!(alike(&builtin(Builtin::TpcbLike), &builtin(Builtin::SelectOnly)));
        assert!(alike(&own("DELETE FROM t;"), &own("DELETE FROM t;")));
        assert!(!alike(&own("DELETE FROM t;"), &own("SELECT 1;")));
        assert!(!alike(&own("SELECT 1;"), &builtin(Builtin::SelectOnly)));
    }
}
