//! Splits one value into the destinations it holds, and tells whether a value is
//! nothing but destinations.
//!
//! The rule is that nothing gets lost: what is not clearly a separator or a display
//! name is handed out and so judged. Where a reader might not split as this does,
//! the whole value is handed out as well.

use super::shapes::{
    encoded_at, escape, has_domain_shape, is_address, is_host, is_local_char, scheme_end,
    strip_scheme,
};
use crate::block::{self, Set, wanted};
use crate::text::{canonical, is_ignorable, is_space, printable};
use std::cell::Cell;
use std::ops::ControlFlow;

/// Receives one piece; `Break` ends the walk.
type Each<'a, 'f> = &'f mut dyn FnMut(&'a str) -> ControlFlow<()>;

/// What happened on the way.
#[derive(Default)]
struct Notes {
    /// A separator that only some readers honour: full width, percent-encoded.
    odd: bool,
    /// An address was taken out of `Name <…>` or `mailto:`.
    unwrapped: bool,
}

/// Hands each destination in `value` to `each`, as a slice of `value`.
///
/// - Addresses are separated by `,` `;` line breaks, their full-width and
///   percent-encoded forms, and, beside an address or URL, white space, quotes, round
///   and angle brackets.
/// - `Name <a@x>` is `a@x`; a name that could itself be a destination is judged too.
/// - `mailto:a@x?cc=b@y` is both; only `subject` and `body` are left out, if they
///   hold no address.
/// - A comma or semicolon in a URL separates only before an address, another URL or
///   white space.
/// - A value with one destination is handed out whole, white space included, since
///   that is what gets forwarded.
/// - A value that splits is handed out whole besides, unless every piece is a plain
///   address, URL or phone number between plain separators: a channel may well be
///   called `general, random`.
///
/// Always calls `each` at least once. Linear time, no allocation.
pub fn destinations(value: &str, each: &mut dyn FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    // One plain address, the most common value, has nothing in it to take apart.
    if is_address(value) {
        return each(value);
    }
    let mut notes = Notes::default();
    let (mut count, mut all_plain) = (0_usize, true);
    let _ = split(value, &mut notes, &mut |piece| {
        count += 1;
        all_plain = all_plain && is_plain_destination(piece);
        ControlFlow::Continue(())
    });
    if count == 0 || (count == 1 && !notes.unwrapped) {
        return each(value);
    }
    split(value, &mut Notes::default(), &mut |piece| each(piece))?;
    if notes.odd || !all_plain || is_untidy(value) {
        each(value)
    } else {
        ControlFlow::Continue(())
    }
}

