//! What a gateway over HTTP is told: where it listens, to whom, and how much there may be.

use crate::approval::out_of_band::Desk;
use crate::http::tls::TlsFiles;
use crate::http::tokens::Tokens;
use crate::telemetry::status::Place;
use bouncer_audit::Audit;
use bouncer_engine::gate::Gate;
use bouncer_plan::Plan;
use std::net::SocketAddr;
use std::time::Duration;

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
