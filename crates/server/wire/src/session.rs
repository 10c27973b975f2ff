//! Blocking session for administration, checks and COPY.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;

use super::{
    Address, Fields, NoticeReceiver, Records, ServerError, WireError,
    connect::{Canceller, Socket, WaitLimits},
    encode,
};

/// Longest message accepted from the server. Administration only needs small answers.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Longest message accepted in the startup phase.
const MAX_GREETING_BYTES: usize = 64 << 10;
/// Time limit for Terminate to a server that does not read any more.
const GOODBYE: Duration = Duration::from_secs(1);
/// Time for a server to end a cancelled statement and clean up.
const GIVEN_UP: Duration = Duration::from_secs(5);
/// Most rows and bytes accepted from one statement.
const MAX_ROWS: usize = 10_000_000;
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Messages from a socket, one at a time.
#[derive(Debug)]
pub(crate) struct Incoming {
    socket: Socket,
    buffer: Vec<u8>,
    start: usize,
    max_message_bytes: usize,
}

impl Incoming {
    /// Starts with the limits of the startup phase, whose messages are short.
    pub(crate) fn greeting(socket: Socket) -> Self {
        Self { socket, buffer: Vec::new(), start: 0, max_message_bytes: MAX_GREETING_BYTES }
    }

    /// Ends the startup phase: messages may be long, and take long to come.
    fn greeted(&mut self) {
        self.max_message_bytes = MAX_MESSAGE_BYTES;
        self.socket.limits = WaitLimits::default();
    }

    /// Whether at least a part of a message is available.
    fn is_ready(&mut self) -> bool {
        self.start < self.buffer.len() || self.socket.is_readable()
    }

    pub(crate) fn socket_ref(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// Receives the next message: type and body.
    pub(crate) fn next(&mut self) -> Result<(u8, Vec<u8>), WireError> {
        self.fill(5)?;
        let head = &self.buffer[self.start..];
        let length = i32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let tag = head[0];
        if length < 4 || length as usize > self.max_message_bytes {
            let text = format!("a message of type {:?} gives its length as {length}", tag as char);
            return Err(WireError::Protocol(text));
        }
        let total = length as usize + 1;
        self.fill(total)?;
        let body = self.buffer[self.start + 5..self.start + total].to_vec();
        self.start += total;
        Ok((tag, body))
    }

    /// Buffers at least this many bytes. The buffer grows with the data received, not with the announced length.
    fn fill(&mut self, wanted: usize) -> Result<(), WireError> {
        // Most messages of an answer came with the one before: the chunk below is zeroed each time.
        if self.buffer.len() - self.start >= wanted {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let mut chunk = [0; 16 * 1024];
        while self.buffer.len() < wanted {
            match self.socket.read(&mut chunk)? {
                0 => return Err(WireError::Closed),
                bytes => self.buffer.extend_from_slice(&chunk[..bytes]),
            }
        }
        Ok(())
    }
}

/// One row of a result, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The texts of all columns, one behind the other.
    texts: String,
    /// Where the text of each column ends; `None` for NULL, whose text is empty.
    ends: Vec<Option<usize>>,
}

impl Row {
    /// Text of a column; `None` if it is NULL or does not exist.
    pub fn get(&self, column: usize) -> Option<&str> {
        let end = (*self.ends.get(column)?)?;
        let begin = self.ends[..column].iter().rev().find_map(|end| *end).unwrap_or(0);
        self.texts.get(begin..end)
    }

    /// Parses a DataRow message.
    ///
    /// # Errors
    /// If the message is truncated.
    pub fn read(body: &[u8]) -> Result<Self, WireError> {
        let cut = || WireError::Protocol("a row is truncated".to_owned());
        let (count, mut rest) = body.split_first_chunk().ok_or_else(cut)?;
        let count = u16::from_be_bytes(*count);
        // Each column takes four bytes at least.
        let columns = usize::from(count).min(rest.len() / 4);
        let (mut texts, mut ends) =
            (String::with_capacity(rest.len() - 4 * columns), Vec::with_capacity(columns));
        for _ in 0..count {
            let (length, after) = rest.split_first_chunk().ok_or_else(cut)?;
            rest = after;
            ends.push(match i32::from_be_bytes(*length) {
                -1 => None,
                length => {
                    let length = usize::try_from(length).map_err(|_| cut())?;
                    let (field, after) = rest.split_at_checked(length).ok_or_else(cut)?;
                    rest = after;
                    texts.push_str(&String::from_utf8_lossy(field));
                    Some(texts.len())
                }
            });
        }
        if rest.is_empty() { Ok(Self { texts, ends }) } else { Err(cut()) }
    }

