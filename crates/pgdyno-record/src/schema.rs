//! JSON Schemas of the files in a run directory, and of what is computed from several.

use pgdyno_core::{
    measure::{Interval, Observation, SlowInterval},
    results::History,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{EventLine, RunRecord};

/// The published schemas as (file name, schema), in JSON Schema draft 2020-12: one of `run.json`, one of a line of
/// each `*.ndjson` stream, and one of the history of a plan.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("run.schema.json", schema_of::<RunRecord>()),
        ("timeline-line.schema.json", schema_of::<Interval>()),
        ("observation-line.schema.json", schema_of::<Observation>()),
        ("slowest-line.schema.json", schema_of::<SlowInterval>()),
        ("event-line.schema.json", schema_of::<EventLine>()),
        ("history.schema.json", schema_of::<History>()),
    ]
}

fn schema_of<T: JsonSchema>() -> Value {
    // For serialisation, not deserialisation: fields that are always written are required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
