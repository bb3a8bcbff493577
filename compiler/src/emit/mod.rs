//! Writes the plan: sections of fixed-size records, then the digest.
//!
//! Same policy, same bytes: everything is written in the order of sorted tables, and
//! nothing of the clock, the machine or a hash map's order gets in.

mod contracts;
mod rules;
mod writer;

use crate::build::Automata;
use crate::lower::{CompileError, Lowered};
use crate::policy::{Policy, Pos, Transport};
use bouncer_plan::format::{
    self, Header, HeuristicWord, META_BUILT_IN, META_HAS_RULES, META_HEURISTICS, META_HIDE_DENIED,
    META_NAMES, Meta, NONE, PathEdge, PathNode, Range, Section, SectionEntry, ServerEntry,
    WordKind,
};
use bouncer_plan::{Effect, Verdict};
use bouncer_plan::{digest_of, edge_slot};
use std::time::Duration;
use writer::Writer;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes};

/// The plan, and by tool pattern of it the time that its automata took to build, as far
/// as none before it has the same.
///
/// # Errors
/// Patterns that could not be built, each at the rule or contract that has it.
pub(crate) fn emit(
    policy: &Policy,
    lowered: &Lowered,
    automata: Automata,
) -> Result<(Vec<u8>, Vec<Duration>), Vec<CompileError>> {
    let mut writer = Writer::new(automata);
    let mut errors = Vec::new();
    for name in &policy.files {
        let name = writer.text(name);
        writer.files.push(name);
    }
    write_paths(&mut writer, lowered);
    let times = rules::write(&mut writer, policy, lowered, &mut errors);
    contracts::write(&mut writer, policy, &lowered.paths, &mut errors);
    write_heuristics(&mut writer, policy);
    write_servers(&mut writer, policy);
    if !errors.is_empty() {
        return Err(errors);
    }
    if let Some(written) = &policy.written {
        writer.source = written.to_json();
    }
    let meta = meta(&mut writer, policy, lowered);
    Ok((assemble(&writer, meta), times))
}

/// A position as the plan stores it.
fn pos(pos: Option<Pos>) -> format::Pos {
    let (file, line, column) = pos.map_or((NONE, 0, 0), |pos| (pos.file, pos.line, pos.column));
    format::Pos {
        file: U32::new(file),
        line: U32::new(line),
        column: U32::new(column),
    }
}

/// The path trie: children after their parents, edges sorted.
fn write_paths(writer: &mut Writer, lowered: &Lowered) {
    use crate::lower::{Step, paths_display};
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Node {
        children: BTreeMap<(String, bool), (usize, Option<u32>)>,
        path: Option<u32>,
        names: Option<u32>,
    }
    let mut nodes = vec![Node::default()];
    for (id, steps) in (0_u32..).zip(lowered.paths.iter()) {
        let text = writer.text(&paths_display(steps));
        writer.paths.push(text);
        let mut at = 0;
        let mut of_names = false;
        for step in steps {
            let key = match step {
                Step::Key(key) => (key.clone(), false),
                Step::Index(index) => (index.to_string(), true),
                Step::Names => {
                    of_names = true;
                    continue;
                }
            };
            let fresh = nodes.len();
            let Some(node) = nodes.get_mut(at) else { break };
            at = node.children.entry(key).or_insert((fresh, step.index())).0;
            if at == fresh {
                nodes.push(Node::default());
            }
        }
        match nodes.get_mut(at) {
            Some(node) if of_names => node.names = Some(id),
            Some(node) => node.path = Some(id),
            None => {}
        }
    }
    for node in &nodes {
        let start = writer.path_edges.len();
        for ((key, index_only), (child, index)) in &node.children {
            let key = writer.text(key);
            writer.path_edges.push(PathEdge {
                key,
                index: U32::new(index.unwrap_or(NONE)),
                child: U32::new(*child as u32),
                index_only: U32::new(u32::from(*index_only)),
            });
        }
        let length = writer.path_edges.len() - start;
        let keys: Vec<(&str, u32)> = node
            .children
            .keys()
            .zip(start as u32..)
            .filter(|((_, index_only), _)| !index_only)
            .map(|((key, _), edge)| (key.as_str(), edge))
            .collect();
        let slots = writer.list(edge_slots(&keys));
        writer.path_nodes.push(PathNode {
            edges: Range {
                start: U32::new(start as u32),
                length: U32::new(length as u32),
            },
            path: U32::new(node.path.unwrap_or(NONE)),
            mixed: U32::new(
                node.children
                    .keys()
                    .filter(|(key, _)| is_mixed(key))
                    .count() as u32,
            ),
            slots,
            names: U32::new(node.names.unwrap_or(NONE)),
        });
    }
}

