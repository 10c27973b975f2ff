//! Samples the processes of the servers during a cell or a stage.

use std::path::Path;

use pgdyno_core::profile::Profiling;
use pgdyno_observe::profile::{Recorded, Recorder, Target, Wanted};
use pgdyno_observe::{Observers, ServerId};

use crate::{Events, profiles::Of, recording::Recording};

/// Samples that are being taken; nothing where none are wanted, and the reason where none can be.
#[derive(Debug, Default)]
pub struct Sampling(Option<Result<Recorder, String>>);

impl Sampling {
    /// Prepares to sample the processes of a server that observers see, or of the only one, for so many seconds if that
    /// is known. Raw samples are in this directory.
    pub fn prepare(
        (observers, server): (&Observers, Option<ServerId>),
        stacks: Profiling,
        seconds: Option<f64>,
        directory: &Path,
    ) -> Self {
        if stacks == Profiling::None {
            return Self::default();
        }
        let (server, wanted) = (observers.server(server), Wanted { stacks, seconds });
        let target = server.and_then(|of| Some(Target { postmaster: of.postmaster?, left_out: of.own }));
        Self(Some(match target {
            Some(target) => Recorder::begin(target, wanted, directory),
            None => Err("the server is not on this machine, or its processes are not visible".to_owned()),
        }))
    }

    /// Begins to sample, or ends one time and begins the next.
    pub fn start(&mut self) {
        if let Some(Ok(recorder)) = &mut self.0 {
            recorder.start();
        }
    }

    /// Stops sampling, without waiting for anything.
    pub fn stop(&mut self) {
        if let Some(Ok(recorder)) = &mut self.0 {
            recorder.stop();
        }
    }

    /// Reads the samples of every time that was begun, which may take seconds; `None` if none were wanted.
    pub fn finish(self) -> Option<Result<Vec<Recorded>, String>> {
        Some(self.0?.and_then(Recorder::finish))
    }

    /// Says so, and reads the samples.
    pub(crate) fn finish_telling(self, events: &Events) -> Option<Result<Vec<Recorded>, String>> {
        if self.0.is_some() {
            events.doing("reading the profile");
        }
        self.finish()
    }
}

impl Recording {
    /// Prepares to sample the processes of a server, or of the only one, for so long if that is known.
    pub(crate) fn sampling(&self, server: Option<ServerId>, seconds: Option<f64>) -> Sampling {
        Sampling::prepare((&self.observers, server), self.profiles.wanted, seconds, self.dir.place())
    }

    /// Adds what was sampled to the profile of a stage.
    pub(crate) fn end_sampling(&mut self, sampling: Sampling, stage: String) {
        let (of, sampled) = (Of::Stage(stage), sampling.finish_telling(&self.events));
        match sampled {
            Some(Ok(all)) => all.into_iter().for_each(|sampled| self.add_profile(&of, Ok(sampled))),
            Some(Err(why)) => self.add_profile(&of, Err(why)),
            None => {}
        }
    }

    /// Adds a recording to the profile of its cell or stage. What could not be sampled or written is a warning.
    pub(crate) fn add_profile(&mut self, of: &Of, found: Result<Recorded, String>) {
        let place = (&mut self.record.profiles, &self.dir);
        match self.profiles.add(place, of, found) {
            Ok(None) => {}
            Ok(Some(why)) => self.events.warning(&format!("the profile is missing, or not complete: {why}")),
            Err(problem) => self.events.problem(&problem),
        }
    }
}
