//! The shapes of addresses and URLs that the other parts of this module share.
//! None of them allocates, and each reads its input once.

/// Where the part after `scheme://` begins, if `value` starts with a scheme and `//`.
pub(super) fn scheme_end(value: &str) -> Option<usize> {
    let colon =
        value.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'))?;
    let starts_well = value.starts_with(|c: char| c.is_ascii_alphabetic());
    (starts_well && value.get(colon..)?.starts_with("://")).then_some(colon + 3)
}

/// `value` without `scheme` and the colon after it, in any case.
pub(super) fn strip_scheme<'a>(value: &'a str, scheme: &str) -> Option<&'a str> {
    let head = value.get(..scheme.len())?;
    let rest = value.get(scheme.len()..)?.strip_prefix(':')?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// The length of a percent escape at the start of `text`, encoded any number of
/// times (`%40`, `%2540`), and the ASCII character that it stands for.
pub(super) fn escape(text: &str) -> Option<(usize, char)> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'%') {
        return None;
    }
    let mut at = 1;
    while bytes.get(at..at + 2) == Some(b"25") {
        at += 2;
    }
    let digit = |at: usize| bytes.get(at).and_then(|&b| char::from(b).to_digit(16));
    let code = u8::try_from(digit(at)? * 16 + digit(at + 1)?).ok()?;
    code.is_ascii().then(|| (at + 2, char::from(code)))
}

/// Whether `value` holds an at sign in any spelling: plain, full-width, small, or
/// percent-encoded.
pub(super) fn encoded_at(value: &str) -> bool {
    let mut rest = value;
    while let Some(at) = rest.find(['@', '＠', '﹫', '%']) {
        rest = rest.get(at..).unwrap_or("");
        match escape(rest) {
            _ if !rest.starts_with('%') => return true,
            Some((_, '@')) => return true,
            // A long run of `25` is read once: go on behind it.
            Some((len, _)) => rest = rest.get(len..).unwrap_or(""),
            None => rest = rest.get(1..).unwrap_or(""),
        }
    }
    false
}

/// Whether `c` may stand unquoted in the local part of an address.
pub(super) fn is_local_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$&'*+-/=?^_`{|}~.".contains(c)
}

/// Whether `local` is an unquoted ASCII local part that no reader can take for
/// more than one word.
pub(super) fn is_local(local: &str) -> bool {
    !local.is_empty() && local.bytes().all(|b| class(b) & LOCAL != 0)
}

/// May stand in a local part that is one word to every reader.
const LOCAL: u8 = 1;
/// May stand in a host name.
const HOST: u8 = 2;
/// May stand in the local part of the simplest addresses, without a meaning of its own.
const SIMPLE: u8 = 4;

/// What each byte may stand in.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when this is compiled: out of bounds would not build"
)]
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() {
            classes[byte] = LOCAL | HOST | SIMPLE;
        }
        if matches!(b, b'-' | b'_') {
            classes[byte] = LOCAL | HOST | SIMPLE;
        }
        if matches!(b, b'+' | b'.' | b'=' | b'\'') {
            classes[byte] = LOCAL | SIMPLE;
        }
        if matches!(b, b'~' | b'*' | b'&' | b'#' | b'$' | b'^') {
            classes[byte] = LOCAL;
        }
        byte += 1;
    }
    classes
};

#[inline]
fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Whether `name` is an ASCII host name: labels of letters, digits, `-` and `_`.
pub(super) fn is_host(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    // A label is empty where a dot stands at either end or beside another.
    let mut after_dot = true;
    name.bytes().all(|b| {
        let good = if b == b'.' {
            !after_dot
        } else {
            class(b) & HOST != 0
        };
        after_dot = b == b'.';
        good
    }) && !after_dot
}

/// Whether `value` is one plain e-mail address and nothing else: an unquoted ASCII
/// local part, one `@`, an ASCII domain.
///
/// A pattern such as `*@corp.com` may be applied to such a value: there is no
/// separator, white space, second `@` or encoding in it that the `*` could swallow.
#[must_use]
pub fn is_address(value: &str) -> bool {
    address_of(value, LOCAL).is_some()
}

