//! Observes a server of this machine for a run that another machine makes: host, devices, processes, log and clock
//! go to a file, which is joined to the run afterwards.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use pgdyno_core::{
    facts::ServerSource,
    observe::{ObserveLevel, Observed, ObserverCost, ServerClock, What},
    problem::Problem,
    stop::Stop,
};
use pgdyno_host::{facts, procs};
use pgdyno_observe::{
    Observers, ServerId, ServerLog, SessionOptions, Watched, WatchedServer, server_identity,
};
use pgdyno_postgres::observe::{check_version, places_in, postmaster_here, server_facts};
use pgdyno_record::{
    LogReport, OBSERVER_FORMAT, OBSERVER_VERSION, ObservedServer, ObserverHeader, ToolRecord,
    compress_if_large,
};
use pgdyno_wire::{ConnectOptions, Session, connect_unless};

/// What begins the errors.
const WHAT: &str = "could not observe the server";
/// Time between two looks at the request to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time between two looks whether the server is there.
const SERVER_EVERY: Duration = Duration::from_secs(1);

/// What is to be observed, and where that is kept.
#[derive(Debug)]
pub struct ObserveRequest<'a> {
    /// The server.
    pub options: &'a ConnectOptions,
    /// Name of this machine in reports.
    pub machine: String,
    /// The file, which must not exist.
    pub output: PathBuf,
    /// When to end, if not by a request to stop.
    pub duration: Option<Duration>,
}

/// What happens meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub enum ObserveEvent {
    /// Observing has begun, with these first words of the file.
    Begun(Box<ObserverHeader>),
    /// The server has ended.
    ServerEnded,
    /// The server was started again.
    ServerBack,
}

/// A file that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedFile {
    /// Its name, which ends with `.gz` if it was so large that it was compressed.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Seconds that it covers.
    pub over_s: f64,
    /// The server's clock; `None` if it was never read.
    pub clock: Option<ServerClock>,
    /// CPUs that observing took.
    pub cost: ObserverCost,
    /// What is missing.
    pub missing: Vec<String>,
}

/// Observes until a stop is requested, or the time is over.
///
/// # Errors
/// The server cannot be reached or does not run on this machine, or the file exists or cannot be written.
pub fn observe(
    request: &ObserveRequest<'_>,
    tool: ToolRecord,
    stop: &Stop,
    on_event: &mut dyn FnMut(ObserveEvent),
) -> Result<ObservedFile, Problem> {
    let (watched, server) = find(request.options, stop)?;
    let header = header(request, &watched, server, tool);
    let file = create(&request.output, &header)?;
    let mut observing = Observing {
        observers: Observers::begin(ObserveLevel::All, Instant::now(), Some(file), None),
        postmaster: watched.server.postmaster,
        id: None,
    };
    observing.id = Some(observing.observers.watch(watched));
    on_event(ObserveEvent::Begun(Box::new(header)));
    observing.watch(request, stop, on_event);
    observing.end(&request.output)
}

struct Observing {
    observers: Observers,
    /// The postmaster; `None` while the server is not there.
    postmaster: Option<u32>,
    id: Option<ServerId>,
}

impl Observing {
    fn watch(&mut self, request: &ObserveRequest<'_>, stop: &Stop, on_event: &mut dyn FnMut(ObserveEvent)) {
        let begun = Instant::now();
        let mut looked = begun;
        while !stop.requested() && request.duration.is_none_or(|duration| begun.elapsed() < duration) {
            if looked.elapsed() >= SERVER_EVERY {
                looked = Instant::now();
                self.look(request.options, stop, on_event);
            }
            let left = request.duration.map(|duration| duration.saturating_sub(begun.elapsed()));
            thread::sleep(left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY));
        }
    }

    /// Follows a server that ends, and one that is started again, which has other processes and perhaps another log.
    fn look(&mut self, options: &ConnectOptions, stop: &Stop, on_event: &mut dyn FnMut(ObserveEvent)) {
        match self.postmaster {
            Some(pid) if procs::is_taken(pid) => {}
            Some(_) => {
                self.postmaster = None;
                on_event(ObserveEvent::ServerEnded);
            }
            None => {
                if let Ok((watched, _)) = find(options, stop) {
                    self.id.take().and_then(|id| self.observers.forget(id));
                    self.postmaster = watched.server.postmaster;
                    self.id = Some(self.observers.watch(watched));
                    on_event(ObserveEvent::ServerBack);
                }
            }
        }
    }

    fn end(mut self, output: &Path) -> Result<ObservedFile, Problem> {
        let failed = |error: io::Error| could_not_write(output, &error);
        let ended = self.observers.end().unwrap_or_default();
        if let Some(why) = ended.unwritten {
            return Err(Problem::could_not(format!("could not write {}: {why}", output.display()))
                .hint("what was written until then can be joined"));
        }
        append_cost(output, ended.over_s, ended.cost).map_err(failed)?;
        let path = compress_if_large(output).map_err(failed)?;
        let bytes = path.metadata().map_err(failed)?.len();
        let dropped = (ended.dropped_lines > 0)
            .then(|| format!("{} lines could not be written fast enough", ended.dropped_lines));
        let clock = ended.clocks.into_iter().next();
        let unread =
            clock.is_none().then(|| "the server's clock was never read, so it cannot be joined".to_owned());
        let missing = dropped.into_iter().chain(unread).collect();
        Ok(ObservedFile { path, bytes, over_s: ended.over_s, cost: ended.cost, clock, missing })
    }
}

