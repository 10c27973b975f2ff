//! Runs `perf record` on the processes of a server, and reads what it recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read, Seek, Write},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use pgdyno_core::{
    observe::Role,
    profile::{KernelSide, Profile, ProfiledProgram, Profiling, StackKind},
};
use pgdyno_host::observe::{ProcessorTimes, process_roles};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, mknodat, statvfs},
    process::{Pid, Signal, kill_process},
    time::{ClockId, clock_gettime},
};

use crate::profile::{
    fold::{MOST_FRAMES, Part, Processes, Segment, fold},
    folded::Folded,
    permission::Permission,
    program,
};

/// The program.
const PERF: &str = "perf";
/// First version that can be switched on and off while it runs.
const LEAST_VERSION: (u32, u32) = (5, 10);
/// Most samples a second of CPU time: odd, so that nothing periodic is sampled always or never.
const MOST_HZ: u32 = 99;
/// Samples for which the frequency is chosen: a share is known to a tenth of a point then. Those with a copy of the
/// stack are larger, and take longer to unwind.
const SAMPLES_FP: f64 = 1e6;
const SAMPLES_DWARF: f64 = 1e5;
/// Bytes of the stack that are copied into each sample: perf's default.
const STACK_BYTES: u32 = 8_192;
/// Seconds for which the frequency is chosen where it is not known how long will be sampled.
const UNKNOWN_S: f64 = 600.0;
/// Most bytes of raw samples, the share of the free space that they may take as 1 in N, and the least that is worth it.
const MOST_BYTES: u64 = 1 << 30;
const FREE_SHARE: u64 = 4;
const LEAST_BYTES: u64 = 16 << 20;
/// Most events of perf, of which each process has one for each CPU.
const MOST_EVENTS: usize = 65_536;
/// Longest waits for perf: until it samples, until it has ended, and until it has printed all samples.
const READY: Duration = Duration::from_secs(20);
const ENDED: Duration = Duration::from_secs(20);
const PRINTED: Duration = Duration::from_secs(300);
/// Time between two checks of perf.
const POLL: Duration = Duration::from_millis(10);
/// Longest text that is quoted from perf.
const LONGEST_QUOTE: usize = 200;

/// The server whose processes are sampled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Its postmaster.
    pub postmaster: u32,
    /// Processes that are left out: those of pgdyno's own sessions.
    pub left_out: BTreeSet<u32>,
}

/// How samples are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// How call stacks are found.
    pub stacks: Profiling,
    /// Seconds that will be sampled, if that is known.
    pub seconds: Option<f64>,
}

/// What was recorded of one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The profile.
    pub profile: Profile,
    /// Its samples.
    pub folded: Folded,
    /// Why sampling ended before the time did.
    pub cut: Option<String>,
}

/// A running `perf record`. What it samples between [`Recorder::start`] and [`Recorder::stop`] is kept.
#[derive(Debug)]
pub struct Recorder {
    /// The program of perf.
    perf: String,
    child: Child,
    control: File,
    raw: File,
    errors: File,
    limit_bytes: u64,
    known: Profile,
    target: Target,
    processes: Processes,
    /// Threads that learn the roles of more of them.
    learning: Vec<JoinHandle<BTreeMap<u32, Role>>>,
    begun_s: Vec<f64>,
    stopped_s: Option<f64>,
    /// CPU time of perf when sampling began, and what it used until it stopped.
    used_ns: Option<u64>,
    spent_ns: Option<u64>,
}

impl Recorder {
    /// Starts perf. Short-lived files without names are in `place`.
    ///
    /// # Errors
    /// Why no samples can be taken.
    pub fn begin(target: Target, wanted: Wanted, place: &Path) -> Result<Self, String> {
        Self::begin_with(PERF, target, wanted, place)
    }

