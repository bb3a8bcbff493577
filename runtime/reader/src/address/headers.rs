//! Arguments that name recipients or lines of a header, by what they are called or by the
//! form of what stands in them. A value there may lead somewhere although it is no
//! destination as a whole: `x y, eve@evil.example`, `Bcc: eve@evil.example`.
//!
//! Knows names and forms. Whether an address is to be feared is for others to say.

use super::is_address;
use crate::text::is_space;

/// What an argument is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentRole {
    /// Recipients, or header lines.
    Recipient,
    /// One line of a header, such as a subject.
    Line,
    /// Text that is sent, not where it is sent.
    Body,
    /// Nothing of these.
    Other,
}

const RECIPIENTS: &[&str] = &[
    "addressee",
    "addressees",
    "attendee",
    "attendees",
    "bcc",
    "bccs",
    "cc",
    "ccs",
    "envelope",
    "forward",
    "guest",
    "guests",
    "header",
    "headers",
    "invitee",
    "invitees",
    "mailto",
    "participant",
    "participants",
    "rcpt",
    "rcpts",
    "recipient",
    "recipients",
    "reply",
    "replyto",
    "to",
    "tos",
];

const LINES: &[&str] = &["name", "subject", "title", "topic"];

const BODIES: &[&str] = &[
    "article",
    "body",
    "caption",
    "code",
    "comment",
    "comments",
    "content",
    "contents",
    "data",
    "description",
    "document",
    "html",
    "instructions",
    "markdown",
    "message",
    "note",
    "notes",
    "patch",
    "plain",
    "prompt",
    "query",
    "question",
    "reason",
    "snippet",
    "sql",
    "summary",
    "template",
    "text",
    "value",
];

/// Lines of a header that mail goes by.
const HEADERS: &[&str] = &[
    "apparently-to",
    "bcc",
    "cc",
    "disposition-notification-to",
    "envelope-to",
    "errors-to",
    "from",
    "mail-followup-to",
    "mail-reply-to",
    "reply-to",
    "resent-bcc",
    "resent-cc",
    "resent-from",
    "resent-to",
    "return-path",
    "return-receipt-to",
    "sender",
    "to",
    "x-forwarded-to",
];

/// What an argument of this name is. Its words are told apart by punctuation and capitals.
/// Linear; does not allocate.
#[must_use]
pub fn argument_role(name: &str) -> ArgumentRole {
    let (mut recipient, mut line, mut body, mut last) = (false, false, false, "");
    words_of(name, &mut |word| {
        recipient |= listed(RECIPIENTS, word);
        line |= listed(LINES, word);
        body |= listed(BODIES, word);
        last = word;
    });
    // `reply_text` is a text.
    match () {
        () if listed(BODIES, last) => ArgumentRole::Body,
        () if recipient => ArgumentRole::Recipient,
        () if body => ArgumentRole::Body,
        () if line => ArgumentRole::Line,
        () => ArgumentRole::Other,
    }
}

/// Whether a value that stands in an argument of that role, and is no destination as a
/// whole, has to be searched for destinations inside. Linear; does not allocate.
#[must_use]
pub fn may_name_recipients(role: ArgumentRole, value: &str) -> bool {
    match role {
        ArgumentRole::Recipient => true,
        ArgumentRole::Body => false,
        ArgumentRole::Line => breaks(value) || has_form(value),
        ArgumentRole::Other => has_form(value),
    }
}

fn listed(list: &[&str], word: &str) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

/// Hands over the words of a name: `replyTo`, `reply_to`, `reply-to`.
pub(crate) fn words_of<'n>(name: &'n str, each: &mut dyn FnMut(&'n str)) {
    let mut start = 0;
    let mut was_small = false;
    let mut emit = |from: usize, to: usize| {
        if let Some(word) = name.get(from..to).filter(|word| !word.is_empty()) {
            each(word);
        }
    };
    for (at, c) in name.char_indices() {
        if !c.is_alphanumeric() {
            emit(start, at);
            start = at + c.len_utf8();
        } else if c.is_uppercase() && was_small {
            emit(start, at);
            start = at;
        }
        was_small = c.is_lowercase() || c.is_ascii_digit();
    }
    emit(start, name.len());
}

const fn is_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a value has a line break, as it is or percent-encoded.
fn breaks(value: &str) -> bool {
    value.contains(is_break)
        || value
            .as_bytes()
            .array_windows()
            .any(|[percent, zero, digit]| {
                *percent == b'%' && *zero == b'0' && matches!(digit | 0x20, b'a' | b'd')
            })
}

/// Whether a value has a line of a header, or is a list, a group or a name with an address.
fn has_form(value: &str) -> bool {
    // No address without one of these.
    if !value.contains(['@', '%', '\u{ff20}', '\u{fe6b}']) {
        return false;
    }
    let headed = |line: &str| {
        line.split_once(':').is_some_and(|(name, _)| {
            let name = name.trim_matches(is_space);
            listed(HEADERS, name)
        })
    };
    if value.split(is_break).any(headed) {
        return true;
    }
    let angled = value.split('<').skip(1).any(|rest| {
        rest.split('>')
            .next()
            .is_some_and(|inner| inner.contains('@'))
    });
    let separator = |c: char| matches!(c, ',' | ';' | ':');
    let one_of_several = value.contains(separator)
        && value
            .split(separator)
            .any(|part| is_address(part.trim_matches(is_space)));
    let mut words = value.split(is_space).filter(|word| !word.is_empty());
    let few = words.clone().count() <= 5;
    let beside = few && words.any(|word| is_address(word.trim_matches(['(', ')', '"', '\''])));
    angled || one_of_several || beside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_arguments_are() {
        for name in [
            "to",
            "bcc",
            "CC",
            "replyTo",
            "reply_to",
            "reply-to",
            "headers",
            "extraHeaders",
            "recipient_list",
            "sendTo",
        ] {
            assert_eq!(argument_role(name), ArgumentRole::Recipient, "{name}");
        }
        for name in [
            "body",
            "htmlBody",
            "message",
            "reply_text",
            "forward_message",
            "note",
        ] {
            assert_eq!(argument_role(name), ArgumentRole::Body, "{name}");
        }
        assert_eq!(argument_role("subject"), ArgumentRole::Line);
        for name in ["tone", "account", "", "x"] {
            assert_eq!(argument_role(name), ArgumentRole::Other, "{name}");
        }
    }

    #[test]
    fn forms_say_what_values_are() {
        let other = |value: &str| may_name_recipients(ArgumentRole::Other, value);
        for value in [
            "Bcc: mallory@evil.example",
            "x: y\r\nreply-to : mallory@evil.example",
            "Mallory <mallory@evil.example>",
            "a b, mallory@evil.example",
            "team: a@b.example, mallory@evil.example;",
            "Mallory M. mallory@evil.example",
            "mallory@evil.example (Mallory)",
        ] {
            assert!(other(value), "{value}");
        }
        for value in [
            "",
            "ordinary words, and more",
            "we wrote to mallory@evil.example on Monday about all of this",
            "read/write",
        ] {
            assert!(!other(value), "{value}");
        }
        let line = |value: &str| may_name_recipients(ArgumentRole::Line, value);
        assert!(line("hello\nBcc: m@evil.example") && line("hello%0D%0ABcc: m@evil.example"));
        assert!(!line("hello") && !line("we met m@evil.example at the last of all our meetings"));
        assert!(!may_name_recipients(
            ArgumentRole::Body,
            "Bcc: m@evil.example"
        ));
    }
}
