//! The syntax tree of a condition: what was written, with byte spans, before
//! lists are looked up and types are checked. It knows nothing of files.

use crate::policy::{Check, Part, Path, Quantifier, TypeName, View};

/// Byte offsets into the condition's text, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Parts joined by `and`; at least two.
    And(Vec<Expr>),
    /// Parts joined by `or`; at least two.
    Or(Vec<Expr>),
    /// `not` and its operand.
    Not(Box<Expr>),
    /// A single test.
    Test(Test),
}

/// `any args.to in @partners`
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// `any` or `all`; [`Quantifier::Pick`] where neither was written.
    pub quantifier: Quantifier,
    /// What is tested.
    pub subject: Subject,
    /// The test.
    pub op: Op,
    /// The whole test, quantifier included.
    pub span: Span,
}

/// What is tested, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// What is tested.
    pub kind: SubjectKind,
    /// Where.
    pub span: Span,
}

/// What is tested.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectKind {
    /// An argument, through a view.
    Arg(Path, View),
    /// `args.x.count`
    Count(Path),
    /// `provenance(args.x)`
    Provenance(Path),
    /// `carries_untrusted(args.x)`; goes with [`OpKind::Holds`] only.
    Carries(Path),
    /// `carries_private(args.x)`; goes with [`OpKind::Holds`] only.
    CarriesPrivate(Path),
    /// `luhn(args.x)`, `iban(args.x)`; go with [`OpKind::Holds`] only.
    Checked(Check, Path),
    /// `calls(this)`
    Calls,
    /// `effect`; goes with `in`, `not in`, `==` and `!=`.
    Effect,
    /// `read_untrusted`, `read_private`, `user_named_effect`; go with [`OpKind::Holds`] only.
    Fact(Fact),
}

impl SubjectKind {
    /// Whether it is a test by itself.
    #[must_use]
    pub const fn holds_alone(&self) -> bool {
        matches!(
            self,
            Self::Carries(_) | Self::CarriesPrivate(_) | Self::Checked(..) | Self::Fact(_)
        )
    }
}

/// A fact of the conversation so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// `read_untrusted`
    ReadUntrusted,
    /// `read_private`
    ReadPrivate,
    /// `user_named_effect`
    UserNamedEffect,
}

impl Fact {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::ReadUntrusted,
        Self::ReadPrivate,
        Self::UserNamedEffect,
    ];

    /// The name as conditions write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadUntrusted => "read_untrusted",
            Self::ReadPrivate => "read_private",
            Self::UserNamedEffect => "user_named_effect",
        }
    }
}

/// An operator with its operand, and where they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The operator.
    pub kind: OpKind,
    /// Where.
    pub span: Span,
}

/// An operator with its operand.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// `== value`, `< value per 1h`
    Compare {
        /// Which comparison.
        comparison: Comparison,
        /// The right-hand side.
        value: Value,
        /// The window after `per`, in milliseconds.
        per: Option<(u64, Span)>,
    },
    /// `in [...]`, `not in @list`
    In {
        /// `not in`.
        negated: bool,
        /// The items, in order.
        items: Vec<Value>,
    },
    /// `contains "x"`, `starts_with "x"`
    Part(Part, Value),
    /// `matches /re/flags`
    Matches(Regex),
    /// `within ["./out"]`
    Within(Vec<Value>),
    /// `exists`
    Exists,
    /// `is string`
    Is(TypeName),
    /// No operator: the subject is a test by itself.
    Holds,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// A literal or a list's name, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The value.
    pub kind: ValueKind,
    /// Where, quotes included.
    pub span: Span,
}

/// A literal or a list's name.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueKind {
    /// A quoted string, unescaped.
    Text(String),
    /// A bare word, which stands for the string.
    Word(String),
    /// A number, as a JSON number's text.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
    /// `null`
    Null,
    /// `@name`
    List(String),
}

/// `/re/flags`
#[derive(Clone, Debug, PartialEq)]
pub struct Regex {
    /// Between the slashes, as written; Rust's syntax knows `\/`.
    pub pattern: String,
    /// After the closing slash.
    pub flags: String,
    /// The whole literal.
    pub span: Span,
}
