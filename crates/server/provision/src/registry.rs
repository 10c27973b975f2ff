//! Registry of pgdyno's servers: a directory each, whose `server.json` is written before anything else is done, so that
//! nothing is lost track of in a crash at any instant. Whether a server runs is asked of the kernel, never taken from
//! the record.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use pgdyno_core::{
    facts::{Choice, PresetFacts, ServerSource},
    problem::Problem,
};
use pgdyno_host::users::User;
use pgdyno_plan::preset::Preset;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Dirs, Event,
    lock::lock,
    process::{find_postmaster, workers_on},
    ready::{PidFile, Readiness, readiness, socket_path},
    safe::{Place, absent_is_fine, close_dir, close_file, make_own_dir, write_file},
    wait::ProcessHandle,
};

/// Version of the layout of `server.json`.
pub const FORMAT: u32 = 1;
/// Longest name of a server in bytes: it is part of the path of the socket.
const LONGEST_NAME: usize = 40;
/// Longest wait for another pgdyno that works on a server: it may be fetching a bundle, or wait for a recovery.
const LOCK_LIMIT: Duration = Duration::from_secs(300);
/// Files of a server that only pgdyno reads.
const OUR_FILES: [&str; 2] = ["server.json", "password"];
/// Files of a server that the server itself reads or writes.
const SERVER_FILES: [&str; 3] = ["pgdyno.conf", "pg_hba.conf", "server.log"];

/// Stage of a server's life, as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The cluster is being made.
    Preparing,
    /// The cluster exists; the server was not started yet, or was stopped by pgdyno.
    Stopped,
    /// The server was started.
    Started,
    /// The server is being removed.
    Removing,
}

/// Content of `server.json`: everything needed to find a server again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the layout ([`FORMAT`]).
    pub format: u32,
    /// Name of the server.
    pub name: String,
    /// Stage of the server's life.
    pub phase: Phase,
    /// `server_version_num`.
    pub version_num: u32,
    /// The version as the program prints it.
    pub version: String,
    /// Source of the program.
    pub source: ServerSource,
    /// Whether the program is a bundle that was tested with this version of pgdyno (pinned). `None` for programs that
    /// are not bundles.
    pub pinned: Option<bool>,
    /// Name of the pgdyno build, if the program is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Directory of the programs.
    pub bindir: PathBuf,
    /// Data directory.
    pub data: Place,
    /// Separate WAL directory, if there is one.
    pub wal: Option<Place>,
    /// Tablespaces and their directories.
    pub tablespaces: Vec<(String, Place)>,
    /// Directory of the socket.
    pub socket: Place,
    /// Port, for TCP and in the name of the socket.
    pub port: u16,
    /// Addresses to listen on by TCP; `None` is no TCP.
    pub listen: Option<String>,
    /// Networks whose clients TCP admits; empty is those that this machine is part of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// User to run as; `None` is the user of pgdyno.
    pub run_as: Option<User>,
    /// WAL segment size in MB, if it was given.
    pub wal_segsize_mb: Option<u32>,
    /// CPUs the server may run on; empty is all.
    pub cpus: Vec<u32>,
    /// Settings given by the user.
    pub given: BTreeMap<String, String>,
    /// Settings in the configuration, each with its reason.
    pub settings: Vec<Choice>,
    /// The configuration that takes the place of settings chosen from facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// What became of it at the last start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset_used: Option<PresetFacts>,
}

impl Record {
    /// Settings that were requested: by name, or in a preset.
    pub(super) fn asked_settings(&self) -> BTreeMap<String, String> {
        let published = self.preset.iter().flat_map(|preset| preset.settings.keys());
        let in_force = |name: &String| {
            let choice = self.settings.iter().find(|choice| choice.name.eq_ignore_ascii_case(name))?;
            Some((choice.name.clone(), choice.value.clone()))
        };
        let mut asked: BTreeMap<_, _> = published.filter_map(in_force).collect();
        asked.extend(self.given.clone());
        asked
    }
}

