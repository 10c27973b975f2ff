//! COPY … FROM STDIN.

use super::{Session, WireError, encode};

/// Bytes gathered before they are sent: large enough to make system calls rare, small enough to stay in the
/// second-level cache.
const CHUNK_BYTES: usize = 128 * 1024;

/// A COPY in progress. Rows are appended and sent in chunks; [`CopyIn::finish`] returns whether the server accepted
/// them. Dropping it before makes the COPY fail.
#[derive(Debug)]
pub struct CopyIn<'a> {
    session: &'a mut Session,
    chunk: Vec<u8>,
    sent_bytes: u64,
    finished: bool,
}

/// Type byte and length of a CopyData message.
const HEADER: [u8; 5] = [b'd', 0, 0, 0, 0];

impl Session {
    /// Starts a `COPY … FROM STDIN`.
    ///
    /// # Errors
    /// See [`Session::query`]; also if the statement is not a COPY FROM STDIN.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, WireError> {
        self.begin_copy(sql)?;
        Ok(CopyIn::new(self))
    }
}

impl<'a> CopyIn<'a> {
    fn new(session: &'a mut Session) -> Self {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + 4096);
        chunk.extend_from_slice(&HEADER);
        Self { session, chunk, sent_bytes: 0, finished: false }
    }

    /// Appends one row.
    ///
    /// # Errors
    /// The error that broke the connection. A row that the server refuses shows in [`CopyIn::finish`].
    #[inline]
    pub fn row(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), WireError> {
        write(&mut self.chunk);
        if self.chunk.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Bytes of COPY data so far, sent or buffered.
    pub fn bytes(&self) -> u64 {
        self.sent_bytes + (self.chunk.len() - HEADER.len()) as u64
    }

    /// Ends the COPY and waits for the server; returns the bytes of COPY data.
    ///
    /// # Errors
    /// The server's error, or the one that broke the connection.
    pub fn finish(mut self) -> Result<u64, WireError> {
        self.flush()?;
        let mut out = Vec::new();
        encode::copy_done(&mut out);
        self.send(&out)?;
        self.finished = true;
        self.session.drain()?;
        Ok(self.sent_bytes)
    }

    fn flush(&mut self) -> Result<(), WireError> {
        let data = self.chunk.len() - HEADER.len();
        if data == 0 {
            return Ok(());
        }
        let length = (data + 4) as i32;
        self.chunk[1..5].copy_from_slice(&length.to_be_bytes());
        // The server reports an error at once, but accepts and discards all further rows: possibly hours of them.
        if let Err(error) = self.session.copy_refused() {
            self.finished = true;
            return Err(error);
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.send(&chunk)?;
        self.chunk = chunk;
        self.sent_bytes += data as u64;
        self.chunk.truncate(HEADER.len());
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.session.send(bytes).map_err(|error| {
            // A server that aborts a COPY sends its error before it closes the connection.
            self.finished = true;
            match self.session.drain() {
                Err(reason @ WireError::Server(_)) => reason,
                _ => error,
            }
        })
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let mut out = Vec::new();
            encode::copy_fail(&mut out, "the load was stopped");
            if self.session.send(&out).is_ok() {
                let _ = self.session.drain(); // the server confirms the failure that we requested
            }
        }
    }
}
