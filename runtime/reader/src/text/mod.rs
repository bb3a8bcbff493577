//! How one leaf's text is seen: plain, canonical, folded, as a look-alike, quoted.
//!
//! A string test reads the *plain* form; a restrictive one also the *canonical*
//! form and, where it asks for it, the *skeleton*. Outside text that a human or a
//! log reads goes through [`Quoted`]. The views know nothing of plans, calls or
//! JSON: they take a string and fill a buffer that the caller owns. Every one
//! clears that buffer first, runs in time linear in the input, and does not
//! allocate once the buffer has grown.

mod canonical;
pub mod escaped;
mod quoted;
mod skeleton;

pub use canonical::canonical_with_nul;
pub use canonical::{canonical, fold, is_canonical_fast};
pub use quoted::{Quoted, quote};
pub use quoted::{has_hidden, quoted};
pub use skeleton::skeleton;

use crate::block::{self, Block, Wanted, WantedPair, wanted};

/// Whether `c` is white space to any of the readers a value may meet.
///
/// The union of Unicode's `White_Space`, of what Python strips besides
/// (U+001C to U+001F) and of what JavaScript strips besides (U+FEFF).
#[must_use]
pub fn is_space(c: char) -> bool {
    matches!(c, '\u{1c}'..='\u{1f}' | '\u{feff}') || c.is_whitespace()
}

/// Writes `input` to `out`, trimmed, each run of white space as one space.
pub fn plain(input: &str, out: &mut String) {
    out.clear();
    let mut rest = input;
    loop {
        // Most text is copied in long runs, the odd characters one by one.
        let (run, odd) = rest.split_at_checked(even_run(rest)).unwrap_or((rest, ""));
        let run = match out.is_empty() || out.ends_with(' ') {
            true => run.strip_prefix(' ').unwrap_or(run),
            false => run,
        };
        out.push_str(run);
        let mut chars = odd.chars();
        let Some(c) = chars.next() else { break };
        if !is_space(c) {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        rest = chars.as_str();
    }
    if out.ends_with(' ') {
        out.pop();
    }
}

/// Whether [`plain`] would return `input` unchanged, so that a copy can be saved.
#[must_use]
pub fn is_plain(input: &str) -> bool {
    if input.starts_with(' ') || input.ends_with(' ') {
        return false;
    }
    let even = even_run(input);
    // What is left may be a run of letters beyond ASCII, or an odd space.
    let mut after_space = input
        .as_bytes()
        .get(..even)
        .is_some_and(|run| run.ends_with(b" "));
    input.get(even..).is_none_or(|rest| {
        rest.chars().all(|c| {
            let space = is_space(c);
            let plain = !space || (c == ' ' && !after_space);
            after_space = space;
            plain
        })
    })
}

/// The length of the longest start of `text` that is printable ASCII without two spaces
/// in a row.
fn even_run(text: &str) -> usize {
    run_of(text.as_bytes(), wanted!(|block| printable(block)))
}

/// The printable characters of ASCII.
#[inline(always)]
pub fn printable<B: Block>(block: B) -> B::Flags {
    block.within(b' ', b'~')
}

/// The length of the longest start of `bytes` whose bytes are all `even`, without two
/// spaces in a row.
#[inline(always)]
pub fn run_of(bytes: &[u8], even: impl Wanted) -> usize {
    match block::find_pair(bytes, Odd(even)) {
        // The second of two spaces is the odd one.
        Some(at) if bytes.get(at) == Some(&b' ') => at + 1,
        Some(at) => at,
        None => bytes.len(),
    }
}

/// What is not even, and the first of two spaces.
#[derive(Clone, Copy)]
struct Odd<W>(W);

impl<W: Wanted> WantedPair for Odd<W> {
    #[inline(always)]
    fn flags<B: Block>(&self, block: B, next: B) -> B::Flags {
        !self.0.flags(block) | (block.is(b' ') & next.is(b' '))
    }
}

/// Whether `c` is invisible in most fonts: it is left out of the canonical form
/// and shown escaped in messages.
///
/// `Default_Ignorable_Code_Point` of Unicode 18.0, and the three interlinear
/// annotation marks (U+FFF9 to U+FFFB), which render as nothing as well.
#[must_use]
pub fn is_ignorable(c: char) -> bool {
    c >= '\u{ad}'
        && matches!(c,
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain_of(input: &str) -> String {
        let mut out = String::from("left over");
        plain(input, &mut out);
        out
    }

    #[test]
    fn plain_trims_and_collapses_what_any_reader_strips() {
        assert_eq!(plain_of(" a\t\n b\u{a0}\u{2028}c\u{feff}"), "a b c");
        assert_eq!(plain_of("\u{1c}a\u{1f}b\u{85}"), "a b");
        assert_eq!(plain_of(" \u{3000} "), "");
        assert_eq!(plain_of(""), "");
        assert_eq!(plain_of("a\u{200b}b"), "a\u{200b}b");
    }

    #[test]
    fn ignorable_characters_agree_with_a_second_source() {
        // The skeleton of the other crate drops exactly the default-ignorable ones.
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let dropped = unicode_security::skeleton(c.encode_utf8(&mut [0; 4]))
                .next()
                .is_none();
            let annotation = ('\u{fff9}'..='\u{fffb}').contains(&c);
            assert_eq!(is_ignorable(c), dropped || annotation, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn runs_end_where_a_plain_loop_ends_them(input in "[ab ]{0,80}(?:  |%|\n|é)?[ab %]{0,40}") {
            let bytes = input.as_bytes();
            let even = |byte: u8| (b' '..=b'~').contains(&byte) & (byte != b'%');
            let slow = (0..bytes.len()).find(|&at| {
                !even(bytes[at]) || (at > 0 && bytes[at] == b' ' && bytes[at - 1] == b' ')
            });
            let even = wanted!(|block| printable(block) & !block.is(b'%'));
            prop_assert_eq!(run_of(bytes, even), slow.unwrap_or(bytes.len()));
        }

        #[test]
        fn is_plain_says_when_plain_changes_nothing(input in "[ a\u{a0}\u{feff}\t\u{1c}\u{7f}é]{0,8}") {
            prop_assert_eq!(is_plain(&input), plain_of(&input) == input);
        }
    }
}
