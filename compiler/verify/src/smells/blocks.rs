//! Smells of tests whose match blocks: what gets around them, and line breaks.

use super::{Matcher, Spot, place};
use crate::probe::{self, Sample};
use crate::{Finding, Kind, Severity, schema};
use bouncer_compiler::diagnostic::{Code, escape, quote};
use bouncer_compiler::policy::{Path, Pattern};
use regex_syntax::hir::{Hir, Look};

/// SQL keywords that a rule would be about.
pub(super) const KEYWORDS: &[&str] = &[
    "drop", "truncate", "alter", "grant", "revoke", "delete", "update", "insert", "create",
    "select", "attach", "copy", "execute", "union", "pragma", "replace", "merge",
];
/// Names of arguments that hold SQL.
const QUERIES: &[&str] = &[
    "query",
    "sql",
    "statement",
    "stmt",
    "q",
    "queries",
    "statements",
];

/// Whether a statement or a comment in front gets around what blocks.
pub(super) fn start_only(
    spot: &Spot<'_>,
    matcher: &Matcher<'_>,
    written: &str,
    sample: &Sample,
    (start, _): (usize, usize),
    out: &mut Vec<Finding>,
) {
    let text = sample.text();
    // What stands before the keyword in the pattern is for the author to know.
    if !sample.part(0, start).trim().is_empty() || !matcher.matches(&text) {
        return;
    }
    let tries = [
        format!("select 1; {}", text.trim_start()),
        format!("/* */ {}", text.trim_start()),
    ];
    let Some(slips) = tries.iter().find(|text| matcher.misses(text)) else {
        return;
    };
    out.push(Finding {
        code: Code::START_ONLY,
        kind: Kind::PatternSmell,
        severity: Severity::Warning,
        message: format!(
            "{} only looks at the start of a query, and is not found in `{}`",
            quote(written),
            escape(slips)
        ),
        places: place(spot.at, ""),
        help: Some("compare `any sql(…).verb`, which reads every statement".to_owned()),
        example: None,
    });
}

/// Whether another letter case gets around what blocks.
pub(super) fn letter_case(
    spot: &Spot<'_>,
    matcher: &Matcher<'_>,
    written: &str,
    sample: &Sample,
    (start, end): (usize, usize),
    what: &str,
    out: &mut Vec<Finding>,
) {
    let text = sample.text();
    let mut other = upper(sample, (start, end));
    if other == text {
        let part = sample.part(start, end).to_ascii_lowercase();
        other = format!(
            "{}{part}{}",
            sample.part(0, start),
            sample.part(end, sample.chars.len())
        );
    }
    if other != text && matcher.matches(&text) && matcher.misses(&other) {
        out.push(other_case(spot, written, &other, what));
    }
}

pub(super) fn other_case(spot: &Spot<'_>, written: &str, other: &str, what: &str) -> Finding {
    let help = if what == "SQL" {
        "write `(?i)` in front of a pattern, or compare `sql(…).verb`"
    } else {
        "write `(?i)` in front of a pattern, or compare `host(…)` or `domain(…)`"
    };
    Finding {
        code: Code::LETTER_CASE,
        kind: Kind::PatternSmell,
        severity: Severity::Warning,
        message: format!(
            "letter case gets around {}: {what} has none, and `{}` is not found",
            quote(written),
            escape(other)
        ),
        places: place(spot.at, ""),
        help: Some(help.to_owned()),
        example: None,
    }
}

/// The sample with a part in upper case.
pub(super) fn upper(sample: &Sample, (start, end): (usize, usize)) -> String {
    let part = sample.part(start, end).to_ascii_uppercase();
    format!(
        "{}{part}{}",
        sample.part(0, start),
        sample.part(end, sample.chars.len())
    )
}

/// A keyword of SQL that the sample has as a word of its own.
pub(super) fn has_keyword(sample: &Sample) -> Option<(usize, usize)> {
    let chars = &sample.chars;
    let is_letter = |at: usize| {
        chars
            .get(at)
            .is_some_and(|(c, mark)| c.is_ascii_alphabetic() && *mark == probe::Mark::Literal)
    };
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        while is_letter(at) {
            at += 1;
        }
        let word = sample.part(start, at).to_ascii_lowercase();
        if KEYWORDS.contains(&word.as_str()) {
            return Some((start, at));
        }
        at = at.max(start + 1);
    }
    None
}

pub(super) fn holds_sql(path: &Path) -> bool {
    let keys = schema::keys(path);
    keys.last()
        .is_some_and(|key| QUERIES.iter().any(|query| key.eq_ignore_ascii_case(query)))
}

/// Line breaks where there are none, and where they get past a class of separators.
pub(super) fn line_breaks(
    spot: &Spot<'_>,
    hir: &Hir,
    samples: &[Sample],
    pattern: &Pattern,
    out: &mut Vec<Finding>,
) {
    let mut push = |severity, message: String, help: &str| {
        out.push(Finding {
            code: Code::LINE_BREAK,
            kind: Kind::PatternSmell,
            severity,
            message,
            places: place(spot.at, ""),
            help: Some(help.to_owned()),
            example: None,
        });
    };
    let written = quote(&pattern.written);
    if spot.raw {
        let mut leaks = None;
        probe::each_class(hir, &mut |class| {
            let has = |c| probe::contains(class, c);
            let separator = [';', '|', '&'].into_iter().find(|&c| !has(c));
            if has('\n') && has('a') && has('/') && separator.is_some() {
                leaks = leaks.or(separator);
            }
        });
        if let Some(separator) = leaks {
            push(
                Severity::Warning,
                format!("{written} keeps `{separator}` out and lets a line break through"),
                "add `\\n` to the characters that are kept out",
            );
        }
        return;
    }
    let breaks = |sample: &Sample| {
        sample
            .chars
            .iter()
            .any(|(c, _)| matches!(c, '\n' | '\r' | '\t'))
    };
    if !samples.is_empty() && samples.iter().all(breaks) {
        push(
            Severity::Warning,
            format!("{written} looks for a line break or tab, which no compared text holds"),
            "white space is collapsed to single spaces before it is compared: write a space",
        );
        return;
    }
    let looks = hir.properties().look_set();
    if [Look::StartLF, Look::EndLF, Look::StartCRLF, Look::EndCRLF]
        .into_iter()
        .any(|look| looks.contains(look))
    {
        push(
            Severity::Note,
            format!("the flag `m` changes nothing in {written}: no compared text has lines"),
            "white space is collapsed to single spaces before it is compared; leave the flag out",
        );
    }
}
