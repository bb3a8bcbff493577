//! What a look at an installation found, line by line.

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A heading: what the lines below it are about.
    Heading,
    /// As it should be.
    Good,
    /// Nothing is wrong, and somebody should know.
    Look,
    /// Something is not guarded.
    Gap,
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Report {
    lines: Vec<(Level, String)>,
}

impl Report {
    /// Adds a line.
    pub fn add(&mut self, level: Level, text: impl Into<String>) {
        self.lines.push((level, text.into()));
    }

    /// The lines, in order.
    #[must_use]
    pub fn lines(&self) -> &[(Level, String)] {
        &self.lines
    }

    /// How many gaps there are.
    #[must_use]
    pub fn gaps(&self) -> usize {
        let gaps = self.lines.iter().filter(|(level, _)| *level == Level::Gap);
        gaps.count()
    }
}
