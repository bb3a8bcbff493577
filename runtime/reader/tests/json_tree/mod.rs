//! Reads one JSON text with serde_json and with the strict reader, and compares.
//!
//! Shared by the property test and the fuzz target.

use std::collections::HashSet;
use std::fmt;

use bouncer_reader::json::{Event, Limits, MalformedKind, Reader, Scratch, members};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Below serde_json's own limit of 128, so that it never decides.
pub const MAX_DEPTH: usize = 20;
const LIMITS: Limits = Limits {
    max_bytes: 1 << 20,
    max_depth: MAX_DEPTH,
};

#[derive(Debug, PartialEq)]
enum Tree {
    Null,
    Bool(bool),
    /// By value as serde_json sees it; exact values are `number`'s tests.
    Number(f64),
    String(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    fn has_duplicates(&self) -> bool {
        match self {
            Self::Array(items) => items.iter().any(Self::has_duplicates),
            Self::Object(members) => {
                let mut seen = HashSet::new();
                !members.iter().all(|(key, _)| seen.insert(key))
                    || members.iter().any(|(_, value)| value.has_duplicates())
            }
            _ => false,
        }
    }

    /// Whether a member has a name that some readers take for another.
    fn has_odd_names(&self) -> bool {
        match self {
            Self::Array(items) => items.iter().any(Self::has_odd_names),
            Self::Object(members) => members.iter().any(|(key, value)| {
                key.contains('\0') || key == "__proto__" || value.has_odd_names()
            }),
            _ => false,
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }
}

struct TreeVisitor;

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Object(members))
    }
}

/// Builds the tree from the reader's events, up to the end of the text.
fn read(bytes: &[u8]) -> Result<Tree, MalformedKind> {
    let mut scratch = Scratch::new(&LIMITS);
    let mut reader = Reader::new(bytes, &LIMITS, &mut scratch).map_err(|m| m.kind)?;
    let mut open: Vec<(Tree, Option<String>)> = Vec::new();
    let mut key = None;
    let mut done = None;
    loop {
        let event = reader.next().map_err(|malformed| {
            assert!(malformed.offset <= bytes.len());
            malformed.kind
        })?;
        assert_eq!(
            reader.depth(),
            open.len()
                + usize::from(matches!(
                    event,
                    Some(Event::ObjectStart | Event::ArrayStart)
                ))
                - usize::from(matches!(event, Some(Event::ObjectEnd | Event::ArrayEnd)))
        );
        let value = match event {
            None => return Ok(done.expect("a value before the end")),
            Some(Event::Key(text)) => {
                key = Some(text.to_cow().into_owned());
                continue;
            }
            Some(Event::ObjectStart) => {
                open.push((Tree::Object(Vec::new()), key.take()));
                continue;
            }
            Some(Event::ArrayStart) => {
                open.push((Tree::Array(Vec::new()), key.take()));
                continue;
            }
            Some(Event::ObjectEnd | Event::ArrayEnd) => {
                let (tree, outer_key) = open.pop().expect("an open container");
                key = outer_key;
                tree
            }
            Some(Event::String(text)) => Tree::String(text.to_cow().into_owned()),
            // serde_json's own number reading, so that both round alike.
            Some(Event::Number(text)) => match serde_json::from_str(text) {
                Ok(tree) => tree,
                Err(error) if is_out_of_range(&error) => Tree::Null,
                Err(error) => panic!("not a number: {text} ({error})"),
            },
            Some(Event::Bool(value)) => Tree::Bool(value),
            Some(Event::Null) => Tree::Null,
        };
        match open.last_mut() {
            Some((Tree::Array(items), _)) => items.push(value),
            Some((Tree::Object(members), _)) => {
                members.push((key.take().expect("a key before the value"), value));
            }
            _ => assert!(done.replace(value).is_none(), "one value only"),
        }
    }
}

fn is_out_of_range(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// Panics unless the two readers agree about `bytes`.
pub fn check(bytes: &[u8]) {
    let shown = || String::from_utf8_lossy(bytes);
    let ours = read(bytes);
    let theirs = serde_json::from_slice::<Tree>(bytes);
    match (&ours, &theirs) {
        (Ok(a), Ok(b)) => {
            assert_eq!(a, b, "{}", shown());
            assert!(!b.has_duplicates(), "duplicate accepted: {}", shown());
            assert!(b.depth() <= MAX_DEPTH, "depth accepted: {}", shown());
            assert!(!b.has_odd_names(), "odd name accepted: {}", shown());
        }
        (Err(kind), Ok(tree)) => match kind {
            MalformedKind::DuplicateKey => assert!(tree.has_duplicates(), "{}", shown()),
            MalformedKind::TooDeep => assert!(tree.depth() > MAX_DEPTH, "{}", shown()),
            MalformedKind::AmbiguousKey => assert!(tree.has_odd_names(), "{}", shown()),
            _ => panic!("refused as {kind:?}: {}", shown()),
        },
        // serde_json refuses what an f64 cannot hold; the reader keeps the text.
        (Ok(_), Err(error)) => assert!(is_out_of_range(error), "accepted: {} ({error})", shown()),
        (Err(_), Err(_)) => {}
    }
    check_members(bytes, &ours);
}

/// `members` has to accept the same objects and slice out the same values.
fn check_members(bytes: &[u8], tree: &Result<Tree, MalformedKind>) {
    let names = ["a", "b", "ab", "id"];
    let found = members(bytes, names, &LIMITS, &mut Scratch::new(&LIMITS));
    match (found.map_err(|m| m.kind), tree) {
        (Ok(found), Ok(Tree::Object(members))) => {
            for (name, raw) in names.iter().zip(found) {
                let expected = members.iter().find(|(key, _)| key == name);
                assert_eq!(raw.is_some(), expected.is_some());
                if let (Some(raw), Some((_, value))) = (raw, expected) {
                    assert_eq!(read(raw).as_ref(), Ok(value));
                }
            }
        }
        (Err(MalformedKind::AmbiguousKey), _) => {}
        (Err(MalformedKind::NotAnObject), tree) => assert!(!matches!(tree, Ok(Tree::Object(_)))),
        (Err(kind), tree) => assert_eq!(tree.as_ref().err(), Some(&kind)),
        (Ok(_), tree) => panic!("members accepted {tree:?}"),
    }
}
