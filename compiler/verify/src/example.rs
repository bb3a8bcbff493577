//! Calls as a person would write them, judged by the compiled plan.
//!
//! Whatever is claimed about a call is first asked of the gate itself.

use super::facts::Facts;
use super::leaf::{Leaf, Seen, Value};
use super::names::Tool;
use super::search::Assignment;
use super::{Example, ListedTool};
use bouncer_compiler::CompileError;
use bouncer_compiler::build::Threads;
use bouncer_compiler::lower::Step;
use bouncer_compiler::policy::{Policy, Pos};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// More earlier attempts than this are not played.
const MOST_ATTEMPTS: u64 = 20_000;

/// How the gate judged a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub verdict: Verdict,
    pub stage: Stage,
    pub rule: Option<u32>,
    pub at: Option<Pos>,
}

/// A compiled policy with its tools pinned, and one without any.
pub(super) struct Judge<'p> {
    policy: &'p Policy,
    tools: &'p [ListedTool],
    pinned: Table,
    open: Table,
    built: Vec<Duration>,
}

/// A gate and a conversation that is used as long as it may be.
struct Table {
    gate: Gate,
    conversation: Option<Conversation>,
    called: HashSet<String>,
}

impl Table {
    fn new(plan: Plan) -> Self {
        Self {
            gate: Gate::new(plan),
            conversation: None,
            called: HashSet::new(),
        }
    }
}

/// A call in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub arguments: String,
    pub untrusted: Vec<String>,
    pub earlier: u64,
}

impl<'p> Judge<'p> {
    pub fn new(policy: &'p Policy, tools: &'p [ListedTool]) -> Result<Self, Vec<CompileError>> {
        let (bytes, built) =
            bouncer_compiler::compile_timed(policy, Threads::available(), &mut |_| {})?;
        let broken = |error: bouncer_plan::LoadError| {
            vec![CompileError {
                message: format!("the compiled plan does not load: {error}"),
                help: None,
                at: None,
            }]
        };
        let plan = Plan::load(bytes).map_err(broken)?;
        let mut pinned = Table::new(plan.clone());
        let mut servers: Vec<Option<&str>> = tools.iter().map(|(s, _)| s.as_deref()).collect();
        servers.sort_unstable();
        servers.dedup();
        for server in servers {
            let definitions: Vec<ToolDefinition> = tools
                .iter()
                .filter(|(of, _)| of.as_deref() == server)
                .map(|(_, definition)| definition.clone())
                .collect();
            pinned.gate.pin(server, &definitions, None);
        }
        Ok(Self {
            policy,
            tools,
            pinned,
            open: Table::new(plan),
            built,
        })
    }

    /// Judges a call of a fresh conversation.
    pub fn judge(&mut self, tool: &Tool, call: &Written) -> Judged {
        let table = if tool.listed.is_some() {
            &mut self.pinned
        } else {
            &mut self.open
        };
        let fresh = !call.untrusted.is_empty() || call.earlier > 0;
        if fresh || !table.called.insert(tool.full.clone()) || table.called.len() > 4000 {
            table.conversation = None;
            table.called.clear();
            table.called.insert(tool.full.clone());
        }
        let gate = &table.gate;
        let conversation = table
            .conversation
            .get_or_insert_with(|| gate.conversation());
        for text in &call.untrusted {
            gate.record_untrusted(conversation, None, "untrusted", &Json::String(text.clone()));
        }
        let arguments = call.arguments.as_bytes();
        let asked = Call::hypothetical(tool.server.as_deref(), &tool.tool, Some(arguments));
        for _ in 0..call.earlier {
            gate.decide(conversation, &asked, Attempt::First, 0);
        }
        let decision = gate.decide(conversation, &asked, Attempt::First, 0);
        let at = decision.position().and_then(|at| {
            let file = self.policy.files.iter().position(|name| name == at.file)?;
            Some(Pos {
                file: file as u32,
                line: at.line,
                column: at.column,
            })
        });
        let judged = Judged {
            verdict: decision.verdict(),
            stage: decision.stage(),
            rule: decision.rule(),
            at,
        };
        if fresh {
            table.conversation = None;
            table.called.clear();
        }
        judged
    }

    /// A call that the assignment describes and that the gate judges as `expected` says.
    pub fn show(
        &mut self,
        facts: &Facts,
        assignment: &Assignment,
        expected: &dyn Fn(&Judged) -> bool,
    ) -> Option<(Example, Judged)> {
        self.show_meant(facts, assignment, expected, &mut |_, _| true)
    }

    /// The same, of calls that are `meant`.
    pub fn show_meant(
        &mut self,
        facts: &Facts,
        assignment: &Assignment,
        expected: &dyn Fn(&Judged) -> bool,
        meant: &mut dyn FnMut(&Tool, &Written) -> bool,
    ) -> Option<(Example, Judged)> {
        let written = self.write(facts, assignment)?;
        for call in written {
            let judged = self.judge(&assignment.tool, &call);
            if expected(&judged) && meant(&assignment.tool, &call) {
                return Some((example(&assignment.tool, &call, &judged), judged));
            }
        }
        None
    }

