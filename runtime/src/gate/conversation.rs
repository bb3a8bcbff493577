//! Everything one agent does in one run: budgets, approvals, provenance.

/// One agent's run.
#[derive(Debug)]
pub struct Conversation {}

impl Conversation {
    /// Remembers a human's approval of one destination of one parameter of one tool.
    pub fn approve(&mut self, tool: &str, param: &str, destination: &str) {
        let _ = (tool, param, destination);
    }
}
