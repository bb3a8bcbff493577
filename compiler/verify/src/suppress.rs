//! Findings that the authors accepted: `# bouncer: allow B0803 because …` in a comment,
//! on the line of the finding or the line above it.

use super::{Accepted, Finding, Kind, Place, Severity};
use bouncer_compiler::diagnostic::{Code, SourceMap, all_codes, quote};
use bouncer_compiler::policy::Pos;

/// One comment.
struct Suppression {
    at: Pos,
    /// The line it is about; `None`: its whole file.
    line: Option<u32>,
    codes: Vec<Code>,
    reason: String,
    used: u32,
}

/// Codes that cannot be accepted: they are about the suppressions themselves.
const NEVER: [Code; 2] = [Code::UNUSED_SUPPRESSION, Code::BAD_SUPPRESSION];

/// Removes the findings that comments accept, and adds what is wrong with the comments.
/// `with_tools`: there is a lock, so that findings about its tools could come up. Returns what
/// was accepted.
pub(super) fn apply(
    findings: &mut Vec<Finding>,
    sources: &SourceMap,
    with_tools: bool,
) -> Vec<Accepted> {
    let mut wrong = Vec::new();
    let mut all: Vec<Suppression> = Vec::new();
    for file in 0..u32::try_from(sources.files().len()).unwrap_or(0) {
        comments(file, sources, &mut all, &mut wrong);
    }
    findings.retain(|finding| {
        let Some(place) = finding.places.first() else {
            return true;
        };
        let mut kept = true;
        for suppression in &mut all {
            let line = suppression.line.is_none_or(|line| line == place.at.line);
            let here = suppression.at.file == place.at.file && line;
            if here && suppression.codes.contains(&finding.code) {
                suppression.used += 1;
                kept = false;
            }
        }
        kept
    });
    let built_in = |file: u32| {
        let name = sources.file(file).map_or("", |source| &source.name);
        name.starts_with("pack:")
    };
    let mut accepted = Vec::new();
    for suppression in all {
        if suppression.used > 0 && !built_in(suppression.at.file) {
            accepted.push(Accepted {
                at: suppression.at,
                codes: suppression.codes.clone(),
                findings: suppression.used,
                reason: suppression.reason.clone(),
            });
        }
        // Without a lock nobody can tell whether one of these would be found; nor in a
        // pack, whose tools the user may not have.
        let needs_tools = suppression
            .codes
            .iter()
            .any(|code| (Code::UNCOVERED_TOOL..=Code::OPEN_EXFILTRATION).contains(code));
        if suppression.used > 0 || needs_tools && !with_tools || built_in(suppression.at.file) {
            continue;
        }
        let codes: Vec<&str> = suppression.codes.iter().map(|code| code.name()).collect();
        wrong.push(Finding {
            code: Code::UNUSED_SUPPRESSION,
            kind: Kind::UnusedSuppression,
            severity: Severity::Warning,
            message: format!("nothing here is {}", codes.join(" or ")),
            places: at(suppression.at),
            help: Some("remove the comment".to_owned()),
            example: None,
        });
    }
    findings.append(&mut wrong);
    accepted
}

/// The first line of the first file that says something.
pub(super) fn start(sources: &SourceMap) -> Vec<Place> {
    let Some(source) = sources.file(0) else {
        return Vec::new();
    };
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines: Vec<&str> = source.text.split('\n').collect();
    let line = lines.iter().position(says).unwrap_or(0);
    at(Pos {
        file: 0,
        line: u32::try_from(line + 1).unwrap_or(1),
        column: 1,
    })
}

fn at(at: Pos) -> Vec<Place> {
    vec![Place {
        at,
        label: String::new(),
    }]
}

