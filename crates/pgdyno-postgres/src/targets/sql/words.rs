//! What pgbench says.

use pgdyno_script::{Action, Command, Value};

use super::Play;

/// Where a client is in its scripts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whereabouts {
    pub client: u32,
    pub script: usize,
    pub command: usize,
}

impl Whereabouts {
    /// A client ends in a command.
    pub fn aborted(self, command: &str, why: &str) -> String {
        let Self { client, script, command: number } = self;
        format!("client {client} aborted in command {number} ({command}) of script {script}; {why}")
    }

    /// A client ends by what the server said to a query of a command.
    pub fn aborted_in_query(self, query: u32, why: &str) -> String {
        let Self { client, script, command } = self;
        format!("client {client} script {script} aborted in command {command} query {query}: {why}")
    }

    /// What a query of a command has that it should not.
    pub fn of_query(self, query: u32, what: &str) -> String {
        let Self { client, script, command } = self;
        format!("client {client} script {script} command {command} query {query}: {what}")
    }

    /// A client has met an error that it lives on after.
    pub fn got_an_error(self, why: &str) -> String {
        let Self { client, script, command } = self;
        format!("client {client} got an error in command {command} (SQL) of script {script}; {why}\n")
    }

    /// What `debug()` was given.
    pub fn debug(self, value: Value) -> String {
        format!("debug(script={},command={}): {value}\n", self.script, self.command + 1)
    }

    /// A backslash command is carried out; its expression is not shown.
    pub fn executing(self, command: &Command) -> String {
        let line = command.line.strip_prefix('\\').unwrap_or(&command.line);
        let shown = match command.action {
            Action::Set { .. } => 2,
            Action::If(_) | Action::Elif(_) => 1,
            _ => usize::MAX,
        };
        let words: Vec<_> = line.split_whitespace().filter(|word| *word != "\\").take(shown).collect();
        format!("client {} executing \\{}", self.client, words.join(" "))
    }
}

/// What becomes of a failed try.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub again: bool,
    pub tries: u32,
    pub took_ns: u64,
}

impl Verdict {
    /// What is said of it where every error is told.
    pub fn told(self, client: u32, play: &Play) -> String {
        let what = if self.again {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let mut text = format!("client {client} {what} (try {}", self.tries);
        if play.manner.max_tries > 0 {
            text.push_str(&format!("/{}", play.manner.max_tries));
        }
        if let Some(limit_ns) = play.manner.latency_limit_ns {
            let share = 100.0 * self.took_ns as f64 / limit_ns as f64;
            text.push_str(&format!(", {share:.3}% of the maximum time of tries was used"));
        }
        text.push_str(")\n");
        text
    }
}
