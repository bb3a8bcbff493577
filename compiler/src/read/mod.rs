//! Reads policy files: YAML with positions, the three dialects, all mistakes in one pass.
//! Knows one file at a time, but for which built-in files the others choose; how files
//! combine is `resolve`'s business.

mod agreed;
mod chosen;
mod contract;
mod contracts;
mod decode;
pub(crate) mod dialect;
mod document;
mod globs;
mod heuristics;
mod lists;
mod matching;
mod native;
mod node;
mod path;
mod patterns;
mod place;
mod requests;
mod rules;
mod servers;
mod suggest;
mod yaml;

pub(crate) use agreed::agreed;
pub(crate) use contract::Entry;
pub use document::{Document, Item};
pub(crate) use globs::check_glob;
pub(crate) use requests::{Kind as RequestKind, default_rule};
pub(crate) use rules::Defaults;
pub use suggest::nearest;

use crate::diagnostic::{Code, Diagnostic, Sink, SourceMap, Span};
use crate::packs::Builtin;
use crate::policy::{Assertion, ListItem, Rule, Server, TrustedDestination};
use bouncer_engine::tools::Heuristics;
use decode::Cx;
use dialect::Dialect;
use node::{Node, Value};
use std::collections::BTreeMap;

/// A policy file that the user named.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name in messages, as the user wrote it.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What stands below the user's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Use the built-in packs (those that the files choose, or all).
    pub packs: bool,
    /// Use the heuristics, unless a file switches them off.
    pub heuristics: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            packs: true,
            heuristics: true,
        }
    }
}

/// What one file says.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Contracts, in the order written; no tool stands twice.
    pub tools: Vec<Entry>,
    /// `rules`, if the file has the section.
    pub rules: Option<Vec<Rule>>,
    /// `defaults`, if the file has the section or is in the rules dialect.
    pub defaults: Option<Defaults>,
    /// Servers, with the places of their names.
    pub servers: Vec<(Server, Span)>,
    /// The audit log's path, and where it was written.
    pub audit: Option<(String, Span)>,
    /// Where approvals are kept, and where that was written.
    pub approval_path: Option<(String, Span)>,
    /// How long a human has to decide, in milliseconds, and where that was written.
    pub approval_timeout_ms: Option<(u64, Span)>,
    /// `packs`, if the file has it: names, and where each was written.
    pub packs: Option<(Vec<(String, Span)>, Span)>,
    /// `heuristics`, if the file has it.
    pub heuristics: Option<(bool, Span)>,
    /// `hide_denied`, if the file has it.
    pub hide_denied: Option<(bool, Span)>,
    /// `provenance_limit` in MiB, if the file has it.
    pub provenance_limit: Option<(u16, Span)>,
    /// `me`: the account's own addresses.
    pub me: Vec<TrustedDestination>,
    /// `assert`.
    pub assertions: Vec<Assertion>,
    /// `lists`, expanded.
    pub lists: BTreeMap<String, Vec<ListItem>>,
}

/// A built-in pack.
#[derive(Debug, Default)]
pub(crate) struct Pack {
    /// Its name.
    pub name: String,
    /// Its contracts.
    pub tools: Vec<Entry>,
    /// `assert`.
    pub assertions: Vec<Assertion>,
}

/// What was read, and what is wrong with it.
pub(crate) struct ReadFiles {
    /// The texts that positions point into: the user's files first.
    pub sources: SourceMap,
    /// The mistakes so far.
    pub sink: Sink,
    /// The user's files.
    pub files: Vec<File>,
    /// The packs in force.
    pub packs: Vec<Pack>,
    /// The heuristics, unless they are off.
    pub heuristics: Option<Heuristics>,
}

