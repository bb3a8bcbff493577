//! The gateway for agents that come over HTTP: many at a time, each with a conversation
//! of its own.
//!
//! A conversation belongs to whoever opened it. It has its own provenance, budgets and
//! approvals, and its own sessions with the servers, so that nothing of one is ever
//! seen by another.

mod answers;
pub(crate) mod guard;
mod modern;
mod registry;
mod requests;
mod serving;
mod session;
mod stateless;
mod stream;
pub(crate) mod tls;
pub(crate) mod tokens;

use crate::approval::out_of_band::Desk;
use crate::gateway::Patience;
use crate::http::guard::Guard;
use crate::http::registry::{Hall, Judging};
use crate::http::tls::Tls;
use crate::http::tls::TlsFiles;
use crate::http::tokens::Tokens;
use crate::session::mediator::Settings;
use crate::session::reload::Changes;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::{Board, Place};
use crate::upstream::connection::Endpoint;
use crate::wire::unix;
use bouncer_audit::Audit;
use bouncer_engine::gate::Gate;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

/// Where the gateway listens, and to whom.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address; port 0 takes one that is free.
    pub address: SocketAddr,
    /// What is shown to agents that speak TLS; without it, plain HTTP is spoken.
    pub tls: Option<TlsFiles>,
    /// Who may come. Without any, everybody who reaches a loopback address.
    pub tokens: Tokens,
    /// Host names, besides those of this machine for itself, that requests may be for.
    pub hosts: Vec<String>,
    /// Origins, besides pages of this machine, that requests may come from.
    pub origins: Vec<String>,
    /// How much of what there may be.
    pub limits: Limits,
}

/// How much there may be at once, and how long things may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Conversations.
    pub conversations: usize,
    /// Conversations of one principal.
    pub per_principal: usize,
    /// Requests of one principal that wait for an answer.
    pub requests: usize,
    /// Connections.
    pub connections: usize,
    /// How long a conversation is kept of whose client nothing is heard.
    pub idle: Duration,
    /// How long the head of a request may take, and then its body.
    pub reading: Duration,
    /// How long requests may still take once the gateway is told to stop.
    pub drain: Duration,
}

impl Default for Limits {
    /// 64 conversations, 32 of one principal, 256 open requests, 1024 connections; half
    /// an hour, ten seconds, ten seconds.
    fn default() -> Self {
        Self {
            conversations: 64,
            per_principal: 32,
            requests: 256,
            connections: 1024,
            idle: Duration::from_secs(30 * 60),
            reading: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

/// What a new conversation is judged by, and where it is written down.
#[derive(Debug)]
pub struct Opened {
    /// Judges the calls.
    pub gate: Gate,
    /// Where verdicts are logged.
    pub audit: Audit,
    /// Where humans approve out of band.
    pub desk: Option<Desk>,
    /// Where people see its servers.
    pub place: Option<Place>,
}

/// Opens what a conversation of that name needs, to be judged by that plan.
pub type Opener = Box<dyn Fn(&str, &Plan) -> Result<Opened, String>>;

/// Everything that a gateway over HTTP needs.
pub struct HttpGateway {
    /// Where it listens.
    pub listen: Listen,
    /// The plan that conversations begin with.
    pub plan: Plan,
    /// Opens what a new conversation needs.
    pub open: Opener,
    /// Where is logged what belongs to no conversation.
    pub audit: Audit,
    /// The accepted tools, if they are locked.
    pub lock: Option<Lock>,
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
    /// Where people see what is in force.
    pub board: Option<Board>,
}

impl fmt::Debug for HttpGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpGateway")
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

impl HttpGateway {
    /// Listens until told to stop. Returns the exit code: 128 and the signal.
    ///
    /// # Errors
    /// If the address cannot be listened at, or may not be without tokens.
    pub fn run(self) -> io::Result<u8> {
        let address = self.listen.address;
        if self.listen.tokens.is_empty() && !address.ip().is_loopback() {
            let why = format!(
                "whoever reaches {address} could use it: give tokens with `--tokens`, or listen at a loopback address such as 127.0.0.1"
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let tls = self.listen.tls.clone().map(Tls::open).transpose();
        let tls = tls.map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let tls = tls.map(Rc::new);
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let code = LocalSet::new().block_on(&runtime, async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let told = unix::told_to_stop(self.changes.is_none())?;
            self.metrics.plan(&self.plan.short_digest());
            let Listen {
                tokens,
                hosts,
                origins,
                limits,
                ..
            } = self.listen;
            let hall = Rc::new(Hall::new(
                Guard::new(tokens, address.ip(), &hosts, &origins),
                limits,
                self.open,
                Judging {
                    plan: self.plan,
                    lock: self.lock,
                    audit: self.audit,
                },
                self.servers,
                (self.settings, self.patience),
                (self.metrics, self.board),
            ));
            if let (Some(tls), Some(_)) = (&tls, &self.changes) {
                spawn_local(Rc::clone(tls).follow());
            }
            if let Some(changes) = self.changes {
                let hall = Rc::clone(&hall);
                spawn_local(async move { hall.follow(changes).await });
            }
            serving::serve(hall, listener, tls, told).await
        });
        runtime.shutdown_background();
        code
    }
}
