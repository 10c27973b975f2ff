//! Refuses tables that a server cannot have, before anything starts.

use pgdyno_core::problem::Problem;
use pgdyno_postgres::load::check_version;
use pgdyno_provision::Request;
use pgdyno_rows::load::LoadPlan;

use crate::{Job, SubjectJob, Wanted, inspect_server::ExistingServer};

/// Refuses tables that a server of the job cannot have, as far as that is known before it starts.
pub fn refuse_tables(
    job: &Job,
    loads: &[Option<LoadPlan>],
    reached: &[Option<ExistingServer>],
) -> Result<(), Problem> {
    if job.servers.is_empty() && has_requests(job) {
        let what = "could not load tables: the commands bring their own servers";
        return Err(Problem::wrong_request(what).hint("leave out the options for tables"));
    }
    refuse_for_one_arm(job)?;
    if job.comparison().is_some() && job.has_loads_of_workloads() {
        let what = "could not compare with a load of the workload: A and B have their own tables";
        return Err(
            Problem::wrong_request(what).hint("write load:NAME=VALUE into the arms, or [load] into the plan")
        );
    }
    for (at, ((wanted, reached), load)) in job.servers.iter().zip(reached).zip(loads).enumerate() {
        let Some(load) = load else { continue };
        let refused = match (wanted, reached) {
            (Wanted::Own(request), _) => {
                let version = request.pg.map_or(Ok(()), |pg| check_version(load, pg.least()));
                version.and_then(|()| refuse_tablespaces(load, request))
            }
            (Wanted::External(_), Some(reached)) => refuse_of(load, reached),
            (Wanted::External(_), None) => Ok(()),
        };
        refused.map_err(|problem| Problem { what: job.of_subject(at, &problem.what), ..problem })?;
    }
    Ok(())
}

/// Whether any option for tables is requested.
fn has_requests(job: &Job) -> bool {
    let of_arm = |arm: &SubjectJob| arm.load.as_ref().is_some_and(|load| !load.is_default());
    !job.plan.load.is_default() || job.subjects.iter().any(of_arm)
}

/// Refuses tables for an arm of a comparison whose command brings its own server.
fn refuse_for_one_arm(job: &Job) -> Result<(), Problem> {
    let of_arm = |arm: &SubjectJob| arm.load.clone().unwrap_or_else(|| job.plan.load.clone());
    let is_refused = |arm: &&SubjectJob| arm.server.is_none() && !of_arm(arm).is_default();
    let Some(arm) = job.subjects.iter().find(is_refused) else { return Ok(()) };
    let whose = if arm.load.is_some() { format!("for {}", arm.name) } else { "for both arms".to_owned() };
    let what = format!("could not load tables {whose}: the command of {} brings its own server", arm.name);
    Err(Problem::wrong_request(what).hint(
        "leave out the options for tables, or let pgdyno start the server of that arm: pg=18,command=LINE",
    ))
}

/// Refuses tablespaces that an own server will not have.
fn refuse_tablespaces(load: &LoadPlan, request: &Request) -> Result<(), Problem> {
    let has = |name: &String| request.tablespaces.iter().any(|(own, _)| own == name);
    match [&load.tablespace, &load.index_tablespace].into_iter().flatten().find(|name| !has(name)) {
        None => Ok(()),
        Some(name) => {
            let what =
                format!("could not use the tablespace {name}: pgdyno's own server has none of that name");
            Err(Problem::wrong_request(what).hint(
                "name its directory by tablespaces = { NAME = \"DIR\" } in [server], choose the disk with --data, or \
                 name an existing server with tablespaces (`pgdyno up`)",
            ))
        }
    }
}

fn refuse_of(load: &LoadPlan, reached: &ExistingServer) -> Result<(), Problem> {
    check_version(load, reached.facts.version_num)?;
    if load.unlogged && reached.elsewhere {
        let what = "could not load unlogged tables for a standby: they are not replicated";
        return Err(Problem::wrong_request(what).hint("load logged tables, or measure the primary"));
    }
    Ok(())
}
