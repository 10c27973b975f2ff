//! Messages of targets during a run.

use std::{fmt, sync::Arc};

/// Severity of a message, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Detail for finding a fault.
    Debug,
    /// Normal event.
    Info,
    /// Something that a user should know of.
    Warning,
    /// Failure.
    Error,
    /// Output of a script or the server, printed as it is.
    Plain,
}

/// Destination of the targets' messages. All workers call it concurrently.
#[derive(Clone)]
pub struct Messages {
    from: Level,
    sink: Option<Arc<Sink>>,
}

/// Function that receives messages.
type Sink = dyn Fn(Level, &str) + Send + Sync;

impl Messages {
    /// Sends messages of at least this level to `sink`, as soon as they arise.
    pub fn to(from: Level, sink: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        Self { from, sink: Some(Arc::new(sink)) }
    }

    /// Whether messages of this level are wanted; others need not be formatted.
    #[inline]
    pub fn hears(&self, level: Level) -> bool {
        self.sink.is_some() && level >= self.from
    }

    /// Sends a message if its level is wanted.
    pub fn say(&self, level: Level, text: &str) {
        if let (true, Some(sink)) = (level >= self.from, &self.sink) {
            sink(level, text);
        }
    }
}

impl Default for Messages {
    /// Discards all messages.
    fn default() -> Self {
        Self { from: Level::Plain, sink: None }
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("from", &self.from).field("heard", &self.sink.is_some()).finish()
    }
}