    /// Parses a column; `None` if it is NULL or cannot be parsed.
    pub fn parse<T: std::str::FromStr>(&self, column: usize) -> Option<T> {
        self.get(column)?.parse().ok()
    }
}

/// An authenticated, blocking session.
#[derive(Debug)]
pub struct Session {
    incoming: Incoming,
    parameters: BTreeMap<String, String>,
    /// Cancels what the server is doing.
    canceller: Box<Canceller>,
    /// Callback for notices.
    on_notice: Option<NoticeReceiver>,
    /// Whether dropping the session sends Terminate: not after the hot path has taken the socket.
    says_goodbye: bool,
    /// Whether an answer was left incomplete, so that further data cannot be assigned to a request.
    broken: bool,
    /// Whether it is unusable because a stop was requested.
    given_up: bool,
}

impl Session {
    pub(super) fn new(
        incoming: Incoming,
        parameters: BTreeMap<String, String>,
        canceller: Canceller,
        on_notice: Option<NoticeReceiver>,
    ) -> Self {
        let canceller = Box::new(canceller);
        Self {
            incoming,
            parameters,
            canceller,
            on_notice,
            says_goodbye: true,
            broken: false,
            given_up: false,
        }
    }

    /// Passes a notice to the callback; `sql` is the statement that a position in it refers to.
    fn notice(&self, body: &[u8], sql: Option<&str>) {
        if let Some(receiver) = &self.on_notice {
            receiver.receive(&ServerError::parse(body).in_statement(|| sql.map(str::to_owned)));
        }
    }

    /// Ends the startup phase and its time limit.
    pub(super) fn greeted(&mut self) {
        self.incoming.greeted();
    }

    /// Makes a stop request end every wait for the server with [`WireError::Stopped`]. The current statement is then
    /// cancelled and the session ended, after a short wait for the server to complete both.
    pub fn heed(&mut self, stop: &Stop) {
        self.incoming.socket.limits.stop = Some(stop.clone());
    }

    /// Sets a deadline, `time` from now, for all further waits for the server; `None` removes it.
    pub fn within(&mut self, time: Option<Duration>) {
        self.incoming.socket.limits.deadline = time.map(|time| Instant::now() + time);
    }

    /// Prepares a statement with the extended protocol.
    pub(super) fn prepare(&mut self, name: &str, sql: &str) -> Result<(), WireError> {
        let mut out = Vec::new();
        encode::parse(&mut out, name, sql.as_bytes());
        encode::sync(&mut out);
        self.send(&out)?;
        self.drain()
    }

    /// Address of this session's server: one of the hosts that were tried.
    pub fn address(&self) -> &Address {
        self.canceller.address()
    }

    /// TLS version and cipher, if the session is encrypted.
    pub fn encryption(&self) -> Option<String> {
        let tls = self.incoming.socket.tls()?;
        let version = tls.protocol_version()?.as_str()?.replace('_', ".");
        let cipher = tls.negotiated_cipher_suite()?.suite().as_str()?;
        Some(format!("{version} {cipher}"))
    }

    /// Value of a parameter that the server reported, for example `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// First number of the server's version: 9 for 9.6, 18 for 18.6.
    pub fn major(&self) -> Option<u32> {
        let version = self.parameter("server_version")?;
        version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// Process ID of the backend, on the server's machine.
    pub fn backend_pid(&self) -> i32 {
        self.canceller.backend_pid()
    }

    /// Runs SQL with the simple protocol; returns the rows of all its statements.
    ///
    /// # Errors
    /// The server's first error, or the one that broke the connection. After any other than a server's error the
    /// session cannot be used any more.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, WireError> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        self.send_query(sql)?;
        self.read_answer(Some(sql), |tag, body| {
            match tag {
                b'D' if rows.len() == MAX_ROWS => {
                    return Err(WireError::Protocol(format!("more than {MAX_ROWS} rows")));
                }
                b'D' => {
                    bytes += body.len();
                    if bytes > MAX_ANSWER_BYTES {
                        return Err(WireError::Protocol(format!(
                            "more than {MAX_ANSWER_BYTES} bytes of rows"
                        )));
                    }
                    rows.push(Row::read(body)?);
                }
                _ => {}
            }
            Ok(())
        })
        .map_err(|error| error.in_statement(sql))?;
        Ok(rows)
    }

