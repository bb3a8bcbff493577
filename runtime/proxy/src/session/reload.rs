//! A changed policy, or changed accepted tools, while calls fly.
//!
//! Somebody else watches files and makes plans of them; here one takes the place of the
//! other between two calls. What does not load changes nothing.

use crate::conversation::gated::Session;
use crate::session::context::Office;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_system::log::{note, visible};
use serde_json::Value;
use std::rc::Rc;
use tokio::sync::mpsc;

/// What a watcher of files found.
#[derive(Clone, Debug)]
pub enum Change {
    /// Another plan, to judge by from now on.
    Plan(Box<Plan>),
    /// Other accepted tools.
    Lock(Lock),
    /// The files changed, and do not make a plan or a lock: why.
    Failed(String),
}

/// Where changes come from.
#[derive(Debug)]
pub struct Changes(mpsc::UnboundedReceiver<Change>);

/// Where changes are reported.
#[derive(Clone, Debug)]
pub struct Watcher(mpsc::UnboundedSender<Change>);

/// A way for changes into a proxy or a gateway. While one has it, SIGHUP does not end it:
/// the watcher is expected to look again then.
#[must_use]
pub fn changes() -> (Watcher, Changes) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Watcher(sender), Changes(receiver))
}

impl Changes {
    /// The next change; `None`: there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Change> {
        self.0.recv().await
    }
}

impl Watcher {
    /// Reports a change; `false`: nobody listens any more.
    #[must_use]
    pub fn report(&self, change: Change) -> bool {
        self.0.send(change).is_ok()
    }

    /// Whether somebody listens.
    pub(crate) fn is_heard(&self) -> bool {
        !self.0.is_closed()
    }
}

/// Takes over changes as they come. `then` runs after each that took effect.
pub(crate) async fn follow(
    mut changes: Changes,
    session: Session,
    office: Rc<Office>,
    then: impl Fn(),
) {
    while let Some(change) = changes.next().await {
        if take(change, &session, &office) {
            then();
        }
    }
}

/// Takes one change over; `true` if it took effect.
pub(crate) fn take(change: Change, session: &Session, office: &Office) -> bool {
    let (event, reason, more): (_, _, Vec<(&str, Value)>) = match change {
        Change::Plan(plan) => {
            let (before, now) = (session.plan_digest(), plan.short_digest());
            let digest: String = plan.digest().iter().map(|b| format!("{b:02x}")).collect();
            if session.reload(*plan).is_err() {
                let why = "the new plan's tables contradict themselves; the one before goes on";
                (false, why.to_owned(), Vec::new())
            } else {
                office.audit.borrow_mut().set_plan(&now);
                if let Some(desk) = &office.desk {
                    desk.set_plan(digest);
                }
                if let Some(place) = &office.place {
                    place.board().set_plan(session.plan());
                }
                let why = format!("plan {now} judges from now on, in the place of {before}");
                (true, why, vec![("before", before.into())])
            }
        }
        Change::Lock(lock) => {
            let why = format!("{} accepted tools were read anew", lock.tools.len());
            session.accept(lock);
            (true, why, Vec::new())
        }
        Change::Failed(why) => (
            false,
            format!("{why}; what was in force before goes on"),
            Vec::new(),
        ),
    };
    note(format_args!("{}", visible(&reason)));
    if let Some(place) = office.place.as_ref().filter(|_| !event) {
        place.board().set_failure(&reason);
    }
    office.metrics.plan(&session.plan_digest());
    office.metrics.reload(event);
    let word = if event { "reloaded" } else { "reload_failed" };
    let written = office.audit.borrow_mut().event(word, &reason, &more);
    if let Err(error) = written {
        // No call goes out without a line of its own, and those name the plan.
        office.metrics.audit_error();
        let error = error.to_string();
        note(format_args!(
            "the audit log cannot be written: {}",
            visible(&error)
        ));
    }
    event
}
