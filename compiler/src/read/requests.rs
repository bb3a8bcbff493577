//! Rules about what is no tool: `resource:` and `prompt:`, as conditions on the requests that
//! name one; and what `defaults:` says of these requests, as rules behind all others.

use super::decode::Cx;
use super::globs::{ACTIONS, glob};
use super::node::{Node, Value};
use crate::diagnostic::{Code, Diagnostic, Span, quote};
use crate::policy::{
    Cond, Op, Path, Pattern, Pos, Quantifier, Rule, Segment, Subject, Test, ToolGlob, View,
};
use bouncer_plan::{Verdict, requests};

/// Schemes whose hosts no reader tells apart by letter case.
const SPECIAL: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];

/// What a rule can be about beside tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Resources,
    Prompts,
    Sampling,
    Elicitation,
}

impl Kind {
    /// With the key of `defaults:` for it.
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("resources", Self::Resources),
        ("prompts", Self::Prompts),
        ("sampling", Self::Sampling),
        ("elicitation", Self::Elicitation),
    ];

    /// The requests that it stands for.
    const fn requests(self) -> &'static [&'static str] {
        match self {
            Self::Resources => &[requests::READ, requests::SUBSCRIBE, requests::COMPLETE],
            Self::Prompts => &[requests::PROMPT, requests::COMPLETE],
            Self::Sampling => &[requests::SAMPLE],
            Self::Elicitation => &[requests::ELICIT],
        }
    }

    /// The argument that says which one.
    const fn argument(self) -> Option<&'static str> {
        match self {
            Self::Resources => Some("uri"),
            Self::Prompts => Some("name"),
            Self::Sampling | Self::Elicitation => None,
        }
    }

    fn tools(self, at: Pos) -> Vec<ToolGlob> {
        let tool = |name: &&str| ToolGlob {
            pattern: (*name).to_owned(),
            native: true,
            at,
        };
        self.requests().iter().map(tool).collect()
    }
}

/// What `defaults:` says of one of them.
pub(crate) type Said = (Kind, Verdict, Span);

/// Reads what `defaults:` says of requests.
pub(super) fn defaults(cx: &mut Cx<'_>, fields: &super::decode::Fields<'_>) -> Vec<Said> {
    let mut said = Vec::new();
    for (key, kind) in Kind::ALL {
        if let Some(node) = fields.get(key) {
            let action = cx.one_of(node, &format!("`{key}`"), ACTIONS);
            said.extend(action.map(|action| (kind, action, node.span)));
        }
    }
    said
}

/// The rule that a default is. `None` where it only says what holds without it.
pub(crate) fn default_rule(kind: Kind, action: Verdict, at: Pos) -> Option<Rule> {
    if action == Verdict::Allow {
        return None;
    }
    let (key, _) = Kind::ALL.into_iter().find(|(_, of)| *of == kind)?;
    let any = |key| test(key, ".*".to_owned(), "*".to_owned(), at);
    Some(Rule {
        tools: kind.tools(at),
        // A completion is about the one or the other.
        condition: kind.argument().map_or(Cond::All(Vec::new()), any),
        action,
        reason: Some(format!("`defaults: {{{key}: {}}}`", action.name())),
        at,
    })
}

/// What a rule is about, if it is no tool: the requests, and the globs with their places.
pub(super) fn globs(
    cx: &mut Cx<'_>,
    kind: Kind,
    node: &Node,
) -> Option<(Vec<ToolGlob>, Vec<ToolGlob>)> {
    let what = match kind {
        Kind::Prompts => "`prompt`",
        _ => "`resource`",
    };
    let one = std::slice::from_ref(node);
    let nodes = match &node.value {
        Value::List(items) => items,
        _ => one,
    };
    if nodes.is_empty() {
        let help = "write a pattern such as `\"postgres://*/users/*\"`; `\"*\"` means all";
        cx.wrong(node, what, "a pattern or a list of patterns", help);
        return None;
    }
    let globs: Option<Vec<ToolGlob>> = nodes.iter().map(|node| glob(cx, node, what)).collect();
    Some((kind.tools(cx.pos(node.span)), globs?))
}

