//! Text to syntax tree: the pest grammar, the precedence of `and`, `or` and
//! `not`, and syntax errors in human words.

use std::cell::RefCell;
use std::sync::LazyLock;

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::{Pair, Pairs};
use pest::pratt_parser::{Assoc, Op, PrattParser};

use super::ast::{Expr, Op as AstOp, OpKind, Span, SubjectKind, Test};
use super::{Error, limits};
use crate::policy::Quantifier;

#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/condition.pest"]
pub(super) struct Grammar;

/// Parses the text of one `when:` without resolving it.
///
/// # Errors
///
/// One error for the first syntax error, or all errors in the operands, in the
/// order of the text. Takes time linear in the text.
pub fn parse_expr(text: &str) -> Result<Expr, Vec<Error>> {
    limits::check(text).map_err(|error| vec![error])?;
    let pairs = Grammar::parse(Rule::condition, text).map_err(|error| vec![syntax(text, error)])?;
    let builder = Builder {
        errors: RefCell::new(Vec::new()),
        tests: RefCell::new(0),
    };
    let expr = pairs
        .into_iter()
        .find(|pair| pair.as_rule() == Rule::formula)
        .and_then(|pair| builder.formula(pair.into_inner()));
    let mut errors = builder.errors.into_inner();
    match expr {
        Some(expr) if errors.is_empty() => Ok(expr),
        _ => {
            if errors.is_empty() {
                errors.push(internal(Span {
                    start: 0,
                    end: text.len(),
                }));
            }
            errors.sort_by_key(|error| (error.start, error.end));
            Err(errors)
        }
    }
}

/// Turns pairs into the tree. Operands that are wrong leave an error behind and
/// become `None`, so that one run reports them all.
pub(super) struct Builder {
    errors: RefCell<Vec<Error>>,
    tests: RefCell<usize>,
}

static PRECEDENCE: LazyLock<PrattParser<Rule>> = LazyLock::new(|| {
    PrattParser::new()
        .op(Op::infix(Rule::or, Assoc::Left) | Op::infix(Rule::or_compat, Assoc::Left))
        .op(Op::infix(Rule::and, Assoc::Left) | Op::infix(Rule::and_compat, Assoc::Left))
        .op(Op::prefix(Rule::not) | Op::prefix(Rule::not_compat))
});

impl Builder {
    /// Records an error.
    pub(super) fn fail<T>(&self, error: Error) -> Option<T> {
        self.errors.borrow_mut().push(error);
        None
    }

    /// Records that the grammar and this code disagree.
    pub(super) fn internal<T>(&self, span: Span) -> Option<T> {
        self.fail(internal(span))
    }

    fn formula(&self, pairs: Pairs<'_, Rule>) -> Option<Expr> {
        PRECEDENCE
            .map_primary(|pair| match pair.as_rule() {
                Rule::group => {
                    let inner = pair.into_inner().next()?;
                    self.formula(inner.into_inner())
                }
                _ => self.test(pair).map(Expr::Test),
            })
            .map_prefix(|op, operand| {
                if op.as_rule() == Rule::not_compat {
                    return self.spelling(&op, "not");
                }
                Some(Expr::Not(Box::new(operand?)))
            })
            .map_infix(|left, op, right| match op.as_rule() {
                Rule::and_compat => self.spelling(&op, "and"),
                Rule::or_compat => self.spelling(&op, "or"),
                rule => {
                    let (left, right) = (left?, right?);
                    Some(join(rule == Rule::and, left, right))
                }
            })
            .parse(pairs)
    }

    fn spelling(&self, op: &Pair<'_, Rule>, word: &str) -> Option<Expr> {
        self.fail(
            Error::new(format!("`{}` is not an operator", op.as_str()), span(op))
                .help(format!("write `{word}`")),
        )
    }