    fn begin_with(perf: &str, target: Target, wanted: Wanted, place: &Path) -> Result<Self, String> {
        let version = version(perf)?;
        let permission = Permission::read(target.postmaster);
        let kernel = permission.kernel()?;
        let roles = process_roles(target.postmaster);
        let pids: Vec<u32> = roles.keys().copied().filter(|pid| !target.left_out.contains(pid)).collect();
        let cpus = cpus();
        check_number(&pids, cpus)?;
        let program = program::of_process(target.postmaster);
        let stacks = stack_kind(wanted.stacks, program.as_ref());
        let frequency_hz = frequency_hz(stacks, wanted.seconds, cpus);
        let limit_bytes = limit_bytes(place)?;
        let path = program.as_ref().map(|of| of.path.clone());
        let known = Profile {
            perf: version,
            frequency_hz,
            stacks,
            kernel,
            perf_event_paranoid: permission.paranoid,
            kptr_restrict: permission.kptr_restrict,
            program,
            processes: pids.len() as u64,
            ..Profile::default()
        };
        let files =
            Files::create(place).map_err(|error| format!("no files for perf could be made: {error}"))?;
        let mut command = record(perf, &known, &pids, limit_bytes, &files);
        let child = command.spawn().map_err(|error| format!("perf could not be started: {error}"))?;
        let Files { control, answers, raw, errors, .. } = &files;
        let mut recorder = Self {
            perf: perf.to_owned(),
            child,
            control: cloned(control)?,
            raw: cloned(raw)?,
            errors: cloned(errors)?,
            limit_bytes,
            known,
            target,
            processes: Processes { roles, program: path },
            learning: Vec::new(),
            begun_s: Vec::new(),
            stopped_s: None,
            used_ns: None,
            spent_ns: None,
        };
        recorder.await_ready(answers)?;
        Ok(recorder)
    }

