//! Which label a leaf of a tool's output has.
//!
//! Follows field rules down a JSON value, one step at a time. Knows labels and
//! paths; it does not know what is recorded or where values come from.

use super::anywhere::is_address_alone;
use crate::tools::LabelHeuristics;
use bouncer_plan::Label;
use std::sync::Arc;

/// How a tool's output is labelled.
///
/// The default value is what holds for a tool without a contract: everything is
/// untrusted.
#[derive(Clone, Debug)]
pub struct OutputLabels {
    /// The label of everything that no rule covers.
    pub default: Label,
    /// What no rule covers is private.
    pub private: bool,
    /// Labels of fields. A rule covers everything below its path; the longest path
    /// that matches wins, and among equally long ones the stricter label.
    pub fields: Vec<FieldRule>,
    /// Text can be anything, also where it looks like a record: fields are told apart in
    /// structured content alone.
    pub prose: bool,
    /// For a tool whose contract says nothing about outputs: field names that lower
    /// `untrusted` to `observed`. Ignored where `default` or `fields` say anything.
    pub by_name: Option<Arc<LabelHeuristics>>,
}

/// The label of one field of an output and of everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRule {
    /// Steps from the root of the output. Empty: the whole output.
    pub path: Vec<LabelStep>,
    /// The label.
    pub label: Label,
    /// It is private.
    pub private: bool,
}

/// One step of a field's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelStep {
    /// The member of this name.
    Key(String),
    /// The element at this index (or the member whose name is this number).
    Index(u32),
    /// Every element. Arrays are transparent, so this step only documents: `[*].body`
    /// and `body` both reach the body of one object and of each object of a list.
    Each,
}

impl Default for OutputLabels {
    fn default() -> Self {
        Self::all(Label::Untrusted)
    }
}

impl OutputLabels {
    /// Labels every part of an output alike.
    #[must_use]
    pub const fn all(label: Label) -> Self {
        Self {
            default: label,
            private: false,
            fields: Vec::new(),
            prose: false,
            by_name: None,
        }
    }

    /// The labels of an output whose parts cannot be told apart, none laxer than `floor`.
    pub(super) fn flattened(&self, floor: Label) -> Self {
        Self {
            private: self.any_private(),
            ..Self::all(self.strictest().max(floor))
        }
    }

    /// Whether any part of the output is private.
    #[must_use]
    pub fn any_private(&self) -> bool {
        self.private || self.fields.iter().any(|rule| rule.private)
    }

    /// Whether a part of the output can vouch for a destination.
    #[must_use]
    pub fn can_vouch(&self) -> bool {
        self.default == Label::Trusted
            || self.fields.iter().any(|rule| rule.label == Label::Trusted)
    }

    /// The strictest label any part of the output can have: the label of text that
    /// cannot be told apart into fields.
    #[must_use]
    pub fn strictest(&self) -> Label {
        self.fields
            .iter()
            .map(|rule| rule.label)
            .fold(self.default, Label::max)
    }
}

/// More steps than any path that can match: JSON is read to this depth only.
const MAX_STEPS: usize = 127;

/// A rule without its `Each` steps.
struct Rule<'l> {
    steps: Vec<&'l LabelStep>,
    label: Label,
    private: bool,
}

/// A place in an output, and how far each rule has matched on the way there.
pub(super) struct Cursor<'l> {
    default: Label,
    private: bool,
    floor: Label,
    rules: Vec<Rule<'l>>,
    by_name: Option<&'l LabelHeuristics>,
    /// `rules.len()` sets a level; bit `n` of a set: the first `n` steps have matched.
    matched: Vec<u128>,
    /// One a level: what field names have said.
    names: Vec<ByName>,
}

#[derive(Clone, Copy, Default)]
struct ByName {
    nearest: Option<Label>,
    /// Something on the way down is free text, whatever the names below it say.
    untrusted: bool,
}

impl<'l> Cursor<'l> {
    /// The root of an output. No leaf gets a label laxer than `floor`.
    pub(super) fn new(labels: &'l OutputLabels, floor: Label) -> Self {
        let rules: Vec<Rule<'l>> = labels
            .fields
            .iter()
            .filter_map(|rule| {
                let mut steps: Vec<&LabelStep> = rule
                    .path
                    .iter()
                    .filter(|step| !matches!(step, LabelStep::Each))
                    .collect();
                if steps.len() > MAX_STEPS {
                    // Never met by JSON this crate reads to the end: a laxer rule is void,
                    // a stricter one covers more than it asked for.
                    if rule.label < labels.default {
                        return None;
                    }
                    steps.truncate(MAX_STEPS);
                }
                Some(Rule {
                    steps,
                    label: rule.label,
                    private: rule.private,
                })
            })
            .collect();
        let unlabelled = labels.fields.is_empty() && labels.default == Label::Untrusted;
        Self {
            default: labels.default,
            private: labels.private,
            floor,
            matched: vec![1; rules.len()],
            rules,
            by_name: labels.by_name.as_deref().filter(|_| unlabelled),
            names: vec![ByName::default()],
        }
    }

