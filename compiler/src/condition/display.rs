//! Prints a condition so that it parses back to the same tree.

use std::fmt::{self, Display, Formatter, Write as _};

use super::ast::{Comparison, Expr, Op, OpKind, Subject, SubjectKind, Test, Value, ValueKind};
use crate::policy::{Path, Quantifier, Segment, SqlDialect, TypeName, View};

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Or(parts) => joined(f, parts, " or ", |_| false),
            Expr::And(parts) => joined(f, parts, " and ", |part| matches!(part, Expr::Or(_))),
            Expr::Not(inner) => match **inner {
                Expr::And(_) | Expr::Or(_) => write!(f, "not ({inner})"),
                _ => write!(f, "not {inner}"),
            },
            Expr::Test(test) => test.fmt(f),
        }
    }
}

fn joined(
    f: &mut Formatter<'_>,
    parts: &[Expr],
    word: &str,
    brackets: impl Fn(&Expr) -> bool,
) -> fmt::Result {
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            f.write_str(word)?;
        }
        if brackets(part) {
            write!(f, "({part})")?;
        } else {
            part.fmt(f)?;
        }
    }
    Ok(())
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.quantifier {
            Quantifier::Pick => "",
            Quantifier::Any => "any ",
            Quantifier::All => "all ",
        })?;
        match self.op.kind {
            OpKind::Holds => self.subject.fmt(f),
            _ => write!(f, "{} {}", self.subject, self.op),
        }
    }
}

impl Display for Subject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sql = |f: &mut Formatter<'_>, path: &Path, dialect: SqlDialect, part: &str| {
            let dialect = match dialect {
                SqlDialect::Generic => "",
                SqlDialect::Postgres => ", postgres",
                SqlDialect::Sqlite => ", sqlite",
                SqlDialect::Mysql => ", mysql",
            };
            write!(f, "sql({}{dialect}).{part}", Written(path))
        };
        match &self.kind {
            SubjectKind::Arg(path, View::Value) => Written(path).fmt(f),
            SubjectKind::Arg(path, View::Host) => write!(f, "host({})", Written(path)),
            SubjectKind::Arg(path, View::Domain) => write!(f, "domain({})", Written(path)),
            SubjectKind::Arg(path, View::Scheme) => write!(f, "scheme({})", Written(path)),
            SubjectKind::Arg(path, View::Length) => write!(f, "length({})", Written(path)),
            SubjectKind::Arg(path, View::Name) => write!(f, "keys({})", Written(path)),
            SubjectKind::Arg(path, View::SqlVerb(dialect)) => sql(f, path, *dialect, "verb"),
            SubjectKind::Arg(path, View::SqlTable(dialect)) => sql(f, path, *dialect, "table"),
            SubjectKind::Arg(path, View::SqlFunction(dialect)) => {
                sql(f, path, *dialect, "function")
            }
            SubjectKind::Count(path) if path.0.is_empty() => f.write_str("count(args)"),
            SubjectKind::Count(path) => write!(f, "{}.count", Written(path)),
            SubjectKind::Provenance(path) => write!(f, "provenance({})", Written(path)),
            SubjectKind::Carries(path) => write!(f, "carries_untrusted({})", Written(path)),
            SubjectKind::CarriesPrivate(path) => write!(f, "carries_private({})", Written(path)),
            SubjectKind::Checked(check, path) => write!(f, "{}({})", check.name(), Written(path)),
            SubjectKind::Calls => f.write_str("calls(this)"),
            SubjectKind::Effect => f.write_str("effect"),
            SubjectKind::Fact(fact) => f.write_str(fact.name()),
        }
    }
}

/// A path as a condition spells it, `args` included.
struct Written<'a>(&'a Path);

impl Display for Written<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("args")?;
        for segment in &self.0.0 {
            match segment {
                // `count` bare would mean the number of leaves.
                Segment::Key(key)
                    if key != "count"
                        && !key.is_empty()
                        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') =>
                {
                    write!(f, ".{key}")?;
                }
                Segment::Key(key) => write!(f, "[{}]", quote(key))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Each => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OpKind::Compare {
                comparison,
                value,
                per,
            } => {
                let sign = match comparison {
                    Comparison::Equal => "==",
                    Comparison::NotEqual => "!=",
                    Comparison::Less => "<",
                    Comparison::LessEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterEqual => ">=",
                };
                write!(f, "{sign} {value}")?;
                match per {
                    Some((ms, _)) => write!(f, " per {}s", ms / 1000),
                    None => Ok(()),
                }
            }
            OpKind::In { negated, items } => {
                f.write_str(if *negated { "not in " } else { "in " })?;
                list(f, items)
            }
            OpKind::Part(part, value) => write!(f, "{} {value}", part.name()),
            OpKind::Matches(regex) => write!(f, "matches /{}/{}", regex.pattern, regex.flags),
            OpKind::Within(items) => {
                f.write_str("within ")?;
                list(f, items)
            }
            OpKind::Holds => Ok(()),
            OpKind::Exists => f.write_str("exists"),
            OpKind::Is(name) => write!(
                f,
                "is {}",
                match name {
                    TypeName::String => "string",
                    TypeName::Number => "number",
                    TypeName::Integer => "integer",
                    TypeName::Bool => "bool",
                    TypeName::Null => "null",
                }
            ),
        }
    }
}

fn list(f: &mut Formatter<'_>, items: &[Value]) -> fmt::Result {
    if let [
        Value {
            kind: ValueKind::List(name),
            ..
        },
    ] = items
    {
        return write!(f, "@{name}");
    }
    f.write_char('[')?;
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            f.write_str(", ")?;
        }
        item.fmt(f)?;
    }
    f.write_char(']')
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ValueKind::Text(text) => f.write_str(&quote(text)),
            ValueKind::Word(word) => f.write_str(word),
            ValueKind::Number(number) => f.write_str(number),
            ValueKind::Bool(value) => value.fmt(f),
            ValueKind::Null => f.write_str("null"),
            ValueKind::List(name) => write!(f, "@{name}"),
        }
    }
}

/// A double-quoted string that reads back as the text.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
