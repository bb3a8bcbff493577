//! What the user typed, and whether a value stands in it as a whole.
//!
//! Typed words vouch for a place that data goes to, never for what is sent. So a value counts
//! only where it stands for itself: not inside a longer word, an address or a path. Quoted
//! lines, code blocks and long quotations are what somebody else may have written.
//! Knows nothing of labels, results or what a word asks for.

use bouncer_reader::text;
use memchr::memmem;

/// A message that is longer, in characters, counts as pasted.
pub const MOST_TYPED: usize = 4000;
/// About how many bytes of typed text are kept.
const KEPT: usize = 64 * 1024;
/// A quotation of more characters is somebody else's text.
const QUOTED: usize = 100;
/// A bare number of fewer digits is no name of anything.
const DIGITS: usize = 5;

/// The user's messages.
#[derive(Debug, Default)]
pub struct Typed {
    /// In folded form.
    messages: Vec<String>,
    bytes: usize,
}

impl Typed {
    /// Keeps a message. Returns what of it counts as the user's own words; `None` where it
    /// is too long to have been typed.
    pub fn add(&mut self, message: &str) -> Option<String> {
        if message.chars().nth(MOST_TYPED).is_some() {
            return None;
        }
        let own = own_words(message);
        let mut folded = String::new();
        text::fold(&own, &mut folded);
        // The oldest words are forgotten: what they vouched for is asked about again.
        self.bytes += folded.len();
        self.messages.push(folded);
        while self.bytes > KEPT && !self.messages.is_empty() {
            self.bytes -= self.messages.remove(0).len();
        }
        Some(own)
    }

    /// Whether the user typed nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a value, given in folded form, was typed as a whole.
    #[must_use]
    pub fn holds(&self, folded: &str) -> bool {
        let value = folded.trim();
        let digits_only = value.bytes().all(|byte| byte.is_ascii_digit());
        if value.is_empty() || (digits_only && value.len() < DIGITS) {
            return false;
        }
        self.messages.iter().any(|message| {
            memmem::find_iter(message.as_bytes(), value.as_bytes())
                .any(|at| is_whole(message, at, at + value.len()))
        })
    }

    /// Whether a host was typed, alone or in an address that a browser opens.
    #[must_use]
    pub fn holds_host(&self, host: &str) -> bool {
        if !host.contains('.') {
            return false;
        }
        self.messages.iter().any(|message| {
            memmem::find_iter(message.as_bytes(), host.as_bytes()).any(|at| {
                let before = message.get(..at).unwrap_or_default();
                let after = message.get(at + host.len()..).unwrap_or_default();
                let scheme = before.strip_suffix("://").is_some();
                let start = scheme || !before.ends_with(is_inner);
                let path = after.starts_with(['/', '?', '#', ':']);
                start && (path || !continues(after))
            })
        })
    }
}

/// Whether a stretch of a text stands for itself: no word, address or path goes on before it
/// or after it.
pub(super) fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(after)) = (text.get(..start), text.get(end..)) else {
        return false;
    };
    let first = text.get(start..end).and_then(|value| value.chars().next());
    let last = text
        .get(start..end)
        .and_then(|value| value.chars().next_back());
    // Where the value itself begins or ends with a mark, that separates it.
    let opens = !first.is_some_and(char::is_alphanumeric) || !before.ends_with(is_inner);
    let closes = !last.is_some_and(char::is_alphanumeric) || !continues(after);
    opens && closes
}

/// Characters that a word, an address or a path goes on through.
fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '/' | '\\' | '+' | '%' | '~')
}

/// Whether a word goes on here. A full stop or a colon ends it where nothing follows.
fn continues(after: &str) -> bool {
    let mut rest = after.chars();
    match rest.next() {
        Some('.' | ':') => rest.next().is_some_and(char::is_alphanumeric),
        Some(c) => c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '/' | '\\' | '+' | '%'),
        None => false,
    }
}

