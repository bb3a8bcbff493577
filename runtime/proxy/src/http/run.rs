//! The life of a gateway over HTTP: from its parts to the exit code.

use crate::conversation::settings::Settings;
use crate::gateway::timeouts::Patience;
use crate::http::config::{Listen, Opener};
use crate::http::guard::Guard;
use crate::http::registry::{Hall, Judging};
use crate::http::serving::serve;
use crate::http::tls::Tls;
use crate::session::reload::Changes;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::Board;
use crate::upstream::connection::Endpoint;
use crate::wire::unix;
use bouncer_audit::Audit;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use std::fmt;
use std::io;
use std::rc::Rc;
use tokio::task::{LocalSet, spawn_local};

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
            serve(hall, listener, tls, told).await
        });
        runtime.shutdown_background();
        code
    }
}
