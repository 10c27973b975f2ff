//! From addresses to an authenticated session: tries hosts, their addresses, and kinds of encryption, one after the
//! other.

mod attrs;
mod cancel;
mod channel;
mod greeting;
mod look_up;
mod scram;
mod socket;
mod startup;

use std::{io, net::SocketAddr, time::Instant};

use pgdyno_core::{problem::Problem, stop::Stop};

pub(crate) use cancel::Canceller;
pub(crate) use socket::{Socket, WaitLimits};

use super::{
    Address, ConnectOptions, Host, Session, SessionAttrs, SslMode, Tried, WireError, describe,
    session::Incoming,
};
use channel::{Failed, Place, Way, encrypt};
use startup::Startup;

/// Connects and authenticates.
///
/// # Errors
/// What could not be done, to which address and why, with a hint.
pub fn connect(options: &ConnectOptions) -> Result<Session, Problem> {
    try_connect(options).map_err(|error| explain(error, options))
}

/// Like [`connect`], and reacts to a stop request within a fraction of a second, whatever the server does.
///
/// # Errors
/// See [`connect`]; also if a stop is requested.
pub fn connect_unless(stop: &Stop, options: &ConnectOptions) -> Result<Session, Problem> {
    Hosts { options, stop: Some(stop) }.connect().map_err(|error| explain(error, options))
}

/// Like [`connect`], with the original error: for callers that try again.
pub(crate) fn try_connect(options: &ConnectOptions) -> Result<Session, WireError> {
    Hosts { options, stop: None }.connect()
}

/// Like [`try_connect`]; on failure it returns every address tried, in order, each with its error.
pub(crate) fn try_everywhere(options: &ConnectOptions) -> Result<Session, Vec<Tried>> {
    Hosts { options, stop: None }.try_all()
}

/// Like [`connect_unless`], with the original error: for callers that try again.
///
/// # Errors
/// The error that broke the connection, or why none could be made.
pub fn try_connect_unless(stop: &Stop, options: &ConnectOptions) -> Result<Session, WireError> {
    Hosts { options, stop: Some(stop) }.connect()
}

/// Hint if no server answers. Callers that could start a server add to it.
pub const NOBODY_THERE: &str = "is a server running there? Name another with -h and -p";

fn explain(error: WireError, options: &ConnectOptions) -> Problem {
    let what = format!("could not connect to {} as {}", options.places(), options.user);
    match error {
        WireError::Io(error) => {
            let problem = Problem::could_not(format!("{what}: {}", describe(&error)));
            problem.hint(NOBODY_THERE)
        }
        WireError::NoPassword => {
            let problem = Problem::could_not(format!("{what}: {error}"));
            let ignored = options.hosts.iter().find_map(|host| host.passfile_ignored.as_ref());
            Problem { detail: ignored.map(ToString::to_string), ..problem }
                .hint("set PGPASSWORD, or write a line into the password file (PGPASSFILE, mode 0600)")
        }
        WireError::Everywhere(tried) => {
            let tried: Vec<_> = tried.iter().map(attempt_words).collect();
            Problem::could_not(what).detail(tried.join("\n")).hint("is a server running at any of them?")
        }
        other => other.into_problem(&what),
    }
}

fn attempt_words(Tried { address, ip, error }: &Tried) -> String {
    let ip = ip.map_or(String::new(), |ip| format!(" ({ip})"));
    format!("{address}{ip}: {}", reason(error))
}

fn reason(error: &WireError) -> String {
    match error {
        WireError::Io(error) => describe(error),
        other => other.to_string(),
    }
}

/// All hosts to try.
struct Hosts<'a> {
    options: &'a ConnectOptions,
    stop: Option<&'a Stop>,
}

