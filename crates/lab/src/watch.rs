//! What the observers of a run know about its servers.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use pgdyno_core::{facts::ServerFacts, measure::Waits, observe::Digest};
use pgdyno_observe::{Observers, Places, ServerId, ServerLog, SessionOptions, Span, Watched, WatchedServer};
use pgdyno_plan::SetPlace;
use pgdyno_postgres::observe::{places_in, postmaster_of};
use pgdyno_wire::{ConnectOptions, Session};

use crate::{recording::Recording, subject::Subject};

impl Subject {
    /// The server as observers see it. `subject` is its name if there are several, `clients` the most that connect,
    /// `sets` the sets of tables that they work on.
    pub(crate) fn watched(&mut self, subject: Option<String>, clients: u32, sets: &[SetPlace]) -> Watched {
        let connect = self.observed_by().clone();
        let session = SessionOptions {
            databases: databases(&connect, sets),
            connect,
            stays_out: false,
            pooled: self.pooled,
            clock_only: false,
            version_num: self.facts.version_num,
            leaves_free: clients,
        };
        let (log, at) = (self.log(), self.elsewhere.as_mut().unwrap_or(&mut self.admin));
        let places = places(at, &self.facts);
        let server = WatchedServer {
            postmaster: self.postmaster,
            places,
            own: self.own_backends(),
            ..WatchedServer::default()
        };
        Watched { subject, server, log, session: Some(session) }
    }

    /// The log of the server under test, if that is on this machine.
    fn log(&mut self) -> Option<ServerLog> {
        let at = self.elsewhere.as_mut().unwrap_or(&mut self.admin);
        self.postmaster.map(|postmaster| ServerLog::find(at, postmaster))
    }

    /// Backends of the sessions that administer it.
    fn own_backends(&self) -> BTreeSet<u32> {
        let sessions = self.elsewhere.iter().chain([&self.admin]);
        sessions.filter_map(|session| u32::try_from(session.backend_pid()).ok()).collect()
    }

    /// Changes what observers know of the server to what is true now.
    fn follow(&self, server: &mut WatchedServer) {
        server.postmaster = self.postmaster;
        server.own = self.own_backends();
        if self.postmaster.is_some() {
            server.places.data = self.facts.data_directory.as_deref().map(PathBuf::from);
        }
    }
}

impl Recording {
    /// Lets the observers follow a server to which pgdyno connected again.
    pub(crate) fn follow(&mut self, subject: &Subject) {
        if let Some(id) = subject.watched {
            self.observers.follow(id, |server| subject.follow(server));
        }
    }

    /// Lets the observers begin again with a restarted server: it may be reached in another way.
    pub(crate) fn watch_again(&mut self, subject: &mut Subject) {
        let watched = subject.watched.take().and_then(|id| self.observers.forget(id));
        let Some(mut watched) = watched else { return };
        if let Some(session) = &mut watched.session {
            session.connect.clone_from(subject.observed_by());
        }
        subject.follow(&mut watched.server);
        watched.log = subject.log();
        subject.watched = Some(self.observers.watch(watched));
    }
}

/// Where a server keeps its files, if it is on this machine.
fn places(session: &mut Session, facts: &ServerFacts) -> Places {
    if postmaster_of(session).is_none() {
        return Places::default();
    }
    places_in(session, facts.data_directory.as_deref().map(PathBuf::from))
}

/// The databases in which clients work, and that of the administering session; none if that is the only one.
fn databases(options: &ConnectOptions, sets: &[SetPlace]) -> Vec<String> {
    let named = sets.iter().filter_map(|set| match set {
        SetPlace::Database(name) => Some(name.clone()),
        SetPlace::Found | SetPlace::Schema(_) => None,
    });
    let mut named: Vec<String> = named.collect();
    if !named.is_empty() && !named.contains(&options.database) {
        named.push(options.database.clone());
    }
    named
}

/// A server on which operations are executed, as observers see it. `copies` are the databases that are made from that
/// of `options`, in which nobody may have a session meanwhile.
pub fn of_session(
    session: &mut Session,
    facts: &ServerFacts,
    options: &ConnectOptions,
    copies: &[String],
) -> Watched {
    let session_options = SessionOptions {
        connect: options.clone(),
        databases: copies.to_vec(),
        stays_out: !copies.is_empty(),
        pooled: false,
        clock_only: false,
        version_num: facts.version_num,
        leaves_free: 0,
    };
    let places = places(session, facts);
    let postmaster = postmaster_of(session);
    let log = postmaster.map(|postmaster| ServerLog::find(session, postmaster));
    let server = WatchedServer { postmaster, places, ..WatchedServer::default() };
    Watched { subject: None, server, log, session: Some(session_options) }
}

/// Storage without a server, as observers see it: the devices below these paths.
pub fn of_storage(paths: &[&Path]) -> Watched {
    let named = paths.iter().map(|path| (path.display().to_string(), path.to_path_buf()));
    let places = Places { data: None, tablespaces: named.collect() };
    let server = WatchedServer { places, is_storage: true, ..WatchedServer::default() };
    Watched { subject: None, server, log: None, session: None }
}

/// The measured interval of a run, as observed.
pub(crate) struct Observing {
    server: Option<ServerId>,
    span: Option<Span>,
    waits: Option<Waits>,
}

impl Observing {
    pub(crate) fn of(subject: &Subject) -> Self {
        Self { server: subject.watched, span: None, waits: None }
    }

    /// Begins the interval.
    pub(crate) fn begin(&mut self, observers: &Observers) {
        let Some(server) = self.server else { return };
        observers.begin_waits(server);
        self.span = observers.span(&[server]);
    }

    /// Ends the interval, without waiting for anything.
    pub(crate) fn end(&mut self, observers: &Observers) {
        self.span.iter().for_each(Span::end);
        self.waits = self.server.and_then(|server| observers.end_waits(server));
    }

    /// What was seen in the interval.
    pub(crate) fn found(self) -> (Option<Waits>, Option<Digest>) {
        (self.waits, self.span.and_then(Span::digest))
    }
}