/// The domain of an address whose local part is as simple as can be.
pub(super) fn simple_address_domain(value: &str) -> Option<&str> {
    address_of(value, SIMPLE)
}

/// The domain of an address with a local part of one class.
fn address_of(value: &str, local: u8) -> Option<&str> {
    let at = value.bytes().position(|b| class(b) & local == 0)?;
    if at == 0 || value.as_bytes().get(at) != Some(&b'@') {
        return None;
    }
    value.get(at + 1..).filter(|domain| is_host(domain))
}

/// Writes `address` to `out` without the `+tag` of its local part. `false`, and
/// `out` empty, if it has none. `a+x@corp.com` is delivered to `a@corp.com`.
#[must_use]
pub fn without_tag(address: &str, out: &mut String) -> bool {
    out.clear();
    let Some((local, domain)) = address.split_once('@') else {
        return false;
    };
    let Some((name, _)) = local.split_once('+').filter(|(name, _)| !name.is_empty()) else {
        return false;
    };
    out.push_str(name);
    out.push('@');
    out.push_str(domain);
    true
}

/// Whether `name` looks like a host on the internet: dots, and a last label that
/// can be a top-level domain and is not the extension of a kind of file.
pub(super) fn has_domain_shape(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some((_, last)) = name.rsplit_once('.') else {
        return false;
    };
    let top_level = (2..=24).contains(&last.len()) && last.bytes().all(|b| b.is_ascii_alphabetic());
    let international = last
        .get(..4)
        .is_some_and(|s| s.eq_ignore_ascii_case("xn--"));
    is_host(name)
        && (top_level || international)
        && !FILES.iter().any(|file| file.eq_ignore_ascii_case(last))
}

/// Extensions that are no top-level domains.
const FILES: [&str; 49] = [
    "avi", "bak", "bmp", "cfg", "conf", "cpp", "css", "csv", "dll", "doc", "docx", "exe", "gif",
    "htm", "html", "ini", "ipynb", "jar", "java", "jpeg", "jpg", "js", "json", "jsx", "lock",
    "log", "mdx", "old", "pdf", "php", "png", "ppt", "pptx", "rb", "sql", "svg", "swp", "tar",
    "tmp", "toml", "ts", "tsx", "txt", "wav", "xls", "xlsx", "xml", "yaml", "yml",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_addresses_only() {
        for good in ["a@b", "a.b+c@corp.com", "o'neil@x.example.", "_@x"] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "@b",
            "a@",
            "a@b@c",
            "a@b, c@d",
            "a@b\n",
            " a@b",
            "a@b/c",
            "x/a@b",
            "x|a@b",
            "a%40b@c",
            "ａ@b",
            "a@b\u{200b}",
            "\"a b\"@c",
            "a@b..c",
            "a@[1.2.3.4]",
            "x?a@b",
            "a:b@c",
            "a!b@c",
        ] {
            assert!(!is_address(bad), "{bad:?}");
        }
    }

    #[test]
    fn at_signs_are_found_in_every_spelling() {
        for yes in [
            "a@b",
            "a＠b",
            "a﹫b",
            "a%40b",
            "a%2540b",
            "%%40",
            "%25252540",
            "%2%40",
        ] {
            assert!(encoded_at(yes), "{yes}");
        }
        for no in ["", "%", "%4", "%41", "%254", "a%25b", "é%"] {
            assert!(!encoded_at(no), "{no}");
        }
        assert!(!encoded_at(&"%25".repeat(500_000)));
        assert!(!encoded_at(&"%".repeat(500_000)));
    }

    #[test]
    fn tags_come_off() {
        let mut out = String::new();
        assert!(without_tag("a+x+y@corp.com", &mut out));
        assert_eq!(out, "a@corp.com");
        for none in ["a@corp.com", "+x@corp.com", "a+x", "a@corp+x.com"] {
            assert!(!without_tag(none, &mut out), "{none}");
            assert_eq!(out, "");
        }
    }
}
