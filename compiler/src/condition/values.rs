//! Operators and their operands: quoted strings, and bare text that may be a
//! number, a word, a list's name, or a string without its quotes.

use pest::iterators::Pair;

use super::Error;
use super::ast::{Comparison, Op, OpKind, Regex, Span, Value, ValueKind};
use super::literal::{duration, is_json_number};
use super::parser::{Builder, Rule, span};
use super::similar::similar;
use crate::policy::{Part, TypeName};

const TYPES: [&str; 5] = ["string", "number", "integer", "bool", "null"];

impl Builder {
    /// Reads an operator pair.
    pub(super) fn op(&self, pair: Pair<'_, Rule>) -> Option<Op> {
        let at = span(&pair);
        let kind = match pair.as_rule() {
            Rule::comparison => self.comparison(pair, at),
            Rule::membership => self.membership(pair, at),
            Rule::part => self.part(pair),
            Rule::matches => self.matches(pair, at),
            Rule::within => self.within(pair, at),
            Rule::exists => Some(OpKind::Exists),
            Rule::is => self.is(pair, at),
            Rule::exists_compat => self.fail(
                Error::new("`not` stands before the whole test", at)
                    .help("for example `not args.x exists`, `not args.x is null`"),
            ),
            Rule::assign_compat => {
                let word = pair
                    .into_inner()
                    .next()
                    .map(|word| word.as_str().to_owned())
                    .unwrap_or_default();
                let instead = match (word.as_str(), Part::meant(&word)) {
                    ("match" | "like", _) => "`matches /regex/`".to_owned(),
                    ("includes" | "has" | "contain", _) => "`contains \"text\"`".to_owned(),
                    (_, Some(part)) => format!("`{} \"text\"`", part.name()),
                    // `equals` and `eq`.
                    (_, None) => "`==`".to_owned(),
                };
                self.fail(
                    Error::new(format!("`{word}` is not an operator"), at)
                        .help(format!("write {instead}")),
                )
            }
            _ => self.internal(at),
        }?;
        Some(Op { kind, span: at })
    }

    fn comparison(&self, pair: Pair<'_, Rule>, at: Span) -> Option<OpKind> {
        let mut inner = pair.into_inner();
        let (Some(sign), Some(value)) = (inner.next(), inner.next()) else {
            return self.internal(at);
        };
        let comparison = match sign.as_str() {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterEqual,
            other => {
                let instead = match other {
                    "=" | "===" => "did you mean `==`?",
                    "!==" | "<>" => "did you mean `!=`?",
                    "=>" => "did you mean `>=`?",
                    "=<" => "did you mean `<=`?",
                    "=~" => "did you mean `matches /regex/`?",
                    _ => "write `not args.x matches /regex/`",
                };
                return self.fail(
                    Error::new(format!("`{other}` is not an operator"), span(&sign)).help(instead),
                );
            }
        };
        if value.as_rule() == Rule::list {
            return self.fail(
                Error::new(
                    format!("`{}` compares with one value, not a list", sign.as_str()),
                    span(&value),
                )
                .help("write `in [a, b]`, or `any … ==` for an argument that is a list"),
            );
        }
        let value = self.value(value)?;
        if let ValueKind::List(name) = &value.kind {
            return self.fail(
                Error::new(
                    format!("`{}` compares with one value, not a list", sign.as_str()),
                    value.span,
                )
                .help(format!("write `in @{name}`")),
            );
        }
        let per = match inner.next() {
            Some(per) => Some(self.per(per)?),
            None => None,
        };
        Some(OpKind::Compare {
            comparison,
            value,
            per,
        })
    }

    fn per(&self, pair: Pair<'_, Rule>) -> Option<(u64, Span)> {
        let at = span(&pair);
        let text = pair.into_inner().nth(1).map_or("", |pair| pair.as_str());
        match duration(text) {
            Some(ms) => Some((ms, at)),
            None => self.fail(
                Error::new(
                    if text.is_empty() {
                        "`per` needs a duration".to_owned()
                    } else {
                        format!("`{text}` is not a duration")
                    },
                    at,
                )
                .help("a whole number above 0 and a unit: `30s`, `5m`, `1h`, `7d`"),
            ),
        }
    }

