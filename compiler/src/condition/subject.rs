//! Subjects: paths, views, counts, provenance, calls, effects and facts of the session.

use pest::iterators::{Pair, Pairs};

use super::Error;
use super::ast::{Fact, Span, Subject, SubjectKind};
use super::literal::unescape;
use super::parser::{Builder, Rule, span};
use super::similar::similar;
use crate::policy::{Check, Part, Path, Segment, SqlDialect, View};

const FUNCTIONS: [&str; 13] = [
    "host",
    "domain",
    "scheme",
    "length",
    "keys",
    "luhn",
    "iban",
    "sql",
    "provenance",
    "carries_untrusted",
    "carries_private",
    "calls",
    "count",
];
const DIALECTS: [&str; 3] = ["postgres", "sqlite", "mysql"];
/// Other names for the arguments, in other products.
const ARGS_ALIASES: [&str; 8] = [
    "arg",
    "argument",
    "arguments",
    "input",
    "inputs",
    "params",
    "param",
    "parameters",
];

/// A path as written: its steps, and whether `.count` stood at its end.
struct Written {
    path: Path,
    counted: bool,
}

/// What a name stands for that is no argument.
fn of_the_session(name: &str) -> Option<SubjectKind> {
    if name == "effect" {
        return Some(SubjectKind::Effect);
    }
    let fact = Fact::ALL.into_iter().find(|fact| fact.name() == name);
    fact.map(SubjectKind::Fact)
}

impl Builder {
    /// Reads a `subject` pair.
    pub(super) fn subject(&self, pair: Pair<'_, Rule>) -> Option<Subject> {
        let at = span(&pair);
        let mut inner = pair.into_inner();
        let Some(root) = inner.next() else {
            return self.internal(at);
        };
        let kind = if root.as_rule() == Rule::call {
            self.call(root, inner, at)?
        } else if let Some(kind) = of_the_session(root.as_str()) {
            if let Some(step) = inner.next() {
                let message = format!("`{}` has no part `{}`", root.as_str(), step.as_str());
                return self.fail(Error::new(message, span(&step)).help(format!(
                    "an argument of that name is `args.{}`",
                    root.as_str()
                )));
            }
            kind
        } else {
            let written = self.path(&root, inner, at)?;
            if written.counted {
                SubjectKind::Count(written.path)
            } else {
                SubjectKind::Arg(written.path, View::Value)
            }
        };
        Some(Subject { kind, span: at })
    }

    fn path(&self, root: &Pair<'_, Rule>, steps: Pairs<'_, Rule>, at: Span) -> Option<Written> {
        self.root(root, steps.clone())?;
        let mut path = Vec::new();
        let mut counted = false;
        let last = steps.len();
        for (n, step) in steps.enumerate() {
            let here = span(&step);
            if path.is_empty() && matches!(step.as_rule(), Rule::each | Rule::index) {
                return self.fail(
                    Error::new("the arguments are an object, not a list", here)
                        .help("`args` alone stands for every leaf of all arguments; `args.name[*]` for the elements of one"),
                );
            }
            match step.as_rule() {
                Rule::member => match step.as_str().get(1..) {
                    Some("*") => {
                        return self.fail(
                            Error::new("`.*` is not a step of a path", here)
                                .help("write `[*]` for each element of a list; a path already covers every leaf below it"),
                        );
                    }
                    Some("$") => {
                        return self.fail(Error::new("`.$` is not a step of a path", here).help(
                            "paths begin at the arguments already: leave it out, or write `args[\"$\"]` for an argument of that name",
                        ));
                    }
                    Some("count") if n + 1 == last => {
                        if path.is_empty() {
                            return self.fail(
                                Error::new("`args.count` can mean two things", here).help(
                                    "write `args[\"count\"]` for the argument named `count`, `count(args)` for the number of all leaves",
                                ),
                            );
                        }
                        counted = true;
                    }
                    name => path.push(Segment::Key(name.unwrap_or_default().to_owned())),
                },
                Rule::each => path.push(Segment::Each),
                Rule::index => {
                    let text = step.into_inner().as_str();
                    let Ok(index) = text.parse::<u32>() else {
                        return self
                            .fail(Error::new(format!("the index `{text}` is too large"), here));
                    };
                    path.push(Segment::Index(index));
                }
                Rule::quoted_key => {
                    let key = step
                        .into_inner()
                        .next()
                        .and_then(|pair| self.string(pair))?;
                    path.push(Segment::Key(key));
                }
                Rule::method_compat => return self.method(&step),
                _ => {
                    let text = step.as_str();
                    let error = Error::new(format!("`{text}` is not a step of a path"), here);
                    return self.fail(error.help(
                        "write `[*]` for each element, `[0]` for one, `[\"a key\"]` for a key",
                    ));
                }
            }
        }
        let _ = at;
        Some(Written {
            path: Path(path),
            counted,
        })
    }

