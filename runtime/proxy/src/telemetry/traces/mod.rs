//! Spans of tool calls, handed to a collector of OpenTelemetry.
//!
//! One span for each call that was decided: what was called, and what the verdict was; never
//! an argument, nor a reason, which may quote one. The agent's own trace goes on where
//! its call carries one. Runs on a thread of its own behind a queue that never blocks:
//! whatever is wrong with the collector, no call waits for it or fails by it. Knows nothing
//! of how calls are judged.

mod export;
mod otlp;

use crate::upstream::http::HttpServer;
use bouncer_audit::{Entry, Outcome};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_system::random;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Spans that wait to be handed over; more are dropped.
const MAX_QUEUED: usize = 4096;
/// How long the end of the process may wait for the last of them.
const GOODBYE: Duration = Duration::from_secs(1);
/// Where spans are sent below an endpoint.
const PATH: &str = "/v1/traces";

/// See the module. Clones hand over to the same collector.
#[derive(Clone)]
pub struct Traces(Arc<SyncSender<Message>>);

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Traces(..)")
    }
}

/// What is said to the thread.
enum Message {
    Span(Box<Span>),
    /// Hand over what there is, and say so.
    Finish(SyncSender<()>),
}

/// The trace that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parent {
    trace: [u8; 16],
    span: [u8; 8],
    /// The agent keeps this trace.
    sampled: bool,
}

/// One call.
#[derive(Debug)]
struct Span {
    trace: [u8; 16],
    span: [u8; 8],
    parent: Option<[u8; 8]>,
    start_ns: u128,
    end_ns: u128,
    tool: String,
    server: Option<String>,
    conversation: String,
    plan: String,
    verdict: &'static str,
    contract: &'static str,
    code: String,
    rule: Option<String>,
    approval: Option<String>,
    outcome: Outcome,
    latency: Duration,
}

impl Traces {
    /// Begins to hand spans over to the collector at `endpoint`, an OTLP endpoint over HTTP;
    /// `exact`: spans go right there, and not to its `/v1/traces`. `headers` go with every
    /// request, and `service` is the name of this process.
    ///
    /// # Errors
    /// If the endpoint or a header is none, or there can be no thread.
    pub fn start(
        endpoint: &str,
        exact: bool,
        headers: &[(String, String)],
        service: &str,
    ) -> Result<Self, String> {
        let url = if exact {
            endpoint.to_owned()
        } else {
            format!("{}{PATH}", endpoint.trim_end_matches('/'))
        };
        let server = HttpServer::new(&url, headers)?;
        let (sender, receiver) = sync_channel(MAX_QUEUED);
        let service = service.to_owned();
        std::thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || export::run(&server, &receiver, &service))
            .map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(sender)))
    }

    /// Waits until all spans so far are handed over, but not for long.
    pub(crate) fn finish(&self) {
        let (done, wait) = sync_channel(1);
        if self.0.try_send(Message::Finish(done)).is_ok() {
            // Who cannot hand them over in time loses them.
            let _ = wait.recv_timeout(GOODBYE);
        }
    }

    /// Hands over the span of a call that is decided; of one that a human is asked about,
    /// another line follows. `message` is the call as it came.
    pub(crate) fn call(&self, entry: &Entry<'_>, conversation: &str, plan: &str, message: &[u8]) {
        let (Some(tool), false) = (entry.tool, entry.outcome == Outcome::Asked) else {
            return;
        };
        let parent = parent(message);
        if parent.is_some_and(|parent| !parent.sampled) {
            return;
        }
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        if random::fill(&mut trace).is_err() || random::fill(&mut span).is_err() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let end_ns = now.unwrap_or_default().as_nanos();
        let span = Span {
            trace: parent.map_or(trace, |parent| parent.trace),
            span,
            parent: parent.map(|parent| parent.span),
            start_ns: end_ns.saturating_sub(entry.latency.as_nanos()),
            end_ns,
            tool: tool.to_owned(),
            server: entry.server.map(str::to_owned),
            conversation: conversation.to_owned(),
            plan: plan.to_owned(),
            verdict: entry.record.verdict.name(),
            contract: entry.record.stage.name(),
            code: entry.record.code.to_owned(),
            rule: entry.record.at.clone(),
            approval: entry.approval.map(str::to_owned),
            outcome: entry.outcome,
            latency: entry.latency,
        };
        // A queue that is full or has nobody behind it must not hold up the call.
        let _ = self.0.try_send(Message::Span(Box::new(span)));
    }
}

/// The trace that a call says it belongs to, as W3C's `traceparent` in its `_meta`.
fn parent(message: &[u8]) -> Option<Parent> {
    let mut frames = FrameReader::new(message.len().max(1));
    let params = frames.read(message).ok()?.params()?;
    let [meta] = frames.members(params, ["_meta"]).ok()?;
    let [given] = frames.members(meta?, ["traceparent"]).ok()?;
    traceparent(&text(given?)?)
}

/// Reads a `traceparent`. Later versions may have more parts, and begin alike.
fn traceparent(given: &str) -> Option<Parent> {
    let mut parts = given.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let more = parts.next().is_some();
    let [version] = hex::<1>(version)?;
    if version == 0xff || (version == 0 && more) {
        return None;
    }
    let [flags] = hex::<1>(flags)?;
    let parent = Parent {
        trace: hex(trace)?,
        span: hex(span)?,
        sampled: flags & 1 == 1,
    };
    (parent.trace != [0; 16] && parent.span != [0; 8]).then_some(parent)
}

/// Lower-case digits, exactly as many as there have to be.
fn hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 2 * N || !digits.bytes().all(lower) {
        return None;
    }
    let mut out = [0; N];
    for (index, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_only_where_it_is_one() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = traceparent(good).unwrap();
        assert_eq!(
            (parent.trace[0], parent.span[7], parent.sampled),
            (0x0a, 0x31, true)
        );
        assert!(!traceparent(&good.replace("-01", "-00")).unwrap().sampled);
        assert!(traceparent(&good.replacen("00", "01", 1).replace("-01", "-01-x")).is_some());
        for bad in [
            "",
            "00",
            &good.replacen("00", "ff", 1),
            &good.to_uppercase(),
            &format!("{good}-x"),
            &good.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &good.replace("b7ad6b7169203331", &"0".repeat(16)),
            &good.replace("b7ad", "b7a\u{e9}"),
            &good.replace("b7ad", "b7adx"),
        ] {
            assert_eq!(traceparent(bad), None, "{bad}");
        }
    }
}
