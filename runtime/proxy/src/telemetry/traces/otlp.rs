//! Spans as OTLP writes them in JSON, with names of attributes as OpenTelemetry's semantic
//! conventions for tools and MCP have them; what they have no name for begins with `bouncer.`.

use crate::telemetry::traces::Span;
use bouncer_audit::Outcome;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A span that serves a request.
const SERVER: u8 = 2;
/// Of a span that failed.
const ERROR: u8 = 2;

/// One request to a collector.
pub(super) fn body(service: &str, spans: &[Span]) -> Vec<u8> {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        text("service.name", service),
        text("service.version", version),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "bouncer", "version": version}, "spans": spans}],
    }]})
    .to_string()
    .into_bytes()
}

fn span(span: &Span) -> Value {
    let through = matches!(span.outcome, Outcome::Forwarded | Outcome::Observed);
    let micros = u64::try_from(span.latency.as_micros()).unwrap_or(u64::MAX);
    let mut attributes = vec![
        text("mcp.method.name", "tools/call"),
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &span.tool),
        text("gen_ai.conversation.id", &span.conversation),
        text("bouncer.verdict", span.verdict),
        text("bouncer.outcome", span.outcome.name()),
        text("bouncer.contract", span.contract),
        text("bouncer.code", &span.code),
        text("bouncer.plan", &span.plan),
        // Whole numbers are texts in this form.
        json!({"key": "bouncer.latency_us", "value": {"intValue": micros.to_string()}}),
    ];
    let more = [
        ("bouncer.server", &span.server),
        ("bouncer.rule", &span.rule),
        ("bouncer.approval", &span.approval),
    ];
    let more = more
        .into_iter()
        .filter_map(|(key, value)| Some(text(key, value.as_deref()?)));
    attributes.extend(more);
    let mut status = json!({});
    if !through {
        attributes.push(text("error.type", &span.code));
        status = json!({"code": ERROR, "message": format!("the call was not forwarded ({})", span.outcome.name())});
    }
    let mut value = json!({
        "traceId": digits(&span.trace),
        "spanId": digits(&span.span),
        "name": format!("tools/call {}", span.tool),
        "kind": SERVER,
        "startTimeUnixNano": span.start_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes,
        "status": status,
    });
    if let (Some(parent), Some(value)) = (&span.parent, value.as_object_mut()) {
        value.insert("parentSpanId".to_owned(), digits(parent).into());
    }
    value
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Ids are hexadecimal here, unlike other bytes.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // A text takes all that is written to it.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
