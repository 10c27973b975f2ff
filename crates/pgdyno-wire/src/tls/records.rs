//! TLS records in reused buffers, for the measured path once rustls has completed the handshake.
//!
//! The keys come from rustls, the cryptography from `ring`. This module only implements the record format of RFC 5246
//! (section 6.2.3.3, with RFC 5288 and RFC 7905) and RFC 8446 (section 5.2). Later handshake messages are ignored
//! (session tickets) or end the connection (key updates, which no PostgreSQL sends).

use std::io;

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use rustls::{ClientConnection, ConnectionTrafficSecrets, ProtocolVersion};

/// Length of type, version and length field.
const HEADER_BYTES: usize = 5;
/// Longest plaintext of a record.
const MAX_PLAIN_BYTES: usize = 1 << 14;
/// Longest body of a record: TLS 1.2 allows 2048 bytes on top, TLS 1.3 256.
const MAX_BODY_BYTES: usize = MAX_PLAIN_BYTES + 2048;
/// Length of an authentication tag, the same for all three algorithms.
const TAG_BYTES: usize = 16;
/// Most bytes protected with one key: RFC 8446 (section 5.5) allows 2^24.5 records of 2^14 bytes with AES-GCM.
const MAX_SENT_BYTES: u64 = 1 << 38;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// The only handshake message accepted after the handshake.
const NEW_SESSION_TICKET: u8 = 4;

/// One direction: key, start of the nonces, and number of the next record.
struct Direction {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    sequence: u64,
    /// Whether a part of the nonce is sent in the record: AES-GCM of TLS 1.2.
    explicit: bool,
}

impl Direction {
    fn new((sequence, secrets): (u64, ConnectionTrafficSecrets), version: Version) -> io::Result<Self> {
        let (algorithm, key, iv) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(io::Error::other("a cipher that is not known")),
        };
        let gcm = !matches!(secrets, ConnectionTrafficSecrets::Chacha20Poly1305 { .. });
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| io::Error::other("a wrong key"))?;
        let iv = iv.as_ref().try_into().map_err(io::Error::other)?;
        let explicit = gcm && version == Version::V12;
        Ok(Self { key: LessSafeKey::new(key), iv, sequence, explicit })
    }

    /// Nonce of the next record; no two records have the same.
    fn nonce(&self) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        let number = self.sequence.to_be_bytes();
        nonce[NONCE_LEN - 8..].iter_mut().zip(number).for_each(|(byte, number)| *byte ^= number);
        nonce
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V12,
    V13,
}

/// Record layer of one connection.
pub struct Records {
    version: Version,
    write: Direction,
    read: Direction,
    sent_bytes: u64,
    /// Received bytes: decrypted ones at the start, followed by the start of an incomplete record.
    incoming: Vec<u8>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Error for invalid received data.
fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {why}"))
}

