//! What an argument's name says of its role in a call: where something goes, or what it says.
//!
//! Comparing a name with the patterns takes long and allocates, so each name is looked at
//! once and remembered.

use crate::tools::Heuristics;
use std::collections::HashMap;

/// So many names are remembered. More are looked at each time they are met.
const MOST: usize = 10_000;

/// The role of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gate) enum Role {
    /// It says where something goes, or whom it is about.
    Target,
    /// It is text that is sent or kept.
    Content,
    /// Its name says nothing of the kind.
    Other,
}

/// The roles of all names that were met.
#[derive(Debug, Default)]
pub(in crate::gate) struct Roles(HashMap<Box<str>, Role>);

impl Roles {
    /// The role of an argument of this name. Allocates when it meets a name first.
    pub fn of(&mut self, name: &str, heuristics: Option<&Heuristics>) -> Role {
        if let Some(role) = self.0.get(name) {
            return *role;
        }
        let role = match heuristics {
            Some(heuristics) if heuristics.is_sink_name(name) => Role::Target,
            Some(heuristics) if heuristics.labels.label_for(name).is_some() => Role::Content,
            _ => Role::Other,
        };
        if self.0.len() < MOST {
            self.0.insert(name.into(), role);
        }
        role
    }
}
