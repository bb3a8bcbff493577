//! The text of one assertion: `never allow tool "pay" when args.amount > 1000`.
//!
//! A small grammar around the language of conditions. Knows nothing of files: the
//! caller maps byte offsets to positions.

use super::similar::similar;
use super::{Context, Error, Span};
use crate::policy::{Cond, Property, ToolGlob};
use bouncer_plan::Verdict;
use pest::Parser as _;
use pest::error::InputLocation;
use pest::iterators::Pair;

#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/assertion.pest"]
struct Grammar;

const FORM: &str = "write e.g. `never allow tool \"pay\" when args.amount > 1000`";

/// Parses the text of one assertion.
///
/// # Errors
///
/// One error for the first that is wrong outside the condition, or all errors in the
/// condition.
pub fn parse_assertion(text: &str, context: &Context<'_>) -> Result<Property, Vec<Error>> {
    let pairs = Grammar::parse(Rule::assertion, text).map_err(|error| {
        let at = match error.location {
            InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
        };
        vec![syntax(text, at)]
    })?;
    let mut effects: Option<Cond> = None;
    let mut property = Property {
        always: false,
        verdict: Verdict::Deny,
        tools: ToolGlob {
            pattern: "*".to_owned(),
            native: true,
            at: (context.position)(0),
        },
        condition: None,
    };
    for pair in pairs {
        let span = pair.as_span();
        let span = Span {
            start: span.start(),
            end: span.end(),
        };
        match pair.as_rule() {
            Rule::frequency => {
                property.always = one_of(&pair, span, &[("never", false), ("always", true)])?;
            }
            Rule::verdict => {
                let verdicts = [
                    ("allow", Verdict::Allow),
                    ("ask", Verdict::Ask),
                    ("deny", Verdict::Deny),
                ];
                property.verdict = one_of(&pair, span, &verdicts)?;
            }
            Rule::effects => {
                let text = format!("effect in [{}]", pair.as_str());
                let at = |mut error: Error| {
                    (error.start, error.end) = (span.start, span.end);
                    error
                };
                let inner = Context {
                    lists: context.lists,
                    list_names: context.list_names.clone(),
                    position: &|_| (context.position)(span.start),
                };
                let test = super::parse(&text, &inner)
                    .map_err(|errors| errors.into_iter().map(at).collect::<Vec<_>>())?;
                effects = Some(test);
            }
            Rule::tool => one_of(&pair, span, &[("tool", ())])?,
            Rule::joint => one_of(&pair, span, &[("when", ()), ("with", ())])?,
            Rule::glob => {
                let pattern = pair.into_inner().next().map_or("", |inner| inner.as_str());
                check_glob(pattern, span)?;
                pattern.clone_into(&mut property.tools.pattern);
                property.tools.at = (context.position)(span.start);
            }
            Rule::condition => {
                let shift = |mut error: Error| {
                    error.start += span.start;
                    error.end += span.start;
                    error
                };
                let inner = Context {
                    lists: context.lists,
                    list_names: context.list_names.clone(),
                    position: &|offset| (context.position)(span.start + offset),
                };
                let condition = super::parse(pair.as_str(), &inner)
                    .map_err(|errors| errors.into_iter().map(shift).collect::<Vec<_>>())?;
                property.condition = Some(condition);
            }
            _ => {}
        }
    }
    if let Some(effects) = effects {
        property.condition = Some(match property.condition {
            None => effects,
            Some(condition) => Cond::All(vec![effects, condition]),
        });
    }
    Ok(property)
}

/// The value of a word, or an error that names the nearest one.
fn one_of<T: Copy>(
    pair: &Pair<'_, Rule>,
    span: Span,
    words: &[(&str, T)],
) -> Result<T, Vec<Error>> {
    let word = pair.as_str();
    if let Some((_, value)) = words.iter().find(|(name, _)| *name == word) {
        return Ok(*value);
    }
    let names: Vec<String> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
    let error = Error::new(
        format!("`{word}` stands where {} has to stand", names.join(" or ")),
        span,
    );
    let known = words.iter().map(|(name, _)| *name);
    Err(vec![match similar(word, known) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(FORM),
    }])
}

fn check_glob(pattern: &str, span: Span) -> Result<(), Vec<Error>> {
    if pattern.is_empty() {
        return Err(vec![
            Error::new("the tool's pattern is empty", span).help("`\"*\"` means every tool"),
        ]);
    }
    crate::read::check_glob(pattern).map_err(|(at, message)| {
        let start = span.start + 1 + at;
        let at = Span {
            start,
            end: span.end,
        };
        vec![Error::new(
            format!("`{pattern}` is not a glob: {message}"),
            at,
        )]
    })
}

fn syntax(text: &str, at: usize) -> Error {
    let rest = text.get(at..).unwrap_or_default();
    let word = rest.split_whitespace().next().unwrap_or_default();
    let span = Span {
        start: at,
        end: at + word.len(),
    };
    if text.trim().is_empty() {
        return Error::new("the assertion is empty", span).help(FORM);
    }
    if word.is_empty() {
        return Error::new("the assertion ends too early", span).help(FORM);
    }
    Error::new(format!("`{word}` cannot stand here"), span).help(if word.starts_with('"') {
        FORM.to_owned()
    } else {
        format!("the tool's pattern stands in quotes; {FORM}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Property, Vec<Error>> {
        let context = Context {
            lists: &|_| None,
            list_names: Vec::new(),
            position: &|_| crate::policy::Pos::default(),
        };
        parse_assertion(text, &context)
    }

    #[test]
    fn effects_stand_for_a_condition() {
        for (short, long) in [
            (
                "never allow effect run when read_untrusted",
                "never allow tool \"*\" when effect in [run] and read_untrusted",
            ),
            (
                "never allow effect pay, grant tool \"bank__*\"",
                "never allow tool \"bank__*\" when effect in [pay, grant]",
            ),
        ] {
            let (short, long) = (parsed(short).unwrap(), parsed(long).unwrap());
            assert_eq!(short.tools.pattern, long.tools.pattern);
            assert_eq!(
                format!("{:?}", short.condition),
                format!("{:?}", long.condition)
            );
        }
        for wrong in [
            "never allow effect running",
            "never allow effect",
            "never allow effects run",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
