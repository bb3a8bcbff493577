//! The argument paths that a policy names, numbered.

use crate::policy::{Cond, Path, Policy, Segment, Subject, View};
use std::collections::BTreeMap;

/// One step of a numbered path. `[*]` is not a step: arrays are transparent anyway.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A key; a canonical decimal also picks an array element.
    Key(String),
    /// An array element only.
    Index(u32),
    /// The names of the members there; always the last step.
    Names,
}

impl Step {
    /// The array index that this step picks, if any.
    #[must_use]
    pub fn index(&self) -> Option<u32> {
        match self {
            Self::Index(index) => Some(*index),
            Self::Names => None,
            Self::Key(key) => key
                .parse()
                .ok()
                .filter(|index: &u32| index.to_string() == *key),
        }
    }
}

/// All paths of a policy, sorted, so that equal policies number them alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTable {
    ids: BTreeMap<Vec<Step>, u32>,
}

impl PathTable {
    /// The paths of rules' conditions and of contracts' constraints.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let mut table = Self::default();
        for rule in policy.rules.iter().flat_map(|set| &set.rules) {
            table.add_condition(&rule.condition);
        }
        for contract in &policy.contracts {
            for param in &contract.write_params {
                table.add(&param.path);
            }
            for pattern in &contract.arg_patterns {
                table.add(&pattern.path);
            }
        }
        for (id, slot) in (0..).zip(table.ids.values_mut()) {
            *slot = id;
        }
        table
    }

    fn add_condition(&mut self, condition: &Cond) {
        match condition {
            Cond::All(parts) | Cond::Any(parts) => {
                parts.iter().for_each(|part| self.add_condition(part))
            }
            Cond::Not(part) => self.add_condition(part),
            Cond::Test(test) => match &test.subject {
                Subject::Arg(path, View::Name) => {
                    self.ids.insert(names(path), 0);
                }
                Subject::Arg(path, _) | Subject::Count(path) | Subject::Provenance(path) => {
                    self.add(path)
                }
                Subject::Calls { .. } | Subject::Session => {}
            },
        }
    }

    fn add(&mut self, path: &Path) {
        self.ids.insert(steps(path), 0);
    }

    /// The number of a path; `u32::MAX` if the policy does not name it.
    #[must_use]
    pub fn id(&self, path: &Path) -> u32 {
        self.ids.get(&steps(path)).copied().unwrap_or(u32::MAX)
    }

    /// The number of the path of the names at a path.
    #[must_use]
    pub fn id_of_names(&self, path: &Path) -> u32 {
        self.ids.get(&names(path)).copied().unwrap_or(u32::MAX)
    }

    /// All paths in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[Step]> {
        self.ids.keys().map(Vec::as_slice)
    }
}

/// The steps of a path.
#[must_use]
pub fn steps(path: &Path) -> Vec<Step> {
    path.0
        .iter()
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(Step::Key(key.clone())),
            Segment::Index(index) => Some(Step::Index(*index)),
            Segment::Each => None,
        })
        .collect()
}

/// The steps of the names of members at a path.
#[must_use]
pub fn names(path: &Path) -> Vec<Step> {
    let mut all = steps(path);
    all.push(Step::Names);
    all
}

/// The text of a path, as reasons show it.
#[must_use]
pub fn display(steps: &[Step]) -> String {
    if let Some((Step::Names, above)) = steps.split_last() {
        return match above {
            [] => "keys(args)".to_owned(),
            _ => format!("keys(args.{})", display(above)),
        };
    }
    if steps.is_empty() {
        return "args".to_owned();
    }
    let parts: Vec<String> = steps
        .iter()
        .map(|step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index.to_string(),
            Step::Names => String::new(),
        })
        .collect();
    parts.join(".")
}