/// State of a server, from the kernel and from `postmaster.pid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The server takes connections.
    Running {
        /// PID of the postmaster.
        pid: u32,
    },
    /// The server is starting up or recovering.
    Starting {
        /// PID of the postmaster.
        pid: u32,
    },
    /// The server is shutting down.
    Stopping {
        /// PID of the postmaster.
        pid: u32,
    },
    /// The server was shut down.
    Stopped,
    /// The server ended without shutting down; the next start recovers.
    Dead,
    /// The server was never completely made, or never completely removed.
    Unfinished,
}

impl Status {
    /// PID of the postmaster, if it runs.
    pub fn pid(self) -> Option<u32> {
        match self {
            Self::Running { pid } | Self::Starting { pid } | Self::Stopping { pid } => Some(pid),
            Self::Stopped | Self::Dead | Self::Unfinished => None,
        }
    }

    /// Name of the state in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Starting { .. } => "starting",
            Self::Stopping { .. } => "stopping",
            Self::Stopped => "stopped",
            Self::Dead => "dead",
            Self::Unfinished => "unfinished",
        }
    }
}

impl Record {
    /// Determines the current state of the server.
    pub fn status(&self) -> Status {
        let Some(process) = find_postmaster(&self.data.path) else {
            return self.status_without_process();
        };
        let pid = process.pid;
        let socket = socket_path(&self.socket.path, self.port);
        match readiness(&self.data.path, pid, self.version_num, &socket) {
            Readiness::Ready => Status::Running { pid },
            Readiness::Stopping => Status::Stopping { pid },
            Readiness::Starting | Readiness::Silent => Status::Starting { pid },
        }
    }

    /// State without a postmaster: a shutdown removes `postmaster.pid`, a kill leaves it.
    fn status_without_process(&self) -> Status {
        match self.phase {
            Phase::Preparing | Phase::Removing => Status::Unfinished,
            Phase::Started | Phase::Stopped if PidFile::read(&self.data.path).is_some() => Status::Dead,
            Phase::Started | Phase::Stopped => Status::Stopped,
        }
    }

    /// Whether the programs lie under a directory, also through links.
    pub fn runs_from(&self, dir: &Path) -> bool {
        self.bindir.starts_with(dir) || fs::canonicalize(dir).is_ok_and(|dir| self.bindir.starts_with(dir))
    }

    /// All directories claimed for this server, besides its own in the registry.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        let tablespaces = self.tablespaces.iter().map(|(_, place)| place);
        // The data directory comes last: its links lead to the others.
        tablespaces.chain(&self.wal).chain([&self.socket, &self.data])
    }
}

/// Checks the name of a server.
///
/// # Errors
/// If it is not usable as the name of a directory.
pub fn check_name(name: &str) -> Result<(), Problem> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let good = name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(allowed);
    if good {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("`{name}` cannot be the name of a server"))
        .hint(format!("use up to {LONGEST_NAME} letters, digits, - and _, beginning with a letter or digit")))
}

/// The locked directory of a server: no other pgdyno works on this server.
#[derive(Debug)]
pub struct Slot {
    dir: PathBuf,
    _lock: File,
}

