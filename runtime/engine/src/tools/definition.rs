//! One tool as a server lists it.

use serde_json::Value;
use std::fmt;

/// A tool of a `tools/list` answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name, as the server spells it.
    pub name: String,
    /// The whole definition as received.
    pub json: Value,
    /// `annotations.destructiveHint`, where it is a bool.
    pub destructive_hint: Option<bool>,
    /// `annotations.readOnlyHint`, where it is a bool.
    pub read_only_hint: Option<bool>,
    /// Digest of the definition with sorted keys and without `_meta`.
    pub digest: [u8; 32],
}

impl ToolDefinition {
    /// Reads one element of the `tools` array of a `tools/list` answer.
    ///
    /// # Errors
    /// If it is not an object with a string `name`.
    pub fn from_json(json: Value) -> Result<Self, DefinitionError> {
        let name = json
            .get("name")
            .and_then(Value::as_str)
            .ok_or(DefinitionError)?
            .to_owned();
        let hint = |key: &str| {
            json.get("annotations")
                .and_then(|a| a.get(key))
                .and_then(Value::as_bool)
        };
        let (destructive_hint, read_only_hint) = (hint("destructiveHint"), hint("readOnlyHint"));
        let mut hasher = blake3::Hasher::new();
        digest_value(&json, true, &mut hasher);
        Ok(Self {
            name,
            destructive_hint,
            read_only_hint,
            digest: *hasher.finalize().as_bytes(),
            json,
        })
    }

    /// The tool's `inputSchema`, if it has one.
    #[must_use]
    pub fn input_schema(&self) -> Option<&Value> {
        self.json.get("inputSchema")
    }
}

/// Feeds `value` to the hasher so that two definitions agree exactly when they are
/// equal but for key order (and, at the top, `_meta`).
fn digest_value(value: &Value, top: bool, hasher: &mut blake3::Hasher) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().filter(|k| !(top && *k == "_meta")).collect();
            keys.sort_unstable();
            hasher
                .update(b"{")
                .update(&(keys.len() as u64).to_le_bytes());
            for key in keys {
                hasher
                    .update(&(key.len() as u64).to_le_bytes())
                    .update(key.as_bytes());
                if let Some(member) = map.get(key) {
                    digest_value(member, false, hasher);
                }
            }
        }
        Value::Array(items) => {
            hasher
                .update(b"[")
                .update(&(items.len() as u64).to_le_bytes());
            for item in items {
                digest_value(item, false, hasher);
            }
        }
        Value::String(text) => {
            hasher
                .update(b"\"")
                .update(&(text.len() as u64).to_le_bytes())
                .update(text.as_bytes());
        }
        other => {
            let text = other.to_string();
            hasher
                .update(b"#")
                .update(&(text.len() as u64).to_le_bytes())
                .update(text.as_bytes());
        }
    }
}

/// A listed tool is not an object with a string `name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionError;

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a listed tool is not an object with a string `name`")
    }
}

impl std::error::Error for DefinitionError {}
