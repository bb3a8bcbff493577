//! Calls as a person would write them, judged by the compiled plan.
//!
//! Whatever is claimed about a call is first asked of the gate itself.

use super::arguments::arguments;
use super::facts::Facts;
use super::history::{Secret, asked, secrets};
use super::leaf::{Seen, Value};
use super::names::Tool;
use super::search::Assignment;
use super::{Example, ListedTool};
use bouncer_compiler::CompileError;
use bouncer_compiler::build::Threads;
use bouncer_compiler::policy::{Policy, Pos, TrustedForm};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;
use std::rc::Rc;
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
    /// Something untrusted, and something private, was read before.
    pub read: (bool, bool),
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
    gate: Rc<Gate>,
    conversation: Option<Conversation>,
    called: HashSet<String>,
    secrets: Vec<Secret>,
}

impl Table {
    fn new(gate: Gate, policy: &Policy, tools: &[ListedTool]) -> Self {
        Self {
            secrets: secrets(&gate, policy, tools),
            gate: Rc::new(gate),
            conversation: None,
            called: HashSet::new(),
        }
    }
}

/// A call in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub arguments: String,
    pub untrusted: Vec<String>,
    /// What was read that is private.
    pub private: Vec<String>,
    /// What the user typed.
    pub typed: Vec<String>,
    pub earlier: u64,
}

