//! Files of `pgdyno observe`: a header, and lines as in `observations.ndjson`.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use pgdyno_core::{
    observe::{Observed, ServerIdentity},
    problem::Problem,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ToolRecord, files::reason, sealing::file_digest, stream::LineReader};

/// Value of [`ObserverHeader::format`].
pub const OBSERVER_FORMAT: &str = "pgdyno-observe";
/// Value of [`ObserverHeader::version`].
pub const OBSERVER_VERSION: u32 = 1;
/// First bytes of a file that is compressed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The first line of a file of `pgdyno observe`. Times of the other lines are seconds since the file was begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverHeader {
    /// Always `pgdyno-observe`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// The pgdyno that wrote it.
    pub tool: ToolRecord,
    /// Name of the machine.
    pub machine: String,
    /// The kernel's identifier of the time since the machine was started.
    pub boot_id: String,
    /// The kernel's clock source; absent if it does not report it.
    pub clock_source: Option<String>,
    /// When it was begun by the machine's clock, RFC 3339 in UTC.
    pub started_at: String,
    /// The server.
    pub server: ObservedServer,
    /// What its log reports; absent if it cannot be read.
    pub log: Option<LogReport>,
}

/// The server that was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedServer {
    /// `server_version_num`.
    pub version_num: u32,
    /// Its port, which is also part of the name of its socket.
    pub port: u16,
    /// Which start of which server it was when the file was begun.
    #[serde(flatten)]
    pub identity: ServerIdentity,
}

/// What a server's log reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogReport {
    /// Settings that keep events out of it.
    pub silent: Vec<String>,
    /// Whether it is in another language than English, so that its events are not recognised.
    pub is_foreign: bool,
}

/// A file of `pgdyno observe`.
#[derive(Debug, Clone)]
pub struct ObserverFile {
    path: PathBuf,
    /// Its first line.
    pub header: ObserverHeader,
}

impl ObserverFile {
    /// Reads the header of a file, which may be compressed with gzip.
    ///
    /// # Errors
    /// It cannot be read, is no such file, or has another version.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        let mut lines = opened(path)?;
        let no_header = || not_ours(path, "its first line is no header of `pgdyno observe`");
        let first = lines.next_line().map_err(|why| unreadable(path, &why))?.ok_or_else(no_header)?;
        let json: serde_json::Value = serde_json::from_slice(first.as_bytes()).map_err(|_| no_header())?;
        if json["format"] != OBSERVER_FORMAT {
            return Err(no_header());
        }
        match json["version"].as_u64() {
            Some(version) if version == u64::from(OBSERVER_VERSION) => {}
            Some(version) => {
                let why = format!("it has format version {version}; this pgdyno reads {OBSERVER_VERSION}");
                return Err(not_ours(path, &why).hint("join it with the version of pgdyno that wrote it"));
            }
            None => return Err(no_header()),
        }
        let header = serde_json::from_slice(first.as_bytes());
        let header = header.map_err(|error| not_ours(path, &format!("its header is invalid ({error})")))?;
        Ok(Self { path: path.to_path_buf(), header })
    }

    /// The SHA-256 of the file in hexadecimal.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn sha256(&self) -> Result<String, Problem> {
        file_digest(&self.path).map_err(|error| unreadable(&self.path, &reason(&error)))
    }

    /// The lines after the header, in the order of the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn lines(&self) -> Result<ObserverLines, Problem> {
        let mut reader = opened(&self.path)?;
        reader.next_line().map_err(|why| unreadable(&self.path, &why))?;
        Ok(ObserverLines { path: self.path.clone(), reader })
    }
}

/// The lines of a file of `pgdyno observe`. An incomplete last line is left out: the writer was killed.
pub struct ObserverLines {
    path: PathBuf,
    reader: LineReader,
}

impl Iterator for ObserverLines {
    type Item = Result<Observed, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.reader.next_line().map_err(|why| unreadable(&self.path, &why)).transpose()?;
        let parse = |line: String| {
            serde_json::from_slice(line.as_bytes())
                .map_err(|error| unreadable(&self.path, &self.reader.at(&error)))
        };
        Some(line.and_then(parse))
    }
}

fn opened(path: &Path) -> Result<LineReader, Problem> {
    let failed = |error: std::io::Error| unreadable(path, &reason(&error));
    let mut begin = Vec::new();
    let read = |path: &Path, begin: &mut Vec<u8>| File::open(path)?.take(2).read_to_end(begin);
    read(path, &mut begin).map_err(failed)?;
    let file = BufReader::new(File::open(path).map_err(failed)?);
    let reader: Box<dyn BufRead> = match begin == GZIP {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        false => Box::new(file),
    };
    Ok(LineReader::new(reader))
}

fn unreadable(path: &Path, why: &str) -> Problem {
    Problem::could_not(format!("could not read {}: {why}", path.display()))
        .hint("copy it again from the server's machine, after `pgdyno observe` has ended there")
}

fn not_ours(path: &Path, why: &str) -> Problem {
    Problem::wrong_request(format!("could not read {}: {why}", path.display()))
        .hint("`pgdyno observe`, run on the server's machine, writes such files")
}
