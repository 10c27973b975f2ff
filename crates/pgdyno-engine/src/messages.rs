//! What a target has to say while it works.

use std::{fmt, sync::Arc};

/// How much a message matters; the later, the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step, for those who look for a fault.
    Debug,
    /// What happened and is no fault.
    Info,
    /// Something that a user should know of.
    Warning,
    /// Something that went wrong.
    Error,
    /// Not a message of the program: what a script or the server asked to have shown, as it is.
    Plain,
}

/// Where messages of targets go. Calls come from all workers at once.
#[derive(Clone)]
pub struct Messages {
    from: Level,
    sink: Option<Arc<Sink>>,
}

/// Takes messages.
type Sink = dyn Fn(Level, &str) + Send + Sync;

impl Messages {
    /// Messages of at least this level go to `sink`, as soon as they are said.
    pub fn to(from: Level, sink: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        Self { from, sink: Some(Arc::new(sink)) }
    }

    /// Whether anybody hears messages of this level: others need not be made.
    #[inline]
    pub fn hears(&self, level: Level) -> bool {
        self.sink.is_some() && level >= self.from
    }

    /// Says something.
    pub fn say(&self, level: Level, text: &str) {
        if let (true, Some(sink)) = (level >= self.from, &self.sink) {
            sink(level, text);
        }
    }
}

impl Default for Messages {
    /// Nobody listens.
    fn default() -> Self {
        Self { from: Level::Plain, sink: None }
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("from", &self.from).field("heard", &self.sink.is_some()).finish()
    }
}
