//! `tools.lock`: the tool definitions a user has accepted.
//!
//! JSON, sorted, one way to write it, so that it can be kept under version control
//! and its changes reviewed. Every definition stands beside its digest: one that was
//! edited by hand does not load.

use super::ToolDefinition;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt;

/// The version this code reads and writes.
const VERSION: u64 = 1;

/// Accepted tool definitions, by server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The tools, sorted by server, then name.
    pub tools: Vec<LockedTool>,
}

/// One accepted tool.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedTool {
    /// The server, where the lock names one.
    pub server: Option<String>,
    /// Its definition.
    pub definition: ToolDefinition,
}

/// How two locks differ in one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the newer one has it.
    Added,
    /// Only the older one has it.
    Removed,
    /// Its definition differs.
    Changed,
}

impl Lock {
    /// A lock of `tools`, all of one server. Of two with one name the first counts.
    #[must_use]
    pub fn new(server: Option<&str>, tools: Vec<ToolDefinition>) -> Self {
        let tools = tools.into_iter().map(|definition| LockedTool {
            server: server.map(str::to_owned),
            definition,
        });
        let mut lock = Self {
            tools: tools.collect(),
        };
        lock.sort();
        lock.tools.dedup_by(|b, a| a.key() == b.key());
        lock
    }

    /// Reads a lock file. `n log n` in the tools.
    ///
    /// # Errors
    /// If the text is not a lock of a known version, names a tool twice, has keys this
    /// version does not know, or if a definition does not have the digest it stands beside.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let root = strict_object(text)?;
        only_keys(&root, &["version", "tools"], "the lock")?;
        if root.get("version") != Some(&json!(VERSION)) {
            return fail(format!("`version` is not {VERSION}"));
        }
        let Some(Value::Array(items)) = root.get("tools") else {
            return fail("`tools` is not a list".to_owned());
        };
        let mut tools = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            tools.push(locked_tool(item).map_err(|LockError(why)| {
                LockError(format!("entry {} of `tools`: {why}", index + 1))
            })?);
        }
        let mut lock = Self { tools };
        lock.sort();
        for (a, b) in lock.tools.iter().zip(lock.tools.iter().skip(1)) {
            if a.key() == b.key() {
                return fail(format!(
                    "tool {:?} stands there twice for one server",
                    a.definition.name
                ));
            }
        }
        Ok(lock)
    }

    /// The text of a lock file, which [`Lock::parse`] reads back. The same tools give
    /// the same text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut tools: Vec<&LockedTool> = self.tools.iter().collect();
        tools.sort_by(|a, b| a.key().cmp(&b.key()));
        // Objects are written with sorted keys.
        let tools: Vec<Value> = tools
            .into_iter()
            .map(|tool| {
                let mut entry = Map::new();
                if let Some(server) = &tool.server {
                    entry.insert("server".to_owned(), json!(server));
                }
                entry.insert("name".to_owned(), json!(tool.definition.name));
                entry.insert("digest".to_owned(), json!(hex(&tool.definition.digest)));
                entry.insert("definition".to_owned(), tool.definition.json.clone());
                Value::Object(entry)
            })
            .collect();
        let root = json!({"version": VERSION, "tools": tools});
        let mut text = serde_json::to_string_pretty(&root).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The accepted definition of a tool: of this server, or else of an entry that
    /// names no server. Linear in the tools.
    #[must_use]
    pub fn find(&self, server: Option<&str>, name: &str) -> Option<&ToolDefinition> {
        let of = |wanted: Option<&str>| {
            let mut tools = self.tools.iter();
            tools.find(|t| t.server.as_deref() == wanted && t.definition.name == name)
        };
        let found = of(server).or_else(|| of(None));
        found.map(|tool| &tool.definition)
    }

    /// What differs from an `older` lock, sorted by server, then name. `n log n`.
    #[must_use]
    pub fn changes<'a>(&'a self, older: &'a Self) -> Vec<(Change, &'a LockedTool)> {
        let index = |lock: &'a Self| -> HashMap<_, &'a LockedTool> {
            lock.tools.iter().map(|tool| (tool.key(), tool)).collect()
        };
        let (before, after) = (index(older), index(self));
        let mut changes: Vec<(Change, &LockedTool)> = Vec::new();
        for tool in &self.tools {
            match before.get(&tool.key()) {
                None => changes.push((Change::Added, tool)),
                Some(old) if old.definition.digest != tool.definition.digest => {
                    changes.push((Change::Changed, tool));
                }
                Some(_) => {}
            }
        }
        let gone = |tool: &&'a LockedTool| !after.contains_key(&tool.key());
        let gone = older.tools.iter().filter(gone);
        changes.extend(gone.map(|tool| (Change::Removed, tool)));
        changes.sort_by(|a, b| a.1.key().cmp(&b.1.key()));
        changes
    }

    fn sort(&mut self) {
        self.tools.sort_by(|a, b| a.key().cmp(&b.key()));
    }
}