impl Slot {
    /// Locks the directory of a name, creating it if missing; waits while another pgdyno holds it. Closes files that an
    /// older version left readable to other users.
    ///
    /// # Errors
    /// If the directory cannot be created or locked, belongs to another user, or another pgdyno holds it for too long.
    pub fn lock(dirs: &Dirs, name: &str, progress: &mut dyn FnMut(Event)) -> Result<Self, Problem> {
        let dir = dirs.servers().join(name);
        let mut wait = || progress(Event::WaitingForServer { name: name.to_owned() });
        let lock = lock_dir(&dir, &mut wait).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                Problem::could_not(format!("could not use server `{name}`: another pgdyno works on it"))
                    .detail(error.to_string())
                    .hint("try again when that one is done, or end it if it hangs. Nothing was changed.")
            }
            _ => Problem::could_not(format!("could not use {}: {error}", dir.display()))
                .hint("choose another directory with the environment variable PGDYNO_STATE"),
        })?;
        let slot = Self { dir, _lock: lock };
        if let Ok(Some(record)) = slot.read() {
            slot.close_to_others(record.run_as.as_ref())?;
        }
        Ok(slot)
    }

    /// Restricts the directory and its files to their owner and the user that the server runs as.
    ///
    /// # Errors
    /// If the directory holds something that pgdyno did not put there.
    pub fn close_to_others(&self, user: Option<&User>) -> Result<(), Problem> {
        let ours = OUR_FILES.iter().map(|name| (name, None));
        let of_server = SERVER_FILES.iter().map(|name| (name, user));
        let mut files = ours.chain(of_server);
        let closed = close_dir(&self.dir, user)
            .and_then(|()| files.try_for_each(|(name, owner)| close_file(&self.dir, name, owner)));
        closed.map_err(|error| {
            Problem::could_not(format!("could not close {} to other users: {error}", self.dir.display()))
                .hint("check its content: it should hold only what pgdyno created")
        })
    }

    /// Path of the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the record; `None` if there is none.
    ///
    /// # Errors
    /// If the record is malformed.
    pub fn read(&self) -> Result<Option<Record>, Problem> {
        read(&self.dir)
    }

    /// Writes the record atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, record: &Record) -> Result<(), Problem> {
        let problem = |error: io::Error| {
            Problem::could_not(format!("could not write {}: {error}", self.dir.join("server.json").display()))
        };
        let text = serde_json::to_vec_pretty(record).map_err(|error| problem(error.into()))?;
        write_file(&self.dir.join("server.json"), &text, 0o600, None).map_err(problem)
    }

    /// Removes everything that belongs to a stopped server, its record last.
    ///
    /// # Errors
    /// If something cannot be removed; the record stays, so that the removal can be repeated.
    pub fn discard(&self, mut record: Record) -> Result<(), Problem> {
        record.phase = Phase::Removing;
        self.write(&record)?;
        wait_for_workers(&record.data.path);
        for place in record.places() {
            place.remove().map_err(|error| {
                Problem::could_not(format!("could not remove {}: {error}", place.path.display())).hint(
                    format!("server `{}` is still listed; try `pgdyno down --remove` again", record.name),
                )
            })?;
        }
        self.remove_dir()
    }

    /// Removes the directory itself. The record goes first, so that no partial server is ever listed.
    pub fn remove_dir(&self) -> Result<(), Problem> {
        let removed = absent_is_fine(fs::remove_file(self.dir.join("server.json")))
            .and_then(|()| fs::remove_dir_all(&self.dir));
        removed
            .map_err(|error| Problem::could_not(format!("could not remove {}: {error}", self.dir.display())))
    }
}

/// Waits for the programs that a killed pgdyno left behind; the kernel has signalled them to end.
fn wait_for_workers(data_dir: &Path) {
    for held in workers_on(data_dir).into_iter().filter_map(ProcessHandle::open) {
        held.wait(Duration::from_secs(10));
    }
}

/// Takes the lock, which lies in the directory it guards and is removed with it: after a wait, checks that it is still
/// the same file.
fn lock_dir(dir: &Path, wait: &mut dyn FnMut()) -> io::Result<File> {
    loop {
        make_own_dir(dir)?;
        let path = dir.join("lock");
        let file = match lock(&path, LOCK_LIMIT, wait) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        let locked = file.metadata()?;
        let there = fs::symlink_metadata(&path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino())) {
            return Ok(file);
        }
    }
}

