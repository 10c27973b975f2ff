//! Running servers, and how to stop them.

use std::{path::PathBuf, time::Duration};

use pgdyno_core::{
    facts::{Choice, MadeFacts, PresetFacts, ServerSource},
    problem::Problem,
};

use super::{
    Dirs, Event, SUPERUSER, builds, conf,
    registry::{self, Phase, Record, Slot, Status},
    stop::{FAST_LIMIT, Stopped},
};

/// Access to a server by TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// Address to connect to from this machine.
    pub host: String,
    /// Addresses the server listens on, as given.
    pub listen: String,
    /// Networks whose clients it admits, with a password.
    pub networks: String,
}

/// Server that takes connections.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningServer {
    /// Name of the server.
    pub name: String,
    /// PID of the postmaster.
    pub pid: u32,
    /// Directory of the socket, which only its owner can enter.
    pub socket_dir: PathBuf,
    /// Port, for TCP and in the name of the socket.
    pub port: u16,
    /// Access by TCP, if the server listens.
    pub tcp: Option<Tcp>,
    /// File with the superuser's password, needed for TCP only; mode 0600.
    pub password_file: PathBuf,
    /// Name of the superuser and of the first database to connect to.
    pub superuser: &'static str,
    /// Data directory.
    pub data_dir: PathBuf,
    /// Path of the server log.
    pub log_path: PathBuf,
    /// Name of the pgdyno build, if the program is one.
    pub build: Option<String>,
    /// Directory of the programs.
    pub bindir: PathBuf,
    /// `server_version_num`.
    pub version_num: u32,
    /// The version as the program prints it.
    pub version: String,
    /// Source of the program.
    pub source: ServerSource,
    /// Whether a bundle was tested with this version of pgdyno; true for other programs.
    pub pinned: bool,
    /// Settings in the configuration, each with its reason.
    pub choices: Vec<Choice>,
    /// The preset that it was given, and what differs from it.
    pub preset: Option<PresetFacts>,
    /// Warnings about measuring this server.
    pub warnings: Vec<String>,
    /// Whether the server ran before the request.
    pub already_running: bool,
    pub(super) dirs: Dirs,
}

impl RunningServer {
    pub(super) fn from_record(record: &Record, pid: u32, dirs: &Dirs, warnings: Vec<String>) -> Self {
        let home = dirs.servers().join(&record.name);
        Self {
            name: record.name.clone(),
            pid,
            socket_dir: record.socket.path.clone(),
            port: record.port,
            tcp: record.listen.as_ref().map(|listen| Tcp {
                host: local_host(listen),
                listen: listen.clone(),
                networks: conf::networks(&record.allow).join(", "),
            }),
            password_file: home.join("password"),
            superuser: SUPERUSER,
            data_dir: record.data.path.clone(),
            log_path: home.join("server.log"),
            build: record.build.clone(),
            bindir: record.bindir.clone(),
            version_num: record.version_num,
            version: record.version.clone(),
            source: record.source,
            pinned: record.pinned.unwrap_or(true),
            choices: record.settings.clone(),
            preset: record.preset_used.clone(),
            warnings,
            already_running: false,
            dirs: dirs.clone(),
        }
    }

    /// Facts of the build, if the program is one.
    pub fn made(&self) -> Option<MadeFacts> {
        builds::find(&self.dirs, self.build.as_ref()?).ok().map(|build| build.facts())
    }

    /// Stops the server; the data stays.
    ///
    /// # Errors
    /// See [`stop`].
    pub fn stop(&self) -> Result<Stopped, Problem> {
        stop(&self.dirs, &self.name, &mut |_| {})
    }

    /// Stops the server and removes it with its data.
    ///
    /// # Errors
    /// See [`remove`].
    pub fn remove(&self) -> Result<(), Problem> {
        remove(&self.dirs, &self.name, &mut |_| {})
    }
}

/// Address of this machine on which a server with these `listen_addresses` answers.
fn local_host(listen: &str) -> String {
    let first = listen.split(',').next().unwrap_or(listen).trim();
    match first {
        "*" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "::1".to_owned(),
        other => other.to_owned(),
    }
}

/// Stops the server of this name by a fast shutdown, or if that takes longer than [`FAST_LIMIT`], by an immediate one.
/// The data stays.
///
/// # Errors
/// If there is no such server, this user may not stop it, or it does not end.
pub fn stop(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<Stopped, Problem> {
    registry::find(dirs, name)?;
    let slot = Slot::lock(dirs, name, progress)?;
    stop_locked(&slot, Some(FAST_LIMIT), progress)
}

pub(super) fn stop_locked(
    slot: &Slot,
    fast_limit: Option<Duration>,
    progress: &mut dyn FnMut(Event),
) -> Result<Stopped, Problem> {
    let Some(mut record) = slot.read()? else {
        return Ok(Stopped::WasNotRunning);
    };
    let stopped = super::stop::stop(&record.data.path, fast_limit, progress)?;
    if record.phase == Phase::Started {
        record.phase = Phase::Stopped;
        slot.write(&record)?;
    }
    Ok(stopped)
}

/// Stops the server of this name and removes it with its data.
///
/// # Errors
/// See [`stop`]; also if something cannot be removed, in which case the server stays listed.
pub fn remove(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    registry::find(dirs, name)?;
    let slot = Slot::lock(dirs, name, progress)?;
    // Immediate: a checkpoint of data about to be removed is wasted time, and fails on a full disk.
    stop_locked(&slot, None, progress)?;
    match slot.read()? {
        Some(record) => slot.discard(record),
        None => slot.remove_dir(),
    }
}

/// Removes the directory of a name without a record, left by a crash before the first record.
///
/// # Errors
/// If it cannot be locked or removed.
pub fn remove_leftover(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    let path = dirs.servers().join(name);
    if std::fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_dir()) {
        // Only the link is removed, not its target.
        return std::fs::remove_file(&path)
            .map_err(|error| Problem::could_not(format!("could not remove {}: {error}", path.display())));
    }
    let slot = Slot::lock(dirs, name, progress)?;
    // Another process may have made it a server while this one waited.
    if slot.read()?.is_none() { slot.remove_dir() } else { Ok(()) }
}

impl Record {
    /// The running server of this record, if it takes connections.
    pub fn running(&self, dirs: &Dirs) -> Option<RunningServer> {
        match self.status() {
            Status::Running { pid } => Some(RunningServer::from_record(self, pid, dirs, Vec::new())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::local_host;

    #[test]
    fn an_address_to_connect_to() {
        for (listen, host) in
            [("*", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("localhost, ::1", "localhost")]
        {
            assert_eq!(local_host(listen), host);
        }
    }
}
