//! Rules of this family.

use super::Rule;

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[&Rule] = &[];