fn read(dir: &Path) -> Result<Option<Record>, Problem> {
    let path = dir.join("server.json");
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => {
            return Err(Problem::could_not(format!("could not read {}: {error}", path.display())).hint(
                "work as the user who made this server, or choose another directory with PGDYNO_STATE",
            ));
        }
    };
    serde_json::from_slice::<Record>(&text).map(Some).map_err(|error| {
        let format = serde_json::from_slice::<Value>(&text).ok().and_then(|json| json["format"].as_u64());
        match format.filter(|format| *format > u64::from(FORMAT)) {
            Some(format) => Problem::could_not(format!(
                "could not understand {}: it has format {format}, and this pgdyno knows {FORMAT}",
                path.display()
            ))
            .hint("a newer pgdyno wrote it: use that one for this server"),
            None => broken(dir, &error),
        }
    })
}

/// Error for a record that cannot be parsed: what may be left of its server, and how to give it up.
fn broken(dir: &Path, error: &serde_json::Error) -> Problem {
    let data = dir.join("data");
    let problem =
        Problem::could_not(format!("could not understand {}: {error}", dir.join("server.json").display()));
    let (stop, problem) = match find_postmaster(&data) {
        Some(process) => (
            format!("stop it (`kill -INT {}`) and ", process.pid),
            problem.detail(format!("its server runs, process {}", process.pid)),
        ),
        None => (String::new(), problem),
    };
    problem.hint(format!(
        "its data are in {}, unless --data put them elsewhere. Put server.json back from a copy; or to give the server \
         up, {stop}remove {}",
        data.display(),
        dir.display()
    ))
}

/// All recorded servers, by name; an unreadable record is a [`Problem`] among the others.
pub fn list(dirs: &Dirs) -> Vec<Result<Record, Problem>> {
    let entries = fs::read_dir(dirs.servers()).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| read(path).transpose()).collect()
}