impl Hosts<'_> {
    fn connect(&self) -> Result<Session, WireError> {
        self.try_all().map_err(|mut tried| match tried.pop() {
            // An error that ends the search is about the request itself, so it is reported alone.
            Some(last) if tried.is_empty() || !goes_on(&last.error) => last.error,
            last => {
                tried.extend(last);
                WireError::Everywhere(tried)
            }
        })
    }

    fn try_all(&self) -> Result<Session, Vec<Tried>> {
        let mut hosts: Vec<&Host> = self.options.hosts.iter().collect();
        if self.options.load_balance {
            look_up::shuffle(&mut hosts);
        }
        let mut tried = Vec::new();
        let rounds: &[SessionAttrs] = match self.options.target {
            SessionAttrs::PreferStandby => &[SessionAttrs::Standby, SessionAttrs::Any],
            ref other => std::slice::from_ref(other),
        };
        for (round, target) in rounds.iter().enumerate() {
            for host in &hosts {
                if let Some(session) = self.host(host, *target, &mut tried) {
                    return Ok(session);
                }
                if tried.last().is_some_and(|last| !goes_on(&last.error)) {
                    return Err(tried);
                }
            }
            // Errors of the first round are reported if the second round finds nothing either.
            if round + 1 < rounds.len() {
                tried.clear();
            }
        }
        Err(tried)
    }

    /// Tries all addresses of a host. Only an error that is not about the request itself lets the next one be tried.
    fn host(&self, host: &Host, target: SessionAttrs, tried: &mut Vec<Tried>) -> Option<Session> {
        let places = match self.places(host) {
            Ok(places) => places,
            Err(error) => {
                tried.push(Tried { address: host.address.clone(), ip: None, error });
                return None;
            }
        };
        for place in places {
            let ip = match (&place, &host.address) {
                (Place::Tcp(found), Address::Tcp(name, _)) if found.ip().to_string() != *name => {
                    Some(found.ip())
                }
                _ => None,
            };
            match self.place(host, &place, target) {
                Ok(session) => return Some(session),
                Err(error) => {
                    let done = !goes_on(&error);
                    tried.push(Tried { address: host.address.clone(), ip, error });
                    if done {
                        break;
                    }
                }
            }
        }
        None
    }

    fn places(&self, host: &Host) -> Result<Vec<Place>, WireError> {
        if let Some(path) = host.address.socket_path() {
            return Ok(vec![Place::Unix(path)]);
        }
        let Address::Tcp(name, port) = &host.address else { return Ok(Vec::new()) };
        let mut found = match host.hostaddr {
            Some(ip) => vec![SocketAddr::new(ip, *port)],
            None => look_up::look_up(name, *port, &self.wait_limits())?,
        };
        if self.options.load_balance {
            look_up::shuffle(&mut found);
        }
        Ok(found.into_iter().map(Place::Tcp).collect())
    }

    /// Each address gets the whole connect timeout.
    fn wait_limits(&self) -> WaitLimits {
        WaitLimits {
            deadline: Instant::now().checked_add(self.options.connect_timeout),
            stop: self.stop.cloned(),
        }
    }

    /// Tries one address with the kinds of encryption that `sslmode` allows.
    fn place(&self, host: &Host, place: &Place, target: SessionAttrs) -> Result<Session, WireError> {
        let ways: &[Way] = match (place, self.options.tls.mode) {
            (Place::Unix(_), _) | (_, SslMode::Disable) => &[Way::Plain],
            (_, SslMode::Allow) => &[Way::Plain, Way::Tls],
            (_, SslMode::Prefer) => &[Way::TlsIfPossible, Way::Plain],
            _ => &[Way::Tls],
        };
        let mut result = self.one_way(host, place, ways[0], target);
        for way in &ways[1..] {
            match &result {
                Err(Failed { error, next_way: true }) if another_way_may_help(error) => {
                    let next = self.one_way(host, place, *way, target);
                    // Of two errors the first explains why the preferred kind was not used.
                    result = match (next, result) {
                        (Ok(session), _) => Ok(session),
                        (Err(next), Err(first)) if matches!(next.error, WireError::Tls { .. }) => Err(first),
                        (Err(next), _) => Err(next),
                    };
                }
                _ => break,
            }
        }
        result.map_err(|failed| failed.error)
    }

    fn one_way(&self, host: &Host, place: &Place, way: Way, target: SessionAttrs) -> Result<Session, Failed> {
        let ConnectOptions { tls, tls_cache, tcp, .. } = self.options;
        let socket = place.open(tcp, self.wait_limits()).map_err(Failed::for_good)?;
        let socket = encrypt(socket, &host.address, (tls, tls_cache), way)?;
        let tls = socket.tls().map(|_| (tls.clone(), tls_cache.clone()));
        let incoming = Incoming::greeting(socket);
        if let Place::Unix(_) = place {
            greeting::check_peer(incoming.socket_ref(), self.options.require_peer.as_deref())
                .map_err(Failed::for_good)?;
        }
        let mut startup = Startup::new(incoming, self.options, host);
        let (parameters, key) = match greeting::greet(&mut startup) {
            Ok(greeted) => greeted,
            // As in libpq: once the server has sent a request, another kind of encryption would fail as well.
            Err(error) => return Err(Failed { next_way: !startup.asked, error }),
        };
        let canceller =
            Canceller { place: place.clone(), address: host.address.clone(), tls, tcp: tcp.clone(), key };
        let on_notice = self.options.on_notice.clone();
        let mut session = Session::new(startup.incoming, parameters, canceller, on_notice);
        attrs::check(&mut session, target).map_err(Failed::for_good)?;
        session.greeted();
        Ok(session)
    }
}

/// Whether the next host or address may be tried: no server answered, or none that could serve.
fn goes_on(error: &WireError) -> bool {
    match error {
        WireError::Io(_) | WireError::Closed | WireError::NotWanted(_) => true,
        WireError::Server(error) => error.code == "57P03",
        _ => false,
    }
}

/// Whether another kind of encryption may succeed. A server that does not answer is silent in every kind.
fn another_way_may_help(error: &WireError) -> bool {
    match error {
        WireError::Io(error) => error.kind() == io::ErrorKind::ConnectionReset,
        WireError::Closed | WireError::Server(_) | WireError::Unauthenticated(_) | WireError::Tls { .. } => {
            true
        }
        _ => false,
    }
}
