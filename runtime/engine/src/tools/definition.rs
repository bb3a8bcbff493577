//! One tool as a server lists it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A tool of a `tools/list` answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name, as the server spells it.
    pub name: String,
    /// The whole definition as received. Equal ones are kept once, however many conversations
    /// have them.
    pub json: Arc<Value>,
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
        let digest = *hasher.finalize().as_bytes();
        Ok(Self {
            name,
            destructive_hint,
            read_only_hint,
            digest,
            json: shared(digest, json),
        })
    }

    /// The tool's `inputSchema`, if it has one.
    #[must_use]
    pub fn input_schema(&self) -> Option<&Value> {
        self.json.get("inputSchema")
    }
}

/// Definitions that somebody holds.
struct Held {
    by_digest: BTreeMap<[u8; 32], Weak<Value>>,
    /// At so many, those are left out that nobody holds any more.
    most: usize,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    by_digest: BTreeMap::new(),
    most: 64,
});

/// The definition that is equal to this one, if there is one.
fn shared(digest: [u8; 32], json: Value) -> Arc<Value> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let Held { by_digest, most } = &mut *held;
    // The digest says nothing of `_meta`.
    if let Some(known) = by_digest.get(&digest).and_then(Weak::upgrade)
        && *known == json
    {
        return known;
    }
    let json = Arc::new(json);
    by_digest.insert(digest, Arc::downgrade(&json));
    if by_digest.len() > *most {
        by_digest.retain(|_, json| json.strong_count() > 0);
        *most = 64.max(2 * by_digest.len());
    }
    json
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_definitions_are_kept_once_and_only_while_somebody_holds_them() {
        let read = |meta: u32| {
            let json = json!({"name": "kept_once", "description": "d", "_meta": {"n": meta}});
            ToolDefinition::from_json(json).unwrap()
        };
        let (one, other) = (read(1), read(1));
        assert!(Arc::ptr_eq(&one.json, &other.json));
        // What the digest leaves out is not lost.
        let third = read(2);
        assert_eq!(
            (third.digest, &third.json["_meta"]["n"]),
            (one.digest, &json!(2))
        );
        let held = Arc::downgrade(&one.json);
        drop((one, other));
        assert!(held.upgrade().is_none());
        for n in 0..1000 {
            let name = format!("kept_once_{n}");
            ToolDefinition::from_json(json!({ "name": name })).unwrap();
        }
        assert!(HELD.lock().unwrap().by_digest.len() < 500);
    }
}
