//! `match:` of a rule: argument paths and the tests on them.

use super::contract::{prefix, report_path};
use super::decode::{Cx, words};
use super::dialect::{Dialect, NATIVE_TESTS, TESTS};
use super::lists::Lists;
use super::node::{Meaning, Node, Value};
use super::path;
use super::patterns;
use crate::diagnostic::{Code, Diagnostic, Span, plain, quote};
use crate::policy::{
    Compare, Cond, Op, Part, Path, Quantifier, Scalar, Segment, Subject, Test, TypeName, View,
};

const TYPES: &[(&str, TypeName)] = &[
    ("string", TypeName::String),
    ("number", TypeName::Number),
    ("integer", TypeName::Integer),
    ("bool", TypeName::Bool),
    ("null", TypeName::Null),
];

/// Reads `match:`. All tests of all paths have to hold.
pub(crate) fn read(cx: &mut Cx<'_>, lists: &mut Lists, node: &Node) -> Option<Cond> {
    let help = "write a mapping of argument paths to tests, e.g. `args.query: {contains: drop}`";
    let mut all = Vec::new();
    for (name, span, value) in cx.entries(node, "`match`", help)? {
        let path = argument(cx, name, span);
        if let (Some(path), Some(tests)) = (&path, tests(cx, lists, name, value)) {
            for (op, negated, span) in tests {
                all.push(test(cx, path, op, negated, span));
            }
        }
    }
    Some(Cond::All(all))
}

fn test(cx: &Cx<'_>, path: &Path, op: Op, negated: bool, span: Span) -> Cond {
    let test = Cond::Test(Test {
        quantifier: Quantifier::Pick,
        subject: Subject::Arg(path.clone(), View::Value),
        op,
        at: cx.pos(span),
    });
    if negated {
        Cond::Not(Box::new(test))
    } else {
        test
    }
}

/// Warns about `to.length` and its like.
fn habit(cx: &mut Cx<'_>, name: &str, span: Span) {
    let rest = name.strip_prefix("args.").unwrap_or(name);
    let Some((_, last)) = rest.rsplit_once('.') else {
        return;
    };
    let Some(help) = crate::condition::member(last) else {
        return;
    };
    let message = format!("`.{last}` is the member `{last}` of an argument that is an object");
    let help = match cx.dialect {
        Dialect::Native => {
            format!("in `when:`, {help}; if the argument has such a member, write `[\"{last}\"]`")
        }
        Dialect::Rules | Dialect::Contracts => format!("in a native policy, {help}"),
    };
    cx.report(Diagnostic::new(Code::OTHER_LANGUAGE, span, message).help(help));
}

/// The path that a key of `match:` names.
fn argument(cx: &mut Cx<'_>, name: &str, span: Span) -> Option<Path> {
    habit(cx, name, span);
    if cx.dialect == Dialect::Native {
        let what = "this key of `match`";
        return match path::argument(name) {
            Ok(path) => Some(path),
            Err(error) => {
                report_path(cx, name, span, what, error);
                None
            }
        };
    }
    let path = path::dotted(name);
    let has = |key: &str| {
        path.0
            .iter()
            .any(|s| matches!(s, Segment::Key(k) if k == key))
    };
    if has("__proto__") {
        let message = "`__proto__` cannot be a step of a path here";
        cx.report(
            Diagnostic::new(Code::PATH, span, message).help(
                "JavaScript readers of this format drop such a test without a word: remove it",
            ),
        );
        return None;
    }
    if has("") {
        let message = format!("the path {} has an empty step", quote(name));
        cx.report(
            Diagnostic::new(Code::ODD_PATH, span, message)
                .help("write names between single dots, e.g. `args.query`"),
        );
    }
    Some(path)
}

