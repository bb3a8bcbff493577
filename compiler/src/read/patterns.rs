//! Regular expressions in policies: which dialect they are in, and where a mistake
//! in one stands in the file.

use super::decode::Cx;
use super::dialect::Dialect;
use super::place;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::policy::Pattern;
use bouncer_dialects::RegexError;

/// The longest pattern, in bytes.
const LONGEST: usize = 64 << 10;

/// A pattern that is searched for: `regex` and `notRegex`.
pub(crate) fn search(cx: &mut Cx<'_>, text: &str, span: Span, what: &str) -> Option<Pattern> {
    let translated = match cx.dialect {
        Dialect::Native => bouncer_dialects::native(text, ""),
        Dialect::Rules | Dialect::Contracts => bouncer_dialects::javascript(text),
    };
    finish(cx, text, span, what, translated)
}

/// A pattern that has to match the whole value: `arg_patterns`.
pub(crate) fn whole(cx: &mut Cx<'_>, text: &str, span: Span, what: &str) -> Option<Pattern> {
    let translated = match cx.dialect {
        Dialect::Native => {
            bouncer_dialects::native(text, "").map(|regex| format!(r"\A(?:{regex})\z"))
        }
        Dialect::Rules | Dialect::Contracts => bouncer_dialects::python_whole(text),
    };
    finish(cx, text, span, what, translated)
}

fn finish(
    cx: &mut Cx<'_>,
    text: &str,
    span: Span,
    what: &str,
    translated: Result<String, RegexError>,
) -> Option<Pattern> {
    if text.len() > LONGEST {
        let message = format!("{what} is longer than {LONGEST} bytes");
        cx.report(Diagnostic::new(Code::TOO_LARGE, span, message).help("split the pattern"));
        return None;
    }
    let error = match translated {
        Ok(regex) => match regex_syntax::Parser::new().parse(&regex) {
            Ok(_) => {
                return Some(Pattern {
                    regex,
                    written: text.to_owned(),
                });
            }
            // The parts compile, but not together: `(?x)a # b` eats the wrapping's end.
            Err(_) => RegexError {
                message: "the pattern does not compile".to_owned(),
                help: None,
                start: 0,
                end: text.len(),
            },
        },
        Err(error) => error,
    };
    let place = within(cx, span, text, error.start, error.end);
    let message = format!("{what} does not compile: {}", error.message);
    let mut diagnostic = Diagnostic::new(Code::REGEX, place, message);
    diagnostic = diagnostic.help(error.help.unwrap_or_else(|| {
        "correct the pattern; a back-slash before a special character makes it literal".to_owned()
    }));
    cx.report(diagnostic);
    None
}

/// The stretch of the file where the bytes `start..end` of a scalar's text stand. `span`
/// is the scalar's place.
pub(crate) fn within(cx: &Cx<'_>, span: Span, text: &str, start: usize, end: usize) -> Span {
    let source = cx.sources.text(span);
    let from = place::locate(source, text, start);
    let to = place::locate(source, text, end.max(start));
    let limit = source.len();
    let base = span.start as usize;
    let from = from.min(limit);
    // At least one character, unless the place is the scalar's end.
    let width = source
        .get(from..)
        .and_then(|rest| rest.chars().next())
        .map_or(0, char::len_utf8);
    Span::new(
        span.file,
        base + from,
        base + to.min(limit).max(from + width),
    )
}
