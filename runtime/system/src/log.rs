//! Notes for the user on standard error; standard output is the protocol's.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A peer that sends garbage forever must not fill somebody's disk.
const MAX_NOTES: u64 = 1000;
/// What runs for long may say more: one note in so many seconds.
const SECONDS_PER_NOTE: u64 = 6;

static NOTES: AtomicU64 = AtomicU64::new(0);
static SILENT: AtomicBool = AtomicBool::new(false);
/// What [`note_once`] has said.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static START: OnceLock<Instant> = OnceLock::new();

/// Writes one line as [`note`], but for `key` only once in this process.
///
/// What was said is kept; after a thousand keys nothing new is.
pub fn note_once(key: String, message: fmt::Arguments<'_>) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let new = (said.len() as u64) < MAX_NOTES && said.insert(key);
    drop(said);
    if new {
        note(message);
    }
}

/// Writes one line. Text from outside has to be escaped by the caller.
pub fn note(message: fmt::Arguments<'_>) {
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
    let allowed = MAX_NOTES + seconds / SECONDS_PER_NOTE;
    let last = if NOTES.fetch_add(1, Ordering::Relaxed) < allowed {
        SILENT.store(false, Ordering::Relaxed);
        ""
    } else {
        NOTES.fetch_sub(1, Ordering::Relaxed);
        if SILENT.swap(true, Ordering::Relaxed) {
            return;
        }
        " (too many notes: some are left out after this one)"
    };
    // Nobody is left to be told if standard error is gone.
    let _ = writeln!(std::io::stderr(), "bouncer: {message}{last}");
}

/// Text from outside for a human: quoted, on one line, with every character that
/// could forge or hide text written as an escape. Cut after `max` characters.
pub fn quoted(text: &str, max: usize) -> String {
    let mut out = String::from("\"");
    for (index, c) in text.chars().enumerate() {
        if index == max {
            out.push('…');
            break;
        }
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ => push_visible(c, &mut out),
        }
    }
    out.push('"');
    out
}

/// Like [`quoted`], but neither quoted nor cut, and without escaping quotes: for text
/// that quotes what comes from outside already.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(c, &mut out);
    }
    out
}

fn push_visible(c: char, out: &mut String) {
    if is_hidden(c) {
        out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// Characters that break lines, reorder text or cannot be seen: controls, format
/// characters, fillers, variation selectors, tags, spaces other than the plain one.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_forges_a_line() {
        let text = "a\nb\"\\\u{202e}\u{200b}\u{a0}é";
        assert_eq!(
            quoted(text, 100),
            "\"a\\u{a}b\\\"\\\\\\u{202e}\\u{200b}\\u{a0}é\""
        );
        assert_eq!(quoted("abc", 2), "\"ab…\"");
        assert_eq!(visible("`a` \u{85}\u{2028}"), "`a` \\u{85}\\u{2028}");
    }
}