/// The server as observers know it, if it runs here.
fn find(options: &ConnectOptions, stop: &Stop) -> Result<(Watched, ObservedServer), Problem> {
    let failed = |error: pgdyno_wire::WireError| error.into_problem(WHAT);
    let mut session = connect_unless(stop, options)?;
    session.heed(stop);
    check_version(&session)?;
    let postmaster = postmaster_here(&mut session).map_err(failed)?.ok_or_else(elsewhere)?;
    let facts = server_facts(&mut session, ServerSource::External, None).map_err(failed)?;
    // A role may not know the directory, but the postmaster works in it.
    let data = facts.data_directory.map(PathBuf::from).or_else(|| procs::working_dir(postmaster));
    let places = places_in(&mut session, data);
    let log = ServerLog::find(&mut session, postmaster);
    let port = session.value("SHOW port").map_err(failed)?.and_then(|port| port.parse().ok());
    let identity = server_identity(&mut session, facts.version_num).map_err(failed)?;
    let (Some(port), Some(identity)) = (port, identity) else { return Err(nameless(&session)) };
    let session = SessionOptions {
        connect: options.clone(),
        databases: Vec::new(),
        stays_out: false,
        pooled: false,
        clock_only: true,
        version_num: facts.version_num,
        leaves_free: 0,
    };
    let server = WatchedServer { postmaster: Some(postmaster), places, ..WatchedServer::default() };
    let watched = Watched { subject: None, server, log: Some(log), session: Some(session) };
    Ok((watched, ObservedServer { version_num: facts.version_num, port, identity }))
}

fn elsewhere() -> Problem {
    Problem::wrong_request(format!("{WHAT}: its processes are not on this machine"))
        .detail("the process of this session is not a child of a postgres process here")
        .hint(
            "run `pgdyno observe` on the machine of the server, and in its container if it is in one; \
             to observe a server from elsewhere: `pgdyno top`",
        )
}

fn nameless(session: &Session) -> Problem {
    let version = session.parameter("server_version").unwrap_or("unknown");
    Problem::could_not(format!("{WHAT}: it does not report when it was started"))
        .detail(format!("server_version is {version}"))
        .hint("connect to the server itself, not to a pooler")
}

fn header(
    request: &ObserveRequest<'_>,
    watched: &Watched,
    server: ObservedServer,
    tool: ToolRecord,
) -> ObserverHeader {
    let log = watched.log.as_ref().filter(|log| log.is_known());
    ObserverHeader {
        format: OBSERVER_FORMAT.to_owned(),
        version: OBSERVER_VERSION,
        tool,
        machine: request.machine.clone(),
        boot_id: procs::boot_id(),
        clock_source: facts::host().ok().and_then(|host| host.kernel.clocks.current),
        started_at: Timestamp::now().to_string(),
        server,
        log: log.map(|log| LogReport { silent: log.silent().to_vec(), is_foreign: log.is_foreign() }),
    }
}

/// Creates the file with its header. Like the server's log, of which it has messages, it is its owner's only.
fn create(path: &Path, header: &ObserverHeader) -> Result<File, Problem> {
    let failed = |error: io::Error| could_not_write(path, &error);
    let mut line = serde_json::to_vec(header).map_err(io::Error::other).map_err(failed)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(&line).map_err(failed)?;
    Ok(file)
}

/// Writes the last line.
fn append_cost(path: &Path, over_s: f64, cost: ObserverCost) -> io::Result<()> {
    let last = Observed { at_s: over_s, over_s, subject: None, machine: None, what: What::Cost(cost) };
    let mut line = serde_json::to_vec(&last)?;
    line.push(b'\n');
    OpenOptions::new().append(true).open(path)?.write_all(&line)
}

fn could_not_write(path: &Path, error: &io::Error) -> Problem {
    let what = |why: &str| format!("could not write {}: {why}", path.display());
    match error.kind() {
        io::ErrorKind::AlreadyExists => Problem::wrong_request(what("it already exists"))
            .hint("choose another with --output. Nothing was changed."),
        _ => Problem::could_not(what(&error.to_string())).hint("choose another file with --output"),
    }
}
