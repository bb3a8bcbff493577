//! Requests for approval, and what became of them.

use super::canonical::canonical;
use super::error::StoreError;
use super::status::Status;
use bouncer_engine::gate::Grounds;

/// What a human is asked to vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Exactly this call, once.
    Call,
    /// A destination, for this tool and parameter, until the conversation ends.
    Destination {
        /// The parameter's path.
        param: &'a str,
        /// Where data would go.
        destination: &'a str,
    },
}

/// Something that a human has to decide.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The digest of the plan that asks: another policy asks anew.
    pub plan: &'a str,
    /// The conversation that the call belongs to.
    pub conversation: &'a str,
    /// The server, where one is known.
    pub server: Option<&'a str>,
    /// The tool's name.
    pub tool: &'a str,
    /// The raw arguments; none are `{}`.
    pub arguments: Option<&'a [u8]>,
    /// What is asked about.
    pub subject: Subject<'a>,
    /// Why.
    pub reason: &'a str,
    /// `file:line:column` of what asks.
    pub at: Option<&'a str>,
    /// The value that it is about, and where that was seen.
    pub grounds: Option<&'a Grounds>,
}

/// What an approval is bound to: a digest of everything that must not differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub(super) [u8; 32]);

impl Key {
    /// What an approval for a whole conversation is sealed with: that of another
    /// conversation, or for one call, is none for this.
    pub(super) fn in_conversation(&self, conversation: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("bouncer approval for a conversation");
        hasher.update(&self.0);
        hasher.update(conversation.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

impl Request<'_> {
    /// What an approval of this request is bound to. For a call: plan, principal, server, tool
    /// and canonical arguments; for a destination: plan, conversation, server, tool,
    /// parameter and destination. Linear in the arguments.
    ///
    /// # Errors
    /// [`StoreError::Arguments`].
    pub fn key(&self) -> Result<Key, StoreError> {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &[u8]| {
            // The length in front keeps the parts apart.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        part(self.plan.as_bytes());
        part(&[u8::from(self.server.is_some())]);
        part(self.server.unwrap_or_default().as_bytes());
        part(self.tool.as_bytes());
        match self.subject {
            Subject::Call => {
                part(b"call");
                // Of another principal's agent, the same call is another call.
                part(principal(self.conversation).as_bytes());
                let raw = self.arguments.unwrap_or(b"{}");
                canonical(raw, &mut |text| {
                    hasher.update(text);
                })
                .ok_or(StoreError::Arguments)?;
            }
            Subject::Destination { param, destination } => {
                part(b"destination");
                part(self.conversation.as_bytes());
                part(param.as_bytes());
                part(destination.as_bytes());
            }
        }
        Ok(Key(*hasher.finalize().as_bytes()))
    }
}

/// Whose conversation it is: what stands before the first slash of its name. Where nobody
/// logs in there is none, so that an agent that starts again finds what was approved.
fn principal(conversation: &str) -> &str {
    conversation.split_once('/').map_or("", |(name, _)| name)
}

/// A request in the store. Times are milliseconds since 1970, by the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Record {
    /// What humans name it by.
    pub id: String,
    /// Where it stands now.
    #[serde(serialize_with = "name_of")]
    pub status: Status,
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The raw arguments.
    pub arguments: String,
    /// Of a destination: the parameter.
    pub param: Option<String>,
    /// Of a destination: where data would go.
    pub destination: Option<String>,
    /// Why it was asked.
    pub reason: String,
    /// `file:line:column` of what asks.
    pub at: Option<String>,
    /// The conversation.
    pub conversation: String,
    /// The plan's digest.
    pub plan: String,
    /// When it was asked.
    pub created_ms: i64,
    /// When it stops being of use.
    pub expires_ms: i64,
    /// When a human decided.
    pub decided_ms: Option<i64>,
    /// When the call went through; the last time, if more than once.
    pub used_ms: Option<i64>,
    /// The value that it is about, and where that was seen.
    pub grounds: Option<Grounds>,
    /// The approval is good until the conversation ends, not only once.
    pub lasting: bool,
    /// How often a lasting approval let the call through.
    pub uses: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn name_of<S: serde::Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.name())
}
