//! The canonical form: one spelling for all the ways a decoder could be fooled.
//!
//! Compatibility forms, invisible characters, control characters and percent
//! signs can hide inside one another: `%EF%BC%85` is an encoded full-width
//! percent sign, `%25%34%31` is `%41` is `A`. Looping over the steps until nothing
//! changes takes quadratic time on input made for it. Here the text is a stack of
//! characters that is kept irreducible: each character is pushed decomposed, and
//! whatever a push completes is popped and pushed again in its decoded form. No
//! two reductions overlap, so their order does not matter and the result is the
//! one that the loop would find.

use super::{is_ignorable, is_plain, is_space, printable, run_of};
use crate::block::{self, wanted};
use std::ops::Range;
use unicode_normalization::char::{canonical_combining_class, compose, decompose_compatible};

/// How many combining marks in a row are kept: the limit of Unicode's stream-safe
/// text format, and more than any language uses. It bounds the reordering.
const MARKS: usize = 30;

/// Writes the canonical form of `input` to `out`.
///
/// The result is a fixed point of all these steps together: NFKC; characters that
/// are default-ignorable or control characters other than white space removed
/// (U+FEFF too); percent-decoding; then white space trimmed and collapsed. Percent-encoded
/// bytes that form no character become U+FFFD. Of more than 30 combining
/// marks in a row the rest is dropped.
///
/// Takes linear time. It does not allocate once `out` has capacity, save for
/// percent-encoded ligatures whose decoding completes a further encoded character:
/// only text made for the purpose holds these.
pub fn canonical(input: &str, out: &mut String) {
    rewrite_canonical::<false>(input, out);
}

/// As [`canonical`], but NUL stays: for readers that take it as the end of a text.
pub fn canonical_with_nul(input: &str, out: &mut String) {
    rewrite_canonical::<true>(input, out);
}

fn rewrite_canonical<const KEEP_NUL: bool>(input: &str, out: &mut String) {
    out.clear();
    if is_canonical_fast(input) {
        out.push_str(input);
        return;
    }
    if input.is_ascii() && !may_decode(input) {
        return ascii::<KEEP_NUL>(input, out);
    }
    let mut waiting = Vec::new();
    for c in input.chars() {
        push::<KEEP_NUL>(c, out, &mut waiting);
    }
    compose_and_space(out);
}

/// Whether ASCII text has a percent sign that could start an escape, perhaps once
/// characters behind it are left out.
fn may_decode(input: &str) -> bool {
    let bytes = input.as_bytes();
    // What is not left out, and no digit of an escape, ends one.
    let ends = |byte: Option<&u8>| {
        byte.is_none_or(|byte| {
            matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r') && !byte.is_ascii_hexdigit()
        })
    };
    memchr::memchr_iter(b'%', bytes).any(|at| {
        let (first, second) = (bytes.get(at + 1), bytes.get(at + 2));
        !ends(first) && (first.is_none_or(|byte| !byte.is_ascii_hexdigit()) || !ends(second))
    })
}

