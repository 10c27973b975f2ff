//! The TLS record layer of the measured path: rustls's, with bytes in and bytes out, since the engine owns the socket.

use std::io::{self, Read, Write};

use rustls::ClientConnection;

/// Record layer of one connection after its handshake.
pub struct Records {
    connection: Box<ClientConnection>,
    /// Decrypted bytes that are not released.
    plain: Vec<u8>,
}

// Without the decrypted bytes, which nobody should find in a log.
impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("connection", &self.connection).finish_non_exhaustive()
    }
}

/// Error for invalid received data.
fn wrong(why: &impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {why}"))
}

impl Records {
    /// Takes over a connection after its handshake.
    ///
    /// # Errors
    /// If the handshake is not complete, or data is still to be sent.
    pub fn new(mut connection: Box<ClientConnection>) -> io::Result<Self> {
        if connection.is_handshaking() || connection.wants_write() {
            return Err(io::Error::other("the TLS handshake is not done"));
        }
        // A step of a script may be longer than what rustls buffers by default (64 KiB).
        connection.set_buffer_limit(None);
        Ok(Self { connection, plain: Vec::new() })
    }

    /// Appends `plain` to `out` as records.
    ///
    /// # Errors
    /// If the connection cannot be used any more.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.connection.writer().write_all(plain)?;
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }

    /// Takes received bytes, cut at any point; returns the number of bytes that could be decrypted. Release them with
    /// [`Records::done`].
    ///
    /// # Errors
    /// If the bytes are not valid records of this connection, or the peer sent a fatal alert.
    pub fn open(&mut self, mut bytes: &[u8]) -> io::Result<usize> {
        while !bytes.is_empty() && self.connection.read_tls(&mut bytes)? > 0 {
            let state = self.connection.process_new_packets().map_err(|error| wrong(&error))?;
            let (start, more) = (self.plain.len(), state.plaintext_bytes_to_read());
            self.plain.resize(start + more, 0);
            self.connection.reader().read_exact(&mut self.plain[start..])?;
        }
        Ok(self.plain.len())
    }

    /// The first `bytes` of the bytes that [`Records::open`] decrypted.
    pub fn plain(&self, bytes: usize) -> &[u8] {
        &self.plain[..bytes]
    }

    /// Releases decrypted bytes.
    pub fn done(&mut self, bytes: usize) {
        self.plain.drain(..bytes);
    }
}

#[cfg(test)]
mod tests;
