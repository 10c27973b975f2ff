//! Factors: keys of a plan with several levels, and the plan of their combinations.
//!
//! ```text
//! [[factor]] key, levels → a subject for every combination of levels of servers, and a workload for every combination
//! of levels of sessions
//! ```
//! What a level changes decides where it goes. A server, its host and its tables take long to make, so that each
//! combination has servers of its own, next to each other; what a session can change is another workload.

use std::collections::BTreeMap;

use pgdyno_core::problem::Problem;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    FactorPlan, Plan, ServerPlan, WorkloadPlan,
    factor::{MAX_FACTORS, MAX_LEVELS},
    fault::{Fault, fault, shown},
    schema_keys,
};

/// Longest name of a factor or of one of its levels, in characters.
const MAX_NAME: usize = 40;
/// Most combinations that are made before they are checked.
const MAX_COMBINATIONS: usize = 10_000;

/// What has the key of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Every subject: the server, its host and its tables.
    Subject,
    /// Every workload: what a session can change.
    Workload,
}

/// Where the levels of a factor go.
#[derive(Debug)]
struct Target<'a> {
    owner: Owner,
    /// Keys of the owner, from the outermost; none for the owner itself.
    path: Vec<&'a str>,
}

impl FactorPlan {
    /// Where its levels go; `None` for a key that is the same for all runs.
    fn target(&self) -> Option<Target<'_>> {
        let (root, rest) = self.key.split_once('.').unwrap_or((&self.key, ""));
        let names = || rest.splitn(2, '.').filter(|name| !name.is_empty());
        let (owner, path): (_, Vec<&str>) = match root {
            "server" => (Owner::Subject, names().collect()),
            "host" | "load" => (Owner::Subject, [root].into_iter().chain(names()).collect()),
            "workload" if !rest.is_empty() => (Owner::Workload, rest.split('.').collect()),
            "variables" if !rest.is_empty() => (Owner::Workload, vec!["define", rest]),
            _ => return None,
        };
        let is_axis = path.first().is_some_and(|key| matches!(*key, "name" | "clients"));
        (!is_axis).then_some(Target { owner, path })
    }

    /// Name of a subject at a level: the level's own, or that of the factor with the value.
    fn subject_name(&self, level: &Value) -> String {
        match level.get("name") {
            Some(_) => level_name(level),
            None => format!("{}={}", self.title(), level_name(level)),
        }
    }

    /// Names of its levels, in their order.
    fn names(&self) -> Vec<String> {
        self.levels.iter().map(level_name).collect()
    }
}

/// The name of a level: that of a table, or its value.
fn level_name(level: &Value) -> String {
    match level {
        Value::String(text) => text.clone(),
        Value::Object(keys) => match keys.get("name") {
            Some(Value::String(name)) => name.clone(),
            _ => keys
                .iter()
                .map(|(key, value)| format!("{key}={}", level_name(value)))
                .collect::<Vec<_>>()
                .join(" "),
        },
        other => other.to_string(),
    }
}

