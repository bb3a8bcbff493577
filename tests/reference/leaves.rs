//! Which leaves a path names.
//!
//! Arrays are transparent at every step; an object at the end of the path gives all
//! leaves below it, marked as reached through an object.

use super::json::Json;
use bouncer_compiler::policy::{Path, Scalar, Segment};
use unicode_normalization::UnicodeNormalization;

/// A scalar that a path names.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The scalar.
    pub value: Scalar,
    /// It stands below an object that the path does not name: it can satisfy a
    /// restrictive test but never a permissive one.
    pub through_object: bool,
    /// The nearest name above it.
    pub name: String,
}

impl Leaf {
    /// The leaf as text: a string's own text, else its JSON text.
    pub fn text(&self) -> String {
        text(&self.value)
    }
}

/// A string's own text, else the JSON text.
pub fn text(value: &Scalar) -> String {
    match value {
        Scalar::Str(text) | Scalar::Number(text) => text.clone(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Null => "null".to_owned(),
    }
}

/// The value as a scalar, unless it is an array or an object.
pub fn scalar(value: &Json) -> Option<Scalar> {
    Some(match value {
        Json::Null => Scalar::Null,
        Json::Bool(value) => Scalar::Bool(*value),
        Json::Number(text) => Scalar::Number(text.clone()),
        Json::Str(text) => Scalar::Str(text.clone()),
        Json::Array(_) | Json::Object(_) => return None,
    })
}

/// Ends a path of which the names of members are meant. No argument can be called so.
pub fn names() -> Segment {
    Segment::Key("\0names".to_owned())
}

/// The names of the members at a path, and of those of objects in these, which count as
/// reached through an object.
fn members(root: &Json, path: &Path) -> Vec<Leaf> {
    let mut found: Vec<(*const Json, Leaf)> = Vec::new();
    for (node, variant) in marked(root, path) {
        named(node, variant, false, &mut found);
    }
    let order = document_order(root);
    found.sort_by_key(|(json, _)| order.iter().position(|other| std::ptr::eq(*other, *json)));
    found.into_iter().map(|(_, leaf)| leaf).collect()
}

fn named(node: &Json, variant: bool, below: bool, found: &mut Vec<(*const Json, Leaf)>) {
    match node {
        Json::Array(items) => {
            for item in items {
                named(item, variant, below, found);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                let through_object = variant || below;
                match found
                    .iter_mut()
                    .find(|(seen, _)| std::ptr::eq(*seen, value))
                {
                    Some((_, leaf)) => leaf.through_object |= through_object,
                    None => found.push((
                        value,
                        Leaf {
                            value: Scalar::Str(name.clone()),
                            through_object,
                            name: String::new(),
                        },
                    )),
                }
                named(value, variant, true, found);
            }
        }
        _ => {}
    }
}

/// The leaves at `path`, in document order, each once. A leaf that the path reaches
/// in two ways counts as reached through an object if either way does.
pub fn leaves(root: &Json, path: &Path) -> Vec<Leaf> {
    if let Some((last, above)) = path.0.split_last()
        && *last == names()
    {
        return members(root, &Path(above.to_vec()));
    }
    let mut found: Vec<(*const Json, Leaf)> = Vec::new();
    for (node, variant) in marked(root, path) {
        below(
            node,
            variant,
            &mut |json, value, through_object| match found
                .iter_mut()
                .find(|(seen, _)| std::ptr::eq(*seen, json))
            {
                Some((_, leaf)) => leaf.through_object |= through_object,
                None => found.push((
                    json,
                    Leaf {
                        value,
                        through_object,
                        name: nearest_name(root, json).unwrap_or_default(),
                    },
                )),
            },
        );
    }
    let order = document_order(root);
    found.sort_by_key(|(json, _)| order.iter().position(|other| std::ptr::eq(*other, *json)));
    found.into_iter().map(|(_, leaf)| leaf).collect()
}

/// The nearest name above a value.
fn nearest_name(root: &Json, value: *const Json) -> Option<String> {
    let there = |node: &Json| std::ptr::eq(node, value);
    match root {
        Json::Array(items) => items.iter().find_map(|item| match there(item) {
            true => Some(String::new()),
            false => nearest_name(item, value),
        }),
        Json::Object(members) => members.iter().find_map(|(name, member)| {
            let inner = match there(member) {
                true => Some(String::new()),
                false => nearest_name(member, value),
            };
            inner.map(|inner| {
                if inner.is_empty() {
                    name.clone()
                } else {
                    inner
                }
            })
        }),
        _ => None,
    }
}

/// Whether the value is an object, or an array that holds one at any depth.
pub fn holds_object(node: &Json) -> bool {
    match node {
        Json::Array(items) => items.iter().any(holds_object),
        Json::Object(_) => true,
        _ => false,
    }
}

/// The values at `path`, each once.
pub fn nodes<'a>(root: &'a Json, path: &Path) -> Vec<&'a Json> {
    marked(root, path)
        .into_iter()
        .map(|(node, _)| node)
        .collect()
}

