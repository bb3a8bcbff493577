//! `bouncer replay`: whole conversations against a policy.

use super::trace::{self, Line};
use crate::cli::ReplayArgs;
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_runtime::gate::{Attempt, Call, Conversation, Decision, Gate};
use bouncer_runtime::plan::Plan;
use bouncer_runtime::tools::ToolDefinition;
use std::io::{self, Write};

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Outcome {
    let plan = source::plan(&args.source)?;
    let mut tally = Tally::default();
    let several = args.traces.len() > 1;
    for path in &args.traces {
        let text = source::read_text(path)?;
        let name = path.display().to_string();
        let mut replay = Replay::new(&plan, &name, several, args.json, &mut tally);
        for (number, line) in (1_u64..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            replay.line(number, line)?;
        }
    }
    if !args.json {
        let mut stderr = anstream::stderr();
        let _ = writeln!(
            stderr,
            "{} calls: {} allow, {} ask, {} deny; {} expectations, {} failed",
            tally.calls,
            tally.verdicts[0],
            tally.verdicts[1],
            tally.verdicts[2],
            tally.expectations,
            tally.failed
        );
    }
    Ok(if tally.failed > 0 { ERROR } else { 0 })
}

/// Counts over all traces.
#[derive(Default)]
struct Tally {
    calls: u64,
    verdicts: [u64; 3],
    expectations: u64,
    failed: u64,
}

/// One trace being replayed.
struct Replay<'r> {
    plan: &'r Plan,
    name: &'r str,
    several: bool,
    json: bool,
    tally: &'r mut Tally,
    gate: Gate,
    conversation: Conversation,
}

/// What a call line expects.
struct Expected {
    verdict: Option<String>,
    contract: Option<String>,
}

impl<'r> Replay<'r> {
    fn new(plan: &'r Plan, name: &'r str, several: bool, json: bool, tally: &'r mut Tally) -> Self {
        let gate = Gate::new(plan.clone());
        let conversation = gate.conversation();
        Self {
            plan,
            name,
            several,
            json,
            tally,
            gate,
            conversation,
        }
    }

    fn line(&mut self, number: u64, text: &str) -> Result<(), Failure> {
        let fail = |why: &str| Failure::Message(format!("`{}`, line {number}: {why}", self.name));
        let (line, raw) = trace::parse(text).map_err(|why| fail(&why))?;
        match line {
            Line::Conversation {} => {
                self.gate = Gate::new(self.plan.clone());
                self.conversation = self.gate.conversation();
            }
            Line::Tools { server, tools } => {
                let definitions: Vec<ToolDefinition> = tools
                    .into_iter()
                    .map(ToolDefinition::from_json)
                    .collect::<Result<_, _>>()
                    .map_err(|error| fail(&error.to_string()))?;
                self.gate.pin(server.as_deref(), &definitions, None);
            }
            Line::Result {
                server,
                tool,
                content,
                structured,
                error,
            } => {
                let result = trace::result_value(content, structured, error);
                self.gate
                    .record(&mut self.conversation, server.as_deref(), &tool, &result);
            }
            Line::Approve {
                server,
                tool,
                param,
                destination,
            } => {
                self.conversation
                    .approve(server.as_deref(), &tool, &param, &destination);
            }
            Line::Call {
                server,
                tool,
                arguments_raw,
                expect,
                expect_contract,
                at_ms,
                ..
            } => {
                if let Some(verdict) = &expect
                    && !matches!(verdict.as_str(), "allow" | "ask" | "deny")
                {
                    return Err(fail(&format!(
                        "`expect` is `{verdict}`; it can be allow, ask or deny"
                    )));
                }
                let arguments = arguments_raw
                    .as_deref()
                    .or(raw.as_ref().map(|raw| raw.get()));
                let call =
                    Call::hypothetical(server.as_deref(), &tool, arguments.map(str::as_bytes));
                let Self {
                    gate, conversation, ..
                } = self;
                let decision = gate.decide(conversation, &call, Attempt::First, at_ms.unwrap_or(0));
                let expected = Expected {
                    verdict: expect,
                    contract: expect_contract,
                };
                report(
                    self.name,
                    self.several,
                    self.json,
                    self.tally,
                    number,
                    &tool,
                    &decision,
                    &expected,
                )?;
            }
        }
        Ok(())
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one call site; a struct would only rename them"
)]
fn report(
    name: &str,
    several: bool,
    json: bool,
    tally: &mut Tally,
    number: u64,
    tool: &str,
    decision: &Decision<'_>,
    expected: &Expected,
) -> io::Result<()> {
    tally.calls += 1;
    if let Some(count) = tally.verdicts.get_mut(decision.verdict() as usize) {
        *count += 1;
    }
    let wrong = [
        expected
            .verdict
            .as_deref()
            .filter(|want| *want != decision.verdict().name()),
        expected
            .contract
            .as_deref()
            .filter(|want| *want != decision.stage().name()),
    ];
    tally.expectations += u64::from(expected.verdict.is_some() || expected.contract.is_some());
    let failed = wrong.iter().any(Option::is_some);
    tally.failed += u64::from(failed);
    let mut stdout = io::stdout().lock();
    let at = decision.position().map(|at| at.to_string());
    if json {
        let mut object = serde_json::json!({
            "line": number,
            "tool": tool,
            "verdict": decision.verdict().name(),
            "contract": decision.stage().name(),
            "reason": decision.reason(),
            "at": at,
        });
        if let Some(map) = object.as_object_mut() {
            if several {
                map.insert("trace".to_owned(), name.into());
            }
            if let Some(question) = decision.question() {
                map.insert(
                    "question".to_owned(),
                    serde_json::json!({ "param": question.param, "destination": question.destination }),
                );
            }
            if let Some(want) = &expected.verdict {
                map.insert("expect".to_owned(), want.as_str().into());
            }
            if expected.verdict.is_some() || expected.contract.is_some() {
                map.insert("ok".to_owned(), (!failed).into());
            }
        }
        return writeln!(stdout, "{object}");
    }
    let prefix = if several {
        format!("{name}:{number}")
    } else {
        format!("line {number}")
    };
    write!(
        stdout,
        "{prefix}: {tool}: {} ({}): {}",
        decision.verdict(),
        decision.stage(),
        decision.reason()
    )?;
    if let Some(at) = at {
        write!(stdout, " [{at}]")?;
    }
    for want in wrong.into_iter().flatten() {
        write!(stdout, " -- EXPECTED {want}")?;
    }
    writeln!(stdout)
}
