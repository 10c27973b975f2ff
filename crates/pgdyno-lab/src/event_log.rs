//! `events.ndjson` of the run directory: what happened, and when. What cannot be written is left out, as a log must not
//! end what it tells of.

use std::{
    fs::File,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use pgdyno_record::EventLine;

use crate::{Event, Sink};

/// The log of a run's events; clones write to the same file.
#[derive(Debug, Clone)]
pub struct EventLog {
    file: Arc<Mutex<Option<File>>>,
    started: Instant,
}

impl EventLog {
    /// A log in a file that was opened to be appended, of a run that began at this instant.
    pub fn new(file: File, started: Instant) -> Self {
        Self { file: Arc::new(Mutex::new(Some(file))), started }
    }

    /// Writes nothing from now on: the file is about to be sealed.
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
