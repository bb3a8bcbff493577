//! The value functions that the evaluator shares with the runtime: they are tested
//! where they live, and a second copy would only repeat their tables.

use bouncer_compiler::policy::{Outputs, Segment, SqlDialect};
use bouncer_engine::provenance::{
    Echo, FieldRule, LabelStep, OutputLabels, Provenance, Scratch, Source,
};
use bouncer_engine::tools::LabelHeuristics;
use bouncer_plan::Label;
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

/// The IPv4 host that another spelling of a host stands for.
pub fn host_in_ipv4(host: &str) -> Option<String> {
    let mut other = String::new();
    address::host_in_ipv4(host, &mut other).then_some(other)
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

/// As the path prefix, with symbolic links resolved.
pub fn within_resolved(value: &str, prefix: &str) -> bool {
    let base = (!prefix.starts_with('/')).then_some(std::path::Path::new("."));
    path::within_resolved(value, &[prefix], base)
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
    ) {
        self.record_answer(result, outputs, by_name, &Echo::default());
    }

    /// The same, where what calls of the tool carried vouches for nothing.
    pub fn record_answer(
        &mut self,
        result: &serde_json::Value,
        outputs: Option<&Outputs>,
        by_name: Option<&LabelHeuristics>,
        echo: &Echo,
    ) {
        let labels = match outputs {
            Some(outputs) => OutputLabels {
                default: outputs.label,
                fields: outputs
                    .fields
                    .iter()
                    .map(|field| FieldRule {
                        path: field.path.0.iter().filter_map(step).collect(),
                        label: field.label,
                    })
                    .collect(),
                by_name: None,
            },
            None => OutputLabels {
                default: Label::Untrusted,
                fields: Vec::new(),
                by_name: by_name.cloned().map(Arc::new),
            },
        };
        let source = Source {
            server: None,
            tool: "",
            call: 0,
        };
        self.0.record_answer(&source, &labels, result, echo);
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
