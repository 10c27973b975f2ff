//! Whether two subjects can be compared, and in what they differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the difference in speed can come from what was asked alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Nothing differs.
    Alike,
    /// Nothing differs but what was asked, and what follows from it.
    AlikeButForWhatWasAsked,
    /// More differs than what was asked.
    DiffersBesides,
    /// Nothing is seen to differ besides, and something that may differ could not be seen.
    NotKnown,
}

/// Comparable or not: the verdict, and by names what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparable {
    /// The verdict.
    pub verdict: Fairness,
    /// What was asked to differ, and does.
    pub asked: Vec<String>,
    /// What differs besides.
    pub besides: Vec<String>,
    /// Settings whose defaults differ between the versions, or that only one of them has.
    pub defaults_of_version: Vec<String>,
    /// Settings that pgdyno chose by the version.
    pub chosen_for_version: Vec<String>,
    /// Settings that are the same number of blocks or segments of WAL, whose size differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_from_sizes: Vec<String>,
    /// What could not be seen of one of them, or of both.
    pub unknown: Vec<String>,
}

/// A fact or a setting that A and B do not share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Its name: a setting's, or that of a fact such as `build`.
    pub what: String,
    /// What A has; absent where that is not known, or where its version has no such setting.
    pub a: Option<String>,
    /// What B has.
    pub b: Option<String>,
    /// Whether it was the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// Why A and B do not share something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It was asked to differ: it is the question.
    Asked,
    /// It differs besides what was asked.
    Besides,
    /// Their versions have other defaults, or one of them has no such setting.
    DefaultOfVersion,
    /// pgdyno chose it by a rule that asks for the version.
    ChosenForVersion,
    /// It is the same number of blocks, or of segments of WAL, whose size differs.
    FollowsFromSizes,
}