impl Records {
    /// Takes the keys out of a connection after its handshake.
    ///
    /// # Errors
    /// If the handshake is not complete, or data is still to be sent.
    pub fn new(connection: ClientConnection) -> io::Result<Self> {
        let version = match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => Version::V12,
            Some(ProtocolVersion::TLSv1_3) => Version::V13,
            _ => return Err(io::Error::other("the TLS handshake is not done")),
        };
        let secrets = connection.dangerous_extract_secrets().map_err(io::Error::other)?;
        Ok(Self {
            version,
            write: Direction::new(secrets.tx, version)?,
            read: Direction::new(secrets.rx, version)?,
            sent_bytes: 0,
            incoming: Vec::new(),
        })
    }

    /// Appends `plain` to `out` as records.
    ///
    /// # Errors
    /// If the limit of data protected with one key is reached.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.sent_bytes += plain.len() as u64;
        if self.sent_bytes > MAX_SENT_BYTES {
            return Err(io::Error::other("TLS: the limit of data for one key is reached (256 GiB)"));
        }
        plain.chunks(MAX_PLAIN_BYTES).try_for_each(|part| self.seal_one(part, out))
    }

    fn seal_one(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let nonce = self.write.nonce();
        let inner_type = usize::from(self.version == Version::V13);
        let explicit = if self.write.explicit { &nonce[4..] } else { &[][..] };
        let body = explicit.len() + plain.len() + inner_type + TAG_BYTES;
        let header = header(APPLICATION_DATA, body);
        out.extend_from_slice(&header);
        out.extend_from_slice(explicit);
        let start = out.len();
        out.extend_from_slice(plain);
        if self.version == Version::V13 {
            out.push(APPLICATION_DATA);
        }
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sequence = self.write.sequence;
        let tag = match self.version {
            Version::V12 => {
                let aad = Aad::from(aad12(sequence, APPLICATION_DATA, plain.len()));
                self.write.key.seal_in_place_separate_tag(nonce, aad, &mut out[start..])
            }
            Version::V13 => {
                self.write.key.seal_in_place_separate_tag(nonce, Aad::from(header), &mut out[start..])
            }
        };
        let tag = tag.map_err(|_| io::Error::other("TLS: a record could not be encrypted"))?;
        out.extend_from_slice(tag.as_ref());
        self.write.sequence += 1;
        Ok(())
    }

    /// Takes received bytes, cut at any point; returns the number of bytes that could be decrypted. Release them with
    /// [`Records::done`].
    ///
    /// # Errors
    /// If the bytes are not valid records of this connection, or the peer sent a fatal alert.
    pub fn open(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.incoming.extend_from_slice(bytes);
        let (mut at, mut plain) = (0, 0);
        while let Some(header) = self.incoming[at..].first_chunk::<HEADER_BYTES>() {
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            if length > MAX_BODY_BYTES || header[1..3] != [3, 3] {
                return Err(wrong("the data received is not a record"));
            }
            let (header, end) = (*header, at + HEADER_BYTES + length);
            if end > self.incoming.len() {
                break;
            }
            let (content, range) = self.open_one(header, at + HEADER_BYTES, end)?;
            if content == APPLICATION_DATA {
                let bytes = range.len();
                self.incoming.copy_within(range, plain);
                plain += bytes;
            } else {
                aside(content, &self.incoming[range])?;
            }
            at = end;
        }
        // The undecrypted rest moves up behind the decrypted bytes.
        let left = self.incoming.len() - at;
        self.incoming.copy_within(at.., plain);
        self.incoming.truncate(plain + left);
        Ok(plain)
    }

    /// The first `bytes` of the bytes that [`Records::open`] decrypted.
    pub fn plain(&self, bytes: usize) -> &[u8] {
        &self.incoming[..bytes]
    }

    /// Releases decrypted bytes.
    pub fn done(&mut self, bytes: usize) {
        self.incoming.copy_within(bytes.., 0);
        self.incoming.truncate(self.incoming.len() - bytes);
    }

    /// Decrypts the body of one record in place. Returns content type and range of the plaintext.
    fn open_one(
        &mut self,
        header: [u8; HEADER_BYTES],
        start: usize,
        end: usize,
    ) -> io::Result<(u8, std::ops::Range<usize>)> {
        if header[0] == CHANGE_CIPHER_SPEC && self.version == Version::V13 {
            return Ok((CHANGE_CIPHER_SPEC, start..end)); // sent for old middleboxes, unencrypted
        }
        let explicit = if self.read.explicit { 8 } else { 0 };
        let sealed =
            (end - start).checked_sub(explicit + TAG_BYTES).ok_or_else(|| wrong("a record is truncated"))?;
        let mut nonce = self.read.nonce();
        if self.read.explicit {
            nonce[..4].copy_from_slice(&self.read.iv[..4]);
            nonce[4..].copy_from_slice(&self.incoming[start..start + explicit]);
        }
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sequence = self.read.sequence;
        let body = &mut self.incoming[start + explicit..end];
        let opened = match self.version {
            Version::V12 => {
                self.read.key.open_in_place(nonce, Aad::from(aad12(sequence, header[0], sealed)), body)
            }
            Version::V13 => self.read.key.open_in_place(nonce, Aad::from(header), body),
        };
        let opened = opened.map_err(|_| wrong("a record failed authentication"))?;
        self.read.sequence += 1;
        let start = start + explicit;
        match self.version {
            Version::V12 => Ok((header[0], start..start + opened.len())),
            Version::V13 => {
                // The content type comes last, before zero padding.
                let last =
                    opened.iter().rposition(|byte| *byte != 0).ok_or_else(|| wrong("an empty record"))?;
                Ok((opened[last], start..start + last))
            }
        }
    }
}

fn header(content: u8, body: usize) -> [u8; HEADER_BYTES] {
    let [high, low] = (body as u16).to_be_bytes();
    [content, 3, 3, high, low]
}

/// Additional authenticated data of TLS 1.2: record number, and header with the length of the plaintext.
fn aad12(sequence: u64, content: u8, length: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    aad[8..].copy_from_slice(&header(content, length));
    aad
}

/// Handles a record that is not application data.
fn aside(content: u8, body: &[u8]) -> io::Result<()> {
    match (content, body) {
        // close_notify: the connection ends next.
        (ALERT, [_, 0]) | (CHANGE_CIPHER_SPEC, [1]) | (HANDSHAKE, [NEW_SESSION_TICKET, ..]) => Ok(()),
        (ALERT, [_, code]) => Err(wrong(&format!("the server broke off with alert {code}"))),
        (HANDSHAKE, _) => Err(wrong("the server updates its keys, which is not supported")),
        _ => Err(wrong("a record of an unknown type")),
    }
}

#[cfg(test)]
mod tests;
