//! What happened in a conversation so far: what kinds of things were read, first where and
//! when, and what the user asked for. Knows no call and no policy.

use bouncer_plan::{Effect, Effects};
use serde::{Deserialize, Serialize};

/// What a conversation has read, and what its user asked for.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pub(super) read: ReadBefore,
    pub(super) asked: Asked,
}

/// The first result of each kind, if there was one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBefore {
    /// Of those that an outsider may have written, or influenced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<First>,
    /// Of those that are private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<First>,
}

impl ReadBefore {
    /// Whether nothing of either kind was read.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.untrusted.is_none() && self.private.is_none()
    }
}

/// Where and when something was read first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct First {
    /// The server, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, or what else was read.
    pub tool: String,
    /// The number of the result in the conversation.
    pub call: u64,
    /// When, in milliseconds of Unix time.
    pub time: u64,
}

/// What the user asked for, in words of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// The user said something.
    spoke: bool,
    /// A message was in no language that is known, or too long to have been typed.
    unclear: bool,
    /// Effects that some message names.
    named: Effects,
}

/// What has to be asked for by name: what cannot be taken back, but for what is often meant
/// without a word for it.
pub(super) const NAMEABLE: Effects = Effects::HARD.without(Effects::one(Effect::Act));

impl Asked {
    /// Notes a message: the effects that it names, or that nobody can tell.
    pub fn note(&mut self, named: Option<Effects>) {
        self.spoke = true;
        match named {
            Some(named) => self.named = self.named.union(named),
            None => self.unclear = true,
        }
    }

    /// Whether the user's words name an effect of the call. `None`: they are not known, or
    /// not understood. A call that does nothing one would have to name is named.
    pub fn names(&self, effects: Option<Effects>) -> Option<bool> {
        let effects = effects?.intersection(NAMEABLE);
        if effects.is_empty() || self.named.intersects(effects) {
            return Some(true);
        }
        (self.spoke && !self.unclear).then_some(false)
    }
}

impl Session {
    /// What was read before, first where and when.
    #[must_use]
    pub const fn read_before(&self) -> &ReadBefore {
        &self.read
    }
}
