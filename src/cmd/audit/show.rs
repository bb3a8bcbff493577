//! One line of the log for a human. Nothing that stands in it is trusted.

use super::lines::Line;
use bouncer_compiler::diagnostic::escape;
use std::io::{self, Write};

/// Reasons are cut after this many characters.
const MAX_REASON: usize = 300;

/// Prints a line; as it is, if `json`.
pub(super) fn line(out: &mut impl Write, text: &str, json: bool) -> io::Result<()> {
    if json {
        return writeln!(out, "{text}");
    }
    let Some(line) = Line::parse(text) else {
        return Ok(());
    };
    let time = escape(line.time.get(..19).unwrap_or(&line.time));
    if let Some(event) = &line.event {
        return writeln!(
            out,
            "{time}  \u{1b}[36m{}\u{1b}[0m  {}",
            escape(event),
            cut(&line.reason)
        );
    }
    let verdict = line.verdict.as_deref().unwrap_or_default();
    let colour = match verdict {
        "allow" => "32",
        "ask" => "33",
        _ => "31",
    };
    let server = line
        .server
        .as_ref()
        .map(|name| format!("{}__", escape(name)));
    let tool = line.tool.as_deref().map_or("(no tool)".to_owned(), escape);
    write!(
        out,
        "{time}  \u{1b}[{colour}m{:5}\u{1b}[0m  {}{tool}  {}  {}",
        escape(verdict),
        server.unwrap_or_default(),
        escape(line.outcome.as_deref().unwrap_or_default()),
        escape(line.code.as_deref().unwrap_or_default()),
    )?;
    if verdict != "allow" {
        write!(out, "  {}", cut(&line.reason))?;
        if let Some(at) = &line.at {
            write!(out, "  ({})", escape(at))?;
        }
    }
    let conversation = escape(line.conversation.get(..8).unwrap_or(&line.conversation));
    let call = line.call.unwrap_or_default();
    writeln!(out, "  \u{1b}[2m{conversation}#{call}\u{1b}[0m")
}

fn cut(text: &str) -> String {
    let escaped = escape(text);
    if escaped.chars().count() <= MAX_REASON {
        return escaped;
    }
    escaped.chars().take(MAX_REASON).chain(['…']).collect()
}
