//! A program under measurement: stopped, continued, and ended together with this process.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use super::cpu;
use crate::Failure;

/// Longest wait for a program to start, or to report its counts.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A running program. Dropping it kills it: a stopped program would otherwise remain for ever.
pub struct Program {
    name: String,
    child: Child,
    /// File with its standard output.
    pub out: PathBuf,
    /// File with its standard error.
    pub err: PathBuf,
}

impl Program {
    /// Starts it with its output in files of this directory.
    pub fn start(name: &str, command: &mut Command, dir: &Path) -> Result<Self, Failure> {
        die_gently()?;
        let (out, err) = (dir.join(format!("{name}.out")), dir.join(format!("{name}.err")));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        // After a panic, the message is wanted, not the stack.
        let child = command
            .env_remove("RUST_BACKTRACE")
            .spawn()
            .map_err(|error| format!("{name} does not start: {error}"))?;
        Ok(Self { name: name.to_owned(), child, out, err })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).map_err(|error| format!("{} takes no signal: {error}", self.name).into())
    }

    /// CPU time in nanoseconds.
    pub fn cpu_ns(&self) -> Result<u64, Failure> {
        cpu::time_ns(self.pid()).ok_or_else(|| format!("{} is gone", self.name).into())
    }

    /// Waits for a condition, as long as the program runs.
    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<(), Failure> {
        let end = Instant::now() + LIMIT;
        while !holds(self) {
            self.check()?;
            if Instant::now() > end {
                return Err(format!("{} did not {what} in {} s", self.name, LIMIT.as_secs()).into());
            }
            nap(LOOK_EVERY)?;
        }
        Ok(())
    }

    /// Waits for its end, calling `look` meanwhile; fails on a failure status.
    pub fn finish(&mut self, mut look: impl FnMut(&Self)) -> Result<(), Failure> {
        loop {
            look(self);
            match self.child.try_wait()? {
                None => nap(LOOK_EVERY)?,
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(format!("{} failed ({status}): {}", self.name, self.words()).into());
                }
            }
        }
    }

    /// Fails if it no longer runs.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("{} ended early ({status}): {}", self.name, self.words()).into()),
        }
    }

    /// The start of its error output, which names the cause.
    fn words(&self) -> String {
        let text = fs::read_to_string(&self.err).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).take(3).collect::<Vec<_>>().join(" / ")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SIGKILL also ends a stopped program. An error only means that it had ended before.
        let ended = self.child.kill().and_then(|()| self.child.wait());
        drop(ended);
    }
}

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// On Ctrl-C, SIGTERM and SIGHUP, makes waits fail, so that all programs are ended.
fn die_gently() -> Result<(), Failure> {
    static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();
    let on = |signal| flag::register(signal, Arc::clone(&INTERRUPTED)).map(drop);
    let set = || [SIGINT, SIGTERM, SIGHUP].into_iter().try_for_each(on).map_err(|error| error.to_string());
    HANDLER.get_or_init(set).clone().map_err(Failure::from)
}

/// Sleeps, unless interrupted.
fn nap(length: Duration) -> Result<(), Failure> {
    thread::sleep(length);
    if INTERRUPTED.load(Ordering::Relaxed) { Err("interrupted".into()) } else { Ok(()) }
}

/// Sleeps until a time in nanoseconds since 1970.
pub fn sleep_until(at_ns: u64) -> Result<(), Failure> {
    let at = UNIX_EPOCH + Duration::from_nanos(at_ns);
    while let Some(left) = at.duration_since(SystemTime::now()).ok().filter(|left| !left.is_zero()) {
        nap(left.min(Duration::from_millis(200)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_program_is_ended_and_an_early_end_is_reported() {
        let dir = tempfile::tempdir().expect("a directory");
        let program =
            Program::start("sleep", Command::new("sleep").arg("600"), dir.path()).expect("it starts");
        let pid = program.pid();
        program.signal(Signal::STOP).expect("it runs");
        drop(program);
        assert_eq!(cpu::time_ns(pid), None);

        let mut command = Command::new("sh");
        command.args(["-c", "echo no server >&2; exit 3"]);
        let mut program = Program::start("sh", &mut command, dir.path()).expect("it starts");
        let failure = program.wait_until("connect", |_| false).expect_err("it ends");
        assert_eq!(failure.to_string(), "sh ended early (exit status: 3): no server");
    }
}
