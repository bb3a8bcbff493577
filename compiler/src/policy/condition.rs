//! Conditions of rules, resolved: lists are inlined, regexes are translated to
//! Rust syntax, every test has a position. `!=`, `notRegex`, `not in` are
//! [`Cond::Not`] around the positive test.

use super::{Part, Pos};
use bouncer_plan::Effects;
pub use bouncer_plan::SqlDialect;
pub use bouncer_reader::address::{Network, NetworkError, NetworkName};
pub use bouncer_reader::checked::Check;

/// A boolean formula over tests.
#[derive(Clone, Debug, PartialEq)]
pub enum Cond {
    /// Holds if all parts hold; the empty list always holds.
    All(Vec<Cond>),
    /// Holds if any part holds; the empty list never holds.
    Any(Vec<Cond>),
    /// Holds if the part does not.
    Not(Box<Cond>),
    /// A single test.
    Test(Test),
}

/// One test of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// How several leaves at the subject's path are combined.
    pub quantifier: Quantifier,
    /// What is tested.
    pub subject: Subject,
    /// The test.
    pub op: Op,
    /// Where the test was written.
    pub at: Pos,
}

/// How a test treats a path with several leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// The call is judged once for every leaf and the strictest verdict wins; all
    /// unquantified tests of one path see the same leaf.
    Pick,
    /// `any`: holds if some leaf satisfies the test; not on an empty path.
    Any,
    /// `all`: holds if every leaf does, and there is one.
    All,
}

/// What a test looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The leaves of an argument, through a view.
    Arg(Path, View),
    /// `args.x.count`: how many leaves the path has. Only [`Op::Compare`] and
    /// [`Op::Equals`] with a number apply.
    Count(Path),
    /// `provenance(args.x)`, `carries_untrusted(args.x)` and `carries_private(args.x)`: only
    /// [`Op::Provenance`], [`Op::CarriesUntrusted`] and [`Op::CarriesPrivate`] apply.
    Provenance(Path),
    /// `calls(this) > n per 1h`: attempts of this tool in this conversation within
    /// the last `window_ms` milliseconds (`None`: ever), this one included. Only
    /// [`Op::Compare`] and [`Op::Equals`] with a number apply.
    Calls {
        /// The window, in milliseconds.
        window_ms: Option<u64>,
    },
    /// What the call does, and what was read before it: only [`Op::Session`] applies.
    Session,
}

impl Subject {
    /// Whether it is a fact of the whole call, which has no leaves to pick from.
    #[must_use]
    pub const fn is_of_the_call(&self) -> bool {
        match self {
            Self::Count(_) | Self::Calls { .. } | Self::Session => true,
            Self::Arg(..) | Self::Provenance(_) => false,
        }
    }
}

/// How a leaf's text is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// The leaf itself.
    Value,
    /// `host(x)`: the host of a URL or address, ASCII, lower case, no trailing dot.
    Host,
    /// `domain(x)`: the part after `@` of an address, else the host; as [`View::Host`].
    Domain,
    /// `scheme(x)`: the scheme of a URL, in lower case.
    Scheme,
    /// `length(x)`: how many characters (Unicode's code points) the text has. Only
    /// [`Op::Compare`] and [`Op::Equals`] with a number apply.
    Length,
    /// `keys(x)`: the names of the members of the object there, and of all objects in it.
    Name,
    /// `sql(x).verb`: lower-case verbs of all statements in the query, nested ones
    /// included. Several values: a restrictive test holds if any value satisfies it,
    /// a permissive one only if all do.
    SqlVerb(SqlDialect),
    /// `sql(x).table`: tables that the query names, as [`View::SqlVerb`].
    SqlTable(SqlDialect),
    /// `sql(x).function`: functions that the query calls, as [`View::SqlVerb`].
    SqlFunction(SqlDialect),
}

/// An argument path, without the leading `args`. An empty path is the whole object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Path(pub Vec<Segment>);

/// One step of a path. Arrays are transparent: a key step on an array applies to
/// each of its elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// A member of an object. On an array, a key that is a canonical decimal number
    /// also picks that element, as [`Segment::Index`] does.
    Key(String),
    /// An element of an array, from 0.
    Index(u32),
    /// `[*]`: each element of an array.
    Each,
}

/// What is asked of the subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Typed equality; numbers by value.
    Equals(Scalar),
    /// Equal to one of the items, or matched by an item that is a pattern.
    In(Vec<ListItem>),
    /// The text holds this there.
    Part(Part, String),
    /// The regex finds a match in the text.
    Matches(Pattern),
    /// The path lies within one of these prefixes.
    Within(Vec<String>),
    /// Numeric comparison with a JSON number's text.
    Compare(Compare, String),
    /// There is a leaf.
    Exists,
    /// The leaf has this type.
    Type(TypeName),
    /// The text is a number with this check digit.
    Checked(Check),
    /// The leaf's provenance is one of these.
    Provenance(Vec<Provenance>),
    /// A destination-shaped token inside the leaf's text is `untrusted` or `observed`.
    CarriesUntrusted,
    /// A private value that was read stands inside the leaf's text.
    CarriesPrivate,
    /// A fact of the session, asked of [`Subject::Session`].
    Session(SessionTest),
}

/// What is asked of the call as a whole, and of what went before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionTest {
    /// `effect in […]`: the call has one of these effects. What it does may not be known.
    Effect(Effects),
    /// `read_untrusted`: something untrusted or observed was read before.
    ReadUntrusted,
    /// `read_private`: something private was read before.
    ReadPrivate,
    /// `user_named_effect`: the user's words name what the call does. They, or their
    /// language, may not be known.
    UserNamedEffect,
}

/// Where a value comes from, as conditions ask for it. Of several that are true the first
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// A trusted output vouches for it.
    Trusted,
    /// The user typed it.
    User,
    /// An outsider may have written it.
    Untrusted,
    /// An outsider could influence it.
    Observed,
    /// Nobody knows.
    Unproven,
}

/// A numeric comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// A JSON scalar. Numbers keep their text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// A string.
    Str(String),
    /// A number, as a JSON number's text.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// An item of `in`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListItem {
    /// Equal by value, as [`Op::Equals`].
    Scalar(Scalar),
    /// `*@corp.com`: any address at exactly this domain; under [`View::Domain`] and
    /// [`View::Host`], the domain itself. The domain is ASCII lower case; compared
    /// without ASCII case.
    AtDomain(String),
    /// `*.corp.com`: any host below this domain, at any depth, not the domain itself.
    Below(String),
    /// `10.0.0.0/8`, `loopback`: hosts, under [`View::Host`] and [`View::Domain`] only.
    Network(Network),
}

/// A regular expression in Rust `regex` syntax.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Translated to Rust syntax, flags included. Searched unanchored.
    pub regex: String,
    /// As the author wrote it, for messages.
    pub written: String,
}

/// A JSON type name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeName {
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`: a number that is written without a point and an exponent, surely; one
    /// whose value is whole, perhaps.
    Integer,
    /// `bool`
    Bool,
    /// `null`
    Null,
}
