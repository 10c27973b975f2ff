//! Limits of a process, with their units.

use pgdyno_core::{host::Limit, units};
use pgdyno_document::{
    figure::Format::{self, Bytes, Count},
    phrase::{Phrase, maybe, phrase},
};

use crate::source::Place;

/// The unit of a limit of a process, as `/proc/PID/limits` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Seconds,
    Microseconds,
    /// A number of things, or a priority.
    Number,
}

impl Unit {
    /// The unit of a limit by its name, such as `Max stack size`.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "Max file size" | "Max data size" | "Max stack size" | "Max core file size"
            | "Max resident set" | "Max locked memory" | "Max address space" | "Max msgqueue size" => {
                Self::Bytes
            }
            "Max cpu time" => Self::Seconds,
            "Max realtime timeout" => Self::Microseconds,
            _ => Self::Number,
        }
    }

    /// An amount with its unit; `None` for a number without one.
    pub(super) fn words(self, amount: u64) -> Option<String> {
        match self {
            Self::Bytes => Some(units::bytes(amount)),
            Self::Seconds | Self::Microseconds => Some(format!("{}{}", units::count(amount), self.suffix())),
            Self::Number => None,
        }
    }

    fn format(self) -> Format {
        if self == Self::Bytes { Bytes } else { Count }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Seconds => " s",
            Self::Microseconds => " µs",
            Self::Bytes | Self::Number => "",
        }
    }
}

/// A limit with its unit: one value where what holds cannot be raised, otherwise both.
pub(super) fn in_words(name: &str, limit: Limit, at: &Place<'_>) -> Phrase {
    let at = at.at("limits").at(name.replace('~', "~0").replace('/', "~1"));
    let unit = Unit::of(name);
    let figure = |field: &str, value: Option<u64>| match value {
        Some(_) => maybe("", at.figure(field, unit.format()), unit.suffix()),
        None => "unlimited".into(),
    };
    match limit.soft == limit.hard {
        true => figure("soft", limit.soft),
        false => phrase![figure("soft", limit.soft), ", may be raised to ", figure("hard", limit.hard)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_the_units_of_the_kernel() {
        for (name, expected) in [
            ("Max locked memory", Some("8 MiB")),
            ("Max cpu time", Some("8,388,608 s")),
            ("Max realtime timeout", Some("8,388,608 µs")),
            ("Max open files", None),
        ] {
            assert_eq!(Unit::of(name).words(8 << 20).as_deref(), expected, "{name}");
        }
    }
}
