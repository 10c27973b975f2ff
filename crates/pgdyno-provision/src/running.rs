//! A server that runs, and how to end it.

use std::{path::PathBuf, time::Duration};

use pgdyno_core::{
    facts::{Choice, MadeFacts, ServerSource},
    problem::Problem,
};

use super::{
    Dirs, Event, SUPERUSER, builds,
    registry::{self, Phase, Record, Slot, Status},
    stop::{FAST_LIMIT, Stopped},
};

/// How a server is reached by TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// An address to connect to from this machine.
    pub host: String,
    /// Addresses it listens on, as given.
    pub listen: String,
}

/// A server that takes connections.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningServer {
    /// Name.
    pub name: String,
    /// Number of the postmaster.
    pub pid: u32,
    /// Directory of the socket, which its owner alone can enter.
    pub socket_dir: PathBuf,
    /// Port, on TCP and in the name of the socket.
    pub port: u16,
    /// How it is reached by TCP, where it listens.
    pub tcp: Option<Tcp>,
    /// File with the superuser's password, for TCP only; mode 0600.
    pub password_file: PathBuf,
    /// Name of the superuser and of the database to connect to first.
    pub superuser: &'static str,
    /// Data directory.
    pub data_dir: PathBuf,
    /// Log.
    pub log_path: PathBuf,
    /// Name of the build that the program is; absent of every other.
    pub build: Option<String>,
    /// Directory of the programs.
    pub bindir: PathBuf,
    /// `server_version_num`.
    pub version_num: u32,
    /// The version as the program prints it.
    pub version: String,
    /// Where the program came from.
    pub source: ServerSource,
    /// Whether a bundle is one that was tested with this version of pgdyno; true for installed servers.
    pub pinned: bool,
    /// Settings in its configuration, each with its reason.
    pub choices: Vec<Choice>,
    /// What somebody should know who measures it.
    pub warnings: Vec<String>,
    /// Whether it ran before it was asked for.
    pub already_running: bool,
    pub(super) dirs: Dirs,
}

impl RunningServer {
    pub(super) fn of(record: &Record, pid: u32, dirs: &Dirs, warnings: Vec<String>) -> Self {
        let home = dirs.servers().join(&record.name);
        Self {
            name: record.name.clone(),
            pid,
            socket_dir: record.socket.path.clone(),
            port: record.port,
            tcp: record
                .listen
                .as_ref()
                .map(|listen| Tcp { host: local_host(listen), listen: listen.clone() }),
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
            warnings,
            already_running: false,
            dirs: dirs.clone(),
        }
    }

    /// What is known of the build that the program is; `None` where it is none.
    pub fn made(&self) -> Option<MadeFacts> {
        builds::find(&self.dirs, self.build.as_ref()?).ok().map(|build| build.facts())
    }

    /// Stops the server; its data stays.
    ///
    /// # Errors
    /// As for [`stop`].
    pub fn stop(&self) -> Result<Stopped, Problem> {
        stop(&self.dirs, &self.name, &mut |_| {})
    }

    /// Stops the server and removes it with its data.
    ///
    /// # Errors
    /// As for [`remove`].
    pub fn remove(&self) -> Result<(), Problem> {
        remove(&self.dirs, &self.name, &mut |_| {})
    }
}

/// An address of this machine that a server with these `listen_addresses` answers on.
fn local_host(listen: &str) -> String {
    let first = listen.split(',').next().unwrap_or(listen).trim();
    match first {
        "*" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "::1".to_owned(),
        other => other.to_owned(),
    }
}

/// Stops a server of this name: by a fast shutdown, or where that takes over [`FAST_LIMIT`], at once. Its
/// data stays.
///
/// # Errors
/// Where there is no such server, this user may not stop it, or it does not end.
pub fn stop(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<Stopped, Problem> {
    registry::find(dirs, name)?;
    let slot = Slot::lock(dirs, name, progress)?;
    stop_locked(&slot, Some(FAST_LIMIT), progress)
}

fn stop_locked(
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

/// Stops a server of this name and removes it with its data.
///
/// # Errors
/// As for [`stop`]; and where something cannot be removed. Then the server stays listed.
pub fn remove(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    registry::find(dirs, name)?;
    let slot = Slot::lock(dirs, name, progress)?;
    // At once: a checkpoint of data that goes away is time for nothing, and a full disk would refuse it.
    stop_locked(&slot, None, progress)?;
    match slot.read()? {
        Some(record) => slot.discard(record),
        None => slot.remove_dir(),
    }
}

/// Removes the directory of a name that nothing is recorded under: what a crash before the first record left.
///
/// # Errors
/// Where it cannot be locked or removed.
pub fn remove_leftover(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    let path = dirs.servers().join(name);
    if std::fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_dir()) {
        // A link goes, and what it leads to stays.
        return std::fs::remove_file(&path)
            .map_err(|error| Problem::could_not(format!("could not remove {}: {error}", path.display())));
    }
    let slot = Slot::lock(dirs, name, progress)?;
    // Somebody may have made a server of it while this one waited.
    if slot.read()?.is_none() { slot.remove_dir() } else { Ok(()) }
}

impl Record {
    /// The running server of this record, where it takes connections.
    pub fn running(&self, dirs: &Dirs) -> Option<RunningServer> {
        match self.status() {
            Status::Running { pid } => Some(RunningServer::of(self, pid, dirs, Vec::new())),
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
