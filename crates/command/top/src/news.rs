//! Messages from threads to the view, and the reading that is made of them.

use std::time::{Duration, Instant};

use pgdyno_core::observe::{BlockedSession, Role, SessionsSeen, WaitsSample};
use pgdyno_host::observe::WatchedServer;

use crate::{
    model::Key,
    reading::{
        Absent, Cost, DatabaseRates, FORMAT, Lost, Machine, Progress, Reading, ServerShown, Standby,
        Statements, Subject, WalRates, WriteRates,
    },
};

/// The server on this machine; `None` if it is elsewhere.
pub(crate) type Watched = Option<WatchedServer>;

/// A signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signalled {
    /// The program must end.
    End,
    /// The program must stop until it is continued.
    Suspend,
    /// The process was continued after a stop.
    Continued,
}

/// A message from a thread.
#[derive(Debug)]
pub(crate) enum News {
    /// There is a session with this server.
    Connected { shown: Box<ServerShown>, watched: Watched },
    /// The server was read.
    Server(Box<ServerPart>),
    /// There is no session.
    Lost { why: String },
    /// The machine was read; `None` if the server is elsewhere. With CPUs that this program used.
    Machine { machine: Option<Box<Machine>>, own_cpus: f64 },
    /// A key was pressed.
    Key(Key),
    /// The whole screen must be drawn again.
    Redraw,
    /// The user wants to suspend the view.
    Suspend,
    /// The user interrupts it.
    Interrupt,
    /// The terminal cannot be read.
    Deaf { why: String },
    /// A signal came.
    Signal(Signalled),
}

/// What was read from the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerPart {
    pub over_s: f64,
    pub databases: Option<DatabaseRates>,
    pub sessions: Option<SessionsSeen>,
    pub waits: Option<WaitsSample>,
    pub statements: Option<Statements>,
    pub blocked: Option<Vec<BlockedSession>>,
    pub wal: Option<WalRates>,
    pub writes: Option<WriteRates>,
    pub standbys: Vec<Standby>,
    pub progress: Option<Vec<Progress>>,
    pub absent: Vec<Absent>,
}

/// What is known at present.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    shown: ServerShown,
    part: ServerPart,
    /// When the server answered last.
    answered: Option<Instant>,
    lost: Option<String>,
    machine: Option<Machine>,
    is_elsewhere: bool,
    own_cpus: Option<f64>,
}

impl Latest {
    /// Takes what concerns the reading; returns the rest.
    pub(crate) fn take(&mut self, news: News, now: Instant) -> Option<News> {
        match news {
            News::Connected { shown, watched } => {
                self.is_elsewhere = watched.is_none();
                (self.shown, self.lost, self.answered) = (*shown, None, Some(now));
                if self.is_elsewhere {
                    self.machine = None;
                }
            }
            News::Server(part) => (self.part, self.answered) = (*part, Some(now)),
            News::Lost { why } => self.lost = Some(why),
            News::Machine { machine, own_cpus } => {
                self.machine = machine.map(|machine| *machine);
                self.own_cpus = Some(own_cpus);
            }
            other => return Some(other),
        }
        None
    }

    /// Why there is no session at present; `None` as long as there is one, or as the first one is not there yet.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Whether machine and server were both read, as far as they can be.
    pub(crate) fn is_complete(&self) -> bool {
        self.part.over_s > 0.0 && (self.is_elsewhere || self.machine.is_some())
    }

    /// The reading. A server that has not answered for so long that it should have is lost, too.
    pub(crate) fn reading(&self, now: Instant, patience: Duration, at: String) -> Reading {
        let silent = self.answered.map_or(Duration::ZERO, |answered| now.saturating_duration_since(answered));
        let why = self
            .lost
            .clone()
            .or_else(|| (silent > patience).then(|| "the server does not answer".to_owned()));
        let ServerPart { over_s, databases, sessions, waits, statements, blocked, wal, writes, .. } =
            self.part.clone();
        let mut absent = self.part.absent.clone();
        if self.is_elsewhere {
            let why = "the server's processes are not visible on this machine".to_owned();
            absent.push(Absent { what: Subject::Machine, why });
        }
        Reading {
            format: FORMAT,
            at,
            server: self.shown.clone(),
            lost: why.map(|why| Lost { since_s: silent.as_secs_f64(), why }),
            over_s,
            databases,
            sessions,
            waits,
            statements,
            blocked,
            wal,
            writes,
            standbys: self.part.standbys.clone(),
            progress: self.part.progress.clone(),
            machine: self.machine.clone(),
            absent,
            cost: Cost { cpus: self.own_cpus, server_cpus: self.server_cpus() },
        }
    }

    fn server_cpus(&self) -> Option<f64> {
        let processes = self.machine.as_ref()?.processes.as_ref()?;
        processes.roles.iter().find(|role| role.role == Role::Observer).map(|role| role.cpus)
    }
}