    /// Checks that a path starts at `args`.
    fn root(&self, root: &Pair<'_, Rule>, steps: Pairs<'_, Rule>) -> Option<()> {
        let name = root.as_str();
        if name == "args" {
            return Some(());
        }
        let error = Error::new(format!("unknown name `{name}`"), span(root));
        let rest: String = steps.map(|step| step.as_str().to_owned()).collect();
        if matches!(name, "true" | "false") {
            let help = match name {
                "true" => "a rule without `when:` holds for every call: leave it out",
                _ => "a rule that never holds decides nothing: leave it out",
            };
            return self.fail(error.help(help));
        }
        if name == "$" {
            return self.fail(error.help(format!("did you mean `args{rest}`?")));
        }
        if name == "this" {
            return self.fail(error.help("`this` stands only in `calls(this)`"));
        }
        if ARGS_ALIASES.contains(&name.to_lowercase().as_str()) || similar(name, ["args"]).is_some()
        {
            return self.fail(error.help(format!("did you mean `args{rest}`?")));
        }
        if let Some(function) = similar(name, FUNCTIONS) {
            return self.fail(error.help(format!("did you mean `{function}(…)`?")));
        }
        let facts = Fact::ALL.into_iter().map(Fact::name).chain(["effect"]);
        let near = similar(name, facts).or(match name {
            "effects" => Some("effect"),
            _ => None,
        });
        if let Some(fact) = near {
            return self.fail(error.help(format!("did you mean `{fact}`?")));
        }
        self.fail(error.help(format!("arguments stand under `args`: `args.{name}{rest}`")))
    }

    /// `args.x.includes("y")` and its like.
    fn method<T>(&self, step: &Pair<'_, Rule>) -> Option<T> {
        let name = step
            .clone()
            .into_inner()
            .next()
            .map(|pair| pair.as_str().to_owned())
            .unwrap_or_default();
        let spelt =
            Part::meant(&name).map(|part| format!("write `args.x {} \"text\"`", part.name()));
        let help = match name.as_str() {
            "includes" | "contains" | "indexOf" | "include" => "write `args.x contains \"text\"`",
            "test" | "match" | "matches" | "search" => "write `args.x matches /regex/`",
            "some" | "any" => "write `any args.x in [a, b]`",
            "every" | "all" => "write `all args.x in [a, b]`",
            "toLowerCase" | "lower" | "toUpperCase" | "upper" => {
                "write `args.x matches /text/i` to ignore case"
            }
            "size" | "len" | "length" | "count" => {
                "write `length(args.x)` for the characters of a text, `args.x.count` for the values of a list"
            }
            "keys" => "write `keys(args.x)`",
            "exists" => "write `args.x exists`",
            _ => "arguments have no methods; operators stand between words",
        };
        self.fail(
            Error::new(format!("`.{name}(…)` is not an operator"), span(step))
                .help(spelt.unwrap_or_else(|| help.to_owned())),
        )
    }

