//! Typed access to [`Node`]s. Every getter reports what was expected, what was
//! found and how to fix it, and returns `None` then, so that a reader can go on and
//! report all mistakes of a file in one pass.

use super::dialect::Dialect;
use super::node::{Meaning, Node, Value};
use super::suggest::nearest;
use crate::diagnostic::{Code, Diagnostic, Severity, Sink, SourceMap, Span, quote};
use crate::policy::{Pos, Scalar};

/// What reading one file needs at hand.
pub(crate) struct Cx<'a> {
    /// The files.
    pub sources: &'a SourceMap,
    /// Where mistakes go.
    pub sink: &'a mut Sink,
    /// How the file is read.
    pub dialect: Dialect,
    /// Why it is read so, for messages at the top level.
    pub because: String,
    /// The file is a pack: what it leaves out may be for the user to add.
    pub built_in: bool,
}

/// Where a mapping stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// It is the file.
    Top,
    /// Somewhere in the file.
    Inner,
}

/// A mapping whose keys are known words, each at most once.
pub(crate) struct Fields<'n> {
    entries: Vec<(&'n str, Span, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// The value of `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.find(key).map(|(_, node)| node)
    }

    /// The place of the key itself, and its value.
    pub(crate) fn find(&self, key: &str) -> Option<(Span, &'n Node)> {
        self.entries
            .iter()
            .find(|(name, ..)| *name == key)
            .map(|&(_, span, node)| (span, node))
    }
}

