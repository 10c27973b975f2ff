//! How far commands are.

use std::time::Duration;

use crate::activity::{Pace, ProgressReader};
use pgdyno_core::observe::What;
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, ServerReader};

/// Time between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// Reads how far commands are that report it: keys being built, VACUUM, COPY.
#[derive(Default)]
pub(super) struct Progress(Option<ProgressReader>);

impl ServerReader for Progress {
    fn name(&self) -> &'static str {
        "progress"
    }

    fn pace(&self) -> Pace {
        Pace::new(EVERY)
    }

    fn read(&mut self, session: &mut Session, _own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        let reader = match &mut self.0 {
            Some(reader) => reader,
            none => none.insert(ProgressReader::new(session)?),
        };
        let commands = reader.read(session)?;
        if !commands.is_empty() {
            say(0.0, What::Progress { commands });
        }
        Ok(())
    }
}
