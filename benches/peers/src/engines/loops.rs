//! What one writes first: a loop over the rules, each a string test or a `regex::Regex`.

use super::{Calls, Engine, Sliced, read, timed, value};
use crate::cases::{Rule, Test};
use regex::{Regex, RegexSet};
use serde_json::Value;
use std::rc::Rc;

enum Ready {
    Equals(String),
    Contains(String),
    Prefix(String),
    Both(String, String),
    Regex(Regex),
}

impl Ready {
    fn new(test: &Test) -> Self {
        match test.clone() {
            Test::Equals(text) => Self::Equals(text),
            Test::Contains(text) => Self::Contains(text),
            Test::Prefix(text) => Self::Prefix(text),
            Test::Both(exact, part) => Self::Both(exact, part),
            Test::Regex(pattern) => Self::Regex(Regex::new(&pattern).unwrap()),
        }
    }

    fn holds(&self, arguments: &Value) -> bool {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        match self {
            Self::Equals(value) => text("query") == Some(value),
            Self::Contains(part) => text("query").is_some_and(|text| text.contains(part.as_str())),
            Self::Prefix(start) => {
                text("path").is_some_and(|text| text.starts_with(start.as_str()))
            }
            Self::Both(exact, part) => {
                text("env") == Some(exact)
                    && text("query").is_some_and(|text| text.contains(part.as_str()))
            }
            Self::Regex(regex) => text("query").is_some_and(|text| regex.is_match(text)),
        }
    }
}

/// An engine made of a judge over parsed arguments.
fn engine<J>(name: &'static str, calls: &Calls, load: f64, judge: J) -> Engine
where
    J: Fn(&str, &Value) -> bool + 'static,
{
    let judge = Rc::new(judge);
    let prepared = {
        let (judge, calls) = (Rc::clone(&judge), Rc::clone(calls));
        move |k: usize| judge(&calls[k].tool, &calls[k].value)
    };
    let arguments = {
        let (judge, calls) = (Rc::clone(&judge), Rc::clone(calls));
        move |k: usize| judge(&calls[k].tool, &value(&calls[k].arguments))
    };
    let calls = Rc::clone(calls);
    let message = move |k: usize| {
        let params = read(&calls[k].message);
        judge(&params.name, &params.arguments)
    };
    Engine {
        name,
        load,
        prepared: Some(Box::new(prepared)),
        arguments: Box::new(arguments),
        message: Box::new(message),
    }
}

/// One list of all rules; each looks at the tool first.
pub fn all(rules: &[Rule], calls: &Calls) -> Engine {
    let (list, load) = timed(|| {
        let ready = |rule: &Rule| {
            let exact = rule.tool.is_some();
            let tool = rule
                .tool
                .clone()
                .unwrap_or_else(|| format!("{}__", rule.server));
            (exact, tool, Ready::new(&rule.test))
        };
        rules.iter().map(ready).collect::<Vec<_>>()
    });
    engine(
        "first match, `regex`",
        calls,
        load,
        move |tool, arguments| {
            list.iter().any(|(exact, name, test)| {
                let applies = if *exact {
                    tool == name
                } else {
                    tool.starts_with(name.as_str())
                };
                applies && test.holds(arguments)
            })
        },
    )
}

/// A list for each tool.
pub fn sliced(rules: &[Rule], calls: &Calls) -> Engine {
    let (slices, load) = timed(|| {
        Sliced::new(rules, |rules| {
            rules
                .iter()
                .map(|rule| Ready::new(&rule.test))
                .collect::<Vec<_>>()
        })
    });
    engine(
        "first match, `regex`, sliced",
        calls,
        load,
        move |tool, arguments| {
            slices
                .get(tool)
                .is_some_and(|list| list.iter().any(|test| test.holds(arguments)))
        },
    )
}

/// A `RegexSet` for each tool: only for rules that are all regular expressions.
pub fn set(rules: &[Rule], calls: &Calls) -> Engine {
    let (slices, load) = timed(|| {
        Sliced::new(rules, |rules| {
            let patterns = rules.iter().map(|rule| match &rule.test {
                Test::Regex(pattern) => pattern.as_str(),
                other => panic!("not a regex: {other:?}"),
            });
            // Its default limit does not hold ten thousand patterns.
            regex::RegexSetBuilder::new(patterns)
                .size_limit(1 << 30)
                .build()
                .unwrap()
        })
    });
    engine("`RegexSet`, sliced", calls, load, move |tool, arguments| {
        let text = arguments.get("query").and_then(Value::as_str);
        let matches = |set: &RegexSet| text.is_some_and(|text| set.is_match(text));
        slices.get(tool).is_some_and(matches)
    })
}
