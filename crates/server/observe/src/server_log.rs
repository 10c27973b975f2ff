//! Where the log of a server is, if it can be read on this machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::activity::LogPlace;
use pgdyno_wire::Session;

/// The log of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLog {
    /// Its file, or the directory of which the newest file is followed; `None` if that is not known.
    pub(crate) path: Option<PathBuf>,
    /// Settings that keep events out of it.
    pub(crate) silent: Vec<String>,
    /// Whether it is in another language than English.
    pub(crate) is_foreign: bool,
}

impl ServerLog {
    /// Asks the server for its log, whose `postmaster` is on this machine. Without a logger of the server's own the log
    /// is the file to which the postmaster writes its errors.
    pub fn find(session: &mut Session, postmaster: u32) -> Self {
        // A server that does not answer has a log that is not known.
        let LogPlace { directory, english, silent } = LogPlace::find(session).unwrap_or_default();
        let path = directory.or_else(|| error_file(postmaster));
        Self { path, silent, is_foreign: english == Some(false) }
    }

    /// A log that was read on another machine.
    pub fn of_another(silent: Vec<String>, is_foreign: bool) -> Self {
        Self { path: None, silent, is_foreign }
    }

    /// Whether it is a file that is known here.
    pub fn is_known(&self) -> bool {
        self.path.is_some()
    }

    /// Settings that keep events out of it.
    pub fn silent(&self) -> &[String] {
        &self.silent
    }

    /// Whether it is in another language than English.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Why something will be missing.
    pub(crate) fn missing(&self) -> Option<String> {
        if self.path.is_none() {
            return Some("the server writes it to no file that is known here".to_owned());
        }
        let language = self.is_foreign.then(|| "messages are not in English (lc_messages)".to_owned());
        let lacks: Vec<String> = language.into_iter().chain(self.silent.iter().cloned()).collect();
        (!lacks.is_empty()).then(|| format!("it is incomplete: {}", lacks.join(", ")))
    }

    /// Whether it has the events that a setting is for.
    pub(crate) fn has(&self, setting: &str) -> bool {
        !self.is_foreign && !self.silent.iter().any(|silent| silent.starts_with(setting))
    }
}

/// The regular file that is the standard error of a process.
fn error_file(pid: u32) -> Option<PathBuf> {
    let path = fs::read_link(Path::new("/proc").join(pid.to_string()).join("fd/2")).ok()?;
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, process};

    use super::*;

    #[test]
    fn the_file_of_errors_is_found() {
        let place = tempfile::tempdir().expect("there is room");
        let log = place.path().join("server.log");
        let run = |errors: process::Stdio| {
            process::Command::new("sleep").arg("60").stderr(errors).spawn().expect("it is there")
        };
        let mut to_file = run(File::create(&log).expect("it can be made").into());
        let mut to_nobody = run(process::Stdio::null());
        let found = [error_file(to_file.id()), error_file(to_nobody.id()), error_file(u32::MAX)];
        for child in [&mut to_file, &mut to_nobody] {
            child.kill().and_then(|()| child.wait()).expect("it ends");
        }
        assert_eq!(found, [Some(log), None, None]);
    }
}
