//! The thread that reads the machine of the server.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::observe::Watcher;
use rustix::time::{ClockId, clock_gettime};

use crate::{
    news::{News, Watched},
    reading::Machine,
};

/// Number of the only server.
const SERVER: u64 = 0;

/// The running thread.
#[derive(Debug)]
pub(crate) struct MachineThread {
    watched: Option<mpsc::Sender<Watched>>,
    thread: Option<JoinHandle<()>>,
}

impl MachineThread {
    pub(crate) fn begin(interval: Duration, news: mpsc::Sender<News>) -> Result<Self, Problem> {
        let (watched, to_watch) = mpsc::channel();
        let thread =
            thread::Builder::new().name("machine".to_owned()).spawn(move || read(interval, &to_watch, &news));
        let thread =
            thread.map_err(|error| Problem::could_not(format!("could not start a thread: {error}")))?;
        Ok(Self { watched: Some(watched), thread: Some(thread) })
    }

    /// Watches this server from now on.
    pub(crate) fn watch(&self, server: Watched) {
        if let Some(watched) = &self.watched {
            let _ = watched.send(server); // a thread that has ended watches nothing
        }
    }

    /// Whether it has ended by itself, which only a fault of the program makes it do.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Ends the thread.
impl Drop for MachineThread {
    fn drop(&mut self) {
        drop(self.watched.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic is printed already
        }
    }
}

fn read(interval: Duration, to_watch: &mpsc::Receiver<Watched>, news: &mpsc::Sender<News>) {
    let mut watcher = Watcher::begin();
    let (mut is_here, mut at, mut cpu) = (false, Instant::now(), cpu_time());
    let mut due = at + interval;
    loop {
        match to_watch.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(server) => {
                watcher.forget(SERVER);
                is_here = server.is_some();
                server.into_iter().for_each(|server| watcher.watch(SERVER, server));
                // What was counted before belongs to no server.
                watcher.read();
                (at, cpu, due) = (Instant::now(), cpu_time(), Instant::now() + interval);
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let (now, used) = (Instant::now(), cpu_time());
                let over_s = now.duration_since(std::mem::replace(&mut at, now)).as_secs_f64();
                let own_cpus =
                    used.saturating_sub(std::mem::replace(&mut cpu, used)).as_secs_f64() / over_s.max(1e-3);
                let machine = is_here.then(|| Box::new(machine(&mut watcher)));
                if news.send(News::Machine { machine, own_cpus }).is_err() {
                    return;
                }
                due = (due + interval).max(now);
            }
        }
    }
}

fn machine(watcher: &mut Watcher) -> Machine {
    let (seen, _) = watcher.read();
    Machine {
        over_s: seen.over_s(),
        host: watcher.host(&seen),
        devices: watcher.devices(SERVER, &seen),
        processes: watcher.processes(SERVER, &seen),
    }
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
