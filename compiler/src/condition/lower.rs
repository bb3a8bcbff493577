//! Syntax tree to resolved condition: checks types, looks up lists, compiles
//! regexes, and turns `!=`, `not in` into negations of the positive test.

use super::ast::{
    Comparison, Expr, Fact, Op as AstOp, OpKind, Span, Subject as AstSubject, SubjectKind,
    Test as AstTest, Value, ValueKind,
};
use super::items::list_item;
use super::similar::similar;
use super::{Context, Error};
use crate::policy::{
    Compare, Cond, ListItem, Network, NetworkError, Op, Part, Pattern, Provenance, Quantifier,
    Scalar, SessionTest, Subject, Test, View,
};
use bouncer_plan::{Effect, Effects};

/// Resolves a tree.
pub(super) fn lower(expr: &Expr, context: &Context<'_>) -> Result<Cond, Vec<Error>> {
    let mut lower = Lower {
        context,
        errors: Vec::new(),
    };
    match lower.expr(expr) {
        Some(cond) if lower.errors.is_empty() => Ok(cond),
        _ => Err(lower.errors),
    }
}

struct Lower<'a> {
    context: &'a Context<'a>,
    errors: Vec<Error>,
}

/// An operator resolved: the positive test, and whether it was negated.
struct Resolved {
    op: Op,
    negated: bool,
}

impl From<Op> for Resolved {
    fn from(op: Op) -> Self {
        Resolved { op, negated: false }
    }
}

