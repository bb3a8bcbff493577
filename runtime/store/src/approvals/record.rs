//! Requests for approval, and what became of them.

use super::canonical::canonical;
use super::error::StoreError;
use super::status::Status;
use bouncer_engine::gate::{Grounds, ReadBefore};
use serde::{Deserialize, Serialize};

/// What a human is asked to vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Exactly this call.
    Call,
    /// Exactly this call, because of a destination; a human may also let the tool send there
    /// whatever it likes, for the rest of the conversation.
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
    /// The raw arguments, which an approval is bound to; none are `{}`.
    pub arguments: Option<&'a [u8]>,
    /// The arguments as a human is shown them, without secrets.
    pub shown: &'a str,
    /// What is asked about.
    pub subject: Subject<'a>,
    /// Why.
    pub reason: &'a str,
    /// `file:line:column` of what asks.
    pub at: Option<&'a str>,
    /// The value that it is about, and where that was seen.
    pub grounds: Option<&'a Grounds>,
    /// What surrounds the call.
    pub around: &'a Around,
}

/// What surrounds a call that a human is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// The client, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What kinds of things the conversation had read before.
    #[serde(default)]
    pub read: ReadBefore,
    /// Secrets in the arguments are not shown.
    #[serde(default)]
    pub redacted: bool,
}

/// What is kept of a request beside its columns.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept<G> {
    #[serde(flatten)]
    pub grounds: Option<G>,
    #[serde(default)]
    pub around: Around,
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

    /// What it is bound to that a tool may send whatever it likes to a destination, for a whole
    /// conversation: plan, conversation, server, tool, parameter and destination.
    pub(super) fn of_destination(
        plan: &str,
        conversation: &str,
        (server, tool): (Option<&str>, &str),
        (param, destination): (&str, &str),
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        let named = [u8::from(server.is_some())];
        let server = server.unwrap_or_default();
        for text in [plan.as_bytes(), &named, server.as_bytes(), tool.as_bytes()]
            .into_iter()
            .chain([b"destination", conversation.as_bytes()])
            .chain([param.as_bytes(), destination.as_bytes()])
        {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl Request<'_> {
    /// What an approval for the conversation is bound to: that of a destination is for all that
    /// is sent there; that of a call is for this call.
    ///
    /// # Errors
    /// [`StoreError::Arguments`].
    pub fn lasting_key(&self) -> Result<Key, StoreError> {
        match self.subject {
            Subject::Call => self.key(),
            Subject::Destination { param, destination } => Ok(Key::of_destination(
                self.plan,
                self.conversation,
                (self.server, self.tool),
                (param, destination),
            )),
        }
    }

    /// What an approval of this request is bound to: plan, principal, server, tool and canonical
    /// arguments, and the destination that it is about, if it is. Linear in the arguments.
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
            Subject::Call => part(b"call"),
            Subject::Destination { param, destination } => {
                part(b"call to");
                // What was read before is another conversation's.
                part(self.conversation.as_bytes());
                part(param.as_bytes());
                part(destination.as_bytes());
            }
        }
        // Of another principal's agent, the same call is another call.
        part(principal(self.conversation).as_bytes());
        let raw = self.arguments.unwrap_or(b"{}");
        canonical(raw, &mut |text| {
            hasher.update(text);
        })
        .ok_or(StoreError::Arguments)?;
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
    /// The arguments, without secrets.
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
    /// What surrounds the call.
    pub around: Around,
    /// The approval is good until the conversation ends, not only once.
    pub lasting: bool,
    /// How often a lasting approval let the call through.
    pub uses: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn name_of<S: serde::Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.name())
}
