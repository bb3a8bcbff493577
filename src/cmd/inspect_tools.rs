//! `bouncer inspect --tools`: what the tools of a lock are taken to do, and why.

use crate::output::Outcome;
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::effects::{Because, common_prefix, explain, schema_arguments};
use bouncer_engine::tools::{Lock, LockedTool};
use bouncer_plan::Effects;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Prints a line for each tool: its effects as they are guessed, and what says so.
pub fn run(path: &Path, as_json: bool) -> Outcome {
    let lock = source::lock(path)?;
    let mut stdout = std::io::stdout().lock();
    let tools: Vec<Guessed<'_>> = lock.tools.iter().map(|tool| guess(&lock, tool)).collect();
    if as_json {
        let all: Vec<Value> = tools.iter().map(Guessed::json).collect();
        writeln!(stdout, "{}", Value::Array(all))?;
        return Ok(0);
    }
    let widest = tools.iter().map(|tool| tool.name().chars().count()).max();
    for tool in &tools {
        tool.print(widest.unwrap_or_default(), &mut stdout)?;
    }
    Ok(0)
}

/// What one tool is taken to do.
struct Guessed<'l> {
    tool: &'l LockedTool,
    effects: Effects,
    why: Vec<(Effects, Because<'l>)>,
}

/// Guesses as the gate does: by the names of the whole server.
fn guess<'l>(lock: &'l Lock, tool: &'l LockedTool) -> Guessed<'l> {
    let same = lock
        .tools
        .iter()
        .filter(|other| other.server == tool.server);
    let prefix = common_prefix(same.map(|other| other.definition.name.as_str()));
    let none = &Value::Null;
    let schema = tool.definition.input_schema().unwrap_or(none);
    let mut why = Vec::new();
    let guess = explain(
        prefix,
        &tool.definition.name,
        schema_arguments(schema),
        |effects, because| why.push((effects, because)),
    );
    for (effects, _) in &mut why {
        *effects = effects.intersection(guess.effects);
    }
    why.retain(|(effects, _)| !effects.is_empty());
    Guessed {
        tool,
        effects: guess.effects,
        why,
    }
}

impl Guessed<'_> {
    /// The name as rules match it. It is the server's, so it is escaped.
    fn name(&self) -> String {
        let name = &self.tool.definition.name;
        let server = self.tool.server.as_ref();
        escape(&server.map_or_else(|| name.clone(), |server| format!("{server}__{name}")))
    }

    fn print(&self, width: usize, out: &mut impl Write) -> std::io::Result<()> {
        let name = self.name();
        if self.effects.is_empty() {
            return writeln!(
                out,
                "{name:width$}  nothing is known: neither its name nor its arguments tell"
            );
        }
        let why: Vec<String> = self
            .why
            .iter()
            .map(|(effects, because)| format!("{effects} by {}", said(*because)))
            .collect();
        writeln!(out, "{name:width$}  {}: {}", self.effects, why.join("; "))
    }

    fn json(&self) -> Value {
        let names = |effects: Effects| {
            effects
                .iter()
                .map(|effect| effect.name())
                .collect::<Vec<_>>()
        };
        let why: Vec<Value> = self
            .why
            .iter()
            .map(|(effects, because)| json!({"effects": names(*effects), "by": said(*because)}))
            .collect();
        json!({
            "server": self.tool.server,
            "tool": self.tool.definition.name,
            "effects": names(self.effects),
            "why": why,
        })
    }
}

/// Where a part of a guess comes from.
fn said(because: Because<'_>) -> String {
    match because {
        Because::Word(word) => format!("`{}` in its name", escape(word)),
        Because::Argument(name) => format!("its argument `{}`", escape(name)),
        Because::Value(name, value) => format!("`{}` of `{}`", escape(value), escape(name)),
    }
}
