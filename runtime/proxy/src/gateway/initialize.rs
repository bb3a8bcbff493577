//! The introduction: the gateway answers the client by itself, and introduces the client
//! to every server.

use crate::conversation::envelope::Id;
use crate::conversation::judge::Judge;
use crate::gateway::introduction::ClientIntroduction;
use crate::gateway::router::{Backend, BackendState, Router};
use bouncer_mcp::jsonrpc::{INVALID_PARAMS, INVALID_REQUEST};
use bouncer_mcp::version::TASKS;
use bouncer_mcp::version::TASKS_EXTENSION;
use bouncer_system::log::{note, quoted};
use serde_json::{Map, Value, json};
use std::rc::Rc;
use tokio::time::Instant;

use bouncer_mcp::version::VERSIONS;

impl<J: Judge + 'static> Router<J> {
    /// Takes the client's `initialize`.
    pub(crate) fn on_initialize(self: &Rc<Self>, id: &Id<'_>, params: Option<&[u8]>) {
        if self.hello.borrow().is_some() {
            let why = "the client has introduced itself already";
            return self.answer_error(id.raw, INVALID_REQUEST, why);
        }
        let params: Option<Value> = params.and_then(|raw| serde_json::from_slice(raw).ok());
        let Some(hello) = params.as_ref().and_then(ClientIntroduction::new) else {
            let why = "`initialize` needs `protocolVersion` and `capabilities`";
            return self.answer_error(id.raw, INVALID_PARAMS, why);
        };
        let version = hello.version;
        let now = Instant::now();
        self.lists_until.set(Some(now + self.timeouts.lists));
        self.hello.send_replace(Some(Rc::new(hello)));
        self.routes.borrow_mut().start_answering(&id.key);
        let (router, raw, key) = (Rc::clone(self), id.raw.to_vec(), id.key.clone());
        tokio::task::spawn_local(async move {
            let until = now + router.timeouts.hello;
            let starting = |backend: &Rc<Backend>| backend.state.get() == BackendState::Starting;
            router
                .wait(until, || !router.backends.iter().any(starting))
                .await;
            let result = router.introduction(version).to_string();
            router.end_answering((&raw, &key), Ok(result.as_bytes()));
        });
    }

    /// What the gateway says about itself. Servers that have not said yet what they can
    /// do may turn out to do everything.
    fn introduction(&self, version: &str) -> Value {
        let backends = || self.backends.iter();
        let late = backends().any(|backend| {
            matches!(
                backend.state.get(),
                BackendState::Starting | BackendState::Down
            )
        });
        let any = |what: &str| late || backends().any(|backend| backend.offers(what));
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
        let instructions: Vec<String> = backends()
            .filter_map(|backend| {
                let greeting = backend.greeting.borrow();
                let text = greeting.get("instructions")?.as_str()?;
                Some(format!("Server {}:\n{text}", quoted(&backend.name, 200)))
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
    pub(crate) async fn greet(self: &Rc<Self>, backend: &Rc<Backend>) -> bool {
        let mut hello = self.hello.subscribe();
        let params = match hello.wait_for(Option::is_some).await {
            Ok(hello) => hello.as_ref().map(|hello| hello.params.clone()),
            Err(_) => return false,
        };
        let reply = self
            .ask(backend, "initialize", params, self.timeouts.start)
            .await;
        let greeting = match reply {
            Some(Ok(result)) => serde_json::from_slice(&result).unwrap_or(Value::Null),
            Some(Err(error)) => {
                backend.trouble.replace(Some(introduction_failed(&error)));
                return false;
            }
            None => {
                // If it has ended meanwhile, how says more.
                if backend
                    .inbox
                    .borrow()
                    .as_ref()
                    .is_some_and(|i| !i.is_closed())
                {
                    let why = "did not introduce itself in time".to_owned();
                    backend.trouble.replace(Some(why));
                }
                return false;
            }
        };
        let version = greeting.get("protocolVersion").and_then(Value::as_str);
        if !version.is_some_and(|version| VERSIONS.contains(&version)) {
            let version = quoted(version.unwrap_or_default(), 100);
            let why = format!("speaks an unknown version of the protocol: {version}");
            backend.trouble.replace(Some(why));
            return false;
        }
        *backend.greeting.borrow_mut() = greeting;
        backend.greeted.set(true);
        backend.state.set(BackendState::Greeted);
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
        backend.push(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        if backend.offers("tools") {
            self.refresh_tools(backend).await;
        }
        backend.trouble.take();
        backend.state.set(BackendState::Up);
        self.records.metrics.upstream(&backend.name, true);
        let level = self.level.borrow().clone();
        if let Some(level) = level.filter(|_| backend.offers("logging")) {
            self.set_level(backend, level);
        }
        let tools = backend.tools.borrow().len();
        self.tell(backend, format_args!("is up, with {tools} tools"));
        self.recatalogue();
        self.announce_others(backend);
        true
    }

    /// Passes the level of logging on; a server that does not answer is let go.
    pub(crate) fn set_level(self: &Rc<Self>, backend: &Rc<Backend>, level: Value) {
        let (router, backend) = (Rc::clone(self), Rc::clone(backend));
        tokio::task::spawn_local(async move {
            let limit = router.timeouts.answers;
            let reply = router
                .ask(&backend, "logging/setLevel", Some(level), limit)
                .await;
            if !matches!(reply, Some(Ok(_))) {
                note(format_args!(
                    "server {} did not take the level of logging",
                    quoted(&backend.name, 200)
                ));
            }
        });
    }
}

/// What came of an introduction that was answered with an error.
fn introduction_failed(error: &[u8]) -> String {
    let error: Value = serde_json::from_slice(error).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str);
    let message = quoted(message.unwrap_or_default(), 500);
    format!("cannot be spoken to; its introduction came to {message}")
}
