//! The life of a gateway: from its parts to the exit code.

use crate::approval::out_of_band::Desk;
use crate::conversation::gated::Session;
use crate::conversation::judge::Judge;
use crate::conversation::settings::Settings;
use crate::gateway::backend::Connector;
use crate::gateway::router::{Ending, Front};
use crate::gateway::timeouts::Patience;
use crate::session::context::Office;
use crate::session::reload;
use crate::session::reload::Changes;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::Place;
use crate::upstream::adapter::Order;
use crate::upstream::connection::{Endpoint, Reach};
use crate::wire::unix;
use bouncer_audit::Audit;
use bouncer_engine::gate::Gate;
use bouncer_engine::tools::Lock;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::{Instant, timeout};

/// Everything a gateway needs.
#[derive(Debug)]
pub struct Gateway {
    /// Judges the calls.
    pub gate: Gate,
    /// The accepted tools, if they are locked.
    pub lock: Option<Lock>,
    /// Where verdicts are logged.
    pub audit: Audit,
    /// Where humans approve out of band; without one, such calls are denied.
    pub desk: Option<Desk>,
    /// The servers by their names, and how they are reached.
    pub servers: Vec<(String, Endpoint)>,
    /// How to behave towards each.
    pub settings: Settings,
    /// How long to wait for what.
    pub patience: Patience,
    /// Where a changed policy comes from.
    pub changes: Option<Changes>,
    /// What counts.
    pub metrics: Metrics,
    /// Where people see the servers.
    pub place: Option<Place>,
}

impl Gateway {
    /// Starts the servers and passes messages until the client is gone. Returns the exit
    /// code: 128 and the signal if the process was told to stop, else 0.
    ///
    /// # Errors
    /// If the runtime cannot be started.
    pub fn run(self) -> io::Result<u8> {
        self.metrics.plan(&self.gate.plan().short_digest());
        self.metrics.conversation(true);
        let hang_up_ends = self.changes.is_none();
        let Switchboard {
            front,
            connectors,
            session,
        } = switchboard(
            self.gate,
            self.lock,
            Office::counted(self.audit, self.desk, self.metrics, self.place),
            reached(self.servers, &self.settings, Order::OlderFirst),
            &self.settings,
            &self.patience,
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let code = LocalSet::new().block_on(&runtime, async {
            let told = unix::told_to_stop(hang_up_ends)?;
            if let Some(changes) = self.changes {
                spawn_local(front.follow(changes, session));
            }
            Ok(serve(
                &front,
                connectors.into_iter(),
                unix::stdin(),
                unix::stdout(),
                told,
            )
            .await)
        });
        // A thread may still be reading the client's terminal.
        runtime.shutdown_background();
        code
    }
}

/// The switchboard of one conversation, what connects it to its servers, and what it
/// judges by.
pub(crate) struct Switchboard {
    pub front: Rc<Front<Session>>,
    pub connectors: Vec<Box<dyn Connector>>,
    pub session: Session,
}

/// The servers, as they are spoken to on behalf of clients of one kind.
pub(crate) fn reached(
    servers: Vec<(String, Endpoint)>,
    settings: &Settings,
    order: Order,
) -> Vec<(String, Reach)> {
    let reach = |(name, endpoint)| {
        let mut reach = Reach::new(endpoint, settings.max_message);
        reach.order = order;
        (name, reach)
    };
    servers.into_iter().map(reach).collect()
}

pub(crate) fn switchboard(
    gate: Gate,
    lock: Option<Lock>,
    office: Rc<Office>,
    servers: Vec<(String, Reach)>,
    settings: &Settings,
    patience: &Patience,
) -> Switchboard {
    let base = Session::new(gate, None, lock).observing(settings.observe);
    let (nobody, session) = (base.clone(), base.clone());
    // Every server takes its place before any of them can be called.
    for (name, _) in &servers {
        base.with_server(name);
    }
    let seats = Box::new(move |name: &str| base.with_server(name));
    let names = servers.iter().map(|(name, _)| name.clone());
    let (settings, patience) = (settings.clone(), patience.clone());
    let front = Front::new(nobody, seats, office, names, settings, patience);
    let connectors = servers.into_iter();
    let connectors = connectors.map(|(_, reach)| Box::new(reach) as Box<dyn Connector>);
    Switchboard {
        front,
        connectors: connectors.collect(),
        session,
    }
}

impl Front<Session> {
    /// Takes over changes of the policy and of the accepted tools.
    pub(crate) fn follow(
        self: &Rc<Self>,
        changes: Changes,
        session: Session,
    ) -> impl Future<Output = ()> + use<> {
        let front = Rc::clone(self);
        let office = Rc::clone(&front.office);
        reload::follow(changes, session, office, move || front.recatalogue())
    }
}

/// Runs a gateway between two streams until the client is gone or `told` resolves.
pub(crate) async fn serve<J, R, W, F>(
    front: &Rc<Front<J>>,
    connectors: impl Iterator<Item = Box<dyn Connector>>,
    client_in: R,
    client_out: W,
    told: F,
) -> u8
where
    J: Judge + 'static,
    R: AsyncRead + Unpin + 'static,
    W: AsyncWrite + Unpin + 'static,
    F: Future<Output = u8>,
{
    let mut told = pin!(told);
    let mut servers = JoinSet::new();
    for (member, connector) in front.members.iter().zip(connectors) {
        servers.spawn_local(Rc::clone(front).keep(Rc::clone(member), connector));
    }
    let mut pump = spawn_local(Rc::clone(front).pump_client(client_in));
    let mut drain = spawn_local({
        let front = Rc::clone(front);
        async move { front.client().drain(client_out).await }
    });
    let showing = spawn_local({
        let front = Rc::clone(front);
        async move { front.keep_showing().await }
    });
    let mut code = tokio::select! {
        _ = &mut pump => None,
        _ = &mut drain => None,
        code = told.as_mut() => Some(code),
    };
    if code.is_none() {
        // What the client asked before it left is still answered.
        let until = Instant::now() + front.longest_answer();
        tokio::select! {
            () = front.wait(until, || front.client().is_closed() || !front.routes.borrow().is_answering()) => {}
            told = told.as_mut() => code = Some(told),
        }
    }
    front
        .ending
        .send_replace(code.map_or(Ending::ClientGone, Ending::Told));
    front.let_go();
    let all = async { while servers.join_next().await.is_some() {} };
    let mut all = pin!(all);
    tokio::select! {
        () = all.as_mut() => {}
        told = told.as_mut(), if code.is_none() => {
            code = Some(told);
            front.ending.send_replace(Ending::Told(told));
            all.await;
        }
    }
    pump.abort();
    showing.abort();
    front.client().finish();
    // A client that does not listen must not keep the gateway alive.
    let _ = timeout(front.settings.grace, drain).await;
    code.unwrap_or(0)
}
