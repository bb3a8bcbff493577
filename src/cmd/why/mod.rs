//! `bouncer why`: a verdict explained, from the audit log or of a hypothetical call.
//!
//! Says which part of the policy decided, about which value, where that value was
//! first seen, and what would have changed the verdict. Of a hypothetical call under
//! policies the changes are not guessed: each is made and the call judged again.

mod changes;
mod log;
mod trial;

use crate::cli::WhyArgs;
use crate::output::{Failure, Outcome};
use bouncer_audit::Audit;
use bouncer_engine::gate::{First, Grounds, ReadBefore};
use bouncer_reader::text::Quoted;
use serde::Serialize;
use std::io::{self, Write};

/// Runs the command.
pub fn run(args: &WhyArgs) -> Outcome {
    let explanation = match (&args.audit, &args.tool) {
        (Some(log), _) => log::explain(log, args.line, args.last)?,
        (None, Some(tool)) => trial::explain(args, tool)?,
        (None, None) => {
            let log = Audit::default_path().filter(|log| log.is_file());
            let log = log.ok_or_else(|| {
                let help = "name a call with `--tool`, or a log with `--audit`";
                Failure::Message(format!("there is nothing to explain: {help}"))
            })?;
            log::explain(&log, args.line, args.last)?
        }
    };
    let mut stdout = io::stdout().lock();
    if args.json {
        let json = serde_json::to_string(&explanation)
            .map_err(|error| Failure::Message(error.to_string()))?;
        writeln!(stdout, "{json}")?;
    } else {
        explanation.print(&mut stdout)?;
    }
    Ok(0)
}

/// Why a call got its verdict.
#[derive(Debug, Serialize)]
struct Explanation {
    call: CallName,
    verdict: String,
    contract: String,
    /// The same, more exactly.
    code: String,
    reason: String,
    /// Where the policy says so.
    at: Option<String>,
    /// What became of the call; only from a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// The value in question, and where it was first seen.
    grounds: Option<Grounds>,
    /// What had been read before, first where and when.
    #[serde(skip_serializing_if = "ReadBefore::is_nothing")]
    read: ReadBefore,
    /// The rules that name the tool, in order; only of a hypothetical call.
    rules: Vec<RuleTrial>,
    /// What would have changed the verdict.
    changes: Vec<Change>,
}

/// Which call.
#[derive(Debug, Serialize)]
struct CallName {
    server: Option<String>,
    tool: Option<String>,
    /// Its number in the conversation; only from a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
}

/// How one rule fared with the call.
#[derive(Debug, Serialize)]
struct RuleTrial {
    at: String,
    action: String,
    matched: bool,
    /// Where the tests stand that did not hold.
    failed: Vec<String>,
}

/// Something that would have changed the verdict.
#[derive(Debug, Serialize)]
struct Change {
    change: String,
    /// The verdict then, where that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
}

impl Explanation {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let tool = Quoted(self.call.tool.as_deref().unwrap_or_default());
        write!(out, "{}: {tool}", self.verdict)?;
        if let Some(server) = &self.call.server {
            write!(out, " of server {}", Quoted(server))?;
        }
        if let Some(number) = self.call.number {
            write!(out, ", call {number}")?;
        }
        if let Some(outcome) = &self.outcome {
            write!(out, " ({})", outcome.replace('_', " "))?;
        }
        writeln!(out)?;
        line(out, "reason", &visible(&self.reason))?;
        let at = self.at.as_deref();
        let place = at.map_or_else(String::new, |at| format!(", at {}", visible(at)));
        line(
            out,
            "decided by",
            &format!("{} ({}){place}", self.contract, self.code),
        )?;
        if let Some(grounds) = &self.grounds {
            let value = format!("{}: {}", Quoted(&grounds.param), Quoted(&grounds.value));
            line(out, "the value", &value)?;
            line(out, "first seen", &seen(grounds))?;
        }
        let before = [
            ("untrusted", &self.read.untrusted),
            ("private", &self.read.private),
        ];
        for (kind, first) in before {
            if let Some(first) = first {
                line(
                    out,
                    "read before",
                    &format!("{kind}: {}", first_read(first)),
                )?;
            }
        }
        for (index, rule) in self.rules.iter().enumerate() {
            let title = if index == 0 { "rules" } else { "" };
            let fared = match (rule.matched, rule.failed.as_slice()) {
                (true, _) => "matches".to_owned(),
                (false, []) => "does not match".to_owned(),
                (false, failed) => format!("does not hold: {}", failed.join(", ")),
            };
            line(out, title, &format!("{} {}: {fared}", rule.at, rule.action))?;
        }
        for (index, change) in self.changes.iter().enumerate() {
            let title = if index == 0 { "otherwise" } else { "" };
            let then = change.verdict.as_ref();
            let then = then.map_or_else(String::new, |verdict| format!(" -> {verdict}"));
            line(out, title, &format!("{}{then}", change.change))?;
        }
        Ok(())
    }
}

fn line(out: &mut impl Write, title: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {title:<11} {text}")
}

/// Where something was read first, in words.
fn first_read(first: &First) -> String {
    let mut text = format!("the output of {}", Quoted(&first.tool));
    if let Some(server) = &first.server {
        text.push_str(&format!(" of server {}", Quoted(server)));
    }
    text.push_str(&format!(", call {}", first.call));
    text
}

/// Where a value was first seen, in words.
pub(super) fn seen(grounds: &Grounds) -> String {
    let Some(seen) = &grounds.seen else {
        return "nowhere: nothing that was read holds it, and nothing vouches for it".to_owned();
    };
    let mut text = format!("in the output of {}", Quoted(&seen.tool));
    if let Some(server) = &seen.server {
        text.push_str(&format!(" of server {}", Quoted(server)));
    }
    text.push_str(&format!(", call {}", seen.call));
    if !seen.field.is_empty() {
        text.push_str(&format!(", field {}", Quoted(&seen.field)));
    }
    text.push_str(&format!(" ({})", visible(&seen.label)));
    if !seen.excerpt.is_empty() {
        text.push_str(&format!(": {}", Quoted(&seen.excerpt)));
    }
    text
}

/// A log can be written by anybody who can write the file: nothing in it may forge a line.
fn visible(text: &str) -> String {
    let hidden = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    text.chars()
        .map(|c| if hidden(c) { '\u{fffd}' } else { c })
        .collect()
}
