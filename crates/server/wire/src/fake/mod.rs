//! A scripted PostgreSQL server: its answers and their times are known, so that clients can be tested against them.
//!
//! The server implements its side of protocol 3.0 on a Unix-domain socket in a temporary directory, or on loopback TCP,
//! with one thread per connection. A [`Greeting`] determines the startup phase, a closure from [`Request`] to
//! [`Answer`] the answers and their times. [`usual`] answers like a server whose tables hold one row.
//!
//! Its uses are tests of the wire and of reported latencies, hostile messages and fuzzing. Nothing is stored.

mod answer;
mod connection;
mod greeting;
pub mod message;
mod shared;

use std::{
    fs::File,
    io,
    net::TcpListener,
    os::{fd::OwnedFd, unix::net::UnixListener},
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Duration,
};

pub use answer::{Answer, Request, usual};
pub use greeting::{CANCEL_REQUEST, Greeting, SSL_REQUEST, trust};
pub use message::{Message, Startup};

use crate::{Address, ConnectOptions, Host, Password};
use shared::Shared;

/// Port in the name of the socket.
const SOCKET_PORT: u16 = 5432;

/// Stack size of a connection's thread: thousands of them must fit into memory.
const STACK_BYTES: usize = 256 << 10;

/// Kind of address for a fake server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Unix-domain socket in a temporary directory.
    Socket,
    /// A free TCP port of 127.0.0.1.
    Loopback,
}

/// A running fake server. Dropping it closes everything.
pub struct FakeServer {
    address: Address,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    _dir: Option<tempfile::TempDir>,
}

impl FakeServer {
    /// Starts a server on a Unix-domain socket that accepts everybody and answers as `script` says.
    ///
    /// # Errors
    /// See [`FakeServer::listen`].
    pub fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        Self::listen(Listen::Socket, Box::new(trust), script)
    }

    /// Starts a server with this address, greeting and script.
    ///
    /// # Errors
    /// The kernel's error, if it cannot create a directory, socket or thread.
    pub fn listen(
        listen: Listen,
        greeting: Box<Greeting>,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(greeting, script));
        let (address, dir, accept) = open(listen)?;
        let accepting = Arc::clone(&shared);
        let acceptor = thread::Builder::new().name("fake server".into()).spawn(move || {
            while let Ok(link) = accept() {
                if accepting.closing.load(Ordering::Acquire) {
                    return;
                }
                serve(&accepting, link);
            }
        })?;
        Ok(Self { address, shared, acceptor: Some(acceptor), _dir: dir })
    }

    /// Parameters to connect as role `me` with this password to database `db`, within 5 seconds.
    pub fn options(&self, password: Option<&str>) -> ConnectOptions {
        let host = Host { password: password.map(Password::new), ..Host::at(self.address.clone()) };
        ConnectOptions {
            hosts: vec![host],
            database: "db".to_owned(),
            connect_timeout: Duration::from_secs(5),
            ..ConnectOptions::local(self.address.clone(), "me")
        }
    }

    /// All messages received so far after the greeting, each with the number of its connection (from 0).
    pub fn received(&self) -> Vec<(usize, Message)> {
        self.shared.lock().received.clone()
    }

    /// StartupMessages of all connections so far, in order.
    pub fn startups(&self) -> Vec<Startup> {
        self.shared.lock().startups.iter().map(Startup::read).collect()
    }

    /// Service times of all answers so far, from the last byte of the request to the last byte of the answer, by the
    /// server's own clock, and so including delays of its own threads.
    pub fn served(&self) -> Vec<Duration> {
        self.shared.lock().served.clone()
    }

    /// Stops recording messages and service times, to bound the memory of long runs.
    pub fn keep_nothing(&self) {
        self.shared.keeping.store(false, Ordering::Relaxed);
    }

    /// Directory of the socket, if the server listens on one.
    pub fn socket_dir(&self) -> Option<PathBuf> {
        self._dir.as_ref().map(|dir| dir.path().to_owned())
    }

    /// Number of connections made so far.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections.len()
    }

    /// Cuts every connection at once, like a kill of all server processes. New ones are still accepted.
    pub fn cut_connections(&self) {
        for link in self.shared.lock().connections.iter().flatten() {
            let _ = rustix::net::shutdown(&**link, rustix::net::Shutdown::Both); // the client may have closed it
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.cut_connections();
        // Wakes the acceptor, which blocks in accept().
        let woken = match &self.address {
            Address::Tcp(host, port) => std::net::TcpStream::connect((host.as_str(), *port)).is_ok(),
            unix => {
                unix.socket_path().is_some_and(|path| std::os::unix::net::UnixStream::connect(path).is_ok())
            }
        };
        if let Some(acceptor) = self.acceptor.take().filter(|_| woken) {
            let _ = acceptor.join(); // a panic has been printed
        }
    }
}

/// Starts the thread of a connection.
fn serve(shared: &Arc<Shared>, link: OwnedFd) {
    // One shared descriptor, to stay within the limit with thousands of clients.
    let link = Arc::new(File::from(link));
    let number = {
        let mut state = shared.lock();
        state.connections.push(Some(Arc::clone(&link)));
        state.connections.len() - 1
    };
    let shared = Arc::clone(shared);
    let work = move || {
        // An I/O error is for the client to notice.
        let _ = connection::converse(&link, number, &shared);
        // The registry holds the descriptor too, so dropping this one would not close the connection.
        let _ = rustix::net::shutdown(&*link, rustix::net::Shutdown::Both);
        if !shared.keeping.load(Ordering::Relaxed) {
            shared.lock().connections[number] = None;
        }
    };
    let thread = thread::Builder::new().name(format!("backend {number}")).stack_size(STACK_BYTES);
    let _ = thread.spawn(work);
}

type Accept = Box<dyn Fn() -> io::Result<OwnedFd> + Send>;

fn open(listen: Listen) -> io::Result<(Address, Option<tempfile::TempDir>, Accept)> {
    match listen {
        Listen::Socket => {
            let dir = tempfile::tempdir()?;
            let address = Address::Unix(dir.path().to_owned(), SOCKET_PORT);
            let listener = UnixListener::bind(dir.path().join(format!(".s.PGSQL.{SOCKET_PORT}")))?;
            Ok((address, Some(dir), Box::new(move || Ok(listener.accept()?.0.into()))))
        }
        Listen::Loopback => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let address = Address::Tcp("127.0.0.1".to_owned(), listener.local_addr()?.port());
            let accept = move || {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            };
            Ok((address, None, Box::new(accept)))
        }
    }
}
