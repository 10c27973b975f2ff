//! Samples the processes of the servers while a cell or a stage is under way.

use pgdyno_core::profile::Profiling;
use pgdyno_observe::ServerId;
use pgdyno_profile::{Recorded, Recorder, Target, Wanted};

use crate::{Events, profiles::Of, recording::Recording};

/// Samples that are being taken; nothing where none are wanted, and the reason where none can be.
#[derive(Debug, Default)]
pub(crate) struct Sampling(Option<Result<Recorder, String>>);

impl Sampling {
    /// Begins to sample, or ends one time and begins the next.
    pub(crate) fn start(&mut self) {
        if let Some(Ok(recorder)) = &mut self.0 {
            recorder.start();
        }
    }

    /// Stops sampling, without waiting for anything.
    pub(crate) fn stop(&mut self) {
        if let Some(Ok(recorder)) = &mut self.0 {
            recorder.stop();
        }
    }

    /// Reads the samples of every time that was begun; `None` if none were wanted.
    pub(crate) fn finish(self, events: &Events) -> Option<Result<Vec<Recorded>, String>> {
        let recorder = self.0?;
        events.doing("reading the profile");
        Some(recorder.and_then(Recorder::finish))
    }
}

impl Recording {
    /// Prepares to sample the processes of a server, or of the only one, for so long if that is known.
    pub(crate) fn sampling(&self, server: Option<ServerId>, seconds: Option<f64>) -> Sampling {
        let stacks = self.profiles.wanted;
        if stacks == Profiling::None {
            return Sampling::default();
        }
        let server = self.observers.server(server);
        let target = server.and_then(|of| Some(Target { postmaster: of.postmaster?, left_out: of.own }));
        Sampling(Some(match target {
            Some(target) => Recorder::begin(target, Wanted { stacks, seconds }, self.dir.place()),
            None => Err("the server is not on this machine, or its processes are not visible".to_owned()),
        }))
    }

    /// Adds what was sampled to the profile of a stage.
    pub(crate) fn end_sampling(&mut self, sampling: Sampling, stage: String) {
        let (of, sampled) = (Of::Stage(stage), sampling.finish(&self.events));
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
