//! The page of `bouncer gateway --ui`: from the command line to a page that is handed out.
//!
//! A page that cannot be had is said, and is no reason for a gateway not to run.

use crate::cli::PageArgs;
use crate::output::Failure;
use crate::output::note;
use crate::source;
use crate::ui::{self, Link, Subject};
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_proxy::{GatewayStatus, Metrics, Page};
use bouncer_store::approvals::Store;
use std::io::{self, IsTerminal};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// A page whose address is taken, and what it will be about.
pub(super) struct Ready {
    page: Page,
    link: Option<PathBuf>,
    subject: Subject,
}

/// What the gateway is started with, as far as the page shows it.
pub(super) struct Shown<'a> {
    pub plan: &'a Plan,
    pub lock: Option<&'a Lock>,
    pub metrics: &'a Metrics,
    pub approvals: Option<PathBuf>,
    pub observes: bool,
}

/// Takes the address that the command line names. `None`: no page is wanted, or another
/// process has it.
pub(super) fn bind(args: &PageArgs, shown: Shown<'_>) -> Result<Option<Ready>, Failure> {
    let Some(text) = &args.ui else {
        return Ok(None);
    };
    let address = address("--ui", text)?;
    let page = match Page::bind(address, &args.ui_host) {
        Ok(page) => page,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            note(&format!(
                "no page of this gateway: `{address}` is taken. If another gateway has it, its page shows what waits here too, where both keep approvals in the same file; else name another with `--ui`"
            ));
            return Ok(None);
        }
        Err(error) => {
            let why = format!("the page cannot be shown at `{address}`: {error}");
            return Err(Failure::Message(why));
        }
    };
    let status = GatewayStatus::default();
    status.set_plan(shown.plan.clone());
    Ok(Some(Ready {
        link: args
            .ui_link
            .clone()
            .or_else(|| Link::default_path(page.address().port())),
        page,
        subject: Subject {
            status,
            metrics: shown.metrics.clone(),
            approvals: shown.approvals.or_else(Store::default_path),
            lifetimes: source::lifetimes(shown.plan),
            // Known when the log is open.
            audit: PathBuf::new(),
            lock: shown.lock.cloned(),
            observes: shown.observes,
        },
    }))
}

impl Ready {
    /// Where it is handed out.
    pub(super) fn address(&self) -> SocketAddr {
        self.page.address()
    }

    /// The file that its link is written to.
    pub(super) fn link(&self) -> Option<&Path> {
        self.link.as_deref()
    }

    /// Where the gateway shows what it does.
    pub(super) const fn status(&self) -> &GatewayStatus {
        &self.subject.status
    }

    /// Hands the page out, and says where. The link's file goes when the result does.
    pub(super) fn start(self, audit: PathBuf) -> Option<Link> {
        let (address, link) = (self.page.address(), self.page.link());
        let written = self.link.map(|path| {
            Link::write(path.clone(), &link).map_err(|error| {
                note(&format!(
                    "the link to the page cannot be written to `{}`: {error}",
                    path.display()
                ));
            })
        });
        let file = written.and_then(Result::ok);
        let subject = Subject {
            audit,
            ..self.subject
        };
        if let Err(error) = ui::start(self.page, subject) {
            note(&format!("no page: {error}"));
            return None;
        }
        let at = file.as_ref().map(|file| file.path().display().to_string());
        // A terminal forgets; what a client does with standard error, nobody knows.
        if io::stderr().is_terminal() {
            note(&format!("page: {link}"));
        } else {
            note(&match at {
                Some(at) => format!("page at http://{address}/: open the link in `{at}`"),
                None => format!(
                    "page at http://{address}/, and nobody can open it: name a file for its link with `--ui-link`"
                ),
            });
        }
        file
    }
}

/// An address, written as on the command line.
pub(super) fn address(option: &str, text: &str) -> Result<SocketAddr, Failure> {
    let addresses = text.to_socket_addrs().map_err(|error| {
        Failure::Message(format!(
            "`{option} {}` is no address: {error}; write e.g. `127.0.0.1:8808`",
            escape(text)
        ))
    })?;
    let first = addresses.into_iter().next();
    first.ok_or_else(|| Failure::Message(format!("`{option} {}` has no address", escape(text))))
}