/// Whether the whole value is an address, a URL, or a list of these, as it is or in
/// canonical form: `a@b`, `Name <a@b>`, `scheme://…`, `www.…`, `mailto:`, `tel:`,
/// `sms:` and their like.
///
/// A sentence that merely holds an address is not, nor are bare hosts: `report.txt`
/// reads like one. Linear time; what it allocates, one buffer a thread, is reused.
#[must_use]
pub fn is_destination_shaped(raw: &str) -> bool {
    if is_surely_unshaped(raw) {
        return false;
    }
    if all_shaped(raw) || is_odd_address(raw) || is_wrapped(raw) || is_broken_url(raw) {
        return true;
    }
    if raw
        .bytes()
        .all(|b| matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r') && b != b'%')
    {
        return false;
    }
    // One buffer a thread; a long one is not kept.
    let mut text = CANONICAL.take();
    canonical(raw, &mut text);
    let shaped =
        all_shaped(&text) || is_odd_address(&text) || is_wrapped(&text) || is_broken_url(&text);
    if text.capacity() <= KEPT {
        CANONICAL.set(text);
    }
    shaped
}

/// Whether nothing in `raw` could make it a destination, seen at a glance: no shape does
/// without a colon, an at sign, two slashes, a back-slash or `www.`, and only
/// characters beyond printable ASCII or percent signs could decode to one. `false` says
/// nothing.
fn is_surely_unshaped(raw: &str) -> bool {
    const BREAKS: Set<3> = Set::of(*b"\t\n\r");
    const TELLING: Set<4> = Set::of(*b":@%\\");
    // Both are in small letters; only a control byte would become a slash.
    const TWICE: Set<2> = Set::of(*b"/w");
    let odd = wanted!(|block, next| {
        let (small, next) = (block.or(0x20), next.or(0x20));
        let twice = small.among(&TWICE) & small.same(next);
        !(printable(block) | block.among(&BREAKS)) | block.among(&TELLING) | twice
    });
    block::find_pair(raw.as_bytes(), odd).is_none()
}

/// Largest buffer, in bytes, that a thread keeps between calls.
const KEPT: usize = 1 << 16;

thread_local! {
    static CANONICAL: Cell<String> = const { Cell::new(String::new()) };
}

/// Whether the whole value is an address in a rarer spelling of mail headers: with a
/// quoted local part, with a comment, or a named group.
fn is_odd_address(value: &str) -> bool {
    let value = value.trim_matches(is_space);
    if let Some(rest) = value.strip_prefix('"') {
        return rest
            .rsplit_once("\"@")
            .is_some_and(|(_, domain)| is_host(domain));
    }
    if let Some((_, rest)) = value.strip_prefix('(').and_then(|v| v.split_once(')')) {
        return all_shaped(rest);
    }
    if let Some((rest, _)) = value.strip_suffix(')').and_then(|v| v.split_once('(')) {
        return all_shaped(rest);
    }
    value
        .strip_suffix(';')
        .and_then(|group| group.split_once(':'))
        .is_some_and(|(name, members)| !name.contains('@') && all_shaped(members))
}

/// Whether the whole value is a destination between quotes or brackets.
fn is_wrapped(value: &str) -> bool {
    let around = |c: char| is_space(c) || "'\"`[]{}“”‘’«»‹›".contains(c);
    let inner = value.trim_matches(around);
    inner.len() < value.len() && all_shaped(inner)
}

/// Whether the value is one URL once tabs and line breaks are taken out, as browsers do.
fn is_broken_url(value: &str) -> bool {
    let value = value.trim_matches(is_space);
    let breaks = |c: char| matches!(c, '\t' | '\n' | '\r');
    if value.contains(' ') || !value.contains(breaks) {
        return false;
    }
    // The scheme, and what shows that one follows, may be broken as well.
    let mut letters = value.chars().filter(|c| !breaks(*c));
    let scheme = letters
        .by_ref()
        .take_while(|c| *c != ':')
        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    scheme && letters.next().is_some_and(|c| matches!(c, '/' | '\\'))
}

fn all_shaped(value: &str) -> bool {
    let (mut any, mut all) = (false, true);
    let _ = split(value, &mut Notes::default(), &mut |piece| {
        // Stray punctuation does not make a sentence.
        if piece.contains(char::is_alphanumeric) {
            any = true;
            all = all && is_shaped(piece);
        }
        if all {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    any && all
}

/// Schemes that address somebody or something without `//`.
const ADDRESSING: [&str; 18] = [
    "mailto",
    "tel",
    "sms",
    "smsto",
    "mms",
    "sip",
    "sips",
    "xmpp",
    "im",
    "callto",
    "http",
    "https",
    "ftp",
    "ws",
    "wss",
    "skype",
    "url",
    "view-source",
];

fn is_shaped(piece: &str) -> bool {
    if let Some(end) = scheme_end(piece) {
        return end < piece.len() && !piece.contains(is_space);
    }
    if ADDRESSING
        .iter()
        .any(|scheme| strip_scheme(piece, scheme).is_some_and(|rest| !rest.trim().is_empty()))
    {
        // A phone number may have spaces in it, a sentence after `http:` may not.
        return !piece.contains(is_space)
            || is_plain_destination(piece.rsplit(':').next().unwrap_or(""));
    }
    if piece.contains(is_space) {
        return false;
    }
    // Without a scheme: `//host/…` in a browser, which takes either slash for the other and
    // any number of them; `\\host\…` on Windows.
    let network = piece.trim_start_matches(['/', '\\']);
    if piece.len() - network.len() > 1 {
        let host = network.split(['/', '\\', '?', '#']).next().unwrap_or("");
        let name = host.split(':').next().unwrap_or("");
        let share = piece.starts_with("\\\\") && network.contains('\\') && !name.is_empty();
        let numbers = name.contains('.') && name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        return share || numbers || host.starts_with('[') || has_domain_shape(name);
    }
    let www = piece
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("www."));
    if www && piece.len() > 4 {
        return true;
    }
    let Some((local, rest)) = piece.split_once('@') else {
        return false;
    };
    if local.is_empty() {
        // `@user:host`, as Matrix has it.
        return rest
            .split_once(':')
            .is_some_and(|(_, host)| has_domain_shape(host));
    }
    let domain = rest.split(['/', ':', '?', '#', '@']).next().unwrap_or("");
    let last = domain.rsplit('.').next().unwrap_or("");
    // `react@18.2.0` is a package; an address in numbers has exactly four.
    let numeric = last.starts_with(|c: char| c.is_ascii_digit()) && domain.split('.').count() != 4;
    !domain.is_empty() && domain.contains(char::is_alphanumeric) && !numeric
}

/// A piece that no reader would take apart any further.
fn is_plain_destination(piece: &str) -> bool {
    let url =
        scheme_end(piece).is_some() && piece.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let phone = piece.len() >= 7
        && piece.starts_with(['+', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        && piece
            .bytes()
            .skip(1)
            .all(|b| b.is_ascii_digit() || b"-.() ".contains(&b));
    url || phone || is_address(piece)
}

/// Whether there is more in `value` than its pieces show.
fn is_untidy(value: &str) -> bool {
    value.trim_matches(is_space).len() != value.len()
        || value
            .chars()
            .any(|c| is_ignorable(c) || (c.is_control() && !matches!(c, '\n' | '\r' | '\t')))
}

/// Walks the segments of `value`.
fn split<'a>(value: &'a str, notes: &mut Notes, each: Each<'a, '_>) -> ControlFlow<()> {
    let mut rest = value;
    loop {
        let (end, separator) = segment_end(rest, notes);
        segment(rest.get(..end).unwrap_or(rest), notes, each)?;
        if separator == 0 {
            return ControlFlow::Continue(());
        }
        rest = rest.get(end + separator..).unwrap_or("");
    }
}

/// Where the first segment of `rest` ends, and how long the separator after it is.
fn segment_end(rest: &str, notes: &mut Notes) -> (usize, usize) {
    let start = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let text = rest.get(start..).unwrap_or("");
    let mut in_url = scheme_end(text).is_some();
    let mut at = start + quoted_name(text);
    while let Some(c) = rest.get(at..).and_then(|text| text.chars().next()) {
        let mut len = c.len_utf8();
        match c {
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                return (at, len);
            }
            ',' | ';' if !in_url || ends_url(rest.get(at + 1..).unwrap_or("")) => return (at, len),
            '，' | '；' | '、' | '﹐' | '﹔' | '､' | '،' | '؛' | '\u{37e}' => {
                notes.odd = true;
                return (at, len);
            }
            '%' if !in_url => {
                if let Some((escaped, code)) = escape(rest.get(at..).unwrap_or("")) {
                    // A long escape is read once only.
                    len = escaped;
                    if matches!(code, ',' | ';' | '\n' | '\r') {
                        notes.odd = true;
                        return (at, len);
                    }
                }
            }
            _ if is_space(c) => in_url = false,
            _ => {}
        }
        at += len;
    }
    (rest.len(), 0)
}

/// Whether the comma or semicolon before `after` ends the URL before it.
fn ends_url(after: &str) -> bool {
    let next = after
        .split(|c| matches!(c, ',' | ';') || is_space(c))
        .next()
        .unwrap_or("");
    next.is_empty() || is_strong(next)
}

/// The length of a quoted display name at the start of `text`, if it clearly is one:
/// short, closed, followed by `<`, and nothing in it that could be a destination.
fn quoted_name(text: &str) -> usize {
    const LONGEST: usize = 200;
    let mut escaped = false;
    for (at, c) in text.char_indices().take(LONGEST).skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let name = text.get(1..at).unwrap_or("");
                let after = text
                    .get(at + 1..)
                    .unwrap_or("")
                    .trim_start_matches([' ', '\t']);
                return if after.starts_with('<') && is_clean_name(name) {
                    at + 1
                } else {
                    0
                };
            }
            _ if c.is_control() => return 0,
            _ => {}
        }
        if !text.starts_with('"') {
            return 0;
        }
    }
    0
}