    /// Lets perf sample, and waits until it says so: it is attached to all processes then. Samples before the times
    /// that are wanted are dropped at the end. Perf learns of new processes only while it samples: otherwise the code
    /// of those that begin before such a time would have no names.
    fn await_ready(&mut self, mut answers: &File) -> Result<(), String> {
        self.control("enable");
        let begun = Instant::now();
        while begun.elapsed() < READY {
            if matches!(answers.read(&mut [0; 64]), Ok(1..)) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.why(status));
            }
            thread::sleep(POLL);
        }
        Err(format!("perf was not ready within {} s", READY.as_secs()))
    }

    /// Begins to sample, or ends one time and begins the next.
    pub fn start(&mut self) {
        if self.begun_s.is_empty() {
            self.used_ns = cpu_ns(self.child.id());
            self.begun_s.push(now_s());
        } else if self.stopped_s.is_none() {
            self.begun_s.push(now_s());
            self.learn_roles();
        }
    }

    /// Stops sampling.
    pub fn stop(&mut self) {
        if self.stopped_s.is_some() || self.begun_s.is_empty() {
            return;
        }
        self.stopped_s = Some(now_s());
        self.control("disable");
        let used_ns = cpu_ns(self.child.id());
        self.spent_ns = used_ns.zip(self.used_ns).map(|(now, then)| now.saturating_sub(then));
        self.learn_roles();
    }

    /// Learns the roles of processes that began meanwhile, while they are there: on a thread of its own, because who
    /// starts and stops sampling must not wait until all processes of the machine were looked through.
    fn learn_roles(&mut self) {
        let postmaster = self.target.postmaster;
        self.learning.push(thread::spawn(move || process_roles(postmaster)));
    }

    /// Adds the roles that were learned to those that are known.
    fn add_roles(&mut self) {
        let learned = self.learning.drain(..).filter_map(|thread| thread.join().ok());
        for (pid, role) in learned.flatten() {
            let known = self.processes.roles.entry(pid).or_insert(role);
            if *known == Role::Other {
                *known = role;
            }
        }
    }

    /// Ends perf and reads its samples: one result for every time that was begun.
    ///
    /// # Errors
    /// Why there are no samples.
    pub fn finish(mut self) -> Result<Vec<Recorded>, String> {
        self.stop();
        let is_cut = matches!(self.child.try_wait(), Ok(Some(_)));
        self.end()?;
        self.add_roles();
        let segments = self.segments();
        let begun = Instant::now();
        let parts = self.parts(&segments)?;
        let reading_s = begun.elapsed().as_secs_f64();
        let all_s: f64 = segments.iter().map(|segment| segment.end_s - segment.begin_s).sum();
        let cut = is_cut.then(|| self.why_cut());
        let perf_cpus = self.spent_ns.filter(|_| all_s > 0.0).map(|ns| ns as f64 / 1e9 / all_s);
        let known =
            Profile { perf_cpus, reading_s: reading_s / parts.len().max(1) as f64, ..self.known.clone() };
        Ok(segments
            .iter()
            .zip(parts)
            .map(|(segment, part)| recorded(&known, *segment, part, cut.clone()))
            .collect())
    }

    fn segments(&self) -> Vec<Segment> {
        let ends = self.begun_s.iter().skip(1).copied().chain(self.stopped_s);
        self.begun_s.iter().zip(ends).map(|(begin_s, end_s)| Segment { begin_s: *begin_s, end_s }).collect()
    }

    /// Ends perf: the command that it runs ends with its input, as it does when this process is gone.
    fn end(&mut self) -> Result<(), String> {
        drop(self.child.stdin.take());
        match wait(&mut self.child, ENDED) {
            Some(_) => Ok(()),
            None => Err(format!("perf did not end within {} s", ENDED.as_secs())),
        }
    }

    /// The samples, as printed by `perf script`.
    fn parts(&mut self, segments: &[Segment]) -> Result<Vec<Part>, String> {
        let failed = |error: io::Error| format!("perf's samples could not be read: {error}");
        self.raw.rewind().map_err(failed)?;
        let raw = self.raw.try_clone().map_err(failed)?;
        let errors = self.errors.try_clone().map_err(failed)?;
        let mut child = script(&self.perf, raw, errors).spawn().map_err(failed)?;
        let lines = child.stdout.take();
        let child = Mutex::new(child);
        let parts = within(&child, PRINTED, || {
            lines.map_or_else(
                || Ok(Vec::new()),
                |lines| fold(BufReader::with_capacity(1 << 20, lines), segments, &self.processes),
            )
        });
        let status = child.into_inner().unwrap_or_else(PoisonError::into_inner).wait().map_err(failed)?;
        let parts = parts.map_err(failed)?;
        match status.success() || parts.iter().any(|part| part.folded.samples() > 0) {
            true => Ok(parts),
            false => Err(self.why(status)),
        }
    }

    /// Why perf ended by itself before it was to end.
    fn why_cut(&mut self) -> String {
        let bytes = self.raw.metadata().map_or(0, |of| of.len());
        match bytes >= self.limit_bytes / 10 * 9 {
            true => format!("its raw samples reached {} MiB", self.limit_bytes >> 20),
            false => format!(
                "perf ended early{}",
                self.quoted().map(|said| format!(": {said}")).unwrap_or_default()
            ),
        }
    }

    /// Why perf failed, in its own words if it said any.
    fn why(&mut self, status: ExitStatus) -> String {
        let said = self.quoted().unwrap_or_else(|| "it said nothing".to_owned());
        format!("perf failed ({status}): {said}")
    }

    /// The first line of the errors of perf that says something.
    fn quoted(&mut self) -> Option<String> {
        self.errors.rewind().ok()?;
        let mut text = Vec::new();
        (&mut self.errors).take(1 << 14).read_to_end(&mut text).ok()?;
        quoted(&String::from_utf8_lossy(&text))
    }

    fn control(&mut self, command: &str) {
        // Perf may have ended; what it recorded until then is read at the end.
        let _ = self.control.write_all(format!("{command}\n").as_bytes());
    }
}

/// A recorder that is not finished ends perf with it.
impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill(); // it has just ended
        }
        let _ = self.child.wait();
    }
}

/// The files between pgdyno and perf. Those that perf opens by name have one until this is dropped.
struct Files {
    place: PathBuf,
    control: File,
    answers: File,
    raw: File,
    errors: File,
}

