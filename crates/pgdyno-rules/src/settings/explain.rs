//! Judges a configuration value by value.

use std::collections::BTreeMap;

use pgdyno_core::{facts::major_of, problem::Problem};

use super::{
    all::rule,
    catalogue::{Kind, bounds, entry, is_known},
    conf,
    inputs::Inputs,
    rule::Given,
    value,
};
use crate::{Finding, Standing};

/// Judges the settings of a configuration, by name in lower case, worst first.
pub fn explain(present: &BTreeMap<String, String>, inputs: &Inputs<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        present.iter().map(|(name, value)| judge(name, value, present, inputs)).collect();
    findings.sort_by_key(|finding| finding.standing);
    findings
}

/// Judges the text of a `postgresql.conf`; `file` names it in errors. Of a name that is set twice the last value
/// counts, and its finding says so.
///
/// # Errors
/// A wrong request for a line that the server would not accept, or that includes another file.
pub fn explain_text(file: &str, text: &str, inputs: &Inputs<'_>) -> Result<Vec<Finding>, Problem> {
    let read = conf::read(file, text)?;
    let mut findings = explain(&read.settings, inputs);
    for finding in &mut findings {
        if let Some(times) = read.repeated.get(&finding.name) {
            finding.reason.push_str(&format!(" (set {times} times: the last one counts)"));
        }
    }
    Ok(findings)
}

/// What is found of one value.
fn judge(name: &str, value: &str, conf: &BTreeMap<String, String>, inputs: &Inputs<'_>) -> Finding {
    let plain = |standing, reason: String| Finding {
        name: name.to_owned(),
        object: String::new(),
        standing,
        present: Some(value.to_owned()),
        recommended: None,
        reason,
        change: None,
    };
    let Some(here) = entry(name, inputs.version_num) else {
        let (standing, reason) = absent(name, inputs.version_num);
        return plain(standing, reason);
    };
    if let Some(refusal) = value::refusal(here, value, inputs.wal_segment_bytes) {
        return plain(Standing::Improve, format!("the server does not start with it: {refusal}"));
    }
    let Some(rule) = rule(name) else {
        return match value::is_same(name, inputs.version_num, value, here.default, inputs.wal_segment_bytes) {
            true => plain(Standing::Fine, "it is the default".to_owned()),
            false => plain(Standing::Unknown, unjudged(here.default, here.kind)),
        };
    };
    let given = Given { rule, value, conf, inputs };
    with_recommendation(&given, (rule.judge)(&given))
}

/// A value that is what a rule chooses is shown as recommended, too.
fn with_recommendation(given: &Given<'_>, finding: Finding) -> Finding {
    let chosen = given.rule.choose(given.inputs).map(|choice| choice.value).filter(|value| given.is(value));
    Finding { recommended: finding.recommended.or(chosen), ..finding }
}

fn unjudged(default: &str, kind: Kind) -> String {
    let default = if default.is_empty() { "empty" } else { default };
    match kind {
        Kind::Text => format!(
            "pgdyno has no rule for it; the default is {default}, unless initdb wrote \
         another"
        ),
        _ => format!("pgdyno has no rule for it; the default is {default}"),
    }
}

/// What is to be said of a name that a version does not have.
fn absent(name: &str, version_num: u32) -> (Standing, String) {
    let major = major_of(version_num);
    let refused = "the server does not start with it";
    match bounds(name) {
        Some((_, until)) if version_num >= until => {
            let why = rule(name).map_or("", |rule| rule.page.why);
            (
                Standing::Obsolete,
                format!("PostgreSQL {} removed it, and {refused}. {why}", major_of(until)).trim().into(),
            )
        }
        Some((since, _)) => (
            Standing::Improve,
            format!(
                "PostgreSQL {} brought it; {major} does not have it, and \
             {refused}",
                major_of(since)
            ),
        ),
        None if name.contains('.') => (Standing::Unknown, "it belongs to an extension".to_owned()),
        None if name.eq_ignore_ascii_case("checkpoint_segments") => {
            (Standing::Obsolete, format!("PostgreSQL 9.5 removed it for max_wal_size, and {refused}"))
        }
        None => {
            debug_assert!(!is_known(name));
            (
                Standing::Unknown,
                format!(
                    "PostgreSQL 9.5 to 18 have no setting of this name, and \
             {refused}"
                ),
            )
        }
    }
}
