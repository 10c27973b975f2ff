//! `events.ndjson` of the run directory: what happened, and when. Write errors are ignored, because a log must not end
//! the run that it describes.

use std::{
    fs::File,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use pgdyno_record::EventLine;

use crate::{Event, Sink};

/// The event log of a run. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct EventLog {
    file: Arc<Mutex<Option<File>>>,
    started: Instant,
}

impl EventLog {
    /// A log that appends to `file`, for a run that began at `started`.
    pub fn new(file: File, started: Instant) -> Self {
        Self { file: Arc::new(Mutex::new(Some(file))), started }
    }

    /// Writes nothing from now on, because the file is about to be sealed.
    pub fn close(&self) {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Sink for EventLog {
    fn receive(&mut self, event: &Event) {
        if event.is_progress() {
            return;
        }
        let at_s = self.started.elapsed().as_secs_f64();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = file.as_mut() else { return };
        let _ = file.write_all(&EventLine::new(at_s, event).to_line());
    }
}