/// Whether a value is a date, a time or both. Linear in the value.
#[must_use]
pub fn is_date(value: &str) -> bool {
    let value = value.trim();
    let shape = |c: char| {
        c.is_ascii_digit() || matches!(c, '-' | '/' | '.' | ':' | ' ' | '+' | 't' | 'T' | 'z' | 'Z')
    };
    if value.len() > 35
        || !value.starts_with(|c: char| c.is_ascii_digit())
        || !value.chars().all(shape)
    {
        return false;
    }
    let marks = |c: char| value.matches(c).count();
    let dated = [marks('-'), marks('/'), marks('.')].contains(&2);
    let mut runs = value.split(|c: char| !c.is_ascii_digit());
    if !dated {
        // Hours, minutes and seconds alone.
        return marks(':') >= 1 && runs.all(|run| run.len() <= 2);
    }
    // A year, and what can be a month and a day.
    let mut small = 0;
    let parts = runs.by_ref().take(3);
    let plausible = parts
        .into_iter()
        .all(|run| match (run.len(), run.parse::<u32>()) {
            (4, Ok(year)) => (1000..3000).contains(&year),
            (1 | 2, Ok(part)) => {
                small += u32::from(part <= 31);
                true
            }
            _ => false,
        });
    plausible && small >= 2 && runs.all(|run| run.len() <= 9)
}

/// The message without quoted lines, code blocks and long quotations.
fn own_words(message: &str) -> String {
    let mut own = String::new();
    let mut in_code = false;
    for line in message.lines() {
        let line = line.trim_start();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        if !in_code && !line.starts_with('>') {
            own.push_str(line);
            own.push('\n');
        }
    }
    for (open, close) in [('"', '"'), ('\u{201c}', '\u{201d}'), ('\u{ab}', '\u{bb}')] {
        own = without_long_quotes(&own, open, close);
    }
    own
}

/// The text without quotations that are longer than what a user names.
fn without_long_quotes(text: &str, open: char, close: char) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        let Some((quoted, behind)) = after.split_once(close) else {
            // A quotation that does not end may be anything.
            if after.chars().nth(QUOTED).is_none() {
                out.push(open);
                out.push_str(after);
            }
            return out;
        };
        if quoted.chars().nth(QUOTED).is_none() {
            out.push(open);
            out.push_str(quoted);
            out.push(close);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(message: &str) -> Typed {
        let mut typed = Typed::default();
        typed.add(message);
        typed
    }

    #[test]
    fn whole_values_count() {
        let typed = typed(
            "Send it to bob@corp.example. Use #general, the file docs/a.txt and \"City Hub\"; pay 12 of 12345 euro.",
        );
        for value in [
            "bob@corp.example",
            "general",
            "docs/a.txt",
            "city hub",
            "12345",
        ] {
            assert!(typed.holds(value), "{value}");
        }
        for value in [
            "corp.example",
            "bob",
            "ob@corp.example",
            "a.txt",
            "12",
            "gener",
            "",
            "city  hub",
        ] {
            assert!(!typed.holds(value), "{value}");
        }
    }

    #[test]
    fn hosts_count_below_which_one_may_fetch() {
        let typed =
            typed("look at www.corp.example/a and https://docs.example; mail x@mail.example");
        for host in ["www.corp.example", "docs.example"] {
            assert!(typed.holds_host(host), "{host}");
        }
        for host in ["corp.example", "mail.example", "example", "ocs.example"] {
            assert!(!typed.holds_host(host), "{host}");
        }
    }

    #[test]
    fn what_others_wrote_does_not_count() {
        let quoted = format!("\"{} eve@evil.example\"", "word ".repeat(30));
        for message in [
            "do it\n> write to eve@evil.example",
            "do it\n```\neve@evil.example\n```\nthanks",
            &quoted,
            &format!("{} eve@evil.example", "a ".repeat(MOST_TYPED)),
        ] {
            assert!(!typed(message).holds("eve@evil.example"), "{message}");
        }
    }

    #[test]
    fn dates() {
        for date in [
            "2024-05-18",
            "18.05.2024",
            "5/18/24",
            "2024-05-18T15:00:00",
            "2024-05-18 15:00",
            "10:30",
            "2024-05-18t15:00:00z",
        ] {
            assert!(is_date(date), "{date}");
        }
        for other in [
            "4111",
            "+49 30 1234567",
            "192.168.0.1",
            "030-1234567",
            "1234567890-12-12",
            "4111-77-12",
            "monday",
            "",
        ] {
            assert!(!is_date(other), "{other}");
        }
    }
}
