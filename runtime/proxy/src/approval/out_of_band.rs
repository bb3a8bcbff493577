//! Approvals given out of band: what a human decided in another process, and where to
//! put what a human still has to decide.
//!
//! Without a store, or with one that fails, nothing is approved.

use crate::conversation::call::CallContext;
use bouncer_engine::gate::{Approvable, VerdictRecord};
use bouncer_store::approvals::{Around, Choice, Key, Request, Store, StoreError, Subject};
use bouncer_system::log::{note, visible};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The longest arguments that are kept for a human, in bytes.
const MAX_ARGUMENTS: usize = 8 * 1024 * 1024;

/// Calls that wait for a human and are remembered here, at most.
const MAX_FILED: usize = 1000;

/// The store, and what every request of this proxy has in common.
#[derive(Debug)]
pub struct Approvals {
    /// One for all conversations of the process.
    store: Rc<Store>,
    conversation: String,
    plan: RefCell<Rc<str>>,
    /// By the key of the whole call: what a human was asked about, once and for the
    /// conversation.
    filed: RefCell<HashMap<Key, [Key; 2]>>,
    /// The client, as it calls itself.
    client: RefCell<Option<String>>,
}

/// Why a call does not wait for a human.
#[derive(Debug)]
pub(crate) enum NotAsked {
    /// One has declined the same a little earlier.
    Declined(String),
    /// It cannot be put before one.
    Cannot(String),
}

/// An approval that holds, and is not used up.
#[derive(Clone, Debug)]
pub(crate) struct GrantedApproval {
    id: String,
    key: Key,
    /// Until the conversation ends, not only once.
    lasting: bool,
}

impl GrantedApproval {
    /// The id of the request that was approved.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Approvals {
    /// Approvals over the store that the command line shares, for the `conversation` of one
    /// proxy and the plan with this digest.
    #[must_use]
    pub fn new(store: Rc<Store>, conversation: String, plan: String) -> Self {
        Self {
            store,
            conversation,
            plan: RefCell::new(plan.into()),
            filed: RefCell::default(),
            client: RefCell::default(),
        }
    }

    /// Says who the client is, as it calls itself.
    pub(crate) fn set_client(&self, name: Option<String>) {
        *self.client.borrow_mut() = name;
    }

    /// The client, as it calls itself.
    pub(crate) fn client(&self) -> Option<String> {
        self.client.borrow().clone()
    }

    /// Decides a request that a human answered elsewhere: in the client's form.
    pub(crate) fn decided(&self, id: &str, choice: Choice) -> bool {
        let decided = self.store.decide(id, choice);
        if let Err(error) = &decided {
            let error = error.to_string();
            note(format_args!("{}", visible(&error)));
        }
        decided.is_ok()
    }

    /// Another plan judges from now on: what was approved under the one before does not
    /// hold under it.
    pub(crate) fn set_plan(&self, digest: String) {
        *self.plan.borrow_mut() = digest.into();
        self.filed.borrow_mut().clear();
        // Not even when the plan before comes back.
        if let Err(error) = self.store.end(&self.conversation) {
            complain(&error);
        }
    }

    fn plan(&self) -> Rc<str> {
        Rc::clone(&self.plan.borrow())
    }

    /// Whether this is a call again that was put before a human, who has approved it
    /// since: such a call was counted already.
    pub(crate) fn comes_back(&self, server: Option<&str>, context: &CallContext<'_>) -> bool {
        if self.filed.borrow().is_empty() {
            return false;
        }
        let Some(call) = self.whole_call(server, context) else {
            return false;
        };
        let Some(keys) = self.filed.borrow().get(&call).copied() else {
            return false;
        };
        let approved = self.approval(keys).is_some();
        if approved {
            self.filed.borrow_mut().remove(&call);
        }
        approved
    }

    /// The approval that holds: for the whole conversation, else for once.
    fn approval(&self, [once, lasting]: [Key; 2]) -> Option<GrantedApproval> {
        let held = |key, lasting| move |id| GrantedApproval { id, key, lasting };
        let found = self.store.lasting(&lasting, &self.conversation);
        let found = found.and_then(|found| match found {
            Some(id) => Ok(Some(held(lasting, true)(id))),
            None => Ok(self.store.approved(&once)?.map(held(once, false))),
        });
        found.unwrap_or_else(|error| {
            complain(&error);
            None
        })
    }

