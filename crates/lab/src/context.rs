//! What all stages of an experiment share.

use pgdyno_core::stop::Stop;

use crate::{Events, Job, Prepared};

/// What all stages of an experiment share.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The request.
    pub job: &'a Job,
    /// Decisions made before the first stage.
    pub prepared: &'a Prepared,
    /// A request to stop.
    pub stop: &'a Stop,
    /// Where events are sent.
    pub events: &'a Events,
}
