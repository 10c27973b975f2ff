//! JSON Schemas of what a run directory holds.

use pgdyno_core::measure::{Interval, Observation, SlowInterval};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{EventLine, RunRecord};

/// The published schemas as (file name, schema): `run.json`, and a line of `timeline.ndjson`, of
/// `observations.ndjson`, of `slowest.ndjson` and of `events.ndjson`. JSON Schema draft 2020-12.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("run.schema.json", of::<RunRecord>()),
        ("timeline-line.schema.json", of::<Interval>()),
        ("observation-line.schema.json", of::<Observation>()),
        ("slowest-line.schema.json", of::<SlowInterval>()),
        ("event-line.schema.json", of::<EventLine>()),
    ]
}

fn of<T: JsonSchema>() -> Value {
    // As serialised, not as accepted: a field that is always written is required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
