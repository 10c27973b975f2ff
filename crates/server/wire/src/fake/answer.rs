//! Requests of a client, and the server's answers.

use std::time::Duration;

use super::message;

/// A request that needs an answer: a Query, or the messages of the extended protocol up to a Sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Number of the connection, from 0.
    pub connection: usize,
    /// Number of the request on its connection, from 0.
    pub number: usize,
    /// SQL text; with the extended protocol that of the bound statement.
    pub sql: String,
    /// Name of the bound statement; `None` with the simple protocol.
    pub statement: Option<String>,
    /// Bound parameters; `None` is NULL.
    pub parameters: Vec<Option<String>>,
}

impl Request {
    /// Whether the SQL begins with `words`, in any case.
    pub fn starts_with(&self, words: &str) -> bool {
        self.sql.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
    }
}

/// One action of the server.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Send(Vec<u8>),
    /// Bytes sent repeatedly, so that much data needs little memory.
    Repeat(Vec<u8>, usize),
    Wait(Duration),
    Columns(usize),
    Complete(String),
    Error(String, String, String),
    /// CopyInResponse; then COPY data is read up to its end or to this many bytes.
    CopyIn(u64),
    Close,
}

/// Answer to one request. ReadyForQuery follows automatically, with the resulting transaction status, unless
/// [`Answer::without_ready`] is called.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub(super) actions: Vec<Action>,
    pub(super) no_ready: bool,
    pub(super) after: Vec<u8>,
}

impl Answer {
    /// CommandComplete with this tag, without rows.
    pub fn complete(tag: &str) -> Self {
        Self::default().and(Action::Complete(tag.to_owned()))
    }

    /// Rows, then CommandComplete.
    pub fn rows(rows: &[&[Option<&str>]]) -> Self {
        let sent = rows.iter().flat_map(|row| message::row(row)).collect();
        let columns = Action::Columns(rows.first().map_or(1, |row| row.len()));
        let tag = format!("SELECT {}", rows.len());
        Self::default().and(columns).and(Action::Send(sent)).and(Action::Complete(tag))
    }

    /// ERROR with SQLSTATE and text.
    pub fn error(code: &str, text: &str) -> Self {
        Self::default().then_error("ERROR", code, text)
    }

    /// FATAL error, after which the server closes the connection.
    pub fn fatal(code: &str, text: &str) -> Self {
        Self::default().then_error("FATAL", code, text).close()
    }

    /// Arbitrary bytes; nothing follows automatically.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self::default().then_bytes(bytes).without_ready()
    }

    /// CopyInResponse; data is read up to its end or to this many bytes, then the actions added to this answer follow.
    pub fn copy_in(bytes: u64) -> Self {
        Self::default().and(Action::CopyIn(bytes))
    }

    /// Waits before the answer.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.actions.insert(0, Action::Wait(delay));
        self
    }

    /// Adds an error of a severity.
    #[must_use]
    pub fn then_error(self, severity: &str, code: &str, text: &str) -> Self {
        self.and(Action::Error(severity.to_owned(), code.to_owned(), text.to_owned()))
    }

    /// Adds CommandComplete.
    #[must_use]
    pub fn then_complete(self, tag: &str) -> Self {
        self.and(Action::Complete(tag.to_owned()))
    }

    /// Adds arbitrary bytes.
    #[must_use]
    pub fn then_bytes(self, bytes: Vec<u8>) -> Self {
        self.and(Action::Send(bytes))
    }

    /// Adds the same bytes `times` times.
    #[must_use]
    pub fn then_repeat(self, bytes: Vec<u8>, times: usize) -> Self {
        self.and(Action::Repeat(bytes, times))
    }

    /// Adds a pause.
    #[must_use]
    pub fn then_wait(self, delay: Duration) -> Self {
        self.and(Action::Wait(delay))
    }

    /// Adds bytes after ReadyForQuery, in the same write.
    #[must_use]
    pub fn bytes_after_ready(mut self, bytes: &[u8]) -> Self {
        self.after.extend(bytes);
        self
    }

    /// Omits ReadyForQuery.
    #[must_use]
    pub fn without_ready(mut self) -> Self {
        self.no_ready = true;
        self
    }

    /// Closes the connection after the answer, without ReadyForQuery.
    #[must_use]
    pub fn close(self) -> Self {
        self.and(Action::Close)
    }

    fn and(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

/// Answers like a server whose tables hold one row with the value 0.
pub fn usual(request: &Request) -> Answer {
    let word = request.sql.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    match word.to_ascii_uppercase().as_str() {
        "SELECT" => Answer::rows(&[&[Some("0")]]),
        "INSERT" => Answer::complete("INSERT 0 1"),
        "UPDATE" => Answer::complete("UPDATE 1"),
        "END" | "COMMIT" => Answer::complete("COMMIT"),
        "ROLLBACK" | "ABORT" => Answer::complete("ROLLBACK"),
        "COPY" => Answer::copy_in(u64::MAX).then_complete("COPY 1"),
        other => Answer::complete(other),
    }
}
