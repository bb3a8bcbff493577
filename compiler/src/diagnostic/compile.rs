//! Errors of lowering and building as diagnostics: they know a position, not a span.

use super::{Code, Diagnostic, Diagnostics, SourceMap, Span};
use crate::lower::CompileError;
use crate::policy::Pos;

/// The diagnostics of errors that [`crate::compile`] reports.
#[must_use]
pub fn of_compile_errors(errors: &[CompileError], sources: SourceMap) -> Diagnostics {
    let list = errors
        .iter()
        .map(|error| {
            let span = error
                .at
                .map_or_else(Span::default, |at| span_of(at, &sources));
            let diagnostic =
                Diagnostic::new(Code::CANNOT_BUILD, span, error.message.clone()).here("here");
            match &error.help {
                Some(help) => diagnostic.help(help.clone()),
                None => diagnostic,
            }
        })
        .collect();
    Diagnostics::new(list, sources)
}

/// What stands at a position: a quoted text, or up to where a plain scalar would end, at
/// the latest the line's end.
#[must_use]
pub fn token_at(at: Pos, sources: &SourceMap) -> Span {
    let span = span_of(at, sources);
    let text = sources.text(span);
    let length = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let mut escaped = false;
            let close = text.char_indices().skip(1).find(|&(_, c)| {
                let closes = c == quote && !escaped;
                escaped = quote == '"' && c == '\\' && !escaped;
                closes
            });
            close.map_or(text.len(), |(at, _)| at + 1)
        }
        Some('{' | '[') => text.find(" #").unwrap_or(text.len()),
        _ => [": ", " #", ", ", "}", "]"]
            .iter()
            .filter_map(|end| text.find(end))
            .min()
            .unwrap_or(text.len()),
    };
    let shown = text.get(..length).unwrap_or(text).trim_end_matches(':');
    Span {
        end: span
            .start
            .saturating_add(u32::try_from(shown.len()).unwrap_or(0))
            .max(span.start),
        ..span
    }
}

/// From a position to the end of its line.
fn span_of(at: Pos, sources: &SourceMap) -> Span {
    let Some(source) = sources.file(at.file) else {
        return Span::default();
    };
    let Some(line_start) = source.line_start(at.line) else {
        return Span::default();
    };
    let rest = source.text.get(line_start as usize..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    let column = (at.column as usize).saturating_sub(1);
    let offset = line
        .char_indices()
        .nth(column)
        .map_or(line.len(), |(offset, _)| offset);
    let start = line_start as usize;
    Span::new(
        at.file,
        start + offset,
        start + line.trim_end().len().max(offset),
    )
}
