//! Writes a `postgresql.conf`, and compares one with what is recommended.

use std::collections::BTreeMap;

use pgdyno_core::facts::Choice;

use super::{
    catalogue::{Entry, Kind, entry},
    inputs::Inputs,
    value,
};

/// Columns that a comment has at most.
const COLUMNS: usize = 100;

/// The text of a `postgresql.conf`: above each setting a line with its reason.
pub fn render(choices: &[Choice]) -> String {
    choices.iter().map(|choice| format!("{}\n{}\n\n", comment(&choice.reason), line(choice))).collect()
}

/// The same with every setting as a comment: for what somebody has to decide.
pub fn render_hints(hints: &[Choice]) -> String {
    hints.iter().map(|hint| format!("{}\n#{}\n\n", comment(&hint.reason), line(hint))).collect()
}

/// A comment on one line: what is too long is cut at a word.
fn comment(reason: &str) -> String {
    let plain: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut text = "#".to_owned();
    for word in plain.split_whitespace() {
        if text.chars().count() + 1 + word.chars().count() > COLUMNS - 4 {
            return text + " ...";
        }
        text.push(' ');
        text.push_str(word);
    }
    text
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
}

/// The settings whose present values, by names in lower case, do not mean what is recommended: `8GB` is `8192MB`. One
/// that is not set counts by its default.
pub fn difference(
    choices: &[Choice],
    present: &BTreeMap<String, String>,
    inputs: &Inputs<'_>,
) -> Vec<Difference> {
    let (version_num, segment) = (inputs.version_num, inputs.wal_segment_bytes);
    let of = |choice: &Choice| present.get(&choice.name.to_ascii_lowercase()).map(String::as_str);
    let differs = |choice: &&Choice| {
        let value = of(choice).or_else(|| entry(&choice.name, version_num).map(default));
        value.is_none_or(|value| !value::is_same(&choice.name, version_num, value, &choice.value, segment))
    };
    let found = choices.iter().filter(differs);
    found
        .map(|choice| Difference {
            name: choice.name.clone(),
            present: of(choice).map(str::to_owned),
            recommended: choice.value.clone(),
        })
        .collect()
}

/// The default of a setting; that of a text may be written by initdb, and is not compared.
fn default(entry: &Entry) -> &'static str {
    if entry.kind == Kind::Text { "" } else { entry.default }
}