/// The table in which the walk looks keys up.
fn edge_slots(keys: &[(&str, u32)]) -> Vec<u32> {
    if keys.is_empty() {
        return Vec::new();
    }
    let size = (keys.len() * 2).next_power_of_two();
    let mut slots = vec![NONE; size];
    for (key, edge) in keys {
        let mut at = edge_slot(key.as_bytes(), size - 1);
        while slots.get(at).is_some_and(|slot| *slot != NONE) {
            at = (at + 1) & (size - 1);
        }
        if let Some(slot) = slots.get_mut(at) {
            *slot = *edge;
        }
    }
    slots
}

/// Whether another spelling of the key, without capitals, could be taken for it.
fn is_mixed(key: &str) -> bool {
    !key.is_ascii() || key.bytes().any(|b| b.is_ascii_uppercase())
}

fn write_heuristics(writer: &mut Writer, policy: &Policy) {
    let Some(heuristics) = &policy.heuristics else {
        return;
    };
    let lists = [
        (WordKind::SinkName, &heuristics.sink_names),
        (WordKind::SinkWord, &heuristics.sink_words),
        (WordKind::SinkFormat, &heuristics.sink_formats),
        (WordKind::Destructive, &heuristics.destructive_words),
        (WordKind::Untrusted, &heuristics.labels.untrusted_words),
        (WordKind::Observed, &heuristics.labels.observed_words),
        (WordKind::Common, &heuristics.asked.common),
    ];
    let asked = heuristics.asked.effects.iter().map(|(effect, words)| {
        let kind = match effect {
            Effect::Grant => WordKind::AskedGrant,
            Effect::Pay => WordKind::AskedPay,
            Effect::Destroy => WordKind::AskedDestroy,
            Effect::Publish => WordKind::AskedPublish,
            // Nothing else is asked for by name.
            _ => WordKind::AskedRun,
        };
        (kind, words)
    });
    for (kind, words) in lists.into_iter().chain(asked) {
        for word in words {
            let word = writer.text(word);
            writer.heuristic_words.push(HeuristicWord { kind, word });
        }
    }
}

fn write_servers(writer: &mut Writer, policy: &Policy) {
    for server in &policy.servers {
        let json = match &server.transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => serde_json::json!({
                "command": command, "args": args, "env": env, "cwd": cwd,
            }),
            Transport::Http { url, headers } => {
                serde_json::json!({ "url": url, "headers": headers })
            }
        };
        let entry = ServerEntry {
            name: writer.text(&server.name),
            json: writer.text(&json.to_string()),
            at: pos(Some(server.at)),
        };
        writer.servers.push(entry);
    }
}

fn meta(writer: &mut Writer, policy: &Policy, lowered: &Lowered) -> Meta {
    let rules = policy.rules.as_ref();
    let verdict = |verdict: Option<Verdict>| verdict.unwrap_or(Verdict::Allow);
    let mut flags = 0;
    if rules.is_some() {
        flags |= META_HAS_RULES;
    }
    if policy.heuristics.is_some() {
        flags |= META_HEURISTICS;
    }
    if policy.built_in {
        flags |= META_BUILT_IN;
    }
    if policy.hide_denied {
        flags |= META_HIDE_DENIED;
    }
    let names = |steps: &[crate::lower::Step]| steps.last() == Some(&crate::lower::Step::Names);
    if lowered.paths.iter().any(names) {
        flags |= META_NAMES;
    }
    let max_calls = policy
        .heuristics
        .as_ref()
        .and_then(|h| h.destructive_max_calls);
    Meta {
        policy_digest: [0; 32],
        flags: U32::new(flags),
        on_destructive_hint: verdict(rules.map(|r| r.on_destructive_hint.action)),
        on_unknown: verdict(rules.map(|r| r.on_unknown.action)),
        provenance_limit: U16::new(policy.provenance_limit.unwrap_or(0)),
        on_destructive_hint_at: pos(rules.and_then(|r| r.on_destructive_hint.at)),
        on_unknown_at: pos(rules.and_then(|r| r.on_unknown.at)),
        destructive_max_calls: U32::new(max_calls.unwrap_or(NONE)),
        exact_groups: U32::new(lowered.exact_groups as u32),
        compiler: writer.text(env!("CARGO_PKG_VERSION")),
        audit_path: writer.text(policy.audit_path.as_deref().unwrap_or_default()),
        approval_path: writer.text(policy.approval_path.as_deref().unwrap_or_default()),
        approval_timeout_ms: policy.approval_timeout_ms.unwrap_or(0).into(),
        on_effect: policy.effects.on_effect,
        after_untrusted: policy.effects.after_untrusted,
        me: U32::new(contracts::write_destinations(
            writer,
            policy.effects.me.iter(),
        )),
    }
}