impl Cx<'_> {
    /// Reports a mistake.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.sink.push(diagnostic);
    }

    /// Line and column of a stretch.
    pub(crate) fn pos(&self, span: Span) -> Pos {
        self.sources.pos(span)
    }

    /// Reports that `node` is not `expected`.
    pub(crate) fn wrong(&mut self, node: &Node, what: &str, expected: &str, help: &str) {
        let message = format!("{what} must be {expected}, but this is {}", node.describe());
        self.report(
            Diagnostic::new(Code::WRONG_TYPE, node.span, message)
                .here(format!("expected {expected}"))
                .help(help),
        );
    }

    /// A text. Numbers, bools and null are mistakes; the help says to quote them.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let Value::Scalar(scalar) = &node.value else {
            self.wrong(node, what, "a text", "write one text here");
            return None;
        };
        if self.dialect == Dialect::Contracts {
            self.unambiguous(node, what)?;
        }
        match scalar.meaning() {
            Meaning::Text(text) => Some(text),
            Meaning::Null => {
                self.wrong(node, what, "a text", "write a text, or remove the key");
                None
            }
            _ => {
                let quoted = format!("\"{}\"", scalar.text);
                let message = format!("{what} must be a text, but this is {}", node.describe());
                self.report(
                    Diagnostic::new(Code::WRONG_TYPE, node.span, message)
                        .here("expected a text")
                        .help("if you mean the text, quote it")
                        .suggest(node.span, quoted),
                );
                None
            }
        }
    }

    /// A text in a list of names or values: as [`Cx::text`], and a plain whole number
    /// is the text it is written as.
    pub(crate) fn item<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        if let Value::Scalar(scalar) = &node.value
            && let Meaning::Number(number) = scalar.meaning()
            && number == scalar.text.as_str()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            return Some(&scalar.text);
        }
        self.text(node, what)
    }

    /// A text that says something.
    pub(crate) fn some_text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let text = self.text(node, what)?;
        self.not_empty(node, what, text)
    }

    /// Reports an empty text.
    pub(crate) fn not_empty<'n>(
        &mut self,
        node: &Node,
        what: &str,
        text: &'n str,
    ) -> Option<&'n str> {
        if text.is_empty() {
            let message = format!("{what} is empty");
            self.report(
                Diagnostic::new(Code::EMPTY_TEXT, node.span, message)
                    .help("write a text, or remove the entry"),
            );
            return None;
        }
        Some(text)
    }

    /// Reports a plain scalar that YAML 1.1 and 1.2 read differently.
    pub(crate) fn unambiguous(&mut self, node: &Node, what: &str) -> Option<()> {
        let Value::Scalar(scalar) = &node.value else {
            return Some(());
        };
        let Some(other) = scalar.differs_in_yaml_1_1() else {
            return Some(());
        };
        let message = format!(
            "{what} is {}, which YAML 1.1 reads as {other}",
            quote(&scalar.text)
        );
        self.report(
            Diagnostic::new(Code::AMBIGUOUS_PLAIN, node.span, message)
                .help("quote it if you mean the text")
                .suggest(node.span, format!("\"{}\"", scalar.text)),
        );
        None
    }

    /// Warns about a plain value that YAML 1.1 and 1.2 read differently, and says how.
    pub(crate) fn two_readings(&mut self, node: &Node, what: &str) {
        let Value::Scalar(scalar) = &node.value else {
            return;
        };
        let Some(other) = scalar.in_yaml_1_1() else {
            return;
        };
        let message = format!("{what} is {} here, YAML 1.1 reads {other}", node.describe());
        let mut diagnostic = Diagnostic::new(Code::AMBIGUOUS_PLAIN, node.span, message)
            .help("quote it if you mean the text; else write it so that all read the same");
        diagnostic.severity = Severity::Warning;
        self.report(diagnostic);
    }

    /// `true` or `false`.
    pub(crate) fn bool(&mut self, node: &Node, what: &str) -> Option<bool> {
        let Value::Scalar(scalar) = &node.value else {
            self.wrong(node, what, "`true` or `false`", "write `true` or `false`");
            return None;
        };
        if let Meaning::Bool(value) = scalar.meaning() {
            return Some(value);
        }
        let meant = match scalar.text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" | "y" | "1" => Some("true"),
            "no" | "off" | "false" | "n" | "0" => Some("false"),
            _ => None,
        };
        let message = format!(
            "{what} must be `true` or `false`, but this is {}",
            node.describe()
        );
        let mut diagnostic = Diagnostic::new(Code::WRONG_TYPE, node.span, message)
            .here("expected `true` or `false`")
            .help("write `true` or `false`, without quotes");
        if let Some(meant) = meant {
            diagnostic = diagnostic.suggest(node.span, meant);
        }
        self.report(diagnostic);
        None
    }

    /// A whole number between `least` and `most`, without leading zeros.
    pub(crate) fn count(&mut self, node: &Node, what: &str, least: u64, most: u64) -> Option<u64> {
        let expected = match most {
            u64::MAX => format!("a whole number from {least}"),
            _ => format!("a whole number from {least} to {most}"),
        };
        let Value::Scalar(scalar) = &node.value else {
            self.wrong(node, what, &expected, "write a whole number");
            return None;
        };
        let number = match scalar.meaning() {
            Meaning::Number(number) => number,
            Meaning::NotFinite => scalar.text.as_str().into(),
            _ => {
                let message = format!("{what} must be {expected}, but this is {}", node.describe());
                let mut diagnostic = Diagnostic::new(Code::WRONG_TYPE, node.span, message)
                    .here(format!("expected {expected}"))
                    .help("write a whole decimal number, without quotes");
                if let Ok(value) = scalar.text.replace('_', "").parse::<u64>() {
                    diagnostic = diagnostic.suggest(node.span, value.to_string());
                }
                self.report(diagnostic);
                return None;
            }
        };
        let fits = number
            .parse::<u64>()
            .ok()
            .filter(|value| (least..=most).contains(value))
            .filter(|_| scalar.differs_in_yaml_1_1().is_none());
        if fits.is_none() {
            let message = format!("{what} must be {expected}, but this is {}", node.describe());
            let help = if scalar.differs_in_yaml_1_1().is_some() {
                "YAML versions read this number differently: write it without leading zeros"
            } else if number.starts_with('-') {
                "a negative number of calls means nothing; 0 forbids every call"
            } else {
                "write a whole decimal number"
            };
            self.report(Diagnostic::new(Code::NUMBER, node.span, message).help(help));
        }
        fits
    }

    /// The items of a list.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.value {
            Value::List(items) => Some(items),
            Value::Scalar(scalar) if scalar.meaning() != Meaning::Null => {
                let written = self.sources.text(node.span).to_owned();
                let message = format!("{what} must be a list, but this is {}", node.describe());
                let mut diagnostic = Diagnostic::new(Code::WRONG_TYPE, node.span, message)
                    .here("expected a list")
                    .help("put it in brackets: a list of one is still a list");
                if written.len() < 100 && !written.contains('\n') {
                    diagnostic = diagnostic.suggest(node.span, format!("[{written}]"));
                }
                self.report(diagnostic);
                None
            }
            _ => {
                let help = "write a list, e.g. `[a, b]`; an empty list is `[]`";
                self.wrong(node, what, "a list", help);
                None
            }
        }
    }

    /// The entries of a mapping, with text keys: key, its place, value. Reports keys
    /// that are not text and goes on with the others.
    pub(crate) fn entries<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        help: &str,
    ) -> Option<Vec<(&'n str, Span, &'n Node)>> {
        let Value::Map(entries) = &node.value else {
            self.wrong(node, what, "a mapping", help);
            return None;
        };
        let mut out = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            if let Some(name) = self.key(key, what) {
                out.push((name, key.span, value));
            }
        }
        Some(out)
    }

    /// The name that a key is.
    fn key<'n>(&mut self, key: &'n Node, what: &str) -> Option<&'n str> {
        let scalar = match &key.value {
            Value::Scalar(scalar) => scalar,
            _ => {
                let message = format!("a key in {what} is {}, not a text", key.describe());
                self.report(
                    Diagnostic::new(Code::KEY_NOT_TEXT, key.span, message)
                        .help("write a name, then `:`, then the value"),
                );
                return None;
            }
        };
        if !scalar.quoted && scalar.text == "<<" {
            self.report(
                Diagnostic::new(
                    Code::MERGE_KEY,
                    key.span,
                    "the merge key `<<` is not supported here",
                )
                .help("write the keys out"),
            );
            return None;
        }
        let surprise = self.dialect == Dialect::Contracts
            && (scalar.differs_in_yaml_1_1().is_some() || !scalar.quoted && is_date(&scalar.text));
        match scalar.meaning() {
            Meaning::Text(text) if !surprise => Some(text),
            _ => {
                let found = if surprise {
                    format!(
                        "{}, which YAML 1.1 does not read as text",
                        quote(&scalar.text)
                    )
                } else {
                    key.describe()
                };
                let message = format!("a key in {what} is {found}");
                self.report(
                    Diagnostic::new(Code::KEY_NOT_TEXT, key.span, message)
                        .help("quote it if you mean the name")
                        .suggest(key.span, format!("\"{}\"", scalar.text)),
                );
                None
            }
        }
    }

    /// How the file is read, and why.
    pub(crate) fn assumed(&self) -> String {
        format!(
            "this file is read as {} {}",
            self.dialect.name(),
            self.because
        )
    }

    /// The whole file as a mapping with known keys. Messages say how the file is read.
    pub(crate) fn top<'n>(&mut self, root: &'n Node, known: &[&str]) -> Option<Fields<'n>> {
        let what = self.dialect.this();
        self.known(root, what, known, Level::Top)
    }

    /// A mapping with known keys; unknown ones are reported.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        self.known(node, what, known, Level::Inner)
    }

    fn known<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&str],
        level: Level,
    ) -> Option<Fields<'n>> {
        let help = format!("write a mapping with the keys {}", words(known));
        let entries = self.entries(node, what, &help)?;
        // Suggest only keys that are not there yet.
        let present: Vec<&str> = known
            .iter()
            .copied()
            .filter(|k| entries.iter().any(|(name, ..)| name == k))
            .collect();
        for (name, span, value) in &entries {
            if known.contains(name) {
                continue;
            }
            if level == Level::Top && super::dialect::is_contract(value) {
                self.stray_contract(name, *span);
            } else {
                self.unknown_key(name, *span, what, (known, &present), level);
            }
        }
        Some(Fields { entries })
    }

    /// Reports a contract at the top of a file that is not one of contracts.
    fn stray_contract(&mut self, name: &str, span: Span) {
        let message = format!("the contract of {} cannot stand here", quote(name));
        let native = "contracts and rules together make a native policy: write `version: 1`, and the contracts below `tools:`";
        let help = format!("{native} ({})", self.assumed());
        self.report(Diagnostic::new(Code::UNKNOWN_KEY, span, message).help(help));
    }

    /// Reports an unknown key; suggests a known one that is not there yet.
    fn unknown_key(
        &mut self,
        name: &str,
        span: Span,
        what: &str,
        (known, present): (&[&str], &[&str]),
        level: Level,
    ) {
        if self.sink.is_full() {
            self.report(Diagnostic::new(Code::UNKNOWN_KEY, span, String::new()));
            return;
        }
        let free: Vec<&str> = known
            .iter()
            .copied()
            .filter(|k| !present.contains(k))
            .collect();
        let message = format!("unknown key {} in {what}", quote(name));
        let mut diagnostic = Diagnostic::new(Code::UNKNOWN_KEY, span, message);
        let top = (level == Level::Top).then(|| self.assumed());
        if let Some(help) = elsewhere(name, level) {
            return self.report(diagnostic.help(help));
        }
        diagnostic = match (nearest(name, &free), top) {
            (Some(meant), top) => {
                diagnostic.help = top;
                diagnostic
                    .here(format!("did you mean `{meant}`?"))
                    .suggest(span, meant)
            }
            (None, None) => diagnostic.help(format!("the keys here are {}", words(known))),
            (None, Some(top)) => {
                diagnostic.help(format!("the keys here are {} ({top})", words(known)))
            }
        };
        self.report(diagnostic);
    }

    /// Reports a missing key.
    pub(crate) fn missing(&mut self, span: Span, what: &str, key: &str, help: &str) {
        let message = format!("{what} has no `{key}`");
        self.report(Diagnostic::new(Code::MISSING_KEY, span, message).help(help));
    }

    /// One of the words.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        words_: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(node, what)?;
        if let Some((_, value)) = words_.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words_.iter().map(|(word, _)| *word).collect();
        let message = format!(
            "{what} must be {}, but this is {}",
            either(&known),
            quote(text)
        );
        let mut diagnostic = Diagnostic::new(Code::NOT_ONE_OF, node.span, message);
        diagnostic = match nearest(text, &known) {
            Some(meant) => diagnostic
                .here(format!("did you mean `{meant}`?"))
                .suggest(node.span, meant),
            None => diagnostic.help(format!("write {}", either(&known))),
        };
        self.report(diagnostic);
        None
    }

    /// A scalar by its YAML 1.2 meaning.
    pub(crate) fn scalar(&mut self, node: &Node, what: &str) -> Option<Scalar> {
        let Value::Scalar(scalar) = &node.value else {
            self.wrong(
                node,
                what,
                "a text, a number, a bool or null",
                "write one value",
            );
            return None;
        };
        self.two_readings(node, what);
        match scalar.meaning() {
            Meaning::Null => Some(Scalar::Null),
            Meaning::Bool(value) => Some(Scalar::Bool(value)),
            Meaning::Number(number) => Some(Scalar::Number(number.into_owned())),
            Meaning::Text(text) => Some(Scalar::Str(text.to_owned())),
            Meaning::NotFinite => {
                let message = format!("{what} is {}, which JSON does not have", node.describe());
                self.report(
                    Diagnostic::new(Code::NUMBER, node.span, message)
                        .help("quote it if you mean the text"),
                );
                None
            }
        }
    }

    /// Reports a name that holds characters which do not show, or white space at its
    /// ends.
    pub(crate) fn clean_name<'n>(
        &mut self,
        name: &'n str,
        span: Span,
        what: &str,
    ) -> Option<&'n str> {
        let hidden = name
            .chars()
            .any(|c| c.is_control() || crate::diagnostic::is_invisible(c));
        if name.is_empty() {
            self.report(
                Diagnostic::new(Code::EMPTY_TEXT, span, format!("{what} is empty"))
                    .help("write a name"),
            );
            return None;
        }
        if hidden || name.trim() != name {
            let found = if hidden {
                "holds characters that do not show"
            } else {
                "starts or ends with white space"
            };
            let message = format!("{what} {} {found}", quote(name));
            self.report(Diagnostic::new(Code::NAME, span, message).help("retype it without them"));
            return None;
        }
        Some(name)
    }
}