    fn test(&self, pair: Pair<'_, Rule>) -> Option<Test> {
        let at = span(&pair);
        {
            let mut tests = self.tests.borrow_mut();
            *tests += 1;
            if *tests > limits::MAX_TESTS {
                // Once is enough.
                return if *tests == limits::MAX_TESTS + 1 {
                    self.fail(
                        Error::new(
                            format!("more than {} tests in one condition", limits::MAX_TESTS),
                            at,
                        )
                        .help("split the rule, or use `in` with a list"),
                    )
                } else {
                    None
                };
            }
        }
        let mut inner = pair.into_inner().peekable();
        let mut quantifier = Quantifier::Pick;
        if let Some(word) = inner.next_if(|pair| pair.as_rule() == Rule::quantifier) {
            quantifier = match word.as_str() {
                "any" => Quantifier::Any,
                _ => Quantifier::All,
            };
        }
        let Some(first) = inner.next() else {
            return self.internal(at);
        };
        match first.as_rule() {
            Rule::subject => {}
            Rule::reversed_compat => {
                return self.fail(
                    Error::new("the argument stands on the left of a test", span(&first))
                        .help("for example `args.amount > 5`, `any args.tags == \"x\"`"),
                );
            }
            _ => {
                return self.fail(
                    Error::new(
                        "`any` and `all` stand before one test, not before parentheses",
                        at,
                    )
                    .help("for example `any args.to in @partners`"),
                );
            }
        }
        let here = span(&first);
        let text = first.as_str();
        let subject = self.subject(first);
        let Some(op) = inner.next() else {
            let subject = subject?;
            if matches!(subject.kind, SubjectKind::Carries(_)) {
                return Some(Test {
                    quantifier,
                    subject,
                    op: AstOp {
                        kind: OpKind::Holds,
                        span: here,
                    },
                    span: at,
                });
            }
            return self.fail(
                Error::new(format!("nothing is asked of `{text}`"), here).help(format!(
                    "for example `{text} exists`, `{text} == true`, `{text} in [a, b]`"
                )),
            );
        };
        if let Some(second) = inner.next() {
            let text = second.as_str();
            return self.fail(
                Error::new(
                    format!("a second operator on one subject: `{text}`"),
                    span(&second),
                )
                .help("write two tests, joined by `and`"),
            );
        }
        let after = span(&op);
        let op = self.op(op);
        let (subject, op) = (subject?, op?);
        if matches!(subject.kind, SubjectKind::Carries(_)) {
            return self.fail(
                Error::new(format!("`{text}` is a test by itself"), after)
                    .help(format!("write `{text}` or `not {text}`")),
            );
        }
        Some(Test {
            quantifier,
            subject,
            op,
            span: at,
        })
    }
}

/// `and` and `or` are associative, so chains become one flat node whatever
/// parentheses they were written with.
fn join(and: bool, left: Expr, right: Expr) -> Expr {
    let parts = |expr| match expr {
        Expr::And(parts) if and => parts,
        Expr::Or(parts) if !and => parts,
        other => vec![other],
    };
    let mut all = parts(left);
    all.extend(parts(right));
    if and { Expr::And(all) } else { Expr::Or(all) }
}

pub(super) fn span(pair: &Pair<'_, Rule>) -> Span {
    let span = pair.as_span();
    Span {
        start: span.start(),
        end: span.end(),
    }
}

fn internal(span: Span) -> Error {
    Error::new("this part of the condition cannot be read", span)
}

fn syntax(text: &str, error: pest::error::Error<Rule>) -> Error {
    let (start, end) = match error.location {
        InputLocation::Pos(at) => (at, at),
        InputLocation::Span((start, end)) => (start, end),
    };
    let rest = text.get(start..).unwrap_or_default();
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => expected(positives),
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let Some(first) = rest.chars().next() else {
        return Error::new(
            format!("the condition ends too early: expected {expected}"),
            Span {
                start,
                end: text.len(),
            },
        );
    };
    // Show the whole word that does not fit.
    let len = match rest.find(|c: char| !(c.is_alphanumeric() || c == '_')) {
        Some(0) | None if !first.is_alphanumeric() => first.len_utf8(),
        Some(len) => len,
        None => rest.len(),
    };
    let found = rest.get(..len).unwrap_or_default();
    let mut out = Error::new(
        format!("expected {expected}, found `{}`", found.escape_debug()),
        Span {
            start,
            end: end.max(start + len),
        },
    );
    if matches!(first, ')' | ']') {
        out.help = Some("is a bracket too many, or missing before?".to_owned());
    } else if first == '"' || first == '\'' {
        out.help = Some("a back-slash escapes a quote inside a string".to_owned());
    }
    out
}

/// Rules in the author's words, each once.
fn expected(rules: &[Rule]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for rule in rules {
        let name = human(*rule);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => "something else".to_owned(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// What a rule is called in messages; empty where mentioning it would not help.
fn human(rule: Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end",
        Rule::and => "`and`",
        Rule::or => "`or`",
        Rule::formula | Rule::test | Rule::subject | Rule::group | Rule::name | Rule::call => {
            "a test such as `args.x == 1`"
        }
        Rule::not => "`not`",
        Rule::comparison
        | Rule::equality
        | Rule::membership
        | Rule::not_in
        | Rule::r#in
        | Rule::part
        | Rule::keyword_part
        | Rule::matches
        | Rule::keyword_matches
        | Rule::within
        | Rule::keyword_within
        | Rule::exists
        | Rule::is
        | Rule::keyword_is
        | Rule::word_operator => "an operator such as `==`, `in`, `matches`",
        Rule::unquoted | Rule::bare | Rule::string | Rule::number | Rule::bare_char => "a value",
        Rule::list => "a list",
        Rule::regex => "a regex between slashes",
        Rule::member => "`.` and a name",
        _ => "",
    }
}
