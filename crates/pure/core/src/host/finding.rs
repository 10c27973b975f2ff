//! What a rule says of one host, or of one setting.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Change, Knob};

/// What a rule says of one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The name of the rule, whose page explains it.
    pub name: String,
    /// The object that it is about, where there are several: a device, a mount point, a directory; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Verdict on the present state.
    pub standing: Standing,
    /// The present value; absent if it could not be read.
    pub present: Option<String>,
    /// The recommended value, computed from the facts of this host; absent if there is nothing to recommend.
    pub recommended: Option<String>,
    /// Why, with the figures of this host: a sentence.
    pub reason: String,
    /// What would have to change on the host; absent if nothing should or can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Finding {
    /// With the object that it is about.
    pub fn on(self, object: impl Into<String>) -> Self {
        Self { object: object.into(), ..self }
    }

    /// With the present value.
    pub fn present(self, value: impl ToString) -> Self {
        Self { present: Some(value.to_string()), ..self }
    }

    /// With a recommended value that nothing here sets.
    pub fn recommend(self, value: impl ToString) -> Self {
        Self { recommended: Some(value.to_string()), ..self }
    }

    /// With a recommended value and what to change for it.
    pub fn set(self, knob: Knob, value: impl ToString) -> Self {
        let value = value.to_string();
        Self { change: Some(Change { knob, value: value.clone() }), recommended: Some(value), ..self }
    }
}

/// Verdict on the present state of a setting, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A server that has it does not start.
    Refused,
    /// It can lose data or bring the host down.
    Dangerous,
    /// Another value would serve better, or something will not work.
    Improve,
    /// It is set, and does nothing here.
    NoEffect,
    /// It is set, and current kernels or servers no longer have it or no longer need it.
    Obsolete,
    /// It could not be read, or no rule judges it.
    Unknown,
    /// It is as it should be.
    Fine,
}

impl Standing {
    /// One word for a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Dangerous => "dangerous",
            Self::Improve => "improve",
            Self::NoEffect => "no effect",
            Self::Obsolete => "obsolete",
            Self::Unknown => "unknown",
            Self::Fine => "fine",
        }
    }
}
