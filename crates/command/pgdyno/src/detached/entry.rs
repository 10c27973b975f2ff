//! The entry of a detached run: `detached/NAME` in the state directory. Whether the run is still running is a question
//! to the kernel; the entry only says which process it is.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use pgdyno_core::{problem::Problem, units};
use pgdyno_host::{
    procs::{ProcessId, boot_id},
    users,
};
use pgdyno_provision::{Dirs, make_open_dir};
use pgdyno_record::{Bound, OUTPUT, write_atomically};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Version of the layout of `entry.json`.
const FORMAT: u32 = 1;
const ENTRY: &str = "entry.json";
const PROGRESS: &str = "progress.json";

/// Content of `entry.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the layout.
    pub format: u32,
    /// Name of the run.
    pub name: String,
    /// Its sub-command, such as `load tpcb`.
    pub kind: String,
    /// Its command line, without secrets.
    pub command: String,
    /// Directory in which the command was given.
    pub directory: PathBuf,
    /// Start, as an RFC 3339 timestamp.
    pub started_at: String,
    /// The process; at first the one that starts it.
    pub process: Process,
    /// Run directory, once it is visible.
    pub run: Option<PathBuf>,
    /// Output in the run directory.
    pub output: Option<PathBuf>,
    /// End; `None` for a run that is running, was killed, or ended with the machine.
    pub end: Option<End>,
    /// State when the entry was read.
    #[serde(skip)]
    pub status: Status,
}

/// A process of this machine, also after the machine was restarted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Process ID.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Identifier of that boot.
    pub boot_id: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Exit status.
    pub status: u8,
    /// RFC 3339 timestamp.
    pub at: String,
}

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The present step for people, with its time left if that is known.
    pub text: String,
    /// The same, with the time left of all of it.
    pub line: String,
    /// What is seen at present of clients, machine and server, in lines.
    pub panel: Vec<String>,
    /// Stage of the run.
    pub stage: String,
    /// Units done.
    pub done: Option<u64>,
    /// Units in total.
    pub total: Option<u64>,
    /// What is counted, such as `rows`.
    pub unit: Option<String>,
    /// Estimated seconds until the present work is done.
    pub left_s: Option<f64>,
    /// How far all of it is; `None` where that cannot be known.
    pub whole: Option<Whole>,
}

/// How far a whole run is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// Share of its time that has passed, from 0 to 1.
    pub done: f64,
    /// Estimated seconds until its end.
    pub left_s: f64,
    /// Whether the end may come earlier or later.
    pub bound: Bound,
}

impl Whole {
    /// A run that began some seconds ago and may take some more; `None` if nothing is known of that.
    pub fn new(passed_s: f64, left_s: f64, bound: Bound) -> Option<Self> {
        let done = passed_s / (passed_s + left_s).max(f64::MIN_POSITIVE);
        (left_s > 0.0 || bound != Bound::AtLeast).then_some(Self { done, left_s, bound })
    }

    /// `37 %`; `≤ 37 %` if more may be ahead than is known.
    pub fn share(&self) -> String {
        let sign = match self.bound {
            Bound::About => "",
            Bound::AtLeast => "≤ ",
            Bound::AtMost => "≥ ",
        };
        // The end is the end.
        format!("{sign}{:.0} %", (self.done * 100.0).min(99.0))
    }

    /// `4 h`; `≥ 4 h` if more may be ahead than is known.
    pub fn left(&self) -> String {
        let sign = match self.bound {
            Bound::About => "",
            Bound::AtLeast => "≥ ",
            Bound::AtMost => "≤ ",
        };
        format!("{sign}{}", units::about(self.left_s))
    }

    /// The time left in a sentence.
    pub fn words(&self) -> String {
        let left = units::about(self.left_s);
        match self.bound {
            Bound::About => format!("in all {left} left"),
            Bound::AtLeast => format!("in all at least {left} left"),
            Bound::AtMost => format!("in all at most {left} left"),
        }
    }
}

/// State of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// The run is running.
    Running(ProcessId),
    /// The run ended with this exit status.
    Ended(u8),
    /// The process was killed.
    #[default]
    Killed,
    /// The machine was restarted during the run.
    Restarted,
}