    fn call(
        &self,
        call: Pair<'_, Rule>,
        mut steps: Pairs<'_, Rule>,
        at: Span,
    ) -> Option<SubjectKind> {
        let here = span(&call);
        let mut inner = call.into_inner();
        let Some(name) = inner.next() else {
            return self.internal(here);
        };
        let arguments: Vec<_> = inner.collect();
        let function = name.as_str();
        let kind = match function {
            "host" => SubjectKind::Arg(self.one_path(function, &arguments, here)?, View::Host),
            "domain" => SubjectKind::Arg(self.one_path(function, &arguments, here)?, View::Domain),
            "scheme" => SubjectKind::Arg(self.one_path(function, &arguments, here)?, View::Scheme),
            "length" => SubjectKind::Arg(self.one_path(function, &arguments, here)?, View::Length),
            "keys" => SubjectKind::Arg(self.one_path(function, &arguments, here)?, View::Name),
            "luhn" | "iban" => {
                let path = self.one_path(function, &arguments, here)?;
                let check = if function == "luhn" {
                    Check::Luhn
                } else {
                    Check::Iban
                };
                SubjectKind::Checked(check, path)
            }
            "provenance" => SubjectKind::Provenance(self.one_path(function, &arguments, here)?),
            "carries_untrusted" => SubjectKind::Carries(self.one_path(function, &arguments, here)?),
            "carries_private" => {
                SubjectKind::CarriesPrivate(self.one_path(function, &arguments, here)?)
            }
            "count" => SubjectKind::Count(self.one_path(function, &arguments, here)?),
            "sql" => return self.sql(&arguments, steps, here),
            "calls" => {
                if arguments.len() != 1 || arguments.first().map(Pair::as_str) != Some("this") {
                    return self.fail(
                        Error::new("`calls` counts the calls of the tool that is judged", here)
                            .help("write `calls(this)`"),
                    );
                }
                SubjectKind::Calls
            }
            "exists" => {
                let of = arguments.first().map_or("args.x", Pair::as_str);
                return self.fail(
                    Error::new("`exists` stands after what it asks about", here)
                        .help(format!("write `{of} exists`")),
                );
            }
            "any" | "all" => {
                return self.fail(
                    Error::new(
                        format!("`{function}` stands before a test, without parentheses"),
                        here,
                    )
                    .help(format!("for example `{function} args.to in @partners`")),
                );
            }
            _ => {
                let error = Error::new(format!("unknown function `{function}`"), span(&name));
                return self.fail(match (similar(function, FUNCTIONS), function) {
                    (Some(near), _) => error.help(format!("did you mean `{near}`?")),
                    (None, "len" | "size") => error.help(
                        "write `length(args.x)` for the characters of a text, `args.x.count` for the values of a list",
                    ),
                    (None, "names" | "members") => error.help("write `keys(args)`"),
                    (None, "protocol") => error.help("write `scheme(args.url)`"),
                    (None, "card" | "credit_card" | "creditcard") => {
                        error.help("write `luhn(args.x)`")
                    }
                    (None, word)
                        if Part::named(word).is_some() || matches!(word, "matches" | "within") =>
                    {
                        error.help(format!(
                            "operators stand between words: `args.x {function} …`"
                        ))
                    }
                    _ => error.help(
                        "the functions are `host`, `domain`, `scheme`, `length`, `keys`, `luhn`, `iban`, `sql`, `provenance`, `carries_untrusted`, `carries_private`, `calls`, `count`",
                    ),
                });
            }
        };
        if let Some(step) = steps.next() {
            if step.as_rule() == Rule::method_compat {
                return self.method(&step);
            }
            let text = step.as_str();
            return self.fail(
                Error::new(format!("`{function}(…)` has no part `{text}`"), span(&step))
                    .help("put the path inside the parentheses"),
            );
        }
        let _ = at;
        Some(kind)
    }

