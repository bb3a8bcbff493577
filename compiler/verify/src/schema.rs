//! What a tool's schema says about one argument.
//!
//! The schema comes from a server: only references inside it are followed, and steps
//! are bounded. What is not understood is unknown, which is neither yes nor no.

use bouncer_compiler::policy::{Path, Segment};
use serde_json::{Map, Value, json};

/// Sub-schemas looked at for one question.
const MOST: usize = 256;

/// Whether a schema has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
    Unknown,
}

/// The names of the arguments, in the order of the schema.
pub(super) fn names(schema: &Value) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    for node in alternatives(schema, schema).0 {
        let properties = node.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if !out.contains(&name.as_str()) {
                out.push(name);
            }
        }
    }
    out
}

/// Whether the schema has the argument `path`.
pub(super) fn has(schema: &Value, path: &Path) -> Known {
    find(schema, path).0
}

/// The schema of the argument `path`: the first of its alternatives.
pub(super) fn at<'s>(schema: &'s Value, path: &Path) -> Option<&'s Value> {
    find(schema, path).1
}

fn find<'s>(root: &'s Value, path: &Path) -> (Known, Option<&'s Value>) {
    let mut here: Vec<&'s Value> = vec![root];
    for segment in &path.0 {
        let Segment::Key(key) = segment else {
            continue; // arrays are transparent
        };
        let mut next: Vec<&'s Value> = Vec::new();
        let mut open = false;
        let mut listed = false;
        for schema in here {
            let (nodes, complete) = alternatives(root, schema);
            open |= !complete;
            for node in nodes {
                if let Some(properties) = node.get("properties").and_then(Value::as_object) {
                    listed = true;
                    next.extend(properties.get(key));
                }
                open |= node.get("patternProperties").is_some();
                open |= match node.get("additionalProperties") {
                    None => false,
                    Some(Value::Bool(allowed)) => {
                        listed |= !allowed;
                        *allowed
                    }
                    Some(_) => true,
                };
            }
        }
        if next.is_empty() {
            let answer = if open || !listed {
                Known::Unknown
            } else {
                Known::No
            };
            return (answer, None);
        }
        next.truncate(MOST);
        here = next;
    }
    (Known::Yes, here.first().copied())
}

/// The schemas that apply to the place of `schema`, elements of lists included; and
/// whether all of them could be found.
fn alternatives<'s>(root: &'s Value, schema: &'s Value) -> (Vec<&'s Map<String, Value>>, bool) {
    let mut out: Vec<&'s Map<String, Value>> = Vec::new();
    let mut open = vec![schema];
    let mut complete = true;
    while let Some(schema) = open.pop() {
        let Some(object) = schema.as_object() else {
            complete &= schema.as_bool() != Some(true);
            continue;
        };
        if out.iter().any(|seen| std::ptr::eq(*seen, object)) {
            continue;
        }
        if out.len() >= MOST {
            return (out, false);
        }
        out.push(object);
        if let Some(reference) = object.get("$ref") {
            let target = reference.as_str().and_then(|r| r.strip_prefix('#'));
            match target.and_then(|pointer| root.pointer(pointer)) {
                Some(target) => open.push(target),
                None => complete = false,
            }
        }
        for keyword in ["then", "else", "items"] {
            open.extend(object.get(keyword).filter(|inner| inner.is_object()));
        }
        for keyword in ["anyOf", "oneOf", "allOf", "prefixItems", "items"] {
            let list = object.get(keyword).and_then(Value::as_array);
            open.extend(list.into_iter().flatten());
        }
    }
    (out, complete)
}

/// Arguments for a call: `value` at `path`, and something small for whatever else the
/// schema requires.
pub(super) fn arguments(schema: Option<&Value>, path: &Path, value: &Value) -> Value {
    let mut object = Map::new();
    let properties = |name: &str| schema?.get("properties")?.get(name);
    let required = schema
        .and_then(|s| s.get("required"))
        .and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        object.insert(name.to_owned(), filler(properties(name)));
    }
    let mut all = Value::Object(object);
    let list = schema
        .and_then(|schema| at(schema, path))
        .is_some_and(|inner| inner.get("type").and_then(Value::as_str) == Some("array"));
    let ends_in_list = matches!(path.0.last(), Some(Segment::Each | Segment::Index(_)));
    let value = if list && !ends_in_list {
        json!([value])
    } else {
        value.clone()
    };
    put(&mut all, &path.0, value);
    all
}

