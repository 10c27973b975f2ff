//! Starts a server and waits until it takes connections; finds the one that runs on a data directory.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::{
    procs::{self, ProcessId},
    users::User,
};
use rustix::process::Signal;

use super::{
    Event, Lifetime,
    child::{ChildOptions, command},
    ready::{PidFile, Readiness, readiness, socket_path},
    safe::{absent_is_fine, open_log, remove_in},
    wait::wait_for_exit,
};

/// Parameters to start a server.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Directory of the programs.
    pub bindir: &'a Path,
    /// `server_version_num`.
    pub version_num: u32,
    /// Data directory.
    pub data_dir: &'a Path,
    /// Directory of the socket.
    pub socket_dir: &'a Path,
    /// Port.
    pub port: u16,
    /// Log file for the server's output.
    pub log_path: &'a Path,
    /// User to run as; `None` is the user of pgdyno.
    pub user: Option<&'a User>,
    /// CPUs the server may run on; empty is all.
    pub cpus: &'a [u32],
    /// Lifetime of the server.
    pub lifetime: Lifetime,
    /// Longest time without a sign of progress while the server starts.
    pub limit: Duration,
}

/// Server started by this process.
#[derive(Debug)]
pub struct Started {
    child: Child,
    log_from: u64,
}

impl Started {
    /// PID of the postmaster.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Starts `postgres` itself, not through `pg_ctl`, so that its exit is noticed.
///
/// # Errors
/// If the log cannot be opened, or the program cannot be run as its user.
pub fn start(start: &Start<'_>) -> Result<Started, Problem> {
    let problem = |error: io::Error| Problem::could_not(format!("could not start the server: {error}"));
    let log = open_log(start.log_path, start.user).map_err(problem)?;
    let log_from = log.metadata().map_err(problem)?.len();
    // Not INT: a fast shutdown ends with a checkpoint, which fails on a full disk, and then no process is left to
    // escalate.
    let on_parent_death = (start.lifetime == Lifetime::DiesWithUs).then_some(Signal::QUIT);
    let options = ChildOptions { user: start.user, cpus: start.cpus, on_parent_death, own_session: true };
    let mut postgres = command(&start.bindir.join("postgres"), start.data_dir, options);
    postgres.arg("-D").arg(start.data_dir).stdin(Stdio::null());
    postgres.stdout(log.try_clone().map_err(problem)?).stderr(log);
    Ok(Started { child: postgres.spawn().map_err(problem)?, log_from })
}

/// Hint for a setting that the server refuses.
pub(super) const SETTINGS_HINT: &str =
    "correct or remove the setting (--set, or the plan's [server.settings])";

/// Interval in which a starting server is polled, unless it ends before.
const POLL: Duration = Duration::from_millis(20);
/// Interval of progress reports on a slow start.
const REPORT: Duration = Duration::from_secs(5);

/// Waits until the server takes connections. As long as it reports that it is starting (a recovery may take long), the
/// wait continues; the limit counts from its last report.
///
/// # Errors
/// If the server ends, with the reason from its log, or reports nothing for too long; in that case it still runs.
pub fn wait_ready(
    start: &Start<'_>,
    started: &mut Started,
    progress: &mut dyn FnMut(Event),
) -> Result<(), Problem> {
    let socket = socket_path(start.socket_dir, start.port);
    let pid = started.pid();
    let begin = Instant::now();
    let (mut last_sign, mut last_report) = (begin, begin);
    loop {
        if let Some(status) = started.child.try_wait().map_err(|e| Problem::could_not(e.to_string()))? {
            return Err(ended(status, start.log_path, started.log_from));
        }
        match readiness(start.data_dir, pid, start.version_num, &socket) {
            Readiness::Ready => return Ok(()),
            Readiness::Starting => last_sign = Instant::now(),
            Readiness::Silent | Readiness::Stopping => {}
        }
        if last_sign.elapsed() > start.limit {
            return Err(silent(start, started.log_from));
        }
        if last_report.elapsed() > REPORT {
            last_report = Instant::now();
            let log_line = log_since(start.log_path, started.log_from).lines().last().map(str::to_owned);
            progress(Event::StillStarting { seconds: begin.elapsed().as_secs(), log_line });
        }
        wait_for_exit(pid, POLL);
    }
}

fn ended(status: ExitStatus, log_path: &Path, log_from: u64) -> Problem {
    let log = log_since(log_path, log_from);
    let reason = reason(&log).unwrap_or_else(|| format!("it ended with {status}"));
    let problem = Problem::could_not(format!("could not start the server: {reason}"));
    let problem = match reason.contains("contains errors") || reason.contains("unrecognized") {
        true => problem.hint(SETTINGS_HINT),
        false => problem,
    };
    Problem { detail: context(&log), ..problem }
}

fn silent(start: &Start<'_>, log_from: u64) -> Problem {
    let limit = start.limit.as_secs();
    let problem = Problem::could_not(format!("the server reported nothing for {limit} s after its start"));
    Problem { detail: log_since(start.log_path, log_from).lines().last().map(str::to_owned), ..problem }
}

/// End of a log from a position on, at most 64 KiB.
fn log_since(path: &Path, from: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(1 << 16))))?;
        let mut bytes = Vec::new();
        file.take(1 << 16).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// Log levels that explain why a server ended, the most specific first.
const LEVELS: [&str; 4] = ["PANIC:", "FATAL:", "ERROR:", "LOG:  could not "];

