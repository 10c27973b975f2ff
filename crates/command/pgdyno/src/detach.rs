//! Starts a detached run, and waits until it has begun.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::Duration,
};

use crate::detached::{
    entry::{Entry, Home},
    inside::{COMMAND, Request},
    names, passwords,
};
use pgdyno_core::{problem::Problem, stop::Stop, units::printable_lines};
use pgdyno_host::procs::ProcessId;
use pgdyno_provision::Dirs;
use pgdyno_wire::ConnectOptions;

use crate::{exit::Exit, interrupt, output};

/// How often the entry is read.
const POLL: Duration = Duration::from_millis(50);

/// A command that is to be detached.
#[derive(Debug)]
pub struct Detachment {
    /// Its sub-command, such as `load tpcb`.
    pub kind: &'static str,
    /// Name that the user chose.
    pub name: Option<String>,
    /// Existing servers that it connects to.
    pub servers: Vec<ConnectOptions>,
    /// Its command line without secrets.
    pub command: String,
}

/// Starts a command line as a detached run. Returns when its run directory is visible, and prints its name; or when it
/// ended before, with its exit status after what it printed.
///
/// # Errors
/// It could not be started.
pub fn launch(detachment: &Detachment, args: Vec<OsString>) -> Result<ExitCode, Problem> {
    let stop = interrupt::on_interrupt_saying(
        "stopping what was to be detached (Ctrl-C again to exit immediately)",
        "exited immediately; `pgdyno ps` shows what still runs",
    );
    let dirs = pgdyno_lab::dirs()?;
    // Nobody types a password in vain.
    names::choose(&dirs, detachment.kind, detachment.name.as_deref())?;
    let answers = passwords::ask(&detachment.servers, &stop)?;
    let (home, entry) = enter(&dirs, detachment)?;
    let request = Request { args: attached(args), answers };
    let mut child = start(&home, &entry, &request).map_err(|error| {
        let _ = home.remove();
        Problem::could_not(format!("could not start the detached run: {error}"))
    })?;
    match wait(&home, &mut child, &stop)? {
        None => begun(&home),
        Some(exit) => Ok(failed(&home, exit)),
    }
}

/// Arguments without the flag that detaches.
fn attached(args: Vec<OsString>) -> Vec<OsString> {
    let detaches =
        |arg: &OsString| arg.to_str().is_some_and(|arg| arg == "--detach" || arg.starts_with("--detach="));
    args.into_iter().filter(|arg| !detaches(arg)).collect()
}

/// Creates the entry. Its directory is what two processes cannot both create.
fn enter(dirs: &Dirs, detachment: &Detachment) -> Result<(Home, Entry), Problem> {
    loop {
        let name = names::choose(dirs, detachment.kind, detachment.name.as_deref())?;
        let (home, entry) =
            (Home::of(dirs, &name), Entry::new(&name, detachment.kind, detachment.command.clone()));
        match home.create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && detachment.name.is_none() => {}
            created => {
                return created.and_then(|()| home.write(&entry)).map(|()| (home, entry)).map_err(|error| {
                    Problem::could_not(format!("could not write to {}: {error}", dirs.state.display()))
                        .hint("choose another directory with the environment variable PGDYNO_STATE")
                });
            }
        }
    }
}

fn start(home: &Home, entry: &Entry, request: &Request) -> io::Result<Child> {
    let output = home.create_output()?;
    let mut child = Command::new("/proc/self/exe")
        .arg0("pgdyno")
        .args([COMMAND, &entry.name])
        .stdin(Stdio::piped())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let text = serde_json::to_vec(request)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that has ended says why in its output.
        let _ = stdin.write_all(&text);
    }
    Ok(child)
}

/// Waits until the run has begun: `None`; or has ended: its exit status. Ctrl-C is passed on.
fn wait(home: &Home, child: &mut Child, stop: &Stop) -> Result<Option<Exit>, Problem> {
    let mut passed_on = false;
    loop {
        let status = child.try_wait();
        if home.read()?.is_some_and(|entry| entry.run.is_some()) {
            return Ok(None);
        }
        match status {
            Ok(Some(status)) => return Ok(Some(Exit::of_process(status))),
            Ok(None) => {}
            Err(error) => {
                return Err(Problem::could_not(format!("could not wait for the detached run: {error}")));
            }
        }
        if stop.requested() && !std::mem::replace(&mut passed_on, true) {
            let _ = ProcessId::of(child.id()).map(ProcessId::interrupt);
        }
        thread::sleep(POLL);
    }
}

/// Shows what the run has printed so far, and prints its name.
fn begun(home: &Home) -> Result<ExitCode, Problem> {
    let Some(entry) = home.read()? else { return Ok(Exit::NotCompleted.into()) };
    eprint!("{}", printed(home));
    let Entry { name, process, run, .. } = &entry;
    eprintln!("detached as `{name}`, process {}", process.pid);
    eprintln!("`pgdyno attach {name}` shows its progress, `pgdyno stop {name}` ends it");
    if let Some(run) = run {
        eprintln!("record: {}", run.display());
    }
    output::print(&format!("{name}\n")).map(|()| ExitCode::SUCCESS)
}

/// Shows what a run printed that ended before it had begun; nothing of it is left.
fn failed(home: &Home, exit: Exit) -> ExitCode {
    let text = printed(home);
    match exit {
        Exit::Done => print!("{text}"),
        _ => eprint!("{text}"),
    }
    let _ = home.remove();
    exit.into()
}

fn printed(home: &Home) -> String {
    let bytes = fs::read(home.output()).unwrap_or_default();
    printable_lines(&String::from_utf8_lossy(&bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_flag_that_detaches_is_left_out() {
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in ["pgdyno load tpcb --detach --scale 1", "pgdyno load tpcb --scale 1 --detach=night"] {
            assert_eq!(attached(args(line)), args("pgdyno load tpcb --scale 1"));
        }
    }
}
