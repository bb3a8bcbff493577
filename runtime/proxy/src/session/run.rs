//! Runs the proxy between this process's standard streams and one server.

use crate::approval::out_of_band::Approvals;
use crate::conversation::gated::GatedConversation;
use crate::conversation::judge::Judge;
use crate::conversation::settings::Settings;
use crate::session::context::ConversationRecords;
use crate::session::mediator::Mediator;
use crate::session::relay::{End, Streams, conduct};
use crate::session::reload;
use crate::session::reload::Changes;
use crate::telemetry::metrics::Metrics;
use crate::upstream::connection::{Endpoint, UpstreamConnector};
use crate::wire::shutdown::Shutdown;
use crate::wire::unix;
use bouncer_audit::Audit;
use bouncer_engine::gate::Gate;
use bouncer_engine::tools::Lock;
use bouncer_system::log::{note, visible};
use bouncer_system::random;
use std::io;
use std::rc::Rc;
use tokio::task::LocalSet;

/// Everything a proxy needs.
#[derive(Debug)]
pub struct Proxy {
    /// Judges the calls.
    pub gate: Gate,
    /// The accepted tools, if they are locked.
    pub lock: Option<Lock>,
    /// Where verdicts are logged.
    pub audit: Audit,
    /// Where humans approve out of band; without one, such calls are denied.
    pub approvals: Option<Approvals>,
    /// The name that the policy knows the server by.
    pub server: Option<String>,
    /// How the server is reached.
    pub endpoint: Endpoint,
    /// How to behave.
    pub settings: Settings,
    /// Where a changed policy comes from.
    pub changes: Option<Changes>,
    /// What counts.
    pub metrics: Metrics,
}

/// A name for one run, which nobody can guess: 32 hex digits.
#[must_use]
pub fn conversation_id() -> String {
    random::unguessable()
}

impl Proxy {
    /// Starts the server and passes messages until one side ends. Returns the exit
    /// code: the server's own if the server ended first, 128 and the signal if the
    /// process was told to stop, else 0.
    ///
    /// # Errors
    /// If the server or the runtime cannot be started.
    pub fn run(self) -> io::Result<u8> {
        let metrics = self.metrics;
        metrics.plan(&self.gate.plan().short_digest());
        metrics.conversation(true);
        metrics.upstream_starts(self.server.as_deref().unwrap_or_default());
        metrics.upstream(self.server.as_deref().unwrap_or_default(), true);
        let session = GatedConversation::new(self.gate, self.server.clone(), self.lock)
            .observing(self.settings.observe);
        let (server, settings) = (self.server, self.settings);
        let observe = settings.observe;
        let records = ConversationRecords::counted(self.audit, self.approvals, metrics, None);
        let mediator = Mediator::new(session.clone(), Rc::clone(&records), server, settings);
        // Where nothing is blocked, nothing is hidden either.
        mediator.hidden_tools.on.set(!observe);
        let hang_up_ends = self.changes.is_none();
        let shown = Rc::clone(&mediator);
        let changed = move || {
            shown.tools_may_differ();
            shown.judge.borrow().tell_unmatched();
        };
        let follow = self
            .changes
            .map(|changes| reload::follow(changes, session, records, changed));
        run_between(&mediator, &self.endpoint, hang_up_ends, follow)
    }
}

/// Runs a mediator between the standard streams and a server, and `beside` it.
pub(crate) fn run_between<J: Judge + 'static>(
    mediator: &Rc<Mediator<J>>,
    endpoint: &Endpoint,
    hang_up_ends: bool,
    beside: Option<impl Future<Output = ()> + 'static>,
) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = LocalSet::new().block_on(&runtime, async {
        if let Some(beside) = beside {
            tokio::task::spawn_local(beside);
        }
        serve(mediator, endpoint, hang_up_ends).await
    });
    // A thread may still be reading the client's terminal.
    runtime.shutdown_background();
    code
}

async fn serve<J: Judge + 'static>(
    mediator: &Rc<Mediator<J>>,
    endpoint: &Endpoint,
    hang_up_ends: bool,
) -> io::Result<u8> {
    let mut stop = Shutdown::new(unix::told_to_stop(hang_up_ends)?);
    let link = UpstreamConnector::new(endpoint.clone(), mediator.settings.max_message).connect()?;
    let grace = mediator.settings.grace;
    let streams = Streams {
        client_in: unix::stdin(),
        client_out: unix::stdout(),
        server_in: link.input,
        server_out: link.output,
    };
    let (end, client_drain) = conduct(mediator, streams, &mut stop).await;
    let ended = link.far.end(grace, &mut stop).await;
    client_drain.say(&mediator.client, grace).await;
    Ok(match end {
        End::Client => 0,
        End::Server => ended.status.map_or_else(
            || {
                note(format_args!("the server {}", visible(&ended.to_string())));
                1
            },
            unix::exit_code,
        ),
        End::Stopped(code) => code,
    })
}
