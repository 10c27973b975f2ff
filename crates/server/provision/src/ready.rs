//! Readiness of a starting server: reported by the server itself, never guessed from time.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

/// Content of `postmaster.pid` (`src/include/utils/pidfile.h`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidFile {
    /// PID of the postmaster.
    pub pid: u32,
    /// Line 8, from PostgreSQL 10 on: `starting`, `stopping`, `ready` or `standby`.
    pub status: Option<String>,
}

impl PidFile {
    /// Reads the file of a data directory; `None` if it does not exist or is malformed.
    pub fn read(data_dir: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(data_dir.join("postmaster.pid")).ok()?)
    }

    /// Parses the file. A single-user server writes its PID negative, and is no postmaster.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok().filter(|pid| *pid > 0)?;
        let status = lines.nth(6).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
        Some(Self { pid, status })
    }
}

/// State of a server while it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// The server takes connections.
    Ready,
    /// The server reports that it is starting up or recovering.
    Starting,
    /// The server reports nothing yet.
    Silent,
    /// The server reports that it is shutting down.
    Stopping,
}

/// State of the server of a data directory: from the status line, or on 9.6, which writes none, by a connection to its
/// socket.
pub fn readiness(data_dir: &Path, pid: u32, version_num: u32, socket: &Path) -> Readiness {
    let Some(file) = PidFile::read(data_dir).filter(|file| file.pid == pid) else {
        return Readiness::Silent;
    };
    match file.status.as_deref() {
        Some("ready" | "standby") => Readiness::Ready,
        Some("stopping") => Readiness::Stopping,
        Some(_) => Readiness::Starting,
        None if version_num < 100_000 => ask(socket),
        None => Readiness::Silent,
    }
}

/// Path of the socket in its directory.
pub fn socket_path(dir: &Path, port: u16) -> PathBuf {
    dir.join(format!(".s.PGSQL.{port}"))
}

/// Longest wait for the answer to the startup message.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

fn ask(socket: &Path) -> Readiness {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return Readiness::Silent;
    };
    let answer = stream
        .set_read_timeout(Some(ANSWER_LIMIT))
        .and_then(|()| stream.write_all(&startup_message()))
        .and_then(|()| read_answer(&mut stream));
    answer.map_or(Readiness::Silent, |(kind, body)| judge(kind, &body))
}

/// `StartupMessage` of protocol 3.0 for user and database `postgres`.
fn startup_message() -> Vec<u8> {
    let parameters = b"user\0postgres\0database\0postgres\0\0";
    let length = (8 + parameters.len()) as u32;
    [&length.to_be_bytes()[..], &196_608_u32.to_be_bytes(), parameters].concat()
}

/// Reads the type and up to 1 KiB of the body of one message.
fn read_answer(stream: &mut UnixStream) -> std::io::Result<(u8, Vec<u8>)> {
    let mut head = [0_u8; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]).saturating_sub(4).min(1024);
    let mut body = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut body)?;
    Ok((head[0], body))
}

/// Interprets an answer. An error with SQLSTATE 57P03 means "not yet" or "not any more"; any other answer comes from a
/// server that takes connections, even if it refuses this one.
fn judge(kind: u8, body: &[u8]) -> Readiness {
    let not_yet = body.split(|byte| *byte == 0).any(|field| field == b"C57P03");
    if kind == b'E' && not_yet { Readiness::Starting } else { Readiness::Ready }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_files_of_old_and_new_majors() {
        let old = "4711\n/data\n1700000000\n5432\n/run/x\n\n  5432001    65538\n";
        assert_eq!(PidFile::parse(old), Some(PidFile { pid: 4711, status: None }));
        let new = format!("{old}ready   \n");
        assert_eq!(PidFile::parse(&new).and_then(|file| file.status).as_deref(), Some("ready"));
        for wrong in ["", "\n", "-4711\n/data\n", "x\n", "0\n", "99999999999\n"] {
            assert_eq!(PidFile::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_57p03_means_not_yet() {
        assert_eq!(judge(b'R', &[0, 0, 0, 0]), Readiness::Ready);
        assert_eq!(
            judge(b'E', b"SFATAL\0C57P03\0Mthe database system is starting up\0\0"),
            Readiness::Starting
        );
        assert_eq!(judge(b'E', b"SFATAL\0C28000\0Mno entry\0\0"), Readiness::Ready);
    }

    #[test]
    fn nobody_there_is_silence() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        assert_eq!(readiness(dir.path(), 1, 90_600, &dir.path().join("s")), Readiness::Silent);
        fs::write(dir.path().join("postmaster.pid"), "1\n/d\n1\n5432\n/s\n\nx\n").expect("it can be written");
        assert_eq!(readiness(dir.path(), 1, 90_600, &dir.path().join("s")), Readiness::Silent);
        assert_eq!(readiness(dir.path(), 2, 180_000, &dir.path().join("s")), Readiness::Silent);
    }

    #[test]
    fn the_startup_message_has_its_own_length() {
        let message = startup_message();
        assert_eq!(
            message.len() as u32,
            u32::from_be_bytes([message[0], message[1], message[2], message[3]])
        );
    }
}
