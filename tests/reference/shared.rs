//! The value functions that the evaluator shares with the runtime: they are tested
//! where they live, and a second copy would only repeat their tables.

use super::json::Json;
use bouncer_compiler::policy::{Check, Network, Outputs, Segment, SqlDialect, TextForm};
use bouncer_engine::effects::{classify, of_choice, schema_arguments};
use bouncer_engine::provenance::{
    Echo, FieldRule, LabelStep, OutputLabels, Provenance, Read, Scratch, Source,
};
use bouncer_engine::tools::{LabelHeuristics, ToolDefinition};
use bouncer_plan::{Effects, Label};
use bouncer_reader::address;
use bouncer_reader::path;
use bouncer_reader::sql;
use bouncer_reader::text;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The host of a URL or address.
pub fn host(text: &str) -> Option<String> {
    let mut host = String::new();
    address::host(text, &mut host).is_ok().then_some(host)
}

/// The host of a URL or of `host:port`, and the same with its port.
pub fn origins(text: &str) -> Vec<String> {
    let mut host = String::new();
    let Ok(port) = address::origin(text, &mut host) else {
        return Vec::new();
    };
    if !address::names_host(&host) {
        return Vec::new();
    }
    let with_port = port.map(|port| format!("{host}:{port}"));
    std::iter::once(host).chain(with_port).collect()
}

/// The IPv4 host that another spelling of a host stands for.
pub fn host_in_ipv4(host: &str) -> Option<String> {
    let mut other = String::new();
    address::host_in_ipv4(host, &mut other).then_some(other)
}

/// The scheme of a URL, and the schemes within it.
pub fn schemes(text: &str) -> Option<Vec<String>> {
    let (mut scheme, mut inner) = (String::new(), Vec::new());
    let mut add = |other: &str| inner.push(other.to_lowercase());
    address::scheme(text, &mut scheme, &mut add).ok()?;
    inner.insert(0, scheme);
    Some(inner)
}

/// Whether a host lies in a network for sure.
pub fn lies_inside(network: &Network, host: &str) -> bool {
    network.holds(host) == address::Lies::Inside
}

/// Whether a host may lie in a network.
pub fn may_lie_inside(network: &Network, host: &str) -> bool {
    network.holds(host) != address::Lies::Outside
}

/// Whether a text is a number with this check digit.
pub fn is_number(check: Check, text: &str) -> bool {
    check.is(text)
}

/// Whether such a number stands in a text.
pub fn holds_number(check: Check, text: &str) -> bool {
    check.is_in(text)
}

/// The part after `@` of an address, else the host.
pub fn domain(text: &str) -> Option<String> {
    let mut domain = String::new();
    address::domain(text, &mut domain).is_ok().then_some(domain)
}

/// The destinations that one leaf names.
pub fn destinations(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let _: ControlFlow<()> = address::destinations(text, &mut |destination| {
        all.push(destination.to_owned());
        ControlFlow::Continue(())
    });
    all
}

/// Whether the whole text is one address.
pub fn is_address(text: &str) -> bool {
    address::is_address(text)
}

/// Whether the whole text looks like an address or a URL.
pub fn is_destination_shaped(text: &str) -> bool {
    address::is_destination_shaped(text)
}

/// Whether the text is a date or a time.
pub fn is_date(text: &str) -> bool {
    bouncer_engine::provenance::is_date(text)
}

/// Whether the text is an address that means the same everywhere.
pub fn is_anywhere(text: &str) -> bool {
    bouncer_engine::provenance::is_address_anywhere(text)
}

/// What a call is guessed to do, by its tool's name and schema, or by its own arguments where
/// there is no schema.
pub fn effects(
    prefix: &str,
    tool: &str,
    schema: Option<&serde_json::Value>,
    arguments: &Json,
) -> Effects {
    let texts: Vec<(&str, Option<&str>)> = match arguments {
        Json::Object(members) => members
            .iter()
            .map(|(name, value)| match value {
                Json::Str(text) => (name.as_str(), Some(text.as_str())),
                _ => (name.as_str(), None),
            })
            .collect(),
        _ => Vec::new(),
    };
    let Some(schema) = schema else {
        return classify("", tool, texts.into_iter()).effects;
    };
    let guess = classify(prefix, tool, schema_arguments(schema));
    let Some(choice) = guess.choice else {
        return guess.effects;
    };
    let value = texts.iter().find(|(name, _)| *name == choice);
    match value.and_then(|(_, value)| *value) {
        Some(value) if !of_choice(prefix, tool, value).is_empty() => {
            guess.always.union(of_choice(prefix, tool, value))
        }
        _ => guess.effects,
    }
}

/// What the names of all tools begin with.
pub fn common_prefix(tools: &[ToolDefinition]) -> String {
    let names = tools.iter().map(|tool| tool.name.as_str());
    bouncer_engine::effects::common_prefix(names).to_owned()
}

/// Whether a text that is no destination as a whole, in an argument of this name, is
/// searched for destinations.
pub fn may_name_recipients(name: &str, text: &str) -> bool {
    address::may_name_recipients(address::argument_role(name), text)
}

/// The destination-shaped tokens of a folded text.
pub fn tokens(folded: &str) -> Vec<String> {
    let mut all = Vec::new();
    address::tokens(folded, &mut |token: address::Token<'_>| {
        all.push(token.text.to_owned())
    });
    all
}

