//! The `sql()` view: what a query does, to which tables, and through which functions.
//!
//! The answer is about every statement in the text, nested ones included: a `WITH`
//! that deletes reads as a query to whoever looks at its first word only. A reading
//! counts only where no reader can have another one: `lexemes` refuses what servers
//! cut up differently, `statements` what runs text or changes later readings, and two
//! parsers that know nothing of each other have to agree. All else is [`Unreadable`].
//! Unlike the other views this one allocates.

mod dialect;
mod functions;
mod lexemes;
mod postgres;
mod sqlite;
mod statements;
mod view;

#[cfg(test)]
mod tests;

pub use dialect::Dialect;
pub use statements::{UNREAD_VERBS, VERBS};

use lexemes::{Kind, Lexeme};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::collections::BTreeSet;
use std::thread;
use view::Found;

/// Longer queries, in bytes, are not read.
const LONGEST: usize = 1 << 20;

/// Up to this many tokens a query is read on the caller's stack. A syntax tree may
/// be as deep as the query has tokens, and is dropped by recursion.
const FEW_TOKENS: usize = 16;

/// Stack for one level of the tree of a longer query; only what is used is mapped.
const STACK_PER_TOKEN: usize = 4 << 10;

/// More tokens than this are not read.
const MANY_TOKENS: usize = 60_000;

/// The query does not parse, is nested too deep or too long, holds nothing, could be
/// read differently by a server, or runs what it does not show. A test on it cannot be
/// evaluated: it holds in a restrictive rule and fails in a permissive one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Hands each thing that `query` does to `each`, in lower case, each once, in
/// alphabetical order.
///
/// The verb of a statement is its first keyword (`select`, `insert`, `drop`, `grant`,
/// `set`, `commit`, …), with `begin` for `START TRANSACTION` and `explain` for
/// its synonyms. Statements inside others count too, as do what they imply: a query
/// inside an `INSERT` is also `select`, `SELECT INTO` also `create`, `REPLACE` also
/// `insert`, an upsert also `update`, a `MERGE` also what its branches do, `CREATE OR
/// REPLACE TABLE` also `drop`. `EXPLAIN` counts as what it explains, run or not.
///
/// # Errors
/// [`Unreadable`], see there. Comments that MySQL executes (`/*! … */`) are refused
/// wherever they stand.
pub fn verbs(query: &str, dialect: Dialect, each: &mut dyn FnMut(&str)) -> Result<(), Unreadable> {
    read(query, dialect)?
        .verbs
        .iter()
        .for_each(|verb| each(verb));
    Ok(())
}

/// Hands each table or view that `query` names to `each`, in lower case, each once, in
/// alphabetical order: the full name as written (`schema.table`), and the last part
/// of it alone where it is qualified.
///
/// Names that a `WITH` introduces are reported like tables.
///
/// # Errors
/// [`Unreadable`], see there; also for statements whose tables are not all known here,
/// such as `SHOW` or `DROP SCHEMA`.
pub fn tables(query: &str, dialect: Dialect, each: &mut dyn FnMut(&str)) -> Result<(), Unreadable> {
    let found = read(query, dialect)?;
    if found.hidden_tables {
        return Err(Unreadable);
    }
    found.tables.iter().for_each(|table| each(table));
    Ok(())
}

/// Hands each function that `query` calls to `each`, in lower case, each once, in
/// alphabetical order: the full name as written, and the last part of it alone where it
/// is qualified. What operators, casts, triggers and views call is not seen.
///
/// # Errors
/// [`Unreadable`], see there.
pub fn functions(
    query: &str,
    dialect: Dialect,
    each: &mut dyn FnMut(&str),
) -> Result<(), Unreadable> {
    read(query, dialect)?
        .functions
        .iter()
        .for_each(|function| each(function));
    Ok(())
}

/// Where a reader of its own saw words and literals, and what it made of them.
#[derive(Default)]
struct Second {
    statements: usize,
    marks: Vec<(Kind, usize)>,
    tables: BTreeSet<String>,
}

fn read(query: &str, dialect: Dialect) -> Result<Found, Unreadable> {
    if query.len() > LONGEST || query.contains("/*!") || query.contains("/*M!") {
        return Err(Unreadable);
    }
    let lexemes = lexemes::lexemes(query, dialect)?;
    if lexemes.len() <= FEW_TOKENS {
        return unwound(|| read_lexemes(query, dialect, &lexemes));
    }
    if lexemes.len() > MANY_TOKENS {
        return Err(Unreadable);
    }
    let stack = (4 << 20) + lexemes.len() * STACK_PER_TOKEN;
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .stack_size(stack)
            .spawn_scoped(scope, || read_lexemes(query, dialect, &lexemes));
        worker
            .map_err(|_| Unreadable)?
            .join()
            .map_err(|_| Unreadable)?
    })
}

/// A parser that panics has read nothing.
fn unwound(read: impl FnOnce() -> Result<Found, Unreadable>) -> Result<Found, Unreadable> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).map_err(|_| Unreadable)?
}

