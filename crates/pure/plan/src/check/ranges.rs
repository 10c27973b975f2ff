//! Checks whole numbers against the ranges of their keys.

use serde_json::Value;

use crate::{
    Plan,
    fault::{Fault, fault, shown},
    schema_keys::{Holds, Key, PLAN, Table},
};

/// Appends the whole numbers that are out of range.
pub(super) fn ranges(plan: &Plan, faults: &mut Vec<Fault>) {
    let plan = serde_json::to_value(plan).unwrap_or_default();
    table("", &PLAN, &plan, faults);
}

fn table(path: &str, table: &Table, given: &Value, faults: &mut Vec<Fault>) {
    let dot = if path.is_empty() { "" } else { "." };
    for key in &table.keys {
        value(&format!("{path}{dot}{}", key.name()), key, &given[key.name()], faults);
    }
}

fn value(path: &str, key: &Key, given: &Value, faults: &mut Vec<Fault>) {
    match (&key.holds, given) {
        (Holds::Table(below) | Holds::List(below), Value::Object(_)) => table(path, below, given, faults),
        (Holds::Any(each), Value::Object(all)) => {
            all.iter().for_each(|(name, given)| value(&format!("{path}.{name}"), each, given, faults));
        }
        (_, Value::Array(list)) => {
            let items = list.iter().enumerate();
            items.for_each(|(at, item)| value(&format!("{path}[{at}]"), key, item, faults));
        }
        (_, Value::Number(number)) => {
            let beyond = |number: &u64| key.range.as_ref().is_some_and(|range| !range.contains(number));
            faults.extend(number.as_u64().filter(beyond).map(|number| out_of_range(path, key, number)));
        }
        _ => {}
    }
}

fn out_of_range(path: &str, key: &Key, number: u64) -> Fault {
    let (least, most) = key.range.as_ref().map_or((0, 0), |range| (*range.start(), *range.end()));
    let without_position = |part| str::split_once(part, ']').map_or(part, |(_, rest)| rest);
    let name: String = path.split('[').map(without_position).collect();
    fault(path, format!("`{}`: {number} is not between {least} and {most}", shown(&name)), key.hint())
}
