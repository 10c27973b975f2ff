//! Copies a schema like a load, with rows that the server reads from the source.

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_rows::load::{LoadPlan, LoadRequest, Stage};
use pgdyno_wire::{Address, ConnectOptions, Session, WireError};

use super::{
    super::{
        BulkLoad, BulkProgress, Entry, Job, Room, Verified,
        bulk::{LoadDirs, Sizes, by_file_system, find, is_whole},
        schemas::within,
    },
    Copied, check_lengths, enough, literals, no_copy, quoted,
};
use crate::session::open;

/// Progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyState {
    /// There is no schema with its name.
    Missing,
    /// The schema is empty: the copy was interrupted just after creating it.
    Empty,
    /// The load was interrupted.
    Begun,
    /// The copy is complete and verified.
    Verified,
}

/// Copies a load to schemas with these names, one after the other, each with this many streams. With `resume`
/// interrupted copies are continued and complete ones kept. `on_progress` receives progress messages.
///
/// # Errors
/// A copy fails. Nothing is begun if a name is taken or too long, or there is no room.
pub fn copy_schema(
    options: &ConnectOptions,
    job: &Job,
    names: &[String],
    streams: u64,
    resume: bool,
    stop: &Stop,
    on_progress: &mut dyn FnMut(BulkProgress),
) -> Result<Vec<Copied>, Problem> {
    check_lengths(names)?;
    let mut session = open(options, stop)?;
    let request = LoadRequest::copying(&job.plan, &job.target);
    let plan = request.plan(streams)?;
    let states: Vec<_> = if resume {
        let states = names.iter().map(|name| state(&mut session, name, &plan, &job.target));
        states.collect::<Result<_, _>>()?
    } else {
        check_names(&mut session, names)?;
        vec![CopyState::Missing; names.len()]
    };
    let left = names.iter().zip(&states).filter(|(_, state)| **state != CopyState::Verified);
    check_room(&mut session, job, &left.map(|(name, _)| name.clone()).collect::<Vec<_>>())?;
    let mut copied = Vec::new();
    for (name, state) in names.iter().zip(states) {
        let mut one = Copy { options: within(options, name), name, request: &request, streams, stop };
        copied.push(one.carry_out(&mut session, state, on_progress)?);
    }
    Ok(copied)
}

/// One copy.
pub(super) struct Copy<'a> {
    /// Options of sessions that have the copy's schema first in the search path.
    pub options: ConnectOptions,
    /// The schema.
    pub name: &'a str,
    pub request: &'a LoadRequest,
    pub streams: u64,
    pub stop: &'a Stop,
}

impl Copy<'_> {
    /// Makes the copy, unless it is verified. Its proof is `None` if it was verified earlier, or by another process.
    pub fn carry_out(
        &mut self,
        session: &mut Session,
        state: CopyState,
        on_progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<Copied, Problem> {
        let name = self.name.to_owned();
        if state == CopyState::Verified {
            return Ok(Copied { name, duration_s: None, size_bytes: None, proof: None });
        }
        if state == CopyState::Missing {
            session
                .execute(&format!("CREATE SCHEMA {}", quoted(self.name)))
                .map_err(|error| error.into_problem(&format!("could not create the schema {}", self.name)))?;
        }
        let entry = if state == CopyState::Begun { Entry::Resume } else { Entry::New };
        let begun = BulkLoad::new(&self.options, self.streams, self.stop)
            .and_then(|mut load| load.enter(entry, self.request).map(|(job, survey)| (load, job, survey)));
        if begun.is_err() && state == CopyState::Missing {
            // The schema is empty; if it remains, the next copy reports or continues it.
            let _ = session.execute(&format!("DROP SCHEMA {}", quoted(self.name)));
        }
        let (mut load, job, survey) = begun?;
        let outcome = load.run(&job, &survey, (Stage::ForeignKeys, true), on_progress)?;
        let proof = match outcome.proof {
            Verified::Here(proof) => Some(proof),
            Verified::Elsewhere | Verified::Later | Verified::Unfinished => None,
        };
        let (duration_s, size_bytes) = (Some(outcome.duration_s), Some(outcome.size_bytes));
        Ok(Copied { name, duration_s, size_bytes, proof })
    }
}

