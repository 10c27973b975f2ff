//! JSON Schemas of the files in a run directory, and of what is computed from several. The fields of `run.json` are
//! those of [`RunRecord`].

use pgdyno_core::{
    measure::{Interval, SlowInterval},
    observe::Observed,
    results::{History, Tails},
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{EventLine, ObserverHeader, RunRecord};

/// The published schemas as (file name, schema), in JSON Schema draft 2020-12: one of `run.json`, one of a line of
/// each `*.ndjson` stream, one of the history of a plan, one of what the slowest transactions of a run waited for, and
/// one of the first line of a file of `pgdyno observe`.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("run.schema.json", schema_of::<RunRecord>()),
        ("timeline-line.schema.json", schema_of::<Interval>()),
        ("observation-line.schema.json", schema_of::<Observed>()),
        ("slowest-line.schema.json", schema_of::<SlowInterval>()),
        ("event-line.schema.json", schema_of::<EventLine>()),
        ("history.schema.json", schema_of::<History>()),
        ("why.schema.json", schema_of::<Tails>()),
        ("observer-header.schema.json", schema_of::<ObserverHeader>()),
    ]
}

fn schema_of<T: JsonSchema>() -> Value {
    // For serialisation, not deserialisation: fields that are always written are required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
