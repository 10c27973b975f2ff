//! Sessions of a subject with settings of their own, on an existing server that other subjects may use with others.

use std::collections::BTreeMap;

use pgdyno_core::{
    facts::{ServerFacts, ServerSource, Setting},
    problem::Problem,
    stop::Stop,
};
use pgdyno_postgres::observe::{context_of, server_facts, session_settings};
use pgdyno_wire::{ConnectOptions, WireError, connect_unless};

use crate::{External, SubjectJob};

/// The server as the sessions of each subject with its own way to connect see it, by the index of the subject.
///
/// # Errors
/// A setting that no session can have, or that the server refuses.
pub fn seen_by<'a>(
    subjects: impl Iterator<Item = (usize, &'a SubjectJob)>,
    external: &External,
    facts: &ServerFacts,
    pooled: bool,
    stop: &Stop,
) -> Result<BTreeMap<usize, ServerFacts>, Problem> {
    let own = subjects.filter_map(|(at, subject)| Some((at, subject, subject.drive.as_ref()?)));
    own.map(|(at, subject, drive)| {
        refuse_pooler(subject, pooled)?;
        refuse_settings(subject, drive, external, stop)?;
        Ok((at, facts_of(subject, drive, facts, stop)?))
    })
    .collect()
}

/// Refuses settings of sessions behind a pooler, which gives one server session to many clients.
fn refuse_pooler(subject: &SubjectJob, pooled: bool) -> Result<(), Problem> {
    if !pooled {
        return Ok(());
    }
    let what = format!("could not set anything for the sessions of {} through a pooler", subject.name);
    Err(Problem::wrong_request(what).hint("connect to the server itself (--dsn), without the pooler"))
}

/// Refuses settings that a running server does not take from its sessions.
fn refuse_settings(
    subject: &SubjectJob,
    drive: &ConnectOptions,
    external: &External,
    stop: &Stop,
) -> Result<(), Problem> {
    let mut session = connect_unless(stop, &external.drive)?;
    for (name, _) in drive.startup.iter().filter(|own| !external.drive.startup.contains(own)) {
        let failed = |error: WireError| error.into_problem("could not read the server's settings");
        let context = context_of(&mut session, name).map_err(failed)?;
        if let Some((why, hint)) = obstacle(name, context.as_deref()) {
            let what = format!("could not set {name} for {}: {why}", subject.name);
            return Err(Problem::wrong_request(what).hint(hint));
        }
    }
    Ok(())
}

/// Why no session can have a setting, and what helps (`pg_settings.context`).
fn obstacle(name: &str, context: Option<&str>) -> Option<(&'static str, &'static str)> {
    let temporary =
        "leave --dsn and --server out: pgdyno then starts a server for each of A and B with its settings";
    match context {
        Some("internal") => Some(("it is fixed when a cluster or a program is made", temporary)),
        Some("postmaster") => Some(("a server takes it only when it starts", temporary)),
        Some("sighup") => Some(("it is the same for all sessions of a server", temporary)),
        None if !name.contains('.') => {
            Some(("the server has no such setting", "`SHOW ALL` lists those of the server"))
        }
        _ => None,
    }
}

/// The facts of a server, with settings and durability as sessions of these options have them.
fn facts_of(
    subject: &SubjectJob,
    drive: &ConnectOptions,
    facts: &ServerFacts,
    stop: &Stop,
) -> Result<ServerFacts, Problem> {
    let mut session = connect_unless(stop, drive).map_err(|problem| Problem {
        what: format!("could not connect as the clients of {}: {}", subject.name, problem.what),
        ..problem
    })?;
    let failed = |error: WireError| error.into_problem("could not read the settings of a session");
    let seen = server_facts(&mut session, ServerSource::External, None).map_err(failed)?;
    let own = session_settings(&mut session, facts.version_num).map_err(failed)?;
    Ok(ServerFacts {
        settings: with_own(seen.settings, own),
        defaults: seen.defaults,
        durability: seen.durability,
        ..facts.clone()
    })
}

/// Settings of a server with those of a session in place of others of the same name, sorted by name.
fn with_own(of_server: Vec<Setting>, own: Vec<Setting>) -> Vec<Setting> {
    let all = of_server.into_iter().chain(own);
    all.map(|setting| (setting.name.clone(), setting)).collect::<BTreeMap<_, _>>().into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_server_can_set_is_distinguished() {
        let why = |name, context| obstacle(name, context).map(|(why, _)| why);
        assert_eq!(why("shared_buffers", Some("postmaster")), Some("a server takes it only when it starts"));
        assert_eq!(why("fsync", Some("sighup")), Some("it is the same for all sessions of a server"));
        assert!(why("block_size", Some("internal")).is_some());
        assert_eq!(why("jti", None), Some("the server has no such setting"));
        assert_eq!(why("my.own", None), None, "extensions have settings of their own");
        for context in ["user", "superuser", "backend", "superuser-backend"] {
            assert_eq!(why("jit", Some(context)), None, "the server itself decides who may set it");
        }
    }

    #[test]
    fn a_setting_of_the_session_overrides_that_of_the_server() {
        let set = |name: &str, value: &str, source: &str| Setting {
            name: name.into(),
            value: value.into(),
            source: source.into(),
        };
        let server = vec![set("jit", "on", "configuration file"), set("work_mem", "4MB", "database")];
        let all = with_own(server, vec![set("jit", "off", "session"), set("a", "1", "session")]);
        let said: Vec<_> =
            all.iter().map(|one| format!("{}={} {}", one.name, one.value, one.source)).collect();
        assert_eq!(said, ["a=1 session", "jit=off session", "work_mem=4MB database"]);
    }
}