/// Whether `text` holds an address or a URL in some spelling.
fn is_strong(text: &str) -> bool {
    text.contains("://")
        || encoded_at(text)
        || strip_scheme(text, "mailto").is_some()
        || text
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case("www."))
}

/// Whether nothing in a display name could be meant as a destination.
fn is_clean_name(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    digits < 6
        && !name.contains(['<', '>', '#', '%', '/', '\\'])
        && !name
            .chars()
            .any(|c| (c.is_control() && c != '\t') || is_ignorable(c))
        && !is_strong(name)
        && !name.split([' ', '"', ',', '(', ')']).any(has_domain_shape)
}

/// One segment between separators.
fn segment<'a>(text: &'a str, notes: &mut Notes, each: Each<'a, '_>) -> ControlFlow<()> {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return ControlFlow::Continue(());
    }
    if let Some(list) = strip_scheme(text, "mailto") {
        return mail_link(list, notes, each);
    }
    let spaced = text.contains(is_space);
    if scheme_end(text).is_some() && !spaced {
        return each(text);
    }
    // What is left of `mailto:a@x,b@y?cc=c@z` after the comma.
    if !spaced
        && text
            .split_once('?')
            .is_some_and(|(before, after)| before.contains('@') && after.contains('='))
    {
        return mail_link(text, notes, each);
    }
    address(text, notes, each)
}

