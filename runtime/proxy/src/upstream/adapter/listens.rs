//! Streams of changes: one for lists, and one for the resources that the client wants to
//! hear of. What ends is opened again.

use crate::upstream::adapter::Interpreter;
use crate::upstream::adapter::answers::number;
use bouncer_mcp::version::SUBSCRIPTION_META;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// Resources that one client hears of.
const MAX_RESOURCES: usize = 1024;
/// Their names together, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The longest pause before a stream is opened again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What can be listened for: what servers call it, and the notification.
const KINDS: [(&str, &str, &str); 3] = [
    (
        "tools",
        "toolsListChanged",
        "notifications/tools/list_changed",
    ),
    (
        "prompts",
        "promptsListChanged",
        "notifications/prompts/list_changed",
    ),
    (
        "resources",
        "resourcesListChanged",
        "notifications/resources/list_changed",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Lists,
    Resources,
}

#[derive(Debug)]
struct Listen {
    what: What,
    since: Instant,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Listens {
    /// Those of [`KINDS`] that the server offers.
    kinds: Vec<(&'static str, &'static str)>,
    resources: BTreeSet<String>,
    open: BTreeMap<u64, Listen>,
    pauses: [Duration; 2],
    /// The first stream has been opened: what comes later may have missed something.
    listened: bool,
    over: bool,
}

impl Listens {
    pub(super) fn new(capabilities: &Value) -> Self {
        let offered = |(of, _, _): &(&str, &str, &str)| {
            capabilities.pointer(&format!("/{of}/listChanged")) == Some(&Value::Bool(true))
        };
        let kinds = KINDS.into_iter().filter(offered);
        Self {
            kinds: kinds.map(|(_, name, method)| (name, method)).collect(),
            resources: BTreeSet::new(),
            open: BTreeMap::new(),
            pauses: [Duration::ZERO; 2],
            listened: false,
            over: false,
        }
    }

    pub(super) fn is_open(&self, number: u64) -> bool {
        self.open.contains_key(&number)
    }

    /// Whether the client wants to hear of a resource.
    pub(super) fn wants(&self, uri: &str) -> bool {
        self.resources.contains(uri)
    }

    fn pause(&mut self, what: What) -> Option<&mut Duration> {
        self.pauses.get_mut(what as usize)
    }
}

impl Interpreter {
    /// The client is done with its introduction.
    pub(super) fn start_listening(self: &Rc<Self>) {
        if !self.listens.borrow().listened {
            self.listen(What::Lists);
        }
    }

    /// Takes a resource to those that the client hears of, or from them.
    pub(super) fn subscribe(self: &Rc<Self>, uri: &str, wanted: bool) -> Result<(), &'static str> {
        let changed = {
            let listens = &mut *self.listens.borrow_mut();
            let resources = &mut listens.resources;
            if wanted {
                let bytes: usize = resources.iter().map(String::len).sum();
                if resources.len() >= MAX_RESOURCES || bytes + uri.len() > MAX_BYTES {
                    return Err("too many resources are subscribed to");
                }
                resources.insert(uri.to_owned())
            } else {
                resources.remove(uri)
            }
        };
        if changed {
            self.listen(What::Resources);
        }
        Ok(())
    }

    fn listen(self: &Rc<Self>, what: What) {
        let number = self.next_number();
        let (filter, older) = {
            let listens = &mut *self.listens.borrow_mut();
            let mut filter = Map::new();
            match what {
                What::Lists => {
                    for (name, _) in &listens.kinds {
                        filter.insert((*name).to_owned(), Value::Bool(true));
                    }
                }
                What::Resources if listens.resources.is_empty() => {}
                What::Resources => {
                    let resources = json!(listens.resources);
                    filter.insert("resourceSubscriptions".to_owned(), resources);
                }
            }
            // A stream that takes another's place is opened before that ends: nothing
            // gets lost between them.
            let older: Vec<u64> = listens
                .open
                .iter()
                .filter(|(_, listen)| listen.what == what)
                .map(|(&number, _)| number)
                .collect();
            if listens.over {
                return;
            }
            if !filter.is_empty() {
                let since = Instant::now();
                listens.open.insert(number, Listen { what, since });
            }
            (filter, older)
        };
        if filter.is_empty() {
            return self.close(&older);
        }
        let line = json!({"jsonrpc": "2.0", "id": number, "method": "subscriptions/listen",
            "params": {"_meta": self.speaker.meta(None), "notifications": filter}});
        self.up.push(line.to_string().as_bytes());
    }

    fn close(&self, numbers: &[u64]) {
        for number in numbers {
            self.listens.borrow_mut().open.remove(number);
            self.cancel_upstream(*number);
        }
    }

    /// A stream is open: older ones of its kind are not needed any more.
    pub(super) fn on_acknowledged(&self, meta: &Value) {
        let id = meta.get(SUBSCRIPTION_META).map(Value::to_string);
        let Some(number) = id.and_then(|id| number(id.as_bytes())) else {
            return;
        };
        let (older, missed) = {
            let listens = &mut *self.listens.borrow_mut();
            let Some(what) = listens.open.get(&number).map(|listen| listen.what) else {
                return;
            };
            let older: Vec<u64> = listens
                .open
                .iter()
                .filter(|(other, listen)| listen.what == what && **other < number)
                .map(|(&number, _)| number)
                .collect();
            let again = what == What::Lists && std::mem::replace(&mut listens.listened, true);
            (
                older,
                if again {
                    listens.kinds.clone()
                } else {
                    Vec::new()
                },
            )
        };
        self.close(&older);
        for (_, method) in missed {
            let line = json!({"jsonrpc": "2.0", "method": method});
            self.down.push(line.to_string().as_bytes());
        }
    }

    /// A stream has ended; it may be worth opening it again.
    pub(super) fn on_listen_ended(self: &Rc<Self>, number: u64, again: bool) {
        let (what, pause) = {
            let listens = &mut *self.listens.borrow_mut();
            let Some(ended) = listens.open.remove(&number) else {
                return;
            };
            let what = ended.what;
            let replaced = listens.open.values().any(|listen| listen.what == what);
            if replaced || !again {
                return;
            }
            let first = self.manner.pace.first_pause;
            let Some(pause) = listens.pause(what) else {
                return;
            };
            *pause = if ended.since.elapsed() > LONGEST_PAUSE || pause.is_zero() {
                first
            } else {
                (*pause * 2).min(LONGEST_PAUSE)
            };
            (what, *pause)
        };
        self.later(pause, move |this| {
            let open = this.listens.borrow().open.values().any(|l| l.what == what);
            if !open {
                this.listen(what);
            }
        });
    }

    /// The client has left: what is listened to ends.
    pub(super) fn stop_listening(&self) {
        let open: Vec<u64> = {
            let mut listens = self.listens.borrow_mut();
            listens.over = true;
            listens.open.keys().copied().collect()
        };
        self.close(&open);
    }
}
