//! Everything one agent does in one run: budgets, approvals, provenance.

/// One agent's run.
#[derive(Debug)]
pub struct Conversation {}

impl Conversation {
    /// Remembers that a human approved exactly this call. It is used up by the next
    /// decision that allows the call.
    pub fn approve_call(&mut self, call: &super::Call<'_>) {
        let _ = call;
    }

    /// Remembers a human's approval of one destination of one parameter of one tool.
    pub fn approve(&mut self, tool: &str, param: &str, destination: &str) {
        let _ = (tool, param, destination);
    }
}
