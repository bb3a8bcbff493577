//! What all sessions of one conversation share beside the gate: the log, approvals, counters,
//! and where people look.

use crate::approval::out_of_band::Approvals;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::ConversationStatus;
use bouncer_audit::Audit;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What all servers of one conversation write down together.
#[derive(Debug)]
pub(crate) struct ConversationRecords {
    pub audit: RefCell<Audit>,
    /// Where humans approve out of band.
    pub approvals: Option<Approvals>,
    pub metrics: Metrics,
    /// Where people see the servers of this conversation.
    pub status: Option<ConversationStatus>,
    calls: Cell<u64>,
}

impl ConversationRecords {
    #[cfg(test)]
    pub(crate) fn new(audit: Audit, approvals: Option<Approvals>) -> Rc<Self> {
        Self::counted(audit, approvals, Metrics::default(), None)
    }

    /// Records whose lines are counted, and that people can look into.
    pub(crate) fn counted(
        audit: Audit,
        approvals: Option<Approvals>,
        metrics: Metrics,
        status: Option<ConversationStatus>,
    ) -> Rc<Self> {
        Rc::new(Self {
            audit: RefCell::new(audit),
            approvals,
            metrics,
            status,
            calls: Cell::new(0),
        })
    }

    /// The number of the next call, from 1.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.set(self.calls.get() + 1);
        self.calls.get()
    }
}
