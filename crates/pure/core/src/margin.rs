//! Equivalence margins as people write them.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An equivalence margin, written `2%`: a difference from the baseline within ± this share does not matter. Above 0 %,
/// at most 50 %; 2 % by default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    percent: f64,
}

impl Margin {
    /// The margin as a share of the baseline.
    pub fn share(self) -> f64 {
        self.percent / 100.0
    }
}

impl Default for Margin {
    fn default() -> Self {
        Self { percent: 2.0 }
    }
}

/// A text that is not a margin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a margin is written 2%, above 0% and at most 50%")]
pub struct NotAMargin;

impl FromStr for Margin {
    type Err = NotAMargin;

    /// The sign is required, since 0.02 without it may mean 2 % or 0.02 %.
    fn from_str(text: &str) -> Result<Self, NotAMargin> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 50.0);
        percent.map(|percent| Self { percent }).ok_or(NotAMargin)
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.percent)
    }
}

impl Serialize for Margin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Margin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Margin {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Margin".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9.]+ *%$",
            "x-expects": "a share above 0% and at most 50% in quotes",
            "examples": ["2%", "0.5%"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_parsed_and_printed() {
        for (text, share) in [("2%", 0.02), ("0.5%", 0.005), ("50%", 0.5), ("7%", 0.07)] {
            let margin: Margin = text.parse().expect("it is a margin");
            assert_eq!((margin.share(), margin.to_string()), (share, text.to_owned()));
        }
        assert_eq!(Margin::default().share(), 0.02);
        for wrong in ["", "%", "2", "0.02", "0%", "-2%", "51%", "nan%", "inf%"] {
            assert_eq!(wrong.parse::<Margin>(), Err(NotAMargin), "{wrong}");
        }
    }
}