/// A small value that the schema allows, as far as it is plain to see.
fn filler(schema: Option<&Value>) -> Value {
    let Some(schema) = schema else {
        return json!("x");
    };
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|list| list.get(0)) {
        return first.clone();
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("null") => Value::Null,
        _ => json!("x"),
    }
}

/// Puts `value` at the end of `steps`, making what is missing on the way.
fn put(place: &mut Value, steps: &[Segment], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *place = value;
        return;
    };
    match step {
        Segment::Key(key) => {
            if let Value::Array(items) = place {
                if items.is_empty() {
                    items.push(json!({}));
                }
                for item in items {
                    put(item, steps, value.clone());
                }
                return;
            }
            if !place.is_object() {
                *place = json!({});
            }
            if let Some(object) = place.as_object_mut() {
                put(
                    object.entry(key.clone()).or_insert(Value::Null),
                    rest,
                    value,
                );
            }
        }
        Segment::Each | Segment::Index(_) => {
            let index = match step {
                Segment::Index(index) => (*index as usize).min(16),
                _ => 0,
            };
            if !place.is_array() {
                *place = json!([]);
            }
            if let Some(items) = place.as_array_mut() {
                while items.len() <= index {
                    items.push(Value::Null);
                }
                if let Some(item) = items.get_mut(index) {
                    put(item, rest, value);
                }
            }
        }
    }
}

/// A path as a policy writes it.
pub(super) fn shown(path: &Path) -> String {
    let mut out = String::new();
    for segment in &path.0 {
        match segment {
            Segment::Key(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Segment::Index(index) => out.push_str(&format!("[{index}]")),
            Segment::Each => out.push_str("[*]"),
        }
    }
    if out.is_empty() {
        out.push_str("args");
    }
    out
}

/// The object keys of a path.
pub(super) fn keys(path: &Path) -> Vec<&str> {
    path.0
        .iter()
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        let steps = text.split('.').filter(|step| !step.is_empty());
        Path(steps.map(|step| Segment::Key(step.to_owned())).collect())
    }

    #[test]
    fn arguments_are_found_through_alternatives_and_references() {
        let schema = json!({
            "$defs": {"who": {"properties": {"mail": {"type": "string"}}}},
            "properties": {
                "to": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/who"}]},
                "rows": {"type": "array", "items": {"properties": {"url": {}}}},
                "open": {"type": "object"},
                "free": {"properties": {"a": {}}, "additionalProperties": true},
                "away": {"$ref": "https://example.com/x.json"},
            },
        });
        for (text, known) in [
            ("to", Known::Yes),
            ("to.mail", Known::Yes),
            ("to.name", Known::No),
            ("rows.url", Known::Yes),
            ("rows.uri", Known::No),
            ("open.x", Known::Unknown),
            ("free.x", Known::Unknown),
            ("away.x", Known::Unknown),
            ("cc", Known::No),
            ("", Known::Yes),
        ] {
            assert_eq!(has(&schema, &path(text)), known, "{text}");
        }
        assert_eq!(has(&json!({"type": "object"}), &path("x")), Known::Unknown);
        assert_eq!(names(&schema), ["away", "free", "open", "rows", "to"]);
    }

    #[test]
    fn hostile_schemas_end() {
        let circle = json!({"$ref": "#/a", "a": {"allOf": [{"$ref": "#"}, {"$ref": "#/a"}]}});
        assert_eq!(has(&circle, &path("x")), Known::Unknown);
    }

    #[test]
    fn arguments_are_filled_from_the_schema() {
        let schema = json!({
            "properties": {"to": {"type": "array", "items": {"type": "string"}},
                "n": {"type": "integer"}, "mode": {"enum": ["dry", "wet"]}},
            "required": ["to", "n", "mode"],
        });
        assert_eq!(
            arguments(Some(&schema), &path("to"), &json!("a@b.example")),
            json!({"to": ["a@b.example"], "n": 1, "mode": "dry"})
        );
        let nested = Path(vec![
            Segment::Key("items".into()),
            Segment::Each,
            Segment::Key("url".into()),
        ]);
        assert_eq!(
            arguments(None, &nested, &json!("u")),
            json!({"items": [{"url": "u"}]})
        );
        assert_eq!(shown(&nested), "items[*].url");
        assert_eq!(keys(&nested), ["items", "url"]);
    }
}
