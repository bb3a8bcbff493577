//! `bouncer check`: one hypothetical call.

use crate::cli::CheckArgs;
use crate::output::{ASK, DENY, Failure, Outcome, note};
use crate::request::judged;
use crate::source;
use bouncer_compiler::diagnostic::visible;
use bouncer_engine::gate::{Attempt, Call, Decision, Gate};
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::Verdict;
use std::io::Write;
use std::path::Path;

/// Runs the command.
pub fn run(args: &CheckArgs) -> Outcome {
    let arguments = arguments(&args.args)?;
    let mut gate = Gate::new(source::plan(&args.source)?);
    let lock = args.tools.as_deref().map(source::lock).transpose()?;
    let mut server = args.server.clone();
    if let Some(lock) = &lock {
        pin_all(&mut gate, lock);
        server = server.or_else(|| only_server(lock, &args.tool));
    }
    source::warn_without_server(gate.plan(), server.as_deref(), Some(&args.tool));
    let known = known(&gate, lock.as_ref(), server.as_deref(), &args.tool);
    if !args.json {
        known.tell(&args.tool);
    }
    let mut conversation = gate.conversation();
    for text in &args.untrusted {
        let text = serde_json::Value::String(text.clone());
        gate.record_untrusted(&mut conversation, None, "--untrusted", &text);
    }
    let arguments = judged(server.as_deref(), &args.tool, &arguments).map_err(Failure::Message)?;
    let call = Call::hypothetical(server.as_deref(), &args.tool, Some(&arguments));
    for _ in 0..args.after {
        gate.decide(&mut conversation, &call, Attempt::First, 0);
    }
    let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
    print(&decision, args.json.then_some(known))?;
    Ok(match decision.verdict() {
        Verdict::Allow => 0,
        Verdict::Ask => ASK,
        Verdict::Deny => DENY,
    })
}

/// The arguments' text; `@FILE` names a file that holds it.
pub fn arguments(written: &str) -> Result<Vec<u8>, Failure> {
    match written.strip_prefix('@') {
        Some(file) => bouncer_system::private::read(Path::new(file))
            .map_err(|error| Failure::file("read", Path::new(file), &error)),
        None => Ok(written.as_bytes().to_vec()),
    }
}

/// Pins every tool of a lock under the server that the lock names.
pub fn pin_all(gate: &mut Gate, lock: &Lock) {
    let mut servers: Vec<Option<&str>> = lock
        .tools
        .iter()
        .map(|tool| tool.server.as_deref())
        .collect();
    servers.sort_unstable();
    servers.dedup();
    for server in servers {
        let of_server = lock
            .tools
            .iter()
            .filter(|tool| tool.server.as_deref() == server);
        let tools: Vec<ToolDefinition> = of_server.map(|tool| tool.definition.clone()).collect();
        gate.pin(server, &tools, None);
    }
}

/// The server of a tool that only one server of the lock has.
pub fn only_server(lock: &Lock, tool: &str) -> Option<String> {
    let mut servers = lock
        .tools
        .iter()
        .filter(|t| t.definition.name == tool)
        .map(|t| t.server.clone());
    let first = servers.next()?;
    if servers.next().is_some() {
        None
    } else {
        first
    }
}

/// What is known of a tool before its call is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Its definition, from a lock.
    Schema,
    /// What a contract says, but not its schema.
    Contract,
    /// A lock is given, and does not have it.
    NotInLock,
    /// Its name.
    Name,
}

/// What is known of the tool `tool` of `server`.
fn known(gate: &Gate, lock: Option<&Lock>, server: Option<&str>, tool: &str) -> Known {
    match lock {
        Some(lock) if lock.find(server, tool).is_some() => Known::Schema,
        Some(_) => Known::NotInLock,
        None => {
            let seen = gate.survey(server, std::iter::once(tool));
            let speaks = seen.iter().any(|tool| tool.contract.is_some());
            if speaks { Known::Contract } else { Known::Name }
        }
    }
}

impl Known {
    /// The word of the JSON output.
    const fn word(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Contract => "contract",
            Self::NotInLock => "not in lock",
            Self::Name => "name",
        }
    }

    /// Says on standard error what the verdict could not take into account.
    fn tell(self, tool: &str) {
        let tool = visible(tool);
        match self {
            Self::Schema | Self::Contract => {}
            Self::NotInLock => note(&format!("the lock has no tool `{tool}`")),
            Self::Name => note(&format!(
                "no contract knows a tool `{tool}`, and its schema is not known: it is judged by its name and this call alone; `--tools LOCK` brings the schema"
            )),
        }
    }
}

/// `json`: as an object, with what was known of the tool.
fn print(decision: &Decision<'_>, json: Option<Known>) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let record = decision.record();
    if let Some(known) = json {
        let mut object = record.summary();
        if let Some(members) = object.as_object_mut() {
            members.insert("known".to_owned(), known.word().into());
            members.insert("rule".to_owned(), record.rule.into());
            if let Some(unvouched) = record.unvouched() {
                members.insert("question".to_owned(), unvouched);
            }
        }
        return writeln!(stdout, "{object}");
    }
    write!(
        stdout,
        "{} ({}): {}",
        record.verdict,
        record.stage,
        visible(&record.reason)
    )?;
    if let Some(at) = &record.at {
        write!(stdout, "\n  at {}", visible(at))?;
    }
    writeln!(stdout)
}