/// The message that explains the end, without time and level; a program that could not be loaded logs no level.
pub(super) fn reason(log: &str) -> Option<String> {
    let of_level =
        |level: &&str| log.lines().find_map(|line| Some(message(&line[line.find(*level)?..]).to_owned()));
    let said = LEVELS.iter().find_map(of_level);
    said.or_else(|| log.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned))
}

/// Text after the level.
fn message(line: &str) -> &str {
    line.split_once(':').map_or(line, |(_, message)| message.trim())
}

/// Last lines of the log, which include the reason's detail and hint and the messages just before it.
fn context(log: &str) -> Option<String> {
    let is_not_blank = |line: &&str| !line.trim().is_empty();
    let lines: Vec<&str> = log.lines().filter(is_not_blank).collect();
    let lines = &lines[lines.len().saturating_sub(4)..];
    (lines.len() > 1).then(|| lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("; "))
}

/// Finds the postmaster that runs on a data directory: by `postmaster.pid` if that can be trusted, else, if the file is
/// not written yet or lost, among all processes by their arguments.
pub fn find_postmaster(data_dir: &Path) -> Option<ProcessId> {
    let named = PidFile::read(data_dir).map(|file| file.pid);
    let runs_here = |pid: &u32| is_postmaster(*pid, data_dir);
    let pid = named.filter(runs_here).or_else(|| procs::all().into_iter().find(runs_here))?;
    ProcessId::of(pid)
}

/// Whether a process is `postgres -D DIR` and its parent is not: a server that has just forked looks like its parent.
fn is_postmaster(pid: u32, data_dir: &Path) -> bool {
    serves(pid, data_dir) && procs::parent(pid).is_none_or(|parent| !serves(parent, data_dir))
}

fn serves(pid: u32, data_dir: &Path) -> bool {
    let arguments = procs::arguments(pid);
    let is_postgres =
        arguments.first().and_then(|program| program.file_name()).is_some_and(|n| n == "postgres");
    is_postgres && arguments.len() == 3 && names_data_dir(&arguments, data_dir)
}

fn names_data_dir(arguments: &[PathBuf], data_dir: &Path) -> bool {
    arguments.windows(2).any(|pair| pair[0] == Path::new("-D") && pair[1] == data_dir)
}

/// Processes of any kind that work on a data directory, including `initdb` and single-user servers.
pub fn workers_on(data_dir: &Path) -> Vec<ProcessId> {
    let pids = procs::all().into_iter().filter(|pid| names_data_dir(&procs::arguments(*pid), data_dir));
    pids.filter_map(ProcessId::of).collect()
}

/// Longest wait for the children of a killed postmaster, which end when they notice.
const CHILDREN_LIMIT: Duration = Duration::from_secs(10);

/// Clears the way for a start after the postmaster of a data directory was killed: waits for its children, then removes
/// its lock files if the PID in them is in use, since a server would take that process for a rival. In a container
/// whose first process reaps nothing, every killed postmaster keeps its PID.
///
/// # Errors
/// If a child does not end, or a file cannot be removed.
pub fn settle(data_dir: &Path, socket_dir: &Path, port: u16) -> Result<(), Problem> {
    let begin = Instant::now();
    while let Some(child) = procs::all().into_iter().find(|pid| works_in(*pid, data_dir)) {
        if begin.elapsed() > CHILDREN_LIMIT {
            return Err(Problem::could_not("the server was killed, and one of its processes still runs")
                .detail(format!("process {child} works in {}", data_dir.display()))
                .hint("wait until it has ended: two servers on one data directory would destroy it"));
        }
        wait_for_exit(child, POLL);
    }
    let misleading = PidFile::read(data_dir).is_some_and(|file| procs::is_taken(file.pid));
    if misleading && find_postmaster(data_dir).is_none() {
        remove_stale(data_dir, "postmaster.pid")?;
        remove_stale(socket_dir, &format!(".s.PGSQL.{port}.lock"))?;
    }
    Ok(())
}

fn remove_stale(dir: &Path, name: &str) -> Result<(), Problem> {
    absent_is_fine(remove_in(dir, name))
        .map_err(|error| Problem::could_not(format!("could not remove the stale {name}: {error}")))
}

/// Whether a process belongs to the server: all of them work in the data directory.
fn works_in(pid: u32, data_dir: &Path) -> bool {
    procs::working_dir(pid).is_some_and(|dir| dir == data_dir) && ProcessId::of(pid).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_in_the_log() {
        let log = "[1] LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use\n\
                   2026-01-01 UTC [1] HINT:  Is another postmaster already running on port 5432?\n\
                   2026-01-01 UTC [1] FATAL:  could not create any TCP/IP sockets\n\
                   2026-01-01 UTC [1] LOG:  database system is shut down\n";
        assert_eq!(reason(log).as_deref(), Some("could not create any TCP/IP sockets"));
        assert!(context(log).is_some_and(|context| context.contains("Is another postmaster")));
        let unloadable = "postgres: error while loading shared libraries: libicu.so\n";
        assert_eq!(reason(unloadable).as_deref(), Some(unloadable.trim()));
        let full = "1 LOG:  starting\n2 LOG:  could not write file \"postmaster.opts\": No space left on device\n\
                    3 LOG:  database system is shut down\n";
        let expected = "could not write file \"postmaster.opts\": No space left on device";
        assert_eq!(reason(full).as_deref(), Some(expected));
        assert_eq!((reason(""), context("")), (None, None));
    }

    #[test]
    fn nothing_runs_on_a_directory_nobody_named() {
        assert_eq!(find_postmaster(Path::new("/not/there")), None);
        assert_eq!(workers_on(Path::new("/not/there")), []);
    }
}
