//! Finds the destination-shaped properties of a JSON Schema.
//!
//! The schema comes from a server and may be hostile: nothing is fetched, only
//! references inside the schema itself are followed, depth and steps are bounded,
//! and every part that is not understood counts as a destination. The names and
//! formats to look for come from [`Heuristics`].

use super::heuristics::Heuristics;
use serde_json::{Map, Value};

/// Schemas nest no deeper than this in earnest; references count too.
const MAX_DEPTH: usize = 48;
/// Sub-schemas visited in all. References make a small schema large.
const MAX_STEPS: usize = 8192;
/// Destinations and recursions noted in all.
const MAX_FOUND: usize = 128;

/// Keywords whose value is a schema for the same place, or for an element of the list
/// there (arrays are transparent), or for the keys of the object there.
const SAME_PLACE: [&str; 10] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "if",
    "then",
    "else",
    "propertyNames",
    "contentSchema",
    "extends",
];
/// Keywords whose value is a list of such schemas.
const SAME_PLACE_LISTS: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
/// Keywords whose value is a schema for members whose keys are not known.
const OPEN_MEMBERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// The paths of the destinations in `schema`, as [`Derived::sinks`](super::Derived::sinks)
/// promises them.
pub(super) fn destinations(heuristics: &Heuristics, schema: &Value) -> Vec<Vec<String>> {
    let mut walk = Walk {
        heuristics,
        root: schema,
        steps: 0,
        path: Vec::new(),
        entered: Vec::new(),
        found: Vec::new(),
        recursions: Vec::new(),
    };
    walk.visit(schema, 0);
    walk.finish()
}

struct Walk<'a> {
    heuristics: &'a Heuristics,
    root: &'a Value,
    steps: usize,
    /// Where the walk stands: object keys from the root of the arguments.
    path: Vec<&'a str>,
    /// References that are being followed: target, and the length of the path then.
    entered: Vec<(*const Value, usize)>,
    found: Vec<Vec<&'a str>>,
    /// Places whose schema is the same as that of a place above: (place, length of the
    /// path of the place above).
    recursions: Vec<(Vec<&'a str>, usize)>,
}

impl<'a> Walk<'a> {
    /// Looks at the schema for the place where the walk stands.
    fn visit(&mut self, schema: &'a Value, depth: usize) {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS {
            // Whatever was not seen may be anywhere.
            self.path.clear();
            self.note();
            return;
        }
        let Some(object) = schema.as_object() else {
            return; // `true`, `false`, or no schema at all: says nothing
        };
        if depth > MAX_DEPTH {
            return self.note();
        }
        let format = object.get("format").and_then(Value::as_str);
        if format.is_some_and(|format| self.heuristics.is_sink_format(format)) {
            return self.note();
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = object.get(keyword) {
                self.follow(reference, depth);
            }
        }
        self.members(object, depth);
        for keyword in SAME_PLACE {
            if let Some(inner) = object.get(keyword) {
                self.visit(inner, depth.saturating_add(1));
            }
        }
        for keyword in SAME_PLACE_LISTS {
            for inner in object
                .get(keyword)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                self.visit(inner, depth.saturating_add(1));
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let inner = object.get(keyword).and_then(Value::as_object);
            for inner in inner.into_iter().flat_map(Map::values) {
                self.visit(inner, depth.saturating_add(1));
            }
        }
    }

    /// Looks at the members that the schema allows the object to have.
    fn members(&mut self, object: &'a Map<String, Value>, depth: usize) {
        let properties = object.get("properties").and_then(Value::as_object);
        for (name, inner) in properties.into_iter().flatten() {
            let standing = self.path.len();
            self.path.push(name);
            if self.heuristics.is_sink_name(name) && !only_boolean(inner, depth) {
                self.note();
            } else {
                self.visit(inner, depth.saturating_add(1));
            }
            self.path.truncate(standing);
        }
        // Members without a known key cannot be named by a path: if one of them is a
        // destination, the object as a whole is.
        let patterns = object.get("patternProperties").and_then(Value::as_object);
        for (pattern, inner) in patterns.into_iter().flatten() {
            if self.heuristics.is_sink_name(pattern) && !only_boolean(inner, depth) {
                self.note();
            } else {
                self.visit_open(inner, depth);
            }
        }
        for inner in OPEN_MEMBERS
            .iter()
            .filter_map(|keyword| object.get(*keyword))
        {
            self.visit_open(inner, depth);
        }
    }

    /// Looks at the schema of members without a known key.
    fn visit_open(&mut self, schema: &'a Value, depth: usize) {
        let standing = self.path.len();
        let (found, recursions) = (self.found.len(), self.recursions.len());
        self.visit(schema, depth.saturating_add(1));
        for path in self.found.iter_mut().skip(found) {
            path.truncate(standing);
        }
        for (path, _) in self.recursions.iter_mut().skip(recursions) {
            path.truncate(standing);
        }
    }

    /// Looks at the target of a reference.
    fn follow(&mut self, reference: &'a Value, depth: usize) {
        let Some(target) = reference.as_str().and_then(|r| resolve(self.root, r)) else {
            return self.note(); // not in this schema: may be anything
        };
        let address: *const Value = target;
        // The root counts as entered from the start.
        let above = if std::ptr::eq(address, self.root) {
            Some(0)
        } else {
            self.entered
                .iter()
                .find(|(entered, _)| std::ptr::eq(*entered, address))
                .map(|(_, length)| *length)
        };
        if let Some(above) = above {
            // At the very same place it adds nothing.
            if above < self.path.len() && self.recursions.len() < MAX_FOUND {
                self.recursions.push((self.path.clone(), above));
            } else if above < self.path.len() {
                self.note();
            }
            return;
        }
        self.entered.push((address, self.path.len()));
        self.visit(target, depth.saturating_add(1));
        self.entered.pop();
    }

    /// Notes the place where the walk stands as a destination.
    fn note(&mut self) {
        if self.found.len() < MAX_FOUND {
            self.found.push(self.path.clone());
        } else if let Some(last) = self.found.last_mut() {
            last.clear(); // too many to name: the arguments as a whole
        }
    }

    /// Adds what follows from recursion, sorts, and drops what stands below another.
    fn finish(mut self) -> Vec<Vec<String>> {
        // A place with the schema of a place above holds destinations if that one does.
        // Each round settles at least one recursion, or is the last.
        let mut open = std::mem::take(&mut self.recursions);
        loop {
            let (hit, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|(path, above)| {
                let above = path.get(..*above).unwrap_or(path);
                self.found.iter().any(|found| found.starts_with(above))
            });
            if hit.is_empty() {
                break;
            }
            self.found.extend(hit.into_iter().map(|(path, _)| path));
            open = rest;
        }
        self.found.sort_unstable();
        // Sorted, a path stands right before the paths below it.
        self.found
            .dedup_by(|later, kept| later.starts_with(kept.as_slice()));
        let owned = |path: Vec<&str>| path.into_iter().map(str::to_owned).collect();
        self.found.into_iter().map(owned).collect()
    }
}

