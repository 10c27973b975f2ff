//! What a client asks, and what it is told.

use std::time::Duration;

use super::message;

/// Something that wants an answer: a Query, or the messages of the extended protocol up to a Sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Number of the connection, from 0.
    pub connection: usize,
    /// Number of the request on it, from 0.
    pub number: usize,
    /// The SQL; with the extended protocol that of the statement that is bound.
    pub sql: String,
    /// Name of the statement that is bound; `None` with the simple protocol.
    pub statement: Option<String>,
    /// Parameters that are bound.
    pub parameters: Vec<Option<String>>,
}

impl Request {
    /// Whether the SQL begins with this, in any case.
    pub fn starts_with(&self, words: &str) -> bool {
        self.sql.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
    }
}

/// One thing that the server does.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Send(Vec<u8>),
    /// Sent over and over, so that much can be sent from little memory.
    Repeat(Vec<u8>, usize),
    Wait(Duration),
    Columns(usize),
    Complete(String),
    Error(String, String, String),
    /// CopyInResponse, then COPY data is taken until it ends or so many bytes have come.
    CopyIn(u64),
    Close,
}

/// What the server does about one request. ReadyForQuery follows by itself, with the status that the answer leads to,
/// unless [`Answer::without_ready`].
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub(super) actions: Vec<Action>,
    pub(super) no_ready: bool,
    pub(super) after: Vec<u8>,
}

impl Answer {
    /// No rows, and CommandComplete with this tag.
    pub fn complete(tag: &str) -> Self {
        Self::default().and(Action::Complete(tag.to_owned()))
    }

    /// Rows, and CommandComplete.
    pub fn rows(rows: &[&[Option<&str>]]) -> Self {
        let sent = rows.iter().flat_map(|row| message::row(row)).collect();
        let columns = Action::Columns(rows.first().map_or(1, |row| row.len()));
        let tag = format!("SELECT {}", rows.len());
        Self::default().and(columns).and(Action::Send(sent)).and(Action::Complete(tag))
    }

    /// An ERROR with SQLSTATE and text.
    pub fn error(code: &str, text: &str) -> Self {
        Self::default().then_error("ERROR", code, text)
    }

    /// A FATAL error, after which the server closes the connection.
    pub fn fatal(code: &str, text: &str) -> Self {
        Self::default().then_error("FATAL", code, text).close()
    }

    /// Any bytes instead of an answer; nothing follows by itself.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self::default().then_bytes(bytes).without_ready()
    }

    /// CopyInResponse; data is taken until its end or so many bytes, then what is added to this answer is done.
    pub fn copy_in(bytes: u64) -> Self {
        Self::default().and(Action::CopyIn(bytes))
    }

    /// Waits first.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.actions.insert(0, Action::Wait(delay));
        self
    }

    /// Then an error of a severity.
    #[must_use]
    pub fn then_error(self, severity: &str, code: &str, text: &str) -> Self {
        self.and(Action::Error(severity.to_owned(), code.to_owned(), text.to_owned()))
    }

    /// Then CommandComplete.
    #[must_use]
    pub fn then_complete(self, tag: &str) -> Self {
        self.and(Action::Complete(tag.to_owned()))
    }

    /// Then any bytes.
    #[must_use]
    pub fn then_bytes(self, bytes: Vec<u8>) -> Self {
        self.and(Action::Send(bytes))
    }

    /// Then the same bytes so many times.
    #[must_use]
    pub fn then_repeat(self, bytes: Vec<u8>, times: usize) -> Self {
        self.and(Action::Repeat(bytes, times))
    }

    /// Then a pause.
    #[must_use]
    pub fn then_wait(self, delay: Duration) -> Self {
        self.and(Action::Wait(delay))
    }

    /// Any bytes after ReadyForQuery, in the same write.
    #[must_use]
    pub fn bytes_after_ready(mut self, bytes: &[u8]) -> Self {
        self.after.extend(bytes);
        self
    }

    /// Without ReadyForQuery.
    #[must_use]
    pub fn without_ready(mut self) -> Self {
        self.no_ready = true;
        self
    }

    /// Then the connection is closed, without ReadyForQuery.
    #[must_use]
    pub fn close(self) -> Self {
        self.and(Action::Close)
    }

    fn and(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

/// The answer of a server whose tables hold one row with the value 0.
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
