//! The contracts dialect: a mapping of tools to contracts, and nothing else.

use super::File;
use super::contract;
use super::decode::Cx;
use super::lists::Lists;
use super::node::{Node, Value};
use crate::diagnostic::{Code, Diagnostic};
use std::collections::HashSet;

/// Reads a whole file of contracts.
pub(crate) fn read(cx: &mut Cx<'_>, root: &Node) -> File {
    let what = cx.dialect.this();
    let help = "write one entry a tool, e.g. `send_email: {exfiltrating: true, sink_params: [to]}`";
    let mut lists = Lists::default();
    let mut file = File::default();
    let root = merged(cx, root);
    for (name, span, value) in cx.entries(&root, what, help).unwrap_or_default() {
        let value = merged(cx, value);
        file.tools
            .extend(contract::read(cx, &mut lists, (name, span), &value));
    }
    file
}

/// The mapping with its merge keys followed: `<<: *base` adds what the mapping does not
/// say itself. Merging is not deeper than one level; a mistake leaves the node alone.
fn merged(cx: &mut Cx<'_>, node: &Node) -> Node {
    let is_merge =
        |key: &Node| matches!(&key.value, Value::Scalar(s) if !s.quoted && s.text == "<<");
    let Some(entries) = node.as_map() else {
        return node.clone();
    };
    let Some((key, bases)) = entries.iter().find(|(key, _)| is_merge(key)) else {
        return node.clone();
    };
    let one = std::slice::from_ref(bases);
    let bases = match &bases.value {
        Value::List(items) => items,
        _ => one,
    };
    let mut out: Vec<(Node, Node)> = entries
        .iter()
        .filter(|(key, _)| !is_merge(key))
        .cloned()
        .collect();
    let mut said: HashSet<String> = out
        .iter()
        .filter_map(|(key, _)| key.as_text().map(ToOwned::to_owned))
        .collect();
    for base in bases {
        let Some(entries) = base.as_map() else {
            let message = format!("`<<` must name a mapping, but this is {}", base.describe());
            cx.report(
                Diagnostic::new(Code::MERGE_KEY, key.span, message)
                    .help("write `<<: *name` with an anchor `&name` on a mapping"),
            );
            continue;
        };
        for (key, value) in entries {
            if is_merge(key) {
                let message = "what `<<` names has a `<<` itself";
                cx.report(
                    Diagnostic::new(Code::MERGE_KEY, key.span, message).help("write the keys out"),
                );
                continue;
            }
            if key
                .as_text()
                .is_none_or(|name| said.insert(name.to_owned()))
            {
                out.push((key.clone(), value.clone()));
            }
        }
    }
    Node {
        span: node.span,
        value: Value::Map(out),
    }
}
