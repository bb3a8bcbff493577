//! `tools.lock`: the tool definitions a user has accepted.
//!
//! JSON, sorted, one way to write it, so that it can be kept under version control
//! and its changes reviewed. Every definition stands beside its digest: one that was
//! edited by hand does not load. Some servers write one tool in several ways, from start to
//! start: a lock may hold each of them as one of its accepted forms.

use super::ToolDefinition;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt;

/// The version of a lock in which every tool has one form.
const VERSION: u64 = 1;
/// The version of one in which some tool has several.
const SEVERAL: u64 = 2;
/// Forms of one tool.
pub const MAX_FORMS: usize = 16;

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
    /// If the text is not a lock of a known version, names a tool twice (or a form of it, or too
    /// many of them, where there may be several), has keys this version does not know, or if a
    /// definition does not have the digest it stands beside.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let root = strict_object(text)?;
        only_keys(&root, &["version", "tools"], "the lock")?;
        let forms = match root.get("version").and_then(Value::as_u64) {
            Some(VERSION) => 1,
            Some(SEVERAL) => MAX_FORMS,
            _ => {
                return fail(format!(
                    "`version` is neither {VERSION} nor {SEVERAL}: another version of bouncer wrote it; pin the servers again with this one"
                ));
            }
        };
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
        let same = |a: &LockedTool, b: &LockedTool| a.key() == b.key();
        for group in lock.tools.chunk_by(same) {
            let twice = group
                .windows(2)
                .any(|two| matches!(two, [a, b] if a.order() == b.order()));
            if let Some(first) = group.first().filter(|_| twice || group.len() > forms) {
                let name = &first.definition.name;
                return fail(match twice || forms == 1 {
                    true => format!("tool {name:?} stands there twice for one server"),
                    false => format!("tool {name:?} has more than {forms} forms"),
                });
            }
        }
        Ok(lock)
    }

    /// The text of a lock file, which [`Lock::parse`] reads back. The same tools give
    /// the same text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut tools: Vec<&LockedTool> = self.tools.iter().collect();
        tools.sort_by(|a, b| a.order().cmp(&b.order()));
        let several = tools
            .windows(2)
            .any(|two| matches!(two, [a, b] if a.key() == b.key()));
        let version = if several { SEVERAL } else { VERSION };
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
                entry.insert("definition".to_owned(), Value::clone(&tool.definition.json));
                Value::Object(entry)
            })
            .collect();
        let root = json!({"version": version, "tools": tools});
        let mut text = serde_json::to_string_pretty(&root).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The accepted forms of a tool: of this server, or else of entries that name no server.
    /// Linear in the tools.
    pub fn forms(&self, server: Option<&str>, name: &str) -> impl Iterator<Item = &ToolDefinition> {
        let is = |tool: &&LockedTool, of: Option<&str>| {
            tool.server.as_deref() == of && tool.definition.name == name
        };
        let own = self.tools.iter().any(|tool| is(&tool, server));
        let of = server.filter(|_| own);
        let found = self
            .tools
            .iter()
            .filter(move |tool| tool.server.as_deref() == of && tool.definition.name == name);
        found.map(|tool| &tool.definition)
    }

    /// An accepted form of a tool. See [`Lock::forms`].
    #[must_use]
    pub fn find(&self, server: Option<&str>, name: &str) -> Option<&ToolDefinition> {
        self.forms(server, name).next()
    }

    /// Accepts a form of a tool beside those that there are; `false`: there are too many.
    pub fn add(&mut self, tool: LockedTool) -> bool {
        let forms = self.tools.iter().filter(|other| other.key() == tool.key());
        if forms.count() >= MAX_FORMS {
            return false;
        }
        self.tools.push(tool);
        self.sort();
        true
    }

    /// What differs from an `older` lock, sorted by server, then name. What is one of the older
    /// lock's forms does not. `n log n`.
    #[must_use]
    pub fn changes<'a>(&'a self, older: &'a Self) -> Vec<(Change, &'a LockedTool)> {
        let index = |lock: &'a Self| -> HashMap<_, Vec<&'a LockedTool>> {
            let mut index: HashMap<_, Vec<&LockedTool>> = HashMap::new();
            for tool in &lock.tools {
                index.entry(tool.key()).or_default().push(tool);
            }
            index
        };
        let (before, after) = (index(older), index(self));
        let mut changes: Vec<(Change, &LockedTool)> = Vec::new();
        for tool in &self.tools {
            match before.get(&tool.key()) {
                None => changes.push((Change::Added, tool)),
                Some(forms) if !forms.iter().any(|form| form.order() == tool.order()) => {
                    changes.push((Change::Changed, tool));
                }
                Some(_) => {}
            }
        }
        let gone = |tools: &Vec<&'a LockedTool>| {
            let first = tools.first()?;
            (!after.contains_key(&first.key())).then_some((Change::Removed, *first))
        };
        changes.extend(before.values().filter_map(gone));
        changes.sort_by(|a, b| a.1.order().cmp(&b.1.order()));
        changes
    }

    fn sort(&mut self) {
        self.tools.sort_by(|a, b| a.order().cmp(&b.order()));
    }
}

impl LockedTool {
    fn key(&self) -> (Option<&str>, &str) {
        (self.server.as_deref(), &self.definition.name)
    }

    fn order(&self) -> (Option<&str>, &str, &[u8; 32]) {
        (
            self.server.as_deref(),
            &self.definition.name,
            &self.definition.digest,
        )
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
            "the definition of {:?} does not have the digest beside it; it was edited. Put it back as it was, or write the lock anew with `bouncer pin --force` and look at what it says",
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
            text.replace("\"version\": 1", "\"version\": 3"),
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
    fn a_tool_may_have_several_forms() {
        let both = || vec![tool("a", "x, y"), tool("b", "")];
        let mut lock = Lock::new(Some("s"), both());
        let one = lock.to_text();
        assert!(one.contains("\"version\": 1"));
        let other = Lock::new(Some("s"), vec![tool("a", "y, x"), tool("b", "")]);
        let [(Change::Changed, form)] = other.changes(&lock)[..] else {
            panic!("one change");
        };
        assert!(lock.add(form.clone()));
        assert!(other.changes(&lock).is_empty());
        assert!(Lock::new(Some("s"), both()).changes(&lock).is_empty());
        let text = lock.to_text();
        assert!(text.contains("\"version\": 2"));
        let back = Lock::parse(&text).unwrap();
        assert_eq!((back.to_text(), back.tools.len()), (text.clone(), 3));
        assert_eq!(back.forms(Some("s"), "a").count(), 2);
        assert_eq!(back.forms(Some("s"), "b").count(), 1);
        // What has none any more is gone as a whole.
        let left = Lock::new(Some("s"), vec![tool("b", "")]);
        assert_eq!(left.changes(&lock).len(), 1);
        // An older version has no such thing, and no form stands there twice.
        assert!(Lock::parse(&text.replace("\"version\": 2", "\"version\": 1")).is_err());
        let mut twice = lock.clone();
        twice.tools.push(lock.tools[0].clone());
        assert!(Lock::parse(&twice.to_text()).is_err());
        for number in 2..MAX_FORMS {
            let definition = tool("a", &number.to_string());
            let server = Some("s".to_owned());
            assert!(lock.add(LockedTool { server, definition }));
        }
        let server = Some("s".to_owned());
        let definition = tool("a", "one more");
        assert!(!lock.add(LockedTool { server, definition }));
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
