//! What all clients of a run share.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use pgdyno_script::{Protocol, Scripts, Variables};

/// How often in a run the server may lack room on its disk, memory, or a disk that works, over all clients. A query
/// that asked for too much at a bad moment passes; a full disk comes back with every attempt.
pub(super) const MOST_SHORTAGES: u32 = 10;

/// What a client does about things that go wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conduct {
    /// A measurement goes on through what may pass (a serialization failure, a cancelled statement, a lost connection),
    /// each a failed attempt or one in doubt, and ends the whole run at what would fail again (a missing table, a wrong
    /// script) or must be looked at (corruption). A COMMIT that the server answers with ROLLBACK is a failed attempt.
    #[default]
    Measuring,
    /// As pgbench: serialization failures and deadlocks are tried again or counted, everything else ends the client
    /// with a message in its words. Statements are prepared in round trips of their own.
    Pgbench,
}

/// How clients behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// What they do about things that go wrong.
    pub conduct: Conduct,
    /// Most tries of an attempt that meets serialization failures or deadlocks, the first included; 0 is no limit.
    pub max_tries: u32,
    /// An attempt that has taken longer than this many nanoseconds is not tried again; `None` is no limit.
    pub latency_limit_ns: Option<u64>,
    /// Whether a client lives on after errors that end it otherwise: with [`Conduct::Pgbench`] all SQL errors, with
    /// [`Conduct::Measuring`] violated constraints (class 23).
    pub continue_on_error: bool,
    /// With [`Conduct::Pgbench`]: whether every error and every further try is told.
    pub verbose_errors: bool,
    /// Whether scripts may run programs (`\shell`, `\setshell`).
    pub trust: bool,
}

impl Default for Manner {
    /// A measurement, each attempt tried once, no programs.
    fn default() -> Self {
        Self {
            conduct: Conduct::default(),
            max_tries: 1,
            latency_limit_ns: None,
            continue_on_error: false,
            verbose_errors: false,
            trust: false,
        }
    }
}

/// What all clients of a run share: scripts, protocol, manner.
#[derive(Debug)]
pub struct Play {
    pub(super) scripts: Arc<Scripts>,
    pub(super) protocol: Protocol,
    pub(super) manner: Manner,
    /// Names of the prepared statements, the same in every session: `P_0` and so on over all scripts.
    pub(super) names: Vec<String>,
    /// Number of the first command of every script, as the engine counts commands.
    pub(super) first: Vec<usize>,
    /// Commands of all scripts.
    commands: usize,
    /// How often the server lacked room, memory or a working disk.
    shortages: Arc<AtomicU32>,
    /// The SQLSTATE by which a script rolls itself back: its attempt has run to its end.
    pub(super) own_rollback: Option<&'static str>,
}

impl Play {
    /// Scripts to be run by every client of a run. Which of them an attempt runs is the engine's choice.
    pub fn new(scripts: Arc<Scripts>, protocol: Protocol, manner: Manner) -> Self {
        let names = (0..scripts.statements().count()).map(|number| format!("P_{number}")).collect();
        let mut commands = 0;
        let mut count = |script: &pgdyno_script::Script| {
            commands += script.commands.len();
            commands - script.commands.len()
        };
        let first = scripts.iter().map(&mut count).collect();
        Self {
            scripts,
            protocol,
            manner,
            names,
            first,
            commands,
            shortages: Arc::default(),
            own_rollback: None,
        }
    }

    /// The same, of scripts that roll themselves back by this SQLSTATE.
    #[must_use]
    pub fn rolling_back_by(mut self, code: Option<&'static str>) -> Self {
        self.own_rollback = code;
        self
    }

    /// Whether a script rolls itself back by an error of this SQLSTATE.
    pub(super) fn rolls_back_by(&self, code: &str) -> bool {
        self.own_rollback == Some(code)
    }

    /// The play of a client that starts with these variables: one of its own where they are parts of names in its
    /// scripts, such as a table for every client; else the one of all.
    pub(super) fn for_client(self: &Arc<Self>, start: &Variables) -> Arc<Self> {
        if !self.scripts.have_parts_of_names(start) {
            return Arc::clone(self);
        }
        let own = Arc::new(self.scripts.with_parts_of_names(start));
        Arc::new(Self {
            scripts: own,
            names: self.names.clone(),
            first: self.first.clone(),
            shortages: Arc::clone(&self.shortages),
            ..**self
        })
    }

    /// How many commands the scripts have: what the engine's bookkeeping has to have room for.
    pub fn commands(&self) -> usize {
        self.commands
    }

    /// Counts an error of a server that lacks something; whether it was one too many.
    pub(super) fn is_short_for_good(&self) -> bool {
        self.shortages.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_SHORTAGES
    }

    pub(super) fn is_pgbench(&self) -> bool {
        self.manner.conduct == Conduct::Pgbench
    }
}