/// Reads the record of a name, without locking it.
///
/// # Errors
/// If there is none, or it is malformed.
pub fn find(dirs: &Dirs, name: &str) -> Result<Record, Problem> {
    check_name(name)?;
    read(&dirs.servers().join(name))?.ok_or_else(|| {
        let known: Vec<String> = list(dirs).into_iter().flatten().map(|record| record.name).collect();
        let problem = Problem::wrong_request(format!("there is no server `{name}`"));
        if known.is_empty() {
            problem.hint("`pgdyno up` starts one")
        } else {
            problem.hint(format!("existing servers: {}", known.join(", ")))
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn dirs(root: &Path) -> Dirs {
        let [state, cache, runtime] = ["state", "cache", "run"].map(|name| root.join(name));
        Dirs { state, cache, runtime, templates: None }
    }

    fn record(root: &Path, name: &str) -> Record {
        Record {
            format: FORMAT,
            name: name.into(),
            phase: Phase::Preparing,
            version_num: 180_006,
            version: "18.6".into(),
            source: ServerSource::Bundle,
            pinned: Some(true),
            build: None,
            bindir: "/b".into(),
            data: Place::planned(root.join("data")),
            wal: None,
            tablespaces: vec![("t".into(), Place::planned(root.join("t")))],
            socket: Place::planned(root.join("run")),
            port: 5432,
            listen: None,
            allow: vec![],
            run_as: None,
            wal_segsize_mb: None,
            cpus: vec![],
            given: BTreeMap::new(),
            settings: vec![],
            preset: None,
            preset_used: None,
        }
    }

    #[test]
    fn names() {
        for good in ["main", "a", "bench-1f", "9x_y"] {
            assert_eq!(check_name(good), Ok(()));
        }
        for wrong in ["", ".", "..", "a/b", "-a", "_a", "a b", "ä", &"x".repeat(41)] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_record_is_written_read_and_discarded() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let slot = Slot::lock(&dirs, "a", &mut |_| panic!("nobody has it")).expect("it can be locked");
        assert_eq!(slot.read(), Ok(None));
        assert_eq!(list(&dirs), []);
        let mut record = record(root.path(), "a");
        record.data.take("data directory", None).expect("it can be made");
        slot.write(&record).expect("it can be written");
        assert_eq!(find(&dirs, "a"), Ok(record.clone()));
        assert_eq!(record.status(), Status::Unfinished);
        assert!(find(&dirs, "b").expect_err("there is none").hint.is_some_and(|hint| hint.contains('a')));
        slot.discard(record.clone()).expect("it can be removed");
        assert!(!record.data.path.exists() && !slot.dir().exists());
    }

    #[test]
    fn what_runs_is_not_believed() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let mut record = record(root.path(), "a");
        record.phase = Phase::Started;
        assert_eq!(record.status(), Status::Stopped);
        record.data.take("data directory", None).expect("it can be made");
        // A reused PID: this process is no postmaster.
        fs::write(record.data.path.join("postmaster.pid"), format!("{}\n", std::process::id()))
            .expect("it can");
        assert_eq!(record.status(), Status::Dead);
    }

    #[test]
    fn a_lock_whose_directory_was_removed_is_taken_again() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let first = Slot::lock(&dirs, "a", &mut |_| {}).expect("it can be locked");
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = dirs.clone();
        let waiter = std::thread::spawn(move || {
            Slot::lock(&other, "a", &mut |event| sender.send(event).expect("heard"))
        });
        assert!(matches!(receiver.recv(), Ok(Event::WaitingForServer { .. })));
        first.remove_dir().expect("it can be removed");
        drop(first);
        let second = waiter.join().expect("it does not panic").expect("it can be locked");
        assert!(second.dir().join("lock").exists());
    }

    #[test]
    fn what_an_older_version_left_open_is_closed() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let slot = Slot::lock(&dirs, "a", &mut |_| {}).expect("it can be locked");
        slot.write(&record(root.path(), "a")).expect("it can be written");
        drop(slot);
        let dir = dirs.servers().join("a");
        let set =
            |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
        fs::write(dir.join("pgdyno.conf"), "primary_conninfo = 'password=x'").expect("it can be written");
        let files = ["lock", "server.json", "pgdyno.conf"].map(|name| dir.join(name));
        files.iter().for_each(|path| set(path, 0o644));
        set(&dir, 0o755);
        drop(Slot::lock(&dirs, "a", &mut |_| {}).expect("it can be locked"));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!(mode(&dir), 0o700);
        assert_eq!(files.each_ref().map(|path| mode(path)), [0o600; 3]);
    }

    #[test]
    fn a_directory_behind_a_link_is_not_used() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        fs::create_dir_all(dirs.servers()).expect("it can be made");
        fs::create_dir(root.path().join("elsewhere")).expect("it can be made");
        std::os::unix::fs::symlink(root.path().join("elsewhere"), dirs.servers().join("a")).expect("a link");
        let problem = Slot::lock(&dirs, "a", &mut |_| {}).expect_err("it is a link");
        assert!(problem.what.contains("symbolic link"), "{}", problem.what);
        assert_eq!(fs::read_dir(root.path().join("elsewhere")).expect("it stays").count(), 0);
    }

    #[test]
    fn a_broken_record_says_what_to_do() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let slot = Slot::lock(&dirs, "a", &mut |_| {}).expect("it can be locked");
        for (text, what, hint) in [
            ("", "could not understand", "its data are in"),
            ("{\"format\": 1, \"name\": 3}", "could not understand", "its data are in"),
            ("{\"format\": 7}", "it has format 7, and this pgdyno knows 1", "a newer pgdyno wrote it"),
        ] {
            fs::write(slot.dir().join("server.json"), text).expect("it can be written");
            let problem = find(&dirs, "a").expect_err("it is broken");
            assert!(problem.what.contains(what), "{}", problem.what);
            assert!(problem.hint.as_ref().is_some_and(|words| words.contains(hint)), "{problem:?}");
        }
    }

    #[test]
    fn an_unreadable_record_is_named() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        fs::create_dir_all(dirs.servers().join("x")).expect("it can be made");
        for text in ["", "{}", "[]", "{\"format\":1"] {
            fs::write(dirs.servers().join("x/server.json"), text).expect("it can be written");
            assert!(list(&dirs)[0].is_err(), "{text}");
        }
    }
}
