//! Sockets whose waits end at a deadline or a stop request.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketAddrUnix, SocketFlags,
        SocketType, connect, recv, send, sockopt,
    },
};
use rustls::ClientConnection;

use crate::{TcpSettings, WireError, tls::explain};

/// Interval in which a stop request is noticed.
const STOP_POLL: Duration = Duration::from_millis(100);
/// Interval between tries to connect to a Unix-domain socket whose backlog is full: no event reports that there is
/// room.
const QUEUE_POLL: Duration = Duration::from_millis(20);
/// Longest path of a Unix-domain socket in bytes (`sun_path` without its terminator).
const MAX_SOCKET_PATH_BYTES: usize = 107;
/// Plaintext given to TLS at once, which limits the buffer of encrypted data.
const TLS_CHUNK_BYTES: usize = 64 << 10;

/// Limits of a wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitLimits {
    /// Latest end; `None` waits forever.
    pub(crate) deadline: Option<Instant>,
    /// Stop request that ends a wait, if one may come.
    pub(crate) stop: Option<Stop>,
}

impl WaitLimits {
    /// How long to wait before checking again; `None` is forever.
    pub(crate) fn slice(&self) -> Result<Option<Duration>, WireError> {
        if self.stop.as_ref().is_some_and(Stop::requested) {
            return Err(WireError::Stopped);
        }
        let poll = self.stop.as_ref().map(|_| STOP_POLL);
        let Some(deadline) = self.deadline else { return Ok(poll) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        Ok(Some(poll.map_or(left, |poll| poll.min(left))))
    }

    /// Waits until a socket is ready.
    fn wait(&self, fd: &OwnedFd, flags: PollFlags) -> Result<(), WireError> {
        loop {
            let slice = self.slice()?.map(|slice| Timespec {
                tv_sec: slice.as_secs() as i64,
                tv_nsec: i64::from(slice.subsec_nanos().max(1)) as _,
            });
            match poll(&mut [PollFd::new(fd, flags)], slice.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }
}

/// A connected socket, with or without TLS. System calls never block: all waits happen in [`WaitLimits`].
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    tls: Option<Box<ClientConnection>>,
    pub(crate) limits: WaitLimits,
}

/// The unencrypted socket, for rustls.
struct Raw<'a>(&'a OwnedFd);

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        rustix::io::retry_on_intr(|| recv(self.0, &mut *buffer, RecvFlags::DONTWAIT))
            .map(|(bytes, _)| bytes)
            .map_err(Into::into)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::io::retry_on_intr(|| send(self.0, bytes, flags))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// Connects to a Unix-domain socket; `@` before its path selects the abstract namespace.
    pub(crate) fn unix(path: &Path, limits: WaitLimits) -> Result<Self, WireError> {
        let length = path.as_os_str().len();
        if length > MAX_SOCKET_PATH_BYTES {
            let text = format!("the socket's path has {length} bytes, {MAX_SOCKET_PATH_BYTES} are possible");
            return Err(WireError::Io(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        let address = match path.as_os_str().as_encoded_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddrUnix::new_abstract_name(name),
            None => SocketAddrUnix::new(path),
        };
        Self::open(AddressFamily::UNIX, &address.map_err(io::Error::from)?.into(), limits)
    }

    /// Connects to a TCP port.
    pub(crate) fn tcp(address: SocketAddr, tcp: &TcpSettings, limits: WaitLimits) -> Result<Self, WireError> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = Self::open(family, &address.into(), limits)?;
        tune(&socket.fd, tcp)?;
        Ok(socket)
    }

    /// Connects without blocking in the kernel: a stopped server leaves its backlog full, and `connect()` would wait
    /// forever.
    fn open(family: AddressFamily, address: &SocketAddrAny, limits: WaitLimits) -> Result<Self, WireError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd =
            rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(io::Error::from)?;
        loop {
            match connect(&fd, address) {
                Ok(()) | Err(Errno::ISCONN) => break,
                Err(Errno::INPROGRESS | Errno::INTR | Errno::ALREADY) => {
                    limits.wait(&fd, PollFlags::OUT)?;
                    sockopt::socket_error(&fd).map_err(io::Error::from)?.map_err(io::Error::from)?;
                    break;
                }
                Err(Errno::AGAIN) => {
                    let slice = limits.slice()?.unwrap_or(QUEUE_POLL);
                    std::thread::sleep(slice.min(QUEUE_POLL));
                }
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        rustix::io::ioctl_fionbio(&fd, false).map_err(io::Error::from)?;
        Ok(Self { fd, tls: None, limits })
    }

    /// Performs the TLS handshake.
    pub(crate) fn start_tls(&mut self, connection: ClientConnection) -> Result<(), WireError> {
        let tls = self.tls.insert(Box::new(connection));
        while tls.is_handshaking() || tls.wants_write() {
            self.limits.slice()?;
            if tls.wants_write() {
                flush(tls, &self.fd, &self.limits)?;
            } else if fill(tls, &self.fd, &self.limits)? == 0 {
                return Err(WireError::tls("the server closed the connection instead of starting TLS", None));
            }
        }
        Ok(())
    }

    /// TLS state, if the connection is encrypted.
    pub(crate) fn tls(&self) -> Option<&ClientConnection> {
        self.tls.as_deref()
    }

    /// Reads unencrypted bytes, at most as many as fit into the buffer.
    pub(crate) fn read_plain(&mut self, buffer: &mut [u8]) -> Result<usize, WireError> {
        loop {
            match Raw(&self.fd).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.limits.wait(&self.fd, PollFlags::IN)?;
                }
                result => return Ok(result?),
            }
        }
    }

