//! What all sessions of one conversation share beside the gate: the log, approvals, counters,
//! and where people look.

use crate::approval::out_of_band::Desk;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::Place;
use bouncer_audit::Audit;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What all servers of one conversation write down together.
#[derive(Debug)]
pub(crate) struct Office {
    pub audit: RefCell<Audit>,
    /// Where humans approve out of band.
    pub desk: Option<Desk>,
    pub metrics: Metrics,
    /// Where people see the servers of this conversation.
    pub place: Option<Place>,
    calls: Cell<u64>,
}

impl Office {
    #[cfg(test)]
    pub(crate) fn new(audit: Audit, desk: Option<Desk>) -> Rc<Self> {
        Self::counted(audit, desk, Metrics::default(), None)
    }

    /// An office whose lines are counted, and that people can look into.
    pub(crate) fn counted(
        audit: Audit,
        desk: Option<Desk>,
        metrics: Metrics,
        place: Option<Place>,
    ) -> Rc<Self> {
        Rc::new(Self {
            audit: RefCell::new(audit),
            desk,
            metrics,
            place,
            calls: Cell::new(0),
        })
    }

    /// The number of the next call, from 1.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.set(self.calls.get() + 1);
        self.calls.get()
    }
}