/// The condition that what a request names fits one of the globs.
pub(super) fn condition(kind: Kind, action: Verdict, globs: &[ToolGlob]) -> Cond {
    let argument = kind.argument().unwrap_or_default();
    let fits = |glob: &ToolGlob| {
        let (case, pattern) = match glob.pattern.strip_prefix("(?i)") {
            Some(pattern) => ("(?i)", pattern),
            None => ("", glob.pattern.as_str()),
        };
        let regex = match kind {
            Kind::Resources => uri_regex(pattern, action != Verdict::Allow),
            _ => regex(pattern),
        };
        let regex = format!("{case}^(?:{regex})$");
        test(argument, regex, glob.pattern.clone(), glob.at)
    };
    match globs {
        [one] => fits(one),
        all => Cond::Any(all.iter().map(fits).collect()),
    }
}

fn test(argument: &str, regex: String, written: String, at: Pos) -> Cond {
    Cond::Test(Test {
        quantifier: Quantifier::Pick,
        subject: Subject::Arg(Path(vec![Segment::Key(argument.to_owned())]), View::Value),
        op: Op::Matches(Pattern {
            regex: format!("(?s){regex}"),
            written,
        }),
        at,
    })
}

/// A glob over URIs. What restricts holds for what servers take for the same resource: the
/// scheme and the host in any letter case, with or without who logs in, a query, a fragment.
fn uri_regex(glob: &str, restricts: bool) -> String {
    let behind = if restricts { "(?:[?#].*)?" } else { "" };
    let Some((scheme, rest)) = glob.split_once("://") else {
        return format!("{}{behind}", regex(glob));
    };
    let host = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(host);
    let login = if restricts { "(?:[^/?#]*@)?" } else { "" };
    let any_case = restricts
        || SPECIAL
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
    let host = match any_case {
        true => format!("(?i:{})", regex(host)),
        false => regex(host),
    };
    format!(
        "(?i:{})://{login}{host}{}{behind}",
        regex(scheme),
        regex(path)
    )
}

/// A glob as a regular expression. Its sets were checked.
fn regex(glob: &str) -> String {
    let mut out = String::new();
    let mut chars = glob.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                out.push('[');
                if chars.next_if_eq(&'!').is_some() {
                    out.push('^');
                }
                let mut first = true;
                while let Some(member) = chars.next_if(|&c| first || c != ']') {
                    first = false;
                    literal(member, &mut out);
                    // Between two members it makes a range.
                    let mut ahead = chars.clone();
                    if ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']') {
                        chars.next();
                        out.push('-');
                        chars
                            .next()
                            .into_iter()
                            .for_each(|last| literal(last, &mut out));
                    }
                }
                chars.next();
                out.push(']');
            }
            c => literal(c, &mut out),
        }
    }
    out
}

fn literal(c: char, out: &mut String) {
    if c.is_alphanumeric() {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    }
}

/// Reports a pattern of tools that names a request.
pub(super) fn report_request(cx: &mut Cx<'_>, node: &Node, name: &str) {
    let message = format!("`tool` {} is no tool", quote(name));
    let help = match name {
        requests::SAMPLE | requests::ELICIT => "write `defaults: {sampling: deny}`, or `ask`",
        requests::PROMPT => "write `prompt:` in place of `tool:`, with a pattern of names",
        _ => "write `resource:` in place of `tool:`, with a pattern of URIs",
    };
    cx.report(Diagnostic::new(Code::GLOB, node.span, message).help(help));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::regex::Regex;

    fn fits(glob: &str, restricts: bool, uri: &str) -> bool {
        let regex = format!("(?s)^(?:{})$", uri_regex(glob, restricts));
        Regex::new(&regex).unwrap().is_match(uri)
    }

    #[test]
    fn globs_of_uris() {
        let users = "postgres://*/users/*";
        for uri in [
            "postgres://db/shop/users/1",
            "POSTGRES://db/users/",
            "postgres://me@db:5432/users/1?x#y",
        ] {
            assert!(fits(users, true, uri), "{uri}");
        }
        assert!(!fits(users, true, "postgres://db/user/1"));
        assert!(fits("file:///etc/passwd", true, "FILE:///etc/passwd?x"));
        assert!(!fits("file:///etc/passwd", false, "file:///etc/passwd?x"));
        assert!(fits("http://evil.com/*", true, "http://a:b@EVIL.com/x"));
        assert!(!fits("http://good.com/*", false, "http://a@good.com/x"));
        assert!(!fits("memo://Alpha/*", false, "memo://alpha/x"));
        assert!(fits("https://Good.com/*", false, "https://good.com/x"));
        assert!(fits("note[a-c!]?.x", false, "note!z.x"));
        assert!(!fits("note[!a-c]", false, "noteb"));
        assert!(fits("note[]-]", false, "note-"));
    }
}