/// Progress of the copy with this name by an equal request; anything else with the name is refused.
pub(super) fn state(
    session: &mut Session,
    name: &str,
    plan: &LoadPlan,
    source: &str,
) -> Result<CopyState, Problem> {
    let literal = literals(&[name.to_owned()]);
    let look = |session: &mut Session| -> Result<Option<u64>, WireError> {
        let sql = format!(
            "SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid) \
             FROM pg_catalog.pg_namespace n WHERE n.nspname = {literal}"
        );
        Ok(session.value(&sql)?.and_then(|count| count.parse().ok()))
    };
    let relations = look(session).map_err(|error| error.into_problem("could not list schemas"))?;
    let Some(relations) = relations else { return Ok(CopyState::Missing) };
    match find(session, name)? {
        _ if relations == 0 => Ok(CopyState::Empty),
        Some(known) if is_alike(&known.plan, plan) => match known.finished {
            false => Ok(CopyState::Begun),
            true if is_whole(session, &known)? => Ok(CopyState::Verified),
            true => Err(not_whole(name)),
        },
        _ => Err(no_copy(&format!("the schema {name}"), source)),
    }
}

/// Whether two plans make the same tables from the same source. The number of streams, which may have changed, decides
/// on tasks and workers.
fn is_alike(known: &LoadPlan, plan: &LoadPlan) -> bool {
    let LoadPlan { chunk_rows, way, log_chunks, key_workers, .. } = *known;
    *known == LoadPlan { chunk_rows, way, log_chunks, key_workers, ..plan.clone() }
}

/// Problem of a verified copy that is no longer intact.
fn not_whole(name: &str) -> Problem {
    Problem::wrong_request(format!(
        "could not continue with the schema {name}: it is no longer an intact copy"
    ))
    .detail("its tables were replaced since it was verified, or emptied by a crash of the server")
    .hint(format!("DROP SCHEMA {} CASCADE, and --resume copies it again", quoted(name)))
}

fn check_names(session: &mut Session, names: &[String]) -> Result<(), Problem> {
    let sql =
        format!("SELECT min(nspname) FROM pg_catalog.pg_namespace WHERE nspname IN ({})", literals(names));
    let taken = session.value(&sql).map_err(|error| error.into_problem("could not list schemas"))?;
    taken.map_or(Ok(()), |taken| {
        Err(Problem::wrong_request(format!("could not copy: the schema {taken} exists already")).hint(
            "drop it yourself, choose other names by --prefix, or continue interrupted copies by --resume",
        ))
    })
}

/// Checks the room for the remaining copies, part of which may exist.
fn check_room(session: &mut Session, job: &Job, left: &[String]) -> Result<(), Problem> {
    if left.is_empty() || !matches!(session.address(), Address::Unix(..)) {
        return Ok(());
    }
    let rooms = rooms(session, job, left).map_err(|error| error.into_problem("could not read sizes"))?;
    let enough = |room: &Room| enough(room.need_bytes, room.free_bytes, &room.dir.display().to_string());
    rooms.iter().try_for_each(enough)
}

/// Free space for tables and their indexes.
fn rooms(session: &mut Session, job: &Job, left: &[String]) -> Result<Vec<Room>, WireError> {
    let Some(dirs) = LoadDirs::find(session, &job.plan)? else { return Ok(Vec::new()) };
    let one = Sizes::find(session, std::slice::from_ref(&job.target), job.plan.set)?;
    let there = Sizes::find(session, left, job.plan.set)?;
    let need = |one: u64, there: u64| one.saturating_mul(left.len() as u64).saturating_sub(there);
    Ok(by_file_system(&[
        (dirs.tables, need(one.heap_bytes, there.heap_bytes)),
        (dirs.keys, need(one.index_bytes, there.index_bytes)),
    ]))
}
