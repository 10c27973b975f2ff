//! Operations as recorded runs: loads, copies, checks and probes of the tables of a server, and measurements of storage
//! and clocks. They drive nothing, so they need no plan; they share the run directory, the stages and the events of an
//! experiment.

mod ahead;
pub mod disk;
mod first;
mod job;
mod load;
mod stage;

use pgdyno_core::{
    disk::{DeclaredStorage, PublishedFigure},
    problem::Problem,
    stop::Stop,
};
use pgdyno_record::{Found, OperationRecord};

pub use ahead::CopiesAhead;
pub use job::{On, OperationJob, Seen};
pub use load::{LoadTask, kept, load, send};
pub use stage::{Tables, carry_out, prewarm, prewarm_again};

use crate::{Bound, Event, Events, Lab, Outcome, recording::Recording};

/// The operations of a command, recorded if that is wanted.
#[derive(Debug)]
pub struct Operations {
    recording: Option<Recording>,
    events: Events,
}

/// An operation that is running.
#[derive(Debug)]
pub struct UnderWay<'a> {
    /// `None` if the operation leaves no run directory, or that is visible.
    recording: Option<&'a mut Recording>,
    events: &'a Events,
}

impl<'a> UnderWay<'a> {
    /// The request turned out to be right: its run directory becomes visible, so that others can see how far it is.
    /// Returns the sinks for that.
    pub fn begun(&mut self) -> &'a Events {
        if let Some(recording) = self.recording.take() {
            recording.show();
            // What cannot be written now is written at the end, which reports the error.
            let _ = recording.save();
        }
        self.events
    }
}

/// What an operation returns to its caller, what it found, and whether what it checks holds.
pub type Operated<T> = (T, Found, Option<bool>);

impl Operations {
    /// Begins the run directory of a command, and observes the server as requested.
    ///
    /// # Errors
    /// The server cannot be reached, or the run directory cannot be written.
    pub fn recorded(
        job: &OperationJob<'_>,
        (lab, seen): (&Lab, Seen),
        stop: &Stop,
        events: Events,
    ) -> Result<Self, Problem> {
        let recording = Some(first::begin(job, (lab, seen), stop, &events)?);
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

    /// Adds published figures that the report shows next to those of the run.
    pub fn add_published(&mut self, published: Vec<PublishedFigure>) {
        if let Some(recording) = &mut self.recording {
            recording.record.published = published;
        }
    }

    /// Adds what is declared of the storage, which the report shows next to what is measured.
    pub fn declare(&mut self, declared: Vec<DeclaredStorage>) {
        if let Some(recording) = &mut self.recording {
            recording.record.declared = declared;
        }
    }

    /// Executes an operation that is recorded when it is over.
    ///
    /// # Errors
    /// The error of the operation.
    pub fn run<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut UnderWay<'_>) -> Result<Operated<T>, Problem>,
    ) -> Result<T, Problem> {
        // What an operation counts is all of it, unless it says more.
        self.events.send(&Event::Ahead { now_s: None, is_counted: true, later_s: 0.0, bound: Bound::About });
        let Some(recording) = &mut self.recording else {
            let mut unrecorded = UnderWay { recording: None, events: &self.events };
            return work(&mut unrecorded).map(|(value, ..)| value);
        };
        let mut sampling = recording.sampling(None, None);
        let start_s = recording.begin_stage(name);
        sampling.start();
        let mut under_way = UnderWay { recording: Some(&mut *recording), events: &self.events };
        let done = work(&mut under_way).map(|(value, found, passed)| {
            let duration_s = Some(recording.seconds() - start_s);
            let name = name.to_owned();
            let record = OperationRecord { name, subject: None, start_s, duration_s, passed, found };
            recording.record.operations.push(record);
            value
        });
        sampling.stop();
        // What cannot be written now is written at the end, which reports the error.
        let _ = recording.end_stage(name, start_s, done.is_ok());
        if done.is_ok() {
            recording.end_sampling(sampling, name.to_owned());
        }
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
