//! The published configuration that a server was given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A configuration that a server was given as a whole, and what the server has otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresetFacts {
    /// Name of the preset, or the path of the user's file.
    pub name: String,
    /// What it was published for; empty for a file of the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Whether it applies as published, with its sizes and with what weakens durability.
    pub as_published: bool,
    /// Number of settings in it.
    pub settings: u64,
    /// Its settings that the server does not have, or has with another name or value, by name.
    pub changes: Vec<PresetChange>,
}

/// A setting of a preset that the server does not have as published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresetChange {
    /// Name in the preset; of a setting that had to be added, its name.
    pub name: String,
    /// Value in the preset; absent if it may be a secret, and for a setting that had to be added.
    pub published: Option<String>,
    /// Value on the server; absent if the setting was left out.
    pub used: Option<String>,
    /// Name on the server, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
    /// The reason, as a phrase without a full stop.
    pub reason: String,
}

impl PresetFacts {
    /// The preset in a few words: its name, its title, and how it applies.
    pub fn words(&self) -> String {
        let title = if self.title.is_empty() { String::new() } else { format!(" ({})", self.title) };
        let how = if self.as_published { ", as published" } else { "" };
        let taken = self.settings - self.left_out().count() as u64;
        format!("{}{title}{how}: {taken} of {} settings", self.name, self.settings)
    }

    /// Settings that were left out.
    pub fn left_out(&self) -> impl Iterator<Item = &PresetChange> {
        self.changes.iter().filter(|change| change.used.is_none())
    }

    /// Names that were left out, grouped by their reason, in the order of the first name of each.
    pub fn left_out_by_reason(&self) -> Vec<(&str, Vec<&str>)> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for change in self.left_out() {
            match groups.iter_mut().find(|(reason, _)| *reason == change.reason) {
                Some((_, names)) => names.push(&change.name),
                None => groups.push((&change.reason, vec![&change.name])),
            }
        }
        groups
    }
}

impl PresetChange {
    /// Name of the setting on the server.
    pub fn used_name(&self) -> &str {
        self.renamed.as_ref().unwrap_or(&self.name)
    }

    /// The change as a phrase, such as `jit = on was left out: there is no such setting`.
    pub fn words(&self) -> String {
        let Self { name, published, used, renamed, reason } = self;
        let published = published.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
        let other = renamed.as_ref().map(|name| format!("{name} = ")).unwrap_or_default();
        match used {
            Some(used) => format!("{name}{published} became {other}{used}: {reason}"),
            None => format!("{name}{published} was left out: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_grouped_by_its_reason() {
        let out = |name: &str, reason: &str| PresetChange {
            name: name.into(),
            published: Some("off".into()),
            used: None,
            renamed: None,
            reason: reason.into(),
        };
        let scaled = PresetChange { used: Some("1GB".into()), ..out("shared_buffers", "scaled") };
        let facts = PresetFacts {
            name: "x".into(),
            title: "a title".into(),
            as_published: false,
            settings: 9,
            changes: vec![
                out("fsync", "weak"),
                out("nosuch", "unknown"),
                scaled,
                out("full_page_writes", "weak"),
            ],
        };
        let groups = facts.left_out_by_reason();
        assert_eq!(groups, [("weak", vec!["fsync", "full_page_writes"]), ("unknown", vec!["nosuch"])]);
        assert_eq!(facts.words(), "x (a title): 6 of 9 settings");
        assert_eq!(facts.changes[2].words(), "shared_buffers = off became 1GB: scaled");
        assert_eq!(facts.changes[0].words(), "fsync = off was left out: weak");
    }
}
