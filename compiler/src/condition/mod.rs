//! The language of `when:` strings: text in, [`Cond`] or errors out.
//!
//! Parsing ([`parse_expr`]) makes a syntax tree with byte spans; lowering checks
//! types, looks lists up and yields the resolved condition. Nothing here knows
//! which file the text came from: the caller maps byte offsets to positions.
//!
//! The language in brief:
//!
//! ```text
//! any sql(args.query).verb in [drop, truncate] and not args.dry_run == true
//! args.amount > 1000 or domain(args.to) not in @partners
//! args.path within ["./out"]      args.cc exists      args.id is number
//! args.name matches /^tmp_/i      args.items[*].email contains "@corp"
//! args.to.count > 5               calls(this) > 20 per 1h
//! provenance(args.to) in [untrusted, unproven]
//! ```
//!
//! `not` binds tighter than `and`, `and` tighter than `or`.
//! `exists` is only a postfix. `count(args.x)` is the same as `args.x.count`.

mod assertion;
mod ast;
mod display;
mod doubts;
mod items;
mod limits;
mod literal;
mod lower;
mod parser;
mod similar;
mod subject;
#[cfg(test)]
mod tests;
mod values;

pub use assertion::parse_assertion;
pub use ast::{
    Comparison, Expr, Op, OpKind, Regex, Span, Subject, SubjectKind, Test, Value, ValueKind,
};
pub(crate) use doubts::{doubts, member};
pub use items::list_item;
pub use limits::{MAX_DEPTH, MAX_TESTS, MAX_TEXT};
pub use parser::parse_expr;

use crate::policy::{Cond, ListItem, Pos};

/// What lowering needs to know from outside.
pub struct Context<'a> {
    /// The items of a list, by name without the `@`.
    pub lists: &'a dyn Fn(&str) -> Option<Vec<ListItem>>,
    /// All list names, for "did you mean".
    pub list_names: Vec<String>,
    /// Maps a byte offset in the condition's text to a position in a file.
    pub position: &'a dyn Fn(usize) -> Pos,
}

/// Something wrong in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong; lower case, input in back-ticks.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// First byte in the condition's text.
    pub start: usize,
    /// One past the last byte; never before `start`.
    pub end: usize,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> Error {
        Error {
            message: message.into(),
            help: None,
            start: span.start,
            end: span.end,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }
}

/// Parses and resolves the text of one `when:`.
///
/// # Errors
///
/// One error for the first syntax error, or all errors of meaning in the order
/// of the text. Text beyond [`MAX_TEXT`], [`MAX_DEPTH`] or [`MAX_TESTS`] is an error.
/// Takes time linear in the text, apart from the lists it names.
pub fn parse(text: &str, context: &Context<'_>) -> Result<Cond, Vec<Error>> {
    let expr = parse_expr(text)?;
    lower::lower(&expr, context)
}
