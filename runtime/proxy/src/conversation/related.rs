//! Which request of the client a question belongs to, for those who pass questions on.

use bouncer_mcp::id::Key;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// What a question of the server is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Related {
    /// The id of the client's request that it belongs to.
    pub request: Key,
    /// What the server calls it.
    pub name: String,
    /// How many questions were asked together.
    pub of: usize,
}

/// Open questions by their ids, for those who pass them on. Nothing that a server says can
/// get in here by itself.
pub(crate) type Questions = Rc<RefCell<HashMap<String, Related>>>;
