//! Runs the programs of a build: unprivileged, in a process group that a stop request ends as a whole, with all output
//! in the log.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, PipeReader, Read, Write},
    path::Path,
    process::{Child, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;
use pgdyno_host::{
    procs::{self, ProcessId},
    users::User,
};
use rustix::process::{Pid, Signal, kill_process_group};

use pgdyno_provision::{
    child::{ChildOptions, command},
    wait::{ProcessHandle, wait_for_exit, wait_on},
};

/// Interval in which a stop request is noticed while there is no output.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait after SIGTERM before SIGKILL: make removes half-written files meanwhile.
const TERM_LIMIT: Duration = Duration::from_secs(5);
/// Longest line that is evaluated, in bytes; the log has it whole.
const LONGEST_LINE: usize = 1 << 16;
/// Amount of output kept to explain a failure, in bytes.
const KEPT: usize = 1 << 20;

/// A program to run.
#[derive(Debug)]
pub struct Step<'a> {
    /// Path of the program.
    pub program: &'a Path,
    /// Arguments.
    pub arguments: Vec<OsString>,
    /// Working directory.
    pub dir: &'a Path,
    /// User to run as; `None` is the user of pgdyno.
    pub user: Option<&'a User>,
    /// Environment variables beyond the few that every child gets.
    pub environment: Vec<(&'static str, OsString)>,
    /// Standard input.
    pub input: Stdio,
}

impl<'a> Step<'a> {
    /// Makes a step of a program, its arguments, working directory and user.
    pub fn new<A: AsRef<OsStr>>(
        program: &'a Path,
        arguments: impl IntoIterator<Item = A>,
        dir: &'a Path,
        user: Option<&'a User>,
    ) -> Self {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        Self { program, arguments, dir, user, environment: Vec::new(), input: Stdio::null() }
    }
}

/// Why a program failed.
#[derive(Debug)]
pub enum Failure {
    /// A stop was requested.
    Stopped,
    /// The program could not be run, or its output could not be written.
    Io(io::Error),
    /// The program ended with this status; with its last output.
    Ended(ExitStatus, String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs a program to its end, writes its output to the log and hands it on by line; returns the last of its output, up
/// to a MiB.
///
/// # Errors
/// If the program cannot be run or fails, or a stop was requested; its whole process group has ended then.
pub fn run(
    step: Step<'_>,
    log: &mut File,
    stop: &Stop,
    on_line: &mut dyn FnMut(&str),
) -> Result<String, Failure> {
    writeln!(log, "+ {} {}", step.program.display(), words(&step.arguments))?;
    let (mut said, mut child) = spawn(step)?;
    let outcome = listen(&mut said, &mut child, log, stop, on_line);
    match outcome {
        Ok(Some((status, last))) if status.success() => Ok(last),
        Ok(Some((status, last))) => Err(Failure::Ended(status, last)),
        Ok(None) => {
            end(&mut child)?;
            Err(Failure::Stopped)
        }
        Err(error) => {
            end(&mut child)?;
            Err(error.into())
        }
    }
}

/// Arguments quoted for a shell.
pub fn words(arguments: &[OsString]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c);
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy();
        if !word.is_empty() && word.chars().all(plain) {
            return word.into_owned();
        }
        format!("'{}'", word.replace('\'', "'\\''"))
    };
    arguments.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Starts the program through a shell that sets umask 022, so that others can read the files whatever pgdyno's own
/// umask is.
fn spawn(step: Step<'_>) -> io::Result<(PipeReader, Child)> {
    let (reader, writer) = io::pipe()?;
    let mut shell = command(Path::new("/bin/sh"), step.dir, ChildOptions::bound(step.user));
    shell.args(["-c", "umask 022 && exec \"$0\" \"$@\""]).arg(step.program).args(step.arguments);
    shell.envs(step.environment).stdin(step.input).stdout(writer.try_clone()?).stderr(writer);
    let child = shell.spawn()?;
    // Drops this process's copies of the write end: end of file comes when all others are closed.
    drop(shell);
    Ok((reader, child))
}

/// Reads the output until the program has ended; `None` if a stop was requested first.
fn listen(
    said: &mut PipeReader,
    child: &mut Child,
    log: &mut File,
    stop: &Stop,
    on_line: &mut dyn FnMut(&str),
) -> io::Result<Option<(ExitStatus, String)>> {
    let (mut buffer, mut line, mut kept) = (vec![0; 1 << 16], Vec::new(), Vec::new());
    let mut ended = None;
    loop {
        if stop.requested() {
            return Ok(None);
        }
        if !wait_on(&*said, POLL)? {
            // Do not wait for end of file: background children may hold the pipe open. All output of the program itself
            // has been read.
            match ended {
                Some(status) => return Ok(Some((status, text(&kept)))),
                None => ended = child.try_wait()?,
            }
            continue;
        }
        let length = said.read(&mut buffer)?;
        if length == 0 {
            return Ok(Some((child.wait()?, text(&kept))));
        }
        log.write_all(&buffer[..length])?;
        split(&mut line, &buffer[..length], on_line);
        kept.extend_from_slice(&buffer[..length]);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn split(line: &mut Vec<u8>, bytes: &[u8], on_line: &mut dyn FnMut(&str)) {
    for part in bytes.split_inclusive(|byte| *byte == b'\n') {
        line.extend_from_slice(&part[..part.len().min(LONGEST_LINE.saturating_sub(line.len()))]);
        if part.ends_with(b"\n") {
            on_line(String::from_utf8_lossy(line).trim_end());
            line.clear();
        }
    }
}

/// Ends a process group: SIGTERM first, so that make removes half-written files.
fn end(child: &mut Child) -> io::Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    // The group may have ended already.
    let _ = signal(Signal::TERM);
    let begin = Instant::now();
    while child.try_wait()?.is_none() && begin.elapsed() < TERM_LIMIT {
        wait_for_exit(child.id(), POLL);
    }
    let _ = signal(Signal::KILL);
    child.wait().map(drop)
}

/// Waits for programs that a killed pgdyno left running in a directory; the kernel has signalled them to end.
pub fn wait_for_workers(dir: &Path) {
    let works_here = |pid: &u32| procs::working_dir(*pid).is_some_and(|cwd| cwd.starts_with(dir));
    let workers = procs::all().into_iter().filter(works_here).filter_map(ProcessId::of);
    for worker in workers.filter_map(ProcessHandle::open) {
        if !worker.wait(TERM_LIMIT) {
            // The process may end, or be replaced, at any moment; either way the wait is over.
            let _ = worker.signal(Signal::KILL);
            worker.wait(TERM_LIMIT);
        }
    }
}

/// The lines of an output that explain a failure: the first error messages, else the last lines.
pub fn relevant_lines(said: &str) -> String {
    const COMPLAINTS: [&str; 8] = [
        "error:",
        "Error:",
        "ERROR:",
        "undefined reference",
        "No space left",
        "Killed",
        "cannot find -l",
        "internal compiler error",
    ];
    const MOST: usize = 4;
    let lines: Vec<&str> = said.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let complains = |line: &&&str| COMPLAINTS.iter().any(|words| line.contains(words));
    let complaints: Vec<&str> = lines.iter().filter(complains).take(MOST).copied().collect();
    let chosen =
        if complaints.is_empty() { &lines[lines.len().saturating_sub(MOST)..] } else { &complaints[..] };
    let shortened = |line: &&str| line.chars().take(300).collect::<String>();
    chosen.iter().map(shortened).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::{fs, io::SeekFrom, thread};

    use super::*;

    fn shell(script: &str, stop: &Stop) -> (Result<String, Failure>, Vec<String>, String) {
        use std::io::Seek;
        let mut log = tempfile::tempfile().expect("it can be made");
        let mut lines = Vec::new();
        let step = Step::new(Path::new("/bin/sh"), ["-c", script], Path::new("/"), None);
        let result = run(step, &mut log, stop, &mut |line| lines.push(line.to_owned()));
        let mut written = String::new();
        log.seek(SeekFrom::Start(0)).expect("it can be read");
        log.read_to_string(&mut written).expect("it can be read");
        (result, lines, written)
    }

    #[test]
    fn all_that_is_said_is_logged_and_handed_on() {
        let (result, lines, log) = shell("echo one; echo two >&2; umask", &Stop::default());
        assert_eq!(result.expect("it ends well"), "one\ntwo\n0022\n");
        assert_eq!(lines, ["one", "two", "0022"]);
        assert!(log.starts_with("+ /bin/sh -c 'echo one; ") && log.ends_with("one\ntwo\n0022\n"), "{log}");
        let (result, ..) = shell("echo why; exit 3", &Stop::default());
        let Err(Failure::Ended(status, said)) = result else { panic!("{result:?}") };
        assert_eq!((status.code(), said.as_str()), (Some(3), "why\n"));
    }

    #[test]
    fn what_stays_in_the_background_is_not_waited_for() {
        let (result, ..) = shell("sleep 60 & echo $!", &Stop::default());
        let pid: i32 = result.expect("it ends well").trim().parse().expect("a number");
        let pid = Pid::from_raw(pid).expect("a number");
        rustix::process::kill_process(pid, Signal::KILL).expect("it still ran");
    }

    #[test]
    fn a_request_to_stop_ends_the_whole_group() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let file = dir.path().join("pid");
        let stop = Stop::default();
        let asks = stop.clone();
        let watched = file.clone();
        let asker = thread::spawn(move || {
            while fs::read_to_string(&watched).unwrap_or_default().trim().is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            asks.request("test");
        });
        let script = format!("sh -c 'echo $$ > {0}; exec sleep 60' & wait", file.display());
        let (result, ..) = shell(&script, &stop);
        assert!(matches!(result, Err(Failure::Stopped)), "{result:?}");
        asker.join().expect("it does not panic");
        let pid = fs::read_to_string(&file).expect("it is there").trim().parse().expect("a number");
        if let Some(held) = ProcessId::of(pid).and_then(ProcessHandle::open) {
            assert!(held.wait(Duration::from_secs(30)), "the grandchild has ended");
        }
    }

    #[test]
    fn reasons_are_found_among_many_lines() {
        let make = "gcc -c a.c\na.c:1:1: error: unknown type name 'x'\nmake: *** [a.o] Error 1\nmake: bye\n";
        assert_eq!(relevant_lines(make), "a.c:1:1: error: unknown type name 'x'");
        assert_eq!(relevant_lines("checking\nconfigure: error: no zlib\n"), "configure: error: no zlib");
        assert_eq!(relevant_lines("a\nb\n\nc\nd\ne\n"), "b\nc\nd\ne");
        assert_eq!(relevant_lines(""), "");
    }

    #[test]
    fn long_lines_do_not_grow() {
        let mut line = Vec::new();
        for _ in 0..100 {
            split(&mut line, &[b'x'; 4096], &mut |_| panic!("no line has ended"));
        }
        assert_eq!(line.len(), LONGEST_LINE);
    }

    #[test]
    fn arguments_can_be_pasted() {
        let arguments = ["CFLAGS=-O2 -g", "a", "it's", ""].map(OsString::from);
        assert_eq!(words(&arguments), "'CFLAGS=-O2 -g' a 'it'\\''s' ''");
    }
}
