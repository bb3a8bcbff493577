//! What a tool does, as a set of kinds: `read`, `write`, `send` and so on.
//!
//! Plain data with names and stable bits. It may not know how the effects of a tool are
//! found out; what each of them means stands in `docs/effects.md`.

use std::fmt;
use std::str::FromStr;

/// One kind of thing that a call can do. Ordered as they are listed everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Effect {
    /// Returns what is stored somewhere and changes nothing.
    Read = 0,
    /// Changes what is stored for the user.
    Write = 1,
    /// Hands something to a recipient or a channel that is named.
    Send = 2,
    /// Shows something to readers who are not named.
    Publish = 3,
    /// Asks a host or an address that the caller names.
    Fetch = 4,
    /// Runs a program, a script or a query that can do anything.
    Run = 5,
    /// Moves money, or orders, buys, books or trades something.
    Pay = 6,
    /// Gives or changes access: keys, members, permissions, passwords.
    Grant = 7,
    /// Deletes or cancels something, or cannot be undone.
    Destroy = 8,
    /// Does something in the physical world.
    Act = 9,
}

impl Effect {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::Write,
        Self::Send,
        Self::Publish,
        Self::Fetch,
        Self::Run,
        Self::Pay,
        Self::Grant,
        Self::Destroy,
        Self::Act,
    ];

    /// The name as policies write it, for example `destroy`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Send => "send",
            Self::Publish => "publish",
            Self::Fetch => "fetch",
            Self::Run => "run",
            Self::Pay => "pay",
            Self::Grant => "grant",
            Self::Destroy => "destroy",
            Self::Act => "act",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Effect {
    type Err = UnknownEffect;

    fn from_str(name: &str) -> Result<Self, UnknownEffect> {
        let known = Self::ALL.into_iter().find(|effect| effect.name() == name);
        known.ok_or(UnknownEffect)
    }
}

/// A name is none of an effect's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEffect;

impl fmt::Display for UnknownEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an effect: ")?;
        fmt::Display::fmt(&Effects::ALL, f)
    }
}

impl std::error::Error for UnknownEffect {}

/// A set of effects. Two bytes; bit *n* stands for the effect with the number *n*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Effects(u16);

impl Effects {
    /// No effect. Of a guess: nothing could be told, which does not mean harmless.
    pub const NONE: Self = Self(0);
    /// Every effect.
    pub const ALL: Self = Self((1 << Effect::ALL.len()) - 1);
    /// What cannot be taken back, or reaches further than the user's own things.
    pub const HARD: Self = Self::one(Effect::Run)
        .with(Effect::Grant)
        .with(Effect::Pay)
        .with(Effect::Destroy)
        .with(Effect::Publish)
        .with(Effect::Act);

    /// The set of one effect.
    #[must_use]
    pub const fn one(effect: Effect) -> Self {
        Self(1 << effect as u8)
    }

    /// This set with one effect more.
    #[must_use]
    pub const fn with(self, effect: Effect) -> Self {
        Self(self.0 | 1 << effect as u8)
    }

    /// What is in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the effect is in the set.
    #[must_use]
    pub const fn contains(self, effect: Effect) -> bool {
        self.0 & 1 << effect as u8 != 0
    }

    /// Whether the sets have an effect in common.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The bits, as a plan holds them.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set with these bits; `None` if one of them stands for no effect.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// The effects in order.
    pub fn iter(self) -> impl Iterator<Item = Effect> {
        Effect::ALL
            .into_iter()
            .filter(move |&effect| self.contains(effect))
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        effects.into_iter().fold(Self::NONE, Self::with)
    }
}

/// The names, with commas between them; nothing for no effect.
impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, effect) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(effect.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bits_lead_back() {
        for (number, effect) in Effect::ALL.into_iter().enumerate() {
            assert_eq!(effect as usize, number);
            assert_eq!(effect.name().parse(), Ok(effect));
            let one = Effects::one(effect);
            assert_eq!(one.iter().collect::<Vec<_>>(), [effect]);
            assert_eq!(Effects::from_bits(one.bits()), Some(one));
        }
        assert_eq!("Read".parse::<Effect>(), Err(UnknownEffect));
        assert_eq!(Effects::from_bits(1 << Effect::ALL.len()), None);
        assert_eq!(Effect::ALL.into_iter().collect::<Effects>(), Effects::ALL);
    }

    #[test]
    fn sets() {
        let some = Effects::one(Effect::Send).with(Effect::Grant);
        assert_eq!(some.to_string(), "send, grant");
        assert_eq!(Effects::NONE.to_string(), "");
        assert!(some.contains(Effect::Send) && !some.contains(Effect::Read));
        assert!(some.intersects(Effects::HARD) && !Effects::NONE.intersects(some));
        assert_eq!(some.without(Effects::HARD), Effects::one(Effect::Send));
        assert_eq!(some.intersection(Effects::HARD).union(some), some);
        assert!(!Effects::HARD.contains(Effect::Send) && Effects::NONE.is_empty());
    }
}
