//! State shared by the threads of a fake server.

use std::{
    fs::File,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{Answer, Greeting, Message, Request};

/// State shared by the threads of a fake server.
pub(super) struct Shared {
    pub(super) greeting: Box<Greeting>,
    script: Box<dyn Fn(&Request) -> Answer + Send + Sync>,
    state: Mutex<State>,
    pub(super) closing: AtomicBool,
    /// Whether messages and service times are recorded.
    pub(super) keeping: AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    /// Every connection ever made, to be shut down from outside; `None` if it has ended and nothing is recorded.
    pub(super) connections: Vec<Option<Arc<File>>>,
    /// Every message received after the greeting, with the number of its connection.
    pub(super) received: Vec<(usize, Message)>,
    /// All StartupMessages.
    pub(super) startups: Vec<Message>,
    /// Service times of all answers.
    pub(super) served: Vec<Duration>,
}

impl Shared {
    /// State of a server with this greeting and script, before its first connection.
    pub(super) fn new(
        greeting: Box<Greeting>,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self {
            greeting,
            script: Box::new(script),
            state: Mutex::default(),
            closing: AtomicBool::new(false),
            keeping: AtomicBool::new(true),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answer(&self, request: &Request) -> Answer {
        (self.script)(request)
    }

    pub(super) fn note(&self, connection: usize, message: &Message) {
        if self.keeping.load(Ordering::Relaxed) {
            self.lock().received.push((connection, message.clone()));
        }
    }

    pub(super) fn note_startup(&self, startup: &Message) {
        if self.keeping.load(Ordering::Relaxed) {
            self.lock().startups.push(startup.clone());
        }
    }

    pub(super) fn note_served(&self, took: Duration) {
        if self.keeping.load(Ordering::Relaxed) {
            self.lock().served.push(took);
        }
    }
}
