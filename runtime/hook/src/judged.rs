//! What one call was found to be: what every agent is told of, and the log.

use bouncer_engine::gate::Grounds;
use bouncer_plan::{Stage, Verdict};

/// The verdict on a use of a tool.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The tool of the policy that was judged.
    pub judged_as: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The stage that decided.
    pub stage: Stage,
    /// The reason's code.
    pub code: &'static str,
    /// The reason.
    pub reason: String,
    /// Where in the policy.
    pub at: Option<String>,
    /// Where the values came from that decided.
    pub grounds: Option<Grounds>,
}

impl Judged {
    /// A verdict for which no line of a policy is responsible.
    #[must_use]
    pub const fn without_policy(
        verdict: Verdict,
        stage: Stage,
        code: &'static str,
        reason: String,
    ) -> Self {
        Self {
            judged_as: None,
            verdict,
            stage,
            code,
            reason,
            at: None,
            grounds: None,
        }
    }
}
