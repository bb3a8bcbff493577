//! What a server may take the URI of a resource for.
//!
//! Servers read URIs as a URL, as a path behind a scheme, or as a key that is looked up. Each
//! of these readings has to be allowed. Knows nothing of resources.

use crate::text;
use url::Url;

/// The URI as it is, and what else a server may read it as: without what a reader of URLs
/// leaves out, with dots resolved and back-slashes as slashes, before and after decoding.
/// One text only, where every reader sees the same.
#[must_use]
pub fn readings(uri: &str) -> Vec<String> {
    let mut all = vec![uri.to_owned()];
    let mut known = vec![canonical(uri)];
    let mut decoded = String::new();
    text::canonical(uri, &mut decoded);
    for spelled in [uri, decoded.as_str()] {
        for reading in [as_url(spelled), Some(as_path(spelled))] {
            let Some(reading) = reading else { continue };
            let form = canonical(&reading);
            // Decoded spellings are looked at by every test that restricts.
            if !known.contains(&form) && form != with_slash(&known) {
                known.push(form);
                all.push(reading);
            }
        }
    }
    all
}

/// One spelling for those that tests take as one.
fn canonical(uri: &str) -> String {
    let mut out = String::new();
    text::canonical(uri, &mut out);
    // Tests ignore the case of what stands before the path.
    let path = path_of(&out);
    let (front, path) = out.split_at(path);
    format!("{}{path}", front.to_lowercase())
}

/// A reader of URLs gives a host that stands alone a path.
fn with_slash(known: &[String]) -> String {
    let first = known.first().map_or("", String::as_str);
    format!("{first}/")
}

/// As the standard of URLs reads it, without a port that goes without saying, without a dot
/// behind the host, and without the part behind `#`.
fn as_url(uri: &str) -> Option<String> {
    let mut url = Url::parse(uri).ok()?;
    url.set_fragment(None);
    if let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')) {
        let host = host.to_owned();
        // What cannot be said otherwise stays as it is.
        let _ = url.set_host(Some(&host));
    }
    Some(url.into())
}

/// As whoever cuts the scheme off reads it: a path, with dots resolved, repeated slashes as
/// one, and back-slashes as slashes.
fn as_path(uri: &str) -> String {
    let uri: String = uri
        .chars()
        .filter(|c| !c.is_control())
        .map(|c| if c == '\\' { '/' } else { c })
        .collect();
    let uri = uri.trim();
    let at = path_of(uri);
    let (front, rest) = uri.split_at(at);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, behind) = rest.split_at(end);
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let first = if path.starts_with('/') { "/" } else { "" };
    let ends = !steps.is_empty() && (path.ends_with('/') || path.ends_with("/."));
    let last = if ends { "/" } else { "" };
    format!("{front}{first}{}{last}{behind}", steps.join("/"))
}

/// Where the path begins: behind the scheme, and behind the host if there is one.
fn path_of(uri: &str) -> usize {
    let named = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    };
    let Some((scheme, rest)) = uri.split_once(':').filter(|(scheme, _)| named(scheme)) else {
        return 0;
    };
    let at = scheme.len() + 1;
    let Some(authority) = rest.strip_prefix("//") else {
        return at;
    };
    let host = authority.find(['/', '?', '#']).unwrap_or(authority.len());
    at + 2 + host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_read_alike_has_one_reading() {
        for uri in [
            "file:///home/me/notes.txt",
            "file:///home/me/my%20notes.txt",
            "postgres://app@db:5432/shop/users/schema",
            "https://Example.com",
            "https://example.com/a?b=c/../d",
            "memo://Alpha/x",
            "note:today",
            "config",
            "ui://widget/ü.html",
            "db://{table}/rows",
        ] {
            assert_eq!(readings(uri), [uri], "{uri}");
        }
    }

    #[test]
    fn every_way_to_the_same_resource_shows_it() {
        let cases = [
            (
                "postgres://db/shop/public/../users/1",
                "postgres://db/shop/users/1",
            ),
            (
                "postgres://db/shop/public/%2e%2e/users/1",
                "postgres://db/shop/users/1",
            ),
            (
                "postgres://db/shop/public/%252e%252e%252fusers/1",
                "postgres://db/shop/users/1",
            ),
            ("postgres://db/shop\\users\\1", "postgres://db/shop/users/1"),
            (
                "postgres://db/shop//users/./1",
                "postgres://db/shop/users/1",
            ),
            ("file:/etc/passwd", "file:///etc/passwd"),
            ("file://localhost/etc/passwd", "file:///etc/passwd"),
            ("file:\\\\\\etc\\passwd", "file:///etc/passwd"),
            ("fi\tle:///etc/pass\nwd", "file:///etc/passwd"),
            (" file:///etc/passwd#x", "file:///etc/passwd"),
            ("http:evil.com/x", "http://evil.com/x"),
            ("http:\\\\evil.com\\x", "http://evil.com/x"),
            ("http://evil.com:80/x", "http://evil.com/x"),
            ("http://evil.com./x", "http://evil.com/x"),
            ("http://0x7f.1/x", "http://127.0.0.1/x"),
            ("note:a/../secret", "note:secret"),
            ("notes/../secret", "secret"),
        ];
        for (uri, meant) in cases {
            let all = readings(uri);
            assert!(all.iter().any(|read| read == meant), "{uri}: {all:?}");
        }
    }
}
