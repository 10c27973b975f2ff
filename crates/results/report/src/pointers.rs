//! Tests that every pointer of a report exists in the schema of `run.json`; a misspelt one would always show a dash.

use std::collections::BTreeSet;

use crate::{report::report, run::Details, source::asked};
use pgdyno_record::RunRecord;
use serde_json::{Map, Value};
use testkit::fixtures;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../schemas/run.schema.json")).expect("the schema is JSON")
}

/// Resolves references of a schema.
fn target<'a>(root: &'a Value, of: &Value) -> Option<&'a Value> {
    root.pointer(of["$ref"].as_str()?.trim_start_matches('#'))
}

fn alternatives(of: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| of[key].as_array()).flatten()
}

/// Whether the schema allows the steps of a pointer.
fn leads(root: &Value, of: &Value, steps: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    let next = match step.parse::<usize>() {
        Ok(at) => of["prefixItems"].get(at).or_else(|| of.get("items")),
        Err(_) => of["properties"].get(step),
    };
    target(root, of).is_some_and(|of| leads(root, of, steps))
        || alternatives(of).any(|of| leads(root, of, steps))
        || next.is_some_and(|of| leads(root, of, rest))
}

fn is_in(schema: &Value, pointer: &str) -> bool {
    let steps: Vec<_> = pointer.split('/').skip(1).collect();
    leads(schema, schema, &steps)
}

/// Depth limit, because the schema of storage is recursive.
const DEEPEST: usize = 8;

/// Generates values with every field, two elements in every list, and the alternative with this index.
struct Examples<'a> {
    root: &'a Value,
    choice: usize,
}

impl Examples<'_> {
    fn of(&self, of: &Value, depth: usize) -> Value {
        if let Some(referred) = target(self.root, of) {
            let mut example = self.of(referred, depth + 1);
            // The tag of a variant is next to the reference to its fields.
            if let Value::Object(fields) = &mut example {
                fields.extend(self.fields(of, depth));
            }
            return example;
        }
        let known: Vec<_> = alternatives(of).filter(|of| of["type"] != "null").collect();
        let may_be_absent = known.len() < alternatives(of).count();
        if may_be_absent && depth > DEEPEST {
            return Value::Null;
        }
        let mut example = match known.len() {
            0 => return of.get("const").cloned().unwrap_or_else(|| self.of_type(of, depth)),
            count => self.of(known[self.choice % count], depth),
        };
        // A flattened enum: its variants are next to the other fields of the struct.
        if let Value::Object(fields) = &mut example {
            fields.extend(self.fields(of, depth));
        }
        example
    }

    /// The properties of this schema itself.
    fn fields(&self, of: &Value, depth: usize) -> Map<String, Value> {
        let properties = of["properties"].as_object().into_iter().flatten();
        properties.map(|(name, of)| (name.clone(), self.of(of, depth))).collect()
    }

    fn of_type(&self, of: &Value, depth: usize) -> Value {
        let kind = of["type"].as_array().map_or(&of["type"], |kinds| &kinds[0]);
        match kind.as_str().unwrap_or_default() {
            "object" => Value::Object(self.fields(of, depth)),
            "array" => match of["prefixItems"].as_array() {
                Some(items) => items.iter().map(|of| self.of(of, depth)).collect(),
                None => {
                    let count = of["minItems"].as_u64().unwrap_or(2);
                    (0..count).map(|_| self.of(&of["items"], depth)).collect()
                }
            },
            "integer" => Value::from(1),
            "number" => Value::from(1.5),
            "boolean" => Value::from(self.choice.is_multiple_of(2)),
            _ => Value::from("text"),
        }
    }
}

/// A record of two subjects with all fields.
fn whole(schema: &Value, choice: usize) -> RunRecord {
    let value = Examples { root: schema, choice }.of(schema, 0);
    let mut record: RunRecord = serde_json::from_value(value).expect("what the schema allows is a record");
    let names = ["a", "b"].map(str::to_owned);
    for (at, name) in names.iter().enumerate() {
        record.subjects[at].name.clone_from(name);
        record.cells[at].workload.subject = Some(name.clone());
        record.runs[at].workload.subject = Some(name.clone());
    }
    record.levels.iter_mut().flat_map(|levels| &mut levels.list).for_each(|of| of.subject = "b".into());
    record
}

/// Records of each kind of run.
fn kinds(record: RunRecord) -> [RunRecord; 3] {
    let several = RunRecord { comparison: None, ..record.clone() };
    let mut one = RunRecord { levels: None, ..several.clone() };
    one.subjects.truncate(1);
    [record, several, one]
}

#[test]
fn every_pointer_is_one_that_a_record_can_have() {
    let schema = schema();
    let fixtures = [
        fixtures::complete(),
        fixtures::failed(),
        fixtures::zero_cells(),
        fixtures::absent_values(),
        fixtures::pgbench(),
        fixtures::tpcc(),
        fixtures::tpcc_sets(),
        fixtures::several(),
        fixtures::cannot_tell(),
        fixtures::commands(),
        fixtures::operations(),
    ];
    let whole = (0..8).flat_map(|choice| kinds(whole(&schema, choice)));
    for record in fixtures.map(|fixture| fixture.record).into_iter().chain(whole) {
        report(None, &record, &[], Details::default());
    }
    let asked = asked::take();
    assert!(asked.len() > 500, "only {} pointers", asked.len());
    let unknown: BTreeSet<_> = asked.iter().filter(|pointer| !is_in(&schema, pointer)).collect();
    assert_eq!(unknown, BTreeSet::new());
}

/// The test above must detect a misspelt pointer.
#[test]
fn a_misspelt_pointer_is_seen() {
    let schema = schema();
    assert!(is_in(&schema, "/cells/3/tps/value") && is_in(&schema, "/cells/0/distribution/4"));
    for misspelt in ["/cell/3/tps/value", "/cells/3/tps/valeu", "/cells/tps", "/subjects/0/server/versions"] {
        assert!(!is_in(&schema, misspelt), "{misspelt}");
    }
}
