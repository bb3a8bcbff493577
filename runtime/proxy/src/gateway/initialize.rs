//! The introduction: the gateway answers the client by itself, and introduces the client
//! to every server.

use crate::conversation::envelope::Id;
use crate::conversation::judge::Judge;
use crate::gateway::introduction::Hello;
use crate::gateway::router::{Front, Member, State};
use bouncer_mcp::jsonrpc::{INVALID_PARAMS, INVALID_REQUEST};
use bouncer_mcp::version::TASKS;
use bouncer_mcp::version::TASKS_EXTENSION;
use bouncer_system::log::{note, quoted};
use serde_json::{Map, Value, json};
use std::rc::Rc;
use tokio::time::Instant;

use bouncer_mcp::version::VERSIONS;

impl<J: Judge + 'static> Front<J> {
    /// Takes the client's `initialize`.
    pub(crate) fn on_initialize(self: &Rc<Self>, id: &Id<'_>, params: Option<&[u8]>) {
        if self.hello.borrow().is_some() {
            let why = "the client has introduced itself already";
            return self.answer_error(id.raw, INVALID_REQUEST, why);
        }
        let params: Option<Value> = params.and_then(|raw| serde_json::from_slice(raw).ok());
        let Some(hello) = params.as_ref().and_then(Hello::new) else {
            let why = "`initialize` needs `protocolVersion` and `capabilities`";
            return self.answer_error(id.raw, INVALID_PARAMS, why);
        };
        let version = hello.version;
        let now = Instant::now();
        self.lists_until.set(Some(now + self.patience.lists));
        self.hello.send_replace(Some(Rc::new(hello)));
        self.routes.borrow_mut().start_answering(&id.key);
        let (front, raw, key) = (Rc::clone(self), id.raw.to_vec(), id.key.clone());
        tokio::task::spawn_local(async move {
            let until = now + front.patience.hello;
            let starting = |member: &Rc<Member>| member.state.get() == State::Starting;
            front
                .wait(until, || !front.members.iter().any(starting))
                .await;
            let result = front.introduction(version).to_string();
            front.end_answering((&raw, &key), Ok(result.as_bytes()));
        });
    }

    /// What the gateway says about itself. Servers that have not said yet what they can
    /// do may turn out to do everything.
    fn introduction(&self, version: &str) -> Value {
        let members = || self.members.iter();
        let late =
            members().any(|member| matches!(member.state.get(), State::Starting | State::Down));
        let any = |what: &str| late || members().any(|member| member.offers(what));
        let mut capabilities = Map::new();
        capabilities.insert("tools".to_owned(), json!({"listChanged": true}));
        if any("resources") {
            let options = json!({"listChanged": true, "subscribe": true});
            capabilities.insert("resources".to_owned(), options);
        }
        if any("prompts") {
            capabilities.insert("prompts".to_owned(), json!({"listChanged": true}));
        }
        for plain in ["logging", "completions"] {
            if any(plain) {
                capabilities.insert(plain.to_owned(), json!({}));
            }
        }
        // Earlier versions have none.
        if VERSIONS.first() == Some(&version) && any("tasks/requests/tools/call") {
            let mut tasks = json!({"list": {}, "requests": {"tools": {"call": {}}}});
            if let (true, Some(tasks)) = (any("tasks/cancel"), tasks.as_object_mut()) {
                tasks.insert("cancel".to_owned(), json!({}));
            }
            capabilities.insert("tasks".to_owned(), tasks);
        }
        // What makes tasks for clients without sessions.
        if self.sessionless.get() && any(TASKS_EXTENSION) {
            capabilities.insert("extensions".to_owned(), json!({TASKS: {}}));
        }
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": {"name": "bouncer", "version": env!("CARGO_PKG_VERSION")},
        });
        let instructions: Vec<String> = members()
            .filter_map(|member| {
                let greeting = member.greeting.borrow();
                let text = greeting.get("instructions")?.as_str()?;
                Some(format!("Server {}:\n{text}", quoted(&member.name, 200)))
            })
            .collect();
        if let (false, Some(result)) = (instructions.is_empty(), result.as_object_mut()) {
            let all = instructions.join("\n\n");
            result.insert("instructions".to_owned(), all.into());
        }
        result
    }

    /// Introduces the client to a server, and lists what the server has. `false`: it
    /// is no use.
    pub(crate) async fn greet(self: &Rc<Self>, member: &Rc<Member>) -> bool {
        let mut hello = self.hello.subscribe();
        let params = match hello.wait_for(Option::is_some).await {
            Ok(hello) => hello.as_ref().map(|hello| hello.params.clone()),
            Err(_) => return false,
        };
        let reply = self
            .ask(member, "initialize", params, self.patience.start)
            .await;
        let greeting = match reply {
            Some(Ok(result)) => serde_json::from_slice(&result).unwrap_or(Value::Null),
            Some(Err(error)) => {
                let error = String::from_utf8_lossy(&error);
                self.tell(
                    member,
                    format_args!("refuses the client: {}", quoted(&error, 500)),
                );
                return false;
            }
            None => {
                self.tell(member, format_args!("did not introduce itself in time"));
                return false;
            }
        };
        let version = greeting.get("protocolVersion").and_then(Value::as_str);
        if !version.is_some_and(|version| VERSIONS.contains(&version)) {
            let version = quoted(version.unwrap_or_default(), 100);
            self.tell(
                member,
                format_args!("speaks an unknown version of the protocol: {version}"),
            );
            return false;
        }
        *member.greeting.borrow_mut() = greeting;
        member.greeted.set(true);
        member.state.set(State::Greeted);
        self.changed();
        if self
            .ready
            .subscribe()
            .wait_for(|ready| *ready)
            .await
            .is_err()
        {
            return false;
        }
        member.push(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        if member.offers("tools") {
            self.refresh_tools(member).await;
        }
        member.state.set(State::Up);
        self.office.metrics.upstream(&member.name, true);
        let level = self.level.borrow().clone();
        if let Some(level) = level.filter(|_| member.offers("logging")) {
            self.set_level(member, level);
        }
        let tools = member.tools.borrow().len();
        self.tell(member, format_args!("is up, with {tools} tools"));
        self.recatalogue();
        self.announce_others(member);
        true
    }

    /// Passes the level of logging on; a server that does not answer is let go.
    pub(crate) fn set_level(self: &Rc<Self>, member: &Rc<Member>, level: Value) {
        let (front, member) = (Rc::clone(self), Rc::clone(member));
        tokio::task::spawn_local(async move {
            let limit = front.patience.answers;
            let reply = front
                .ask(&member, "logging/setLevel", Some(level), limit)
                .await;
            if !matches!(reply, Some(Ok(_))) {
                note(format_args!(
                    "server {} did not take the level of logging",
                    quoted(&member.name, 200)
                ));
            }
        });
    }
}
