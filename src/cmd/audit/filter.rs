//! Which lines a reader wants.

use super::lines::Line;
use crate::cli::LogFilter;
use bouncer_audit::timestamp;
use bouncer_compiler::diagnostic::escape;
use bouncer_plan::format::GlobKind;
use bouncer_plan::glob;
use std::fmt;
use std::time::{Duration, SystemTime};

/// All of these have to hold. Times compare as texts: lines have them in UTC and in one
/// spelling.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    since: Option<String>,
    until: Option<String>,
    tool: Option<String>,
    server: Option<String>,
    verdict: Option<String>,
    outcome: Option<String>,
    conversation: Option<String>,
    contract: Option<String>,
}

/// An option that should hold a time, and does not.
#[derive(Debug)]
pub(crate) struct TimeError {
    option: String,
    text: String,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{} {}` is no time: write 15m, 2h or 3d, or UTC as in 2026-11-30T08:15",
            self.option,
            escape(&self.text)
        )
    }
}

impl std::error::Error for TimeError {}

impl Filter {
    pub(crate) fn new(said: &LogFilter) -> Result<Self, TimeError> {
        let now = SystemTime::now();
        let time = |option: &str, text: &Option<String>| {
            let time = text.as_ref().map(|text| {
                time(text, now).ok_or_else(|| TimeError {
                    option: option.to_owned(),
                    text: text.clone(),
                })
            });
            time.transpose()
        };
        Ok(Self {
            since: time("--since", &said.since)?,
            until: time("--until", &said.until)?,
            tool: said.tool.clone(),
            server: said.server.clone(),
            verdict: said.verdict.clone(),
            outcome: said.outcome.clone(),
            conversation: said.conversation.clone(),
            contract: said.contract.clone(),
        })
    }

    pub(crate) fn matches(&self, line: &Line) -> bool {
        let is =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let time = line.time.trim_end_matches('Z');
        self.since.as_deref().is_none_or(|since| time >= since)
            && self.until.as_deref().is_none_or(|until| time < until)
            && is(&self.server, &line.server)
            && is(&self.verdict, &line.verdict)
            && is(&self.outcome, &line.outcome)
            && is(&self.contract, &line.contract)
            && self
                .conversation
                .as_deref()
                .is_none_or(|wanted| line.conversation.starts_with(wanted))
            && self.tool.as_deref().is_none_or(|glob| is_tool(glob, line))
    }
}

fn is_tool(pattern: &str, line: &Line) -> bool {
    let Some(tool) = &line.tool else {
        return false;
    };
    let full = line
        .server
        .as_ref()
        .map(|server| format!("{server}__{tool}"));
    glob::matches(GlobKind::Native, pattern, tool)
        || full.is_some_and(|full| glob::matches(GlobKind::Native, pattern, &full))
}

/// A time as lines write it, without the `Z`, or the beginning of one.
fn time(text: &str, now: SystemTime) -> Option<String> {
    let text = text.trim();
    if let Some((at, unit)) = text.char_indices().last()
        && let Some(seconds) = match unit {
            's' => Some(1),
            'm' => Some(60),
            'h' => Some(3600),
            'd' => Some(86_400),
            'w' => Some(7 * 86_400),
            _ => None,
        }
    {
        let count: u64 = text.get(..at)?.parse().ok()?;
        let before = now.checked_sub(Duration::from_secs(count.checked_mul(seconds)?));
        let before = before.unwrap_or(SystemTime::UNIX_EPOCH);
        return Some(timestamp(before).trim_end_matches('Z').to_owned());
    }
    let text = text.trim_end_matches(['Z', 'z']).replace([' ', 't'], "T");
    // What stands in a whole time at each place.
    const SHAPE: &str = "0000-00-00T00:00:00.000";
    let fits = |(found, wanted): (char, char)| match wanted {
        '0' => found.is_ascii_digit(),
        wanted => found == wanted,
    };
    let ends = [10, 13, 16, 19, 23].contains(&text.len());
    (ends && text.chars().zip(SHAPE.chars()).all(fits)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
        assert_eq!(time("1h", now).unwrap(), "1970-01-01T23:00:00.000");
        assert_eq!(time("1d", now).unwrap(), "1970-01-01T00:00:00.000");
        assert_eq!(time("9w", now).unwrap(), "1970-01-01T00:00:00.000");
        for whole in ["2026-11-30", "2026-11-30T08", "2026-11-30T08:15:00.123"] {
            assert_eq!(time(whole, now).unwrap(), whole);
        }
        assert_eq!(time("2026-11-30 08:15Z", now).unwrap(), "2026-11-30T08:15");
        for wrong in [
            "",
            "h",
            "1",
            "-1h",
            "2026",
            "2026-11-30T08:1",
            "1y",
            "30.11.2026",
        ] {
            assert_eq!(time(wrong, now), None, "{wrong}");
        }
    }
}