/// Whether the schema allows nothing but a bool (or null): a switch such as
/// `notify_email`, not a destination. What is not plain to see counts as no.
fn only_boolean(schema: &Value, depth: usize) -> bool {
    let is = |name: &str, value: &Value| value.as_str() == Some(name);
    match schema.get("type") {
        Some(Value::Array(types)) => {
            types.iter().any(|t| is("boolean", t))
                && types.iter().all(|t| is("boolean", t) || is("null", t))
        }
        Some(single) => is("boolean", single),
        None => ["anyOf", "oneOf"].iter().any(|keyword| {
            let branches = schema.get(*keyword).and_then(Value::as_array);
            depth < MAX_DEPTH
                && branches.is_some_and(|branches| {
                    let null = |b: &Value| b.get("type").is_some_and(|t| is("null", t));
                    let boolean = |b: &Value| only_boolean(b, depth.saturating_add(1));
                    branches.iter().any(boolean) && branches.iter().all(|b| null(b) || boolean(b))
                })
        }),
    }
}

/// The part of `root` that a reference such as `#/$defs/contact` names. Other
/// documents and anchors are not looked for.
fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if !pointer.contains('%') {
        return root.pointer(pointer);
    }
    // A URI fragment may be percent-encoded.
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()?.checked_mul(16)?.checked_add(digit()?)?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    root.pointer(std::str::from_utf8(&bytes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sinks(schema: &Value) -> Vec<String> {
        let heuristics = Heuristics {
            sink_names: vec!["to".into(), "url".into()],
            sink_formats: vec!["email".into()],
            ..Heuristics::default()
        };
        let paths = destinations(&heuristics, schema);
        paths.iter().map(|path| path.join(".")).collect()
    }

    #[test]
    fn nested_payloads_and_lists() {
        let schema = json!({"properties": {
            "message": {"properties": {"to": {"type": "array"}, "body": {}}},
            "rows": {"type": "array", "items": {"properties": {"url": {"type": "integer"}}}},
            "pair": {"prefixItems": [{"format": "email"}, {}]},
            "old": {"items": [{"properties": {"to": true}}]},
            "who": {"type": "string", "format": "EMAIL"},
        }});
        let expected = ["message.to", "old.to", "pair", "rows.url", "who"];
        assert_eq!(sinks(&schema), expected);
    }

    #[test]
    fn alternatives() {
        let schema = json!({
            "anyOf": [{"properties": {"to": {}}}, {"properties": {"x": {"anyOf": [
                {"type": "null"}, {"type": "string", "format": "email"}]}}}],
            "if": {"properties": {"a": {}}}, "then": {"properties": {"url": {}}},
        });
        assert_eq!(sinks(&schema), ["to", "url", "x"]);
    }

    #[test]
    fn members_without_known_keys_flag_their_object() {
        let schema = json!({"properties": {
            "headers": {"additionalProperties": {"format": "email"}},
            "map": {"patternProperties": {"^x": {"properties": {"to": {}}}}},
            "plain": {"additionalProperties": {"type": "string"}},
            "keys": {"propertyNames": {"format": "email"}},
        }});
        assert_eq!(sinks(&schema), ["headers", "keys", "map"]);
        let whole = destinations(
            &Heuristics {
                sink_formats: vec!["email".into()],
                ..Heuristics::default()
            },
            &json!({"additionalProperties": {"format": "email"}}),
        );
        assert_eq!(whole, [Vec::<String>::new()]);
    }

    #[test]
    fn a_switch_is_no_destination_but_a_number_is() {
        let schema = |inner: Value| json!({"properties": {"to": inner}});
        for switch in [
            json!({"type": "boolean"}),
            json!({"type": ["boolean", "null"]}),
            json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        ] {
            assert_eq!(sinks(&schema(switch.clone())), [""; 0], "{switch}");
        }
        for other in [
            json!({"type": "integer"}),
            json!({"type": ["boolean", "string"]}),
            json!({"anyOf": [{"type": "boolean"}, {}]}),
            json!({"type": "null"}),
            json!({"type": []}),
            json!({}),
            json!(true),
        ] {
            assert_eq!(sinks(&schema(other.clone())), ["to"], "{other}");
        }
    }

    #[test]
    fn references_inside_the_schema_are_followed() {
        let schema = json!({
            "$defs": {"a b/c": {"properties": {"to": {}}}, "m": {"$ref": "#/definitions/n"}},
            "definitions": {"n": {"format": "email"}},
            "properties": {
                "p": {"$ref": "#/$defs/a%20b~1c"}, "q": {"items": {"$ref": "#/$defs/m"}},
            },
        });
        assert_eq!(sinks(&schema), ["p.to", "q"]);
    }

    #[test]
    fn what_cannot_be_read_is_a_destination() {
        for reference in [
            json!("http://example.com/schema.json"),
            json!("other.json#/x"),
            json!("#/nowhere"),
            json!("#anchor"),
            json!("#/%zz"),
            json!("#/%"),
            json!("#/%ff"),
            json!(7),
        ] {
            let schema = json!({"properties": {"x": {"$ref": reference}, "y": {}}});
            assert_eq!(sinks(&schema), ["x"], "{schema}");
        }
    }

    #[test]
    fn recursion_carries_destinations_down() {
        let schema = json!({
            "$defs": {
                "node": {"properties": {"url": {}, "children": {"items": {"$ref": "#/$defs/node"}}}},
                "tree": {"properties": {"name": {}, "left": {"$ref": "#/$defs/tree"}}},
            },
            "properties": {"n": {"$ref": "#/$defs/node"}, "t": {"$ref": "#/$defs/tree"}},
        });
        assert_eq!(sinks(&schema), ["n.children", "n.url"]);
        let root = json!({"properties": {"to": {}, "next": {"$ref": "#"}}});
        assert_eq!(sinks(&root), ["next", "to"]);
        let itself = json!({"$ref": "#", "properties": {"x": {"$ref": "#/properties/x"}}});
        assert_eq!(sinks(&itself), [""; 0]);
    }

    #[test]
    fn hostile_schemas_end_soon_and_closed() {
        // Each level refers twice to the next: 2^30 places in 30 definitions.
        let mut defs = Map::new();
        for level in 0..30 {
            let next = format!("#/$defs/d{}", level + 1);
            let node = json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}});
            defs.insert(format!("d{level}"), node);
        }
        defs.insert("d30".into(), json!({"properties": {"to": {}}}));
        let doubling = json!({"$defs": defs, "properties": {"x": {"$ref": "#/$defs/d0"}}});
        assert_eq!(sinks(&doubling), [""], "the whole arguments");

        let mut deep = json!({"properties": {"to": {}}});
        for _ in 0..100 {
            deep = json!({"properties": {"x": deep}});
        }
        assert_eq!(sinks(&deep).len(), 1);

        let many: Map<String, Value> = (0..MAX_FOUND + 5)
            .map(|i| (format!("p{i}"), json!({"format": "email"})))
            .collect();
        assert_eq!(sinks(&json!({"properties": many})), [""]);
    }
}
