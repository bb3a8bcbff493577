//! The life of one server behind the gateway: started, introduced, and started again when
//! it ends, after a pause that grows.

use crate::conversation::judge::Judge;
use crate::gateway::router::{Backend, BackendState, Ending, Router};
use crate::session::mediator::Mediator;
use crate::session::relay::{Streams, conduct};
use crate::upstream::connection::{UpstreamConnection, UpstreamConnector};
use crate::wire::outbox::Outbox;
use crate::wire::shutdown::Shutdown;
use serde_json::Value;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{duplex, split};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

/// What is buffered between the gateway and a mediator, in bytes.
const PIPE: usize = 64 * 1024;

/// Starts a server, again and again.
pub(crate) trait Connect {
    /// # Errors
    /// If it cannot be started.
    fn connect(&self) -> io::Result<UpstreamConnection>;

    /// It did not work out: what is known of the server may be wrong.
    fn forget(&self) {}
}

impl Connect for UpstreamConnector {
    fn connect(&self) -> io::Result<UpstreamConnection> {
        Self::connect(self)
    }

    fn forget(&self) {
        Self::forget(self);
    }
}

impl<J: Judge + 'static> Router<J> {
    /// Keeps a server running until the gateway ends.
    pub(crate) async fn keep(self: Rc<Self>, backend: Rc<Backend>, connector: Box<dyn Connect>) {
        let mut ending = self.ending.subscribe();
        let mut pause = self.timeouts.first_pause;
        while *ending.borrow_and_update() == Ending::Running {
            let began = Instant::now();
            let how = match connector.connect() {
                Ok(link) => {
                    self.records.metrics.upstream_starts(&backend.name);
                    self.once(&backend, link).await
                }
                Err(error) => format!("cannot be started: {error}"),
            };
            // What it did wrong says more than how it was ended for that.
            let how = backend.trouble.take().unwrap_or(how);
            if !backend.greeted.get() {
                connector.forget();
            }
            backend.state.set(BackendState::Down);
            self.records.metrics.upstream(&backend.name, false);
            if *ending.borrow() != Ending::Running {
                return;
            }
            self.recatalogue();
            if began.elapsed() > self.timeouts.longest_pause {
                pause = self.timeouts.first_pause;
            }
            let how = bouncer_system::log::visible(&how);
            backend.trouble.replace(Some(how.to_string()));
            backend.next_start.set(Some(Instant::now() + pause));
            self.tell(
                &backend,
                format_args!("{how}; it is started again in {pause:?}"),
            );
            tokio::select! {
                () = sleep(pause) => {}
                _ = ending.changed() => return,
            }
            pause = (pause * 2).min(self.timeouts.longest_pause);
        }
    }

    /// One run of a server; how it ended.
    async fn once(self: &Rc<Self>, backend: &Rc<Backend>, link: UpstreamConnection) -> String {
        let mediator = Mediator::new(
            (self.judges)(&backend.name),
            Rc::clone(&self.records),
            Some(backend.name.clone()),
            self.settings.clone(),
        );
        let (near, far) = duplex(PIPE);
        let ((from_mediator, to_mediator), (client_in, client_out)) = (split(near), split(far));
        let inbox = Rc::new(Outbox::default());
        *backend.greeting.borrow_mut() = Value::Null;
        *backend.inbox.borrow_mut() = Some(Rc::clone(&inbox));
        *backend.questions.borrow_mut() = Rc::clone(&link.questions);
        *mediator.questions_about.borrow_mut() = Rc::clone(&link.questions);
        *backend.asks.borrow_mut() = Rc::clone(&mediator.asks);
        backend.greeted.set(false);
        backend.next_start.set(None);
        backend.state.set(BackendState::Starting);
        self.changed();
        let feed = spawn_local({
            let inbox = Rc::clone(&inbox);
            async move { inbox.drain(to_mediator).await }
        });
        let mut reader =
            spawn_local(Rc::clone(self).pump_backend(Rc::clone(backend), from_mediator));
        let greeting = spawn_local({
            let (router, backend, inbox) = (Rc::clone(self), Rc::clone(backend), Rc::clone(&inbox));
            async move {
                if !router.greet(&backend).await {
                    // As if the client had left: the server is ended.
                    inbox.finish();
                }
            }
        });
        let streams = Streams {
            client_in,
            client_out,
            server_in: link.input,
            server_out: link.output,
        };
        let mut stop = Shutdown::new(self.told());
        let (_, client_drain) = conduct(&mediator, streams, &mut stop).await;
        greeting.abort();
        *backend.inbox.borrow_mut() = None;
        backend.tools.borrow_mut().clear();
        backend.refreshing.set(false);
        backend.state.set(BackendState::Down);
        if *self.ending.borrow() == Ending::Running {
            self.recatalogue();
            self.announce_others(backend);
            *backend.greeting.borrow_mut() = Value::Null;
        }
        let grace = self.settings.grace;
        let last_words = async {
            client_drain.say(&mediator.client, grace).await;
            let _ = timeout(grace, &mut reader).await;
            reader.abort();
            self.close_backend(backend);
        };
        let ((), ended) = tokio::join!(last_words, link.far.end(grace, &mut stop));
        feed.abort();
        ended.to_string()
    }

    /// Resolves when the process is told to stop.
    fn told(&self) -> impl Future<Output = u8> + use<J> {
        let mut ending = self.ending.subscribe();
        async move {
            let told = ending
                .wait_for(|ending| matches!(ending, Ending::Told(_)))
                .await;
            match told.as_deref() {
                Ok(Ending::Told(code)) => *code,
                // The gateway itself is gone.
                _ => std::future::pending().await,
            }
        }
    }

    /// Ends all servers as if their client had left.
    pub(crate) fn let_go(&self) {
        for backend in &self.backends {
            if let Some(inbox) = &*backend.inbox.borrow() {
                inbox.finish();
            }
        }
    }

    /// How long the gateway may take over answers of its own.
    pub(crate) const fn longest_answer(&self) -> Duration {
        self.timeouts.lists.saturating_add(self.timeouts.answers)
    }
}
