//! The scale factor of the TPC-B tables.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::auto::Whole;

/// Scale factor of the TPC-B tables, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// The largest scale that fits; none if the plan sets up its own tables and runs no built-in script.
    #[default]
    Auto,
    /// No TPC-B tables.
    None,
    /// An explicit scale factor.
    Given(u64),
}

impl Scale {
    /// The explicit scale factor; `None` for `auto` and `none`.
    pub fn given(self) -> Option<u64> {
        match self {
            Self::Given(scale) => Some(scale),
            Self::Auto | Self::None => None,
        }
    }
}

impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::None => serializer.serialize_str("none"),
            Self::Given(scale) => scale.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u64),
            Word(String),
        }
        match Either::deserialize(deserializer) {
            Ok(Either::Number(scale)) => Ok(Self::Given(scale)),
            Ok(Either::Word(word)) if word == "auto" => Ok(Self::Auto),
            Ok(Either::Word(word)) if word == "none" => Ok(Self::None),
            _ => Err(de::Error::custom("expected a whole number, \"auto\" or \"none\"")),
        }
    }
}

impl JsonSchema for Scale {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scale".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "enum": ["auto", "none"] }, generator.subschema_for::<Whole<1, 100_000_000>>()] })
    }
}