    /// Goes down to a member. With `wrapper`, the member is the only one of the root
    /// object and called `result`, which is how servers wrap an output that is not an
    /// object: paths count from inside it as well.
    pub(super) fn enter_key(&mut self, key: &str, wrapper: bool) {
        let index = key.parse::<u32>().ok();
        self.advance(wrapper, |step| match step {
            LabelStep::Key(name) => name == key,
            LabelStep::Index(i) => Some(*i) == index,
            LabelStep::Each => false,
        });
        let above = self.names.last().copied().unwrap_or_default();
        let said = self.by_name.and_then(|names| names.label_for(key));
        self.names.push(ByName {
            nearest: said,
            untrusted: above.untrusted || said == Some(Label::Untrusted),
        });
    }

    /// Goes down to an element.
    pub(super) fn enter_index(&mut self, index: usize) {
        let index = u32::try_from(index).ok();
        self.advance(
            true,
            |step| matches!(step, LabelStep::Index(i) if Some(*i) == index),
        );
        // An element is called what its array is called.
        let above = self.names.last().copied().unwrap_or_default();
        self.names.push(above);
    }

    fn advance(&mut self, stay: bool, fits: impl Fn(&LabelStep) -> bool) {
        let top = self.matched.len().saturating_sub(self.rules.len());
        for (at, rule) in self.rules.iter().enumerate() {
            let before = self.matched.get(top + at).copied().unwrap_or(0);
            let done = before & (1 << rule.steps.len());
            let mut after = if stay { before } else { done };
            for (position, step) in rule.steps.iter().enumerate() {
                if before & (1 << position) != 0 && fits(step) {
                    after |= 1 << (position + 1);
                }
            }
            self.matched.push(after);
        }
    }

    /// Goes back up by one step.
    pub(super) fn leave(&mut self) {
        self.names.pop();
        let level = self.matched.len().saturating_sub(self.rules.len());
        self.matched.truncate(level);
    }

    /// The label of a leaf at this place.
    pub(super) fn label(&self) -> Label {
        self.label_here(true)
    }

    /// The label of a leaf at this place. One that is an address and nothing else is observed
    /// where nobody says anything of the output: a record has it as a field of its own, while
    /// what an attacker wants stands in text.
    pub(super) fn label_of(&self, value: &str) -> Label {
        self.unless_address(self.label(), value)
    }

    /// As [`Self::label_of`], for the name of a member of the object at this place.
    pub(super) fn label_of_key(&self, key: &str) -> Label {
        self.unless_address(self.key_label(), key)
    }

    fn unless_address(&self, label: Label, value: &str) -> Label {
        // What stands within free text is part of it.
        let free = self.names.last().is_some_and(|name| name.untrusted);
        let unsaid = self.by_name.is_some() && self.floor != Label::Untrusted && !free;
        match label {
            Label::Untrusted if unsaid && is_address_alone(value) => Label::Observed,
            _ => label,
        }
    }

    /// Whether a leaf at this place is private: any rule that reaches it says so, or, where
    /// none does, the whole output is.
    pub(super) fn is_private(&self) -> bool {
        let top = self.matched.len().saturating_sub(self.rules.len());
        let mut reached = false;
        for (rule, set) in self.rules.iter().zip(self.matched.iter().skip(top)) {
            if *set & (1 << rule.steps.len()) != 0 {
                reached = true;
                if rule.private {
                    return true;
                }
            }
        }
        self.private && !reached
    }

    /// The label of the member names of an object at this place: the object's own.
    /// Field names never vouch for what a server calls its members.
    pub(super) fn key_label(&self) -> Label {
        self.label_here(false)
    }

    fn label_here(&self, by_name: bool) -> Label {
        let top = self.matched.len().saturating_sub(self.rules.len());
        let best = self
            .rules
            .iter()
            .zip(self.matched.iter().skip(top))
            .filter(|(rule, set)| *set & (1 << rule.steps.len()) != 0)
            .map(|(rule, _)| (rule.steps.len(), rule.label))
            .max();
        let name = self.names.last().copied().unwrap_or_default();
        let label = match best {
            Some((_, label)) => label,
            None if by_name && name.nearest == Some(Label::Observed) && !name.untrusted => {
                Label::Observed
            }
            None => self.default,
        };
        label.max(self.floor)
    }
}
