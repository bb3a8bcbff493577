//! Diagnostics as text: for people with the source underlined, as one line each,
//! and as JSON for programs.

use super::{Diagnostic, Diagnostics, Label, Severity, Source, SourceMap, Span};
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet,
};
use bouncer_reader::text::escaped::is_invisible;
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::Range;

/// A line longer than this (in bytes) is not shown: a policy written as one line of
/// megabytes would be laid out anew for every message.
const LONGEST_LINE: usize = 2_000;

/// Places further apart (in bytes) than this are shown one by one.
const LONGEST_WINDOW: usize = 50_000;

/// For people: message, underlined source, help; `colour` adds terminal colours.
#[must_use]
pub fn human(diagnostics: &Diagnostics, colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for diagnostic in diagnostics.list() {
        let groups = report(diagnostic, diagnostics.sources(), None);
        out.push_str(&renderer.render(&groups));
        out.push_str("\n\n");
    }
    push_omitted(&mut out, diagnostics.omitted());
    out
}

/// As [`human`], of one diagnostic, with an example below it.
#[must_use]
pub fn human_one(
    diagnostic: &Diagnostic,
    sources: &SourceMap,
    example: Option<&str>,
    colour: bool,
) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.render(&report(diagnostic, sources, example))
}

/// One line each: `policy.yaml:3:5: error[B0201]: unknown key …`.
#[must_use]
pub fn short(diagnostics: &Diagnostics) -> String {
    let mut out = String::new();
    for d in diagnostics.list() {
        let pos = diagnostics.sources().pos(d.span());
        let name = file_name(diagnostics.sources(), d.span().file);
        let _ = writeln!(
            out,
            "{name}:{}:{}: {}[{}]: {}",
            pos.line,
            pos.column,
            d.severity.name(),
            d.code,
            d.message
        );
    }
    push_omitted(&mut out, diagnostics.omitted());
    out
}

fn push_omitted(out: &mut String, omitted: usize) {
    if omitted > 0 {
        let _ = writeln!(out, "… and {omitted} more");
    }
}

/// The display name of a file, safe to print.
fn file_name(sources: &SourceMap, file: u32) -> String {
    sources.file(file).map_or_else(
        || "?".to_owned(),
        |source| {
            source
                .name
                .chars()
                .map(|c| {
                    if c.is_control() || is_invisible(c) {
                        '\u{fffd}'
                    } else {
                        c
                    }
                })
                .collect()
        },
    )
}

#[derive(Serialize)]
struct JsonPlace {
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
}

#[derive(Serialize)]
struct JsonSuggestion<'a> {
    #[serde(flatten)]
    place: JsonPlace,
    replacement: &'a str,
}

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    #[serde(flatten)]
    place: JsonPlace,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<JsonSuggestion<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<JsonPlace>,
}

/// As a JSON array, one object for each diagnostic: `code`, `severity`, `message`,
/// `file`, `line`, `column`, `end_line`, `end_column`, `label`, `help`, `suggestion`,
/// `related`. Lines and columns count from 1, columns in characters; ends are exclusive.
#[must_use]
pub fn json(diagnostics: &Diagnostics) -> serde_json::Value {
    let sources = diagnostics.sources();
    let place = |span: Span, label: &str| {
        let start = sources.pos(span);
        let end = sources.pos(Span {
            start: span.end,
            ..span
        });
        JsonPlace {
            file: sources
                .file(span.file)
                .map_or_else(String::new, |f| f.name.clone()),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            label: label.to_owned(),
        }
    };
    let list: Vec<_> = diagnostics
        .list()
        .iter()
        .map(|d| JsonDiagnostic {
            code: d.code.name(),
            severity: d.severity.name(),
            message: &d.message,
            place: place(d.span(), d.labels.first().map_or("", |l| &l.text)),
            help: d.help.as_deref(),
            suggestion: d.suggestion.as_ref().map(|s| JsonSuggestion {
                place: place(s.span, ""),
                replacement: &s.replacement,
            }),
            related: d
                .labels
                .iter()
                .skip(1)
                .map(|l| place(l.span, &l.text))
                .collect(),
        })
        .collect();
    serde_json::to_value(list).unwrap_or_default()
}

