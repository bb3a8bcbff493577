//! What people can look at while a gateway runs: the plan in force, and the servers and
//! tools of each conversation.
//!
//! The gateway writes, others read; nothing here decides anything. Copies, not
//! references: a reader on another thread holds up no call.

use bouncer_engine::gate::Surveyed;
use bouncer_plan::Plan;
use bouncer_system::log::visible;
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tools of one server that are shown.
const MAX_TOOLS: usize = 2000;
/// Characters of a description that are shown.
const MAX_DESCRIPTION: usize = 600;
/// For how long after a conversation began, and after somebody looked, the board is kept up to date between events.
const WATCHED: Duration = Duration::from_secs(15);

/// See the module. Clones share what they show.
#[derive(Clone, Debug, Default)]
pub struct Board {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    plan: Option<Plan>,
    /// Why the policy as it stands in its files is not the one in force.
    failure: Option<String>,
    conversations: BTreeMap<String, Vec<ServerSeen>>,
    looked: Option<Instant>,
}

/// A server behind the gateway.
#[derive(Clone, Debug, Serialize)]
struct ServerSeen {
    name: String,
    /// `starting`, `up` or `down`.
    state: &'static str,
    tools: Vec<ToolSeen>,
    /// How many tools are left out.
    more: usize,
}

/// A tool of it.
#[derive(Clone, Debug, Serialize)]
struct ToolSeen {
    #[serde(flatten)]
    standing: Surveyed,
    description: String,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another plan is in force.
    pub fn set_plan(&self, plan: Plan) {
        let mut state = self.state();
        state.plan = Some(plan);
        state.failure = None;
    }

    /// The policy changed, and what it is now cannot be taken over.
    pub(crate) fn set_failure(&self, why: &str) {
        self.state().failure = Some(visible(why));
    }

    /// The plan in force.
    #[must_use]
    pub fn plan(&self) -> Option<Plan> {
        self.state().plan.clone()
    }

    /// Why the policy as it stands in its files is not the one in force, if it is not.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    /// By conversation: its servers, and how their tools stand.
    #[must_use]
    pub fn conversations(&self) -> Value {
        let mut state = self.state();
        state.looked = Some(Instant::now());
        serde_json::to_value(&state.conversations).unwrap_or_default()
    }

    /// A place on the board for a conversation; it goes with the conversation.
    #[must_use]
    pub fn place(&self, conversation: &str) -> Place {
        Place {
            board: self.clone(),
            conversation: conversation.to_owned(),
            since: Instant::now(),
            shown: RefCell::default(),
        }
    }
}

/// Where one conversation shows its servers.
#[derive(Debug)]
pub struct Place {
    board: Board,
    conversation: String,
    since: Instant,
    /// What is shown: what is the same is not made anew.
    shown: RefCell<Vec<Standing>>,
}

/// A server's name, its state, and how its tools stand.
pub(crate) type Standing = (String, &'static str, Vec<Surveyed>);

impl Place {
    pub(crate) const fn board(&self) -> &Board {
        &self.board
    }

    /// Whether somebody looks, or may soon.
    pub(crate) fn is_watched(&self) -> bool {
        let looked = self.board.state().looked;
        self.since.elapsed() < WATCHED || looked.is_some_and(|looked| looked.elapsed() < WATCHED)
    }

    /// Shows servers that stand like this; `definition` gives that of a tool, by the
    /// places of both. With `anew`, definitions may have changed.
    pub(crate) fn show<'a>(
        &self,
        standing: Vec<Standing>,
        anew: bool,
        definition: impl Fn(usize, &str) -> Option<&'a [u8]>,
    ) {
        if !anew && *self.shown.borrow() == standing {
            return;
        }
        let servers = standing
            .iter()
            .enumerate()
            .map(|(index, (name, state, tools))| {
                ServerSeen::new(name, state, tools, |tool| definition(index, tool))
            });
        let servers = servers.collect();
        let name = self.conversation.clone();
        self.board.state().conversations.insert(name, servers);
        *self.shown.borrow_mut() = standing;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.board.state();
        state.conversations.remove(&self.conversation);
    }
}

impl ServerSeen {
    /// A server whose tools have these definitions; `standing` is in their order.
    fn new<'a>(
        name: &str,
        state: &'static str,
        standing: &[Surveyed],
        definition: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Self {
        let more = standing.len().saturating_sub(MAX_TOOLS);
        let tools = standing.iter().take(MAX_TOOLS).map(|standing| {
            let description = definition(&standing.name)
                .and_then(|raw| serde_json::from_slice::<Described>(raw).ok())
                .and_then(|described| described.description)
                .unwrap_or_default();
            ToolSeen {
                description: description.chars().take(MAX_DESCRIPTION).collect(),
                standing: standing.clone(),
            }
        });
        Self {
            name: name.to_owned(),
            state,
            tools: tools.collect(),
            more,
        }
    }
}

#[derive(serde::Deserialize)]
struct Described {
    description: Option<String>,
}
