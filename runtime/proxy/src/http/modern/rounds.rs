//! Requests of the protocol without sessions, and what is asked of clients on the way.
//!
//! A request that waits for a client's reply goes on behind the gateway; the state that
//! the client is given is a secret name for it, good for one reply by the same principal
//! to the same request, and not for long.

use crate::gateway::router::{About, Abouts};
use crate::http::modern::meta::Facts;
use crate::http::modern::results;
use crate::http::stream;
use crate::http::stream::Channel;
use crate::http::stream::{Receiver, Sender};
use crate::upstream::http::Repeats;
use bouncer_mcp::frame::{Frame, FrameReader, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc;
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::splice::splice;
use bouncer_system::random;
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::sleep;

/// Requests that wait for a reply at once.
const MAX_PARKED: usize = 256;
/// Streams of changes at once.
const MAX_SUBSCRIPTIONS: usize = 64;
/// How long an answer is kept after its question has timed out.
const LATE: Duration = Duration::from_secs(30);
/// A request that is under way.
struct Open {
    /// Nobody, while the client is asked something.
    sender: Option<Sender>,
    /// The state that the client was given, while it is asked something.
    state: Option<String>,
    /// How the client spelled its id, and its progress token.
    id: Vec<u8>,
    token: Option<Vec<u8>>,
    facts: Rc<Facts>,
    /// Its client said that it takes a task for an answer; when it was first made.
    takes_task: bool,
    digest: [u8; 32],
    /// Counts the requests, to tell which is the newest.
    number: u64,
}

/// A request whose client is asked something.
struct Parked {
    key: Key,
    questions: Vec<Question>,
    /// The answer, if it came first.
    answer: Option<Vec<u8>>,
}

/// A stream of changes.
struct Subscription {
    sender: Sender,
    id: Vec<u8>,
    kinds: Vec<&'static str>,
    resources: Vec<String>,
}

/// See the module.
pub(in super::super) struct Modern {
    count: Cell<u64>,
    open: RefCell<HashMap<Key, Open>>,
    parked: RefCell<HashMap<String, Parked>>,
    subscriptions: RefCell<Vec<Subscription>>,
    level: RefCell<Option<String>>,
    /// What the gateway said of itself.
    pub introduction: OnceCell<Value>,
    /// How long a client has to reply.
    patience: Duration,
    /// What questions are about, where that is known.
    abouts: Abouts,
    /// What calls have to say in headers, as far as the client has listed tools.
    pub repeats: RefCell<Repeats>,
    /// Questions that were asked together, until all have come.
    gathered: RefCell<HashMap<Key, Vec<Question>>>,
}

/// What is asked: the name, how the asker spelled its id, and the request.
type Question = (String, Vec<u8>, Value);

/// What a reply leads to.
pub(in super::super) enum Again {
    /// The request goes on.
    Waits(Receiver),
    /// This comes back at once.
    Now(Vec<u8>),
}

/// Why a reply is not taken.
pub(in super::super) struct Refusal(pub &'static str);

/// What is asked for by name in a filter, and the notification that it stands for.
const KINDS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    (
        "resourcesListChanged",
        "notifications/resources/list_changed",
    ),
];

impl Modern {
    pub(in super::super) fn new(patience: Duration) -> Self {
        Self {
            count: Cell::new(0),
            open: RefCell::default(),
            parked: RefCell::default(),
            subscriptions: RefCell::default(),
            level: RefCell::default(),
            introduction: OnceCell::new(),
            patience: patience + LATE,
            abouts: Abouts::default(),
            repeats: RefCell::default(),
            gathered: RefCell::default(),
        }
    }

    /// The same, with what is known of the questions that come.
    pub(in super::super) fn told_by(self, abouts: &Abouts) -> Self {
        Self {
            abouts: Rc::clone(abouts),
            ..self
        }
    }

    /// How many requests are open whose clients still wait.
    pub(in super::super) fn waiting(&self) -> usize {
        let open = self.open.borrow();
        let waits = |open: &&Open| open.sender.as_ref().is_some_and(Sender::is_open);
        open.values().filter(waits).count()
    }

    /// Whether a client listens for changes.
    pub(in super::super) fn listens(&self) -> bool {
        let subscriptions = self.subscriptions.borrow();
        subscriptions.iter().any(|of| of.sender.is_open())
    }

    /// An id that no other request of the conversation has.
    pub(in super::super) fn next_id(&self) -> String {
        self.count.set(self.count.get() + 1);
        format!("m{}", self.count.get())
    }

    /// Whether the servers have to be told of another level of logging.
    pub(in super::super) fn changes_level(&self, level: &str) -> bool {
        let mut known = self.level.borrow_mut();
        if known.as_deref() == Some(level) {
            return false;
        }
        *known = Some(level.to_owned());
        true
    }

    /// Opens a request under `inner`, one of [`Modern::next_id`].
    pub(in super::super) fn begin(
        self: &Rc<Self>,
        channel: &Rc<Channel>,
        inner: &str,
        (id, token): (&[u8], Option<&[u8]>),
        facts: Facts,
        digest: [u8; 32],
    ) -> Receiver {
        let key = Key::Text(inner.to_owned());
        let (sender, receiver) = stream::channel(&channel.queued);
        let open = Open {
            sender: Some(sender),
            state: None,
            id: id.to_vec(),
            token: token.map(<[u8]>::to_vec),
            takes_task: facts.takes_task(),
            facts: Rc::new(facts),
            digest,
            number: self.count.get(),
        };
        self.open.borrow_mut().insert(key.clone(), open);
        self.watched(channel, key, receiver)
    }

    /// A client that hangs up takes its request back.
    fn watched(self: &Rc<Self>, channel: &Rc<Channel>, key: Key, receiver: Receiver) -> Receiver {
        let (modern, channel) = (Rc::clone(self), Rc::downgrade(channel));
        receiver.when_left(move || {
            if modern.open.borrow_mut().remove(&key).is_none() {
                return;
            }
            modern.gathered.borrow_mut().remove(&key);
            if let (Some(channel), Key::Text(inner)) = (channel.upgrade(), key) {
                let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": inner, "reason": "the client hung up"}});
                channel.said.push(line.to_string().as_bytes());
            }
        })
    }

    /// Takes a reply to what was asked.
    pub(in super::super) fn again(
        self: &Rc<Self>,
        channel: &Rc<Channel>,
        state: &str,
        responses: &Map<String, Value>,
        (id, token): (&[u8], Option<&[u8]>),
        facts: Facts,
        digest: [u8; 32],
    ) -> Result<Again, Refusal> {
        // Whatever comes of it, the state has been used.
        let parked = self.parked.borrow_mut().remove(state);
        let parked = parked.ok_or(Refusal(
            "the `requestState` is not known: it was used already, is too old, or belongs to another conversation; make the request without it",
        ))?;
        let mut opened = self.open.borrow_mut();
        let same = match opened.get_mut(&parked.key) {
            Some(open) if open.digest == digest => {
                open.id = id.to_vec();
                open.token = token.map(<[u8]>::to_vec);
                open.facts = Rc::new(facts);
                open.state = None;
                true
            }
            Some(_) => false,
            // The answer came first.
            None => parked.answer.is_some(),
        };
        drop(opened);
        if !same {
            decline(channel, &parked.questions);
            return Err(Refusal(
                "the `requestState` belongs to another request: make that one again, without it",
            ));
        }
        let mut left = Vec::new();
        for (name, asker, request) in parked.questions {
            match responses.get(&name) {
                Some(response) => {
                    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
                    line.extend_from_slice(&asker);
                    line.extend_from_slice(format!(r#","result":{response}}}"#).as_bytes());
                    channel.said.push(&line);
                }
                None => left.push((name, asker, request)),
            }
        }
        if let Some(answer) = parked.answer {
            decline(channel, &left);
            return Ok(Again::Now(answer));
        }
        if !left.is_empty() {
            let line = self.park(channel, parked.key, left);
            return line
                .map(Again::Now)
                .ok_or(Refusal("too many requests wait for a reply"));
        }
        let (sender, receiver) = stream::channel(&channel.queued);
        if let Some(open) = self.open.borrow_mut().get_mut(&parked.key) {
            open.sender = Some(sender);
        }
        Ok(Again::Waits(self.watched(channel, parked.key, receiver)))
    }

    /// Lets a request wait for a reply; gives the answer that asks for it. `None`: there
    /// is no room, and whoever asks was told so.
    fn park(
        self: &Rc<Self>,
        channel: &Rc<Channel>,
        key: Key,
        questions: Vec<Question>,
    ) -> Option<Vec<u8>> {
        let state = random::secret().ok();
        let state = state.filter(|_| self.parked.borrow().len() < MAX_PARKED);
        let Some(state) = state else {
            decline(channel, &questions);
            return None;
        };
        let asked: Vec<(String, Value)> = questions
            .iter()
            .map(|(name, _, request)| (name.clone(), request.clone()))
            .collect();
        let line = {
            let mut opened = self.open.borrow_mut();
            let open = opened.get_mut(&key)?;
            open.state = Some(state.clone());
            results::questions(&open.id, &asked, &state)
        };
        let parked = Parked {
            key,
            questions,
            answer: None,
        };
        self.parked.borrow_mut().insert(state.clone(), parked);
        let (modern, channel) = (Rc::clone(self), Rc::downgrade(channel));
        tokio::task::spawn_local(async move {
            sleep(modern.patience).await;
            let parked = modern.parked.borrow_mut().remove(&state);
            if let (Some(parked), Some(channel)) = (parked, channel.upgrade()) {
                modern.open.borrow_mut().remove(&parked.key);
                decline(&channel, &parked.questions);
            }
        });
        Some(line)
    }

    /// Opens a stream of changes. Gives the acknowledgement, the stream, and the resources
    /// that the servers have to be asked about.
    pub(in super::super) fn subscribe(
        &self,
        channel: &Channel,
        id: &[u8],
        filter: &Map<String, Value>,
    ) -> Option<(Receiver, Vec<String>)> {
        let mut subscriptions = self.subscriptions.borrow_mut();
        subscriptions.retain(|of| of.sender.is_open());
        if subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return None;
        }
        let kinds: Vec<(&str, &str)> = KINDS
            .into_iter()
            .filter(|(name, _)| filter.get(*name) == Some(&Value::Bool(true)))
            .collect();
        let resources = filter
            .get("resourceSubscriptions")
            .and_then(Value::as_array);
        let resources: Vec<String> = resources
            .into_iter()
            .flatten()
            .filter_map(|uri| uri.as_str().map(str::to_owned))
            .take(MAX_PARKED)
            .collect();
        let mut honoured: Map<String, Value> = kinds
            .iter()
            .map(|(name, _)| ((*name).to_owned(), Value::Bool(true)))
            .collect();
        if !resources.is_empty() {
            honoured.insert("resourceSubscriptions".to_owned(), json!(resources));
        }
        let (sender, receiver) = stream::channel(&channel.queued);
        let subscription = Subscription {
            sender,
            id: id.to_vec(),
            kinds: kinds.into_iter().map(|(_, method)| method).collect(),
            resources: resources.clone(),
        };
        let params = json!({"notifications": honoured});
        subscription.tell("notifications/subscriptions/acknowledged", &params);
        subscriptions.push(subscription);
        Some((receiver, resources))
    }

    /// Nobody will say anything any more: streams of changes end as they should.
    pub(in super::super) fn end(&self) {
        for subscription in self.subscriptions.take() {
            let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
            line.extend_from_slice(&subscription.id);
            line.extend_from_slice(
                br#","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"#,
            );
            line.extend_from_slice(&subscription.id);
            line.extend_from_slice(b"}}}");
            subscription.sender.send(line, true);
        }
        self.open.take();
        self.parked.take();
    }

    /// Takes a line of the gateway.
    pub(in super::super) fn on_line(
        self: &Rc<Self>,
        channel: &Rc<Channel>,
        frames: &mut FrameReader,
        frame: &Frame<'_>,
        line: &[u8],
    ) {
        match (frame.method().and_then(text), frame.id()) {
            (None, Some(id)) => {
                if let Some(key) = Key::parse(id) {
                    self.on_answer(frames, &key, line);
                }
            }
            (Some(method), Some(id)) => self.on_question(channel, &method, frame.params(), id),
            (Some(method), None) => self.on_notification(frames, frame, &method, line),
            (None, None) => {}
        }
    }

    fn on_answer(&self, frames: &mut FrameReader, key: &Key, line: &[u8]) {
        self.gathered.borrow_mut().remove(key);
        let Some(open) = self.open.borrow_mut().remove(key) else {
            return;
        };
        let Some(answer) = results::answer(frames, line, &open.id, &open.facts, open.takes_task)
        else {
            return;
        };
        if open.facts.method == "tools/list"
            && let Some(result) = frames.read(&answer).ok().and_then(|frame| frame.result())
        {
            self.repeats.borrow_mut().note(result);
        }
        if let Some(sender) = open.sender {
            sender.send(answer, true);
        } else if let Some(state) = open.state
            && let Some(parked) = self.parked.borrow_mut().get_mut(&state)
        {
            parked.answer = Some(answer);
        }
    }

    fn on_question(
        self: &Rc<Self>,
        channel: &Rc<Channel>,
        method: &str,
        params: Option<&[u8]>,
        asker: &[u8],
    ) {
        if method == "ping" {
            let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
            line.extend_from_slice(asker);
            line.extend_from_slice(br#","result":{}}"#);
            return channel.said.push(&line);
        }
        let params = params.and_then(|raw| serde_json::from_slice::<Value>(raw).ok());
        let mut request = json!({"method": method});
        if let (Some(params), Some(request)) = (params, request.as_object_mut()) {
            request.insert("params".to_owned(), params);
        }
        let about = Key::number(asker).and_then(|number| self.abouts.borrow_mut().remove(&number));
        if let Some(about) = about {
            return self.on_related(channel, method, about, (asker.to_vec(), request));
        }
        let question = (self.next_id(), asker.to_vec(), request);
        let newest = |waits: bool| {
            let open = self.open.borrow();
            let fits = |open: &&Open| {
                open.facts.answers(method)
                    && match &open.sender {
                        Some(sender) => waits && sender.is_open(),
                        None => !waits,
                    }
            };
            let found = open.iter().filter(|(_, open)| fits(open));
            let found = found.max_by_key(|(_, open)| open.number);
            found.map(|(key, open)| (key.clone(), open.state.clone()))
        };
        if let Some((key, _)) = newest(true) {
            let sender = {
                let mut open = self.open.borrow_mut();
                open.get_mut(&key).and_then(|open| open.sender.take())
            };
            // Else who asks was told that it is not possible, and the request ends.
            if let (Some(line), Some(sender)) = (self.park(channel, key, vec![question]), sender) {
                sender.send(line, true);
            }
            return;
        }
        // A second question about a request whose client is asked already.
        if let Some((_, Some(state))) = newest(false)
            && let Some(parked) = self.parked.borrow_mut().get_mut(&state)
        {
            let taken = |name: &str| parked.questions.iter().any(|(other, _, _)| other == name);
            let (mut name, asker, request) = question;
            // Servers choose names too: a reply is for one question only.
            while taken(&name) {
                name = self.next_id();
            }
            return parked.questions.push((name, asker, request));
        }
        decline(channel, &[question]);
    }

    /// A question of which it is known what it is about. Those that belong together are
    /// put together.
    fn on_related(
        self: &Rc<Self>,
        channel: &Rc<Channel>,
        method: &str,
        About { key, name, of }: About,
        (asker, request): (Vec<u8>, Value),
    ) {
        let question = (name, asker, request);
        let waits = {
            let open = self.open.borrow();
            let open = open.get(&key).filter(|open| open.facts.answers(method));
            open.and_then(|open| open.sender.as_ref())
                .is_some_and(Sender::is_open)
        };
        if !waits {
            return decline(channel, &[question]);
        }
        let questions = {
            let mut gathered = self.gathered.borrow_mut();
            let questions = gathered.entry(key.clone()).or_default();
            questions.push(question);
            if questions.len() < of {
                return;
            }
            gathered.remove(&key).unwrap_or_default()
        };
        let sender = {
            let mut open = self.open.borrow_mut();
            open.get_mut(&key).and_then(|open| open.sender.take())
        };
        // Else who asks was told that it is not possible, and the request ends.
        if let (Some(line), Some(sender)) = (self.park(channel, key, questions), sender) {
            sender.send(line, true);
        }
    }

    fn on_notification(
        &self,
        frames: &mut FrameReader,
        frame: &Frame<'_>,
        method: &str,
        line: &[u8],
    ) {
        let mut member = |name| {
            frame
                .params()
                .and_then(|p| frames.members(p, [name]).ok()?[0])
        };
        match method {
            "notifications/progress" => {
                let raw = member("progressToken");
                let open = self.open.borrow();
                let open = raw.and_then(Key::parse).and_then(|key| open.get(&key));
                let told = open.and_then(|open| {
                    let line = splice(line, vec![(raw?, open.token.clone()?)])?;
                    Some((open.sender.as_ref()?, line))
                });
                if let Some((sender, line)) = told {
                    sender.send(line, false);
                }
            }
            "notifications/message" => {
                let open = self.open.borrow();
                let wants = open.values().filter(|open| open.facts.level.is_some());
                let newest = wants.max_by_key(|open| open.number);
                if let Some(sender) = newest.and_then(|open| open.sender.as_ref()) {
                    sender.send(line.to_vec(), false);
                }
            }
            "notifications/resources/updated" => {
                let uri = member("uri").and_then(text);
                for subscription in self.subscriptions.borrow().iter() {
                    if let Some(uri) = uri
                        .as_ref()
                        .filter(|uri| subscription.resources.contains(uri))
                    {
                        subscription.tell(method, &json!({"uri": uri}));
                    }
                }
            }
            _ => {
                for subscription in self.subscriptions.borrow().iter() {
                    if subscription.kinds.contains(&method) {
                        subscription.tell(method, &json!({}));
                    }
                }
            }
        }
    }
}

impl Subscription {
    fn tell(&self, method: &str, params: &Value) {
        let id = serde_json::from_slice::<Value>(&self.id).unwrap_or_default();
        let mut params = params.clone();
        if let Some(params) = params.as_object_mut() {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
            params.insert("_meta".to_owned(), meta);
        }
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.sender.send(line.to_string().into_bytes(), false);
    }
}

/// Tells whoever asks that nobody will reply.
fn decline(channel: &Channel, questions: &[Question]) {
    for (_, asker, _) in questions {
        let why = "the client does not reply";
        channel
            .said
            .push(&jsonrpc::error(asker, METHOD_NOT_FOUND, why, None));
    }
}
