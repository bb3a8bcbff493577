//! Approvals given out of band: what a human decided in another process, and where to
//! put what a human still has to decide.
//!
//! Without a store, or with one that fails, nothing is approved.

use crate::conversation::call::Case;
use bouncer_engine::gate::{Approvable, VerdictRecord};
use bouncer_store::approvals::{Key, Request, Store, StoreError, Subject};
use bouncer_system::log::{note, visible};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Arguments longer than this, in bytes, are more than a human would read.
const MAX_ARGUMENTS: usize = 256 * 1024;

/// Calls that wait for a human and are remembered here, at most.
const MAX_FILED: usize = 1000;

/// The store, and what every request of this proxy has in common.
#[derive(Debug)]
pub struct Desk {
    store: Store,
    conversation: String,
    plan: RefCell<Rc<str>>,
    /// By the key of the whole call: what a human was asked about.
    filed: RefCell<HashMap<Key, Key>>,
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
#[derive(Debug)]
pub(crate) struct Held {
    id: String,
    key: Key,
    /// Until the conversation ends, not only once.
    lasting: bool,
}

impl Held {
    /// The id of the request that was approved.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Desk {
    /// A desk over the store that the command line shares, for the `conversation` of one
    /// proxy and the plan with this digest.
    #[must_use]
    pub fn new(store: Store, conversation: String, plan: String) -> Self {
        Self {
            store,
            conversation,
            plan: RefCell::new(plan.into()),
            filed: RefCell::default(),
        }
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
    pub(crate) fn comes_back(&self, server: Option<&str>, case: &Case<'_>) -> bool {
        if self.filed.borrow().is_empty() {
            return false;
        }
        let Some(call) = self.whole_call(server, case) else {
            return false;
        };
        let Some(key) = self.filed.borrow().get(&call).copied() else {
            return false;
        };
        let approved = self.approval(key).is_some();
        if approved {
            self.filed.borrow_mut().remove(&call);
        }
        approved
    }

    /// The approval that holds for `key`: for the whole conversation, else for once.
    fn approval(&self, key: Key) -> Option<Held> {
        let held = |lasting| move |id| Held { id, key, lasting };
        let lasting = self.store.lasting(&key, &self.conversation);
        let found = lasting.and_then(|found| match found {
            Some(id) => Ok(Some(held(true)(id))),
            None => Ok(self.store.approved(&key)?.map(held(false))),
        });
        found.unwrap_or_else(|error| {
            complain(&error);
            None
        })
    }

    /// The key of a call as a whole.
    fn whole_call(&self, server: Option<&str>, case: &Case<'_>) -> Option<Key> {
        if too_large(case) {
            return None;
        }
        let plan = self.plan();
        let request = Request {
            plan: &plan,
            conversation: &self.conversation,
            server,
            tool: case.call.tool(),
            arguments: case.call.arguments(),
            subject: Subject::Call,
            reason: "",
            at: None,
            grounds: None,
        };
        request.key().ok()
    }

    fn request<'a>(
        &'a self,
        plan: &'a str,
        server: Option<&'a str>,
        case: &'a Case<'_>,
        asked: &'a VerdictRecord,
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
            tool: case.call.tool(),
            arguments: case.call.arguments(),
            subject,
            reason: &asked.reason,
            at: asked.at.as_deref(),
            grounds: asked.grounds.as_ref(),
        })
    }

    /// The approval that lifts what was asked, if there is one.
    pub(crate) fn held(
        &self,
        server: Option<&str>,
        case: &Case<'_>,
        asked: &VerdictRecord,
    ) -> Option<Held> {
        if too_large(case) {
            return None;
        }
        let plan = self.plan();
        let request = self.request(&plan, server, case, asked)?;
        match request.key() {
            Ok(key) => self.approval(key),
            Err(error) => {
                complain(&error);
                None
            }
        }
    }

    /// Uses an approval, up if it is for once; `false` if somebody else did, or it does
    /// not hold any more.
    pub(crate) fn take(&self, held: &Held) -> bool {
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
        case: &Case<'_>,
        asked: &VerdictRecord,
    ) -> Result<String, NotAsked> {
        let unshown = || {
            let why = "a human has to approve it, but it is too large to be shown";
            NotAsked::Cannot(why.to_owned())
        };
        if too_large(case) {
            return Err(unshown());
        }
        let plan = self.plan();
        let request = self
            .request(&plan, server, case, asked)
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
        if let (Some(call), Ok(key)) = (self.whole_call(server, case), request.key()) {
            let mut filed = self.filed.borrow_mut();
            // Who is forgotten is counted once more, no worse.
            if filed.len() < MAX_FILED {
                filed.insert(call, key);
            }
        }
        Ok(id)
    }
}

/// Whether nobody is ever asked about these arguments, so that none can have an approval.
fn too_large(case: &Case<'_>) -> bool {
    let arguments = case.call.arguments();
    arguments.is_some_and(|raw| raw.len() > MAX_ARGUMENTS)
}

/// With the conversation ends what was approved for as long as it lasts.
impl Drop for Desk {
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
