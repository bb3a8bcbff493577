//! One line of the log for a human. Nothing that stands in it is trusted.

use super::lines::Line;
use bouncer_compiler::diagnostic::{escape, visible};
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
    let conversation = escape(short(&line.conversation));
    let call = line.call.unwrap_or_default();
    writeln!(out, "  \u{1b}[2m{conversation}#{call}\u{1b}[0m")
}

/// Enough of a conversation's name to know it again: who has it, and eight characters.
fn short(name: &str) -> &str {
    let own = name.rfind('/').map_or(0, |at| at + 1);
    own.checked_add(8)
        .and_then(|end| name.get(..end))
        .unwrap_or(name)
}

fn cut(text: &str) -> String {
    let escaped = visible(text);
    if escaped.chars().count() <= MAX_REASON {
        return escaped;
    }
    escaped.chars().take(MAX_REASON).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    fn shown(line: &serde_json::Value) -> String {
        let mut out = Vec::new();
        super::line(&mut out, &line.to_string(), false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn principals_stay_whole_and_back_ticks_as_they_are() {
        let line = |conversation: &str| {
            shown(
                &serde_json::json!({"time": "2026-11-30T08:15:02.113Z", "conversation": conversation, "call": 2,
                "tool": "send", "verdict": "deny", "reason": "give `--x`\u{1b}[2J", "outcome": "blocked"}),
            )
        };
        let text = line("alice@corp/0123456789abcdef");
        assert!(text.contains("alice@corp/01234567#2"), "{text}");
        assert!(
            text.contains("give `--x`") && !text.contains("\u{1b}[2J"),
            "{text}"
        );
        assert!(line("0123456789abcdef").contains("01234567#2"));
        assert!(line("é".repeat(5).as_str()).contains('#'));
    }
}
