//! How far the listing of a server's tools is.

use bouncer_engine::tools::ToolDefinition;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use tokio::sync::watch;

/// How far the listing is.
#[derive(Debug, Default)]
pub(crate) struct ToolListing {
    pub running: Cell<bool>,
    /// The tools changed while they were being listed.
    pub again: Cell<bool>,
    pub pinned: Cell<bool>,
    /// What the client was shown before the tools were pinned.
    pub shown: RefCell<Vec<ToolDefinition>>,
    /// The tools of which people were told that they are not as accepted.
    pub told: RefCell<HashSet<String>>,
    /// Counts listings that came to an end.
    pub ended: watch::Sender<u64>,
}

impl ToolListing {
    /// Whether the tools are pinned.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned.get()
    }

    /// Whether what is known of the tools may be out of date: they are not pinned, or
    /// said to have changed and not listed again yet.
    pub(crate) fn is_stale(&self) -> bool {
        !self.pinned.get() || self.running.get()
    }

    /// There is no server that could list anything.
    pub(crate) fn settle(&self) {
        self.pinned.set(true);
    }

    /// Waits for the end of the listing under way.
    pub(crate) async fn end(&self) {
        let mut ended = self.ended.subscribe();
        ended.mark_unchanged();
        if self.running.get() {
            let _ = ended.changed().await;
        }
    }
}
