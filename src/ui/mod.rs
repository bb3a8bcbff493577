//! The page beside a gateway: what it shows, and what it can do. How it is handed out is
//! `bouncer_proxy`'s; here is what stands on it.
//!
//! Everything is read anew when the page asks: several gateways, other pages and the
//! command line change the same approvals and the same log.

mod approvals;
mod backwards;
mod files;
mod link;
mod log;
mod policy;
mod stop;
#[cfg(test)]
mod tests;

pub use link::Link;

use approvals::Approvals;
use bouncer_engine::tools::Lock;
use bouncer_proxy::{GatewayStatus, Metrics, Page, PageContent, PageResponse};
use bouncer_store::approvals::Lifetimes;
use log::Log;
use policy::PolicyView;
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// What the page is about.
#[derive(Debug)]
pub struct Subject {
    /// The gateway as it runs.
    pub status: GatewayStatus,
    /// What it counts.
    pub metrics: Metrics,
    /// Where approvals are kept, if they can be.
    pub approvals: Option<PathBuf>,
    /// How long they hold.
    pub lifetimes: Lifetimes,
    /// The audit log.
    pub audit: PathBuf,
    /// The accepted tools, if they are locked.
    pub lock: Option<Lock>,
    /// The policy is only observed.
    pub observes: bool,
}

/// Hands the page out for as long as the process runs.
///
/// # Errors
/// If there can be no thread for it.
pub fn start(page: Page, subject: Subject) -> io::Result<()> {
    page.start(Arc::new(GatewayPage::new(subject)))
}

/// All that stands on the page.
#[derive(Debug)]
struct GatewayPage {
    status: GatewayStatus,
    metrics: Metrics,
    approvals: Approvals,
    log: Log,
    policy: PolicyView,
    observes: bool,
}

impl GatewayPage {
    fn new(subject: Subject) -> Self {
        Self {
            approvals: Approvals::new(subject.approvals, subject.lifetimes),
            log: Log::new(subject.audit),
            policy: PolicyView::new(subject.status.clone(), subject.lock),
            status: subject.status,
            metrics: subject.metrics,
            observes: subject.observes,
        }
    }

    fn about(&self) -> PageResponse {
        let plan = self.status.plan();
        PageResponse::json(
            200,
            &json!({
                "version": env!("CARGO_PKG_VERSION"),
                "plan": plan.map(|plan| plan.short_digest()),
                "failure": self.status.failure(),
                "observes": self.observes,
                "halted": stop::said(),
                "log": self.log.name(),
                "approvals": self.approvals.name(),
            }),
        )
    }

    fn servers(&self) -> PageResponse {
        let counts = self.metrics.by_tool().into_iter();
        let counts: Vec<_> = counts
            .map(|(server, tool, verdict, count)| {
                json!({ "server": server, "tool": tool, "verdict": verdict, "count": count })
            })
            .collect();
        let conversations = self.status.conversations();
        PageResponse::json(
            200,
            &json!({ "conversations": conversations, "counts": counts }),
        )
    }
}

impl PageContent for GatewayPage {
    fn file(&self, path: &str) -> Option<(&'static str, &'static str)> {
        files::find(path)
    }

    fn get(&self, path: &str, query: &[(String, String)]) -> PageResponse {
        match path {
            "/api/about" => self.about(),
            "/api/approvals" => self.approvals.list(value(query, "seen")),
            "/api/approval" => self.approvals.one(value(query, "id").unwrap_or_default()),
            "/api/log" => self.log.page(query),
            "/api/log/counts" => self.log.counts(query),
            "/api/log/chain" => self.log.chain(),
            "/api/servers" => self.servers(),
            "/api/policy" => self.policy.said(),
            _ => nothing(),
        }
    }

    fn post(&self, path: &str, body: &[u8]) -> PageResponse {
        match path {
            "/api/approvals" => self.approvals.decide(body),
            "/api/halt" => stop::decide(body),
            _ => nothing(),
        }
    }
}

fn nothing() -> PageResponse {
    PageResponse::error(404, "there is nothing here")
}

/// The value of a parameter.
fn value<'q>(query: &'q [(String, String)], name: &str) -> Option<&'q str> {
    let found = query.iter().find(|(key, _)| key == name);
    found
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty())
}
