//! What an argument's name says of its role in a call: where something goes, or what it says.

use crate::gate::remembered::Remembered;
use crate::tools::Heuristics;

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

/// The roles of names that were met lately.
pub(in crate::gate) type Roles = Remembered<Role>;

impl Role {
    /// The role of an argument of this name.
    pub fn of(name: &str, heuristics: Option<&Heuristics>) -> Self {
        match heuristics {
            Some(heuristics) if heuristics.is_sink_name(name) => Self::Target,
            Some(heuristics) if heuristics.labels.label_for(name).is_some() => Self::Content,
            _ => Self::Other,
        }
    }
}
