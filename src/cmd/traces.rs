//! Where spans of calls go: as the command line says, else as the environment does, in the
//! words of OpenTelemetry's specification.

use crate::output::Failure;
use crate::output::note;
use bouncer_proxy::Traces;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const EXACT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Begins to hand spans over, if somebody wants them.
pub(super) fn start(endpoint: Option<&str>) -> Result<Option<Traces>, Failure> {
    let off = variable("OTEL_SDK_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"));
    let (from, endpoint, exact) = match (endpoint, variable(EXACT), variable(ENDPOINT)) {
        (Some(endpoint), _, _) => ("--otlp-endpoint", endpoint.to_owned(), false),
        _ if off => return Ok(None),
        (None, Some(endpoint), _) => (EXACT, endpoint, true),
        (None, None, Some(endpoint)) => (ENDPOINT, endpoint, false),
        (None, None, None) => return Ok(None),
    };
    let headers = HEADERS.iter().find_map(|name| variable(name));
    let headers = headers.as_deref().map(headers_of).transpose();
    let headers = headers.map_err(|()| {
        let why = "headers for the collector are written `name=value,name=value`";
        Failure::Message(why.to_owned())
    })?;
    let service = variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "bouncer".to_owned());
    let traces = Traces::start(&endpoint, exact, &headers.unwrap_or_default(), &service);
    // Without the address: it may hold a secret.
    let traces = traces.map_err(|why| {
        Failure::Message(format!(
            "spans cannot be handed over to what `{from}` names: {}",
            why.replace("`url`", "it")
        ))
    })?;
    note("spans of calls go to the OpenTelemetry collector");
    Ok(Some(traces))
}

/// Names and values, as the environment has them.
fn headers_of(text: &str) -> Result<Vec<(String, String)>, ()> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or(())?;
            Ok((name.trim().to_owned(), decoded(value.trim())))
        })
        .collect()
}

/// A value, which may be percent-encoded.
fn decoded(value: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = value.as_bytes();
    while let Some((&byte, rest)) = bytes.split_first() {
        let code = rest.get(..2).filter(|_| byte == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(code);
                bytes = rest.get(2..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                bytes = rest;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
