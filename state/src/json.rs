//! A JSON value as it was written: members in order, numbers as integers or not, no member twice.

use std::fmt;

use serde::{
    Serialize, Serializer,
    de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor},
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    /// Fractional, or over 64 bits.
    Double(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// For messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Unsigned(_) => "an integer",
            Json::Negative(_) | Json::Double(_) => "a negative, fractional or too large number",
            Json::Text(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    /// The one text of all equal values: without white space, members ordered by name.
    pub(crate) fn canonical(mut self) -> String {
        self.order();
        serde_json::to_string(&self).expect("texts and finite numbers become JSON")
    }

    fn order(&mut self) {
        match self {
            Json::Array(items) => items.iter_mut().for_each(Json::order),
            Json::Object(members) => {
                members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                members.iter_mut().for_each(|(_, value)| value.order());
            }
            _ => {}
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Unsigned(value) => serializer.serialize_u64(*value),
            Json::Negative(value) => serializer.serialize_i64(*value),
            Json::Double(value) => serializer.serialize_f64(*value),
            Json::Text(value) => serializer.serialize_str(value),
            Json::Array(items) => serializer.collect_seq(items),
            Json::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or(Json::Negative(value), Json::Unsigned))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some((name, value)) = members.next_entry::<String, Json>()? {
            if object.len() >= crate::limits::JSON_MEMBERS_MAX {
                return Err(A::Error::custom("the object has too many members; give fewer"));
            }
            if object.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format_args!("the object has {name:?} twice; write it once")));
            }
            object.push((name, value));
        }
        Ok(Json::Object(object))
    }
}
