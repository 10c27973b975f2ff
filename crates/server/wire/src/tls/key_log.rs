//! Logs the keys of connections, for traffic analysis (`sslkeylogfile`).

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustls::KeyLog;

use crate::WireError;

/// File in NSS's key log format; every key is appended in one write.
#[derive(Debug)]
pub(super) struct KeyLogFile(File);

impl KeyLogFile {
    /// Opens the file, or creates one that only its owner can read.
    pub(super) fn open(path: &Path) -> Result<Self, WireError> {
        match OpenOptions::new().append(true).create(true).mode(0o600).open(path) {
            Ok(file) => Ok(Self(file)),
            Err(error) => {
                let what = format!("could not open SSL key logging file \"{}\": {error}", path.display());
                Err(WireError::tls(what, Some("sslkeylogfile names it")))
            }
        }
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let line = format!("{label} {} {}\n", hex::encode(client_random), hex::encode(secret));
        let _ = (&self.0).write_all(line.as_bytes()); // a full disk must not end a measurement
    }
}
