//! State shared by all clients of a run.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use pgdyno_script::{Protocol, Scripts, Variables};

/// Most errors per run, over all clients, by which the server lacks disk space, memory, or a working disk. A query that
/// requested too much at a bad moment is an exception; a full disk recurs with every attempt.
pub(super) const MOST_SHORTAGES: u32 = 10;

/// How a client handles errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErrorHandling {
    /// For measurements: transient errors (serialization failures, cancelled statements, lost connections) make
    /// an attempt failed or in doubt; errors that would recur (a missing table, a wrong script) or need
    /// attention (corruption) end the whole run. A COMMIT answered by ROLLBACK is a failed attempt.
    #[default]
    Measuring,
    /// Like pgbench: serialization failures and deadlocks are retried or counted, any other error ends the
    /// client with pgbench's message. Statements are prepared in separate round trips.
    Pgbench,
}

/// Behaviour of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientBehavior {
    /// How clients handle errors.
    pub errors: ErrorHandling,
    /// Most tries of an attempt that fails with serialization errors or deadlocks, including the first; 0 means
    /// no limit.
    pub max_tries: u32,
    /// Attempts that have taken more nanoseconds are not retried; `None` means no limit.
    pub latency_limit_ns: Option<u64>,
    /// Whether a client survives errors that would otherwise end it: with [`ErrorHandling::Pgbench`] all SQL errors,
    /// with [`ErrorHandling::Measuring`] constraint violations (class 23).
    pub continue_on_error: bool,
    /// With [`ErrorHandling::Pgbench`]: whether every error and every retry is reported.
    pub verbose_errors: bool,
    /// Whether scripts may run programs (`\shell`, `\setshell`).
    pub trust: bool,
}

impl Default for ClientBehavior {
    /// Behaviour in measurements: no retries, no programs.
    fn default() -> Self {
        Self {
            errors: ErrorHandling::default(),
            max_tries: 1,
            latency_limit_ns: None,
            continue_on_error: false,
            verbose_errors: false,
            trust: false,
        }
    }
}

/// Scripts, protocol and behaviour shared by all clients of a run.
#[derive(Debug)]
pub struct SharedScripts {
    pub(super) scripts: Arc<Scripts>,
    pub(super) protocol: Protocol,
    pub(super) behavior: ClientBehavior,
    /// Names of the prepared statements, the same in every session: `P_0` and so on, over all scripts.
    pub(super) names: Vec<String>,
    /// Number of the first command of every script, in the engine's numbering.
    pub(super) first: Vec<usize>,
    /// Number of commands in all scripts.
    commands: usize,
    /// Number of errors so far by which the server lacks disk space, memory or a working disk.
    shortages: Arc<AtomicU32>,
    /// SQLSTATE by which a script rolls itself back, which completes its attempt.
    pub(super) own_rollback: Option<&'static str>,
}

impl SharedScripts {
    /// Scripts for all clients of a run. The engine chooses which script an attempt runs.
    pub fn new(scripts: Arc<Scripts>, protocol: Protocol, behavior: ClientBehavior) -> Self {
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
            behavior,
            names,
            first,
            commands,
            shortages: Arc::default(),
            own_rollback: None,
        }
    }

    /// Lets scripts roll themselves back with this SQLSTATE.
    #[must_use]
    pub fn rolling_back_by(mut self, code: Option<&'static str>) -> Self {
        self.own_rollback = code;
        self
    }

    /// Whether a script rolls itself back with an error of this SQLSTATE.
    pub(super) fn rolls_back_by(&self, code: &str) -> bool {
        self.own_rollback == Some(code)
    }

    /// Scripts for a client with these variables: its own copy if they are parts of identifiers, such as a
    /// table for each client; else the shared one.
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

    /// Number of commands in all scripts, which sizes the engine's bookkeeping.
    pub fn commands(&self) -> usize {
        self.commands
    }

    /// Counts an error by which the server lacks resources; returns whether the limit is exceeded.
    pub(super) fn is_short_for_good(&self) -> bool {
        self.shortages.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_SHORTAGES
    }

    pub(super) fn is_pgbench(&self) -> bool {
        self.behavior.errors == ErrorHandling::Pgbench
    }
}
