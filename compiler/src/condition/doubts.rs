//! Habits of other languages that read as something else here: `.length` is a member of the
//! argument, `yes` a text. Both can be meant, and are then written in brackets or quotes.

use super::Error;
use super::parser::{Grammar, Rule, span};
use pest::Parser as _;
use pest::iterators::Pair;

/// Members that other languages have and JSON objects rarely do, with what is meant.
const MEMBERS: &[(&str, &str)] = &[
    (
        "length",
        "write `.count` for the number of values, `length(args.x)` for the characters of a text",
    ),
    (
        "len",
        "write `.count` for the number of values, `length(args.x)` for the characters of a text",
    ),
    (
        "size",
        "write `.count` for the number of values, `length(args.x)` for the characters of a text",
    ),
    ("lower", "write `matches /^text$/i`, which ignores case"),
    ("upper", "write `matches /^text$/i`, which ignores case"),
    (
        "toLowerCase",
        "write `matches /^text$/i`, which ignores case",
    ),
    (
        "toUpperCase",
        "write `matches /^text$/i`, which ignores case",
    ),
    ("lowercase", "write `matches /^text$/i`, which ignores case"),
    ("uppercase", "write `matches /^text$/i`, which ignores case"),
    (
        "trim",
        "leave it out: white space around a text does not count",
    ),
    (
        "strip",
        "leave it out: white space around a text does not count",
    ),
    ("keys", "write `keys(args.x)` for the names of its members"),
];

/// What to write in place of a member of another language's values.
pub(crate) fn member(name: &str) -> Option<&'static str> {
    MEMBERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, help)| *help)
}

/// What a condition that can be read may not mean. Linear in the text.
pub(crate) fn doubts(text: &str) -> Vec<Error> {
    let words = |text: &str| MEMBERS.iter().any(|(name, _)| text.contains(name));
    let lower = text.to_ascii_lowercase();
    let yes = ["yes", "no", "on", "off"]
        .iter()
        .any(|word| lower.contains(word));
    if !words(text) && !yes {
        return Vec::new();
    }
    let Ok(pairs) = Grammar::parse(Rule::condition, text) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for pair in pairs.flatten() {
        match pair.as_rule() {
            Rule::subject => out.extend(subject(pair)),
            Rule::unquoted => out.extend(value(&pair)),
            _ => {}
        }
    }
    out
}

/// `args.x.length`: a member of the argument `x`. `args.length` is an argument like others.
fn subject(pair: Pair<'_, Rule>) -> Option<Error> {
    let mut inner = pair.into_inner();
    let root = inner.next()?;
    let steps: Vec<_> = inner.collect();
    let last = steps.last()?;
    if root.as_rule() == Rule::call || steps.len() < 2 || last.as_rule() != Rule::member {
        return None;
    }
    let name = last.as_str().strip_prefix('.')?;
    let help = member(name)?;
    Some(
        Error::new(
            format!("`.{name}` is the member `{name}` of an argument that is an object"),
            span(last),
        )
        .help(format!(
            "{help}; if the argument has such a member, write `[\"{name}\"]`"
        )),
    )
}

fn value(pair: &Pair<'_, Rule>) -> Option<Error> {
    let text = pair.as_str();
    let meant = match text.to_ascii_lowercase().as_str() {
        "yes" | "on" => "true",
        "no" | "off" => "false",
        _ => return None,
    };
    Some(
        Error::new(
            format!("`{text}` is the text `{text}`, no bool"),
            span(pair),
        )
        .help(format!(
            "write `{meant}` for the bool, `\"{text}\"` for the text"
        )),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> Vec<String> {
        let found = doubts(text);
        found
            .iter()
            .map(|error| text.get(error.start..error.end).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn habits_are_marked_and_what_is_meant_is_not() {
        for (text, marks) in [
            ("args.to.length > 3", vec![".length"]),
            ("any args.items[*].name.lower == \"x\"", vec![".lower"]),
            ("args.a == yes and args.b in [Off, x]", vec!["yes", "Off"]),
            ("count(args.to.size) > 1", vec![".size"]),
            ("args.length > 3", vec![]),
            ("args.to[\"length\"] > 3", vec![]),
            ("args.to.count > 3", vec![]),
            ("args.length.min > 3", vec![]),
            ("args.a == \"yes\"", vec![]),
            ("args.note == nowhere", vec![]),
            (
                "args.a contains \".length\" or args.b matches /.size yes/",
                vec![],
            ),
        ] {
            assert_eq!(marked(text), marks, "{text}");
        }
    }
}