/// The pipes among them.
const PIPES: [&str; 2] = ["control", "answers"];

impl Files {
    fn create(place: &Path) -> io::Result<Self> {
        let path = |what: &str| place.join(Self::name(what));
        let files = || -> io::Result<Self> {
            let [control, answers] = PIPES.map(|what| pipe(&path(what)));
            let [raw, errors] = ["raw", "errors"].map(|what| nameless(&path(what)));
            let place = place.to_path_buf();
            Ok(Self { place, control: control?, answers: answers?, raw: raw?, errors: errors? })
        };
        files().inspect_err(|_| Self::remove_pipes(place))
    }

    /// Name of a file in its directory, without a comma, which would be the end of the name for perf.
    fn name(what: &str) -> String {
        format!(".perf-{what}.{}", std::process::id())
    }

    fn remove_pipes(place: &Path) {
        PIPES.iter().for_each(|what| drop(fs::remove_file(place.join(Self::name(what)))));
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        Self::remove_pipes(&self.place);
    }
}

/// A named pipe, open for reading and writing, so that neither end waits for the other.
fn pipe(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path); // of a process that had this number before
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let flags = OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// A file that is gone when nobody has it open.
fn nameless(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path); // of a process that had this number before
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    fs::remove_file(path).map(|()| file)
}

fn cloned(file: &File) -> Result<File, String> {
    file.try_clone().map_err(|error| format!("no files for perf could be made: {error}"))
}

/// Perf with settings of its own only, which fetches nothing from the network.
fn perf(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PERF_CONFIG", "/dev/null").env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
    // Ctrl-C is for pgdyno, which ends it.
    command.process_group(0);
    command
}

/// `perf record` on these processes and all that they start. It ends with `cat`, whose input ends with this process.
fn record(program: &str, known: &Profile, pids: &[u32], limit_bytes: u64, files: &Files) -> Command {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let stacks = match known.stacks {
        StackKind::Fp => "fp".to_owned(),
        StackKind::Dwarf => format!("dwarf,{STACK_BYTES}"),
    };
    // Without hardware counters perf takes cpu-clock instead.
    let event = if known.kernel == KernelSide::NotSampled { "cycles:u" } else { "cycles" };
    let [control, answers] = PIPES.map(Files::name);
    let control = format!("--control=fifo:{control},{answers}");
    let mut command = perf(program);
    command.current_dir(&files.place);
    command.args(["record", "-q", "--no-buildid", "--no-buildid-cache", "--clockid=mono", "--delay=-1"]);
    command.args(["-e", event, "-F", &known.frequency_hz.to_string(), "--call-graph", &stacks, &control]);
    command.args([&format!("--max-size={}K", limit_bytes >> 10), "-p", &pids.join(",")]);
    command.args(["-o", "-", "--", "cat"]).stdin(Stdio::piped());
    let output = |file: &File| file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
    command.stdout(output(&files.raw)).stderr(output(&files.errors));
    command
}

fn script(program: &str, raw: File, errors: File) -> Command {
    let mut command = perf(program);
    command.args(["script", "-i", "-", "--no-inline", "--show-lost-events"]);
    command.args(["--max-stack", &MOST_FRAMES.to_string(), "-F", "pid,time,event,ip,sym,dso"]);
    command.stdin(raw).stdout(Stdio::piped()).stderr(errors);
    command
}