/// One diagnostic as annotate-snippets wants it. Labels in other files get a group
/// of their own below the main one.
fn report<'a>(
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
    example: Option<&'a str>,
) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut main = Group::with_title(
        level
            .primary_title(diagnostic.message.as_str())
            .id(diagnostic.code.name()),
    );
    let mut files: Vec<u32> = Vec::new();
    for label in &diagnostic.labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    for file in files {
        main = snippet(main, diagnostic, sources, file);
    }
    if let Some(example) = example {
        main = main.element(Level::NOTE.with_name("example").message(example));
    }
    if let Some(help) = &diagnostic.help {
        main = main.element(Level::HELP.message(help.as_str()));
    }
    let mut groups = vec![main];
    groups.extend(suggestion(diagnostic, sources));
    groups
}

/// Adds the underlined places in one file: one picture, or one for each place where
/// they are too far apart.
fn snippet<'a>(
    group: Group<'a>,
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
    file: u32,
) -> Group<'a> {
    let Some(source) = sources.file(file) else {
        return group;
    };
    let name = file_name(sources, file);
    let labels: Vec<_> = diagnostic
        .labels
        .iter()
        .enumerate()
        .filter(|(_, label)| label.span.file == file)
        .collect();
    if let Some(window) = Window::around(source, labels.iter().map(|(_, l)| l.span)) {
        return group.element(picture(&window, &labels, name));
    }
    labels.iter().fold(group, |group, label| {
        let span = label.1.span;
        if let Some(window) = Window::around(source, [span].into_iter()) {
            return group.element(picture(&window, &[*label], name.clone()));
        }
        let (line, column) = source.line_column(span.start);
        group.element(
            Origin::path(name.clone())
                .line(line as usize)
                .char_column(column as usize),
        )
    })
}

/// The lines of `window`, with the labels drawn in. The label with index 0 is the
/// place itself.
fn picture<'a>(
    window: &Window<'a>,
    labels: &[(usize, &'a Label)],
    name: String,
) -> Snippet<'a, Annotation<'a>> {
    let annotations = labels.iter().map(|&(index, label)| {
        let kind = if index == 0 {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let text = (!label.text.is_empty()).then_some(label.text.as_str());
        kind.span(window.range(label.span)).label(text)
    });
    Snippet::source(window.text)
        .line_start(window.first_line as usize)
        .path(name)
        .annotations(annotations)
}

fn suggestion<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Option<Group<'a>> {
    let suggestion = diagnostic.suggestion.as_ref()?;
    let source = sources.file(suggestion.span.file)?;
    let window = Window::around(source, [suggestion.span].into_iter())?;
    Some(
        Group::with_title(Level::HELP.secondary_title("try")).element(
            Snippet::source(window.text)
                .line_start(window.first_line as usize)
                .path(file_name(sources, suggestion.span.file))
                .patch(Patch::new(
                    window.range(suggestion.span),
                    suggestion.replacement.as_str(),
                )),
        ),
    )
}

/// The whole lines of a file that some stretches touch.
struct Window<'a> {
    text: &'a str,
    start: usize,
    first_line: u32,
}

impl<'a> Window<'a> {
    /// `None` if one of the lines, or all of them, are too long to show.
    fn around(source: &'a Source, spans: impl Iterator<Item = Span>) -> Option<Self> {
        let (mut first, mut last) = (u32::MAX, 1);
        for span in spans {
            first = first.min(source.line_column(span.start).0);
            // A stretch over many lines is shown by its first one.
            last = last.max(source.line_column(span.start).0);
        }
        let start = source.line_start(first)? as usize;
        let end = source
            .line_start(last + 1)
            .map_or(source.text.len(), |next| next as usize);
        let text = source.text.get(start..end)?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        if text.len() > LONGEST_WINDOW || text.split('\n').any(|line| line.len() > LONGEST_LINE) {
            return None;
        }
        Some(Self {
            text,
            start,
            first_line: first,
        })
    }

    /// A stretch in bytes of the window's text, cut to its first line and to whole
    /// characters.
    fn range(&self, span: Span) -> Range<usize> {
        let inside = |offset: u32| {
            let mut at = (offset as usize)
                .saturating_sub(self.start)
                .min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = inside(span.start);
        let line_end = self
            .text
            .get(start..)
            .and_then(|rest| rest.find('\n'))
            .map_or(self.text.len(), |n| start + n);
        start..inside(span.end).clamp(start, line_end)
    }
}
