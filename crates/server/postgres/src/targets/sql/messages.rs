//! pgbench's messages.

use pgdyno_script::{Action, Command, Value};

use super::SharedScripts;

/// Position of a client in its scripts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptPosition {
    pub client: u32,
    pub script: usize,
    pub command: usize,
}

impl ScriptPosition {
    /// Message of a client that ends in a command.
    pub fn aborted(self, command: &str, why: &str) -> String {
        let Self { client, script, command: number } = self;
        format!("client {client} aborted in command {number} ({command}) of script {script}; {why}")
    }

    /// Message of a client that ends because of the server's reply to a query.
    pub fn aborted_in_query(self, query: u32, why: &str) -> String {
        let Self { client, script, command } = self;
        format!("client {client} script {script} aborted in command {command} query {query}: {why}")
    }

    /// Message about an unexpected result of a query.
    pub fn of_query(self, query: u32, what: &str) -> String {
        let Self { client, script, command } = self;
        format!("client {client} script {script} command {command} query {query}: {what}")
    }

    /// Message of a client that continues after an error.
    pub fn got_an_error(self, why: &str) -> String {
        let Self { client, script, command } = self;
        format!("client {client} got an error in command {command} (SQL) of script {script}; {why}\n")
    }

    /// Output of `debug()`.
    pub fn debug(self, value: Value) -> String {
        format!("debug(script={},command={}): {value}\n", self.script, self.command + 1)
    }

    /// Message before a backslash command, without its expression.
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

/// Decision after a failed try.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryDecision {
    pub again: bool,
    pub tries: u32,
    pub took_ns: u64,
}

impl RetryDecision {
    /// Message about the decision, if every error is reported.
    pub fn text(self, client: u32, shared: &SharedScripts) -> String {
        let what = if self.again {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let mut text = format!("client {client} {what} (try {}", self.tries);
        if shared.behavior.max_tries > 0 {
            text.push_str(&format!("/{}", shared.behavior.max_tries));
        }
        if let Some(limit_ns) = shared.behavior.latency_limit_ns {
            let share = 100.0 * self.took_ns as f64 / limit_ns as f64;
            text.push_str(&format!(", {share:.3}% of the maximum time of tries was used"));
        }
        text.push_str(")\n");
        text
    }
}
