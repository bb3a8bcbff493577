//! Globs of names, and the words of verdicts, as rules of every kind write them.

use super::decode::Cx;
use super::dialect::Dialect;
use super::node::Node;
use super::patterns;
use crate::diagnostic::{Code, Diagnostic, is_invisible, quote};
use crate::policy::ToolGlob;
use bouncer_plan::Verdict;

/// The words of `action`.
pub(super) const ACTIONS: &[(&str, Verdict)] = &[
    ("allow", Verdict::Allow),
    ("ask", Verdict::Ask),
    ("deny", Verdict::Deny),
];

/// One glob; `what` is the key that it stands under.
pub(super) fn glob(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<ToolGlob> {
    let pattern = cx.some_text(node, what)?;
    let native = cx.dialect == Dialect::Native;
    if pattern
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || is_invisible(c))
    {
        let message = format!(
            "{what} {} holds white space or hidden characters",
            quote(pattern)
        );
        cx.report(
            Diagnostic::new(Code::ODD_GLOB, node.span, message)
                .help("globs are compared byte for byte: retype it without them"),
        );
    }
    if !native && let Some(at) = pattern.find('?') {
        let place = patterns::within(cx, node.span, pattern, at, pattern.len());
        let message = format!(
            "`tool` {} holds a `?`, which no tool name does",
            quote(pattern)
        );
        cx.report(Diagnostic::new(Code::GLOB, place, message).help(
            "only `*` is special here, and border-patrol read `?` as \"the character before, or \
             nothing\"; write one rule per name, or a native policy (`version: 1`), where `?` is any one character",
        ));
        return None;
    }
    let bare = pattern.strip_prefix("(?i)").unwrap_or(pattern);
    if native && let Err((at, message)) = check_glob(bare) {
        let at = at + pattern.len() - bare.len();
        let place = patterns::within(cx, node.span, pattern, at, pattern.len());
        let message = format!("{what} {} is not a glob: {message}", quote(pattern));
        cx.report(
            Diagnostic::new(Code::GLOB, place, message)
                .help("`[a-z]` is a set; to match a bracket itself, write `[[]`"),
        );
        return None;
    }
    Some(ToolGlob {
        pattern: pattern.to_owned(),
        native,
        at: cx.pos(node.span),
    })
}

/// Checks the sets of a native glob: each closed, not empty, ranges ascending. A `]`
/// right after the `[` (or `[!`) is a member of the set.
pub(crate) fn check_glob(pattern: &str) -> Result<(), (usize, &'static str)> {
    if let Some(at) = pattern.find("[^") {
        return Err((at, "`[^` negates nothing here; write `[!…]`"));
    }
    let chars: Vec<(usize, char)> = pattern.char_indices().collect();
    let mut index = 0;
    while let Some(&(at, c)) = chars.get(index) {
        index += 1;
        if c != '[' {
            continue;
        }
        match chars.get(index) {
            Some((_, '!')) => index += 1,
            // Other globs negate so; here it would be a member like any other.
            Some((_, '^')) => return Err((at, "a set is negated by `!`, as in `[!a-z]`")),
            _ => {}
        }
        let first = index;
        let close = (first + 1..chars.len()).find(|&n| matches!(chars.get(n), Some((_, ']'))));
        let Some(close) = close else {
            return Err((at, "the set is not closed"));
        };
        let members = chars.get(first..close).unwrap_or(&[]);
        let mut n = 0;
        while let Some(&(_, from)) = members.get(n) {
            match (members.get(n + 1), members.get(n + 2)) {
                (Some((_, '-')), Some(&(_, to))) => {
                    if from > to {
                        return Err((at, "a range runs backwards"));
                    }
                    n += 3;
                }
                _ => n += 1,
            }
        }
        index = close + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_checked() {
        for good in [
            "*",
            "a?b",
            "[a-z]*",
            "[!a]",
            "[]]",
            "[]a]",
            "[[]",
            "[a-]",
            "é[à-ü]",
        ] {
            assert_eq!(check_glob(good), Ok(()), "{good}");
        }
        for bad in ["[", "[]", "[!]", "a[b", "[z-a]", "[^a]"] {
            assert!(check_glob(bad).is_err(), "{bad}");
        }
    }
}
