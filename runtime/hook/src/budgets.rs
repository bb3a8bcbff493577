//! Budgets that hooks count together with others. Each use of a tool is counted once,
//! however often it is judged.

use bouncer_engine::gate::{Tallied, Tally};
use std::collections::HashMap;

/// Counts what one use of a tool stands for, however often that is judged.
#[derive(Debug)]
pub struct CountedOnce {
    budgets: Box<dyn Tally>,
    /// By key of the tool: what was counted so far.
    counted: HashMap<String, u64>,
    /// What is counted already of what is judged again.
    known: HashMap<String, u64>,
}

impl CountedOnce {
    /// Nothing is counted yet.
    #[must_use]
    pub fn new(budgets: Box<dyn Tally>) -> Self {
        Self {
            budgets,
            counted: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Everything is judged again from the start.
    pub fn again(&mut self) {
        self.known.clone_from(&self.counted);
    }
}

impl Tally for CountedOnce {
    fn attempt(&mut self, tool: &str, counts: bool, after: u64, most: usize) -> Option<Tallied> {
        let known = self
            .known
            .get_mut(tool)
            .filter(|known| counts && **known > 0);
        if let Some(known) = known {
            *known -= 1;
            return self.budgets.attempt(tool, false, after, most);
        }
        let counted = self.budgets.attempt(tool, counts, after, most)?;
        if counts {
            *self.counted.entry(tool.to_owned()).or_default() += 1;
        }
        Some(counted)
    }
}