/// The tests of one path: what is asked, whether it is negated, and where it stands.
fn tests(
    cx: &mut Cx<'_>,
    lists: &mut Lists,
    name: &str,
    node: &Node,
) -> Option<Vec<(Op, bool, Span)>> {
    let what = format!("the condition on {}", quote(name));
    let known = if cx.dialect == Dialect::Native {
        NATIVE_TESTS
    } else {
        TESTS
    };
    let fields = cx.fields(node, &what, known)?;
    if !known.iter().any(|key| fields.get(key).is_some()) {
        // Unknown keys have been reported; an empty mapping has not.
        if node.as_map().is_some_and(<[_]>::is_empty) {
            let message = format!("{what} tests nothing");
            cx.report(
                Diagnostic::new(Code::EMPTY_CONDITION, node.span, message)
                    .help(format!("add one of {}", words(known))),
            );
        }
        return None;
    }
    let mut out = Vec::new();
    for key in known {
        let Some((span, value)) = fields.find(key) else {
            continue;
        };
        let of = format!("`{key}` on `{}`", plain(name));
        if let Some((op, negated)) = one(cx, lists, key, value, &of) {
            let span = if value.span.start == value.span.end {
                span
            } else {
                value.span
            };
            out.push((op, negated, span));
        }
    }
    Some(out)
}

fn one(
    cx: &mut Cx<'_>,
    lists: &mut Lists,
    key: &str,
    node: &Node,
    what: &str,
) -> Option<(Op, bool)> {
    if let Some(part) = Part::named(key) {
        let text = cx.text(node, what)?.to_owned();
        if text.is_empty() {
            always_true(cx, node, what);
        }
        return Some((Op::Part(part, text), false));
    }
    let op = match key {
        "regex" | "notRegex" => {
            let text = cx.text(node, what)?;
            if text.is_empty() {
                always_true(cx, node, what);
            }
            Op::Matches(patterns::search(cx, text, node.span, what)?)
        }
        "equals" => Op::Equals(equals(cx, node, what)?),
        "in" => Op::In(one_of(cx, lists, node, what)?),
        "within" => Op::Within(within(cx, node, what)?),
        "exists" => {
            let wanted = cx.bool(node, what)?;
            return Some((Op::Exists, !wanted));
        }
        "type" => Op::Type(cx.one_of(node, what, TYPES)?),
        "gt" => Op::Compare(Compare::Greater, number(cx, node, what)?),
        "lt" => Op::Compare(Compare::Less, number(cx, node, what)?),
        "ge" => Op::Compare(Compare::GreaterEqual, number(cx, node, what)?),
        _ => Op::Compare(Compare::LessEqual, number(cx, node, what)?),
    };
    Some((op, key == "notRegex"))
}

fn always_true(cx: &mut Cx<'_>, node: &Node, what: &str) {
    let message = format!("{what} is empty and so holds for every text");
    cx.report(
        Diagnostic::new(Code::ALWAYS_TRUE, node.span, message)
            .help("write what the text should contain, or remove the test"),
    );
}

fn equals(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Scalar> {
    if matches!(node.value, Value::Scalar(_)) {
        return cx.scalar(node, what);
    }
    let help = if cx.dialect == Dialect::Native {
        "for one of several values write `in: [a, b]`"
    } else {
        "for one of several values write `regex: \"^(a|b)$\"`"
    };
    let message = format!("{what} must be one value, but this is {}", node.describe());
    cx.report(
        Diagnostic::new(Code::EQUALS_NOT_SCALAR, node.span, message)
            .here("this would never be equal")
            .help(help),
    );
    None
}

/// The items of `in`: a list, or `@name`.
fn one_of(
    cx: &mut Cx<'_>,
    lists: &mut Lists,
    node: &Node,
    what: &str,
) -> Option<Vec<crate::policy::ListItem>> {
    let one = std::slice::from_ref(node);
    let nodes = if node.as_text().is_some_and(|text| text.starts_with('@')) {
        one
    } else {
        cx.list(node, what)?
    };
    let mut out = Vec::new();
    for node in nodes {
        let items = lists.items(cx, node, what)?;
        out.extend(items.into_iter().map(|(item, _)| item));
    }
    Some(out)
}

fn within(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Vec<String>> {
    let one = std::slice::from_ref(node);
    let nodes = match &node.value {
        Value::List(items) => items,
        _ => one,
    };
    if nodes.is_empty() {
        cx.wrong(node, what, "a path or a list of paths", "name a folder");
        return None;
    }
    nodes
        .iter()
        .map(|node| {
            let text = cx.text(node, what)?;
            prefix(cx, text, node.span, what)
        })
        .collect()
}

fn number(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<String> {
    if let Value::Scalar(scalar) = &node.value
        && let Meaning::Number(number) = scalar.meaning()
    {
        cx.two_readings(node, what);
        return Some(number.into_owned());
    }
    cx.wrong(node, what, "a number", "write a number, without quotes");
    None
}
