//! From an address to an authenticated session.

use std::{
    collections::BTreeMap,
    io,
    net::{TcpStream, ToSocketAddrs},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::{Duration, Instant},
};

use pgdyno_core::problem::Problem;
use postgres_protocol::authentication::{md5_hash, sasl};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
    sockopt::{self, Timeout},
};

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
    let mut greeting = Greeting { incoming: Incoming::greeting(socket, deadline), options, seen: 0 };
    let (parameters, backend_pid) = greeting.greet()?;
    greeting.incoming.greeted()?;
    Ok(Session::new(greeting.incoming, parameters, backend_pid))
}

fn explain(error: WireError, what: &str, options: &ConnectOptions) -> Problem {
    match error {
        WireError::Io(error) => {
            let problem = Problem::could_not(format!("{what}: {}", describe(&error)));
            problem.hint(
                "is a server running there? Name another with -h and -p, or leave both out to have one made",
            )
        }
        WireError::NoPassword => {
            let problem = Problem::could_not(format!("{what}: {error}"));
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
        return Ok(Socket::Unix(connect_unix(&path, timeout)?));
    }
    let Address::Tcp(host, port) = address else { unreachable!("an address is a socket or a host") };
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("host name \"{host}\" has no address"));
    for resolved in (host.as_str(), *port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&resolved, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                keep_alive(&stream)?;
                return Ok(Socket::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

/// Connects to a socket within a time. A server that is stopped leaves its queue full, and connect() would wait for
/// ever.
fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

/// Lets the kernel ask after a silent peer, so that one that is gone without a word is noticed in a minute and a half.
/// Statements may take hours: a limit on silence itself would end good ones.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(30))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15))?;
    Ok(sockopt::set_tcp_keepcnt(stream, 4)?)
}

/// The conversation from StartupMessage to ReadyForQuery.
struct Greeting<'a> {
    incoming: Incoming,
    options: &'a ConnectOptions,
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
                b'Z' if body == b"I" => return Ok((parameters, backend_pid)),
                b'N' => {}
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
        if self.seen > MAX_GREETING_MESSAGES {
            let text = format!("more than {MAX_GREETING_MESSAGES} messages before it is ready");
            return Err(WireError::Protocol(text));
        }
        match self.incoming.next()? {
            (b'E', body) => Err(WireError::Server(Box::new(ServerError::parse(&body)))),
            (b'v', _) => {
                let text = "it wants to negotiate the protocol, where version 3.0 was asked for".to_owned();
                Err(WireError::Protocol(text))
            }
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
        let challenge = self.sasl(11)?;
        check_challenge(scram.message(), &challenge)?;
        scram.update(&challenge).map_err(not_scram)?;
        self.answer(scram.message())?;
        let signature = self.sasl(12)?;
        scram.finish(&signature).map_err(not_scram)
    }

    /// The next message of a SASL exchange. A server that lets us in before the end may not know the password.
    fn sasl(&mut self, expected: i32) -> Result<Vec<u8>, WireError> {
        match self.request()? {
            (kind, body) if kind == expected => Ok(body),
            (0, _) => Err(WireError::Authentication(
                "the server asked for SCRAM and did not prove that it knows the password".to_owned(),
            )),
            _ => Err(cut("SASL")),
        }
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
        let password = self.options.password.as_ref().ok_or(WireError::NoPassword)?;
        Ok(password.reveal())
    }
}

/// What RFC 5802 demands of the server's challenge and the SCRAM library does not: at least one iteration, and a nonce
/// that adds something to ours.
fn check_challenge(first: &[u8], challenge: &[u8]) -> Result<(), WireError> {
    let (first, challenge) = (String::from_utf8_lossy(first), String::from_utf8_lossy(challenge));
    let ours = first.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
    let part = |name| challenge.split(',').find_map(|part| part.strip_prefix(name));
    let refuse = |why: &str| Err(WireError::Authentication(format!("SCRAM was refused: {why}")));
    if part("i=").and_then(|text| text.parse::<u64>().ok()) == Some(0) {
        return refuse("the server wants no iteration");
    }
    if part("r=") == Some(ours) {
        return refuse("the server adds nothing to our nonce");
    }
    Ok(())
}

fn not_scram(error: io::Error) -> WireError {
    WireError::Authentication(format!("SCRAM was refused: {error}"))
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
