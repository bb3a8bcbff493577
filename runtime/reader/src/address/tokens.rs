//! The destination-shaped tokens inside recorded text, and where one of them
//! counts as standing inside another text.
//!
//! A destination is tainted by a token that stands in it (`https://evil.com/?q=1`
//! by `evil.com`), so a token that is a common word or number would taint the
//! innocent. Hence a least length, shapes that words do not have, and no host
//! tokens for the places that everybody uses.

use super::shapes::{has_domain_shape, is_local_char, scheme_end};
use crate::block::{Set, places, wanted};
use crate::text::is_space;

/// What a token is; decides at which boundaries it stands ([`token_stands_at`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// An e-mail address.
    Email = 0,
    /// A URL with its scheme.
    Url = 1,
    /// A host name.
    Host = 2,
    /// An IPv4 or IPv6 address.
    Ip = 3,
    /// A phone number with its separators.
    Phone = 4,
    /// A number of an account: digits, or an IBAN.
    Account = 5,
    /// `@name`.
    Handle = 6,
    /// `#name`.
    Channel = 7,
    /// `owner/name`.
    Repo = 8,
    /// A long mix of letters and digits.
    Id = 9,
    /// The path of a file.
    Path = 10,
    /// The path of a directory, without the slash that tells.
    Directory = 11,
}

impl TokenKind {
    /// The kind whose stable byte is `byte`, if there is one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Email,
            1 => Self::Url,
            2 => Self::Host,
            3 => Self::Ip,
            4 => Self::Phone,
            5 => Self::Account,
            6 => Self::Handle,
            7 => Self::Channel,
            8 => Self::Repo,
            9 => Self::Id,
            10 => Self::Path,
            11 => Self::Directory,
            _ => return None,
        })
    }
}

/// One token: a slice of the text it was found in, at least `SHORTEST` bytes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// The token itself.
    pub text: &'a str,
}

/// Tokens shorter than this, in bytes, are not reported.
pub const SHORTEST: usize = 6;

/// Hosts that anybody can publish or have an account at. Standing on one of them
/// says nothing about who is behind an address, so they make no host token;
/// addresses and URLs there still do.
const SHARED: [&str; 40] = [
    "aol.com",
    "api.github.com",
    "app.slack.com",
    "bitbucket.org",
    "calendar.google.com",
    "discord.com",
    "docs.google.com",
    "drive.google.com",
    "dropbox.com",
    "en.wikipedia.org",
    "facebook.com",
    "github.com",
    "gitlab.com",
    "gmail.com",
    "gmx.de",
    "google.com",
    "googlemail.com",
    "hooks.slack.com",
    "hotmail.com",
    "icloud.com",
    "instagram.com",
    "linkedin.com",
    "live.com",
    "mail.google.com",
    "meet.google.com",
    "microsoft.com",
    "notion.so",
    "outlook.com",
    "protonmail.com",
    "raw.githubusercontent.com",
    "reddit.com",
    "slack.com",
    "teams.microsoft.com",
    "twitter.com",
    "x.com",
    "yahoo.com",
    "youtube.com",
    "zoom.us",
    "wikipedia.org",
    "apple.com",
];

