//! Writes rules, groups, dimensions and rows.

use super::pos;
use super::writer::{Writer, since};
use crate::build::LiteralSetBuilder;
use crate::lower::{
    CompileError, Dimension, DimensionKey, Group, Lowered, LoweredTest, Mode, class, pattern,
    patterns_of,
};
use crate::policy::{
    Check, Compare, ListItem, Op, Policy, Provenance, Quantifier, Scalar, SessionTest, TypeName,
};
use bouncer_plan::format::{
    self, JsonType, LiteralKind, Matcher, NONE, PROVENANCE_OBSERVED, PROVENANCE_TRUSTED,
    PROVENANCE_UNPROVEN, PROVENANCE_UNTRUSTED, PROVENANCE_USER, QUANT_BIT, Range, SimpleKind,
    SimpleTest, Str, ViewKind,
};
use bouncer_plan::literals::canonical_number;
use std::time::Duration;
use zerocopy::little_endian::{U32, U64};

/// Writes everything that the rule stage needs. Returns how long each group's automata
/// took to build, unless an earlier one has the same.
pub(super) fn write(
    writer: &mut Writer,
    policy: &Policy,
    lowered: &Lowered,
    errors: &mut Vec<CompileError>,
) -> Vec<Duration> {
    let empty = Str {
        start: U32::new(NONE),
        length: U32::new(0),
    };
    for rule in policy.rules.iter().flat_map(|set| &set.rules) {
        let tools: Vec<&str> = rule
            .tools
            .iter()
            .map(|glob| glob.pattern.as_str())
            .collect();
        let record = format::Rule {
            action: rule.action,
            at: pos(Some(rule.at)),
            reason: rule
                .reason
                .as_ref()
                .map_or(empty, |reason| writer.text(reason)),
            tools: writer.text(&tools.join(", ")),
        };
        writer.rules.push(record);
    }
    let groups = lowered.groups.iter();
    groups
        .map(|group| write_group(writer, policy, group, errors))
        .collect()
}

fn write_group(
    writer: &mut Writer,
    policy: &Policy,
    group: &Group,
    errors: &mut Vec<CompileError>,
) -> Duration {
    let (first_row, first_atom, first_quant) = (
        writer.rows.len() as u32,
        writer.atoms.len() as u32,
        writer.quants.len(),
    );
    for row in &group.rows {
        writer.rows.push(format::Row {
            rule: U32::new(row.rule),
            need: U32::new(row.need),
        });
    }
    for atom in &group.atoms {
        let requires = writer.list(atom.requires.iter().map(|row| row + first_row));
        let kills = writer.list(atom.kills.iter().map(|row| row + first_row));
        writer.atoms.push(format::Atom { requires, kills });
    }
    for quant in &group.quants {
        writer.quants.push(format::Quant {
            path: U32::new(quant.path),
            kind: quant.kind,
            atom: U32::new(quant.atom + first_atom),
        });
    }
    let free = group
        .rows
        .iter()
        .zip(first_row..)
        .filter(|(row, _)| row.need == 0)
        .map(|(_, index)| index);
    let free_rows = writer.list(free.collect::<Vec<u32>>());
    // Dimensions are written in one run, after what they point at.
    let mut dimensions = Vec::new();
    let mut took = Duration::ZERO;
    for (place, dimension) in &group.dimensions {
        let base = Base {
            atom: first_atom,
            quant: first_quant as u32,
        };
        let (written, its) =
            write_dimension(writer, policy, group, *place, dimension, base, errors);
        dimensions.push(written);
        took += its;
    }
    let first_dimension = writer.dimensions.len();
    writer.dimensions.extend(dimensions);
    let record = format::Group {
        pattern: writer.text(&group.pattern),
        kind: group.kind,
        dimensions: since(&writer.dimensions, first_dimension),
        quants: since(&writer.quants, first_quant),
        rows: since(&writer.rows, first_row as usize),
        free_rows,
        call_history: U32::new(group.call_history),
    };
    writer.groups.push(record);
    took
}

/// Where a group's atoms and quantifiers start in the plan.
#[derive(Clone, Copy)]
struct Base {
    atom: u32,
    quant: u32,
}

