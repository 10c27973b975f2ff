//! The detached process itself: what it reads when it starts, and what it writes to its entry.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::fs::symlink,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicBool},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use pgdyno_core::problem::Problem;
use pgdyno_host::terminal;
use pgdyno_provision::Dirs;
use pgdyno_record::output_of_part;
use serde::{Deserialize, Serialize};
use signal_hook::{consts::SIGHUP, flag};

use crate::detached::{
    COMMANDS,
    entry::{End, Entry, Home, Process, Progress},
    passwords::{self, Answer},
};

/// First argument of the detached process; the second is the name of the run.
pub const COMMAND: &str = "detached";

/// How often the progress of the run is written to the entry.
const EACH: Duration = Duration::from_secs(1);

/// What the detached process reads from its standard input: a pipe, because others can read its arguments.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// The whole command line.
    pub args: Vec<OsString>,
    /// Passwords that were typed.
    pub answers: Vec<Answer>,
}

/// The detached run of this process.
struct Inside {
    home: Home,
    entry: Mutex<Entry>,
}

static INSIDE: OnceLock<Inside> = OnceLock::new();

/// Makes this process the detached run of a name, and returns the command line to execute.
///
/// # Errors
/// This process was not started by `--detach`.
pub fn enter(name: &str) -> Result<Vec<OsString>, Problem> {
    terminal::leave();
    // Some programs send HUP to all that a user has left at logout.
    let _ = flag::register(SIGHUP, Arc::new(AtomicBool::new(false)));
    let not_ours = || {
        Problem::wrong_request(format!("could not begin the detached run `{name}`: nothing was requested"))
            .hint(format!("`pgdyno detached` is what --detach of {COMMANDS} starts"))
    };
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(|_| not_ours())?;
    let request: Request = serde_json::from_slice(&text).map_err(|_| not_ours())?;
    let home = Home::of(&Dirs::of_process()?, name);
    let mut entry = home.read()?.ok_or_else(not_ours)?;
    entry.process = Process::this();
    home.write(&entry).map_err(|error| {
        Problem::could_not(format!("could not write the entry of the detached run `{name}`: {error}"))
            .hint("choose another directory with the environment variable PGDYNO_STATE")
    })?;
    passwords::keep(request.answers);
    let _ = INSIDE.set(Inside { home, entry: Mutex::new(entry) });
    Ok(request.args)
}

/// Whether this process is a detached run.
pub fn is_here() -> bool {
    INSIDE.get().is_some()
}

/// The run directory is visible: the entry says where it is, and the output appears in it.
pub fn begun(run: &Path) {
    let Some(inside) = INSIDE.get() else { return };
    let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
    let output = inside.home.output();
    // A resumed run has the output of its earlier parts.
    let parts = (1..).map(|part| run.join(output_of_part(part)));
    let there = parts.into_iter().find(|there| fs::symlink_metadata(there).is_err());
    // A link to the same file, where both are on one file system; else the file is copied when it is complete.
    if let Some(there) = &there
        && fs::hard_link(&output, there).is_err()
    {
        let _ = symlink(&output, there);
    }
    inside.change(|entry| (entry.run, entry.output) = (Some(run), there));
}

/// The run ends with this exit status.
pub fn ended(status: u8) {
    let Some(inside) = INSIDE.get() else { return };
    inside.change(|entry| {
        entry.output.iter().for_each(|output| inside.copy_output(output));
        entry.end = Some(End { status, at: Timestamp::now().to_string() });
    });
}

/// Writes to the entry every second how far the run is, in a thread of its own, because a disk may keep it waiting.
pub fn report(progress: impl Fn() -> Progress + Send + 'static) {
    let Some(inside) = INSIDE.get() else { return };
    let mut last = Progress::default();
    let follow = move || {
        loop {
            let now = progress();
            if now != last {
                let _ = inside.home.write_progress(&now);
                last = now;
            }
            thread::sleep(EACH);
        }
    };
    // Without it the run continues; only `ps` knows less.
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(follow);
}

impl Inside {
    /// Changes the entry. What cannot be written does not end the run: those that wait for it see its process end.
    fn change(&self, change: impl FnOnce(&mut Entry)) {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut entry);
        let _ = self.home.write(&entry);
    }

    /// Replaces a symbolic link in the run directory by the output itself; where that is not possible, it stays.
    fn copy_output(&self, there: &Path) {
        if there.is_symlink() {
            let copy = there.with_extension("log.new");
            let _ = fs::copy(self.home.output(), &copy).and_then(|_| fs::rename(&copy, there));
        }
    }
}