/// Puts the sections together and signs them with their digest.
fn assemble(writer: &Writer, mut meta: Meta) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for section in Section::ALL {
        if section != Section::Source {
            hasher.update(section_bytes(writer, &meta, section));
        }
    }
    meta.policy_digest = *hasher.finalize().as_bytes();
    let mut table = Vec::new();
    let mut body = Vec::new();
    let start = size_of::<Header>() + Section::ALL.len() * size_of::<SectionEntry>();
    for section in Section::ALL {
        let bytes = section_bytes(writer, &meta, section);
        table.push(SectionEntry {
            kind: U32::new(section as u32),
            reserved: U32::new(0),
            offset: U64::new((start + body.len()) as u64),
            length: U64::new(bytes.len() as u64),
        });
        body.extend_from_slice(bytes);
    }
    let header = Header {
        magic: format::MAGIC,
        version: U32::new(format::VERSION),
        endian: U32::new(format::ENDIAN),
        sections: U32::new(Section::ALL.len() as u32),
        reserved: U32::new(0),
        length: U64::new((start + body.len()) as u64),
        digest: [0; 32],
    };
    let mut plan = header.as_bytes().to_vec();
    plan.extend_from_slice(table.as_bytes());
    plan.extend_from_slice(&body);
    let digest = digest_of(&plan);
    let end = size_of::<Header>();
    if let Some(slot) = plan.get_mut(end - 32..end) {
        slot.copy_from_slice(&digest);
    }
    plan
}

fn section_bytes<'w>(writer: &'w Writer, meta: &'w Meta, section: Section) -> &'w [u8] {
    fn bytes<T: IntoBytes + Immutable>(records: &[T]) -> &[u8] {
        records.as_bytes()
    }
    match section {
        Section::Strings => writer.strings.as_bytes(),
        Section::Meta => meta.as_bytes(),
        Section::Files => bytes(&writer.files),
        Section::PathNodes => bytes(&writer.path_nodes),
        Section::PathEdges => bytes(&writer.path_edges),
        Section::Paths => bytes(&writer.paths),
        Section::Groups => bytes(&writer.groups),
        Section::Dimensions => bytes(&writer.dimensions),
        Section::Matchers => bytes(&writer.matchers),
        Section::SimpleTests => bytes(&writer.simple_tests),
        Section::Tests => bytes(&writer.tests),
        Section::Atoms => bytes(&writer.atoms),
        Section::Quants => bytes(&writer.quants),
        Section::Rows => bytes(&writer.rows),
        Section::Rules => bytes(&writer.rules),
        Section::Contracts => bytes(&writer.contracts),
        Section::Sinks => bytes(&writer.sinks),
        Section::Constraints => bytes(&writer.constraints),
        Section::Rates => bytes(&writer.rates),
        Section::OutputLabels => bytes(&writer.output_labels),
        Section::LiteralSets => bytes(&writer.literals.sets),
        Section::LiteralSlots => bytes(&writer.literals.slots),
        Section::Automata => bytes(&writer.automata.refs),
        Section::AutomataBytes => &writer.automata.bytes,
        Section::Lists => bytes(&writer.lists),
        Section::HeuristicWords => bytes(&writer.heuristic_words),
        Section::Servers => bytes(&writer.servers),
        Section::Source => &writer.source,
    }
}
