//! Judges a configuration value by value.

use std::collections::BTreeMap;

use pgdyno_core::{facts::major_of, problem::Problem};

use super::{
    all::rule,
    catalogue::{Kind, NEWEST_MAJOR, alias, bounds, entry, is_known},
    conf::{self, File, Unread, Unreadable},
    inputs::Inputs,
    rule::Given,
    value::{self, switch},
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
    Ok(explain_file(&conf::read(file, text)?, inputs))
}

/// Judges a configuration that was read: its settings, and the files that could not be read.
pub fn explain_file(file: &File, inputs: &Inputs<'_>) -> Vec<Finding> {
    let mut findings = explain(&file.settings, inputs);
    for finding in &mut findings {
        if let Some(times) = file.repeated.get(&finding.name) {
            finding.reason.push_str(&format!(" (set {times} times: the last one counts)"));
        }
    }
    findings.extend(file.unread.iter().map(unread));
    findings.sort_by_key(|finding| finding.standing);
    findings
}

/// What is to be said of an included file that could not be read.
fn unread(of: &Unread) -> Finding {
    let (standing, reason) = match &of.why {
        Unreadable::Missing => {
            (Standing::Refused, "the server does not start: there is no such file or directory".to_owned())
        }
        Unreadable::Other(why) => {
            (Standing::Unknown, format!("it could not be read, so what it sets is missing here: {why}"))
        }
    };
    plain(&of.directive, &of.name, standing, reason)
}

/// A finding without a recommended value.
fn plain(name: &str, value: &str, standing: Standing, reason: String) -> Finding {
    Finding {
        name: name.to_owned(),
        object: String::new(),
        standing,
        present: Some(value.to_owned()),
        recommended: None,
        reason,
        change: None,
    }
}

/// What is found of one value.
fn judge(name: &str, value: &str, conf: &BTreeMap<String, String>, inputs: &Inputs<'_>) -> Finding {
    let plain = |standing, reason| plain(name, value, standing, reason);
    let Some(here) = entry(name, inputs.version_num) else {
        let left = left_over(name, value, inputs.version_num);
        let (standing, reason) = left.unwrap_or_else(|| absent(name, inputs.version_num));
        return plain(standing, reason);
    };
    if let Some(refusal) = value::refusal(here, value, inputs.wal_segment_bytes) {
        return plain(Standing::Refused, format!("the server does not start with it: {refusal}"));
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
        Kind::Text => format!("no rule judges it; the default is {default}, unless initdb wrote another"),
        _ => format!("no rule judges it; the default is {default}"),
    }
}

/// What is to be said of a removed setting of which one value is still accepted (`check_default_with_oids`).
fn left_over(name: &str, value: &str, version_num: u32) -> Option<(Standing, String)> {
    let is_left = name.eq_ignore_ascii_case("default_with_oids") && version_num >= 120_000;
    let reason =
        "PostgreSQL 12 removed what it switched on; the server accepts off alone, which changes nothing";
    (is_left && switch(value) == Some(false)).then(|| (Standing::Obsolete, reason.to_owned()))
}

/// What is to be said of a name that a version does not have.
fn absent(name: &str, version_num: u32) -> (Standing, String) {
    let major = major_of(version_num);
    let refused = "the server does not start with it";
    if let Some(now) = alias(name, version_num) {
        return (Standing::Obsolete, format!("an old name of {now}, which the server still accepts"));
    }
    let reason = match bounds(name) {
        Some((_, until)) if version_num >= until => {
            let why = rule(name).map_or("", |rule| rule.page.why);
            format!("PostgreSQL {} removed it, and {refused}. {why}", major_of(until)).trim().to_owned()
        }
        Some((since, _)) => {
            format!("PostgreSQL {} brought it; {major} does not have it, and {refused}", major_of(since))
        }
        None if name.contains('.') => {
            return (Standing::Unknown, "it belongs to an extension, and no rule judges it".to_owned());
        }
        None if name.eq_ignore_ascii_case("checkpoint_segments") => {
            format!("PostgreSQL 9.5 removed it for max_wal_size, and {refused}")
        }
        None if version_num / 10_000 > NEWEST_MAJOR => {
            let reason = format!("the rules know no such setting; they end at PostgreSQL {NEWEST_MAJOR}");
            return (Standing::Unknown, reason);
        }
        None => {
            debug_assert!(!is_known(name));
            format!("PostgreSQL 9.5 to {NEWEST_MAJOR} have no setting of this name, and {refused}")
        }
    };
    (Standing::Refused, reason)
}