impl LockedTool {
    fn key(&self) -> (Option<&str>, &str) {
        (self.server.as_deref(), &self.definition.name)
    }
}

/// Reads one object, strictly: a duplicate key could hide a definition from a reviewer.
fn strict_object(text: &str) -> Result<Map<String, Value>, LockError> {
    let limits = bouncer_reader::json::Limits {
        max_bytes: 256 << 20,
        max_depth: 120,
    };
    let mut scratch = bouncer_reader::json::Scratch::new(&limits);
    bouncer_reader::json::validate_object(text.as_bytes(), &limits, &mut scratch)
        .map_err(|malformed| LockError(malformed.to_string()))?;
    serde_json::from_str(text).map_err(|error| LockError(error.to_string()))
}

fn locked_tool(item: &Value) -> Result<LockedTool, LockError> {
    let Value::Object(entry) = item else {
        return fail("not an object".to_owned());
    };
    only_keys(entry, &["server", "name", "digest", "definition"], "it")?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let server = match entry.get("server") {
        None | Some(Value::Null) => None,
        Some(Value::String(server)) => Some(server.clone()),
        Some(_) => return fail("`server` is not a string".to_owned()),
    };
    let Some(json) = entry.get("definition") else {
        return fail("`definition` is missing".to_owned());
    };
    let definition =
        ToolDefinition::from_json(json.clone()).map_err(|error| LockError(error.to_string()))?;
    if text("name") != Some(&definition.name) {
        return fail(format!(
            "`name` is not the definition's, {:?}",
            definition.name
        ));
    }
    if text("digest") != Some(&hex(&definition.digest)) {
        return fail(format!(
            "the definition of {:?} does not have the digest beside it; it was edited. Pin the server's tools again",
            definition.name
        ));
    }
    Ok(LockedTool { server, definition })
}

fn only_keys(map: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), LockError> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => fail(format!("{what} has an unknown key {key:?}")),
        None => Ok(()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fail<T>(why: String) -> Result<T, LockError> {
    Err(LockError(why))
}

/// Why a lock file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockError(pub String);

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LockError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition::from_json(json!({
            "name": name, "description": description, "_meta": {"n": 1.0},
            "inputSchema": {"type": "object", "x": 1e300, "y": 9_007_199_254_740_993_u64},
        }))
        .unwrap()
    }

    #[test]
    fn is_read_back_and_written_alike() {
        let lock = Lock::new(Some("s"), vec![tool("b", "é\n"), tool("a", "")]);
        let text = lock.to_text();
        let back = Lock::parse(&text).unwrap();
        assert_eq!(back, lock);
        assert_eq!(back.to_text(), text);
        assert_eq!(lock.find(Some("s"), "a").unwrap().name, "a");
        assert!(lock.find(Some("t"), "a").is_none());
        assert!(lock.find(None, "a").is_none());
        let anywhere = Lock::new(None, vec![tool("a", "")]);
        assert!(anywhere.find(Some("t"), "a").is_some());
    }

    #[test]
    fn edits_do_not_load() {
        let text = Lock::new(None, vec![tool("a", "harmless")]).to_text();
        assert!(Lock::parse(&text).is_ok());
        let edited = Lock::parse(&text.replace("harmless", "harmful")).unwrap_err();
        assert!(edited.to_string().contains("digest"), "{edited}");
        for wrong in [
            text.replace("\"version\": 1", "\"version\": 2"),
            text.replace("\"tools\"", "\"tool\""),
            text.replace("\"version\": 1", "\"version\": 1, \"version\": 1"),
            text.replacen("\"name\": \"a\"", "\"name\": \"b\"", 1),
            String::new(),
            "[]".to_owned(),
        ] {
            assert!(Lock::parse(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_what_changed() {
        let old = Lock::new(None, vec![tool("a", ""), tool("b", ""), tool("c", "")]);
        let new = Lock::new(None, vec![tool("b", "x"), tool("c", ""), tool("d", "")]);
        let changes: Vec<_> = new
            .changes(&old)
            .into_iter()
            .map(|(change, tool)| (change, tool.definition.name.as_str()))
            .collect();
        assert_eq!(
            changes,
            [
                (Change::Removed, "a"),
                (Change::Changed, "b"),
                (Change::Added, "d")
            ]
        );
    }
}
