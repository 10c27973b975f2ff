//! A blocking session: administration, checks and COPY.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::TcpStream,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use pgdyno_engine::Stop;

use super::{CopyIn, ServerError, WireError, encode};

/// Longest message taken from the server. Administration asks for small answers only.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Time between two looks at a request to stop.
const STOP_LOOKS: Duration = Duration::from_millis(100);
/// Most rows taken from one statement.
const MAX_ROWS: usize = 10_000_000;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tcp(stream) => stream.write_all(bytes),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

/// Messages from a socket, one at a time.
#[derive(Debug)]
pub(crate) struct Incoming {
    socket: Socket,
    buffer: Vec<u8>,
    start: usize,
    /// A request to stop ends a wait, where one can come.
    stop: Option<Stop>,
}

impl Incoming {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, buffer: Vec::new(), start: 0, stop: None }
    }

    pub(crate) fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// Type and body of the next message.
    pub(crate) fn next(&mut self) -> Result<(u8, Vec<u8>), WireError> {
        self.fill(5)?;
        let head = &self.buffer[self.start..];
        let length = i32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let tag = head[0];
        if length < 4 || length as usize > MAX_MESSAGE_BYTES {
            let text = format!("a message of type {:?} gives its length as {length}", tag as char);
            return Err(WireError::Protocol(text));
        }
        let total = length as usize + 1;
        self.fill(total)?;
        let body = self.buffer[self.start + 5..self.start + total].to_vec();
        self.start += total;
        Ok((tag, body))
    }

    /// Makes sure that this many bytes are buffered. The buffer grows with what came, not with what was announced.
    fn fill(&mut self, wanted: usize) -> Result<(), WireError> {
        if self.buffer.len() - self.start < wanted {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let mut chunk = [0; 16 * 1024];
        while self.buffer.len() < self.start + wanted {
            if self.stop.as_ref().is_some_and(Stop::requested) {
                return Err(WireError::Stopped);
            }
            match self.socket.read(&mut chunk) {
                Ok(0) => return Err(WireError::Closed),
                Ok(bytes) => self.buffer.extend_from_slice(&chunk[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.stop.is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// One row of an answer, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(Vec<Option<String>>);

impl Row {
    /// The text of a column; `None` is NULL or a column that is not there.
    pub fn get(&self, column: usize) -> Option<&str> {
        self.0.get(column)?.as_deref()
    }

    /// A column as any type that parses from text; `None` where it is NULL or does not parse.
    pub fn parse<T: std::str::FromStr>(&self, column: usize) -> Option<T> {
        self.get(column)?.parse().ok()
    }
}

/// An authenticated, blocking session.
#[derive(Debug)]
pub struct Session {
    incoming: Incoming,
    parameters: BTreeMap<String, String>,
    backend_pid: i32,
    /// Whether the session ends with this value: not after the hot path took its socket.
    says_goodbye: bool,
}

impl Session {
    pub(super) fn new(incoming: Incoming, parameters: BTreeMap<String, String>, backend_pid: i32) -> Self {
        Self { incoming, parameters, backend_pid, says_goodbye: true }
    }

    /// Lets a request to stop end every wait for this session's server with [`WireError::Stopped`]. The session is of no
    /// use after that: what it asked for is still under way.
    ///
    /// # Errors
    /// The kernel's, where the socket takes no timeout.
    pub fn heed(&mut self, stop: &Stop) -> io::Result<()> {
        self.incoming.stop = Some(stop.clone());
        self.incoming.socket.set_read_timeout(Some(STOP_LOOKS))
    }

    /// A parameter that the server reported, for example `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Process id of the backend, on the server's machine.
    pub fn backend_pid(&self) -> i32 {
        self.backend_pid
    }

    /// Runs SQL by the simple protocol and gives the rows of all its statements.
    ///
    /// # Errors
    /// The server's first error, or what the connection died of.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, WireError> {
        self.send_query(sql)?;
        let mut rows = Vec::new();
        let mut error = None;
        loop {
            match self.incoming.next()? {
                (b'D', body) if rows.len() < MAX_ROWS => rows.push(read_row(&body)?),
                (b'D', _) => return Err(WireError::Protocol(format!("more than {MAX_ROWS} rows"))),
                (b'E', body) => error = error.or(Some(ServerError::parse(&body))),
                (b'G', _) => self.refuse_copy()?,
                (b'Z', _) => break,
                (b'T' | b'C' | b'I' | b'N' | b'S' | b'A' | b'H' | b'd' | b'c', _) => {}
                (tag, _) => return Err(WireError::Protocol(format!("a message of type {:?}", tag as char))),
            }
        }
        match error {
            Some(error) => Err(WireError::Server(Box::new(error))),
            None => Ok(rows),
        }
    }

    /// Runs SQL and gives the first column of the first row; `None` where there is none or it is NULL.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, WireError> {
        Ok(self.query(sql)?.first().and_then(|row| row.get(0).map(str::to_owned)))
    }

    /// Runs SQL whose rows nobody wants.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn execute(&mut self, sql: &str) -> Result<(), WireError> {
        self.query(sql).map(drop)
    }

    /// Starts a `COPY … FROM STDIN`.
    ///
    /// # Errors
    /// As [`Session::query`], or where the statement is no such COPY.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, WireError> {
        self.send_query(sql)?;
        loop {
            match self.incoming.next()? {
                (b'G', _) => return Ok(CopyIn::new(self)),
                (b'E', body) => {
                    self.drain()?;
                    return Err(WireError::Server(Box::new(ServerError::parse(&body))));
                }
                (b'N' | b'S' | b'A', _) => {}
                (tag, _) => {
                    return Err(WireError::Protocol(format!(
                        "a message of type {:?} instead of COPY",
                        tag as char
                    )));
                }
            }
        }
    }

    /// The socket, for the hot path. Nothing may be under way.
    ///
    /// # Errors
    /// The kernel's, where no descriptor is left.
    pub fn into_socket(mut self) -> io::Result<OwnedFd> {
        self.says_goodbye = false;
        self.incoming.socket.as_fd().try_clone_to_owned()
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        Ok(self.incoming.socket().write_all(bytes)?)
    }

    /// The outcome of a statement that is under way.
    pub(super) fn drain(&mut self) -> Result<(), WireError> {
        let mut error = None;
        loop {
            match self.incoming.next()? {
                (b'E', body) => error = error.or(Some(ServerError::parse(&body))),
                (b'Z', _) => break,
                _ => {}
            }
        }
        error.map_or(Ok(()), |error| Err(WireError::Server(Box::new(error))))
    }

    fn send_query(&mut self, sql: &str) -> Result<(), WireError> {
        let mut out = Vec::with_capacity(sql.len() + 6);
        encode::query(&mut out, sql);
        self.send(&out)
    }

    fn refuse_copy(&mut self) -> Result<(), WireError> {
        let mut out = Vec::new();
        encode::copy_fail(&mut out, "nothing to copy");
        self.send(&out)
    }
}

impl Drop for Session {
    /// Says goodbye, so that the server logs no lost connection. Whether it arrives does not matter.
    fn drop(&mut self) {
        if !self.says_goodbye {
            return;
        }
        let mut out = Vec::new();
        encode::terminate(&mut out);
        let _ = self.incoming.socket().write_all(&out);
    }
}

/// The fields of a DataRow.
fn read_row(body: &[u8]) -> Result<Row, WireError> {
    let cut = || WireError::Protocol("a row is cut".to_owned());
    let (count, mut rest) = body.split_first_chunk().ok_or_else(cut)?;
    let count = u16::from_be_bytes(*count);
    let mut fields = Vec::new();
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk().ok_or_else(cut)?;
        rest = after;
        fields.push(match i32::from_be_bytes(*length) {
            -1 => None,
            length => {
                let length = usize::try_from(length).map_err(|_| cut())?;
                let (field, after) = rest.split_at_checked(length).ok_or_else(cut)?;
                rest = after;
                Some(String::from_utf8_lossy(field).into_owned())
            }
        });
    }
    if rest.is_empty() { Ok(Row(fields)) } else { Err(cut()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_row_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read_row(&body);
        }
    }

    #[test]
    fn a_row_has_as_many_fields_as_it_says() {
        let row = read_row(b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff").expect("two fields");
        assert_eq!((row.get(0), row.get(1), row.get(2)), (Some("ab"), None, None));
        for wrong in [&b"\0\x02\0\0\0\x02ab"[..], b"\0\x01\0\0\0\x02abc", b"\0\x01\xff\xff\xff\xfe", b"\0"] {
            assert!(read_row(wrong).is_err(), "{wrong:?}");
        }
    }
}
