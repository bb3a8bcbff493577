//! The arguments of a listed tool: names, and values that they can have.
//!
//! Knows schemas, and nothing of what names and values mean.

use serde_json::Value;

/// The arguments that an `inputSchema` has at its top, each with the values that it can have:
/// those of `enum` and `const`, also below `anyOf`, `oneOf`, `allOf`, `items` and a reference
/// into `$defs`. An argument without them comes once, with `None`.
///
/// Looks no deeper than four levels, whatever the schema.
pub fn schema_arguments(schema: &Value) -> impl Iterator<Item = (&str, Option<&str>)> + Clone {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .flat_map(move |(name, inner)| {
            let mut values = Vec::new();
            collect(schema, inner, 4, &mut values);
            let unknown = values.is_empty().then_some(None);
            let values = values.into_iter().map(Some).chain(unknown);
            values.map(|value| (name.as_str(), value))
        })
}

/// Collects the values that a schema allows.
fn collect<'a>(root: &'a Value, schema: &'a Value, depth: usize, values: &mut Vec<&'a str>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let listed = schema.get("enum").and_then(Value::as_array);
    values.extend(listed.into_iter().flatten().filter_map(Value::as_str));
    values.extend(schema.get("const").and_then(Value::as_str));
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let inner = schema.get(keyword).and_then(Value::as_array);
        for inner in inner.into_iter().flatten() {
            collect(root, inner, depth, values);
        }
    }
    if let Some(items) = schema.get("items") {
        collect(root, items, depth, values);
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    if let Some(target) = target {
        collect(root, target, depth, values);
    }
}
