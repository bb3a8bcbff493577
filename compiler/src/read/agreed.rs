//! What several files say about the same option: they have to agree.

use crate::diagnostic::{Code, Diagnostic, Sink, Span};

/// The value that all agree on; reports those that differ from the first.
pub(crate) fn agreed<T: PartialEq>(
    said: impl Iterator<Item = (T, Span)>,
    option: &str,
    sink: &mut Sink,
) -> Option<(T, Span)> {
    let mut first: Option<(T, Span)> = None;
    for (value, span) in said {
        match &first {
            None => first = Some((value, span)),
            Some((other, at)) if *other != value => {
                let message = format!("two files set `{option}` differently");
                sink.push(
                    Diagnostic::new(Code::FILES_DIFFER, span, message)
                        .here("this is another value")
                        .also(*at, "than here")
                        .help("set it in one file"),
                );
            }
            Some(_) => {}
        }
    }
    first
}
