//! Items of lists: exact text, `*@corp.com` and `*.corp.com`.

use super::{Error, Span};
use crate::policy::{ListItem, Scalar};

/// Reads one item of a list from its text: `*@corp.com` and `*.corp.com` are
/// patterns, anything without `*` is exact.
///
/// # Errors
///
/// A `*` elsewhere, or a domain that is none. Offsets are into the item.
pub fn list_item(text: &str) -> Result<ListItem, Error> {
    if !text.contains('*') {
        return Ok(ListItem::Scalar(Scalar::Str(text.to_owned())));
    }
    let all = Span {
        start: 0,
        end: text.len(),
    };
    let (rest, at) = match (text.strip_prefix("*@"), text.strip_prefix("*.")) {
        (Some(rest), _) => (rest, true),
        (_, Some(rest)) => (rest, false),
        _ => return Err(stray_star(text, all)),
    };
    if rest.contains('*') {
        return Err(stray_star(text, all));
    }
    let Some(domain) = domain(rest) else {
        let error = Error::new(format!("`{rest}` in `{text}` is not a domain"), all);
        return Err(match url::Host::parse(rest) {
            Ok(url::Host::Domain(ascii)) if !rest.is_ascii() => {
                error.help(format!("write its ASCII form, `{ascii}`"))
            }
            _ => error.help("for example `*@corp.com`, `*.corp.com`"),
        });
    };
    Ok(if at {
        ListItem::AtDomain(domain)
    } else {
        ListItem::Below(domain)
    })
}

fn stray_star(text: &str, span: Span) -> Error {
    Error::new(format!("`*` cannot stand here in `{text}`"), span).help(
        "`*` stands only in `*@corp.com` (addresses at this domain) and `*.corp.com` (hosts below it); for other patterns use `matches /regex/`, for a literal `*` use `==`",
    )
}

/// A host name of ASCII labels, in lower case.
fn domain(text: &str) -> Option<String> {
    let label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    (text.len() <= 253 && text.split('.').all(label)).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_exact_items() {
        assert_eq!(
            list_item("*@Corp.com"),
            Ok(ListItem::AtDomain("corp.com".into()))
        );
        assert_eq!(
            list_item("*.corp.com"),
            Ok(ListItem::Below("corp.com".into()))
        );
        assert_eq!(
            list_item("a@Corp.com"),
            Ok(ListItem::Scalar(Scalar::Str("a@Corp.com".into())))
        );
        for bad in [
            "*",
            "a*",
            "*@*",
            "*@",
            "*.",
            "*corp.com",
            "*@a..b",
            "*@a b",
            "**.a",
            "*.a.",
        ] {
            assert!(list_item(bad).is_err(), "{bad}");
        }
        let error = list_item("*@bücher.example").unwrap_err();
        assert_eq!(
            error.help.as_deref(),
            Some("write its ASCII form, `xn--bcher-kva.example`")
        );
    }
}
