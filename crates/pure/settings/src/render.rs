//! Writes a `postgresql.conf`, and compares one with what is recommended.

use std::collections::BTreeMap;

use pgdyno_core::facts::Choice;

use super::{
    catalogue::{Entry, Kind, entry},
    explain::explain,
    inputs::Inputs,
    value,
};
use crate::{Finding, Standing};

/// Columns that a comment has at most.
const COLUMNS: usize = 100;

/// The text of a `postgresql.conf`: above each setting its reason.
pub fn render(choices: &[Choice]) -> String {
    choices.iter().map(|choice| format!("{}{}\n\n", comment(&choice.reason), line(choice))).collect()
}

/// The same with every setting as a comment: for what the user has to decide.
pub fn render_hints(hints: &[Choice]) -> String {
    hints.iter().map(|hint| format!("{}#{}\n\n", comment(&hint.reason), line(hint))).collect()
}

/// A text as lines of a comment, broken between words.
fn comment(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut lines = vec!["#".to_owned()];
    for word in plain.split_whitespace() {
        let has_room = |line: &String| line.chars().count() + 1 + word.chars().count() <= COLUMNS;
        match lines.last_mut().filter(|line| line.len() == 1 || has_room(line)) {
            Some(line) => line.extend([" ", word]),
            None => lines.push(format!("# {word}")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A setting as the server reads it: words and numbers as they are, all else in quotes.
fn line(choice: &Choice) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match !choice.value.is_empty() && choice.value.chars().all(is_plain) {
        true => format!("{} = {}", choice.name, choice.value),
        false => format!("{} = '{}'", choice.name, choice.value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

/// A setting whose value is not the recommended one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Name.
    pub name: String,
    /// Present value; `None` if the configuration does not set it.
    pub present: Option<String>,
    /// Recommended value.
    pub recommended: String,
    /// Why that value is recommended, or what speaks against the present one.
    pub reason: String,
    /// Whether the rules find nothing wrong with the present value either.
    pub is_fine: bool,
}

/// The settings whose present values, by names in lower case, do not mean what is recommended: `8GB` is `8192MB`. One
/// that is not set counts by its default. After those that rules choose come those that they would not choose, and
/// whose present values they find wrong.
pub fn difference(
    choices: &[Choice],
    present: &BTreeMap<String, String>,
    inputs: &Inputs<'_>,
) -> Vec<Difference> {
    let findings = explain(present, inputs);
    let chosen = choices.iter().filter(|choice| !is_as_chosen(choice, present, inputs)).map(|choice| {
        let name = choice.name.to_ascii_lowercase();
        match findings.iter().find(|finding| finding.name == name) {
            Some(finding) => of_finding(finding).unwrap_or_else(|| Difference {
                is_fine: finding.standing == Standing::Fine,
                ..of_choice(choice, finding.present.clone())
            }),
            None => of_choice(choice, None),
        }
    });
    let is_chosen = |name: &str| choices.iter().any(|choice| choice.name.eq_ignore_ascii_case(name));
    let others = findings.iter().filter(|finding| !is_chosen(&finding.name)).filter_map(of_finding);
    chosen.chain(others).collect()
}

fn of_choice(choice: &Choice, present: Option<String>) -> Difference {
    Difference {
        name: choice.name.clone(),
        present,
        recommended: choice.value.clone(),
        reason: choice.reason.clone(),
        is_fine: false,
    }
}

/// What a finding says against a value, if it recommends another one.
fn of_finding(finding: &Finding) -> Option<Difference> {
    let is_wrong = matches!(finding.standing, Standing::Refused | Standing::Dangerous | Standing::Improve);
    let recommended = finding.recommended.clone().filter(|_| is_wrong)?;
    Some(Difference {
        name: finding.name.clone(),
        present: finding.present.clone(),
        recommended,
        reason: finding.reason.clone(),
        is_fine: false,
    })
}

fn is_as_chosen(choice: &Choice, present: &BTreeMap<String, String>, inputs: &Inputs<'_>) -> bool {
    let (version_num, segment) = (inputs.version_num, inputs.wal_segment_bytes);
    let set = present.get(&choice.name.to_ascii_lowercase()).map(String::as_str);
    set.or_else(|| entry(&choice.name, version_num).map(default))
        .is_some_and(|value| value::is_same(&choice.name, version_num, value, &choice.value, segment))
}

/// The default of a setting; that of a text may be written by initdb, and is not compared.
fn default(entry: &Entry) -> &'static str {
    if entry.kind == Kind::Text { "" } else { entry.default }
}
