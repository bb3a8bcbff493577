//! One line on a terminal that says how far long work is.

use bouncer_compiler::Progress;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Short work shows nothing.
const PATIENCE: Duration = Duration::from_millis(700);
/// Between two pictures.
const PAUSE: Duration = Duration::from_millis(100);
/// Characters of the bar.
const WIDTH: usize = 30;

/// Draws the line on standard error, if that is a terminal.
pub struct Line {
    terminal: bool,
    next: Instant,
    drawn: bool,
    /// What is counted.
    what: &'static str,
}

impl Line {
    /// Nothing is drawn yet. `what` is counted.
    pub fn new(what: &'static str) -> Self {
        Self {
            what,
            terminal: std::io::stderr().is_terminal(),
            next: Instant::now() + PATIENCE,
            drawn: false,
        }
    }

    /// Draws the line again, if it is time to.
    pub fn show(&mut self, progress: Progress) {
        let now = Instant::now();
        if !self.terminal || now < self.next {
            return;
        }
        self.next = now + PAUSE;
        self.drawn = true;
        let Progress { done, all } = progress;
        let filled = (WIDTH * done).checked_div(all).unwrap_or(WIDTH);
        // If standard error is gone there is nobody left to look.
        let _ = write!(
            std::io::stderr(),
            "\r{}{} {done} of {all} {}",
            "#".repeat(filled),
            ".".repeat(WIDTH.saturating_sub(filled)),
            self.what,
        );
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(std::io::stderr(), "\r{}\r", " ".repeat(78));
        }
    }
}
