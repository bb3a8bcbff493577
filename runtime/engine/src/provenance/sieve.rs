//! Whether some results can have said anything of a destination, without taking them apart.
//!
//! What results say is boiled down to keys once ([`Keys::of`]), which whoever keeps the results
//! keeps beside them. A destination that was read in them leads to keys of theirs
//! ([`may_name`]); another one hardly ever does. So whoever comes back to a long conversation
//! only takes those results apart that its questions lead to.
//!
//! Labels do not matter here, but that what vouches, or is private, is not looked for: results
//! that may do either have to be taken apart in any case.

use super::grams::{self, SHORTEST};
use super::index::{self, HEADS, Shape};
use super::labels::{FieldRule, LabelStep, OutputLabels};
use super::{Provenance, Source, longest_needle, reading};
use bouncer_plan::Label;
use bouncer_reader::text;
use serde_json::Value;

/// Changes whenever keys of an earlier version may lack what is looked for: with how texts are
/// read and folded, and with what counts as a token.
pub const KEYS_VERSION: u32 = 1;

/// Longer destinations are not worth the search: they may have been named by any result.
const LONGEST: usize = 4096;
/// So many bytes of a destination are looked for by their sequences.
const HEAD: usize = 32;

/// What some results say. Nobody has to keep the order.
#[derive(Debug, Default)]
pub struct Keys {
    /// Of each six bytes of a text.
    pub texts: Vec<u64>,
    /// Of tokens, their first bytes, and numbers.
    pub tokens: Vec<u64>,
    /// The place of the first result that said anything.
    pub first: Option<usize>,
    /// Not all could be read: the results have to be taken apart in any case.
    pub incomplete: bool,
}

/// What a key is of.
#[derive(Clone, Copy)]
enum Of {
    Head = 1,
    Token = 2,
    Digits = 3,
}

/// A hash that goes on byte by byte. It is the same in every process; whoever aims at one only
/// has a result taken apart for nothing.
#[derive(Clone, Copy)]
struct Running(u64);

impl Running {
    const fn new(of: Of) -> Self {
        Self(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(of as u64))
    }

    const fn and(self, byte: u8) -> Self {
        let mixed = (self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
        Self(mixed ^ (mixed >> 29))
    }

    fn of(of: Of, bytes: &[u8]) -> u64 {
        bytes
            .iter()
            .fold(Self::new(of), |running, byte| running.and(*byte))
            .key()
    }

    const fn key(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// Of texts, for the keys of their sequences. No secret: see [`Running`].
const PLAIN: u64 = 0x2545_f491_4f6c_dd1d;

impl Keys {
    /// The keys of results, whatever their labels are.
    pub fn of<'v>(results: impl Iterator<Item = &'v Value>) -> Self {
        // Where labels tell fields apart, more texts are taken for records.
        let apart = OutputLabels {
            fields: vec![FieldRule {
                path: vec![LabelStep::Key(String::new())],
                label: Label::Untrusted,
                private: false,
            }],
            ..OutputLabels::default()
        };
        let source = Source {
            server: None,
            tool: "",
            call: 0,
        };
        let mut keys = Self::default();
        let mut provenance = Provenance::new(usize::MAX / 16);
        for (at, result) in results.enumerate() {
            let read = provenance.record_result(&source, &OutputLabels::default(), result);
            provenance.record_result(&source, &apart, result);
            if read.untrusted && keys.first.is_none() {
                keys.first = Some(at);
            }
        }
        for texts in [&provenance.observed, &provenance.untrusted] {
            texts.each(|text| keys.texts.extend(grams::hashes(text, PLAIN)));
        }
        provenance.tokens.each(|token, shape| match shape {
            Shape::Digits => keys.tokens.push(Running::of(Of::Digits, token)),
            Shape::Token(_) => {
                let head = HEADS.iter().rfind(|head| token.len() >= **head);
                let head = head.and_then(|head| token.get(..*head));
                keys.tokens
                    .extend(head.map(|head| Running::of(Of::Head, head)));
                keys.tokens.push(Running::of(Of::Token, token));
            }
        });
        for keys in [&mut keys.texts, &mut keys.tokens] {
            keys.sort_unstable();
            keys.dedup();
        }
        keys.incomplete = provenance.dropped() > 0;
        keys
    }
}

/// Where keys are kept.
pub trait Sieve {
    /// Why they cannot be read.
    type Error;

    /// Whether it may have this one of [`Keys::texts`].
    ///
    /// # Errors
    /// If the keys cannot be read.
    fn has_text(&mut self, key: u64) -> Result<bool, Self::Error>;

    /// Whether it may have this one of [`Keys::tokens`].
    ///
    /// # Errors
    /// If the keys cannot be read.
    fn has_token(&mut self, key: u64) -> Result<bool, Self::Error>;
}

/// Whether results with these keys may have said anything of a destination. `false`: taken
/// apart, they would add nothing to its [`Evidence`](super::Evidence) but what vouches.
///
/// # Errors
/// If the keys cannot be read.
pub fn may_name<S: Sieve>(sieve: &mut S, destination: &str) -> Result<bool, S::Error> {
    if destination.len() > LONGEST {
        return Ok(true);
    }
    let (mut folded, mut other) = (String::new(), String::new());
    text::fold(destination, &mut folded);
    let whole = folded.trim();
    let mut numbers = Vec::new();
    index::digits(whole, &mut other, |digits| {
        numbers.push(Running::of(Of::Digits, digits.as_bytes()));
    });
    for number in numbers {
        if sieve.has_token(number)? {
            return Ok(true);
        }
    }
    if may_hold(sieve, whole)? {
        return Ok(true);
    }
    let readings: [fn(&str, &mut String) -> bool; 2] = [reading::untagged, reading::unspaced];
    for reading in readings {
        if reading(whole, &mut other) && may_hold(sieve, other.trim())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The same of one reading of it.
fn may_hold<S: Sieve>(sieve: &mut S, reading: &str) -> Result<bool, S::Error> {
    if let Some(needle) = longest_needle(reading) {
        let needle = needle.as_bytes();
        let head = needle.get(..HEAD).unwrap_or(needle);
        let mut all = head.len() >= SHORTEST;
        for key in grams::hashes(head, PLAIN) {
            all = all && sieve.has_text(key)?;
        }
        if all {
            return Ok(true);
        }
    }
    let bytes = reading.as_bytes();
    let joins = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_alphanumeric)
    };
    for start in (0..bytes.len()).filter(|at| !joins(at.checked_sub(1))) {
        for (which, head) in HEADS.iter().enumerate() {
            let Some(first) = bytes.get(start..start + head) else {
                break;
            };
            if !sieve.has_token(Running::of(Of::Head, first))? {
                continue;
            }
            // Tokens have the longest head that they fill.
            let most = HEADS.get(which + 1).map_or(usize::MAX, |next| next - 1);
            let rest = bytes.get(start..).unwrap_or_default();
            let mut running = Running::new(Of::Token);
            for (length, byte) in (1..=most).zip(rest) {
                running = running.and(*byte);
                if length >= *head
                    && !joins(Some(start + length))
                    && sieve.has_token(running.key())?
                {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}