    /// The call, with the arguments that the tool's schema requires, and without.
    pub fn write(&self, facts: &Facts, assignment: &Assignment) -> Option<Vec<Written>> {
        if assignment.calls > MOST_ATTEMPTS {
            return None;
        }
        let arguments = arguments(facts, assignment);
        let mut untrusted: Vec<String> = Vec::new();
        for leaf in assignment.own.values().flatten() {
            if let (Seen::Untrusted, Value::Text(text)) = (leaf.seen, &leaf.value)
                && !untrusted.contains(text)
            {
                untrusted.push(text.clone());
            }
        }
        let written = |arguments: String| Written {
            arguments,
            untrusted: untrusted.clone(),
            earlier: assignment.calls.saturating_sub(1),
        };
        let mut calls = Vec::new();
        if let Some(schema) = self.schema(&assignment.tool)
            && let Some(filled) = filled(schema, &arguments)
        {
            calls.push(written(filled));
        }
        calls.push(written(arguments));
        Some(calls)
    }

    /// The compiled policy.
    pub fn plan(&self) -> Plan {
        self.open.gate.plan().clone()
    }

    /// How long the automata of each group took to build.
    pub fn built(&self) -> &[Duration] {
        &self.built
    }

    /// A listed tool's definition.
    pub fn definition(&self, tool: usize) -> Option<&'p ToolDefinition> {
        self.tools.get(tool).map(|(_, definition)| definition)
    }

    /// Whether a listed tool's unmatched calls fall under `onDestructiveHint`.
    pub fn is_destructive(&self, tool: usize) -> bool {
        self.tools.get(tool).is_some_and(|(_, definition)| {
            definition.destructive_hint == Some(true) && definition.read_only_hint != Some(true)
        })
    }

    /// The schema of a listed tool.
    fn schema(&self, tool: &Tool) -> Option<&'p Json> {
        self.tools.get(tool.listed?)?.1.input_schema()
    }
}

/// An example, as the gate judged it.
pub(super) fn example(tool: &Tool, call: &Written, judged: &Judged) -> Example {
    Example {
        server: tool.server.clone(),
        tool: tool.tool.clone(),
        arguments: call.arguments.clone(),
        untrusted: call.untrusted.clone(),
        earlier_calls: u32::try_from(call.earlier).unwrap_or(u32::MAX),
        verdict: judged.verdict,
        contract: judged.stage.name().to_owned(),
        decided_at: judged.at,
    }
}

/// Leaves by path, as a tree.
#[derive(Debug, Default)]
struct Tree {
    leaves: Vec<Leaf>,
    keys: BTreeMap<String, Tree>,
    items: BTreeMap<u32, Tree>,
}

/// Arrays are padded up to here.
const MOST_ITEMS: u32 = 1000;

fn arguments(facts: &Facts, assignment: &Assignment) -> String {
    let mut root = Tree::default();
    for (path, bag) in &assignment.own {
        let mut at = &mut root;
        for step in facts.path(*path) {
            at = match step {
                Step::Key(key) => at.keys.entry(key.clone()).or_default(),
                Step::Index(index) => at.items.entry(*index).or_default(),
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

/// The arguments together with what the schema requires; `None` if nothing is missing.
fn filled(schema: &Json, arguments: &str) -> Option<String> {
    let required = schema.get("required")?.as_array()?;
    let properties = schema.get("properties")?.as_object()?;
    let given: Map<String, Json> = serde_json::from_str(arguments).ok()?;
    let mut extra = String::new();
    for name in required.iter().filter_map(Json::as_str) {
        if given.contains_key(name) {
            continue;
        }
        let value = sample(properties.get(name)?, 0);
        if !extra.is_empty() {
            extra.push(',');
        }
        extra.push_str(&format!("{}:{value}", Json::String(name.to_owned())));
    }
    if extra.is_empty() {
        return None;
    }
    // Textually, so that numbers keep their spelling.
    let inner = arguments.strip_suffix('}')?;
    let comma = if given.is_empty() { "" } else { "," };
    Some(format!("{inner}{comma}{extra}}}"))
}

/// A value that a schema allows, as far as that is easy to see.
fn sample(schema: &Json, depth: u32) -> Json {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = schema
        .get("enum")
        .and_then(Json::as_array)
        .and_then(|e| e.first())
    {
        return first.clone();
    }
    let branch = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find_map(|key| schema.get(*key)?.as_array()?.first());
    if let Some(branch) = branch
        && depth < 8
    {
        return sample(branch, depth + 1);
    }
    let kind = match schema.get("type") {
        Some(Json::Array(kinds)) => kinds.first().and_then(Json::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(Json::from(1)),
        Some("boolean") => Json::Bool(false),
        Some("array") => {
            let least = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0);
            let item = schema.get("items").filter(|_| depth < 8);
            let item = item.map_or(Json::from("a"), |items| sample(items, depth + 1));
            Json::Array(vec![item; least.min(4) as usize])
        }
        Some("object") => {
            let mut object = Map::new();
            let names = schema.get("required").and_then(Json::as_array);
            for name in names.into_iter().flatten().filter_map(Json::as_str) {
                let inner = schema.get("properties").and_then(|p| p.get(name));
                if let Some(inner) = inner.filter(|_| depth < 8) {
                    object.insert(name.to_owned(), sample(inner, depth + 1));
                }
            }
            Json::Object(object)
        }
        _ => {
            let least = schema.get("minLength").and_then(Json::as_u64).unwrap_or(1);
            Json::from("a".repeat(least.clamp(1, 64) as usize))
        }
    }
}
