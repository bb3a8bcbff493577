//! What one use of a tool was found to be: what every agent is told of, and the log.

use bouncer_engine::gate::VerdictRecord;

/// The verdict on a use of a tool.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The tool of the policy that was judged, where the agent has another name for it.
    pub judged_as: Option<String>,
    /// The verdict, and what it rests on.
    pub record: VerdictRecord,
}

impl Judged {
    /// A verdict on the use as a whole, for which no line of a policy is responsible.
    #[must_use]
    pub const fn without_policy(record: VerdictRecord) -> Self {
        Self {
            judged_as: None,
            record,
        }
    }
}