    fn membership(&self, pair: Pair<'_, Rule>, at: Span) -> Option<OpKind> {
        let mut inner = pair.into_inner();
        let (Some(word), Some(operand)) = (inner.next(), inner.next()) else {
            return self.internal(at);
        };
        let negated = word.as_rule() == Rule::not_in;
        let here = span(&operand);
        let items = match operand.as_rule() {
            Rule::list => {
                let items = self.items(operand)?;
                if items.is_empty() {
                    return self.fail(
                        Error::new("an empty list holds nothing", here)
                            .help("give the list at least one item, or name one: `in @partners`"),
                    );
                }
                items
            }
            Rule::in_parens_compat => {
                return self.fail(
                    Error::new("lists stand in square brackets", here).help("write `in [a, b]`"),
                );
            }
            _ => {
                let text = operand.as_str();
                let value = self.value(operand)?;
                if !matches!(value.kind, ValueKind::List(_)) {
                    return self.fail(
                        Error::new(format!("`in` needs a list, `{text}` is one value"), here).help(
                            format!("write `in [{text}]`, or `in @name` for a named list"),
                        ),
                    );
                }
                vec![value]
            }
        };
        Some(OpKind::In { negated, items })
    }

    fn items(&self, list: Pair<'_, Rule>) -> Option<Vec<Value>> {
        // Reads all before it gives up, so that every bad item is reported.
        let items: Vec<_> = list.into_inner().map(|item| self.value(item)).collect();
        items.into_iter().collect()
    }

    /// An operator about a part of the text. It takes a quoted string.
    fn part(&self, pair: Pair<'_, Rule>) -> Option<OpKind> {
        let at = span(&pair);
        let mut inner = pair.into_inner();
        let (Some(op), Some(operand)) = (inner.next(), inner.next()) else {
            return self.internal(at);
        };
        let op = op.as_str();
        let Some(part) = Part::named(op) else {
            return self.internal(at);
        };
        let here = span(&operand);
        if operand.as_rule() == Rule::list {
            return self.fail(
                Error::new(format!("`{op}` takes one string, not a list"), here)
                    .help("join several tests with `or`, or use `matches /a|b/`"),
            );
        }
        if operand.as_rule() != Rule::string {
            let text = operand.as_str();
            return self.fail(
                Error::new(format!("`{op}` takes a quoted string, not `{text}`"), here)
                    .help(format!("write `{op} {}`", quoted(text))),
            );
        }
        let text = self.string(operand)?;
        if text.is_empty() {
            return self.fail(
                Error::new(format!("`{op}` with an empty string always holds"), here)
                    .help("write `exists` to ask whether there is a value"),
            );
        }
        let value = Value {
            kind: ValueKind::Text(text),
            span: here,
        };
        Some(OpKind::Part(part, value))
    }

    fn matches(&self, pair: Pair<'_, Rule>, at: Span) -> Option<OpKind> {
        let Some(operand) = pair.into_inner().nth(1) else {
            return self.internal(at);
        };
        let here = span(&operand);
        if operand.as_rule() != Rule::regex {
            return self.fail(Error::new("a regex stands between slashes", here).help(
                "write `matches /regex/`, or `matches /regex/i` to ignore case; `\\/` is a slash",
            ));
        }
        let mut inner = operand.into_inner();
        let (Some(pattern), Some(flags)) = (inner.next(), inner.next()) else {
            return self.internal(here);
        };
        Some(OpKind::Matches(Regex {
            pattern: pattern.as_str().to_owned(),
            flags: flags.as_str().to_owned(),
            span: here,
        }))
    }

    fn within(&self, pair: Pair<'_, Rule>, at: Span) -> Option<OpKind> {
        let Some(operand) = pair.into_inner().nth(1) else {
            return self.internal(at);
        };
        let here = span(&operand);
        if operand.as_rule() == Rule::list {
            let items = self.items(operand)?;
            if items.is_empty() {
                return self.fail(
                    Error::new("`within` needs at least one path", here)
                        .help("for example `within [\"./out\"]`"),
                );
            }
            return Some(OpKind::Within(items));
        }
        let text = operand.as_str();
        if text.starts_with('@')
            && let Some(value) = self.value(operand.clone())
        {
            return Some(OpKind::Within(vec![value]));
        }
        self.fail(
            Error::new("`within` takes a list of paths", here).help(format!(
                "write `within [{}]`",
                if operand.as_rule() == Rule::string {
                    text.to_owned()
                } else {
                    quoted(text)
                }
            )),
        )
    }

