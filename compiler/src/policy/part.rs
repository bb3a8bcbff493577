//! Where a text has to hold another: the operators `contains`, `starts_with`, `ends_with`.

use regex_syntax::escape;

/// Where in the text the part has to stand. All that any stage asks of such an operator
/// is answered here: its name, its language, and what it says of two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Anywhere.
    Anywhere,
    /// At the start.
    Start,
    /// At the end.
    End,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anywhere, Self::Start, Self::End];

    /// The operator as policies write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anywhere => "contains",
            Self::Start => "starts_with",
            Self::End => "ends_with",
        }
    }

    /// What it says, for an author.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Anywhere => "The text contains this.",
            Self::Start => "The text starts with this.",
            Self::End => "The text ends with this.",
        }
    }

    /// The operator of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    /// The operator that another language spells so: `startsWith`, `starts with`.
    #[must_use]
    pub fn meant(word: &str) -> Option<Self> {
        let plain = |text: &str| text.replace(['_', ' '], "").to_lowercase();
        let word = plain(word);
        Self::ALL
            .into_iter()
            .find(|part| plain(part.name()) == word)
    }

    /// Its language: what is found in the texts for which it holds, and in no others.
    #[must_use]
    pub fn pattern(self, part: &str) -> String {
        match self {
            Self::Anywhere => escape(part),
            Self::Start => format!(r"\A{}", escape(part)),
            Self::End => format!(r"{}\z", escape(part)),
        }
    }

    /// Whether it holds of a text.
    #[must_use]
    pub fn holds(self, text: &str, part: &str) -> bool {
        match self {
            Self::Anywhere => text.contains(part),
            Self::Start => text.starts_with(part),
            Self::End => text.ends_with(part),
        }
    }

    /// Whether the part touches the start and the end of the text, which have no
    /// white-space.
    #[must_use]
    pub const fn touches(self) -> (bool, bool) {
        match self {
            Self::Anywhere => (false, false),
            Self::Start => (true, false),
            Self::End => (false, true),
        }
    }
}