fn write_dimension(
    writer: &mut Writer,
    policy: &Policy,
    group: &Group,
    DimensionKey {
        path,
        view,
        dialect,
    }: DimensionKey,
    dimension: &Dimension,
    base: Base,
    errors: &mut Vec<CompileError>,
) -> (format::Dimension, Duration) {
    let first_test = writer.tests.len();
    for test in &dimension.tests {
        let atom = |mode: Mode| {
            let Some(&index) = test.atoms.get(&mode) else {
                return U32::new(NONE);
            };
            U32::new(if test.quantifier == Quantifier::Pick {
                index + base.atom
            } else {
                (index + base.quant) | QUANT_BIT
            })
        };
        writer.tests.push(format::Test {
            plain: atom(Mode::Plain),
            any: atom(Mode::Any),
            all: atom(Mode::All),
            maybe: atom(Mode::Maybe),
            class: class(&test.op, view),
        });
    }
    let numbered = || dimension.tests.iter().zip(first_test as u32..);
    let patterns = patterns_of(dimension);
    let owners: Vec<(u32, &LoweredTest)> = numbered()
        .map(|(test, index)| (index, test))
        .filter(|(_, test)| pattern(&test.op).is_some())
        .collect();
    let mut literals = LiteralSetBuilder::default();
    let first_simple = writer.simple_tests.len();
    for (test, index) in numbered() {
        match &test.op {
            // Built together, below.
            Op::Part(..) | Op::Matches(_) => {}
            Op::Equals(Scalar::Number(text))
                if view.is_of_the_call() || view == ViewKind::Length =>
            {
                push_simple(writer, SimpleKind::NumberEqual, 0, text, test, index);
            }
            Op::Equals(scalar) => {
                add_scalar(&mut literals, scalar, index);
                add_folded(&mut literals, scalar, view, index);
            }
            Op::In(items) => {
                for item in items {
                    add_item(&mut literals, item, view, index);
                }
                write_networks(writer, items, test, index);
            }
            op => write_simple(writer, op, test, index),
        }
    }
    let literals = writer.literal_set(&literals);
    let first_matcher = writer.matchers.len();
    let mut took = Duration::ZERO;
    match writer.automata.cover(&patterns) {
        Ok(cover) => {
            took = cover.took;
            for part in cover.automata {
                let tests = writer.list(
                    part.positions
                        .iter()
                        .filter_map(|at| owners.get(*at))
                        .map(|(test, _)| *test)
                        .collect::<Vec<u32>>(),
                );
                writer.matchers.push(Matcher {
                    automaton: U32::new(part.automaton),
                    tests,
                });
            }
        }
        Err(error) => {
            let pattern = owners.get(error.position).map(|(_, test)| &test.op);
            errors.push(pattern_error(policy, group, pattern, &error.message));
        }
    }
    let record = format::Dimension {
        path: U32::new(path),
        view,
        dialect,
        matchers: since(&writer.matchers, first_matcher),
        literals: U32::new(literals),
        simple: since(&writer.simple_tests, first_simple),
        tests: since(&writer.tests, first_test),
    };
    (record, took)
}

/// A pattern that does not build, at the rule that has it.
fn pattern_error(policy: &Policy, group: &Group, op: Option<&Op>, message: &str) -> CompileError {
    use crate::policy::Cond;
    fn find(condition: &Cond, op: &Op) -> Option<crate::policy::Pos> {
        match condition {
            Cond::All(parts) | Cond::Any(parts) => parts.iter().find_map(|part| find(part, op)),
            Cond::Not(part) => find(part, op),
            Cond::Test(test) => (test.op == *op).then_some(test.at),
        }
    }
    let written = match op {
        Some(Op::Matches(pattern)) => pattern.written.clone(),
        Some(Op::Part(_, text)) => text.clone(),
        _ => group.pattern.clone(),
    };
    let rules = policy.rules.iter().flat_map(|set| &set.rules);
    let at = op.and_then(|op| rules.into_iter().find_map(|rule| find(&rule.condition, op)));
    CompileError {
        message: format!("the pattern `{written}` cannot be compiled: {message}"),
        help: Some(
            "make the pattern simpler; large counted repeats are what costs most".to_owned(),
        ),
        at,
    }
}

fn add_scalar(literals: &mut LiteralSetBuilder, scalar: &Scalar, test: u32) {
    match scalar {
        Scalar::Str(text) => literals.add_value(LiteralKind::String, text, test),
        Scalar::Number(text) => {
            let mut number = String::new();
            // A number whose exponent does not fit equals nothing that can be read.
            if canonical_number(text, &mut number) {
                literals.add_value(LiteralKind::Number, number, test);
            }
        }
        Scalar::Bool(value) => literals.add_value(LiteralKind::Bool, value.to_string(), test),
        Scalar::Null => literals.add_value(LiteralKind::Null, "null", test),
    }
}

/// A name of a member counts in any case where a rule restricts.
fn add_folded(literals: &mut LiteralSetBuilder, scalar: &Scalar, view: ViewKind, test: u32) {
    if let (ViewKind::Name, Scalar::Str(text)) = (view, scalar) {
        let mut folded = String::new();
        bouncer_reader::text::fold(text, &mut folded);
        literals.add_value(LiteralKind::Folded, folded, test);
    }
}

/// The networks of a list of hosts, if it names some.
fn write_networks(writer: &mut Writer, items: &[ListItem], test: &LoweredTest, index: u32) {
    let networks: Vec<[u32; 5]> = items
        .iter()
        .filter_map(|item| match item {
            ListItem::Network(network) => Some(network.to_cells()),
            _ => None,
        })
        .collect();
    if networks.is_empty() {
        return;
    }
    let count = std::iter::once(networks.len() as u32);
    let list: Range = writer.list(
        count
            .chain(networks.into_iter().flatten())
            .collect::<Vec<u32>>(),
    );
    let start = list.start.get();
    push_simple(writer, SimpleKind::Network, start, "", test, index);
}