/// What the text looks like: confusable characters replaced by what they resemble.
pub fn skeleton(canonical: &str) -> String {
    let mut skeleton = String::new();
    text::skeleton(canonical, &mut skeleton);
    skeleton
}

const fn dialect(dialect: SqlDialect) -> Option<sql::Dialect> {
    sql::Dialect::from_byte(match dialect {
        SqlDialect::Generic => 0,
        SqlDialect::Postgres => 1,
        SqlDialect::Sqlite => 2,
        SqlDialect::Mysql => 3,
    })
}

/// Verbs of a query; `None` if it does not parse.
pub fn sql_verbs(text: &str, sql_dialect: SqlDialect) -> Option<Vec<String>> {
    let mut verbs = Vec::new();
    let mut add = |verb: &str| verbs.push(verb.to_owned());
    sql::verbs(text, dialect(sql_dialect)?, &mut add).ok()?;
    Some(verbs)
}

/// Tables of a query; `None` if it does not parse.
pub fn sql_tables(text: &str, sql_dialect: SqlDialect) -> Option<Vec<String>> {
    let mut tables = Vec::new();
    let mut add = |table: &str| tables.push(table.to_owned());
    sql::tables(text, dialect(sql_dialect)?, &mut add).ok()?;
    Some(tables)
}

/// Whether a server may take a text, in an argument of this name, for a relative path.
pub fn may_be_relative(text: &str, name: &str) -> bool {
    path::may_be_relative(text, name)
}

/// Functions of a query; `None` if it does not parse.
pub fn sql_functions(text: &str, sql_dialect: SqlDialect) -> Option<Vec<String>> {
    let mut functions = Vec::new();
    let mut add = |function: &str| functions.push(function.to_owned());
    sql::functions(text, dialect(sql_dialect)?, &mut add).ok()?;
    Some(functions)
}

/// As the path prefix, with symbolic links resolved.
pub fn within_resolved(value: &str, prefix: &str) -> bool {
    let base = (!prefix.starts_with('/')).then_some(std::path::Path::new("."));
    path::within_resolved(value, &[prefix], base, &mut path::Looks::of_a_call())
}

/// What a conversation has read. The store looks through many disguises; that it finds
/// at least what plain comparison finds is tested by [`super::provenance`].
pub struct Seen(Provenance);

impl Default for Seen {
    fn default() -> Self {
        Self(Provenance::new(Provenance::DEFAULT_LIMIT))
    }
}

impl Seen {
    /// Records a result with the labels of its contract, or, without a contract's
    /// labels, with what the names of fields suggest.
    pub fn record(
        &mut self,
        result: &serde_json::Value,
        outputs: Option<&Outputs>,
        by_name: Option<&LabelHeuristics>,
    ) -> Read {
        self.record_answer(result, outputs, by_name, &Echo::default())
    }

    /// The same, where what calls of the tool carried vouches for nothing.
    pub fn record_answer(
        &mut self,
        result: &serde_json::Value,
        outputs: Option<&Outputs>,
        by_name: Option<&LabelHeuristics>,
        echo: &Echo,
    ) -> Read {
        let labels = match outputs {
            Some(outputs) => OutputLabels {
                default: outputs.label,
                private: outputs.private,
                prose: outputs.text == Some(TextForm::Prose),
                fields: outputs
                    .fields
                    .iter()
                    .map(|field| FieldRule {
                        path: field.path.0.iter().filter_map(step).collect(),
                        label: field.label,
                        private: field.private,
                    })
                    .collect(),
                by_name: None,
            },
            None => OutputLabels {
                default: Label::Untrusted,
                private: false,
                fields: Vec::new(),
                prose: false,
                by_name: by_name.cloned().map(Arc::new),
            },
        };
        let source = Source {
            server: None,
            tool: "",
            call: 0,
        };
        self.0.record_answer(&source, &labels, result, echo)
    }

    /// Records what the user typed. Returns what of it counts.
    pub fn record_typed(&mut self, message: &str) -> Option<String> {
        self.0.record_typed(message)
    }

    /// Whether the user typed a value.
    pub fn is_typed(&self, value: &str) -> bool {
        self.0.is_typed(value, &mut Scratch::default())
    }

    /// Whether the user typed a host.
    pub fn is_host_typed(&self, host: &str) -> bool {
        self.0.typed().holds_host(host)
    }

    /// Whether a private value stands inside a text.
    pub fn carries_private(&self, text: &str) -> bool {
        let found = self.0.private_in(text, &mut Scratch::default());
        !matches!(found, Ok(None))
    }

    /// Where the value comes from; `None` is unproven.
    pub fn classify(&self, value: &str) -> Option<Label> {
        let mut scratch = Scratch::default();
        let evidence = self.0.evidence(value, &mut scratch);
        if evidence.trusted.is_some() {
            Some(Label::Trusted)
        } else if evidence.untrusted.is_some() {
            Some(Label::Untrusted)
        } else if evidence.observed.is_some() {
            Some(Label::Observed)
        } else {
            None
        }
    }
}

fn step(segment: &Segment) -> Option<LabelStep> {
    match segment {
        Segment::Key(key) => Some(LabelStep::Key(key.clone())),
        Segment::Index(index) => Some(LabelStep::Index(*index)),
        Segment::Each => None,
    }
}
