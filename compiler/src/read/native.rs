//! The native dialect: `version: 1`, contracts and rules in one file, and the packs.

use super::contract::{self, Entry};
use super::decode::{Cx, Fields};
use super::dialect::NATIVE_KEYS;
use super::lists::Lists;
use super::node::{Meaning, Node, Value};
use super::rules;
use super::{File, Pack};
use crate::condition;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::policy::Assertion;

/// Reads a whole native policy.
pub(crate) fn read(cx: &mut Cx<'_>, root: &Node) -> File {
    let mut file = File::default();
    let Some(fields) = cx.top(root, NATIVE_KEYS) else {
        return file;
    };
    version(cx, &fields, root.span);
    let mut lists = match fields.get("lists") {
        Some(node) => Lists::read(cx, node),
        None => Lists::default(),
    };
    if let Some(node) = fields.get("tools") {
        file.tools = tools(cx, &mut lists, node);
    }
    rules::sections(cx, &mut lists, &fields, &mut file);
    if let Some((span, node)) = fields.find("packs") {
        file.packs = Some((names(cx, node, "`packs`"), span));
    }
    if let Some(node) = fields.get("heuristics") {
        file.heuristics = cx.bool(node, "`heuristics`").map(|on| (on, node.span));
    }
    if let Some(node) = fields.get("hide_denied") {
        file.hide_denied = cx.bool(node, "`hide_denied`").map(|on| (on, node.span));
    }
    if let Some(node) = fields.get("provenance_limit") {
        let most = u16::MAX.into();
        let limit = cx.count(node, "`provenance_limit`, in MiB,", 1, most);
        let limit = limit.and_then(|limit| u16::try_from(limit).ok());
        file.provenance_limit = limit.map(|limit| (limit, node.span));
    }
    if let Some(node) = fields.get("me") {
        file.me = contract::own_addresses(cx, &mut lists, node);
    }
    if let Some(node) = fields.get("assert") {
        file.assertions = assertions(cx, &lists, node);
    }
    file.lists = lists.into_plain();
    file
}

/// Reads `assert:`.
fn assertions(cx: &mut Cx<'_>, lists: &Lists, node: &Node) -> Vec<Assertion> {
    let mut out = Vec::new();
    for item in cx.list(node, "`assert`").unwrap_or_default() {
        let Some(text) = cx.some_text(item, "an item of `assert`") else {
            continue;
        };
        let parse = condition::parse_assertion;
        if let Some(property) =
            rules::parsed(cx, lists, item.span, text, Code::ASSERTION_SYNTAX, parse)
        {
            out.push(Assertion {
                text: text.to_owned(),
                at: Some(cx.pos(item.span)),
                property,
            });
        }
    }
    out
}

/// Reads a pack: `pack`, `description`, `tools`.
pub(crate) fn read_pack(cx: &mut Cx<'_>, root: &Node) -> Pack {
    let mut pack = Pack::default();
    let known = ["version", "pack", "description", "lists", "tools", "assert"];
    let Some(fields) = cx.fields(root, "this pack", &known) else {
        return pack;
    };
    if fields.get("version").is_some() {
        version(cx, &fields, root.span);
    }
    match fields.get("pack") {
        Some(node) => {
            let name = cx.some_text(node, "`pack`").unwrap_or_default();
            pack.name = name.to_owned();
        }
        None => cx.missing(
            top(root.span),
            "this pack",
            "pack",
            "add `pack:` with its name",
        ),
    }
    if let Some(node) = fields.get("description") {
        cx.some_text(node, "`description`");
    }
    let mut lists = match fields.get("lists") {
        Some(node) => Lists::read(cx, node),
        None => Lists::default(),
    };
    if let Some(node) = fields.get("tools") {
        pack.tools = tools(cx, &mut lists, node);
    }
    if let Some(node) = fields.get("assert") {
        pack.assertions = assertions(cx, &lists, node);
    }
    for entry in &pack.tools {
        if let Some(span) = entry.extends {
            cx.report(
                Diagnostic::new(Code::EXTENDS, span, "a pack cannot extend a pack")
                    .help("write the contract out"),
            );
        }
    }
    pack
}

/// The start of a file, as a place to point at.
fn top(span: Span) -> Span {
    Span {
        end: span.start.saturating_add(1),
        ..span
    }
}

fn version(cx: &mut Cx<'_>, fields: &Fields<'_>, root: Span) {
    let Some(node) = fields.get("version") else {
        let help = format!("write `version: 1` on the first line ({})", cx.assumed());
        let message = "this native policy has no `version`";
        cx.report(Diagnostic::new(Code::VERSION, top(root), message).help(help));
        return;
    };
    let one = matches!(&node.value, Value::Scalar(s)
        if matches!(s.meaning(), Meaning::Number(n) if n == "1"));
    if !one {
        let message = format!("`version` must be 1, but this is {}", node.describe());
        cx.report(
            Diagnostic::new(Code::VERSION, node.span, message)
                .help("write `version: 1`")
                .suggest(node.span, "1"),
        );
    }
}

fn tools(cx: &mut Cx<'_>, lists: &mut Lists, node: &Node) -> Vec<Entry> {
    let help = "write one entry a tool, e.g. `send_email: {extends: pack, max_calls: 20}`";
    let entries = cx.entries(node, "`tools`", help).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(name, span, value)| contract::read(cx, lists, (name, span), value))
        .collect()
}

fn names(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<(String, Span)> {
    let item_of = format!("an item of {what}");
    cx.list(node, what)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| Some((cx.some_text(item, &item_of)?.to_owned(), item.span)))
        .collect()
}
