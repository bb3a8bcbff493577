//! Example calls of findings that need no search. The compiled plan judges each before
//! anybody sees it: an example that does not show its finding is left out.

use super::{Example, ListedTool};
use bouncer_compiler::policy::{Policy, Pos};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A compiled policy to try calls on. Compiled when the first call is tried.
pub(super) struct Judge<'a> {
    policy: &'a Policy,
    tools: &'a [ListedTool],
    gate: OnceCell<Option<Gate>>,
}

impl<'a> Judge<'a> {
    pub(super) const fn new(policy: &'a Policy, tools: &'a [ListedTool]) -> Self {
        Self {
            policy,
            tools,
            gate: OnceCell::new(),
        }
    }

    /// The call with its verdict, in a conversation that has read `untrusted`. `None`
    /// where the policy does not compile.
    pub(super) fn judge(
        &self,
        server: Option<&str>,
        tool: &str,
        arguments: &Value,
        untrusted: &[String],
    ) -> Option<Example> {
        let gate = self.gate.get_or_init(|| self.gate()).as_ref()?;
        let mut conversation = gate.conversation();
        for text in untrusted {
            let text = Value::String(text.clone());
            gate.record_untrusted(&mut conversation, None, "elsewhere", &text);
        }
        let arguments = arguments.to_string();
        let call = Call::hypothetical(server, tool, Some(arguments.as_bytes()));
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        let verdict = decision.verdict();
        let contract = decision.stage().name().to_owned();
        let decided_at = decision.position().and_then(|at| {
            let file = self.policy.files.iter().position(|name| name == at.file)?;
            Some(Pos {
                file: u32::try_from(file).ok()?,
                line: at.line,
                column: at.column,
            })
        });
        Some(Example {
            server: server.map(str::to_owned),
            tool: tool.to_owned(),
            arguments,
            untrusted: untrusted.to_vec(),
            private: Vec::new(),
            typed: Vec::new(),
            earlier_calls: 0,
            verdict,
            contract,
            decided_at,
        })
    }

    fn gate(&self) -> Option<Gate> {
        let plan = Plan::load(bouncer_compiler::compile(self.policy).ok()?).ok()?;
        let mut gate = Gate::new(plan);
        let mut by_server: BTreeMap<Option<&str>, Vec<ToolDefinition>> = BTreeMap::new();
        for (server, definition) in self.tools {
            let of_server = by_server.entry(server.as_deref()).or_default();
            of_server.push(definition.clone());
        }
        for (server, definitions) in by_server {
            gate.pin(server, &definitions, None);
        }
        Some(gate)
    }
}
