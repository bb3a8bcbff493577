//! Leaves at their paths, as the JSON text of a call's arguments.

use super::bag::Bag;
use super::facts::Facts;
use super::leaf::{Leaf, Value};
use bouncer_compiler::lower::Step;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Leaves by path, as a tree.
#[derive(Debug, Default)]
struct Tree {
    leaves: Vec<Leaf>,
    keys: BTreeMap<String, Tree>,
    items: BTreeMap<u32, Tree>,
}

/// Arrays are padded up to here.
const MOST_ITEMS: u32 = 1000;

/// The arguments of an assignment.
pub(super) fn arguments(facts: &Facts, own: &BTreeMap<u32, Bag>) -> String {
    let mut root = Tree::default();
    for (path, bag) in own {
        let mut at = &mut root;
        for step in facts.path(*path) {
            at = match step {
                Step::Key(key) => at.keys.entry(key.clone()).or_default(),
                Step::Index(index) => at.items.entry(*index).or_default(),
                // Names are what values stand under.
                Step::Names => at,
            };
        }
        at.leaves.extend(bag.iter().cloned());
    }
    let mut out = String::new();
    root.write_root(&mut out);
    out
}

impl Tree {
    /// The arguments themselves are an object, whatever is asked of them as a whole.
    fn write_root(&self, out: &mut String) {
        out.push('{');
        let mut first = true;
        for (number, leaf) in (1..).zip(&self.leaves) {
            let mut key = String::from("value");
            if number > 1 {
                key = format!("value{number}");
            }
            while self.keys.contains_key(&key) {
                key.push('_');
            }
            write_key(&key, &mut first, out);
            write_leaf(leaf, out);
        }
        self.write_keys(&mut first, out);
        out.push('}');
    }

    fn write_keys(&self, first: &mut bool, out: &mut String) {
        for (key, tree) in &self.keys {
            write_key(key, first, out);
            tree.write(out);
        }
    }

    fn write(&self, out: &mut String) {
        let object = !self.keys.is_empty();
        if self.items.is_empty() && self.leaves.len() + usize::from(object) <= 1 {
            match self.leaves.first() {
                Some(leaf) => write_standing(leaf, out),
                None => self.write_object(out),
            }
            return;
        }
        out.push('[');
        let mut rest = self.leaves.iter();
        let mut object = object;
        let last = self.items.keys().next_back().copied().unwrap_or(0);
        let mut index = 0;
        loop {
            let item = self.items.get(&index);
            let leaf = if item.is_none() { rest.next() } else { None };
            if item.is_none()
                && leaf.is_none()
                && !object
                && (index > last || self.items.is_empty())
            {
                break;
            }
            if index > MOST_ITEMS.max(self.leaves.len() as u32) {
                break;
            }
            if index > 0 {
                out.push(',');
            }
            match (item, leaf) {
                (Some(tree), _) => tree.write(out),
                (None, Some(leaf)) => write_standing(leaf, out),
                (None, None) if object => {
                    self.write_object(out);
                    object = false;
                }
                (None, None) => out.push_str("[]"),
            }
            index += 1;
        }
        out.push(']');
    }

    fn write_object(&self, out: &mut String) {
        out.push('{');
        self.write_keys(&mut true, out);
        out.push('}');
    }
}

fn write_key(key: &str, first: &mut bool, out: &mut String) {
    if !std::mem::take(first) {
        out.push(',');
    }
    out.push_str(&Json::String(key.to_owned()).to_string());
    out.push(':');
}

/// A leaf where its path ends.
fn write_standing(leaf: &Leaf, out: &mut String) {
    if leaf.through {
        out.push_str(r#"{"value":"#);
        write_leaf(leaf, out);
        out.push('}');
    } else {
        write_leaf(leaf, out);
    }
}

fn write_leaf(leaf: &Leaf, out: &mut String) {
    match &leaf.value {
        Value::Text(text) => out.push_str(&Json::String(text.clone()).to_string()),
        Value::Number(text) => out.push_str(text),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Null => out.push_str("null"),
    }
}
