//! Operations on the tables of a server, as recorded runs: loads, copies, checks and probes. They drive nothing, so
//! they need no plan; they share the run directory, the stages and the events of an experiment.

mod first;
mod job;
mod load;
mod stage;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_record::{Found, OperationRecord};

pub use job::OperationJob;
pub use load::{LoadTask, load, send};
pub use stage::{Tables, carry_out, prewarm, prewarm_again};

use crate::{Events, Lab, Outcome, recording::Recording};

/// The operations of a command, recorded if that is wanted.
#[derive(Debug)]
pub struct Operations {
    recording: Option<Recording>,
    events: Events,
}

/// What an operation returns to its caller, what it found, and whether what it checks holds.
pub type Operated<T> = (T, Found, Option<bool>);

impl Operations {
    /// Begins the run directory of a command.
    ///
    /// # Errors
    /// The server cannot be reached, or the run directory cannot be written.
    pub fn recorded(job: &OperationJob<'_>, lab: &Lab, stop: &Stop, events: Events) -> Result<Self, Problem> {
        let recording = Some(first::begin(job, lab, stop, &events)?);
        Ok(Self { recording, events })
    }

    /// Operations that leave no run directory.
    pub fn unrecorded(events: Events) -> Self {
        Self { recording: None, events }
    }

    /// Name of the run; `None` if the operations leave no run directory.
    pub fn run_name(&self) -> Option<&str> {
        self.recording.as_ref().map(|recording| recording.dir.id())
    }

    /// Names what the tables are, once that is known.
    pub fn of_tables(&mut self, scale: u64, seed: u64) {
        if let Some(recording) = &mut self.recording {
            (recording.record.plan.scale, recording.record.plan.seed) = (Some(scale), seed);
        }
    }

    /// Carries out an operation that is recorded when it is over.
    ///
    /// # Errors
    /// The error of the operation.
    pub fn run<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&Events) -> Result<Operated<T>, Problem>,
    ) -> Result<T, Problem> {
        let Some(recording) = &mut self.recording else {
            return work(&self.events).map(|(value, ..)| value);
        };
        let start_s = recording.begin_stage(name);
        let done = work(&self.events).map(|(value, found, passed)| {
            let duration_s = Some(recording.seconds() - start_s);
            let name = name.to_owned();
            let record = OperationRecord { name, subject: None, start_s, duration_s, passed, found };
            recording.record.operations.push(record);
            value
        });
        // What cannot be written now is written at the end, which reports the error.
        let _ = recording.end_stage(name, start_s, done.is_ok());
        done
    }

    /// Ends the run directory; `None` if there is none.
    ///
    /// # Errors
    /// The directory cannot be removed, if there is nothing to keep.
    pub fn end(self, result: Result<(), Problem>) -> Result<Option<Outcome>, Problem> {
        self.recording.map(|recording| recording.end(result)).transpose()
    }
}
