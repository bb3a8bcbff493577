//! Rules by tool pattern, as dimensions, tests, atoms and rows.

use super::formula::Literal;
use super::{CompileError, Mode, PathTable};
use crate::policy::{ListItem, Op, Quantifier, Rule, Scalar, Subject, Test, ToolGlob, View};
use bouncer_plan::Verdict;
use bouncer_plan::format::{GlobKind, MAX_WINDOWED_CALLS, NONE, QuantKind, SqlDialect, ViewKind};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rules that share one tool pattern.
#[derive(Clone, Debug)]
pub struct Group {
    /// The pattern.
    pub pattern: String,
    /// How it is read.
    pub kind: GlobKind,
    /// What is tested of which path.
    pub dimensions: BTreeMap<DimensionKey, Dimension>,
    /// The atoms, in the order of first use.
    pub atoms: Vec<Atom>,
    /// The quantified atoms.
    pub quants: Vec<Quant>,
    /// The rows, in rule order.
    pub rows: Vec<Row>,
    /// Attempts whose times a conversation must remember.
    pub call_history: u32,
    /// By hash: the tests that were lowered already, as indices into their dimensions.
    /// Only looked up, never iterated.
    known: HashMap<u64, Vec<usize>>,
}

/// Which path a dimension is about, and as what it sees it. Sorted as the plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimensionKey {
    /// The path's number; [`NONE`] for `calls(this)`.
    pub path: u32,
    /// The view.
    pub view: ViewKind,
    /// The SQL of a query.
    pub dialect: SqlDialect,
}

/// What a group tests of one path through one view.
#[derive(Clone, Debug, Default)]
pub struct Dimension {
    /// The tests, in the order of first use.
    pub tests: Vec<LoweredTest>,
}

/// A test and the atoms that its outcome raises.
#[derive(Clone, Debug)]
pub struct LoweredTest {
    /// The question.
    pub op: Op,
    /// How leaves are combined.
    pub quantifier: Quantifier,
    /// The window of `calls(this)`, in milliseconds; 0: ever.
    pub window_ms: u64,
    /// By mode: the atom, or the quantified atom, as an index of the group.
    pub atoms: BTreeMap<Mode, u32>,
}

/// An elementary fact about a pick, and the rows that care.
#[derive(Clone, Debug, Default)]
pub struct Atom {
    /// Rows of the group that need it.
    pub requires: Vec<u32>,
    /// Rows of the group that it rules out.
    pub kills: Vec<u32>,
}

/// An atom that is raised once for all leaves of a path.
#[derive(Clone, Copy, Debug)]
pub struct Quant {
    /// The path.
    pub path: u32,
    /// Of how many leaves.
    pub kind: QuantKind,
    /// The atom.
    pub atom: u32,
}

/// A conjunction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The rule.
    pub rule: u32,
    /// How many atoms it requires.
    pub need: u32,
}

/// Collects groups.
pub(super) struct GroupBuilder<'t> {
    paths: &'t PathTable,
    groups: BTreeMap<(GlobKind, String), Group>,
}

impl<'t> GroupBuilder<'t> {
    pub fn new(paths: &'t PathTable) -> Self {
        Self {
            paths,
            groups: BTreeMap::new(),
        }
    }

    /// Adds a rule to the group of each of its patterns. Returns what is wrong with it.
    pub fn add_rule(
        &mut self,
        index: u32,
        rule: &Rule,
        rows: &[Vec<Literal<'_>>],
    ) -> Vec<CompileError> {
        let mut errors = Vec::new();
        let mut patterns: Vec<(GlobKind, &str)> = rule.tools.iter().map(ToolGlob::glob).collect();
        patterns.sort_unstable();
        patterns.dedup();
        for (kind, pattern) in patterns {
            let group = self
                .groups
                .entry((kind, pattern.to_owned()))
                .or_insert_with(|| Group::new(kind, pattern));
            errors.clear();
            for row in rows {
                if let Err(error) = group.add_row(self.paths, index, rule.action, row) {
                    errors.push(error);
                }
            }
        }
        errors
    }

    /// The groups, exact names first, and how many of these there are.
    pub fn finish(self) -> (Vec<Group>, usize) {
        // The key starts with the kind, and exact is the smallest.
        let groups: Vec<Group> = self.groups.into_values().collect();
        let exact = groups
            .iter()
            .take_while(|group| group.kind == GlobKind::Exact)
            .count();
        (groups, exact)
    }
}

impl Group {
    fn new(kind: GlobKind, pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            kind,
            dimensions: BTreeMap::new(),
            atoms: Vec::new(),
            quants: Vec::new(),
            rows: Vec::new(),
            call_history: 0,
            known: HashMap::new(),
        }
    }