/// Hands each destination-shaped token of `folded` to `each`.
///
/// `folded` is text in folded form ([`crate::text::fold`]). Tokens may overlap: a
/// URL and its host, an address and a handle in it. One token may be handed out
/// more than once. Linear time, no allocation.
pub fn tokens(folded: &str, each: &mut dyn FnMut(Token<'_>)) {
    let mut each = |kind, text: &str| {
        if text.len() >= SHORTEST {
            each(Token { kind, text });
        }
    };
    addresses(folded, &mut each);
    numbers(folded, &mut each);
    windows_paths(folded, &mut each);
    words(folded, &mut each);
}

type Emit<'f> = &'f mut dyn FnMut(TokenKind, &str);

/// Punctuation that is no part of any token.
fn ends_word(c: char) -> bool {
    matches!(
        c,
        '<' | '>' | '"' | '\'' | '`' | '(' | ')' | '{' | '}' | ',' | ';' | '|' | '\\' | '^' | '*'
    ) || matches!(
        c,
        '“' | '”' | '‘' | '’' | '«' | '»' | '，' | '。' | '、' | '；' | '：' | '（' | '）'
    )
}

/// The words that could be tokens. Each holds a digit, `.`, `/`, `:`, `@` or `#`, and most
/// words hold none of these.
fn words(text: &str, each: Emit<'_>) {
    let bytes = text.as_bytes();
    const SIGNS: Set<2> = Set::of(*b"@#");
    let tells = wanted!(|b| b.within(b'.', b':') | b.among(&SIGNS));
    let bounds = |c: char| is_space(c) || ends_word(c);
    let is_end = |at: usize| {
        matches!(bytes.get(at), Some(b'.' | b':'))
            && matches!(
                bytes.get(at + 1),
                None | Some(b' ' | b'\n' | b',' | b'"' | b')')
            )
    };
    let mut behind = 0;
    for at in places(bytes, tells) {
        if at < behind {
            continue;
        }
        if is_end(at) {
            // Nothing else in this word tells: the end of a sentence.
            behind = at + 1;
            continue;
        }
        let before = text.get(behind..at).unwrap_or("");
        let head = before
            .rfind(bounds)
            .and_then(|end| before.get(end..))
            .map_or(before.len(), |rest| {
                rest.len() - rest.chars().next().map_or(0, char::len_utf8)
            });
        let rest = text.get(at - head..).unwrap_or("");
        let word = rest.split(bounds).next().unwrap_or("");
        behind = at - head + word.len();
        self::word(word, each);
        if !word.is_ascii() {
            // Between letters of scripts that write without spaces, ASCII stands by itself.
            for part in word.split(|c: char| !c.is_ascii()) {
                self::word(part, each);
            }
        }
    }
}

/// Addresses, by their at signs. Between two at signs text is read at most twice.
fn addresses(text: &str, each: Emit<'_>) {
    for (at, _) in text.match_indices('@') {
        let before = text.get(..at).unwrap_or("");
        let after = text.get(at + 1..).unwrap_or("");
        // With and without letters that are not ASCII.
        for ascii in [true, false] {
            let wide = |c: char| !ascii && !c.is_ascii() && c.is_alphanumeric();
            let in_local = |c: char| {
                (is_local_char(c)
                    && !matches!(
                        c,
                        '/' | '?' | '=' | '&' | '\'' | '`' | '{' | '}' | '|' | '#' | '*'
                    ))
                    || wide(c)
            };
            let in_host =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') || wide(c);
            let start = before.rfind(|c| !in_local(c)).map_or(0, |end| {
                end + before
                    .get(end..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(1, char::len_utf8)
            });
            let local = before.get(start..).unwrap_or("").trim_start_matches('.');
            let host = after
                .split(|c| !in_host(c))
                .next()
                .unwrap_or("")
                .trim_end_matches(['.', '-', '_']);
            if local.is_empty()
                || host.is_empty()
                || (!ascii && local.is_ascii() && host.is_ascii() && !next_is_wide(after, host))
            {
                continue;
            }
            let end = at + 1 + host.len();
            each(
                TokenKind::Email,
                text.get(at - local.len()..end).unwrap_or(""),
            );
        }
    }
}

fn next_is_wide(after: &str, host: &str) -> bool {
    after
        .get(host.len()..)
        .and_then(|rest| rest.chars().next())
        .is_some_and(|c| !c.is_ascii())
}

/// Phone numbers, account numbers and IBANs, which may have spaces in them. From each
/// start a bounded stretch is read.
fn numbers(text: &str, each: Emit<'_>) {
    let bytes = text.as_bytes();
    const SIGNS: Set<2> = Set::of(*b"+(");
    let starts = wanted!(|b| b.within(b'0', b'9') | b.among(&SIGNS));
    let mut behind = 0;
    for at in places(bytes, starts) {
        if at < behind {
            continue;
        }
        // Letters before a digit belong to it: an IBAN starts with two.
        let letters = bytes.get(behind..at).unwrap_or_default().iter().rev();
        let letters = match bytes.get(at) {
            Some(byte) if byte.is_ascii_digit() => {
                letters.take_while(|b| b.is_ascii_alphanumeric()).count()
            }
            _ => 0,
        };
        let start = at - letters;
        let rest = bytes.get(start..).unwrap_or_default();
        let mut give = |kind, len: usize| {
            if len > 0 {
                each(kind, text.get(start..start + len).unwrap_or(""));
            }
        };
        if letters > 0 {
            give(TokenKind::Account, iban(rest));
        } else {
            let (long, plain) = (phone(rest), single(rest));
            give(TokenKind::Account, plain);
            if long > plain {
                give(TokenKind::Phone, long);
            }
        }
        // The next start is behind this run of letters and digits.
        behind = start
            + rest
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric())
                .count()
                .max(1);
    }
}

/// The length of the phone or account number that `bytes` starts with, or 0.
fn phone(bytes: &[u8]) -> usize {
    // The longest number has 15 digits; an account number may have more.
    const LONGEST: usize = 40;
    let plus = bytes.first() == Some(&b'+');
    let (mut digits, mut end, mut gap) = (0, 0, 0);
    for (at, &b) in bytes.iter().enumerate().take(LONGEST) {
        match b {
            b'0'..=b'9' => {
                digits += 1;
                end = at + 1;
                gap = 0;
            }
            b'+' if at == 0 => {}
            b' ' | b'-' | b'(' | b')' if gap < 3 => {
                gap += 1;
            }
            b'.' | b'/' if plus && gap == 0 => {
                gap += 1;
            }
            _ => break,
        }
    }
    if bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return 0;
    }
    let separated = bytes.iter().take(end).any(|b| !b.is_ascii_digit());
    let is_date =
        separated && digits == 8 && bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    let enough = if plus {
        7
    } else if separated {
        10
    } else {
        SHORTEST
    };
    if digits >= enough && !is_date { end } else { 0 }
}