/// Whether YAML 1.1 reads a plain scalar as a date.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes.iter().take(4).all(u8::is_ascii_digit)
        && bytes.get(4) == Some(&b'-')
        && bytes.get(5).is_some_and(u8::is_ascii_digit)
}

/// `` `a`, `b` and `c` ``
pub(crate) fn words(list: &[&str]) -> String {
    joined(list, "and")
}

/// `` `a`, `b` or `c` ``
pub(crate) fn either(list: &[&str]) -> String {
    joined(list, "or")
}

fn joined(list: &[&str], last: &str) -> String {
    let mut out = String::new();
    for (index, word) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(if index + 1 == list.len() { " " } else { ", " });
            if index + 1 == list.len() {
                out.push_str(last);
                out.push(' ');
            }
        }
        out.push_str(&quote(word));
    }
    out
}

/// Where a key belongs that is known, but not there where it stands.
fn elsewhere(name: &str, level: Level) -> Option<&'static str> {
    if level != Level::Top {
        return None;
    }
    match name {
        "mcpServers" | "mcp_servers" | "mcp" => Some(
            "so clients name their servers, and `bouncer init` puts bouncer before these; a policy of a gateway has `servers`",
        ),
        "tool" => Some(
            "contracts stand below `tools`; the `tool` of a rule is indented below the `- ` of its rule",
        ),
        "action" | "match" | "when" | "reason" => {
            Some("this is a key of a rule: indent it below the `- ` of the rule that it belongs to")
        }
        "command" | "args" | "env" | "cwd" | "url" | "headers" => {
            Some("this is a key of a server: indent it below the server's name")
        }
        _ => None,
    }
}
