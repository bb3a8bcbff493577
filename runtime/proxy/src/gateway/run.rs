//! The life of a gateway: from its parts to the exit code.

use crate::approval::out_of_band::Approvals;
use crate::conversation::gated::GatedConversation;
use crate::conversation::judge::Judge;
use crate::conversation::settings::Settings;
use crate::gateway::backend::Connect;
use crate::gateway::router::{Ending, Router};
use crate::gateway::timeouts::Timeouts;
use crate::session::context::ConversationRecords;
use crate::session::reload;
use crate::session::reload::Changes;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::ConversationStatus;
use crate::upstream::adapter::VersionOrder;
use crate::upstream::connection::{Endpoint, UpstreamConnector};
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
    pub approvals: Option<Approvals>,
    /// The servers by their names, and how they are reached.
    pub servers: Vec<(String, Endpoint)>,
    /// How to behave towards each.
    pub settings: Settings,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Where a changed policy comes from.
    pub changes: Option<Changes>,
    /// What counts.
    pub metrics: Metrics,
    /// Where people see the servers.
    pub status: Option<ConversationStatus>,
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
        let RouterParts {
            router,
            connectors,
            session,
        } = router_parts(
            self.gate,
            self.lock,
            ConversationRecords::counted(self.audit, self.approvals, self.metrics, self.status),
            connectors(self.servers, &self.settings, VersionOrder::OlderFirst),
            &self.settings,
            &self.timeouts,
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let code = LocalSet::new().block_on(&runtime, async {
            let told = unix::told_to_stop(hang_up_ends)?;
            if let Some(changes) = self.changes {
                spawn_local(router.follow(changes, session));
            }
            Ok(serve(
                &router,
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

/// The router of one conversation, what connects it to its servers, and what it
/// judges by.
pub(crate) struct RouterParts {
    pub router: Rc<Router<GatedConversation>>,
    pub connectors: Vec<Box<dyn Connect>>,
    pub session: GatedConversation,
}

/// The servers, as they are spoken to on behalf of clients of one kind.
pub(crate) fn connectors(
    servers: Vec<(String, Endpoint)>,
    settings: &Settings,
    order: VersionOrder,
) -> Vec<(String, UpstreamConnector)> {
    let reach = |(name, endpoint)| {
        let mut reach = UpstreamConnector::new(endpoint, settings.max_message);
        reach.order = order;
        (name, reach)
    };
    servers.into_iter().map(reach).collect()
}

pub(crate) fn router_parts(
    gate: Gate,
    lock: Option<Lock>,
    records: Rc<ConversationRecords>,
    servers: Vec<(String, UpstreamConnector)>,
    settings: &Settings,
    timeouts: &Timeouts,
) -> RouterParts {
    let base = GatedConversation::new(gate, None, lock).observing(settings.observe);
    let (unrouted, session) = (base.clone(), base.clone());
    // Every server takes its place before any of them can be called.
    for (name, _) in &servers {
        base.with_server(name);
    }
    let judges = Box::new(move |name: &str| base.with_server(name));
    let names = servers.iter().map(|(name, _)| name.clone());
    let (settings, timeouts) = (settings.clone(), timeouts.clone());
    let router = Router::new(unrouted, judges, records, names, settings, timeouts);
    let connectors = servers.into_iter();
    let connectors = connectors.map(|(_, reach)| Box::new(reach) as Box<dyn Connect>);
    RouterParts {
        router,
        connectors: connectors.collect(),
        session,
    }
}

impl Router<GatedConversation> {
    /// Takes over changes of the policy and of the accepted tools.
    pub(crate) fn follow(
        self: &Rc<Self>,
        changes: Changes,
        session: GatedConversation,
    ) -> impl Future<Output = ()> + use<> {
        let router = Rc::clone(self);
        let records = Rc::clone(&router.records);
        reload::follow(changes, session, records, move || router.recatalogue())
    }
}

/// Runs a gateway between two streams until the client is gone or `told` resolves.
pub(crate) async fn serve<J, R, W, F>(
    router: &Rc<Router<J>>,
    connectors: impl Iterator<Item = Box<dyn Connect>>,
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
    for (backend, connector) in router.backends.iter().zip(connectors) {
        servers.spawn_local(Rc::clone(router).keep(Rc::clone(backend), connector));
    }
    let mut pump = spawn_local(Rc::clone(router).pump_client(client_in));
    let mut drain = spawn_local({
        let router = Rc::clone(router);
        async move { router.client().drain(client_out).await }
    });
    let showing = spawn_local({
        let router = Rc::clone(router);
        async move { router.keep_showing().await }
    });
    let mut code = tokio::select! {
        _ = &mut pump => None,
        _ = &mut drain => None,
        code = told.as_mut() => Some(code),
    };
    if code.is_none() {
        // What the client asked before it left is still answered.
        let until = Instant::now() + router.longest_answer();
        tokio::select! {
            () = router.wait(until, || router.client().is_closed() || !router.routes.borrow().is_answering()) => {}
            told = told.as_mut() => code = Some(told),
        }
    }
    router
        .ending
        .send_replace(code.map_or(Ending::ClientGone, Ending::Told));
    router.let_go();
    let all = async { while servers.join_next().await.is_some() {} };
    let mut all = pin!(all);
    tokio::select! {
        () = all.as_mut() => {}
        told = told.as_mut(), if code.is_none() => {
            code = Some(told);
            router.ending.send_replace(Ending::Told(told));
            all.await;
        }
    }
    pump.abort();
    showing.abort();
    router.client().finish();
    // A client that does not listen must not keep the gateway alive.
    let _ = timeout(router.settings.grace, drain).await;
    code.unwrap_or(0)
}
