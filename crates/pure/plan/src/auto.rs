//! A value that may be left to pgdyno by the word `auto`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Schema of whole numbers in a range.
pub(super) struct Whole<const LEAST: u64, const MOST: u64>;

impl<const LEAST: u64, const MOST: u64> JsonSchema for Whole<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Whole_{LEAST}_to_{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

/// A value given by the user, or `auto`, which means chosen from facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// Chosen from facts; the record states the reason.
    Auto,
    /// Given by the user.
    Given(T),
}

impl<T> Auto<T> {
    /// The value given by the user; `None` for `auto`.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Given(value) => Some(value),
        }
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Given(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            Value(T),
            Word(String),
        }
        match Either::<T>::deserialize(deserializer) {
            Ok(Either::Value(value)) => Ok(Self::Given(value)),
            Ok(Either::Word(word)) if word == "auto" => Ok(Self::Auto),
            Ok(Either::Word(word)) => {
                Err(de::Error::custom(format!("`{word}` is neither a value nor \"auto\"")))
            }
            Err(_) => Err(de::Error::custom("expected a value of the right type, or \"auto\"")),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Auto<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Auto_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [ { "const": "auto" }, generator.subschema_for::<T>() ] })
    }
}