/// As [`nodes`], and whether a key on the way is only what some readers take for the
/// one in the path.
fn marked<'a>(root: &'a Json, path: &Path) -> Vec<(&'a Json, bool)> {
    let mut found = Vec::new();
    follow(root, &path.0, false, &mut found);
    found
}

/// Whether some key of the arguments is only what some readers take for one in `path`.
pub fn has_variant(root: &Json, path: &Path) -> bool {
    marked(root, path).iter().any(|(_, variant)| *variant)
}

/// Whether a reader that ignores case takes one key for the other.
fn alike(a: &str, b: &str) -> bool {
    // By upper case and then lower, letter by letter; the dotted i is one, too.
    let single = |c: char, changed: String| {
        if changed.chars().count() == 1 {
            changed
        } else {
            c.to_string()
        }
    };
    let fold = |text: &str| -> String {
        let dotted = text.replace('\u{130}', "i");
        let upper = dotted
            .chars()
            .map(|c| single(c, c.to_uppercase().to_string()));
        let upper: String = upper.collect();
        upper
            .chars()
            .flat_map(|c| {
                single(c, c.to_lowercase().to_string())
                    .nfd()
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    fold(a) == fold(b)
}

fn follow<'a>(node: &'a Json, steps: &[Segment], variant: bool, found: &mut Vec<(&'a Json, bool)>) {
    let Some((step, rest)) = steps.split_first() else {
        match found
            .iter_mut()
            .find(|(other, _)| std::ptr::eq(*other, node))
        {
            Some((_, marked)) => *marked |= variant,
            None => found.push((node, variant)),
        }
        return;
    };
    match (step, node) {
        (Segment::Key(key), Json::Object(members)) => {
            for (name, value) in members {
                if alike(name, key) {
                    follow(value, rest, variant || name != key, found);
                }
            }
        }
        (Segment::Key(key), Json::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                if *key == index.to_string() {
                    follow(item, rest, variant, found);
                }
                follow(item, steps, variant, found);
            }
        }
        (Segment::Index(wanted), Json::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                if index == *wanted as usize {
                    follow(item, rest, variant, found);
                }
                follow(item, steps, variant, found);
            }
        }
        // Arrays are transparent anyway.
        (Segment::Each, _) => follow(node, rest, variant, found),
        _ => {}
    }
}

fn below<'a>(node: &'a Json, through_object: bool, visit: &mut impl FnMut(&'a Json, Scalar, bool)) {
    match node {
        Json::Array(items) => {
            for item in items {
                below(item, through_object, visit);
            }
        }
        Json::Object(members) => {
            for (_, value) in members {
                below(value, true, visit);
            }
        }
        _ => {
            if let Some(value) = scalar(node) {
                visit(node, value, through_object);
            }
        }
    }
}

/// Every value of the document, in the order it is written.
fn document_order(root: &Json) -> Vec<*const Json> {
    let mut order: Vec<*const Json> = vec![root];
    match root {
        Json::Array(items) => order.extend(items.iter().flat_map(document_order)),
        Json::Object(members) => {
            order.extend(members.iter().flat_map(|(_, value)| document_order(value)));
        }
        _ => {}
    }
    order
}

/// A path as a policy writes it, without `args.`.
pub fn written(path: &Path) -> String {
    let mut text = String::new();
    for segment in &path.0 {
        match segment {
            Segment::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Segment::Index(index) => text.push_str(&format!(".{index}")),
            Segment::Each => {}
        }
    }
    if text.is_empty() {
        "args".to_owned()
    } else {
        text
    }
}

#[test]
fn paths_see_through_arrays_and_mark_objects() {
    let root = super::json::parse(
        br#"{"a":[["x"],"y"],"b":{"c":[1,{"d":2}]},"e":[{"f":"p"},{"f":["q"]},{"g":0}],"h":[],"i":{}}"#,
    )
    .unwrap();
    let at = |keys: &[Segment]| -> Vec<(String, bool)> {
        leaves(&root, &Path(keys.to_vec()))
            .into_iter()
            .map(|leaf| (leaf.text(), leaf.through_object))
            .collect()
    };
    let key = |k: &str| Segment::Key(k.to_owned());
    let list = |items: &[(&str, bool)]| -> Vec<(String, bool)> {
        items.iter().map(|(t, b)| ((*t).to_owned(), *b)).collect()
    };
    assert_eq!(at(&[key("a")]), list(&[("x", false), ("y", false)]));
    assert_eq!(at(&[key("a"), key("0")]), list(&[("x", false)]));
    assert_eq!(at(&[key("a"), Segment::Index(1)]), list(&[("y", false)]));
    assert_eq!(at(&[key("b")]), list(&[("1", true), ("2", true)]));
    assert_eq!(
        at(&[key("b"), key("c")]),
        list(&[("1", false), ("2", true)])
    );
    assert_eq!(
        at(&[key("e"), Segment::Each, key("f")]),
        list(&[("p", false), ("q", false)])
    );
    assert_eq!(
        at(&[key("e"), key("f")]),
        list(&[("p", false), ("q", false)])
    );
    assert_eq!(at(&[key("h")]), []);
    assert_eq!(at(&[key("i")]), []);
    assert_eq!(at(&[]).len(), 7);
}