/// A level without its name, which is no key.
fn unnamed(level: &Value) -> Value {
    match level {
        Value::Object(keys) => Value::Object(
            keys.iter()
                .filter(|(key, _)| *key != "name")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Writes a level into a table at a path. A table of the level keeps what is there and is not in it.
fn write(table: &mut Value, path: &[&str], level: &Value) {
    let [first, rest @ ..] = path else { return merge(table, level) };
    if !table.is_object() {
        *table = Value::Object(Map::new());
    }
    write(&mut table[*first], rest, level);
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// One subject or workload at a level. The error says what the level has to be.
fn at_level<T: Serialize + DeserializeOwned>(
    one: &T,
    factor: &FactorPlan,
    level: &Value,
) -> Result<T, String> {
    let target = factor.target().ok_or_else(|| "it cannot be a factor".to_owned())?;
    let mut value = serde_json::to_value(one).map_err(|error| error.to_string())?;
    write(&mut value, &target.path, &unnamed(level));
    serde_json::from_value(value).map_err(|error| {
        let expects =
            schema_keys::at(&factor.key).filter(|_| !level.is_object()).map(schema_keys::Key::expects);
        match expects {
            Some(expects) => format!("`{}` must be {expects}, not {}", factor.key, shown(&level.to_string())),
            None => error.to_string().split(", expected").next().unwrap_or_default().to_owned(),
        }
    })
}

impl Plan {
    /// The plan with a subject and a workload for every combination of the levels of its factors; without factors, the
    /// plan itself.
    ///
    /// # Errors
    /// A level that the key of its factor cannot have.
    pub fn expanded(mut self) -> Result<Self, Problem> {
        let factors = std::mem::take(&mut self.factor);
        for factor in &factors {
            self = self.crossed(factor).map_err(Problem::wrong_request)?;
        }
        Ok(self)
    }

    /// The plan with every subject, or every workload, at each level of a factor.
    fn crossed(mut self, factor: &FactorPlan) -> Result<Self, String> {
        match factor.target().map(|target| target.owner) {
            Some(Owner::Subject) => {
                let subjects = std::mem::take(&mut self.subject);
                let subjects = if subjects.is_empty() { vec![ServerPlan::default()] } else { subjects };
                self.subject = crossed(&subjects, factor, |subject, level| {
                    let host = subject.host.over(&self.host);
                    let subject = at_level(&ServerPlan { host, ..subject.clone() }, factor, level)?;
                    let level = factor.subject_name(level);
                    let name =
                        subject.name.map_or_else(|| level.clone(), |before| format!("{before}, {level}"));
                    Ok(ServerPlan { name: Some(name), ..subject })
                })?;
            }
            Some(Owner::Workload) => {
                let workloads = std::mem::take(&mut self.workload);
                let places: Vec<_> = workloads.iter().enumerate().collect();
                self.workload = crossed(&places, factor, |(place, workload), level| {
                    let at = at_level(*workload, factor, level)?;
                    // A built-in script keeps its name, by which its data is checked.
                    let name = at.as_builtin().is_none();
                    let name = name.then(|| format!("{}-{}", workload.title(), word_of(&level_name(level))));
                    Ok(WorkloadPlan { name, of: workload.of.or(Some(*place)), ..at })
                })?;
            }
            None => return Err(format!("`{}` cannot be a factor", factor.key)),
        }
        Ok(self)
    }

    /// This plan at one level of one factor alone.
    fn at_one_level(&self, factor: &FactorPlan, level: &Value) -> Result<Self, String> {
        let alone = Self { factor: Vec::new(), size: BTreeMap::new(), ..self.clone() };
        alone.crossed(&FactorPlan { levels: vec![level.clone()], ..factor.clone() })
    }
}

/// Every item at every level, all levels of the first item first.
fn crossed<I, T>(
    items: &[I],
    factor: &FactorPlan,
    at: impl Fn(&I, &Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    items
        .iter()
        .flat_map(|item| factor.levels.iter().map(move |level| (item, level)))
        .map(|(item, level)| at(item, level))
        .collect()
}

/// A text as a part of a workload's name, which file names and tables have, too.
fn word_of(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' }).collect()
}

/// Appends the faults of the factors, of the levels of each alone, and of their combinations.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    of_factors(plan, faults);
    if !faults.is_empty() || plan.factor.is_empty() {
        return;
    }
    combined(plan, "factor", faults);
    for (name, size) in plan.size.iter().filter(|(_, size)| !size.levels.is_empty()) {
        let mut sized = plan.clone();
        let unknown =
            size.levels.keys().find(|key| !plan.factor.iter().any(|factor| factor.title() == **key));
        let path = format!("size.{name}.levels");
        if let Some(unknown) = unknown {
            let what = format!("there is no factor `{}`", shown(unknown));
            faults.push(fault(format!("{path}.{unknown}"), what, "name a [[factor]] of the plan"));
            continue;
        }
        size.apply(&mut sized);
        let mut wrong = Vec::new();
        of_factors(&sized, &mut wrong);
        if wrong.is_empty() {
            combined(&sized, &path, &mut wrong);
        }
        faults.extend(wrong.into_iter().map(|fault| Fault { path: path.clone(), ..fault }));
    }
}

/// Faults of each factor by itself.
fn of_factors(plan: &Plan, faults: &mut Vec<Fault>) {
    if plan.factor.len() > MAX_FACTORS {
        let what = format!("{} factors are more than {MAX_FACTORS}", plan.factor.len());
        faults.push(fault("factor", what, "split the plan"));
    }
    for (at, factor) in plan.factor.iter().enumerate() {
        let path = format!("factor[{at}]");
        faults.extend(of_name(&path, factor, &plan.factor[..at]));
        if let Some(wrong) = of_key(&path, factor) {
            faults.push(wrong);
            continue;
        }
        faults.extend(of_levels(plan, &format!("{path}.levels"), factor));
    }
}

fn of_name(path: &str, factor: &FactorPlan, before: &[FactorPlan]) -> Option<Fault> {
    let title = factor.title();
    if title.trim().is_empty() || title.chars().count() > MAX_NAME || title.chars().any(char::is_control) {
        let what = format!("`{}` cannot name a factor", shown(title));
        return Some(fault(
            format!("{path}.name"),
            what,
            format!("use one line of 1 to {MAX_NAME} characters"),
        ));
    }
    let same = before.iter().find(|other| other.title() == title)?;
    let hint = match same.key == factor.key {
        true => "write all levels of a key into one [[factor]]",
        false => "give each a `name` of its own",
    };
    Some(fault(path, format!("two factors are called `{}`", shown(title)), hint))
}

/// Fault of a key that is none, or that is the same for all runs.
fn of_key(path: &str, factor: &FactorPlan) -> Option<Fault> {
    let path = format!("{path}.key");
    let key = shown(&factor.key);
    if factor.target().is_none() {
        let what = format!("`{key}` cannot be a factor");
        let hint = match factor.key.ends_with("clients") {
            true => {
                "client counts are levels already: write clients = [1, 8, 32] into [measure] or a [[workload]]"
            }
            false => "levels are possible for keys of server, host, load, workload and variables",
        };
        return Some(fault(path, what, hint));
    }
    // Names that may have dots themselves.
    let is_free = ["variables.", "server.settings.", "host.set.", "load.table_options."];
    if is_free.iter().any(|root| factor.key.starts_with(root)) || schema_keys::at(&factor.key).is_some() {
        return None;
    }
    let hint = "write a key as in the plan, such as \"server.settings.work_mem\"";
    Some(fault(path, format!("there is no key `{key}`"), hint))
}

/// The first fault of the levels of a factor, each without the other factors.
fn of_levels(plan: &Plan, path: &str, factor: &FactorPlan) -> Option<Fault> {
    let count = factor.levels.len();
    if count == 0 || count > MAX_LEVELS {
        let what = format!("a factor has 1 to {MAX_LEVELS} levels, not {count}");
        return Some(fault(path, what, "two or more levels are compared"));
    }
    let names = factor.names();
    if let Some(twice) = (1..count).find(|at| names[..*at].contains(&names[*at])) {
        let what = format!("two levels are called `{}`", shown(&names[twice]));
        return Some(fault(path, what, "leave one out, or give tables a `name`"));
    }
    if let Some(long) = names.iter().find(|name| name.is_empty() || name.chars().count() > MAX_NAME) {
        let what = format!("`{}` cannot name a level", shown(long));
        return Some(fault(path, what, format!("a table may have a `name` of 1 to {MAX_NAME} characters")));
    }
    factor.levels.iter().zip(&names).find_map(|(level, name)| {
        let wrong = match plan.at_one_level(factor, level) {
            Ok(plan) => plan.faults().into_iter().next().map(|fault| (fault.what, fault.hint)),
            Err(what) => Some((what, format!("levels are values of `{}`", shown(&factor.key)))),
        };
        wrong.map(|(what, hint)| fault(path, format!("level `{}`: {what}", shown(name)), hint))
    })
}

/// Faults of all combinations, whose levels are right by themselves.
fn combined(plan: &Plan, path: &str, faults: &mut Vec<Fault>) {
    let combinations =
        plan.factor.iter().map(|factor| factor.levels.len()).fold(1_usize, usize::saturating_mul);
    if combinations > MAX_COMBINATIONS {
        let what =
            format!("the factors have {combinations} combinations: at most {MAX_COMBINATIONS} are possible");
        faults.push(fault(path, what, "leave out levels"));
        return;
    }
    let whole = Plan { size: BTreeMap::new(), ..plan.clone() };
    match whole.expanded() {
        Ok(plan) => {
            faults.extend(plan.faults().into_iter().map(|fault| Fault { path: path.to_owned(), ..fault }))
        }
        Err(problem) => faults.push(fault(path, problem.what, "correct the levels")),
    }
}