    fn sql(
        &self,
        arguments: &[Pair<'_, Rule>],
        mut steps: Pairs<'_, Rule>,
        here: Span,
    ) -> Option<SubjectKind> {
        let (path, dialect) = match arguments {
            [path] => (path, SqlDialect::Generic),
            [path, dialect] => (path, self.dialect(dialect)?),
            _ => {
                return self.fail(
                    Error::new("`sql` takes a path and, if need be, a dialect", here)
                        .help("for example `sql(args.query, postgres).verb`"),
                );
            }
        };
        let path = self.inner_path("sql", path)?;
        let part = steps.next();
        let view = match part.as_ref().map(Pair::as_str) {
            Some(".verb") => View::SqlVerb(dialect),
            Some(".table") => View::SqlTable(dialect),
            Some(".function") => View::SqlFunction(dialect),
            Some(other) => {
                let at = part.as_ref().map_or(here, span);
                let error = Error::new(format!("`sql(…)` has no part `{other}`"), at);
                return self.fail(
                    match similar(
                        other.trim_start_matches('.'),
                        ["verb", "verbs", "table", "tables", "function", "functions"],
                    ) {
                        Some(near) => {
                            error.help(format!("did you mean `.{}`?", near.trim_end_matches('s')))
                        }
                        None => error.help("it has `.verb`, `.table` and `.function`"),
                    },
                );
            }
            None => {
                return self.fail(Error::new("`sql(…)` alone is no value", here).help(
                    "ask for `.verb` or `.table`: `any sql(args.query).verb in [drop, truncate]`",
                ));
            }
        };
        if let Some(step) = steps.next() {
            if step.as_rule() == Rule::method_compat {
                return self.method(&step);
            }
            return self.fail(Error::new(
                format!("`{}` after `.verb` or `.table`", step.as_str()),
                span(&step),
            ));
        }
        Some(SubjectKind::Arg(path, view))
    }

    fn dialect(&self, pair: &Pair<'_, Rule>) -> Option<SqlDialect> {
        match pair.as_str() {
            "postgres" => Some(SqlDialect::Postgres),
            "sqlite" => Some(SqlDialect::Sqlite),
            "mysql" => Some(SqlDialect::Mysql),
            other => {
                let error = Error::new(format!("unknown SQL dialect `{other}`"), span(pair));
                let bare = other.trim_matches(['"', '\'']);
                let near = similar(bare, DIALECTS).or(match bare {
                    "postgresql" | "pg" | "psql" => Some("postgres"),
                    "mariadb" => Some("mysql"),
                    _ => None,
                });
                self.fail(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(
                        "the dialects are `postgres`, `sqlite`, `mysql`; leave it out for a generic one",
                    ),
                })
            }
        }
    }

    fn one_path(&self, function: &str, arguments: &[Pair<'_, Rule>], here: Span) -> Option<Path> {
        match arguments {
            [path] => self.inner_path(function, path),
            _ => self.fail(
                Error::new(format!("`{function}` takes one path"), here)
                    .help(format!("for example `{function}(args.to)`")),
            ),
        }
    }

    /// The path inside a function's parentheses.
    fn inner_path(&self, function: &str, pair: &Pair<'_, Rule>) -> Option<Path> {
        let here = span(pair);
        if pair.as_rule() != Rule::subject {
            return self.fail(
                Error::new(
                    format!("`{function}` takes a path, not `{}`", pair.as_str()),
                    here,
                )
                .help(format!("for example `{function}(args.to)`")),
            );
        }
        let mut inner = pair.clone().into_inner();
        let Some(root) = inner.next() else {
            return self.internal(here);
        };
        if root.as_rule() == Rule::call {
            return self.fail(
                Error::new("functions cannot be nested", here)
                    .help("give the path itself, such as `args.to`"),
            );
        }
        let written = self.path(&root, inner, here)?;
        if written.counted {
            return self.fail(
                Error::new(format!("`{function}` takes an argument, not a count"), here)
                    .help("write `[\"count\"]` for a key with this name"),
            );
        }
        Some(written.path)
    }

    /// Reads a `string` pair.
    pub(super) fn string(&self, pair: Pair<'_, Rule>) -> Option<String> {
        let here = span(&pair);
        let Some(text) = pair.into_inner().next() else {
            return self.internal(here);
        };
        match unescape(text.as_str(), span(&text).start) {
            Ok(text) => Some(text),
            Err(error) => self.fail(error),
        }
    }
}