impl Written {
    /// Whether it has to be the first call of a conversation of its own.
    const fn has_history(&self) -> bool {
        !self.untrusted.is_empty()
            || !self.private.is_empty()
            || !self.typed.is_empty()
            || self.earlier > 0
    }
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
        let mut pinned = Gate::new(plan.clone());
        let mut servers: Vec<Option<&str>> = tools.iter().map(|(s, _)| s.as_deref()).collect();
        servers.sort_unstable();
        servers.dedup();
        for server in servers {
            let definitions: Vec<ToolDefinition> = tools
                .iter()
                .filter(|(of, _)| of.as_deref() == server)
                .map(|(_, definition)| definition.clone())
                .collect();
            pinned.pin(server, &definitions, None);
        }
        Ok(Self {
            policy,
            tools,
            pinned: Table::new(pinned, policy, tools),
            open: Table::new(Gate::new(plan), policy, &[]),
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
        let fresh = call.has_history();
        if fresh || !table.called.insert(tool.full.clone()) || table.called.len() > 4000 {
            table.conversation = None;
            table.called.clear();
            table.called.insert(tool.full.clone());
        }
        let gate = &table.gate;
        let conversation = table
            .conversation
            .get_or_insert_with(|| gate.conversation());
        // What is private may have to be read without anything that others wrote.
        let clean = call.untrusted.is_empty();
        for text in &call.private {
            let secret = table.secrets.iter().find(|secret| secret.clean || !clean);
            if let Some(secret) = secret.or(table.secrets.first()) {
                secret.record(gate, conversation, text);
            }
        }
        for text in &call.untrusted {
            gate.record_untrusted(conversation, None, "untrusted", &Json::String(text.clone()));
        }
        for text in &call.typed {
            gate.record_user(conversation, text);
        }
        let before = conversation.session().read_before();
        let read = (before.untrusted.is_some(), before.private.is_some());
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
            read,
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
        self.among(&assignment.tool, &written, expected, meant)
    }

    /// The same among some calls.
    pub fn among(
        &mut self,
        tool: &Tool,
        calls: &[Written],
        expected: &dyn Fn(&Judged) -> bool,
        meant: &mut dyn FnMut(&Tool, &Written) -> bool,
    ) -> Option<(Example, Judged)> {
        for call in calls {
            let judged = self.judge(tool, call);
            if expected(&judged) && meant(tool, call) {
                return Some((example(tool, call, &judged), judged));
            }
        }
        None
    }

    /// The call, with the arguments that the tool's schema requires, and without.
    pub fn write(&self, facts: &Facts, assignment: &Assignment) -> Option<Vec<Written>> {
        if assignment.calls > MOST_ATTEMPTS {
            return None;
        }
        let arguments = arguments(facts, &assignment.own);
        let before = self.before(assignment);
        let written = |arguments: String| Written {
            arguments,
            earlier: assignment.calls.saturating_sub(1),
            ..before.clone()
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

    /// What an assignment says was before the call.
    fn before(&self, assignment: &Assignment) -> Written {
        let mut before = Written::default();
        for leaf in assignment.own.values().flatten() {
            let list = match leaf.seen {
                Seen::Untrusted => &mut before.untrusted,
                Seen::Private(_) => &mut before.private,
                Seen::Typed => &mut before.typed,
                Seen::Nowhere | Seen::Observed | Seen::Trusted => continue,
            };
            if let Value::Text(text) = &leaf.value
                && !list.contains(text)
            {
                list.push(text.clone());
            }
        }
        let state = &assignment.session;
        // So short that no value holds it.
        if state.untrusted && before.untrusted.is_empty() {
            before.untrusted.push("hello".to_owned());
        }
        if state.private && before.private.is_empty() {
            before.private.push("hello".to_owned());
        }
        if state.needs_words() {
            let gate = &self.open.gate;
            let words = asked(gate, state.effects.unwrap_or_default(), state.named);
            match before.typed.as_mut_slice() {
                [] => before.typed.extend(words.map(str::to_owned)),
                typed => {
                    for text in typed {
                        *text = format!("{}: {text}", words.unwrap_or_default());
                    }
                }
            }
        }
        before
    }

    /// The same calls where the defaults for effects may say something else: with a target that
    /// an outsider named, or that the user typed.
    pub fn variants(&self, calls: &[Written]) -> Vec<Written> {
        let own = self.policy.effects.me.iter().find_map(|form| match form {
            TrustedForm::Exact(own) => Some(own.as_str()),
            TrustedForm::AtDomain(_) | TrustedForm::Below(_) => None,
        });
        let mut out = Vec::new();
        for call in calls {
            let with = |untrusted: &str, typed: &str, argument: &str| {
                let mut other = call.clone();
                for (list, text) in [(&mut other.untrusted, untrusted), (&mut other.typed, typed)] {
                    if !text.is_empty() {
                        list.push(text.to_owned());
                    }
                }
                if let Some(inner) = call.arguments.strip_suffix('}')
                    && !argument.is_empty()
                {
                    let comma = if inner.len() > 1 { "," } else { "" };
                    other.arguments = format!("{inner}{comma}{argument}}}");
                }
                other
            };
            let texts = texts(&call.arguments);
            let (bob, eve) = ("bob@corp.example", "eve@evil.example");
            out.push(with("hello", "", ""));
            for text in texts.iter().filter(|text| text.len() >= 6) {
                out.push(with(text, "", ""));
            }
            if texts.is_empty() {
                let to = |name: &str| format!("\"to\":\"{name}\"");
                out.push(with(eve, "", &to(eve)));
                out.push(with("", "", &to(eve)));
                out.extend(own.map(|own| with("", "", &to(own))));
                out.push(with("", bob, &to(bob)));
            } else {
                out.push(with("", &texts.join("\n"), ""));
            }
        }
        out
    }

    /// The tools of the lock.
    pub const fn tools(&self) -> &'p [ListedTool] {
        self.tools
    }

    /// The compiled policy, with the listed tools, and without any.
    pub fn gates(&self) -> [Rc<Gate>; 2] {
        [&self.pinned, &self.open].map(|table| Rc::clone(&table.gate))
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
        private: call.private.clone(),
        typed: call.typed.clone(),
        earlier_calls: u32::try_from(call.earlier).unwrap_or(u32::MAX),
        verdict: judged.verdict,
        contract: judged.stage.name().to_owned(),
        decided_at: judged.at,
    }
}

/// The texts among arguments.
fn texts(arguments: &str) -> Vec<String> {
    fn collect(value: &Json, out: &mut Vec<String>) {
        match value {
            Json::String(text) if !text.is_empty() => out.push(text.clone()),
            Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
            Json::Object(members) => members.values().for_each(|item| collect(item, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    if let Ok(value) = serde_json::from_str(arguments) {
        collect(&value, &mut out);
    }
    out
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
