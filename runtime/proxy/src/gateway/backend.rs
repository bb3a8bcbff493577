//! The life of one server behind the gateway: started, introduced, and started again when
//! it ends, after a pause that grows.

use crate::conversation::judge::Judge;
use crate::gateway::router::{Ending, Front, Member, State};
use crate::session::mediator::Mediator;
use crate::session::relay::{Streams, conduct};
use crate::upstream::connection::{Link, Reach};
use crate::wire::outbox::Outbox;
use crate::wire::stop::Stop;
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
pub(crate) trait Connector {
    /// # Errors
    /// If it cannot be started.
    fn connect(&self) -> io::Result<Link>;

    /// It did not work out: what is known of the server may be wrong.
    fn forget(&self) {}
}

impl Connector for Reach {
    fn connect(&self) -> io::Result<Link> {
        Self::connect(self)
    }

    fn forget(&self) {
        Self::forget(self);
    }
}

impl<J: Judge + 'static> Front<J> {
    /// Keeps a server running until the gateway ends.
    pub(crate) async fn keep(self: Rc<Self>, member: Rc<Member>, connector: Box<dyn Connector>) {
        let mut ending = self.ending.subscribe();
        let mut pause = self.patience.first_pause;
        while *ending.borrow_and_update() == Ending::Running {
            let began = Instant::now();
            let how = match connector.connect() {
                Ok(link) => {
                    self.office.metrics.upstream_starts(&member.name);
                    self.once(&member, link).await
                }
                Err(error) => format!("cannot be started: {error}"),
            };
            if !member.greeted.get() {
                connector.forget();
            }
            member.state.set(State::Down);
            self.office.metrics.upstream(&member.name, false);
            if *ending.borrow() != Ending::Running {
                return;
            }
            self.recatalogue();
            if began.elapsed() > self.patience.longest_pause {
                pause = self.patience.first_pause;
            }
            let how = bouncer_system::log::visible(&how);
            self.tell(
                &member,
                format_args!("{how}; it is started again in {pause:?}"),
            );
            tokio::select! {
                () = sleep(pause) => {}
                _ = ending.changed() => return,
            }
            pause = (pause * 2).min(self.patience.longest_pause);
        }
    }

    /// One run of a server; how it ended.
    async fn once(self: &Rc<Self>, member: &Rc<Member>, link: Link) -> String {
        let mediator = Mediator::new(
            (self.seats)(&member.name),
            Rc::clone(&self.office),
            Some(member.name.clone()),
            self.settings.clone(),
        );
        let (near, far) = duplex(PIPE);
        let ((from_mediator, to_mediator), (client_in, client_out)) = (split(near), split(far));
        let inbox = Rc::new(Outbox::default());
        *member.greeting.borrow_mut() = Value::Null;
        *member.inbox.borrow_mut() = Some(Rc::clone(&inbox));
        *member.questions.borrow_mut() = Rc::clone(&link.questions);
        *member.asks.borrow_mut() = Rc::clone(&mediator.asks);
        member.greeted.set(false);
        member.state.set(State::Starting);
        self.changed();
        let feed = spawn_local({
            let inbox = Rc::clone(&inbox);
            async move { inbox.drain(to_mediator).await }
        });
        let mut reader = spawn_local(Rc::clone(self).pump_member(Rc::clone(member), from_mediator));
        let greeting = spawn_local({
            let (front, member, inbox) = (Rc::clone(self), Rc::clone(member), Rc::clone(&inbox));
            async move {
                if !front.greet(&member).await {
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
        let mut stop = Stop::new(self.told());
        let (_, farewell) = conduct(&mediator, streams, &mut stop).await;
        greeting.abort();
        *member.inbox.borrow_mut() = None;
        member.tools.borrow_mut().clear();
        member.refreshing.set(false);
        member.state.set(State::Down);
        if *self.ending.borrow() == Ending::Running {
            self.recatalogue();
            self.announce_others(member);
            *member.greeting.borrow_mut() = Value::Null;
        }
        let grace = self.settings.grace;
        let last_words = async {
            farewell.say(&mediator.client, grace).await;
            let _ = timeout(grace, &mut reader).await;
            reader.abort();
            self.close_member(member);
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
        for member in &self.members {
            if let Some(inbox) = &*member.inbox.borrow() {
                inbox.finish();
            }
        }
    }

    /// How long the gateway may take over answers of its own.
    pub(crate) const fn longest_answer(&self) -> Duration {
        self.patience.lists.saturating_add(self.patience.answers)
    }
}