/// The canonical form of ASCII text in which nothing decodes; nothing composes either.
fn ascii<const KEEP_NUL: bool>(input: &str, out: &mut String) {
    out.reserve(input.len());
    let mut rest = input;
    // One stretch of text without odd characters after the other.
    loop {
        let stretch = run_of(rest.as_bytes(), wanted!(|block| printable(block)));
        let (stretch, after) = rest.split_at_checked(stretch).unwrap_or((rest, ""));
        let stretch = match out.is_empty() || out.ends_with(' ') {
            true => stretch.strip_prefix(' ').unwrap_or(stretch),
            false => stretch,
        };
        out.push_str(stretch);
        let mut chars = after.chars();
        let Some(odd) = chars.next() else { break };
        rest = chars.as_str();
        if is_space(odd) {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_dropped::<KEEP_NUL>(odd) {
            out.push(odd);
        }
    }
    if out.ends_with(' ') {
        out.pop();
    }
}

/// Whether `input` is surely its own canonical form: printable ASCII without `%`,
/// with single spaces inside only. `false` says nothing.
#[must_use]
pub fn is_canonical_fast(input: &str) -> bool {
    !input.starts_with(' ')
        && !input.ends_with(' ')
        && run_of(input.as_bytes(), wanted!(|b| printable(b) & !b.is(b'%'))) == input.len()
}

/// Writes the canonical form of `input` in lower case to `out`.
///
/// Lower case is Unicode's, character by character; a final sigma becomes a plain
/// one, so that a word and its upper-case spelling fold to the same text.
pub fn fold(input: &str, out: &mut String) {
    canonical(input, out);
    if out.is_ascii() {
        out.make_ascii_lowercase();
        return;
    }
    // The new text is written behind the old one, so no second buffer is needed.
    let end = out.len();
    let mut at = 0;
    while at < end {
        let rest = out.as_bytes().get(at..end).unwrap_or_default();
        let run = block::find(rest, wanted!(|b| b.within(0x80, 0xff))).unwrap_or(rest.len());
        if run > 0 {
            let new = out.len();
            out.extend_from_within(at..at + run);
            if let Some(new) = out.get_mut(new..) {
                new.make_ascii_lowercase();
            }
            at += run;
            continue;
        }
        let Some(c) = out.get(at..).and_then(|rest| rest.chars().next()) else {
            break;
        };
        at += c.len_utf8();
        if c == 'ς' {
            out.push('σ');
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out.drain(..end);
}

/// Whether the canonical form leaves `c` out.
fn is_dropped<const KEEP_NUL: bool>(c: char) -> bool {
    if KEEP_NUL && c == '\0' {
        return false;
    }
    is_ignorable(c) || (c.is_control() && !is_space(c))
}

/// Pushes one character of the input, and all that follows from it.
///
/// `waiting` is empty before and after: it holds the rest of a decomposition whose
/// earlier part completed an encoded character, which has to be pushed first.
fn push<const KEEP_NUL: bool>(c: char, out: &mut String, waiting: &mut Vec<char>) {
    if c.is_ascii() {
        if !c.is_ascii_hexdigit() {
            if !is_dropped::<KEEP_NUL>(c) {
                out.push(c);
            }
            return;
        }
        // Most digits stand behind no percent sign.
        if !matches!(out.as_bytes(), [.., b'%', _]) {
            out.push(c);
            return;
        }
    }
    let mut next = Some(c);
    while let Some(c) = next.take() {
        let before = waiting.len();
        decompose_compatible(c, |part| {
            if next.is_some() {
                waiting.push(part);
            } else {
                next = push_part::<KEEP_NUL>(part, out);
            }
        });
        if let Some(added) = waiting.get_mut(before..) {
            added.reverse();
        }
        if next.is_none() {
            next = waiting.pop();
        }
    }
}

/// Pushes one decomposed character and decodes the percent escapes that it
/// completes. Returns the non-ASCII character whose last byte that was, popped.
fn push_part<const KEEP_NUL: bool>(part: char, out: &mut String) -> Option<char> {
    if is_dropped::<KEEP_NUL>(part) {
        return None;
    }
    out.push(part);
    let mut last = part;
    while last.is_ascii_hexdigit() {
        let &[.., b'%', high, low] = out.as_bytes() else {
            return None;
        };
        let high = char::from(high).to_digit(16)?;
        let low = char::from(low).to_digit(16)?;
        let byte = u8::try_from(high * 16 + low).ok()?;
        out.truncate(out.len() - 3);
        if !byte.is_ascii() {
            out.push(stand_in(byte));
            return pop_encoded(out);
        }
        last = char::from(byte);
        if is_dropped::<KEEP_NUL>(last) {
            return None;
        }
        out.push(last);
    }
    None
}

/// The character that keeps the place of a decoded byte from 0x80 up until the
/// bytes beside it complete a character.
///
/// Taken from U+E0080 to U+E00FF: these are default-ignorable, so none of them
/// ever gets onto the stack by itself.
fn stand_in(byte: u8) -> char {
    char::from_u32(0xe_0000 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte whose place `c` keeps.
fn stood_for(c: char) -> Option<u8> {
    u32::from(c)
        .checked_sub(0xe_0000)
        .and_then(|byte| u8::try_from(byte).ok())
}

/// Pops the stand-ins on top of the stack if they form one whole character.
fn pop_encoded(out: &mut String) -> Option<char> {
    let mut bytes = [0_u8; 4];
    let mut from = bytes.len();
    for byte in out.chars().rev().map_while(stood_for).take(bytes.len()) {
        from -= 1;
        *bytes.get_mut(from)? = byte;
        if byte >= 0xc0 {
            break;
        }
    }
    // Stand-ins take four bytes each.
    let encoded = bytes.get(from..)?;
    let mut chars = std::str::from_utf8(encoded).ok()?.chars();
    let c = chars.next()?;
    if chars.next().is_some() {
        return None;
    }
    out.truncate(out.len().checked_sub(encoded.len() * 4)?);
    Some(c)
}

/// Second half of the canonical form: orders and composes the decomposed text,
/// gives up on bytes that formed no character, trims and collapses white space.
fn compose_and_space(out: &mut String) {
    if is_plain(out) && out.is_ascii() {
        return;
    }
    let mut composer = Composer {
        starter: None,
        marks: [('\0', 0); MARKS],
        len: 0,
        gap: false,
    };
    let end = out.len();
    let mut at = 0;
    while at < end {
        let rest = out.as_bytes().get(at..end).unwrap_or_default();
        let run = run_of(rest, wanted!(|block| printable(block)));
        if run > 2 {
            // Within ASCII nothing composes, and its last character only with what follows.
            let first = rest.first().copied().unwrap_or(b' ');
            composer.take(first.into(), out, end);
            composer.flush(out, end);
            composer.copy(at + 1..at + run - 1, out, end);
            at += run - 1;
            continue;
        }
        let Some(c) = out.get(at..).and_then(|rest| rest.chars().next()) else {
            break;
        };
        at += c.len_utf8();
        let c = if stood_for(c).is_some() {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        };
        composer.take(c, out, end);
    }
    out.drain(..end);
    // The old text has been taken away, so the new one starts at 0.
    composer.flush(out, 0);
}

/// Canonical ordering and composition (as in NFC), one character at a time.
struct Composer {
    starter: Option<char>,
    /// The marks after the starter with their combining classes, in order.
    marks: [(char, u8); MARKS],
    len: usize,
    /// White space was seen since the last character written.
    gap: bool,
}

impl Composer {
    fn take(&mut self, c: char, out: &mut String, from: usize) {
        let ascii = c.is_ascii();
        let class = if ascii {
            0
        } else {
            canonical_combining_class(c)
        };
        if class != 0 {
            self.insert(c, class);
            return;
        }
        self.combine();
        if self.len == 0
            && !ascii
            && let Some(whole) = self.starter.and_then(|starter| compose(starter, c))
        {
            self.starter = Some(whole);
            return;
        }
        self.flush(out, from);
        self.starter = Some(c);
    }

    /// Copies a stretch of ASCII without two spaces in a row behind what has been written.
    fn copy(&mut self, stretch: Range<usize>, out: &mut String, from: usize) {
        let Range { mut start, mut end } = stretch;
        let is_space_at = |out: &String, at: usize| out.as_bytes().get(at) == Some(&b' ');
        if start < end && is_space_at(out, start) {
            self.gap = true;
            start += 1;
        }
        let ends_with_space = start < end && is_space_at(out, end - 1);
        if ends_with_space {
            end -= 1;
        }
        if start < end {
            if self.gap && out.len() > from {
                out.push(' ');
            }
            self.gap = false;
            out.extend_from_within(start..end);
        }
        self.gap |= ends_with_space;
    }

    /// Insertion sort, stable, over at most [`MARKS`] entries.
    fn insert(&mut self, c: char, class: u8) {
        let Some(marks) = self.marks.get_mut(..=self.len) else {
            return;
        };
        if let Some(last) = marks.last_mut() {
            *last = (c, class);
        }
        let at = marks
            .iter()
            .position(|&(_, other)| other > class)
            .unwrap_or(self.len);
        if let Some(tail) = marks.get_mut(at.min(self.len)..) {
            tail.rotate_right(1);
        }
        self.len += 1;
    }

    /// Composes the starter with those of its marks that nothing blocks.
    fn combine(&mut self) {
        let Some(mut starter) = self.starter else {
            return;
        };
        let mut kept = 0;
        let mut blocked = 0;
        for at in 0..self.len {
            let Some(&(mark, class)) = self.marks.get(at) else {
                break;
            };
            match compose(starter, mark) {
                Some(whole) if class > blocked => starter = whole,
                _ => {
                    blocked = class;
                    if let Some(slot) = self.marks.get_mut(kept) {
                        *slot = (mark, class);
                    }
                    kept += 1;
                }
            }
        }
        self.starter = Some(starter);
        self.len = kept;
    }

    /// Writes the starter and its marks. `from` is where the new text begins in `out`.
    fn flush(&mut self, out: &mut String, from: usize) {
        self.combine();
        let marks = self.marks.iter().take(self.len).map(|&(mark, _)| mark);
        for c in self.starter.take().into_iter().chain(marks) {
            if is_space(c) {
                self.gap = true;
                continue;
            }
            if self.gap && out.len() > from {
                out.push(' ');
            }
            self.gap = false;
            out.push(c);
        }
        self.len = 0;
    }
}

#[cfg(test)]
mod tests;