impl Status {
    /// The state in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Ended(_) => "ended",
            Self::Killed | Self::Restarted => "lost",
        }
    }

    /// PID of a run that is running.
    pub fn pid(self) -> Option<u32> {
        match self {
            Self::Running(process) => Some(process.pid),
            _ => None,
        }
    }
}

impl Process {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        let start_ticks = ProcessId::of(pid).map_or(0, |process| process.start_ticks);
        Self { pid, start_ticks, boot_id: boot_id() }
    }

    /// Whether this very process still runs.
    pub fn is_alive(&self) -> bool {
        matches!(self.status(), Status::Running(_))
    }

    fn status(&self) -> Status {
        let process = ProcessId { pid: self.pid, start_ticks: self.start_ticks };
        match self.boot_id == boot_id() {
            false => Status::Restarted,
            true if process.is_alive() => Status::Running(process),
            true => Status::Killed,
        }
    }
}

impl Entry {
    /// The entry of a run that begins now in this process.
    pub fn new(name: &str, kind: &str, command: String) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            kind: kind.to_owned(),
            command,
            directory: std::env::current_dir().unwrap_or_default(),
            started_at: Timestamp::now().to_string(),
            process: Process::this(),
            run: None,
            output: None,
            end: None,
            status: Status::default(),
        }
    }

    fn status_now(&self) -> Status {
        match &self.end {
            Some(end) => Status::Ended(end.status),
            None => self.process.status(),
        }
    }

    /// The run directory, if it is there: that of a run that measured nothing is removed.
    pub fn kept_run(&self) -> Option<&Path> {
        self.run.as_deref().filter(|run| run.is_dir())
    }

    /// The command that continues a run that did not complete, or does the same again where nothing can be continued,
    /// and what it does.
    pub fn next(&self) -> Option<String> {
        let words = self.command.split(' ').filter(|word| *word != "--join");
        let again = words.collect::<Vec<_>>().join(" ");
        let continued = |command: String| Some(format!("`{command}` continues it"));
        match self.kind.as_str() {
            "load tpcb" | "load scaleup" | "load tpcc" | "load copy" => {
                let is_resumed = again.split(' ').any(|word| word == "--resume");
                continued(if is_resumed { again } else { format!("{again} --resume") })
            }
            "bench" | "ab" | "run" | "tpcc run" | "resume" if self.kept_run().is_some() => {
                self.kept_run().and_then(|run| continued(format!("pgdyno resume {}", run.display())))
            }
            _ => Some(format!("`{again}` does the same again")),
        }
    }
}

/// The directory of an entry.
#[derive(Debug, Clone)]
pub struct Home(PathBuf);

impl Home {
    /// The directory for a name, whether it exists or not.
    pub fn of(dirs: &Dirs, name: &str) -> Self {
        Self(root(dirs).join(name))
    }

    /// Creates the directory, which only its owner can read.
    ///
    /// # Errors
    /// It exists, or cannot be created.
    pub fn create(&self) -> io::Result<()> {
        let mut private = DirBuilder::new();
        private.mode(0o700);
        if let Some(parent) = self.0.parent() {
            make_open_dir(parent)?;
        }
        private.create(&self.0)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Path of the output of the run.
    pub fn output(&self) -> PathBuf {
        self.0.join(OUTPUT)
    }

    /// Creates the file for the output of the run.
    ///
    /// # Errors
    /// It exists, or cannot be created.
    pub fn create_output(&self) -> io::Result<File> {
        OpenOptions::new().append(true).create_new(true).mode(0o600).open(self.output())
    }

    /// Reads the entry; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn read(&self) -> Result<Option<Entry>, Problem> {
        let first = self.read_once()?;
        match first {
            // It may have ended after the entry was read, and said so before.
            Some(entry) if entry.status == Status::Killed => self.read_once(),
            first => Ok(first),
        }
    }