    fn add_row(
        &mut self,
        paths: &PathTable,
        rule: u32,
        action: Verdict,
        literals: &[Literal<'_>],
    ) -> Result<(), CompileError> {
        let row = self.rows.len() as u32;
        self.rows.push(Row { rule, need: 0 });
        let mut need = 0;
        for literal in literals {
            let mode = match (action == Verdict::Allow, literal.negated) {
                (true, false) => Mode::Plain,
                (true, true) => Mode::Maybe,
                (false, false) => Mode::Any,
                (false, true) => Mode::All,
            };
            let atom = self.atom(paths, literal.test, mode)?;
            let Some(atom) = self.atoms.get_mut(atom as usize) else {
                continue;
            };
            let users = if literal.negated {
                &mut atom.kills
            } else {
                &mut atom.requires
            };
            if users.last() != Some(&row) {
                users.push(row);
                need += u32::from(!literal.negated);
            }
        }
        if let Some(row) = self.rows.last_mut() {
            row.need = need;
        }
        Ok(())
    }

    /// The atom that a test raises in a mode, made if it is new.
    fn atom(&mut self, paths: &PathTable, test: &Test, mode: Mode) -> Result<u32, CompileError> {
        check(test)?;
        let (key, window_ms) = place(paths, &test.subject);
        if let Subject::Calls { window_ms: Some(_) } = test.subject {
            self.call_history = self.call_history.max(history(test)?);
        }
        // Facts about the whole call have no leaves to quantify over.
        let quantifier = if test.subject.is_of_the_call() {
            Quantifier::Pick
        } else {
            test.quantifier
        };
        let dimension = self.dimensions.entry(key).or_default();
        let mut hasher = DefaultHasher::new();
        (key, &test.op, quantifier, window_ms).hash(&mut hasher);
        let alike = self.known.entry(hasher.finish()).or_default();
        let known = alike.iter().copied().find(|index| {
            dimension.tests.get(*index).is_some_and(|known| {
                known.op == test.op
                    && known.quantifier == quantifier
                    && known.window_ms == window_ms
            })
        });
        let index = known.unwrap_or(dimension.tests.len());
        if known.is_none() {
            alike.push(index);
            dimension.tests.push(LoweredTest {
                op: test.op.clone(),
                quantifier,
                window_ms,
                atoms: BTreeMap::new(),
            });
        }
        let Some(lowered) = dimension.tests.get_mut(index) else {
            return Ok(NONE);
        };
        let fresh = self.atoms.len() as u32;
        if quantifier == Quantifier::Pick {
            let atom = *lowered.atoms.entry(mode).or_insert(fresh);
            if atom == fresh {
                self.atoms.push(Atom::default());
            }
            return Ok(atom);
        }
        let quant = *lowered
            .atoms
            .entry(mode)
            .or_insert(self.quants.len() as u32);
        if let Some(quant) = self.quants.get(quant as usize) {
            return Ok(quant.atom);
        }
        self.atoms.push(Atom::default());
        self.quants.push(Quant {
            path: key.path,
            kind: match quantifier {
                Quantifier::All => QuantKind::All,
                Quantifier::Pick | Quantifier::Any => QuantKind::Any,
            },
            atom: fresh,
        });
        Ok(fresh)
    }
}

/// The dimension of a subject, and its window.
fn place(paths: &PathTable, subject: &Subject) -> (DimensionKey, u64) {
    let whole = |path, view| DimensionKey {
        path,
        view,
        dialect: SqlDialect::Generic,
    };
    match subject {
        Subject::Arg(path, view) => {
            let (view, dialect) = match view {
                View::Value => (ViewKind::Value, SqlDialect::Generic),
                View::Host => (ViewKind::Host, SqlDialect::Generic),
                View::Domain => (ViewKind::Domain, SqlDialect::Generic),
                View::SqlVerb(dialect) => (ViewKind::SqlVerb, *dialect),
                View::SqlTable(dialect) => (ViewKind::SqlTable, *dialect),
                View::SqlFunction(dialect) => (ViewKind::SqlFunction, *dialect),
                View::Scheme => (ViewKind::Scheme, SqlDialect::Generic),
                View::Length => (ViewKind::Length, SqlDialect::Generic),
                View::Name => (ViewKind::Name, SqlDialect::Generic),
            };
            let path = match view {
                ViewKind::Name => paths.id_of_names(path),
                _ => paths.id(path),
            };
            let key = DimensionKey {
                path,
                view,
                dialect,
            };
            (key, 0)
        }
        Subject::Count(path) => (whole(paths.id(path), ViewKind::Count), 0),
        Subject::Provenance(path) => (whole(paths.id(path), ViewKind::Provenance), 0),
        Subject::Calls { window_ms } => (whole(NONE, ViewKind::Calls), window_ms.unwrap_or(0)),
        Subject::Session => (whole(NONE, ViewKind::Session), 0),
    }
}

/// Refuses a question that the subject cannot answer.
fn check(test: &Test) -> Result<(), CompileError> {
    let number = |op: &Op| matches!(op, Op::Compare(..) | Op::Equals(Scalar::Number(_)));
    let fits = match &test.subject {
        Subject::Arg(_, View::Value) => {
            !of_provenance(&test.op) && !matches!(test.op, Op::Session(_)) && !has_network(&test.op)
        }
        Subject::Arg(_, View::Length) => number(&test.op),
        Subject::Arg(_, View::Name) if test.op == Op::Exists => true,
        Subject::Arg(_, View::Host | View::Domain) if has_network(&test.op) => true,
        Subject::Arg(..) if has_network(&test.op) => false,
        Subject::Arg(..) => matches!(
            test.op,
            Op::Equals(_) | Op::In(_) | Op::Part(..) | Op::Matches(_)
        ),
        Subject::Count(_) | Subject::Calls { .. } => number(&test.op),
        Subject::Provenance(_) => of_provenance(&test.op),
        Subject::Session => matches!(test.op, Op::Session(_)),
    };
    if fits {
        return Ok(());
    }
    Err(CompileError {
        message: "this test does not fit its subject".to_owned(),
        help: Some(
            "counts, lengths and calls take numbers, `provenance()` takes labels, views take text tests"
                .to_owned(),
        ),
        at: Some(test.at),
    })
}

const fn of_provenance(op: &Op) -> bool {
    matches!(
        op,
        Op::Provenance(_) | Op::CarriesUntrusted | Op::CarriesPrivate
    )
}

/// Whether it asks for hosts that lie in a network.
fn has_network(op: &Op) -> bool {
    match op {
        Op::In(items) => items
            .iter()
            .any(|item| matches!(item, ListItem::Network(_))),
        _ => false,
    }
}

/// How many attempts' times a windowed `calls(this)` needs.
fn history(test: &Test) -> Result<u32, CompileError> {
    let text = match &test.op {
        Op::Compare(_, text) | Op::Equals(Scalar::Number(text)) => text.as_str(),
        _ => "0",
    };
    // Only the size of the number matters here; the comparison itself is exact.
    let limit = text.parse::<f64>().unwrap_or(f64::INFINITY);
    if limit > f64::from(MAX_WINDOWED_CALLS) {
        return Err(CompileError {
            message: format!(
                "`calls(this)` within a window looks back on at most {MAX_WINDOWED_CALLS} calls"
            ),
            help: Some("compare with a smaller number, or leave `per …` out".to_owned()),
            at: Some(test.at),
        });
    }
    Ok(limit.max(0.0) as u32 + 2)
}
