//! From an address to an authenticated session.

use std::{
    collections::BTreeMap,
    io,
    net::{TcpStream, ToSocketAddrs},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use pgdyno_core::problem::Problem;
use postgres_protocol::authentication::{md5_hash, sasl};

use super::{
    Address, ConnectOptions, ServerError, Session, WireError, encode,
    session::{Incoming, Socket},
};

/// Messages a server may send before it is ready. More is a flood.
const MAX_GREETING_MESSAGES: usize = 1_000;

/// Connects and authenticates.
///
/// # Errors
/// What could not be done, to which address and why, with a hint.
pub fn connect(options: &ConnectOptions) -> Result<Session, Problem> {
    let what = format!("could not connect to {} as {}", options.address, options.user);
    try_connect(options).map_err(|error| explain(error, &what, options))
}

/// As [`connect`], with the error as it is: for callers that try again.
pub(crate) fn try_connect(options: &ConnectOptions) -> Result<Session, WireError> {
    let deadline = Instant::now() + options.connect_timeout;
    let socket = open_socket(&options.address, options.connect_timeout)?;
    let mut greeting = Greeting { incoming: Incoming::new(socket), options, deadline, seen: 0 };
    let (parameters, backend_pid) = greeting.greet()?;
    greeting.incoming.socket().set_read_timeout(None)?;
    Ok(Session::new(greeting.incoming, parameters, backend_pid))
}

fn explain(error: WireError, what: &str, options: &ConnectOptions) -> Problem {
    let no_password = options.password.is_none();
    match error {
        WireError::Io(error) => {
            let problem = Problem::could_not(format!("{what}: {}", describe(&error)));
            problem.hint(
                "is a server running there? Name another with -h and -p, or leave both out to have one made",
            )
        }
        WireError::Authentication(why) if no_password => {
            let problem = Problem::could_not(format!("{what}: {why}"));
            match &options.passfile_ignored {
                Some(ignored) => problem.detail(ignored.clone()),
                None => problem,
            }
            .hint("set PGPASSWORD, or write a line into the password file (PGPASSFILE, mode 0600)")
        }
        other => other.into_problem(what),
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such socket".to_owned(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "no answer within the connect timeout".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Longest path of a Unix-domain socket in bytes (`sun_path` without its terminator).
const MAX_SOCKET_PATH_BYTES: usize = 107;

fn open_socket(address: &Address, timeout: Duration) -> Result<Socket, WireError> {
    if let Some(path) = address.socket_path() {
        let length = path.as_os_str().len();
        if length > MAX_SOCKET_PATH_BYTES {
            let text = format!("the socket's path has {length} bytes, {MAX_SOCKET_PATH_BYTES} are possible");
            return Err(WireError::Io(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        return Ok(Socket::Unix(UnixStream::connect(path)?));
    }
    let Address::Tcp(host, port) = address else { unreachable!("an address is a socket or a host") };
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("host name \"{host}\" has no address"));
    for resolved in (host.as_str(), *port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&resolved, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(Socket::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

/// The conversation from StartupMessage to ReadyForQuery.
struct Greeting<'a> {
    incoming: Incoming,
    options: &'a ConnectOptions,
    deadline: Instant,
    seen: usize,
}

impl Greeting<'_> {
    fn greet(&mut self) -> Result<(BTreeMap<String, String>, i32), WireError> {
        self.start()?;
        self.authenticate()?;
        let (mut parameters, mut backend_pid) = (BTreeMap::new(), 0);
        loop {
            let (tag, body) = self.next()?;
            match tag {
                b'S' => {
                    let mut texts =
                        body.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
                    if let (Some(name), Some(value)) = (texts.next(), texts.next()) {
                        parameters.insert(name, value);
                    }
                }
                b'K' => backend_pid = body.first_chunk().map_or(0, |pid| i32::from_be_bytes(*pid)),
                b'Z' => return Ok((parameters, backend_pid)),
                b'N' | b'v' => {}
                tag => return Err(unexpected(tag, "while starting")),
            }
        }
    }

    fn start(&mut self) -> Result<(), WireError> {
        let options = self.options;
        let mut parameters = vec![
            ("user", options.user.as_str()),
            ("database", options.database.as_str()),
            ("application_name", options.application_name.as_str()),
            ("client_encoding", "UTF8"),
        ];
        if let Some(run_time) = &options.options {
            parameters.push(("options", run_time));
        }
        if parameters.iter().any(|(_, value)| value.contains('\0')) {
            return Err(WireError::Protocol("a connection parameter contains a NUL byte".to_owned()));
        }
        let mut out = Vec::new();
        encode::startup(&mut out, &parameters);
        self.incoming.socket().write_all(&out)?;
        Ok(())
    }

    /// The next message; an ErrorResponse is an error.
    fn next(&mut self) -> Result<(u8, Vec<u8>), WireError> {
        self.seen += 1;
        let left = self.deadline.saturating_duration_since(Instant::now());
        if self.seen > MAX_GREETING_MESSAGES || left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        self.incoming.socket().set_read_timeout(Some(left))?;
        match self.incoming.next()? {
            (b'E', body) => Err(WireError::Server(Box::new(ServerError::parse(&body)))),
            message => Ok(message),
        }
    }

    /// One of AuthenticationOk, cleartext, MD5 or SCRAM-SHA-256.
    fn authenticate(&mut self) -> Result<(), WireError> {
        let (kind, body) = self.request()?;
        match kind {
            0 => return Ok(()),
            3 => {
                let password = format!("{}\0", self.password()?);
                self.answer(password.as_bytes())?;
            }
            5 => {
                let salt = *body.first_chunk::<4>().ok_or_else(|| cut("AuthenticationMD5Password"))?;
                let hash = md5_hash(self.options.user.as_bytes(), self.password()?.as_bytes(), salt);
                self.answer(format!("{hash}\0").as_bytes())?;
            }
            10 => self.scram(&body)?,
            other => {
                let text =
                    format!("the server asks for authentication of kind {other}, which is not supported");
                return Err(WireError::Authentication(text));
            }
        }
        match self.request()? {
            (0, _) => Ok(()),
            (other, _) => {
                Err(WireError::Protocol(format!("authentication of kind {other} after the password")))
            }
        }
    }

    /// SCRAM-SHA-256 (RFC 5802, RFC 7677): the server has to prove that it knows the password too.
    fn scram(&mut self, mechanisms: &[u8]) -> Result<(), WireError> {
        if !mechanisms.split(|&byte| byte == 0).any(|name| name == sasl::SCRAM_SHA_256.as_bytes()) {
            let text = "the server offers no mechanism but those that need TLS".to_owned();
            return Err(WireError::Authentication(text));
        }
        let channel = sasl::ChannelBinding::unsupported();
        let mut scram = sasl::ScramSha256::new(self.password()?.as_bytes(), channel);
        let mut first = format!("{}\0", sasl::SCRAM_SHA_256).into_bytes();
        first.extend((scram.message().len() as i32).to_be_bytes());
        first.extend(scram.message());
        self.answer(&first)?;
        let (11, body) = self.request()? else { return Err(cut("SASL")) };
        scram.update(&body)?;
        self.answer(scram.message())?;
        let (12, body) = self.request()? else { return Err(cut("SASL")) };
        Ok(scram.finish(&body)?)
    }

    /// The kind and the rest of an Authentication message.
    fn request(&mut self) -> Result<(i32, Vec<u8>), WireError> {
        let (tag, mut body) = self.next()?;
        if tag != b'R' {
            return Err(unexpected(tag, "instead of an authentication request"));
        }
        let kind = *body.first_chunk::<4>().ok_or_else(|| cut("Authentication"))?;
        Ok((i32::from_be_bytes(kind), body.split_off(4)))
    }

    fn answer(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut out = Vec::new();
        encode::password(&mut out, bytes);
        Ok(self.incoming.socket().write_all(&out)?)
    }

    fn password(&self) -> Result<&str, WireError> {
        let missing =
            || WireError::Authentication("the server asks for a password, and none was given".to_owned());
        self.options.password.as_ref().map(|password| password.reveal()).ok_or_else(missing)
    }
}

fn unexpected(tag: u8, when: &str) -> WireError {
    WireError::Protocol(format!("a message of type {:?} {when}", tag as char))
}

fn cut(what: &str) -> WireError {
    WireError::Protocol(format!("{what} is cut or out of order"))
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}
