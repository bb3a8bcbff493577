//! What is an address: something that means the same on every server.
//!
//! Knows forms only; where a value stands, and who says it, is told elsewhere.

use super::is_date;
use bouncer_reader::address::{self, TokenKind};
use bouncer_reader::text;

/// No longer value is a field that holds an address and nothing else.
const MAX_FIELD: usize = 320;

/// Whether a target is an address that means the same on every server, such as a mail address,
/// a URL or an account's number, and no identifier of one server's own. Linear in the target.
#[must_use]
pub fn is_address_anywhere(target: &str) -> bool {
    is_address(target, &mut String::new())
}

/// As [`is_address_anywhere`], with a buffer.
pub(crate) fn is_address(target: &str, folded: &mut String) -> bool {
    if address::is_destination_shaped(target) {
        return true;
    }
    text::fold(target, folded);
    let whole = folded.trim();
    let mut found = is_account(whole);
    address::tokens(whole, &mut |token| {
        let anywhere = match token.kind {
            TokenKind::Email
            | TokenKind::Url
            | TokenKind::Host
            | TokenKind::Ip
            | TokenKind::Phone
            | TokenKind::Account => true,
            // Names that mean something on one server only.
            TokenKind::Handle
            | TokenKind::Channel
            | TokenKind::Repo
            | TokenKind::Id
            | TokenKind::Path
            | TokenKind::Directory => false,
        };
        found |= anywhere && token.text.len() == whole.len();
    });
    found && !is_date(whole)
}

/// Whether a value is one address and nothing beside it, as a field of a record holds it.
/// Linear in the value, and at once for a long one.
#[must_use]
pub fn is_address_alone(value: &str) -> bool {
    value.len() <= MAX_FIELD && !value.contains(char::is_whitespace) && is_address_anywhere(value)
}

/// Whether a value has the form of an account's number: two letters, two digits, then letters
/// and digits, as an IBAN has, whether or not its check digits are right.
fn is_account(value: &str) -> bool {
    let mut compact = value.bytes().filter(|byte| *byte != b' ');
    let mut begins = |wanted: fn(&u8) -> bool, many: usize| {
        (0..many).all(|_| compact.next().is_some_and(|byte| wanted(&byte)))
    };
    begins(u8::is_ascii_alphabetic, 2)
        && begins(u8::is_ascii_digit, 2)
        && begins(u8::is_ascii_alphanumeric, 8)
        && compact.all(|byte| byte.is_ascii_alphanumeric())
        && value.bytes().filter(u8::is_ascii_digit).count() * 2 > value.len()
}
