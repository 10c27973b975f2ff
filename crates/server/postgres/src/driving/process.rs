//! Driver processes as pgdyno sees them: the same program, started again, and ordered through pipes. Passwords travel
//! through them as well: others can read arguments and environment.

use std::{
    io::{self, BufRead, BufReader},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{problem::Problem, stop::Stop};

use crate::driving::{
    driver::COMMAND,
    messages::{DriverEvent, Order, Task, send},
};

/// How often a waiting thread checks for a stop request.
const POLL: Duration = Duration::from_millis(20);
/// How long a driver process may take to end after a request to stop.
const LONGEST_END: Duration = Duration::from_secs(20);

/// An event of a driver process, by its index; `None` when it has closed its output.
type Heard = (usize, Option<DriverEvent>);

/// The driver processes of a run.
#[derive(Debug)]
pub struct Processes {
    all: Vec<Process>,
    heard: Receiver<Heard>,
    /// When they were requested to stop.
    stopped: Option<Instant>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    orders: ChildStdin,
    /// Names of its sets of tables.
    sets: Vec<String>,
}

impl Processes {
    /// Starts a process for each task, and has all of them connect their clients. Returns the longest time taken.
    ///
    /// # Errors
    /// A process could not be started or could not connect, or a stop was requested.
    pub fn connect(tasks: Vec<Task>, stop: &Stop) -> Result<(Self, Duration), Problem> {
        let (sender, heard) = mpsc::channel();
        let mut all = Vec::new();
        for (index, task) in tasks.into_iter().enumerate() {
            let started = Process::start(index, task, &sender);
            all.push(started.map_err(|error| {
                Problem::could_not(format!("could not start driver process {}: {error}", index + 1))
                    .hint("use fewer --drivers")
            })?);
        }
        let mut processes = Self { all, heard, stopped: None };
        let took = processes.wait_for_connections(stop)?;
        Ok((processes, took))
    }

    /// Waits until all processes have connected their clients.
    fn wait_for_connections(&mut self, stop: &Stop) -> Result<Duration, Problem> {
        let (mut missing, mut longest_ns) = (self.all.len(), 0);
        while missing > 0 {
            match self.next(POLL, stop) {
                Some((_, Some(DriverEvent::Connected { connect_ns }))) => {
                    missing -= 1;
                    longest_ns = longest_ns.max(connect_ns);
                }
                Some((_, Some(DriverEvent::Failed(failure)))) => return Err(failure.into()),
                Some((index, None)) => return Err(self.lost(index)),
                Some((_, Some(_))) | None => {}
            }
        }
        Ok(Duration::from_nanos(longest_ns))
    }

    /// Process ids.
    pub fn pids(&self) -> Vec<u32> {
        self.all.iter().map(|process| process.child.id()).collect()
    }

    /// Number of sets of each process, in order.
    pub fn sets(&self) -> Vec<usize> {
        self.all.iter().map(|process| process.sets.len()).collect()
    }

    /// Sends an order to all. Those that have ended say so by closing their output.
    pub fn order(&mut self, order: &Order) {
        for process in &mut self.all {
            let _ = send(&mut process.orders, order);
        }
    }

    /// The next event of any process; `None` after a timeout. A request to stop is passed on, and processes that do not
    /// end within 20 s are killed.
    pub fn next(&mut self, wait: Duration, stop: &Stop) -> Option<Heard> {
        match self.stopped {
            None if stop.requested() => {
                let reason = stop.reason().unwrap_or_default();
                self.order(&Order::Stop { reason });
                self.stopped = Some(Instant::now());
            }
            Some(since) if since.elapsed() > LONGEST_END => self.kill(),
            _ => {}
        }
        self.heard.recv_timeout(wait.min(POLL)).ok()
    }

    /// The problem of a process that has ended too early.
    pub fn lost(&mut self, index: usize) -> Problem {
        let Some(process) = self.all.get_mut(index) else {
            return Problem::could_not("a driver process is gone");
        };
        let how = match process.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let sets = process.sets.join(", ");
        Problem::could_not(format!("driver process {} of {sets} ended during its work: {how}", index + 1))
            .detail(format!("it was process {}", process.child.id()))
            .hint("earlier results are kept; look into the system's log for what ended it (out of memory?)")
    }

    fn kill(&mut self) {
        for process in &mut self.all {
            let _ = process.child.kill(); // it has ended then
        }
    }
}

impl Process {
    /// Starts a process of its own group, so that Ctrl-C reaches it through this process alone.
    fn start(index: usize, task: Task, sender: &Sender<Heard>) -> io::Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .arg0("pgdyno")
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let no_pipe = || io::Error::other("it has no pipe");
        let output = child.stdout.take().ok_or_else(no_pipe)?;
        let orders = child.stdin.take().ok_or_else(no_pipe)?;
        let sender = sender.clone();
        thread::Builder::new()
            .name(format!("driver {}", index + 1))
            .spawn(move || listen(index, output, &sender))?;
        let sets = task.sets.iter().map(|set| set.name.clone()).collect();
        let mut process = Self { child, orders, sets };
        send(&mut process.orders, &Order::Connect(Box::new(task)))?;
        Ok(process)
    }
}

/// Passes on what a process says until it closes its output, or says what cannot be understood.
fn listen(index: usize, output: ChildStdout, sender: &Sender<Heard>) {
    for line in BufReader::new(output).lines() {
        let event = line.ok().and_then(|line| serde_json::from_slice(line.as_bytes()).ok());
        let is_over = event.is_none();
        if sender.send((index, event)).is_err() || is_over {
            return;
        }
    }
    let _ = sender.send((index, None)); // nobody waits for it any more
}

/// Ends the processes, whatever they do: all connections close with them.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended then
        let _ = self.child.wait();
    }
}
