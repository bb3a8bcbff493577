//! What a tool does, and what one call of it does: of its contract, else guessed from its
//! name and its arguments. A pack's contract only adds to the guess; the user's decides.
//!
//! Knows nothing of what follows from it.

use super::walk::TopArguments;
use crate::effects::{classify, of_choice, schema_arguments};
use crate::tools::ToolDefinition;
use bouncer_plan::format::{CONTRACT_EFFECTS, Contract};
use bouncer_plan::{Corrupt, Effect, Effects};

/// What is known of a tool before any call.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolEffects {
    /// The user's contract says what the tool does.
    complete: bool,
    /// What the contract says.
    said: Effects,
    guess: Guessed,
}

/// What its name and arguments show.
#[derive(Clone, Debug, Default)]
enum Guessed {
    /// Guesses are off.
    #[default]
    Off,
    /// Its schema is known.
    Listed {
        all: Effects,
        always: Effects,
        /// The argument whose value says more, with the prefix of the server's tools.
        choice: Option<(String, String)>,
    },
    /// Only its name is: each call shows more.
    Unlisted,
}

impl ToolEffects {
    /// What a contract says, and what the definition shows if `guess` is on. `prefix` is what
    /// the names of all tools of the server begin with.
    pub fn new(
        contract: Option<&Contract>,
        definition: &ToolDefinition,
        prefix: &str,
        guess: bool,
    ) -> Result<Self, Corrupt> {
        let said = contract.map_or(0, |contract| contract.effects.get());
        let complete = contract.is_some_and(|c| c.flags.get() & CONTRACT_EFFECTS != 0);
        let guess = match definition.input_schema() {
            _ if !guess => Guessed::Off,
            None => Guessed::Unlisted,
            Some(schema) => {
                let guess = classify(prefix, &definition.name, schema_arguments(schema));
                Guessed::Listed {
                    all: guess.effects,
                    always: guess.always,
                    choice: guess
                        .choice
                        .map(|argument| (argument.to_owned(), prefix.to_owned())),
                }
            }
        };
        Ok(Self {
            complete,
            said: Effects::from_bits(said).ok_or(Corrupt)?,
            guess,
        })
    }

    /// Adds to what the contract says.
    pub const fn add(&mut self, effect: Effect) {
        self.said = self.said.with(effect);
    }

    /// Whether anybody says what the tool does: a contract, or guesses are on.
    pub const fn are_told(&self) -> bool {
        self.complete || !self.said.is_empty() || !matches!(self.guess, Guessed::Off)
    }

    /// Whether the calls' own arguments say more.
    pub const fn needs_arguments(&self) -> bool {
        !self.complete
            && matches!(
                self.guess,
                Guessed::Unlisted
                    | Guessed::Listed {
                        choice: Some(_),
                        ..
                    }
            )
    }

    /// Whether all that calls of the tool do is to read.
    pub fn is_reading(&self, name: &str) -> bool {
        !self.needs_arguments() && self.of_tool(name) == Some(Effects::one(Effect::Read))
    }

    /// What calls of the tool can do, all together. `None`: nothing could be told.
    pub fn of_tool(&self, name: &str) -> Option<Effects> {
        let guessed = match &self.guess {
            _ if self.complete => return Some(self.said),
            Guessed::Off => Effects::NONE,
            Guessed::Listed { all, .. } => *all,
            Guessed::Unlisted => classify("", name, std::iter::empty()).effects,
        };
        self.known(guessed)
    }

    /// What one call does. `None`: nothing could be told. Does not allocate.
    pub fn of_call(&self, name: &str, arguments: &TopArguments<'_>) -> Option<Effects> {
        self.of_arguments(name, arguments.iter())
    }

    /// The same of arguments with their texts.
    pub fn of_arguments<'t>(
        &self,
        name: &'t str,
        arguments: impl Iterator<Item = (&'t str, Option<&'t str>)> + Clone,
    ) -> Option<Effects> {
        let guessed = match &self.guess {
            _ if self.complete => return Some(self.said),
            Guessed::Off => Effects::NONE,
            Guessed::Listed {
                all, choice: None, ..
            } => *all,
            Guessed::Listed {
                all,
                always,
                choice: Some((argument, prefix)),
            } => {
                let mut values = arguments.filter(|(name, _)| name == argument);
                let value = values.next().and_then(|(_, value)| value);
                let chosen = value.map(|value| of_choice(prefix, name, value));
                match chosen {
                    Some(chosen) if !chosen.is_empty() => always.union(chosen),
                    _ => *all,
                }
            }
            Guessed::Unlisted => classify("", name, arguments).effects,
        };
        self.known(guessed)
    }

    /// What every call of the tool does at least, and what none does beyond.
    pub fn bounds(&self) -> (Effects, Effects) {
        match &self.guess {
            _ if self.complete => (self.said, self.said),
            Guessed::Off => (self.said, self.said),
            Guessed::Listed {
                all, choice: None, ..
            } => (self.said.union(*all), self.said.union(*all)),
            Guessed::Listed { all, always, .. } => {
                (self.said.union(*always), self.said.union(*all))
            }
            Guessed::Unlisted => (self.said, Effects::ALL),
        }
    }

    fn known(&self, guessed: Effects) -> Option<Effects> {
        let all = self.said.union(guessed);
        (!all.is_empty()).then_some(all)
    }
}