fn read_lexemes(
    query: &str,
    dialect: Dialect,
    lexemes: &[Lexeme<'_>],
) -> Result<Found, Unreadable> {
    let found = first(query, dialect, lexemes);
    match dialect {
        Dialect::Postgres => agreed(found?, &marks(lexemes), &postgres::read(query)?),
        Dialect::Sqlite => agreed(found?, &marks(lexemes), &sqlite::read(query)?),
        // No library carries MySQL's grammar. What another dialect sees counts too.
        Dialect::Mysql => Ok(with_other_readings(
            found?,
            query,
            &[Dialect::Generic],
            lexemes,
        )),
        Dialect::Generic => {
            let brackets = lexemes.iter().any(|lexeme| lexeme.is_sign(b'['));
            let mut found = match found {
                Ok(found) => found,
                // Names in brackets, which only SQLite knows.
                Err(Unreadable) if brackets => {
                    let lexemes = lexemes::lexemes(query, Dialect::Sqlite)?;
                    return read_lexemes(query, Dialect::Sqlite, &lexemes);
                }
                Err(Unreadable) => return Err(Unreadable),
            };
            // A server whose grammar does not know the query does not run it.
            if let Ok(second) = postgres::read(query) {
                found = agreed(found, &marks_without_backticks(query, lexemes), &second)?;
            }
            if !brackets && let Ok(second) = sqlite::read(query) {
                found = agreed(found, &marks(lexemes), &second)?;
            }
            let others = [Dialect::Postgres, Dialect::Sqlite, Dialect::Mysql];
            Ok(with_other_readings(found, query, &others, lexemes))
        }
    }
}

/// What `sqlparser` reads, if it saw the same words and literals.
fn first(query: &str, dialect: Dialect, lexemes: &[Lexeme<'_>]) -> Result<Found, Unreadable> {
    let statements = statements::readable(lexemes, dialect)?;
    let tokens = Tokenizer::new(dialect.parser(), query)
        .tokenize_with_location()
        .map_err(|_| Unreadable)?;
    if marks_of(query, &tokens)? != marks(lexemes) {
        return Err(Unreadable);
    }
    let mut found = view::read(dialect, tokens)?;
    found.note_references(lexemes);
    let same = found.statements == statements
        && found.begins_as(lexemes)
        && found.agrees_with_words(lexemes);
    if !same {
        return Err(Unreadable);
    }
    Ok(found)
}

/// The first reading, if the second one sees no more than it.
fn agreed(found: Found, marks: &[(Kind, usize)], second: &Second) -> Result<Found, Unreadable> {
    let same = second.statements == found.statements
        && second.marks == marks
        && (found.hidden_tables || second.tables.iter().all(|table| found.has(table)));
    if same { Ok(found) } else { Err(Unreadable) }
}

/// Adds what `sqlparser` sees where it takes the query for one in another dialect.
fn with_other_readings(
    mut found: Found,
    query: &str,
    dialects: &[Dialect],
    lexemes: &[Lexeme<'_>],
) -> Found {
    for dialect in dialects {
        if let Ok(other) = first(query, *dialect, lexemes) {
            found.add(other);
        }
    }
    found
}

/// The words, literals and ends of statements.
fn marks(lexemes: &[Lexeme<'_>]) -> Vec<(Kind, usize)> {
    lexemes
        .iter()
        .filter(|lexeme| {
            matches!(
                lexeme.kind,
                Kind::Word | Kind::Quoted | Kind::Text | Kind::Sign(b';')
            )
        })
        .map(|lexeme| (lexeme.kind, lexeme.at))
        .collect()
}

/// As [`marks`], for PostgreSQL, to which a name in backticks is one between operators.
fn marks_without_backticks(query: &str, lexemes: &[Lexeme<'_>]) -> Vec<(Kind, usize)> {
    let mut marks = marks(lexemes);
    for (kind, at) in &mut marks {
        if *kind == Kind::Quoted && query.as_bytes().get(*at) == Some(&b'`') {
            (*kind, *at) = (Kind::Word, *at + 1);
        }
    }
    marks
}

/// Where `sqlparser` saw words, literals and ends of statements.
fn marks_of(query: &str, tokens: &[TokenWithSpan]) -> Result<Vec<(Kind, usize)>, Unreadable> {
    let (mut line, mut column) = (1, 1);
    let mut chars = query.char_indices().peekable();
    let mut marks = Vec::new();
    for token in tokens {
        let (kind, skipped) = match &token.token {
            Token::Word(word) if word.quote_style.is_some() => (Kind::Quoted, 0),
            Token::Word(word) => {
                let sign = |c: char| matches!(c, '@' | '$' | '#');
                (
                    Kind::Word,
                    word.value.chars().take_while(|c| sign(*c)).count(),
                )
            }
            Token::DoubleQuotedString(_) => (Kind::Quoted, 0),
            Token::SingleQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::HexStringLiteral(_) => (Kind::Text, 0),
            Token::Placeholder(name) => match name.as_bytes() {
                [_, next, ..] if next.is_ascii_alphabetic() || *next == b'_' => (Kind::Word, 1),
                _ => continue,
            },
            Token::SemiColon => (Kind::Sign(b';'), 0),
            Token::Char(_)
            | Token::Backslash
            | Token::DollarQuotedString(_)
            | Token::UnicodeStringLiteral(_)
            | Token::TripleSingleQuotedString(_)
            | Token::TripleDoubleQuotedString(_) => return Err(Unreadable),
            _ => continue,
        };
        let start = token.span.start;
        while (line, column) < (start.line, start.column) {
            match chars.next() {
                Some((_, '\n')) => (line, column) = (line + 1, 1),
                Some(_) => column += 1,
                None => return Err(Unreadable),
            }
        }
        let at = chars.peek().map_or(query.len(), |&(at, _)| at);
        marks.push((kind, at + skipped));
    }
    Ok(marks)
}
