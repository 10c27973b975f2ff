//! The server of a run, from its start (or the first connection) to the last trace of it.

use pgdyno_core::{
    advice::Choice,
    facts::{ServerFacts, ServerSource},
    problem::Problem,
};
use pgdyno_engine::Stop;
use pgdyno_postgres::{
    observe::{check_version, postmaster_of, server_facts},
    provision::{self, RunningServer},
    wire::{Address, ConnectOptions, Session, WireError, connect},
};

use super::{Wanted, prepare::Prepared};
use crate::{progress::Progress, servers};

/// Schema of pgdyno's own objects on a server that is not its own.
const SCHEMA: &str = "pgdyno";

/// The server of a run.
#[derive(Debug)]
pub struct Subject {
    /// How the driver's clients connect.
    pub options: ConnectOptions,
    /// The session for administration, checks and observation.
    pub admin: Session,
    /// Facts.
    pub facts: ServerFacts,
    /// Number of the postmaster, where the server is on this machine.
    pub postmaster: Option<u32>,
    /// Settings that were chosen for it.
    pub choices: Vec<Choice>,
    /// Whether a bundle is one of those tested; `None` where it is no bundle.
    pub bundle_pinned: Option<bool>,
    home: Home,
    /// Backends of sessions that may still be at work when a run is stopped.
    backends: Vec<i32>,
}

#[derive(Debug)]
enum Home {
    /// Made for this run.
    Own(Box<RunningServer>),
    /// Somebody else's: the schema goes when the run is over.
    Foreign,
    /// Closed.
    Gone,
}

impl Subject {
    /// Makes or reaches the server.
    ///
    /// # Errors
    /// What could not be done.
    pub fn open(
        wanted: &Wanted,
        prepared: &Prepared,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<Self, Problem> {
        match wanted {
            Wanted::External(options) => Self::foreign(options, stop),
            Wanted::Own(request) => {
                let mut request = (**request).clone();
                request.clients = prepared.bench.clients.iter().copied().max().unwrap_or(1);
                if let Some(bytes) = prepared.shared_buffers_bytes {
                    let given = request.settings.entry("shared_buffers".into());
                    given.or_insert_with(|| format!("{}MB", bytes >> 20));
                }
                request.cpus.clone_from(&prepared.bench.cpus.server);
                progress.stage("starting a server");
                let server = provision::up(&request, &servers::dirs()?, &mut |event| {
                    progress.aside(|| servers::say(event))
                })?;
                server.warnings.iter().for_each(|warning| progress.warn(warning));
                Self::own(server, stop)
            }
        }
    }

    fn own(server: RunningServer, stop: &Stop) -> Result<Self, Problem> {
        let address = Address::Unix(server.socket_dir.clone(), server.port);
        let options = ConnectOptions::local(address, server.superuser);
        let opened = open_session(&options, stop).and_then(|mut admin| {
            let bindir = server.bindir.display().to_string();
            let facts = server_facts(&mut admin, server.source, Some(bindir))
                .map_err(|error| error.into_problem("could not read the server's facts"))?;
            Ok((admin, facts))
        });
        let (admin, facts) = match opened {
            Ok(opened) => opened,
            Err(problem) => {
                let _ = server.remove(); // the first problem is the one to be told; `ps` lists what stayed
                return Err(problem);
            }
        };
        Ok(Self {
            backends: vec![admin.backend_pid()],
            options,
            admin,
            facts,
            postmaster: Some(server.pid),
            choices: server.choices.clone(),
            bundle_pinned: (server.source == ServerSource::Bundle).then_some(server.pinned),
            home: Home::Own(Box::new(server)),
        })
    }

    /// Makes the schema that everything of this run goes into. A second pgdyno on the same database is refused by it.
    fn foreign(options: &ConnectOptions, stop: &Stop) -> Result<Self, Problem> {
        let mut admin = open_session(options, stop)?;
        check_version(&admin)?;
        let failed = |error: WireError| error.into_problem("could not prepare the database");
        let facts = server_facts(&mut admin, ServerSource::External, None).map_err(failed)?;
        let schema = admin.execute(&format!("CREATE SCHEMA {SCHEMA}"));
        if schema.as_ref().is_err_and(|error| error.code() == Some("42P06")) {
            return Err(Problem::could_not(format!(
                "schema {SCHEMA} exists already in database {}",
                options.database
            ))
            .detail("another run of pgdyno is under way there, or one was killed or kept it (--keep)")
            .hint(format!("when no run is under way, remove it: DROP SCHEMA {SCHEMA} CASCADE")));
        }
        schema.map_err(failed)?;
        admin.execute(&format!("SET search_path = {SCHEMA}")).map_err(failed)?;
        let postmaster = postmaster_of(&admin, &options.address);
        let path = format!("-c search_path={SCHEMA}");
        let own_path = options.options.as_ref().map_or(path.clone(), |given| format!("{given} {path}"));
        Ok(Self {
            backends: vec![admin.backend_pid()],
            options: ConnectOptions { options: Some(own_path), ..options.clone() },
            admin,
            facts,
            postmaster,
            choices: Vec::new(),
            bundle_pinned: None,
            home: Home::Foreign,
        })
    }

    /// Another session. What it does is in the server's statistics as soon as it ends; a session that stays open
    /// reports its reads later, in the middle of somebody else's interval.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn session(&mut self, stop: &Stop) -> Result<Session, Problem> {
        let session = open_session(&self.options, stop)?;
        self.backends.push(session.backend_pid());
        Ok(session)
    }

    /// Path of the log of an own server.
    pub fn log_path(&self) -> Option<&std::path::Path> {
        match &self.home {
            Home::Own(server) => Some(&server.log_path),
            _ => None,
        }
    }

    /// Data directory of an own server.
    pub fn own_data_dir(&self) -> Option<&std::path::Path> {
        match &self.home {
            Home::Own(server) => Some(&server.data_dir),
            _ => None,
        }
    }

    /// Removes every trace, or with `keep` leaves data and server.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn close(&mut self, keep: bool) -> Result<(), Problem> {
        match std::mem::replace(&mut self.home, Home::Gone) {
            Home::Own(server) if keep => server.stop().map(drop),
            Home::Own(server) => server.remove(),
            Home::Foreign if !keep => self.drop_schema(),
            Home::Foreign | Home::Gone => Ok(()),
        }
    }

    /// Drops the schema through a new session: the old ones may be in the middle of something, and are ended.
    fn drop_schema(&self) -> Result<(), Problem> {
        let failed = |error: WireError| {
            error
                .into_problem(&format!("could not remove schema {SCHEMA}"))
                .hint(format!("remove it by hand: DROP SCHEMA {SCHEMA} CASCADE"))
        };
        let mut session = connect(&self.options)?;
        for backend in &self.backends {
            // By number and name: the number may belong to somebody else by now.
            let end = format!(
                "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
                 WHERE pid = {backend} AND application_name = 'pgdyno' AND usename = CURRENT_USER"
            );
            session.execute(&end).map_err(failed)?;
        }
        session.execute(&format!("DROP SCHEMA {SCHEMA} CASCADE")).map_err(failed)
    }
}

/// A panic or an early return leaves nothing behind either.
impl Drop for Subject {
    fn drop(&mut self) {
        if let Err(problem) = self.close(false) {
            eprintln!("warning: {}", problem.what);
        }
    }
}

fn open_session(options: &ConnectOptions, stop: &Stop) -> Result<Session, Problem> {
    let mut session = connect(options)?;
    session
        .heed(stop)
        .map_err(|error| Problem::could_not(format!("could not use the connection: {error}")))?;
    Ok(session)
}
