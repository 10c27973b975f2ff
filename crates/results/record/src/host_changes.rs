//! Changes of the host for a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes of the host for a run, which are reverted after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostChangesRecord {
    /// Why nothing was changed although the plan says so; absent if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_done: Option<String>,
    /// The states that the host was in for runs, in addition to the one in which it was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<HostStateRecord>,
    /// Whether everything was reverted; absent while it is not, as in a run that was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<bool>,
    /// What others changed meanwhile, which was left so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A state of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostStateRecord {
    /// Names of the subjects that ran in it; empty in a run of one subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// What is changed in it.
    pub changed: Vec<HostValueRecord>,
}

/// A value of the host, before a change and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostValueRecord {
    /// A kernel parameter, or the path of a file of sysfs.
    pub name: String,
    /// Value before.
    pub before: String,
    /// Value that was set; absent for what the kernel changed with another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// Value read back.
    pub became: String,
}