    fn read_once(&self) -> Result<Option<Entry>, Problem> {
        let path = self.0.join(ENTRY);
        let entry = read_json::<Entry>(&path);
        match entry.map(|entry| Entry { status: entry.status_now(), ..entry }) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Problem::could_not(format!("could not read {}: {error}", path.display()))
                .hint(
                    "use PGDYNO_STATE as the detached run does, work as its user, or remove that directory",
                )),
        }
    }

    /// Writes the entry atomically.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, entry: &Entry) -> io::Result<()> {
        write_atomically(&self.0.join(ENTRY), &serde_json::to_vec_pretty(entry)?)
    }

    /// How far the run is; `None` if it has not said so yet.
    pub fn progress(&self) -> Option<Progress> {
        read_json(&self.0.join(PROGRESS)).ok()
    }

    /// Writes how far the run is, without waiting for the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_progress(&self, progress: &Progress) -> io::Result<()> {
        let new = self.0.join(format!("{PROGRESS}.new"));
        fs::write(&new, serde_json::to_vec(progress)?)?;
        fs::rename(new, self.0.join(PROGRESS))
    }

    /// Removes the entry with its output.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<(), Problem> {
        fs::remove_dir_all(&self.0)
            .map_err(|error| Problem::could_not(format!("could not remove {}: {error}", self.0.display())))
    }

    /// The user whose run this is, if that is not the user of this process.
    pub fn stranger(&self) -> Option<String> {
        let owner = fs::symlink_metadata(&self.0).ok()?.uid();
        (owner != users::uid_of_process())
            .then(|| users::name_of(owner).unwrap_or_else(|| format!("with the ID {owner}")))
    }
}

fn root(dirs: &Dirs) -> PathBuf {
    dirs.state.join("detached")
}

fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// All entries by name; one that cannot be read is a [`Problem`] among the others.
pub fn list(dirs: &Dirs) -> Vec<Result<(Home, Entry), Problem>> {
    let found = fs::read_dir(root(dirs)).into_iter().flatten().flatten();
    let mut homes: Vec<Home> = found.map(|entry| Home(entry.path())).collect();
    homes.sort_by(|a, b| a.0.cmp(&b.0));
    homes
        .into_iter()
        .filter_map(|home| home.read().transpose().map(|entry| entry.map(|entry| (home, entry))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_not_known_is_a_bound() {
        let words =
            |left_s, bound| Whole::new(30.0, left_s, bound).map(|whole| (whole.share(), whole.left()));
        let both = |share: &str, left: &str| Some((share.to_owned(), left.to_owned()));
        assert_eq!(words(70.0, Bound::About), both("30 %", "70 s"));
        assert_eq!(words(70.0, Bound::AtLeast), both("≤ 30 %", "≥ 70 s"));
        assert_eq!(words(600.0, Bound::AtMost), both("≥ 5 %", "≤ 10 min"));
        assert_eq!(words(0.0, Bound::About), both("99 %", "0 s"), "it is not over yet");
        assert_eq!(words(0.0, Bound::AtLeast), None, "nothing is known");
    }

    #[test]
    fn a_run_that_was_lost_is_continued_by_its_kind_of_command() {
        let kept = tempfile::tempdir().expect("a temporary directory can be made");
        let next_in = |run: &Path, kind: &str, command: &str| {
            let entry = Entry { run: Some(run.into()), ..Entry::new("n", kind, command.to_owned()) };
            entry.next().unwrap_or_default()
        };
        let resume = format!("`pgdyno resume {}` continues it", kept.path().display());
        assert_eq!(next_in(kept.path(), "ab", "pgdyno ab a b"), resume);
        let next = |kind: &str, command: &str| next_in(Path::new("/runs/x"), kind, command);
        // Nothing was measured, so there is nothing to resume.
        assert_eq!(next("ab", "pgdyno ab a b"), "`pgdyno ab a b` does the same again");
        let copy = "pgdyno load copy --into-schemas 2";
        assert_eq!(next("load copy", copy), format!("`{copy} --resume` continues it"));
        assert_eq!(
            next("load tpcb", "pgdyno load tpcb --resume"),
            "`pgdyno load tpcb --resume` continues it"
        );
        let joined = "pgdyno load tpcb --join --server main";
        assert_eq!(next("load tpcb", joined), "`pgdyno load tpcb --server main --resume` continues it");
        assert_eq!(next("probe sizes", "pgdyno probe sizes"), "`pgdyno probe sizes` does the same again");
    }
}