/// Reads the user's files, then the built-in ones that they choose.
pub(crate) fn read(
    inputs: &[Input<'_>],
    options: &Options,
    builtin: &[Builtin],
    heuristics: Option<Builtin>,
) -> ReadFiles {
    let mut sources = SourceMap::default();
    let mut sink = Sink::default();
    for input in inputs {
        sources.add(input.name, input.text);
    }
    let files: Vec<File> = (0u32..)
        .zip(inputs)
        .map(|(index, _)| user_file(index, &sources, &mut sink))
        .collect();
    let chosen = if options.packs {
        chosen::packs(&files, builtin, &mut sink)
    } else {
        Vec::new()
    };
    let mut packs: Vec<Pack> = Vec::new();
    for pack in chosen {
        let index = sources.add(format!("pack:{}", pack.name), pack.text);
        packs.push(pack_file(index, &sources, &mut sink));
    }
    let wanted = chosen::heuristics(&files, &mut sink) && options.heuristics;
    let heuristics = heuristics.filter(|_| wanted).map(|file| {
        let index = sources.add(format!("pack:{}", file.name), file.text);
        heuristics_file(index, &sources, &mut sink)
    });
    ReadFiles {
        sources,
        sink,
        files,
        packs,
        heuristics,
    }
}

/// Reads a file that the user named. What can be read is returned even after mistakes;
/// whether there were any, the sink knows.
fn user_file(file: u32, sources: &SourceMap, sink: &mut Sink) -> File {
    let Some(root) = tree(file, sources, sink) else {
        return File::default();
    };
    let (dialect, because) = dialect::detect(&root);
    let mut cx = Cx {
        sources,
        sink,
        dialect,
        because,
        built_in: false,
    };
    match dialect {
        Dialect::Contracts => contracts::read(&mut cx, &root),
        Dialect::Rules => rules::read(&mut cx, &root),
        Dialect::Native => native::read(&mut cx, &root),
    }
}

/// Reads a built-in pack.
fn pack_file(file: u32, sources: &SourceMap, sink: &mut Sink) -> Pack {
    native_tree(file, sources, sink, native::read_pack)
}

/// Reads the file of heuristics.
pub(crate) fn heuristics_file(file: u32, sources: &SourceMap, sink: &mut Sink) -> Heuristics {
    native_tree(file, sources, sink, heuristics::read)
}

/// Where the scalars of a file stand, in order: what is not in one of them may be a
/// comment.
#[must_use]
pub fn scalars(file: u32, sources: &SourceMap) -> Vec<Span> {
    let mut sink = Sink::default();
    let Some(root) = sources
        .file(file)
        .and_then(|source| yaml::read(file, source, &mut sink))
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut open = vec![&root];
    while let Some(node) = open.pop() {
        match &node.value {
            Value::Scalar(_) => out.push(node.span),
            Value::List(items) => open.extend(items),
            Value::Map(entries) => {
                for (key, value) in entries {
                    open.extend([key, value]);
                }
            }
        }
    }
    out.sort_unstable();
    out
}

fn native_tree<T: Default>(
    file: u32,
    sources: &SourceMap,
    sink: &mut Sink,
    read: impl FnOnce(&mut Cx<'_>, &Node) -> T,
) -> T {
    let Some(root) = tree(file, sources, sink) else {
        return T::default();
    };
    let mut cx = Cx {
        sources,
        sink,
        dialect: Dialect::Native,
        because: String::new(),
        built_in: true,
    };
    read(&mut cx, &root)
}

/// The file's tree: a mapping at the top. Reports an empty file and any other top.
fn tree(file: u32, sources: &SourceMap, sink: &mut Sink) -> Option<Node> {
    let source = sources.file(file)?;
    let errors = sink.errors();
    let root = yaml::read(file, source, sink);
    let empty =
        |root: &Node| matches!(&root.value, Value::Scalar(s) if s.meaning() == node::Meaning::Null);
    match root {
        Some(root) if matches!(root.value, Value::Map(_)) => Some(root),
        Some(root) if !empty(&root) => {
            let message = format!(
                "a policy file must be a mapping at its top, but this is {}",
                root.describe()
            );
            sink.push(
                Diagnostic::new(Code::NOT_A_MAPPING, root.span, message)
                    .help("write `tool: {…}` entries, or `rules:` with a list below it"),
            );
            None
        }
        _ => {
            if sink.errors() == errors {
                let message = "the policy is empty";
                sink.push(
                    Diagnostic::new(Code::EMPTY, Span::new(file, 0, 0), message).help(
                        "write e.g. `send_email: {exfiltrating: true, sink_params: [to]}`; a file that is meant to say nothing is written `{}`",
                    ),
                );
            }
            None
        }
    }
}
