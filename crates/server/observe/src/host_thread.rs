//! The thread that reads the host and the processes of all servers.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use pgdyno_core::observe::{Digest, What};
use pgdyno_host::observe::{Seen, ServerId, WatchedServer, Watcher};

use crate::{
    command::Command,
    cost::{Account, Spent, ThreadCost},
    queue,
    span::{ServerSpan, Span},
};

/// Time between two lines. They are due at full seconds of the run.
const EVERY: Duration = Duration::from_secs(1);
/// A shorter time than this, in seconds, makes no line of its own: CPU time is counted in hundredths of a second.
const SHORTEST_LINE_S: f64 = 0.1;

/// The running thread.
#[derive(Debug)]
pub(crate) struct HostThread {
    commands: mpsc::Sender<Command>,
    thread: Option<JoinHandle<()>>,
    spans: AtomicU64,
}

impl HostThread {
    pub(crate) fn begin(started: Instant, lines: queue::Sender, account: Account) -> Self {
        let (commands, received) = mpsc::channel();
        let thread = thread::spawn(move || {
            let state = State {
                started,
                lines,
                cost: ThreadCost::new(account.clone()),
                account,
                watcher: Watcher::begin(),
                subjects: BTreeMap::new(),
                spans: BTreeMap::new(),
                unsaid: Seen::default(),
            };
            state.run(&received);
        });
        Self { commands, thread: Some(thread), spans: AtomicU64::new(0) }
    }

    pub(crate) fn watch(&self, id: ServerId, subject: Option<String>, server: WatchedServer) {
        self.send(Command::Watch(id, subject, Box::new(server)));
    }

    pub(crate) fn forget(&self, id: ServerId) {
        self.send(Command::Forget(id));
    }

    /// `begin` notifies the threads of servers, given the number of the span.
    pub(crate) fn span(&self, servers: Vec<ServerId>, begin: impl FnOnce(u64) -> Vec<ServerSpan>) -> Span {
        let id = self.spans.fetch_add(1, Ordering::Relaxed);
        let (sender, digest) = mpsc::channel();
        self.send(Command::Begin { id, servers, digest: sender });
        Span {
            id,
            commands: self.commands.clone(),
            digest,
            ended: AtomicBool::new(false),
            servers: begin(id),
        }
    }

    fn send(&self, command: Command) {
        let _ = self.commands.send(command); // a thread that has ended observes nothing
    }
}

/// Ends the thread, which writes what it has.
impl Drop for HostThread {
    fn drop(&mut self) {
        self.send(Command::Finish);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic is printed already
        }
    }
}

struct State {
    started: Instant,
    lines: queue::Sender,
    account: Account,
    cost: ThreadCost,
    watcher: Watcher,
    subjects: BTreeMap<ServerId, Option<String>>,
    spans: BTreeMap<u64, Begun>,
    /// What was seen since the last line.
    unsaid: Seen,
}

/// A span that has begun.
struct Begun {
    at: Instant,
    servers: Vec<ServerId>,
    digest: mpsc::Sender<Digest>,
    seen: Seen,
    spent: Spent,
}

impl State {
    fn run(mut self, commands: &mpsc::Receiver<Command>) {
        let mut due = self.next_due();
        loop {
            match commands.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Command::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {
                    self.read();
                    self.say();
                    due = self.next_due();
                }
            }
        }
        self.read();
        self.say();
        self.cost.count();
    }

    /// The next full second of the run: a reading that came late is not made up for.
    fn next_due(&self) -> Instant {
        let seconds = self.started.elapsed().as_secs() + EVERY.as_secs();
        self.started + Duration::from_secs(seconds)
    }

    fn obey(&mut self, command: Command) {
        // What was seen until now belongs to the time before.
        self.read();
        match command {
            Command::Watch(id, subject, server) => {
                self.subjects.insert(id, subject);
                self.watcher.watch(id, *server);
            }
            Command::Forget(id) => {
                self.say();
                self.subjects.remove(&id);
                self.watcher.forget(id);
            }
            Command::Begin { id, servers, digest } => {
                self.say();
                let (at, spent) = (Instant::now(), self.account.spent());
                self.spans.insert(id, Begun { at, servers, digest, seen: Seen::default(), spent });
            }
            Command::End(id) => {
                self.say();
                self.spans.remove(&id).into_iter().for_each(|begun| self.end(begun));
            }
            Command::Finish => {}
        }
    }

    fn end(&self, begun: Begun) {
        let Begun { at, servers, digest, seen, spent } = begun;
        let wanted = |id: &ServerId| servers.is_empty() || servers.contains(id);
        let all: Vec<_> = self.subjects.iter().filter(|(id, _)| wanted(id)).collect();
        let several = all.len() > 1;
        let named = |(id, subject): (&ServerId, &Option<String>)| (*id, subject.clone().filter(|_| several));
        let named: Vec<_> = all.into_iter().map(named).collect();
        let cost = Some(self.account.cost(at.elapsed(), &spent));
        let _ = digest.send(Digest { cost, ..self.watcher.digest(&seen, &named) }); // nobody may wait for it
    }

    fn read(&mut self) {
        self.watcher.observe_by(&self.account.backends());
        let (seen, gaps) = self.watcher.read();
        self.spans.values_mut().for_each(|span| span.seen.add(&seen));
        self.unsaid.add(&seen);
        let at_s = self.started.elapsed().as_secs_f64();
        for gap in gaps {
            let subject = gap.server.and_then(|id| self.subjects.get(&id)?.clone());
            let what = What::Gap { missing: gap.missing, why: gap.why };
            self.lines.send_about(subject, at_s, seen.over_s(), what);
        }
        self.cost.count();
    }

    /// Sends the lines of what was seen since the last ones.
    fn say(&mut self) {
        let over_s = self.unsaid.over_s();
        if over_s < SHORTEST_LINE_S {
            return;
        }
        let seen = std::mem::take(&mut self.unsaid);
        let at_s = self.started.elapsed().as_secs_f64();
        if let Some(host) = self.watcher.host(&seen) {
            self.lines.send(at_s, over_s, What::Host(Box::new(host)));
        }
        for (id, subject) in &self.subjects {
            let devices = self.watcher.devices(*id, &seen);
            if !devices.is_empty() {
                self.lines.send_about(subject.clone(), at_s, over_s, What::Devices { devices });
            }
            if let Some(processes) = self.watcher.processes(*id, &seen) {
                self.lines.send_about(subject.clone(), at_s, over_s, What::Processes(processes));
            }
        }
    }
}