/// The length of the plain run of at least six digits at the start, or 0.
fn single(bytes: &[u8]) -> usize {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let ends = bytes.get(digits).is_none_or(|b| !b.is_ascii_alphanumeric());
    if digits >= SHORTEST && ends {
        digits
    } else {
        0
    }
}

/// The length of the IBAN that `bytes` starts with, spaces included, or 0.
fn iban(bytes: &[u8]) -> usize {
    let &[a, b, c, d, ..] = bytes else { return 0 };
    if !(a.is_ascii_lowercase()
        && b.is_ascii_lowercase()
        && c.is_ascii_digit()
        && d.is_ascii_digit())
    {
        return 0;
    }
    let (mut kept, mut digits, mut end, mut spaced) = (0, 0, 0, false);
    for (at, &byte) in bytes.iter().enumerate().take(50) {
        if byte.is_ascii_alphanumeric() && kept < 34 {
            kept += 1;
            digits += usize::from(byte.is_ascii_digit());
            end = at + 1;
            spaced = false;
        } else if byte == b' ' && !spaced {
            spaced = true;
            // A word of letters behind the number is not part of it.
            if !bytes
                .get(at + 1..)
                .unwrap_or(&[])
                .iter()
                .take(4)
                .any(u8::is_ascii_digit)
            {
                break;
            }
        } else {
            break;
        }
    }
    let ends = bytes.get(end).is_none_or(|b| !b.is_ascii_alphanumeric());
    if kept >= 15 && digits * 2 >= kept && ends {
        end
    } else {
        0
    }
}

/// Where a byte stands that two others follow.
fn twice(word: &str, byte: u8, then: [u8; 2]) -> Option<usize> {
    let bytes = word.as_bytes();
    memchr::memchr_iter(byte, bytes).find(|at| {
        bytes
            .get(at + 1..)
            .is_some_and(|rest| rest.starts_with(&then))
    })
}

/// The beginning of a text, up to a byte that ends it.
fn until(text: &str, ends: impl Fn(u8) -> bool) -> &str {
    let end = text.bytes().position(ends).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

/// The tokens of one word. Reads it a fixed number of times.
fn word(word: &str, each: Emit<'_>) {
    let word = word
        .trim_end_matches(['.', ':', '!', '?', ']', '}', '…'])
        .trim_start_matches(['[', '.', ':']);
    // Most words are letters only, and no token is.
    if word.len() < 4 || word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return;
    }
    if let Some(colon) = twice(word, b':', *b"//") {
        with_scheme(word, colon, each);
    } else if !without_scheme(word, each) {
        return;
    }
    ip_v6(word, each);
    name_or_id(word, each);
}

