//! The native dialect: Rust `regex` syntax with flags beside it.

use regex_syntax::hir::{Look, LookSet};

use super::RegexError;

/// Longest pattern, in bytes.
pub(super) const MAX_PATTERN: usize = 64 * 1024;
/// Deepest nesting, as `regex-syntax` counts it: a group around a repeat is two. Its
/// own default, so that what passes here is not refused later.
pub(super) const MAX_DEPTH: u32 = 250;

/// Checks a pattern in Rust syntax and folds the flags (`i`, `s`, `m`, `x`) into it.
///
/// # Errors
///
/// Where the pattern does not parse, uses look-around or back-references, could
/// match inside a character, or is too large. Takes time linear in the pattern,
/// apart from Unicode classes.
pub fn native(pattern: &str, flags: &str) -> Result<String, RegexError> {
    too_long(pattern)?;
    let end = pattern.len();
    for (n, flag) in flags.char_indices() {
        // One byte for the closing slash.
        let at = end + 1 + n;
        if !"ismx".contains(flag) {
            let error = RegexError::new(
                format!("unknown regex flag `{flag}`"),
                at,
                at + flag.len_utf8(),
            );
            return Err(match flag {
                'g' | 'y' | 'u' | 'v' | 'd' => error.help(
                    "leave it out: a test asks whether there is a match, and patterns are Unicode",
                ),
                _ => error.help("the flags are `i`, `s`, `m` and `x`"),
            });
        }
        if flags.get(..n).is_some_and(|before| before.contains(flag)) {
            return Err(RegexError::new(
                format!("the regex flag `{flag}` stands twice"),
                at,
                at + 1,
            ));
        }
    }
    let prefix = if flags.is_empty() {
        String::new()
    } else {
        format!("(?{flags})")
    };
    let translated = format!("{prefix}{pattern}");
    checked(translated, prefix.len(), pattern, ascii_not_boundary())
}

/// Refuses patterns beyond [`MAX_PATTERN`].
pub(super) fn too_long(pattern: &str) -> Result<(), RegexError> {
    if pattern.len() > MAX_PATTERN {
        return Err(RegexError::new(
            format!(
                "the regex is too long: {} bytes, at most {MAX_PATTERN} are read",
                pattern.len()
            ),
            0,
            pattern.len(),
        )
        .help("use a list with `in`, or several rules"));
    }
    Ok(())
}

/// Parses `translated` as the `regex` crate will, and maps errors to the pattern
/// that starts at byte `shift` in it. See [`ascii_not_boundary`] for `not_empty`.
pub(super) fn checked(
    translated: String,
    shift: usize,
    pattern: &str,
    not_empty: LookSet,
) -> Result<String, RegexError> {
    let parsed = regex_syntax::ParserBuilder::new()
        .utf8(true)
        .nest_limit(MAX_DEPTH)
        .build()
        .parse(&translated);
    let hir = match parsed {
        Ok(hir) => hir,
        Err(error) => return Err(map(&error, shift, pattern)),
    };
    not_on_nothing(&hir, pattern, not_empty)?;
    Ok(translated)
}

/// The assertions that an empty match must not rest on in most dialects: an ASCII
/// `\B` holds between the bytes of one character too. Once something is consumed,
/// matching is at a character's border again; a match of nothing is not.
pub(super) fn ascii_not_boundary() -> LookSet {
    LookSet::singleton(Look::WordAsciiNegate)
}

/// Refuses an empty match that may rest on one of `looks`.
fn not_on_nothing(
    hir: &regex_syntax::hir::Hir,
    pattern: &str,
    looks: LookSet,
) -> Result<(), RegexError> {
    let properties = hir.properties();
    let inside = !properties.look_set().intersect(looks).is_empty();
    if inside && properties.minimum_len() == Some(0) {
        let start = pattern.find("\\B").unwrap_or(0);
        return Err(RegexError::new(
            "`\\B` in a regex that can match the empty text",
            start,
            pattern.len().min(start + 2),
        )
        .help("let the regex match at least one character"));
    }
    Ok(())
}

fn map(error: &regex_syntax::Error, shift: usize, pattern: &str) -> RegexError {
    let (message, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span()),
        _ => {
            return RegexError::new("the regex cannot be read", 0, pattern.len());
        }
    };
    let clamp = |offset: usize| offset.saturating_sub(shift).min(pattern.len());
    let (start, end) = (clamp(span.start.offset), clamp(span.end.offset));
    if let regex_syntax::Error::Parse(error) = error {
        use regex_syntax::ast::ErrorKind;
        match error.kind() {
            ErrorKind::UnsupportedLookAround => return look_around(pattern, start, end),
            ErrorKind::UnsupportedBackreference => return back_reference(pattern, start, end),
            ErrorKind::NestLimitExceeded(_) => {
                return RegexError::new(
                    format!("the regex is nested too deep, at most {MAX_DEPTH} levels are read"),
                    start,
                    end,
                );
            }
            _ => {}
        }
    }
    let text = pattern.get(start..end).unwrap_or_default();
    let message = lower_first(&message);
    if text.is_empty() {
        RegexError::new(format!("bad regex: {message}"), start, end)
    } else {
        RegexError::new(format!("bad regex at `{text}`: {message}"), start, end)
    }
}

/// The error for `(?=`, `(?!`, `(?<=`, `(?<!`.
pub(super) fn look_around(pattern: &str, start: usize, end: usize) -> RegexError {
    let rest = pattern.get(start..).unwrap_or_default();
    let (name, end) = match rest {
        rest if rest.starts_with("(?=") => ("look-ahead `(?=`", start + 3),
        rest if rest.starts_with("(?!") => ("negative look-ahead `(?!`", start + 3),
        rest if rest.starts_with("(?<=") => ("look-behind `(?<=`", start + 4),
        rest if rest.starts_with("(?<!") => ("negative look-behind `(?<!`", start + 4),
        _ => ("look-around", end),
    };
    RegexError::new(format!("{name} is not supported"), start, end)
        .help("regexes run in linear time; write two tests joined by `and`, or `and not`")
}

/// The error for `\1`, `\k<n>`, `(?P=n)`.
pub(super) fn back_reference(pattern: &str, start: usize, end: usize) -> RegexError {
    let text = pattern.get(start..end).unwrap_or_default();
    RegexError::new(
        format!("back-reference `{text}` is not supported"),
        start,
        end,
    )
    .help("regexes run in linear time; spell out what may repeat")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