fn add_item(literals: &mut LiteralSetBuilder, item: &ListItem, view: ViewKind, test: u32) {
    match item {
        ListItem::Scalar(scalar) => {
            add_scalar(literals, scalar, test);
            add_folded(literals, scalar, view, test);
        }
        // Written by themselves.
        ListItem::Network(_) => {}
        // Seen as a domain, an address pattern is its domain.
        ListItem::AtDomain(domain) if matches!(view, ViewKind::Host | ViewKind::Domain) => {
            literals.add_value(LiteralKind::String, domain.to_ascii_lowercase(), test);
        }
        // The empty domain finds every pattern, for values that cannot be evaluated.
        ListItem::AtDomain(domain) => {
            literals.add_value(LiteralKind::AtDomain, domain.to_ascii_lowercase(), test);
            literals.add_value(LiteralKind::AtDomain, "", test);
        }
        ListItem::Below(domain) => {
            literals.add_value(LiteralKind::Below, domain.to_ascii_lowercase(), test);
            literals.add_value(LiteralKind::Below, "", test);
        }
    }
}

fn write_simple(writer: &mut Writer, op: &Op, test: &LoweredTest, index: u32) {
    match op {
        Op::Compare(compare, text) => {
            let kind = match compare {
                Compare::Less => SimpleKind::Less,
                Compare::LessEqual => SimpleKind::LessEqual,
                Compare::Greater => SimpleKind::Greater,
                Compare::GreaterEqual => SimpleKind::GreaterEqual,
            };
            push_simple(writer, kind, 0, text, test, index);
        }
        Op::Exists => push_simple(writer, SimpleKind::Exists, 0, "", test, index),
        Op::Type(TypeName::Integer) => push_simple(writer, SimpleKind::Integer, 0, "", test, index),
        Op::Checked(check) => {
            let kind = match check {
                Check::Luhn => SimpleKind::Luhn,
                Check::Iban => SimpleKind::Iban,
            };
            push_simple(writer, kind, 0, "", test, index);
        }
        Op::Type(name) => {
            let operand = match name {
                TypeName::String => JsonType::String,
                TypeName::Number | TypeName::Integer => JsonType::Number,
                TypeName::Bool => JsonType::Bool,
                TypeName::Null => JsonType::Null,
            };
            push_simple(writer, SimpleKind::Type, operand as u32, "", test, index);
        }
        Op::Within(prefixes) => {
            let mut items = vec![prefixes.len() as u32];
            for prefix in prefixes {
                let stored = writer.text(prefix);
                items.extend([stored.start.get(), stored.length.get()]);
            }
            let list: Range = writer.list(items);
            push_simple(
                writer,
                SimpleKind::Within,
                list.start.get(),
                "",
                test,
                index,
            );
        }
        Op::Provenance(labels) => {
            let bit = |from: &Provenance| match from {
                Provenance::Trusted => PROVENANCE_TRUSTED,
                Provenance::User => PROVENANCE_USER,
                Provenance::Observed => PROVENANCE_OBSERVED,
                Provenance::Untrusted => PROVENANCE_UNTRUSTED,
                Provenance::Unproven => PROVENANCE_UNPROVEN,
            };
            let operand = labels.iter().map(bit).fold(0, |set, bit| set | bit);
            push_simple(writer, SimpleKind::Provenance, operand, "", test, index);
        }
        Op::CarriesUntrusted => {
            push_simple(writer, SimpleKind::CarriesUntrusted, 0, "", test, index);
        }
        Op::CarriesPrivate => push_simple(writer, SimpleKind::CarriesPrivate, 0, "", test, index),
        Op::Session(asked) => {
            let (kind, operand) = match asked {
                SessionTest::Effect(effects) => (SimpleKind::Effect, u32::from(effects.bits())),
                SessionTest::ReadUntrusted => (SimpleKind::ReadUntrusted, 0),
                SessionTest::ReadPrivate => (SimpleKind::ReadPrivate, 0),
                SessionTest::UserNamedEffect => (SimpleKind::UserNamedEffect, 0),
            };
            push_simple(writer, kind, operand, "", test, index);
        }
        // Handled by the caller.
        Op::Equals(_) | Op::In(_) | Op::Part(..) | Op::Matches(_) => {}
    }
}

fn push_simple(
    writer: &mut Writer,
    kind: SimpleKind,
    operand: u32,
    text: &str,
    test: &LoweredTest,
    index: u32,
) {
    let record = SimpleTest {
        kind,
        operand: U32::new(operand),
        text: writer.text(text),
        window_ms: U64::new(test.window_ms),
        test: U32::new(index),
    };
    writer.simple_tests.push(record);
}