    /// The key of a call as a whole.
    fn whole_call(&self, server: Option<&str>, context: &CallContext<'_>) -> Option<Key> {
        if too_large(context) {
            return None;
        }
        let plan = self.plan();
        let request = Request {
            plan: &plan,
            conversation: &self.conversation,
            server,
            tool: context.call.tool(),
            arguments: context.call.arguments(),
            shown: "",
            subject: Subject::Call,
            reason: "",
            at: None,
            grounds: None,
            around: &Around::default(),
        };
        request.key().ok()
    }

    fn request<'a>(
        &'a self,
        plan: &'a str,
        server: Option<&'a str>,
        context: &'a CallContext<'_>,
        asked: &'a VerdictRecord,
        (shown, around): (&'a str, &'a Around),
    ) -> Option<Request<'a>> {
        let subject = match &asked.approvable {
            Approvable::Never => return None,
            Approvable::ThisCall => Subject::Call,
            Approvable::Destination(unvouched) => Subject::Destination {
                param: &unvouched.param,
                destination: &unvouched.destination,
            },
        };
        Some(Request {
            plan,
            conversation: &self.conversation,
            server,
            tool: context.call.tool(),
            arguments: context.call.arguments(),
            shown,
            subject,
            reason: &asked.reason,
            at: asked.at.as_deref(),
            grounds: asked.grounds.as_ref(),
            around,
        })
    }

    /// The approval that lifts what was asked, if there is one.
    pub(crate) fn held(
        &self,
        server: Option<&str>,
        context: &CallContext<'_>,
        asked: &VerdictRecord,
    ) -> Option<GrantedApproval> {
        if too_large(context) {
            return None;
        }
        let plan = self.plan();
        let around = Around::default();
        let request = self.request(&plan, server, context, asked, ("", &around))?;
        match keys(&request) {
            Ok(keys) => self.approval(keys),
            Err(error) => {
                complain(&error);
                None
            }
        }
    }

    /// Uses an approval, up if it is for once; `false` if somebody else did, or it does
    /// not hold any more.
    pub(crate) fn take(&self, held: &GrantedApproval) -> bool {
        let (id, key) = (&held.id, &held.key);
        let taken = if held.lasting {
            self.store.use_lasting(id, key, &self.conversation)
        } else {
            self.store.take(id, key)
        };
        taken.unwrap_or_else(|error| {
            complain(&error);
            false
        })
    }

    /// Puts what was asked before a human, and returns the id of the request.
    pub(crate) fn ask(
        &self,
        server: Option<&str>,
        context: &CallContext<'_>,
        asked: &VerdictRecord,
    ) -> Result<String, NotAsked> {
        let unshown = || {
            let why = "a human has to approve it, but it is too large to be kept for one";
            NotAsked::Cannot(why.to_owned())
        };
        if too_large(context) {
            return Err(unshown());
        }
        let plan = self.plan();
        let arguments = context.call.arguments().unwrap_or(b"{}");
        let (shown, redacted) = bouncer_audit::redacted(arguments);
        let shown = String::from_utf8(shown).map_err(|_| unshown())?;
        let around = Around {
            client: self.client(),
            read: asked.read.clone(),
            redacted,
        };
        let request = self
            .request(&plan, server, context, asked, (&shown, &around))
            .ok_or_else(unshown)?;
        let id = self.store.ask(&request).map_err(|error| match error {
            StoreError::Denied(_) => NotAsked::Declined(error.to_string()),
            _ => {
                complain(&error);
                NotAsked::Cannot(format!(
                    "a human has to approve it, and it cannot be put before one ({error})"
                ))
            }
        })?;
        if let (Some(call), Ok(keys)) = (self.whole_call(server, context), keys(&request)) {
            let mut filed = self.filed.borrow_mut();
            // Who is forgotten is counted once more, no worse.
            if filed.len() < MAX_FILED {
                filed.insert(call, keys);
            }
        }
        Ok(id)
    }
}

/// What an approval of a request is bound to: for once, and for the conversation.
fn keys(request: &Request<'_>) -> Result<[Key; 2], StoreError> {
    Ok([request.key()?, request.lasting_key()?])
}

/// Whether nobody is ever asked about these arguments, so that none can have an approval.
fn too_large(context: &CallContext<'_>) -> bool {
    let arguments = context.call.arguments();
    arguments.is_some_and(|raw| raw.len() > MAX_ARGUMENTS)
}

/// With the conversation ends what was approved for as long as it lasts.
impl Drop for Approvals {
    fn drop(&mut self) {
        if let Err(error) = self.store.end(&self.conversation) {
            complain(&error);
        }
    }
}

fn complain(error: &StoreError) {
    let error = error.to_string();
    note(format_args!("{}", visible(&error)));
}