/// The tokens of a word with `://` at `colon`: the URL, its host, and the path of a file.
fn with_scheme(word: &str, colon: usize, each: Emit<'_>) {
    // `see:https://…`, `href=https://…`: the scheme begins behind what is no letter.
    let scheme = word
        .get(..colon)
        .unwrap_or("")
        .rfind(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'))
        .map_or(0, |at| {
            at + word
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
        });
    let url = word.get(scheme..).unwrap_or("");
    if let Some(end) = scheme_end(url).filter(|&end| end < url.len()) {
        each(TokenKind::Url, url);
        let rest = url.get(end..).unwrap_or("");
        let authority = until(rest, |byte| matches!(byte, b'/' | b'?' | b'#'));
        let host = authority.rsplit('@').next().unwrap_or("");
        match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            Some((address, _)) => each(TokenKind::Ip, address),
            None => host_token(host, true, each),
        }
    }
    if let Some(file) = url.strip_prefix("file://") {
        path(file, each);
    }
}

/// The host and the path in a word without a scheme; `false`: the word is nothing else, an
/// address behind `mailto:`.
fn without_scheme(word: &str, each: Emit<'_>) -> bool {
    let bare = word.strip_prefix("mailto:").unwrap_or(word);
    // `//host/path`, as pages link: whatever scheme the reader has.
    let slashes = memchr::memchr_iter(b'/', bare.as_bytes())
        .find(|at| bare.as_bytes().get(at + 1) == Some(&b'/'));
    let network = slashes.and_then(|at| bare.get(at + 2..));
    let host = until(network.unwrap_or(bare), |byte| {
        matches!(byte, b'/' | b'?' | b'#' | b'=' | b'&' | b'[' | b']')
    });
    if !host.contains('@') {
        host_token(host, network.is_some(), each);
    }
    if bare.len() < word.len() {
        return false;
    }
    // `--out=/srv/x`, `host:/srv/x`
    path(word.rsplit(['=', ':']).next().unwrap_or(""), each);
    true
}

/// An IPv6 address, bare or in brackets.
fn ip_v6(word: &str, each: Emit<'_>) {
    let colons = memchr::memchr_iter(b':', word.as_bytes()).count();
    if colons == 7 || (colons > 1 && word.contains("::")) {
        let address = word.trim_matches(['[', ']']);
        if address
            .bytes()
            .all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
        {
            each(TokenKind::Ip, address);
        }
    }
}