    fn is(&self, pair: Pair<'_, Rule>, at: Span) -> Option<OpKind> {
        let mut inner = pair.into_inner();
        inner.next();
        let mut word = inner.next();
        if word
            .as_ref()
            .is_some_and(|word| word.as_rule() == Rule::is_not)
        {
            return self.fail(
                Error::new("`not` stands before the whole test", at)
                    .help("for example `not args.x is null`"),
            );
        }
        let Some(word) = word.take() else {
            return self.internal(at);
        };
        Some(OpKind::Is(match word.as_str() {
            "string" => TypeName::String,
            "number" => TypeName::Number,
            "integer" => TypeName::Integer,
            "bool" => TypeName::Bool,
            "null" => TypeName::Null,
            other => {
                let error = Error::new(format!("unknown type `{other}`"), span(&word));
                let near = match other {
                    "boolean" | "true" | "false" => Some("bool"),
                    "str" | "text" => Some("string"),
                    "int" => Some("integer"),
                    "float" => Some("number"),
                    "none" | "nil" | "None" => Some("null"),
                    _ => similar(other, TYPES),
                };
                return self.fail(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(
                        "a leaf is a `string`, `number`, `integer`, `bool` or `null`; lists and objects are seen as their leaves",
                    ),
                });
            }
        }))
    }

    /// Reads a value: a quoted string or bare text.
    pub(super) fn value(&self, pair: Pair<'_, Rule>) -> Option<Value> {
        let at = span(&pair);
        let kind = if pair.as_rule() == Rule::string {
            ValueKind::Text(self.string(pair)?)
        } else {
            match bare(pair.as_str(), at) {
                Ok(kind) => kind,
                Err(error) => return self.fail(error),
            }
        };
        Some(Value { kind, span: at })
    }
}

/// Tells apart what bare text stands for.
fn bare(text: &str, at: Span) -> Result<ValueKind, Error> {
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || "_-$".contains(c))
    };
    match text {
        "true" => return Ok(ValueKind::Bool(true)),
        "false" => return Ok(ValueKind::Bool(false)),
        "null" => return Ok(ValueKind::Null),
        _ => {}
    }
    let constant = match text.to_ascii_lowercase().as_str() {
        "true" => Some("true"),
        "false" => Some("false"),
        "null" | "none" | "nil" | "undefined" if text != "none" => Some("null"),
        _ => None,
    };
    if let Some(constant) = constant {
        return Err(
            Error::new(format!("`{text}` could be a word or a constant"), at).help(format!(
                "write `{constant}` for the constant, {} for the word",
                quoted(text)
            )),
        );
    }
    if is_json_number(text) {
        return Ok(ValueKind::Number(text.to_owned()));
    }
    if let Some(name) = text.strip_prefix('@') {
        if is_name(name) {
            return Ok(ValueKind::List(name.to_owned()));
        }
        return Err(
            Error::new(format!("`{text}` is not the name of a list"), at).help(format!(
                "write `@name` for a list, {} for text",
                quoted(text)
            )),
        );
    }
    if text.starts_with('*') && !text.contains(char::is_whitespace) {
        return Ok(ValueKind::Word(text.to_owned()));
    }
    if text == "args" || text.starts_with("args.") {
        return Err(
            Error::new(format!("`{text}` cannot stand on the right of a test"), at)
                .help("tests compare an argument with fixed values"),
        );
    }
    if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        let error = Error::new(format!("`{text}` is not a number"), at);
        return Err(if duration(text).is_some() {
            error.help("durations stand only after `per`: `calls(this) > 5 per 1h`")
        } else {
            error.help(format!(
                "write numbers as in JSON (`10`, `-0.5`, `1e9`), text in quotes: {}",
                quoted(text)
            ))
        });
    }
    if is_name(text) {
        return Ok(ValueKind::Word(text.to_owned()));
    }
    if text.len() > 1 && text.starts_with('/') && text.ends_with('/') {
        return Err(Error::new(format!("`{text}` is not a value"), at)
            .help("for a regex write `matches`, for text use quotes"));
    }
    Err(Error::new(format!("`{text}` lacks quotes"), at).help(format!("write {}", quoted(text))))
}

/// In quotes and back-ticks, for help.
fn quoted(text: &str) -> String {
    format!("`{}`", super::display::quote(text))
}