    /// Waits for data and reads it; 0 is end of file.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let Some(tls) = &mut self.tls else {
            self.limits.slice()?;
            return self.read_plain(buffer);
        };
        loop {
            // Checks the limits in every round, since a peer might send records without data forever.
            self.limits.slice()?;
            match tls.reader().read(buffer) {
                Ok(bytes) => return Ok(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error.into()),
            }
            fill(tls, &self.fd, &self.limits)?;
        }
    }

    /// Writes everything.
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let Some(tls) = &mut self.tls else { return send_all(&self.fd, bytes, &self.limits) };
        for chunk in bytes.chunks(TLS_CHUNK_BYTES) {
            let mut left = chunk;
            while !left.is_empty() {
                let taken = tls.writer().write(left)?;
                left = &left[taken..];
                flush(tls, &self.fd, &self.limits)?;
            }
        }
        Ok(())
    }

    /// Shuts down the sending side: the peer reads what it has, and then end of file.
    pub(crate) fn end_sending(&mut self) {
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Write); // the connection may be gone
    }

    /// Whether data can be read without waiting.
    pub(crate) fn is_readable(&mut self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let readable =
            poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0);
        let Some(tls) = &mut self.tls else { return readable };
        if readable {
            // May be a record without data, such as a session ticket. An error shows in the next read.
            let _ = tls.read_tls(&mut Raw(&self.fd));
        }
        match tls.process_new_packets() {
            Ok(state) => state.plaintext_bytes_to_read() > 0 || state.peer_has_closed(),
            Err(_) => true,
        }
    }

    /// Takes the TLS state, for the caller to continue with.
    pub(crate) fn take_tls(&mut self) -> Option<Box<ClientConnection>> {
        self.tls.take()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn send_all(fd: &OwnedFd, mut bytes: &[u8], limits: &WaitLimits) -> Result<(), WireError> {
    while !bytes.is_empty() {
        match Raw(fd).write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => limits.wait(fd, PollFlags::OUT)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends everything that TLS has pending.
fn flush(tls: &mut ClientConnection, fd: &OwnedFd, limits: &WaitLimits) -> Result<(), WireError> {
    while tls.wants_write() {
        match tls.write_tls(&mut Raw(fd)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => limits.wait(fd, PollFlags::OUT)?,
            Err(error) => return Err(last_alert(tls, fd).unwrap_or_else(|| error.into())),
        }
    }
    Ok(())
}

/// The alert with which a peer stopped listening, if it has come: it says more than the failed write. Does not wait.
fn last_alert(tls: &mut ClientConnection, fd: &OwnedFd) -> Option<WireError> {
    while tls.read_tls(&mut Raw(fd)).is_ok_and(|bytes| bytes > 0) {
        if let Err(error) = tls.process_new_packets() {
            return Some(explain(error));
        }
    }
    None
}

/// Receives data for TLS; 0 is end of file.
fn fill(tls: &mut ClientConnection, fd: &OwnedFd, limits: &WaitLimits) -> Result<usize, WireError> {
    loop {
        match tls.read_tls(&mut Raw(fd)) {
            Ok(bytes) => {
                let processed = tls.process_new_packets();
                if processed.is_err() {
                    let _ = tls.write_tls(&mut Raw(fd)); // sends the alert, if the peer still listens
                }
                processed.map_err(explain)?;
                return Ok(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => limits.wait(fd, PollFlags::IN)?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Applies the TCP settings.
fn tune(fd: &OwnedFd, tcp: &TcpSettings) -> io::Result<()> {
    sockopt::set_tcp_nodelay(fd, true)?;
    if let Some(timeout_ms) = tcp.user_timeout_ms {
        sockopt::set_tcp_user_timeout(fd, timeout_ms)?;
    }
    if !tcp.keepalives {
        return Ok(());
    }
    sockopt::set_socket_keepalive(fd, true)?;
    if let Some(idle) = tcp.idle {
        sockopt::set_tcp_keepidle(fd, idle)?;
    }
    if let Some(interval) = tcp.interval {
        sockopt::set_tcp_keepintvl(fd, interval)?;
    }
    if let Some(count) = tcp.count {
        sockopt::set_tcp_keepcnt(fd, count)?;
    }
    Ok(())
}
