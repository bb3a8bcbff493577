//! What can be before a call: something private that was read, words that the user said.
//!
//! Knows the compiled policy, which says what comes of it; knows nothing of searches.

use super::ListedTool;
use super::names::Tool;
use bouncer_compiler::policy::{Path, Policy, Segment};
use bouncer_engine::gate::{Conversation, Gate};
use bouncer_plan::Effects;
use serde_json::{Value as Json, json};

/// A tool of which some output is private.
pub(super) struct Secret {
    server: Option<String>,
    tool: String,
    path: Option<Path>,
    /// Nothing that others wrote comes with it.
    pub clean: bool,
}

impl Secret {
    /// Reads something private.
    pub fn record(&self, gate: &Gate, conversation: &mut Conversation, text: &str) {
        let text = Json::String(text.to_owned());
        let result = match &self.path {
            None => json!({ "content": [{ "type": "text", "text": text }] }),
            Some(path) => {
                let steps = path.0.iter().rev();
                let inner = steps.fold(text, |inner, step| match step {
                    Segment::Key(key) => json!({ key: inner }),
                    Segment::Index(_) | Segment::Each => json!([inner]),
                });
                json!({ "content": [], "structuredContent": inner })
            }
        };
        gate.record(conversation, self.server.as_deref(), &self.tool, &result);
    }
}

/// So many tools with private outputs are looked for.
const MOST_SECRETS: usize = 8;

/// Ways to read something private, as the gate takes it; clean ones first.
pub(super) fn secrets(gate: &Gate, policy: &Policy, tools: &[ListedTool]) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for contract in &policy.contracts {
        let Some(outputs) = &contract.outputs else {
            continue;
        };
        let fields = outputs.fields.iter().filter(|field| field.private);
        let mut paths: Vec<Option<Path>> = fields.map(|field| Some(field.path.clone())).collect();
        if outputs.private {
            paths.push(None);
        }
        if paths.is_empty() || secrets.len() >= MOST_SECRETS {
            continue;
        }
        let key = Tool::of_full(&contract.key);
        let of_key = |(server, definition): &&ListedTool| {
            let tool = Tool::new(server.as_deref(), &definition.name);
            tool.full == key.full || tool.tool == contract.key
        };
        let (server, tool) = match tools.iter().find(of_key) {
            Some((server, definition)) => (server.clone(), definition.name.clone()),
            None if tools.is_empty() => (key.server, key.tool),
            None => continue,
        };
        for path in paths {
            let mut secret = Secret {
                server: server.clone(),
                tool: tool.clone(),
                path,
                clean: false,
            };
            let mut conversation = gate.conversation();
            secret.record(gate, &mut conversation, "hello");
            let read = conversation.session().read_before();
            secret.clean = read.untrusted.is_none();
            if read.private.is_some() {
                secrets.push(secret);
            }
        }
    }
    secrets.sort_by_key(|secret| !secret.clean);
    secrets
}

/// A message that names what a call does, or does not.
pub(super) fn asked(gate: &Gate, effects: Effects, named: Option<bool>) -> Option<&'static str> {
    const MESSAGES: [&str; 7] = [
        "what is in it and what is that about",
        "please run it for me",
        "please pay it for me",
        "please give me access to it",
        "please delete it for me",
        "please post it for me",
        "please do that with it for me",
    ];
    MESSAGES.into_iter().find(|message| {
        let names = gate
            .asked_for(message)
            .map(|names| names.intersects(effects));
        names.is_some() && names == named
    })
}