/// Types of media, before the slash: `text/html` is no repository.
const MEDIA: &[&str] = &[
    "application",
    "audio",
    "font",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

/// Words that prose joins with a slash.
const PROSE: &[&str] = &[
    "and",
    "back",
    "backend",
    "before",
    "after",
    "client",
    "close",
    "closed",
    "create",
    "day",
    "dev",
    "disable",
    "disabled",
    "down",
    "download",
    "either",
    "enable",
    "enabled",
    "end",
    "error",
    "export",
    "fail",
    "false",
    "female",
    "first",
    "front",
    "frontend",
    "head",
    "hers",
    "him",
    "her",
    "his",
    "hour",
    "import",
    "input",
    "key",
    "last",
    "left",
    "load",
    "male",
    "max",
    "min",
    "minute",
    "month",
    "new",
    "not",
    "off",
    "old",
    "open",
    "output",
    "own",
    "pass",
    "password",
    "prod",
    "production",
    "pull",
    "push",
    "read",
    "request",
    "response",
    "right",
    "save",
    "server",
    "she",
    "source",
    "staging",
    "start",
    "stop",
    "success",
    "tail",
    "tcp",
    "test",
    "them",
    "they",
    "true",
    "udp",
    "update",
    "upload",
    "user",
    "value",
    "view",
    "warning",
    "week",
    "with",
    "without",
    "write",
    "year",
    "yes",
    "you",
    "your",
    "edit",
    "delete",
    "insert",
    "execute",
    "get",
    "set",
    "post",
    "put",
];

/// Whether two words with a slash between are a type of media or prose, such as
/// `read/write`, rather than a repository.
fn is_prose_pair(owner: &str, name: &str) -> bool {
    MEDIA.contains(&owner) || (PROSE.contains(&owner) && PROSE.contains(&name))
}

/// A handle, a channel, a repository, and what looks like an id.
fn name_or_id(word: &str, each: Emit<'_>) {
    let is_name = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
            && text.bytes().any(|b| b.is_ascii_alphanumeric())
    };
    let unicode_name = |text: &str| {
        text.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let slash = memchr::memchr(b'/', word.as_bytes());
    if word.strip_prefix('@').is_some_and(unicode_name) {
        each(TokenKind::Handle, word);
    } else if word.strip_prefix('#').is_some_and(unicode_name) {
        each(TokenKind::Channel, word);
    } else if let Some((owner, name)) = slash.and_then(|at| word.split_at_checked(at))
        && let Some(name) = name.get(1..)
        && owner.len() > 2
        && name.len() > 2
        && is_name(owner)
        && is_name(name)
        && owner.bytes().any(|b| b.is_ascii_alphabetic())
        && !is_prose_pair(owner, name)
    {
        each(TokenKind::Repo, word);
    }
    let mut rest = word;
    while !rest.is_empty() {
        let id = until(rest, |b| {
            !b.is_ascii_alphanumeric() && !matches!(b, b'-' | b'_')
        });
        let behind = rest.get(id.len()..).unwrap_or("");
        rest = behind.get(behind.ceil_char_boundary(1)..).unwrap_or("");
        if id.len() < 8 {
            continue;
        }
        let digits = id.bytes().filter(u8::is_ascii_digit).count();
        if digits >= 2 && digits < id.len() && id.bytes().any(|b| b.is_ascii_alphabetic()) {
            each(TokenKind::Id, id);
        }
    }
}

/// The path of a file or directory: at least two names, one of them with a letter, and
/// anchored or three names long. Fractions and dates are none.
fn path(text: &str, each: Emit<'_>) {
    if memchr::memchr(b'/', text.as_bytes()).is_none() {
        return;
    }
    let anchored = ["/", "~/", "./", "../"]
        .iter()
        .any(|start| text.starts_with(start));
    let text = text.trim_start_matches("../").trim_start_matches("./");
    let mut names = 0;
    let plain = text.split('/').all(|name| {
        names += usize::from(!matches!(name, "" | "." | ".." | "~"));
        name.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+' | '@' | '%'))
    });
    if plain && names >= if anchored { 2 } else { 3 } && text.contains(char::is_alphabetic) {
        path_token(text, '/', each);
    }
}

/// Paths with a drive (`c:\…`) or of another machine (`\\host\…`), and the same with
/// back-slashes doubled.
fn windows_paths(text: &str, each: Emit<'_>) {
    let bytes = text.as_bytes();
    let mut behind = 0;
    for at in memchr::memchr_iter(b'\\', bytes) {
        let is = |at: usize, test: fn(&u8) -> bool| bytes.get(at).is_some_and(test);
        let back = |steps: usize| at.wrapping_sub(steps);
        let drive = is(back(1), |b| *b == b':')
            && is(back(2), u8::is_ascii_alphabetic)
            && !is(back(3), u8::is_ascii_alphanumeric);
        let machine = is(at + 1, |b| *b == b'\\')
            && is(at + 2, u8::is_ascii_alphanumeric)
            && !is(back(1), u8::is_ascii_alphanumeric);
        let start = match (drive, machine) {
            (true, _) => at - 2,
            (_, true) => at,
            _ => continue,
        };
        if start < behind {
            continue;
        }
        let rest = text.get(start..).unwrap_or("");
        let path = rest
            .split(|c| is_space(c) || (ends_word(c) && c != '\\') || matches!(c, '?' | '='))
            .next()
            .unwrap_or("")
            .trim_end_matches(['.', ':', '!']);
        behind = start + path.len();
        let names = path.split('\\').filter(|name| !name.is_empty()).count();
        if names >= 3 {
            path_token(path, '\\', each);
        }
    }
}

fn path_token(path: &str, separator: char, each: Emit<'_>) {
    match path.strip_suffix(separator) {
        Some(directory) => each(TokenKind::Directory, directory.trim_end_matches(separator)),
        None => each(TokenKind::Path, path),
    }
}

/// A host or IP address, perhaps with a port. What stands in a URL is a host
/// whatever its last label.
fn host_token(host: &str, in_url: bool, each: Emit<'_>) {
    // Every host that tells has a dot, also a numeric one.
    if memchr::memchr(b'.', host.as_bytes()).is_none() {
        return;
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_matches('.');
    let mut labels = 0;
    let numeric = name.split('.').all(|label| {
        labels += 1;
        (1..=3).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_digit())
    });
    if numeric {
        if labels == 4 {
            each(TokenKind::Ip, name);
        }
        return;
    }
    let international = !name.is_ascii()
        && name.contains('.')
        && name.split('.').all(|label| {
            !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        });
    if has_domain_shape(name)
        || (in_url && international)
        || (in_url && name.contains('.') && super::shapes::is_host(name))
    {
        let bare = name.strip_prefix("www.").unwrap_or(name);
        if !SHARED.contains(&bare) {
            each(TokenKind::Host, bare);
        }
    }
}

/// Places whose addresses have a repository's name further down than at their root.
const FORGES: [&str; 8] = [
    "api.bitbucket.org",
    "api.github.com",
    "bitbucket.org",
    "codeberg.org",
    "github.com",
    "gitlab.com",
    "huggingface.co",
    "raw.githubusercontent.com",
];

/// How far back a host may begin, in bytes.
const LONGEST_HOST: usize = 300;

/// Whether what follows `before` is the whole of a path, the first of it behind a host, or
/// anywhere on a place for repositories: not two folders of some page.
fn is_at_root(before: &str) -> bool {
    let Some(above) = before.strip_suffix('/') else {
        return true;
    };
    let cut = above.ceil_char_boundary(above.len().saturating_sub(LONGEST_HOST));
    let near = above.get(cut..).unwrap_or_default();
    let word = near.rsplit(is_space).next().unwrap_or_default();
    if word.len() == near.len() && cut > 0 {
        return true;
    }
    let place = word.split_once("://").map_or(word, |(_, place)| place);
    !place.contains('/') || FORGES.iter().any(|forge| place.starts_with(forge))
}

/// Whether a token of `kind` that equals `haystack[start..end]` stands there by
/// itself, rather than as part of a longer name.
///
/// `notevil.com` does not hold `evil.com`, but `sub.evil.com` does, being below it;
/// `xa@evil.com` does not hold `a@evil.com`; a number does not stand inside a longer
/// one. `haystack` is in folded form. `false` if `start..end` is no slice of it.
/// Constant time.
#[must_use]
pub fn token_stands_at(kind: TokenKind, haystack: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(after)) = (haystack.get(..start), haystack.get(end..)) else {
        return false;
    };
    let last = before.chars().next_back();
    let mut next = after.chars();
    let (first, second) = (next.next(), next.next());
    // Letters of other scripts stand beside ASCII names without a space between.
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let continues = joins(first)
        || matches!(first, Some('-' | '_'))
        || (first == Some('.') && second.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_'));
    match kind {
        TokenKind::Email => {
            !joins(last) && !matches!(last, Some('.' | '_' | '-' | '+')) && !continues
        }
        TokenKind::Host => !joins(last) && !matches!(last, Some('-' | '_')) && !continues,
        TokenKind::Url => !joins(last) && !joins(first),
        TokenKind::Ip => {
            let longer = joins(first) || (first == Some('.') && joins(second));
            !joins(last) && !matches!(last, Some('.' | ':')) && !longer
        }
        TokenKind::Phone | TokenKind::Account => !joins(last) && !joins(first),
        TokenKind::Handle | TokenKind::Channel => !joins(last) && !continues,
        TokenKind::Repo => {
            !joins(last)
                && !matches!(last, Some('-' | '_' | '.'))
                && !joins(first)
                && !matches!(first, Some('-' | '_'))
                && is_at_root(before)
        }
        TokenKind::Id => !joins(last) && !joins(first),
        TokenKind::Path | TokenKind::Directory => {
            let below = matches!(first, Some('/' | '\\'))
                && second.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
            let named = last.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
            !named && !continues && (!below || kind == TokenKind::Directory)
        }
    }
}

#[cfg(test)]
mod tests;