    /// Runs SQL and returns the first column of the first row; `None` if there is no row or it is NULL.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, WireError> {
        Ok(self.query(sql)?.first().and_then(|row| row.get(0).map(str::to_owned)))
    }

    /// Runs SQL and discards its rows.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn execute(&mut self, sql: &str) -> Result<(), WireError> {
        self.query(sql).map(drop)
    }

    /// Runs SQL, discards its rows, and calls `hear` with the text of every notice.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn execute_hearing(&mut self, sql: &str, hear: &mut dyn FnMut(&str)) -> Result<(), WireError> {
        self.send_query(sql)?;
        self.read_answer(Some(sql), |tag, body| {
            if tag == b'N' {
                hear(&ServerError::parse(body).message);
            }
            Ok(())
        })
        .map_err(|error| error.in_statement(sql))
    }

    /// Runs a `COPY … TO STDOUT`, and calls `take` with each message of data: a row in text format; in binary format a
    /// row, of which the first has the header before it, or the trailer.
    ///
    /// # Errors
    /// See [`Session::query`]. An error of `take` makes the session unusable: data are left unread.
    pub fn copy_out(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.send_query(sql)?;
        let taken = self.read_answer(Some(sql), |tag, body| if tag == b'd' { take(body) } else { Ok(()) });
        taken.map_err(|error| error.in_statement(sql))
    }

    /// Takes the session apart for the hot path: the socket, and the TLS record layer if the session is encrypted. No
    /// statement may be in progress; of messages sent meanwhile only notices are passed on.
    ///
    /// # Errors
    /// The kernel's error, if no descriptor is left or the connection is gone.
    pub fn into_parts(mut self) -> io::Result<(OwnedFd, Option<Records>)> {
        while self.incoming.is_ready() {
            if let (b'N', body) = self.incoming.next().map_err(io::Error::other)? {
                self.notice(&body, None);
            }
        }
        self.says_goodbye = false;
        let fd = self.incoming.socket.as_fd().try_clone_to_owned()?;
        let records = self.incoming.socket.take_tls().map(Records::new).transpose()?;
        Ok((fd, records))
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.broken {
            return Err(self.unusable());
        }
        let sent = self.incoming.socket().write_all(bytes);
        if let Err(WireError::Stopped) = sent {
            self.give_up(false);
        }
        sent
    }

    /// Reads the outcome of the current statement.
    pub(super) fn drain(&mut self) -> Result<(), WireError> {
        self.read_answer(None, |_, _| Ok(()))
    }

    /// Begins a `COPY … FROM STDIN`: the server waits for rows.
    pub(super) fn begin_copy(&mut self, sql: &str) -> Result<(), WireError> {
        self.send_query(sql)?;
        while !self.begins_copy(Some(sql)).map_err(|error| error.in_statement(sql))? {}
        Ok(())
    }

    /// Reports the server's error, if it has refused the current COPY: it does so long before all rows are sent.
    pub(super) fn copy_refused(&mut self) -> Result<(), WireError> {
        while self.incoming.is_ready() {
            self.begins_copy(None)?;
        }
        Ok(())
    }

    /// Receives a message of a COPY; returns whether it is the one that begins it. `sql` is the statement if it has
    /// not begun.
    fn begins_copy(&mut self, sql: Option<&str>) -> Result<bool, WireError> {
        match self.incoming.next() {
            Ok((b'G', _)) if sql.is_some() => return Ok(true),
            Ok((b'E', body)) => return Err(self.rest_of_error(ServerError::parse(&body))),
            Ok((b'N', body)) => self.notice(&body, sql),
            Ok((b'S' | b'A', _)) => {}
            Ok((tag, _)) => {
                let when = if sql.is_some() { "instead of COPY" } else { "during COPY" };
                let text = format!("a message of type {:?} {when}", tag as char);
                return Err(self.broke(WireError::Protocol(text)));
            }
            Err(error) => return Err(self.broke(error)),
        }
        Ok(false)
    }

    /// Reads an answer to its end. An error that the server sends before it closes takes precedence over the lost
    /// connection.
    fn read_answer(
        &mut self,
        sql: Option<&str>,
        mut on_message: impl FnMut(u8, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        if self.broken {
            return Err(self.unusable());
        }
        let mut fields = Fields::default();
        loop {
            let taken = self.incoming.next().and_then(|(tag, body)| match tag {
                b'T' | b'D' | b'C' => {
                    fields.take(tag, &body)?;
                    on_message(tag, &body).map(|()| (tag, body))
                }
                b'1' | b'I' | b'N' | b'S' | b'A' | b'H' | b'd' | b'c' => {
                    on_message(tag, &body).map(|()| (tag, body))
                }
                b'E' | b'G' | b'Z' => Ok((tag, body)),
                tag => Err(WireError::Protocol(format!("a message of type {:?}", tag as char))),
            });
            match taken {
                Ok((b'E', body)) => return Err(self.rest_of_error(ServerError::parse(&body))),
                Ok((b'G', _)) => self.refuse_copy()?,
                Ok((b'Z', _)) => return Ok(()),
                Ok((b'N', body)) => self.notice(&body, sql),
                Ok(_) => {}
                Err(error) => return Err(self.broke(error)),
            }
        }
    }

    /// Skips messages after an error, up to ReadyForQuery. The error is returned even if the connection ends.
    fn rest_of_error(&mut self, error: ServerError) -> WireError {
        loop {
            match self.incoming.next() {
                Ok((b'Z', _)) => break,
                Ok((b'N', body)) => self.notice(&body, None),
                Ok(_) => {}
                Err(reason) => {
                    self.broke(reason);
                    break;
                }
            }
        }
        WireError::Server(Box::new(error))
    }

    /// Why nothing can be done in a broken session: a stop stays one, also for a caller that continued after it.
    fn unusable(&self) -> WireError {
        if self.given_up { WireError::Stopped } else { WireError::Closed }
    }

    /// Marks the session as unusable.
    fn broke(&mut self, error: WireError) -> WireError {
        if let WireError::Stopped = error {
            self.give_up(true);
        }
        self.broken = true;
        error
    }

    /// Cancels the current statement, ends the session, and waits until the server has closed the connection: then the
    /// backend and its resources are gone. `whole` says whether all messages were sent completely.
    fn give_up(&mut self, whole: bool) {
        (self.broken, self.given_up) = (true, true);
        self.says_goodbye = false;
        let deadline = Instant::now() + GIVEN_UP;
        let cancelled = self.canceller.cancel(deadline);
        let socket = self.incoming.socket();
        socket.limits = WaitLimits { deadline: Some(deadline), stop: None };
        if whole {
            let mut out = Vec::new();
            encode::copy_fail(&mut out, "stopped"); // ends a COPY, and is ignored outside of one
            encode::terminate(&mut out);
            let _ = socket.write_all(&out); // end of file has the same effect
        }
        socket.end_sending();
        if cancelled.is_ok() {
            while self.incoming.next().is_ok() {}
        }
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
    /// Sends Terminate, so that the server logs no lost connection. Whether it arrives does not matter.
    fn drop(&mut self) {
        if !self.says_goodbye {
            return;
        }
        self.within(Some(GOODBYE));
        let mut out = Vec::new();
        encode::terminate(&mut out);
        let _ = self.incoming.socket().write_all(&out);
    }
}

/// Entry point for fuzzing: parses arbitrary bytes as messages and as rows, in the measured path and here; returns
/// whether all were accepted.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) -> bool {
    let mut good = true;
    let taken = super::Splitter::default().feed(bytes, |tag, body| {
        let error = ServerError::parse(body);
        good &= tag != b'E' || !error.code.is_empty();
        Ok(())
    });
    good &= Row::read(bytes).is_ok();
    good && taken.is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_row_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Row::read(&body);
        }

        #[test]
        fn every_field_is_read_as_it_was_sent(fields in prop::collection::vec(any::<Option<String>>(), 0..9)) {
            let mut body = (fields.len() as u16).to_be_bytes().to_vec();
            for field in &fields {
                let length = field.as_ref().map_or(-1, |text| text.len() as i32);
                body.extend(length.to_be_bytes());
                body.extend(field.iter().flat_map(|text| text.bytes()));
            }
            let row = Row::read(&body).expect("it is whole");
            for (column, field) in fields.iter().enumerate() {
                prop_assert_eq!(row.get(column), field.as_deref());
            }
            prop_assert_eq!(row.get(fields.len()), None);
        }
    }

    #[test]
    fn a_row_has_as_many_fields_as_it_says() {
        let row = Row::read(b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff").expect("two fields");
        assert_eq!((row.get(0), row.get(1), row.get(2)), (Some("ab"), None, None));
        for wrong in [&b"\0\x02\0\0\0\x02ab"[..], b"\0\x01\0\0\0\x02abc", b"\0\x01\xff\xff\xff\xfe", b"\0"] {
            assert!(Row::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