/// The addresses and headers of a `mailto:` link.
fn mail_link<'a>(link: &'a str, notes: &mut Notes, each: Each<'a, '_>) -> ControlFlow<()> {
    notes.unwrapped = true;
    let (to, query) = link.split_once('?').unwrap_or((link, ""));
    address(to.trim_matches(is_space), notes, each)?;
    for header in query.split('&') {
        let (key, value) = header.split_once('=').unwrap_or(("", header));
        let is_text = ["subject", "body"]
            .iter()
            .any(|text| text.eq_ignore_ascii_case(key));
        if !is_text || is_strong(value) {
            address(value.trim_matches(is_space), notes, each)?;
        }
    }
    ControlFlow::Continue(())
}

/// `a@x`, `Name <a@x>`, or several words with an address among them.
fn address<'a>(text: &'a str, notes: &mut Notes, each: Each<'a, '_>) -> ControlFlow<()> {
    if text.is_empty() {
        return ControlFlow::Continue(());
    }
    if let Some((name, inner)) = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'))
    {
        let inner = strip_scheme(inner, "mailto").unwrap_or(inner);
        if is_plain_destination(inner) && is_clean_name(name) {
            notes.unwrapped = true;
            return each(inner);
        }
    }
    let breaks = |c: char| is_space(c) || matches!(c, '<' | '>' | '(' | ')' | '"');
    if !text.contains(breaks) || !(is_strong(text) || text.contains("www.")) {
        return each(text);
    }
    for word in text.split(breaks).filter(|word| !word.is_empty()) {
        // Quotes of an address are no part of it; they alone are no destination.
        if word.contains(|c: char| c.is_alphanumeric() || !is_local_char(c)) {
            notes.unwrapped = true;
            each(word)?;
        }
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests;
