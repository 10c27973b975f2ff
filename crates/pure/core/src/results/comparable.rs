//! Whether two subjects are comparable, and how they differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a difference in speed can come only from the requested difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Nothing differs.
    Alike,
    /// The only differences are the requested ones and their consequences.
    AlikeButForWhatWasAsked,
    /// There are differences that were not requested.
    DiffersBesides,
    /// No other difference was found, but something could not be determined.
    NotKnown,
}

/// The verdict on comparability, with the differences that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparable {
    /// The verdict.
    pub verdict: Fairness,
    /// Requested differences that exist.
    pub asked: Vec<String>,
    /// Differences that were not requested.
    pub besides: Vec<String>,
    /// Settings whose defaults differ between the versions, or that only one of them has.
    pub defaults_of_version: Vec<String>,
    /// Settings that pgdyno chose depending on the version.
    pub chosen_for_version: Vec<String>,
    /// Settings with equal numbers of blocks or WAL segments, but different block or segment sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_from_sizes: Vec<String>,
    /// Facts that are unknown for one subject or both.
    pub unknown: Vec<String>,
}

/// A fact or a setting in which A and B differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Name of the setting, or of a fact such as `build`.
    pub what: String,
    /// Value of A; absent if unknown, or if its version has no such setting.
    pub a: Option<String>,
    /// Value of B; absent if unknown, or if its version has no such setting.
    pub b: Option<String>,
    /// Why they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// Why A and B differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The difference was requested.
    Asked,
    /// The difference was not requested.
    Besides,
    /// Their versions have different defaults, or one of them has no such setting.
    DefaultOfVersion,
    /// pgdyno chose the value by a rule that depends on the version.
    ChosenForVersion,
    /// The number of blocks or WAL segments is equal, but their size differs.
    FollowsFromSizes,
}
