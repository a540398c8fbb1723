//! What can be written in a field: told to people, and as JSON Schema (draft 2020-12) to editors. The schema takes whatever
//! the reader takes; what it cannot say, as that a duration is within its range, `ringway check` says.
use std::time::Duration;

use serde_json::{Value, json};

use super::quantity::{Quantity, Setting};

pub(super) struct Values {
    /// In Markdown.
    pub(super) told: String,
    pub(super) schema: Value,
}

fn values(told: impl Into<String>, schema: Value) -> Values {
    Values { told: told.into(), schema }
}

impl Values {
    /// The same, told otherwise.
    pub(super) fn told(self, told: &str) -> Values {
        Values { told: told.to_owned(), ..self }
    }
}

/// One of a few words.
pub(super) fn words(words: &[&str]) -> Values {
    let told: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    values(told.join(", "), json!({ "enum": words }))
}

/// A text that matches a pattern (ECMA-262). YAML may take what looks like a number for one; the reader does not.
pub(super) fn text(told: &str, pattern: &str, most: usize) -> Values {
    values(told, json!({ "type": ["string", "number"], "pattern": pattern, "maxLength": most }))
}

/// Letters, digits and a few signs, as labels, ids and regions are.
pub(super) fn name(told: &str, prefix: &str, most: usize) -> Values {
    text(told, &format!("^{prefix}[A-Za-z0-9._-]+$"), most)
}

pub(super) fn path() -> Values {
    text("a path", "^[^\\u0000]+$", 4_096)
}

/// `HOST:PORT`, or what else is in `forms`.
pub(super) fn address(told: &str, forms: &str) -> Values {
    values(told, json!({ "type": "string", "pattern": format!("^({forms})$") }))
}

pub(super) const IP_AND_PORT: &str = "[0-9.]+:[0-9]{1,5}|\\[[0-9a-fA-F:.]+\\]:[0-9]{1,5}";
pub(super) const UNIX: &str = "unix:/.*[^/]";
pub(super) const NAME_AND_PORT: &str = "[A-Za-z0-9.-]+:[0-9]{1,5}";
/// Labels of letters, digits and hyphens with dots between.
pub(super) const HOST_NAME: &str =
    "^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$";

/// A list of such values, none of them twice.
pub(super) fn list(told: &str, of: &Values, least: usize) -> Values {
    let (items, least) = (&of.schema, least);
    values(told, json!({ "type": "array", "items": items, "minItems": least, "uniqueItems": true }))
}

/// A word, or else something other.
pub(super) fn word_or(word: &str, other: &Values) -> Values {
    values(format!("`{word}`, or {}", other.told), json!({ "anyOf": [{ "const": word }, other.schema] }))
}

/// A section, whose fields have rows of their own.
pub(super) fn fields() -> Values {
    values("fields", json!({ "type": "object" }))
}

pub(super) fn whole(told: &str, least: u64, most: u64) -> Values {
    values(told, whole_numbers(least, most))
}

pub(super) fn number<T: Number>(setting: &Setting<T>) -> Values {
    values(setting.range(), T::schema(setting))
}

/// A quantity as YAML has it.
pub(super) trait Number: Quantity {
    fn schema(setting: &Setting<Self>) -> Value;
}

impl Number for Duration {
    fn schema(_: &Setting<Self>) -> Value {
        json!({ "type": "string", "pattern": "^[0-9]{1,15}(ms|s|m|h)$" })
    }
}

impl Number for f64 {
    fn schema(setting: &Setting<Self>) -> Value {
        json!({
            "type": ["number", "string"], "minimum": setting.least, "maximum": setting.most,
            "pattern": "^([0-9]+\\.?[0-9]*|\\.[0-9]+)$",
        })
    }
}

impl Number for u64 {
    fn schema(setting: &Setting<Self>) -> Value {
        whole_numbers(setting.least, setting.most)
    }
}

impl Number for usize {
    fn schema(setting: &Setting<Self>) -> Value {
        whole_numbers(setting.least as u64, setting.most as u64)
    }
}

/// Quotes around a number make no difference to the reader.
fn whole_numbers(least: u64, most: u64) -> Value {
    json!({ "type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": "^[0-9]+$" })
}