/// Reads the comments of one file.
fn comments(file: u32, sources: &SourceMap, all: &mut Vec<Suppression>, wrong: &mut Vec<Finding>) {
    let Some(source) = sources.file(file) else {
        return;
    };
    if !source.text.contains("bouncer:") {
        return;
    }
    // YAML ends a line there, and what counts lines here does not: a comment could reach
    // further than it seems to.
    if source.text.replace("\r\n", "").contains('\r') {
        return;
    }
    let scalars = bouncer_compiler::scalars(file, sources);
    let mut offset = 0;
    let lines: Vec<&str> = source.text.split('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        let start = offset;
        offset += line.len() + 1;
        for (column, _) in line.match_indices('#') {
            let before = line.get(..column).unwrap_or_default();
            let text = line.get(column + 1..).unwrap_or_default().trim_start();
            let begins = before.is_empty() || before.ends_with([' ', '\t']);
            let Some(text) = text.strip_prefix("bouncer:").filter(|_| begins) else {
                continue;
            };
            let place = start + column;
            if scalars
                .iter()
                .any(|s| (s.start as usize..s.end as usize).contains(&place))
            {
                continue;
            }
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let (_, column) = source.line_column(u32::try_from(place).unwrap_or(u32::MAX));
            let here = Pos {
                file,
                line: number,
                column,
            };
            match parse(text) {
                Ok(accepts) => all.push(Suppression {
                    at: here,
                    line: if accepts.whole {
                        None
                    } else if before.trim().is_empty() {
                        Some(next_content(&lines, index))
                    } else {
                        Some(number)
                    },
                    codes: accepts.codes,
                    reason: accepts.reason,
                    used: 0,
                }),
                Err((message, help)) => wrong.push(Finding {
                    code: Code::BAD_SUPPRESSION,
                    kind: Kind::UnusedSuppression,
                    severity: Severity::Error,
                    message,
                    places: at(here),
                    help: Some(help),
                    example: None,
                }),
            }
            break;
        }
    }
}

/// The number of the next line below `index` that is neither empty nor a comment.
fn next_content(lines: &[&str], index: usize) -> u32 {
    let below = lines.iter().enumerate().skip(index + 1);
    let found = below
        .map(|(at, line)| (at, line.trim()))
        .find(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    found.map_or(0, |(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX))
}

/// What a comment says.
#[derive(Debug, PartialEq, Eq)]
struct Accepts {
    codes: Vec<Code>,
    reason: String,
    /// It is about the whole file.
    whole: bool,
}

/// ` allow B0803, B0805 because REASON`, or `allow-file` for the whole file.
fn parse(text: &str) -> Result<Accepts, (String, String)> {
    let form = "write `# bouncer: allow CODE because REASON`, or `allow-file` for the whole file"
        .to_owned();
    let text = text.trim();
    let (whole, rest) = match text.strip_prefix("allow-file") {
        Some(rest) => (true, Some(rest)),
        None => (false, text.strip_prefix("allow")),
    };
    let Some(rest) = rest.filter(|r| r.starts_with(char::is_whitespace)) else {
        return Err(("this comment is not a suppression".to_owned(), form));
    };
    let (codes, reason) = match rest.split_once(" because") {
        Some((codes, reason)) if reason.is_empty() || reason.starts_with([' ', ':']) => {
            (codes, reason.trim_start_matches(':').trim())
        }
        _ => (rest, ""),
    };
    if !reason.chars().any(char::is_alphanumeric) {
        return Err(("this suppression gives no reason".to_owned(), form));
    }
    let words = codes.split([',', ' ']).filter(|word| !word.is_empty());
    let mut out = Vec::new();
    for word in words {
        let code = all_codes().find(|code| code.name().eq_ignore_ascii_case(word));
        match code {
            Some(code) if !NEVER.contains(&code) => out.push(code),
            Some(_) => {
                return Err((
                    format!("{} cannot be suppressed", quote(word)),
                    "mend or remove the comment that it is about".to_owned(),
                ));
            }
            None => {
                return Err((
                    format!("there is no code {}", quote(word)),
                    "`bouncer explain` lists all".to_owned(),
                ));
            }
        }
    }
    if out.is_empty() {
        return Err(("this suppression names no code".to_owned(), form));
    }
    Ok(Accepts {
        codes: out,
        reason: reason.to_owned(),
        whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read() {
        let codes = |text: &str| {
            let names = |accepts: Accepts| {
                let codes = accepts.codes.iter();
                codes.map(|code| code.name()).collect::<Vec<_>>()
            };
            parse(text).map(names)
        };
        let whole = parse(" allow-file B0805 because that is how it is").unwrap();
        assert!(whole.whole && whole.reason == "that is how it is");
        assert_eq!(codes(" allow B0803 because it is so"), Ok(vec!["B0803"]));
        assert_eq!(
            codes(" allow b0803, B0805 because: of that"),
            Ok(vec!["B0803", "B0805"])
        );
        for bad in [
            " allow B0803",
            " allow B0803 because",
            " allow B0803 because …",
            " allow because reasons",
            " deny B0803 because reasons",
            " allow B9999 because reasons",
            " allow B0825 because reasons",
            "",
        ] {
            assert!(codes(bad).is_err(), "{bad}");
        }
    }
}