/// The version of perf, such as `6.1.187`.
fn version(program: &str) -> Result<String, String> {
    let said = perf(program).arg("--version").stdin(Stdio::null()).output();
    let said = said.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            "there is no program `perf`; install it (Debian: linux-perf, Ubuntu: linux-tools, Red Hat and SUSE: perf)"
                .to_owned()
        }
        _ => format!("perf could not be started: {error}"),
    })?;
    let text = String::from_utf8_lossy(&said.stdout);
    let version = text.trim().strip_prefix("perf version ").filter(|_| said.status.success());
    let Some(version) = version else {
        let errors =
            quoted(&String::from_utf8_lossy(&said.stderr)).unwrap_or_else(|| "it said nothing".to_owned());
        return Err(format!("perf failed ({}): {errors}", said.status));
    };
    match numbers(version) {
        Some(numbers) if numbers < LEAST_VERSION => {
            Err(format!("perf {version} is too old; 5.10 or newer is needed"))
        }
        _ => Ok(version.to_owned()),
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// CPUs of this machine that are online: perf samples on each of them.
fn cpus() -> usize {
    ProcessorTimes::online().unwrap_or(1).max(1)
}

fn check_number(pids: &[u32], cpus: usize) -> Result<(), String> {
    let events = pids.len().saturating_mul(cpus);
    match pids.len() {
        0 => Err("the server has no processes that can be seen".to_owned()),
        count if events > MOST_EVENTS => Err(format!(
            "{count} processes on {cpus} CPUs need {events} events of perf, which are too many; with fewer clients it \
             can be profiled"
        )),
        _ => Ok(()),
    }
}

fn stack_kind(wanted: Profiling, program: Option<&ProfiledProgram>) -> StackKind {
    let keeps = program.and_then(|of| of.keeps_frame_pointers);
    match wanted {
        Profiling::Fp => StackKind::Fp,
        Profiling::Auto if keeps == Some(true) => StackKind::Fp,
        Profiling::Auto | Profiling::Dwarf | Profiling::None => StackKind::Dwarf,
    }
}

/// As often as makes neither too much data nor too few samples.
fn frequency_hz(stacks: StackKind, seconds: Option<f64>, cpus: usize) -> u32 {
    let samples = if stacks == StackKind::Fp { SAMPLES_FP } else { SAMPLES_DWARF };
    let cpu_s = seconds.unwrap_or(UNKNOWN_S).max(1.0) * cpus.max(1) as f64;
    ((samples / cpu_s) as u32).clamp(1, MOST_HZ)
}

fn limit_bytes(place: &Path) -> Result<u64, String> {
    let space = statvfs(place).map_err(|error| format!("the run directory cannot be read: {error}"))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    match MOST_BYTES.min(free / FREE_SHARE) {
        bytes @ LEAST_BYTES.. => Ok(bytes),
        _ => Err(format!("the run directory has only {} MiB of free space", free >> 20)),
    }
}

fn recorded(known: &Profile, segment: Segment, part: Part, cut: Option<String>) -> Recorded {
    let Part { folded, last_s } = part;
    // If perf ended early, samples were taken until the last one.
    let end_s = if cut.is_some() { last_s.unwrap_or(segment.begin_s) } else { segment.end_s };
    let over_s = (end_s - segment.begin_s).max(0.0);
    let profile = folded.profile(&Profile { over_s, ..known.clone() });
    Recorded { profile, folded, cut }
}

/// Does something, and ends a child if that takes longer.
fn within<R>(child: &Mutex<Child>, longest: Duration, work: impl FnOnce() -> R) -> R {
    let (done, waited) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waited.recv_timeout(longest) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill(); // it has just ended
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Waits for a process to end; then interrupts it, and waits once more.
fn wait(child: &mut Child, longest: Duration) -> Option<ExitStatus> {
    for is_interrupted in [false, true] {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| is_interrupted) {
            let _ = kill_process(pid, Signal::INT); // it has just ended
        }
        let begun = Instant::now();
        while begun.elapsed() < longest {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            thread::sleep(POLL);
        }
    }
    None
}

/// The first line that says something.
fn quoted(text: &str) -> Option<String> {
    let says = |line: &&str| line.chars().any(char::is_alphanumeric) && !line.starts_with("[ perf record:");
    let line = text.lines().map(str::trim).filter(|line| *line != "Error:").find(says)?;
    Some(line.chars().filter(|c| !c.is_control()).take(LONGEST_QUOTE).collect())
}

/// The clock of the samples.
fn now_s() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU time of a process: the first number of `schedstat`.
fn cpu_ns(pid: u32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