impl Lower<'_> {
    fn fail<T>(&mut self, error: Error) -> Option<T> {
        self.errors.push(error);
        None
    }

    /// Recursion is as deep as the tree, which the parser has bounded.
    fn expr(&mut self, expr: &Expr) -> Option<Cond> {
        // Every part is visited, so that all errors are reported.
        let mut all = |parts: &[Expr]| -> Option<Vec<Cond>> {
            let parts: Vec<_> = parts.iter().map(|part| self.expr(part)).collect();
            parts.into_iter().collect()
        };
        match expr {
            Expr::And(parts) => all(parts).map(Cond::All),
            Expr::Or(parts) => all(parts).map(Cond::Any),
            Expr::Not(inner) => Some(Cond::Not(Box::new(self.expr(inner)?))),
            Expr::Test(test) => self.test(test),
        }
    }

    fn test(&mut self, test: &AstTest) -> Option<Cond> {
        let at = (self.context.position)(test.span.start);
        let whole = match test.subject.kind {
            SubjectKind::Count(_) | SubjectKind::Calls => Some("a count is one"),
            SubjectKind::Effect => Some("`effect in` asks of all effects of the call already"),
            SubjectKind::Fact(_) => Some("this is a fact of the whole call"),
            _ => None,
        };
        if let Some(why) = whole
            && test.quantifier != Quantifier::Pick
        {
            let message = format!("`any` and `all` are about several values, {why}");
            return self.fail(Error::new(message, test.span).help("leave `any` or `all` out"));
        }
        let Resolved { op, negated } = match &test.subject.kind {
            SubjectKind::Arg(_, view) => self.arg(&test.subject, *view, &test.op)?,
            SubjectKind::Count(_) | SubjectKind::Calls => self.count(&test.subject, &test.op)?,
            SubjectKind::Provenance(_) => self.provenance(&test.op)?,
            SubjectKind::Carries(_) => Op::CarriesUntrusted.into(),
            SubjectKind::CarriesPrivate(_) => Op::CarriesPrivate.into(),
            SubjectKind::Effect => self.effect(&test.op)?,
            SubjectKind::Checked(check, _) => Op::Checked(*check).into(),
            SubjectKind::Fact(fact) => Op::Session(match fact {
                Fact::ReadUntrusted => SessionTest::ReadUntrusted,
                Fact::ReadPrivate => SessionTest::ReadPrivate,
                Fact::UserNamedEffect => SessionTest::UserNamedEffect,
            })
            .into(),
        };
        let subject = match &test.subject.kind {
            SubjectKind::Arg(path, view) => Subject::Arg(path.clone(), *view),
            SubjectKind::Checked(_, path) => Subject::Arg(path.clone(), View::Value),
            SubjectKind::Count(path) => Subject::Count(path.clone()),
            SubjectKind::Provenance(path)
            | SubjectKind::Carries(path)
            | SubjectKind::CarriesPrivate(path) => Subject::Provenance(path.clone()),
            SubjectKind::Effect | SubjectKind::Fact(_) => Subject::Session,
            SubjectKind::Calls => Subject::Calls {
                window_ms: match &test.op.kind {
                    OpKind::Compare { per, .. } => per.map(|(ms, _)| ms),
                    _ => None,
                },
            },
        };
        let leaf = |quantifier, op| {
            Cond::Test(Test {
                quantifier,
                subject: subject.clone(),
                op,
                at,
            })
        };
        if !negated {
            return Some(leaf(test.quantifier, op));
        }
        // "Some leaf is not x" is "not all leaves are x, and there is one";
        // "every leaf is not x" is "no leaf is x, and there is one". Negating the
        // quantified test as it stands would say something else.
        let flipped = match test.quantifier {
            Quantifier::Pick => {
                return Some(Cond::Not(Box::new(leaf(Quantifier::Pick, op))));
            }
            Quantifier::Any => Quantifier::All,
            Quantifier::All => Quantifier::Any,
        };
        let exists = match &test.subject.kind {
            SubjectKind::Arg(path, View::Name) => Subject::Arg(path.clone(), View::Name),
            SubjectKind::Arg(path, _)
            | SubjectKind::Provenance(path)
            | SubjectKind::Carries(path)
            | SubjectKind::CarriesPrivate(path)
            | SubjectKind::Checked(_, path) => Subject::Arg(path.clone(), View::Value),
            // Quantified facts of the whole call were refused above.
            SubjectKind::Count(_)
            | SubjectKind::Calls
            | SubjectKind::Effect
            | SubjectKind::Fact(_) => return None,
        };
        Some(Cond::All(vec![
            Cond::Not(Box::new(leaf(flipped, op))),
            Cond::Test(Test {
                quantifier: Quantifier::Any,
                subject: exists,
                op: Op::Exists,
                at,
            }),
        ]))
    }

    /// A test of an argument, itself or through a view.
    fn arg(&mut self, subject: &AstSubject, view: View, op: &AstOp) -> Option<Resolved> {
        if let OpKind::Compare {
            per: Some((_, span)),
            ..
        } = op.kind
        {
            return self.stray_per(span);
        }
        if view == View::Length {
            return self.count(subject, op);
        }
        match &op.kind {
            OpKind::Compare {
                comparison: comparison @ (Comparison::Equal | Comparison::NotEqual),
                value,
                ..
            } => Some(Resolved {
                op: Op::Equals(self.equal(view, value)?),
                negated: *comparison == Comparison::NotEqual,
            }),
            OpKind::Compare {
                comparison, value, ..
            } => {
                self.only_values(subject, view, op, "compared by size")?;
                let ValueKind::Number(number) = &value.kind else {
                    let error = Error::new("sizes are compared with numbers only", value.span);
                    return self.fail(match &value.kind {
                        ValueKind::Text(text) if super::literal::is_json_number(text) => {
                            error.help(format!("leave the quotes out: `{text}`"))
                        }
                        _ => error.help("for text use `==`, `in`, `starts_with` or `matches`"),
                    });
                };
                Some(Op::Compare(size(*comparison)?, number.clone()).into())
            }
            OpKind::In { negated, items } => Some(Resolved {
                op: Op::In(self.items(view, items)?),
                negated: *negated,
            }),
            OpKind::Part(part, value) => {
                let text = self.text(view, value, *part)?;
                Some(Op::Part(*part, text).into())
            }
            OpKind::Matches(regex) => Some(Op::Matches(self.regex(regex)?).into()),
            OpKind::Within(items) => {
                self.only_values(subject, view, op, "paths")?;
                Some(Op::Within(self.prefixes(items)?).into())
            }
            OpKind::Exists if view == View::Name => Some(Op::Exists.into()),
            OpKind::Exists => {
                self.only_values(subject, view, op, "asked for existence")?;
                Some(Op::Exists.into())
            }
            OpKind::Is(name) => {
                self.only_values(subject, view, op, "asked for their type")?;
                Some(Op::Type(*name).into())
            }
            // The parser gives it to no argument.
            OpKind::Holds => None,
        }
    }

    /// Views are text, so some operators make no sense on them.
    fn only_values(
        &mut self,
        subject: &AstSubject,
        view: View,
        op: &AstOp,
        what: &str,
    ) -> Option<()> {
        if view == View::Value {
            return Some(());
        }
        self.fail(
            Error::new(format!("`{subject}` is text and cannot be {what}"), op.span)
                .help("ask the argument itself, without the function"),
        )
    }

    fn equal(&mut self, view: View, value: &Value) -> Option<Scalar> {
        if let ValueKind::Text(text) | ValueKind::Word(text) = &value.kind {
            let several = matches!(view, View::Host | View::Domain)
                && match &value.kind {
                    // In quotes it is the name of a host.
                    ValueKind::Text(_) => text.contains('/'),
                    _ => true,
                };
            if several && let Some(Ok(network)) = Network::parse(text) {
                return self.fail(
                    Error::new(format!("`{network}` is several hosts"), value.span)
                        .help(format!("write `in [{value}]`")),
                );
            }
            if text.starts_with("*@") || text.starts_with("*.") {
                return self.fail(
                    Error::new(
                        "`==` compares the whole text, `*` is no pattern here",
                        value.span,
                    )
                    .help(format!("write `in [\"{text}\"]`")),
                );
            }
            if text.starts_with('*') && matches!(value.kind, ValueKind::Word(_)) {
                return self.fail(
                    Error::new(format!("`{text}` lacks quotes"), value.span)
                        .help(format!("write `{}`", super::display::quote(text))),
                );
            }
        }
        self.scalar(view, value)
    }

    /// A literal as the subject's view spells it.
    fn scalar(&mut self, view: View, value: &Value) -> Option<Scalar> {
        let text = match &value.kind {
            ValueKind::Text(text) | ValueKind::Word(text) => text,
            _ if view != View::Value => {
                return self.fail(
                    Error::new(
                        format!("`{value}` is not text, the left side always is"),
                        value.span,
                    )
                    .help(format!("write `\"{value}\"` if text was meant")),
                );
            }
            ValueKind::Number(number) => return Some(Scalar::Number(number.clone())),
            ValueKind::Bool(value) => return Some(Scalar::Bool(*value)),
            ValueKind::Null | ValueKind::List(_) => return Some(Scalar::Null),
        };
        self.reachable(text, value.span, true, true)?;
        Some(Scalar::Str(self.viewed(view, text, value.span)?))
    }

    /// The operand of an operator about a part of the text.
    fn text(&mut self, view: View, value: &Value, part: Part) -> Option<String> {
        let (ValueKind::Text(text) | ValueKind::Word(text)) = &value.kind else {
            return self.fail(Error::new("a quoted string is needed here", value.span));
        };
        let (start, end) = part.touches();
        self.reachable(text, value.span, start, end)?;
        if view == View::Name && text.chars().any(char::is_uppercase) {
            return self.fail(
                Error::new(
                    "a rule that restricts sees names in lower case, too: capitals are not found there",
                    value.span,
                )
                .help(format!(
                    "write `matches /{}/i`",
                    regex_syntax::escape(text).replace('/', "\\/")
                )),
            );
        }
        Some(match view {
            View::Value | View::Name => text.clone(),
            _ => text.to_ascii_lowercase(),
        })
    }

    /// Text is matched with white-space trimmed and each run of it as one space; a
    /// literal that no such text can satisfy is a rule that never fires.
    fn reachable(&mut self, text: &str, span: Span, start: bool, end: bool) -> Option<()> {
        let collapsed = text.split(is_space).collect::<Vec<_>>();
        let mut plain = collapsed
            .iter()
            .enumerate()
            .filter(|(n, part)| !part.is_empty() || *n == 0 || *n + 1 == collapsed.len())
            .map(|(_, part)| *part)
            .collect::<Vec<_>>()
            .join(" ");
        if start {
            plain = plain.trim_start().to_owned();
        }
        if end {
            plain = plain.trim_end().to_owned();
        }
        if plain == text {
            return Some(());
        }
        self.fail(
            Error::new("this text can never be found: white-space is trimmed and collapsed before matching", span)
                .help(format!("write `{}`", super::display::quote(&plain))),
        )
    }

    /// Hosts, domains, verbs and tables are seen in lower case.
    fn viewed(&mut self, view: View, text: &str, span: Span) -> Option<String> {
        match view {
            View::Value | View::Name | View::Length => Some(text.to_owned()),
            View::Scheme => {
                let bare = text.trim_end_matches('/').trim_end_matches(':');
                let is_scheme = bare.starts_with(|c: char| c.is_ascii_alphabetic())
                    && bare
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
                if bare != text || !is_scheme {
                    let error = Error::new(format!("`{text}` is never a scheme"), span);
                    return self.fail(match is_scheme {
                        true => error.help(format!("write `{}`", bare.to_ascii_lowercase())),
                        false => error.help("write what stands before the colon, such as `https`"),
                    });
                }
                Some(text.to_ascii_lowercase())
            }
            View::SqlVerb(_) | View::SqlTable(_) | View::SqlFunction(_) => {
                Some(text.to_ascii_lowercase())
            }
            View::Host | View::Domain => {
                let error =
                    |help: String| Error::new(format!("`{text}` is never a host"), span).help(help);
                if let Some((_, domain)) = text.rsplit_once('@') {
                    return self.fail(error(format!("write `{domain}`")));
                }
                if text.contains("://") {
                    let host = url::Url::parse(text)
                        .ok()
                        .and_then(|url| url.host_str().map(str::to_owned));
                    return self.fail(error(match host {
                        Some(host) => format!("write `{host}`"),
                        None => "write the host alone, such as `corp.com`".to_owned(),
                    }));
                }
                if !text.is_ascii() {
                    return self.fail(error(match url::Host::parse(text) {
                        Ok(host) => format!("write its ASCII form, `{host}`"),
                        Err(_) => "hosts are ASCII".to_owned(),
                    }));
                }
                if text.contains(['/', ' ', '?', '#']) {
                    return self.fail(error("write the host alone, such as `corp.com`".to_owned()));
                }
                Some(text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase())
            }
        }
    }

    fn items(&mut self, view: View, items: &[Value]) -> Option<Vec<ListItem>> {
        let mut out = Vec::new();
        let mut good = true;
        for item in items {
            let more = match &item.kind {
                ValueKind::List(name) => self
                    .list(name, item.span)
                    .map(|list| list.into_iter().map(|item| in_view(view, item)).collect()),
                ValueKind::Text(text) | ValueKind::Word(text)
                    if matches!(view, View::Host | View::Domain)
                        && Network::parse(text).is_some() =>
                {
                    self.network(text, item.span).map(|item| vec![item])
                }
                ValueKind::Text(text) | ValueKind::Word(text) if text.contains('*') => {
                    self.pattern(view, text, item.span).map(|item| vec![item])
                }
                _ => self
                    .scalar(view, item)
                    .map(|scalar| vec![ListItem::Scalar(scalar)]),
            };
            match more {
                Some(more) => out.extend(more),
                None => good = false,
            }
        }
        good.then_some(out)
    }

    /// `10.0.0.0/8`, `private`.
    fn network(&mut self, text: &str, span: Span) -> Option<ListItem> {
        let error = match Network::parse(text)? {
            Ok(network) => return Some(ListItem::Network(network)),
            Err(error) => error,
        };
        let (message, help) = match error {
            NetworkError::Bits(most) => (
                format!("`{text}` is not a range of addresses"),
                format!("behind the slash stands a number of bits, {most} at most"),
            ),
            NetworkError::Inside(address, bits) => (
                format!("`{text}` names an address inside a range, not a range"),
                format!("write `{address}/{bits}`, or the address alone"),
            ),
            NetworkError::Mapped(address, bits) => (
                format!("`{text}` is an IPv4 range in the spelling of IPv6"),
                format!("write `{address}/{bits}`; its other spellings count, too"),
            ),
        };
        self.fail(Error::new(message, span).help(help))
    }

    fn pattern(&mut self, view: View, text: &str, span: Span) -> Option<ListItem> {
        if matches!(
            view,
            View::SqlVerb(_) | View::SqlTable(_) | View::SqlFunction(_) | View::Scheme | View::Name
        ) {
            let what = match view {
                View::Scheme => "a scheme",
                View::Name => "a name of a member",
                _ => "part of a query",
            };
            return self.fail(
                Error::new(format!("`{text}` is never {what}"), span).help("use `matches /regex/`"),
            );
        }
        match list_item(text) {
            Ok(item) => Some(item),
            Err(error) => {
                let mut error = error;
                (error.start, error.end) = (span.start, span.end);
                self.fail(error)
            }
        }
    }

    fn list(&mut self, name: &str, span: Span) -> Option<Vec<ListItem>> {
        if let Some(items) = (self.context.lists)(name) {
            return Some(items);
        }
        let names = &self.context.list_names;
        let near = similar(name, names.iter().map(String::as_str));
        let help = match near {
            Some(near) => format!("did you mean `@{near}`?"),
            None if names.is_empty() => "the policy has no `lists:`".to_owned(),
            None => format!(
                "the lists are {}",
                names
                    .iter()
                    .map(|name| format!("`@{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        self.fail(Error::new(format!("unknown list `@{name}`"), span).help(help))
    }

    fn prefixes(&mut self, items: &[Value]) -> Option<Vec<String>> {
        let mut out = Vec::new();
        let mut good = true;
        for item in items {
            let texts = match &item.kind {
                ValueKind::Text(text) => vec![Some(text.clone())],
                ValueKind::List(name) => match self.list(name, item.span) {
                    Some(list) => list
                        .into_iter()
                        .map(|item| match item {
                            ListItem::Scalar(Scalar::Str(text)) => Some(text),
                            _ => None,
                        })
                        .collect(),
                    None => {
                        good = false;
                        continue;
                    }
                },
                _ => vec![None],
            };
            for text in texts {
                let message = match text {
                    Some(text) if !text.trim().is_empty() => {
                        out.push(text);
                        continue;
                    }
                    Some(_) => "an empty path is no prefix".to_owned(),
                    None => format!("`{item}` is not a quoted path"),
                };
                good = false;
                self.errors
                    .push(Error::new(message, item.span).help("for example `within [\"./out\"]`"));
            }
        }
        good.then_some(out)
    }

    fn regex(&mut self, regex: &super::ast::Regex) -> Option<Pattern> {
        // The slash, then the pattern.
        let base = regex.span.start + 1;
        if regex.pattern.is_empty() {
            return self.fail(
                Error::new("an empty regex always matches", regex.span)
                    .help("write `exists` to ask whether there is a value"),
            );
        }
        match bouncer_dialects::native(&regex.pattern, &regex.flags) {
            Ok(translated) => Some(Pattern {
                regex: translated,
                written: format!("/{}/{}", regex.pattern, regex.flags),
            }),
            Err(error) => self.fail(Error {
                message: error.message,
                help: error.help,
                start: base + error.start,
                end: base + error.end,
            }),
        }
    }

    /// A test of a count: a comparison with a whole number.
    fn count(&mut self, subject: &AstSubject, op: &AstOp) -> Option<Resolved> {
        let OpKind::Compare {
            comparison,
            value,
            per,
        } = &op.kind
        else {
            return self.fail(
                Error::new(
                    format!("`{subject}` is a number and can only be compared with one"),
                    op.span,
                )
                .help(format!("for example `{subject} > 5`")),
            );
        };
        if let (Some((_, span)), SubjectKind::Count(_)) = (per, &subject.kind) {
            return self.stray_per(*span);
        }
        let number = match &value.kind {
            ValueKind::Number(number) if number.bytes().all(|b| b.is_ascii_digit()) => {
                number.clone()
            }
            _ => {
                return self.fail(
                    Error::new(
                        format!("`{subject}` is compared with a whole number, not `{value}`"),
                        value.span,
                    )
                    .help("write it without quotes, sign or fraction"),
                );
            }
        };
        Some(match comparison {
            Comparison::Equal | Comparison::NotEqual => Resolved {
                op: Op::Equals(Scalar::Number(number)),
                negated: *comparison == Comparison::NotEqual,
            },
            _ => Op::Compare(size(*comparison)?, number).into(),
        })
    }

    fn stray_per<T>(&mut self, span: Span) -> Option<T> {
        self.fail(
            Error::new("`per` belongs to `calls(this)`", span)
                .help("for example `calls(this) > 20 per 1h`"),
        )
    }

    fn provenance(&mut self, op: &AstOp) -> Option<Resolved> {
        match &op.kind {
            OpKind::Compare {
                comparison: comparison @ (Comparison::Equal | Comparison::NotEqual),
                value,
                per: None,
            } => Some(Resolved {
                op: Op::Provenance(vec![self.label(value)?]),
                negated: *comparison == Comparison::NotEqual,
            }),
            OpKind::In { negated, items } => {
                let labels: Vec<_> = items.iter().map(|item| self.label(item)).collect();
                Some(Resolved {
                    op: Op::Provenance(labels.into_iter().collect::<Option<_>>()?),
                    negated: *negated,
                })
            }
            _ => self.fail(
                Error::new(
                    "a provenance can only be compared with `==`, `!=` or `in`",
                    op.span,
                )
                .help("for example `provenance(args.to) in [untrusted, unproven]`"),
            ),
        }
    }

    /// `effect in […]`, and `effect == run` for one.
    fn effect(&mut self, op: &AstOp) -> Option<Resolved> {
        let (items, negated) = match &op.kind {
            OpKind::Compare {
                comparison: comparison @ (Comparison::Equal | Comparison::NotEqual),
                value,
                per: None,
            } => (
                std::slice::from_ref(value),
                *comparison == Comparison::NotEqual,
            ),
            OpKind::In { negated, items } => (items.as_slice(), *negated),
            _ => {
                return self.fail(
                    Error::new("an effect can only be asked for with `in`", op.span)
                        .help("for example `effect in [run, grant]`"),
                );
            }
        };
        if items.is_empty() {
            return self.fail(
                Error::new("no effect is in an empty list", op.span)
                    .help(format!("name some of {}", Effects::ALL)),
            );
        }
        let effects: Vec<_> = items.iter().map(|item| self.one_effect(item)).collect();
        Some(Resolved {
            op: Op::Session(SessionTest::Effect(
                effects.into_iter().collect::<Option<_>>()?,
            )),
            negated,
        })
    }

    fn one_effect(&mut self, value: &Value) -> Option<Effect> {
        let word = match &value.kind {
            ValueKind::Text(text) | ValueKind::Word(text) => text.as_str(),
            _ => "",
        };
        if let Ok(effect) = word.parse() {
            return Some(effect);
        }
        let names = Effect::ALL.map(Effect::name);
        let near = similar(word, names).or(match word {
            "delete" | "remove" | "destructive" => Some("destroy"),
            "execute" | "exec" | "shell" => Some("run"),
            "buy" | "payment" | "purchase" => Some("pay"),
            "share" | "permission" | "access" => Some("grant"),
            "post" => Some("publish"),
            _ => None,
        });
        let error = Error::new(format!("`{value}` is not an effect"), value.span);
        self.fail(match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("one of {}", Effects::ALL)),
        })
    }

    /// A provenance.
    fn label(&mut self, value: &Value) -> Option<Provenance> {
        let word = match &value.kind {
            ValueKind::Text(text) | ValueKind::Word(text) => text.as_str(),
            _ => "",
        };
        match word {
            "untrusted" => Some(Provenance::Untrusted),
            "observed" => Some(Provenance::Observed),
            "trusted" => Some(Provenance::Trusted),
            "user" => Some(Provenance::User),
            "unproven" => Some(Provenance::Unproven),
            _ => {
                let names = ["untrusted", "observed", "trusted", "user", "unproven"];
                let near = similar(word, names).or(match word {
                    "tainted" => Some("untrusted"),
                    "unknown" => Some("unproven"),
                    _ => None,
                });
                let error = Error::new(format!("`{value}` is not a provenance"), value.span);
                self.fail(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => {
                        error.help("one of `untrusted`, `observed`, `trusted`, `user`, `unproven`")
                    }
                })
            }
        }
    }
}

fn size(comparison: Comparison) -> Option<Compare> {
    match comparison {
        Comparison::Less => Some(Compare::Less),
        Comparison::LessEqual => Some(Compare::LessEqual),
        Comparison::Greater => Some(Compare::Greater),
        Comparison::GreaterEqual => Some(Compare::GreaterEqual),
        Comparison::Equal | Comparison::NotEqual => None,
    }
}

/// An item of a named list under a view: the list is shared, so what no host or
/// verb can equal stays and never matches.
fn in_view(view: View, item: ListItem) -> ListItem {
    match (view, item) {
        (View::Value | View::Name, item) => item,
        (View::Host | View::Domain, ListItem::Scalar(Scalar::Str(text))) => {
            match Network::parse(&text) {
                Some(Ok(network)) => ListItem::Network(network),
                _ => ListItem::Scalar(Scalar::Str(
                    text.strip_suffix('.').unwrap_or(&text).to_ascii_lowercase(),
                )),
            }
        }
        (_, ListItem::Scalar(Scalar::Str(text))) => {
            ListItem::Scalar(Scalar::Str(text.to_ascii_lowercase()))
        }
        (_, item) => item,
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}
